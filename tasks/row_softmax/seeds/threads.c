// threads.c - rows over the threads; each exponential computed once and kept in y, which is scaled in the end.
// The largest value and the sum run in LANES independent chains.
#include "kf_call.h"

#include <math.h>

// [EVOLVE_START]
//kf: param LANES = 8 in {1, 2, 4, 8, 16, 32}
//kf: param ROWS = 16 in {1, 4, 16, 64}

static float largest_of(const float *x, int64_t cols) {
  float part[LANES];
  int64_t c = 0;
  for (int l = 0; l < LANES; l++)
    part[l] = -INFINITY;
  for (; c + LANES <= cols; c += LANES)
    for (int l = 0; l < LANES; l++)
      part[l] = x[c + l] > part[l] ? x[c + l] : part[l];
  for (; c < cols; c++)
    part[0] = x[c] > part[0] ? x[c] : part[0];
  for (int l = 1; l < LANES; l++)
    part[0] = part[l] > part[0] ? part[l] : part[0];
  return part[0];
}

static void softmax(const float *x, float *y, int64_t cols) {
  const float largest = largest_of(x, cols);
  float part[LANES] = {0.0f};
  int64_t c = 0;
  for (; c + LANES <= cols; c += LANES)
    for (int l = 0; l < LANES; l++)
      part[l] += y[c + l] = expf(x[c + l] - largest);
  for (; c < cols; c++)
    part[0] += y[c] = expf(x[c] - largest);
  for (int l = 1; l < LANES; l++)
    part[0] += part[l];
  const float scale = 1.0f / part[0];
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
