// [EVOLVE_START]
//kf: launch matmul global=(N, M) local=(1, 1) args=(a, b, c, M, N, K)
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int M, int N, int K) {
  int j = get_global_id(0), i = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
  c[i * N + j] = sum;
}
// [EVOLVE_END]
