// expect: memory=0 algorithm=2 coordination=0 matrix=0
// base: operations=1 sweeps=2
// buffers: x=in y=out
// launch: norm x y -
// evidence: sweeps=1
// Of two alternatives one runs: their loops are not added up.
__kernel void norm(__global const float *x, __global float *y, int cols) {
  const int row = get_global_id(0);
  if (row == 0) {
    float first = 0.0f;
    for (int c = 0; c < cols; c++) first += x[c];
    y[0] = first;
    return;
  }
  float sum = 0.0f;
  if (row & 1) {
    for (int c = 0; c < cols; c++) sum += x[row * cols + c];
  } else {
    for (int c = cols - 1; c >= 0; c--) sum += x[row * cols + c];
  }
  y[row] = sum;
}
