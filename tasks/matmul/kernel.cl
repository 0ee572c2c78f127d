// kernel.cl - the matrix product as one writes it first: one work-item for one element of c.
// It reads a and b straight from global memory and uses each value once per load.

// [EVOLVE_START]
//kf: let GX = ceil(N, 16) * 16
//kf: let GY = ceil(M, 16) * 16
//kf: launch matmul global=(GX, GY) local=(16, 16) args=(a, b, c, M, N, K)

__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int M, int N,
                     int K) {
  const int col = get_global_id(0);
  const int row = get_global_id(1);
  if (row >= M || col >= N)
    return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++)
    sum += a[row * K + k] * b[k * N + col];
  c[row * N + col] = sum;
}
// [EVOLVE_END]
