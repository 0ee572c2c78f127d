// kernel.cl - the convolution as one writes it first: one work-item for one element of y, with a test
// for the edge of the image around every multiplication.

// [EVOLVE_START]
//kf: let GW = ceil(W, 16) * 16
//kf: let GH = ceil(H, 4) * 4
//kf: launch conv2d global=(GW, GH, N * K) local=(16, 4, 1) args=(x, weight, y, N, C, H, W, K)

__kernel void conv2d(__global const float *x, __global const float *weight, __global float *y, int N, int C,
                     int H, int W, int K) {
  const int w = get_global_id(0);
  const int h = get_global_id(1);
  const int n = get_global_id(2) / K;
  const int k = get_global_id(2) % K;
  if (w >= W || h >= H)
    return;
  float sum = 0.0f;
  for (int c = 0; c < C; c++)
    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++) {
        const int row = h + r - 1;
        const int col = w + s - 1;
        if (row >= 0 && row < H && col >= 0 && col < W)
          sum += x[((n * C + c) * H + row) * W + col] * weight[((k * C + c) * 3 + r) * 3 + s];
      }
  y[((n * K + k) * H + h) * W + w] = sum;
}
// [EVOLVE_END]
