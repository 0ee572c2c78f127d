// rows.c - each thread owns blocks of rows; the innermost loop runs along a row of b and of c, so that it is
// contiguous and the compiler makes vectors of it. A block of KB rows of b times JB columns stays in the cache.
#include "kf_call.h"

// [EVOLVE_START]
//kf: param RB = 8 in {1, 2, 4, 8, 16}
//kf: param KB = 64 in {16, 32, 64, 128, 256}
//kf: param JB = 512 in {128, 256, 512, 1024, 4096}

static inline int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

static void block(const float *restrict a, const float *restrict b, float *restrict c, int64_t rows,
                  int64_t cols, int64_t depth, int64_t N, int64_t K) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < depth; k++) {
      const float value = a[i * K + k];
#pragma omp simd
      for (int64_t j = 0; j < cols; j++)
        c[i * N + j] += value * b[k * N + j];
    }
}

int kf_run(const kf_call *call) {
  const float *a = call->args[0].ptr;
  const float *b = call->args[1].ptr;
  float *c = call->args[2].ptr;
  const int64_t M = call->symbols[0], N = call->symbols[1], K = call->symbols[2];
#pragma omp parallel for schedule(static)
  for (int64_t i0 = 0; i0 < M; i0 += RB) {
    const int64_t rows = least(RB, M - i0);
    for (int64_t i = i0 * N; i < (i0 + rows) * N; i++)
      c[i] = 0.0f;
    for (int64_t j0 = 0; j0 < N; j0 += JB)
      for (int64_t k0 = 0; k0 < K; k0 += KB)
        block(a + i0 * K + k0, b + k0 * N + j0, c + i0 * N + j0, rows, least(JB, N - j0), least(KB, K - k0),
              N, K);
  }
  return 0;
}
// [EVOLVE_END]
