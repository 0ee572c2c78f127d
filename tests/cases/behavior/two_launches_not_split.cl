// expect: memory=0 algorithm=0 coordination=3 matrix=0
// base: operations=1 sweeps=2
// buffers: x=in y=out mean=temp
// launch: means x mean -
// launch: center x mean y -
// evidence: split_reduction=0 joined_launches=1 sweeps=2
// Each row is reduced as a whole; the second launch uses the results and adds up something else.
__kernel void means(__global const float *x, __global float *mean, int cols) {
  const int row = get_global_id(0);
  float sum = 0.0f;
  for (int c = 0; c < cols; c++) sum += x[row * cols + c];
  mean[row] = sum / cols;
}
__kernel void center(__global const float *x, __global const float *mean, __global float *y, int cols) {
  const int row = get_global_id(0);
  float var = 0.0f;
  for (int c = 0; c < cols; c++) var += (x[row * cols + c] - mean[row]) * (x[row * cols + c] - mean[row]);
  y[row] = var;
}
