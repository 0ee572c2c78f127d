// expect: memory=0 algorithm=2 coordination=0 matrix=0
// base: operations=1 sweeps=3
// buffers: x=in y=out
// launch: softmax x y - -
// evidence: sweeps=2
// Rows in a loop of their own: sweeps are counted inside of it.
__kernel void softmax(__global const float *x, __global float *y, int rows, int cols) {
  for (int row = get_global_id(0); row < rows; row += get_global_size(0)) {
    float m = -INFINITY, sum = 0.0f;
    for (int c = 0; c < cols; c++) {
      const float v = x[row * cols + c];
      if (v > m) {
        sum *= exp(m - v);
        m = v;
      }
      sum += exp(v - m);
    }
    for (int c = 0; c < cols; c++) y[row * cols + c] = exp(x[row * cols + c] - m) / sum;
  }
}
