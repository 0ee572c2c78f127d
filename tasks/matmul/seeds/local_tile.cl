// local_tile.cl - the classic local-memory tile: a group of LX x LY items computes a block of
// (LY * WM) x (LX * WN) elements of c, step by step along K. Each step copies a slice of a and a slice of
// b, BK deep, to local memory; every item then updates its WM x WN sums from there. Elements beyond an
// edge are copied as zero, so every shape works.

// [EVOLVE_START]
//kf: param LX = 16 in {4, 8, 16, 32}
//kf: param LY = 16 in {2, 4, 8, 16}
//kf: param WM = 4 in {1, 2, 4, 8}
//kf: param WN = 1 in {1, 2, 4}
//kf: param BK = 16 in {8, 16, 32, 64}
//kf: where LX * LY >= 16 && BK * (LY * WM + LX * WN) <= 8192
//kf: let BM = LY * WM
//kf: let BN = LX * WN
//kf: launch matmul global=(ceil(N, BN) * LX, ceil(M, BM) * LY) local=(LX, LY) args=(a, b, c, M, N, K)

#define BM (LY * WM)
#define BN (LX * WN)

__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int M, int N,
                     int K) {
  __local float as[BM * BK];
  __local float bs[BK * BN];
  const int tx = get_local_id(0);
  const int ty = get_local_id(1);
  const int lane = ty * LX + tx;
  const int row0 = get_group_id(1) * BM;
  const int col0 = get_group_id(0) * BN;
  float sum[WM][WN];
  for (int i = 0; i < WM; i++)
    for (int j = 0; j < WN; j++)
      sum[i][j] = 0.0f;

  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int e = lane; e < BM * BK; e += LX * LY) {
      const int row = row0 + e / BK;
      const int k = k0 + e % BK;
      as[e] = row < M && k < K ? a[row * K + k] : 0.0f;
    }
    for (int e = lane; e < BK * BN; e += LX * LY) {
      const int k = k0 + e / BN;
      const int col = col0 + e % BN;
      bs[e] = k < K && col < N ? b[k * N + col] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < BK; k++)
      for (int i = 0; i < WM; i++) {
        const float x = as[(ty * WM + i) * BK + k];
        for (int j = 0; j < WN; j++)
          sum[i][j] += x * bs[k * BN + j * LX + tx];
      }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int i = 0; i < WM; i++)
    for (int j = 0; j < WN; j++) {
      const int row = row0 + ty * WM + i;
      const int col = col0 + j * LX + tx;
      if (row < M && col < N)
        c[row * N + col] = sum[i][j];
    }
}
// [EVOLVE_END]
