// [EVOLVE_START]
//kf: launch affine global=(ceil(n,64)*64) local=(64) args=(x, y, n)
__kernel void affine(__global const float *x, __global float *y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
// [EVOLVE_END]
