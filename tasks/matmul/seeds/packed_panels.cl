// packed_panels.cl - two launches joined by a packed copy of b. The first copies b into panels of
// TN = NV * VEC columns, so that a panel is one contiguous stream (columns beyond N are zero). The
// second gives each item a strip of STRIP tiles of TM rows by one panel and walks K in blocks of KB:
// the block of the panel stays in the first-level cache while all tiles of the strip use it. Sums of a
// tile live in registers; between two blocks they rest in c.

// [EVOLVE_START]
//kf: param VEC = 16 in {8, 16}
//kf: param NV = 1 in {1, 2, 3, 4}
//kf: param TM = 4 in {2, 4, 6, 8, 10, 12}
//kf: param KB = 128 in {64, 128, 256, 512, 1024}
//kf: param STRIP = 4 in {1, 4, 16, 64}
//kf: where TM * NV <= 24
//kf: let TN = NV * VEC
//kf: let PANELS = ceil(N, TN)
//kf: temp packed f32 [PANELS, K, TN]
//kf: launch pack_b global=(PANELS, K) local=(1, 1) args=(b, packed, N, K)
//kf: launch matmul global=(ceil(M, TM * STRIP), PANELS) local=(1, 1) args=(a, packed, c, M, N, K)

#define TN (NV * VEC)
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

__kernel void pack_b(__global const float *b, __global float *packed, int N, int K) {
  const int panel = get_global_id(0);
  const int k = get_global_id(1);
  __global float *to = packed + ((size_t)panel * K + k) * TN;
  for (int j = 0; j < TN; j++) {
    const int col = panel * TN + j;
    to[j] = col < N ? b[k * N + col] : 0.0f;
  }
}

// One full tile, one block of K. `first` starts the sums at zero instead of reading c.
void full_tile(__global const float *a, __global const float *panel, __global float *c, int N, int K,
               int depth, bool first) {
  FV sum[TM][NV];
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < NV; j++)
      sum[i][j] = first ? (FV)(0.0f) : LOAD(0, c + i * N + j * VEC);
  for (int k = 0; k < depth; k++) {
    FV bk[NV];
#pragma unroll
    for (int j = 0; j < NV; j++)
      bk[j] = LOAD(0, panel + k * TN + j * VEC);
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const FV x = (FV)(a[i * K + k]);
#pragma unroll
      for (int j = 0; j < NV; j++)
        sum[i][j] += x * bk[j];
    }
  }
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < NV; j++)
      STORE(sum[i][j], 0, c + i * N + j * VEC);
}

// A tile that crosses an edge of c: row by row, and only the columns that exist are written.
void edge_tile(__global const float *a, __global const float *panel, __global float *c, int N, int K,
               int depth, bool first, int rows, int cols) {
  for (int i = 0; i < rows; i++) {
    FV sum[NV];
#pragma unroll
    for (int j = 0; j < NV; j++)
      sum[j] = (FV)(0.0f);
    for (int k = 0; k < depth; k++)
#pragma unroll
      for (int j = 0; j < NV; j++)
        sum[j] += (FV)(a[i * K + k]) * LOAD(0, panel + k * TN + j * VEC);
    float row[TN];
#pragma unroll
    for (int j = 0; j < NV; j++)
      STORE(sum[j], 0, row + j * VEC);
    for (int j = 0; j < cols; j++)
      c[i * N + j] = first ? row[j] : c[i * N + j] + row[j];
  }
}

__kernel void matmul(__global const float *a, __global const float *packed, __global float *c, int M, int N,
                     int K) {
  const int strip0 = get_global_id(0) * TM * STRIP;
  const int strip1 = min(strip0 + TM * STRIP, M);
  const int col0 = get_global_id(1) * TN;
  __global const float *panel = packed + (size_t)get_global_id(1) * K * TN;
  for (int k0 = 0; k0 < K; k0 += KB) {
    const int depth = min(KB, K - k0);
    for (int row = strip0; row < strip1; row += TM) {
      __global const float *at = a + row * K + k0;
      __global float *ct = c + row * N + col0;
      if (row + TM <= strip1 && col0 + TN <= N)
        full_tile(at, panel + k0 * TN, ct, N, K, depth, k0 == 0);
      else
        edge_tile(at, panel + k0 * TN, ct, N, K, depth, k0 == 0, min(TM, strip1 - row), min(TN, N - col0));
    }
  }
}
// [EVOLVE_END]
