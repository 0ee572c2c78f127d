/* reference.c - the convolution over kf_real, the oracle of this task.
 * Each weight is applied to a whole plane at once, so that the innermost loop walks rows of x and y. */

enum { TAPS = 3 };

static int64_t at_least_zero(int64_t v) {
  return v > 0 ? v : 0;
}

/* plane += in, moved by (dr, ds) with zeros shifted in, times `weight` */
static void add_moved(const kf_real *in, kf_real *plane, int64_t H, int64_t W, int64_t dr, int64_t ds,
                      kf_real weight) {
  for (int64_t h = at_least_zero(-dr); h < H - at_least_zero(dr); h++)
    for (int64_t w = at_least_zero(-ds); w < W - at_least_zero(ds); w++)
      plane[h * W + w] += weight * in[(h + dr) * W + w + ds];
}

void conv2d_ref(const kf_real *x, const kf_real *weight, kf_real *y, int32_t N, int32_t C, int32_t H,
                int32_t W, int32_t K) {
  const int64_t area = (int64_t)H * W;
  for (int64_t n = 0; n < N; n++)
    for (int64_t k = 0; k < K; k++) {
      kf_real *plane = y + (n * K + k) * area;
      for (int64_t i = 0; i < area; i++)
        plane[i] = 0;
      for (int64_t c = 0; c < C; c++)
        for (int64_t r = 0; r < TAPS; r++)
          for (int64_t s = 0; s < TAPS; s++)
            add_moved(x + (n * C + c) * area, plane, H, W, r - 1, s - 1,
                      weight[((k * C + c) * TAPS + r) * TAPS + s]);
    }
}
