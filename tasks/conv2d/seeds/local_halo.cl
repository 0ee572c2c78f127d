// local_halo.cl - the shape of a GPU kernel: a group of LX x LY items computes LX x LY pixels of TK channels.
// For CB input channels at a time it copies its pixels and the ring around them, and the weights they
// need, to local memory.

// [EVOLVE_START]
//kf: param LX = 16 in {8, 16, 32, 64}
//kf: param LY = 4 in {1, 2, 4, 8}
//kf: param TK = 4 in {1, 2, 4, 8, 16}
//kf: param CB = 2 in {1, 2, 4, 8}
//kf: where LX * LY >= 16
//kf: let GX = ceil(W, LX) * LX
//kf: let GY = ceil(H, LY) * LY
//kf: launch conv2d global=(GX, GY, N * ceil(K, TK)) local=(LX, LY, 1) args=(x, weight, y, N, C, H, W, K)

#define HX (LX + 2)
#define HY (LY + 2)

__kernel void conv2d(__global const float *x, __global const float *weight, __global float *y, int N, int C,
                     int H, int W, int K) {
  __local float halo[CB * HY * HX];
  __local float taps[CB * 9 * TK];
  const int tx = get_local_id(0);
  const int ty = get_local_id(1);
  const int lane = ty * LX + tx;
  const int w0 = get_group_id(0) * LX;
  const int h0 = get_group_id(1) * LY;
  const int tiles = (K + TK - 1) / TK;
  const int n = get_group_id(2) / tiles;
  const int k0 = get_group_id(2) % tiles * TK;

  float sum[TK];
  for (int i = 0; i < TK; i++)
    sum[i] = 0.0f;
  for (int c0 = 0; c0 < C; c0 += CB) {
    for (int e = lane; e < CB * HY * HX; e += LX * LY) {
      const int c = c0 + e / (HY * HX);
      const int row = h0 + e / HX % HY - 1;
      const int col = w0 + e % HX - 1;
      const bool inside = c < C && row >= 0 && row < H && col >= 0 && col < W;
      halo[e] = inside ? x[((n * C + c) * H + row) * W + col] : 0.0f;
    }
    for (int e = lane; e < CB * 9 * TK; e += LX * LY) {
      const int c = c0 + e / (9 * TK);
      const int k = k0 + e % TK;
      taps[e] = c < C && k < K ? weight[(k * C + c) * 9 + e / TK % 9] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = 0; c < CB; c++)
      for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) {
          const float value = halo[(c * HY + ty + r) * HX + tx + s];
          for (int i = 0; i < TK; i++)
            sum[i] += value * taps[((c * 3 + r) * 3 + s) * TK + i];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  const int h = h0 + ty;
  const int w = w0 + tx;
  for (int i = 0; i < TK; i++)
    if (h < H && w < W && k0 + i < K)
      y[((n * K + k0 + i) * H + h) * W + w] = sum[i];
}
// [EVOLVE_END]
