// blocks.c - each block of BLOCK values is summed in LANES independent chains by some thread; the sums of the
// blocks lie in the workspace and are added in order, so that the result does not depend on who did what.
#include "kf_call.h"

// [EVOLVE_START]
//kf: param LANES = 32 in {4, 8, 16, 32, 64}
//kf: param BLOCK = 16384 in [1024..262144 pow2]

static inline int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

uint64_t kf_workspace(const kf_call *call) {
  return ((uint64_t)call->symbols[0] + BLOCK - 1) / BLOCK * sizeof(float);
}

static float block_sum(const float *x, int64_t n) {
  float part[LANES] = {0.0f};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; l++)
      part[l] += x[i + l];
  for (; i < n; i++)
    part[0] += x[i];
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++)
      part[l] += part[l + half];
  return part[0];
}

int kf_run(const kf_call *call) {
  const float *x = call->args[0].ptr;
  float *total = call->args[1].ptr;
  float *sums = call->workspace;
  const int64_t n = call->symbols[0], blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < blocks; i++)
    sums[i] = block_sum(x + i * BLOCK, least(BLOCK, n - i * BLOCK));
  total[0] = 0.0f;
  for (int64_t i = 0; i < blocks; i++)
    total[0] += sums[i];
  return 0;
}
// [EVOLVE_END]
