// expect: memory=0 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: gather x y -
// evidence: accumulators=1
// Indices that move on are no accumulators.
__kernel void gather(__global const float *x, __global float *y, int n) {
  int i = get_global_id(0), j = 0, k = 0, step = 3;
  float sum = 0.0f;
  for (int c = 0; c < n; c++) {
    i += n;
    j += 2;
    k += step;
    sum += x[i + j + k];
  }
  y[get_global_id(0)] = sum;
}
