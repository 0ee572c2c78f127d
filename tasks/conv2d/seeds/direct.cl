// direct.cl - a tile in registers, straight from x: one item computes TK channels of one row segment of NV
// vectors. Rows outside the image are skipped; a segment that touches the left or right edge is first
// copied, with its zeros, to a private row. Channels beyond K repeat the last one and are not stored.

// [EVOLVE_START]
//kf: param VEC = 8 in {4, 8, 16}
//kf: param NV = 1 in {1, 2, 3, 4}
//kf: param TK = 2 in {1, 2, 4, 6, 8}
//kf: param LX = 1 in {1, 2}
//kf: param LY = 1 in {1, 4, 8}
//kf: where TK * NV <= 24
//kf: let TW = VEC * NV
//kf: let GX = ceil(ceil(W, TW), LX) * LX
//kf: let GY = ceil(H, LY) * LY
//kf: launch conv2d global=(GX, GY, N * ceil(K, TK)) local=(LX, LY, 1) args=(x, weight, y, N, C, H, W, K)

#define TW (VEC * NV)
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

// One row of one channel, for the three taps s: the vectors of columns w0 + s - 1 onwards.
void load_row(__global const float *row, int w0, int W, FV part[3][NV]) {
  if (w0 > 0 && w0 + TW < W) {
#pragma unroll
    for (int s = 0; s < 3; s++)
#pragma unroll
      for (int j = 0; j < NV; j++)
        part[s][j] = LOAD(0, row + w0 + s - 1 + j * VEC);
    return;
  }
  float segment[TW + 2];
  for (int i = 0; i < TW + 2; i++) {
    const int col = w0 + i - 1;
    segment[i] = col >= 0 && col < W ? row[col] : 0.0f;
  }
#pragma unroll
  for (int s = 0; s < 3; s++)
#pragma unroll
    for (int j = 0; j < NV; j++)
      part[s][j] = LOAD(0, segment + s + j * VEC);
}

__kernel void conv2d(__global const float *x, __global const float *weight, __global float *y, int N, int C,
                     int H, int W, int K) {
  const int w0 = get_global_id(0) * TW;
  const int h = get_global_id(1);
  const int tiles = (K + TK - 1) / TK;
  const int n = get_global_id(2) / tiles;
  const int k0 = get_global_id(2) % tiles * TK;
  if (w0 >= W || h >= H)
    return;

  FV sum[TK][NV];
#pragma unroll
  for (int i = 0; i < TK; i++)
#pragma unroll
    for (int j = 0; j < NV; j++)
      sum[i][j] = (FV)(0.0f);

  for (int c = 0; c < C; c++)
    for (int r = 0; r < 3; r++) {
      const int row = h + r - 1;
      if (row < 0 || row >= H)
        continue;
      FV part[3][NV];
      load_row(x + ((n * C + c) * H + row) * W, w0, W, part);
#pragma unroll
      for (int i = 0; i < TK; i++) {
        __global const float *taps = weight + ((min(k0 + i, K - 1) * C + c) * 3 + r) * 3;
#pragma unroll
        for (int s = 0; s < 3; s++)
#pragma unroll
          for (int j = 0; j < NV; j++)
            sum[i][j] += part[s][j] * (FV)(taps[s]);
      }
    }

#pragma unroll
  for (int i = 0; i < TK; i++)
    if (k0 + i < K) {
      __global float *out = y + ((n * K + k0 + i) * H + h) * W + w0;
#pragma unroll
      for (int j = 0; j < NV; j++)
        if (w0 + (j + 1) * VEC <= W)
          STORE(sum[i][j], 0, out + j * VEC);
        else {
          float lane[VEC];
          STORE(sum[i][j], 0, lane);
          for (int e = 0; w0 + j * VEC + e < W; e++)
            out[j * VEC + e] = lane[e];
        }
    }
}
// [EVOLVE_END]
