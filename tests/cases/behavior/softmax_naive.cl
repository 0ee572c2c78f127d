// expect: memory=0 algorithm=0 coordination=0 matrix=0
// base: operations=1 sweeps=3
// buffers: x=in y=out
// launch: softmax x y - -
// evidence: sweeps=3
__kernel void softmax(__global const float *x, __global float *y, int rows, int cols) {
  const int row = get_global_id(0);
  if (row >= rows) return;
  float m = -INFINITY, sum = 0.0f;
  for (int c = 0; c < cols; c++) m = fmax(m, x[row * cols + c]);
  for (int c = 0; c < cols; c++) sum += exp(x[row * cols + c] - m);
  for (int c = 0; c < cols; c++) y[row * cols + c] = exp(x[row * cols + c] - m) / sum;
}
