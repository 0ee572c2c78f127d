// [EVOLVE_START]
//kf: launch heavy global=(ceil(n,64)*64) local=(64) args=(x, y, n)
__kernel void heavy(__global const float *x, __global float *y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 1500; k++) v = v * 0.5f + x[i];
  y[i] = v;
}
// [EVOLVE_END]
