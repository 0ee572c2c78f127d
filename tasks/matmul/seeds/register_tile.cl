// register_tile.cl - a tile of c in registers: each item computes TM rows by NV vectors of VEC columns,
// reading a one value at a time and b one vector at a time, so that a value of a serves NV * VEC sums
// and a vector of b serves TM. There is no local memory and no barrier. A tile that crosses an edge of
// c goes row by row.

// [EVOLVE_START]
//kf: param VEC = 8 in {4, 8, 16}
//kf: param NV = 2 in {1, 2, 3, 4}
//kf: param TM = 4 in {1, 2, 4, 6, 8, 12}
//kf: param LX = 1 in {1, 2, 4}
//kf: param LY = 4 in {1, 2, 4, 8}
//kf: where TM * NV <= 24
//kf: let TN = VEC * NV
//kf: let GX = ceil(ceil(N, TN), LX) * LX
//kf: let GY = ceil(ceil(M, TM), LY) * LY
//kf: launch matmul global=(GX, GY) local=(LX, LY) args=(a, b, c, M, N, K)

#define TN (VEC * NV)
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

void edge_tile(__global const float *a, __global const float *b, __global float *c, int M, int N, int K,
               int row0, int col0) {
  const int col1 = min(col0 + TN, N);
  for (int row = row0; row < min(row0 + TM, M); row++) {
    int col = col0;
    for (; col + VEC <= col1; col += VEC) {
      FV sum = (FV)(0.0f);
      for (int k = 0; k < K; k++)
        sum += (FV)(a[row * K + k]) * LOAD(0, b + k * N + col);
      STORE(sum, 0, c + row * N + col);
    }
    for (; col < col1; col++) {
      float sum = 0.0f;
      for (int k = 0; k < K; k++)
        sum += a[row * K + k] * b[k * N + col];
      c[row * N + col] = sum;
    }
  }
}

__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int M, int N,
                     int K) {
  const int col0 = get_global_id(0) * TN;
  const int row0 = get_global_id(1) * TM;
  if (row0 + TM > M || col0 + TN > N) {
    edge_tile(a, b, c, M, N, K, row0, col0);
    return;
  }
  FV sum[TM][NV];
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < NV; j++)
      sum[i][j] = (FV)(0.0f);

  a += row0 * K;
  b += col0;
  for (int k = 0; k < K; k++) {
    FV bk[NV];
#pragma unroll
    for (int j = 0; j < NV; j++)
      bk[j] = LOAD(0, b + k * N + j * VEC);
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const FV x = (FV)(a[i * K + k]);
#pragma unroll
      for (int j = 0; j < NV; j++)
        sum[i][j] += x * bk[j];
    }
  }

  c += row0 * N + col0;
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < NV; j++)
      STORE(sum[i][j], 0, c + i * N + j * VEC);
}
// [EVOLVE_END]
