// kernel.cl - the sum as one writes it first: one work-item adds all values in order.

// [EVOLVE_START]
//kf: launch reduce_sum global=(1) local=(1) args=(x, total, n)

__kernel void reduce_sum(__global const float *x, __global float *total, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; i++)
    sum += x[i];
  total[0] = sum;
}
// [EVOLVE_END]
