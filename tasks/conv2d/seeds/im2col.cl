// im2col.cl - the convolution as a matrix product. The first launch writes, for every image, a matrix of
// C * 9 rows (one for each input channel and tap) by one column for each pixel, cut into panels of
// TN = NV * VEC pixels. The second multiplies the weights, a K x (C * 9) matrix, with it: an item computes
// TK channels of one panel in registers. Channels beyond K repeat the last one and are not stored.

// [EVOLVE_START]
//kf: param VEC = 8 in {4, 8, 16}
//kf: param NV = 1 in {1, 2, 3, 4}
//kf: param TK = 2 in {1, 2, 4, 6, 8, 12, 16}
//kf: param LX = 1 in {1, 2, 4}
//kf: where TK * NV <= 24
//kf: let TN = NV * VEC
//kf: let PANELS = ceil(H * W, TN)
//kf: let DEPTH = C * 9
//kf: let GX = ceil(ceil(K, TK), LX) * LX
//kf: temp columns f32 [N, PANELS, DEPTH, TN]
//kf: launch im2col global=(PANELS, C, N) local=(1, 1, 1) args=(x, columns, C, H, W)
//kf: launch conv2d global=(GX, PANELS, N) local=(LX, 1, 1) args=(columns, weight, y, C, H, W, K)

#define TN (NV * VEC)
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

__kernel void im2col(__global const float *x, __global float *columns, int C, int H, int W) {
  const int panel = get_global_id(0);
  const int c = get_global_id(1);
  const int n = get_global_id(2);
  __global const float *in = x + (n * C + c) * H * W;
  __global float *out = columns + ((n * get_global_size(0) + panel) * C + c) * 9 * TN;
  for (int e = 0; e < TN; e++) {
    const int pixel = panel * TN + e;
    const int h = pixel / W;
    const int w = pixel % W;
    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++) {
        const int row = h + r - 1;
        const int col = w + s - 1;
        const bool inside = h < H && row >= 0 && row < H && col >= 0 && col < W;
        out[(r * 3 + s) * TN + e] = inside ? in[row * W + col] : 0.0f;
      }
  }
}

__kernel void conv2d(__global const float *columns, __global const float *weight, __global float *y, int C,
                     int H, int W, int K) {
  const int k0 = get_global_id(0) * TK;
  const int panel = get_global_id(1);
  const int n = get_global_id(2);
  const int depth = C * 9;
  if (k0 >= K)
    return;
  __global const float *in = columns + (n * get_global_size(1) + panel) * depth * TN;

  FV sum[TK][NV];
#pragma unroll
  for (int i = 0; i < TK; i++)
#pragma unroll
    for (int j = 0; j < NV; j++)
      sum[i][j] = (FV)(0.0f);
  for (int d = 0; d < depth; d++) {
    FV part[NV];
#pragma unroll
    for (int j = 0; j < NV; j++)
      part[j] = LOAD(0, in + d * TN + j * VEC);
#pragma unroll
    for (int i = 0; i < TK; i++) {
      const FV tap = (FV)(weight[min(k0 + i, K - 1) * depth + d]);
#pragma unroll
      for (int j = 0; j < NV; j++)
        sum[i][j] += part[j] * tap;
    }
  }

  const int count = min(TN, H * W - panel * TN);
#pragma unroll
  for (int i = 0; i < TK; i++)
    if (k0 + i < K) {
      __global float *out = y + (n * K + k0 + i) * H * W + panel * TN;
#pragma unroll
      for (int j = 0; j < NV; j++)
        if ((j + 1) * VEC <= count)
          STORE(sum[i][j], 0, out + j * VEC);
        else {
          float lane[VEC];
          STORE(sum[i][j], 0, lane);
          for (int e = 0; j * VEC + e < count; e++)
            out[j * VEC + e] = lane[e];
        }
    }
}
// [EVOLVE_END]
