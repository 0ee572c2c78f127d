// padded.cl - two launches joined by a padded copy of x. The first writes every channel with its border of
// zeros, and with as many rows and columns as whole tiles need. The second gives an item TK channels of TH
// rows by NV vectors and needs no test while it sums. Channels beyond K repeat the last one and are not
// stored.

// [EVOLVE_START]
//kf: param VEC = 8 in {4, 8, 16}
//kf: param NV = 1 in {1, 2, 4}
//kf: param TH = 1 in {1, 2, 3, 4}
//kf: param TK = 4 in {1, 2, 4, 6, 8, 12}
//kf: where TK * TH * NV <= 24
//kf: let TW = VEC * NV
//kf: let PH = ceil(H, TH) * TH + 2
//kf: let PW = ceil(W, TW) * TW + 2
//kf: let TILES = ceil(K, TK)
//kf: temp padded f32 [N, C, PH, PW]
//kf: launch pad_x global=(PH, N * C) local=(1, 1) args=(x, padded, H, W)
//kf: let GX = ceil(W, TW)
//kf: let GY = ceil(H, TH)
//kf: launch conv2d global=(GX, GY, N * TILES) local=(1, 1, 1) args=(padded, weight, y, C, H, W, K)

#define TW (VEC * NV)
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

int padded_width(int W) {
  return (W + TW - 1) / TW * TW + 2;
}

__kernel void pad_x(__global const float *x, __global float *padded, int H, int W) {
  const int row = get_global_id(0);
  const int plane = get_global_id(1);
  const int PH = get_global_size(0);
  const int PW = padded_width(W);
  __global float *out = padded + (plane * PH + row) * PW;
  const bool inside = row >= 1 && row <= H;
  for (int col = 0; col < PW; col++)
    out[col] = inside && col >= 1 && col <= W ? x[(plane * H + row - 1) * W + col - 1] : 0.0f;
}

void store_row(const FV *sum, __global float *out, int count) {
#pragma unroll
  for (int j = 0; j < NV; j++)
    if ((j + 1) * VEC <= count)
      STORE(sum[j], 0, out + j * VEC);
    else {
      float lane[VEC];
      STORE(sum[j], 0, lane);
      for (int e = 0; j * VEC + e < count; e++)
        out[j * VEC + e] = lane[e];
    }
}

__kernel void conv2d(__global const float *padded, __global const float *weight, __global float *y, int C,
                     int H, int W, int K) {
  const int w0 = get_global_id(0) * TW;
  const int h0 = get_global_id(1) * TH;
  const int tiles = (K + TK - 1) / TK;
  const int n = get_global_id(2) / tiles;
  const int k0 = get_global_id(2) % tiles * TK;
  const int PH = (H + TH - 1) / TH * TH + 2;
  const int PW = padded_width(W);

  FV sum[TK][TH][NV];
#pragma unroll
  for (int i = 0; i < TK; i++)
#pragma unroll
    for (int t = 0; t < TH; t++)
#pragma unroll
      for (int j = 0; j < NV; j++)
        sum[i][t][j] = (FV)(0.0f);

  for (int c = 0; c < C; c++) {
    __global const float *in = padded + ((n * C + c) * PH + h0) * PW + w0;
    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++) {
        FV part[TH][NV];
#pragma unroll
        for (int t = 0; t < TH; t++)
#pragma unroll
          for (int j = 0; j < NV; j++)
            part[t][j] = LOAD(0, in + (r + t) * PW + s + j * VEC);
#pragma unroll
        for (int i = 0; i < TK; i++) {
          const FV tap = (FV)(weight[((min(k0 + i, K - 1) * C + c) * 3 + r) * 3 + s]);
#pragma unroll
          for (int t = 0; t < TH; t++)
#pragma unroll
            for (int j = 0; j < NV; j++)
              sum[i][t][j] += part[t][j] * tap;
        }
      }
  }

#pragma unroll
  for (int i = 0; i < TK; i++)
#pragma unroll
    for (int t = 0; t < TH; t++)
      if (k0 + i < K && h0 + t < H)
        store_row(sum[i][t], y + ((n * K + k0 + i) * H + h0 + t) * W + w0, W - w0);
}
// [EVOLVE_END]
