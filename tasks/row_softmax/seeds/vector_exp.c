// vector_exp.c - as threads.c, but the exponential is written out in arithmetic that a compiler can make vectors
// of: x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n exp(r), and a polynomial of degree 6 for exp(r), whose
// error is below that of rounding to f32 (the next term of the series at |r| = 0.35 is 1.2e-7).
#include "kf_call.h"

#include <math.h>
#include <string.h>

// [EVOLVE_START]
//kf: param LANES = 16 in {4, 8, 16, 32}
//kf: param ROWS = 16 in {1, 4, 16, 64}

// For x <= 0 only. ln 2 in two parts, so that n ln 2 is exact to the second.
static inline float exp_of(float x) {
  const float shift = 12582912.0f; // 1.5 * 2^23: adding it rounds to the nearest whole number
  x = x < -87.0f ? -87.0f : x;
  const float n = (x * 1.44269504f + shift) - shift;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = (p * r) * r + r;
  const int32_t bits = ((int32_t)n + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return power * p + power;
}

static void softmax(const float *restrict x, float *restrict y, int64_t cols) {
  float largest[LANES], sum[LANES];
  int64_t c = 0;
  for (int l = 0; l < LANES; l++) {
    largest[l] = -INFINITY;
    sum[l] = 0.0f;
  }
  for (; c + LANES <= cols; c += LANES)
    for (int l = 0; l < LANES; l++)
      largest[l] = x[c + l] > largest[l] ? x[c + l] : largest[l];
  for (; c < cols; c++)
    largest[0] = x[c] > largest[0] ? x[c] : largest[0];
  for (int l = 1; l < LANES; l++)
    largest[0] = largest[l] > largest[0] ? largest[l] : largest[0];
  const float top = largest[0];
  for (c = 0; c + LANES <= cols; c += LANES)
    for (int l = 0; l < LANES; l++) {
      const float e = exp_of(x[c + l] - top);
      y[c + l] = e;
      sum[l] += e;
    }
  for (; c < cols; c++)
    sum[0] += y[c] = exp_of(x[c] - top);
  for (int l = 1; l < LANES; l++)
    sum[0] += sum[l];
  const float scale = 1.0f / sum[0];
  for (c = 0; c < cols; c++)
    y[c] *= scale;
}

int kf_run(const kf_call *call) {
  const float *x = call->args[0].ptr;
  float *y = call->args[1].ptr;
  const int64_t rows = call->symbols[0], cols = call->symbols[1];
#pragma omp parallel for schedule(static, ROWS)
  for (int64_t row = 0; row < rows; row++)
    softmax(x + row * cols, y + row * cols, cols);
  return 0;
}
// [EVOLVE_END]
