// packed.c - b is copied once into panels of NV vectors, padded with zeros, in the workspace; each thread then
// multiplies MR rows of a with one panel and keeps the MR x NV vectors of c in registers over KB steps of k.
#include "kf_call.h"

#include <string.h>

// [EVOLVE_START]
//kf: param LANES = 8 in {4, 8, 16}
//kf: param NV = 2 in {1, 2, 3, 4}
//kf: param MR = 6 in {2, 4, 6, 8}
//kf: param KB = 256 in {64, 128, 256, 512, 4096}
//kf: where MR * NV <= 16

#define NR (LANES * NV)
typedef float vec __attribute__((vector_size(4 * LANES), aligned(4)));

static inline int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

uint64_t kf_workspace(const kf_call *call) {
  const uint64_t N = (uint64_t)call->symbols[1], K = (uint64_t)call->symbols[2];
  return (N + NR - 1) / NR * NR * K * sizeof(float);
}

static void pack(const float *b, float *panel, int64_t j0, int64_t N, int64_t K) {
  const int64_t cols = least(NR, N - j0);
  for (int64_t k = 0; k < K; k++)
    for (int64_t j = 0; j < NR; j++)
      panel[k * NR + j] = j < cols ? b[k * N + j0 + j] : 0.0f;
}

// MR rows of a (the last one again where there are no more), one panel, steps of k from k0 to k1.
static void tile(const float *a, const float *panel, float *c, int64_t i0, int64_t j0, int64_t k0, int64_t k1,
                 int64_t M, int64_t N, int64_t K) {
  vec sum[MR][NV] = {0};
  const float *row[MR];
  for (int r = 0; r < MR; r++)
    row[r] = a + least(i0 + r, M - 1) * K;
  for (int64_t k = k0; k < k1; k++) {
    vec right[NV];
    for (int v = 0; v < NV; v++)
      right[v] = *(const vec *)(panel + k * NR + v * LANES);
    for (int r = 0; r < MR; r++)
      for (int v = 0; v < NV; v++)
        sum[r][v] += row[r][k] * right[v];
  }
  const int64_t rows = least(MR, M - i0), cols = least(NR, N - j0);
  for (int r = 0; r < rows; r++) {
    float line[NR];
    float *out = c + (i0 + r) * N + j0;
    memcpy(line, sum[r], sizeof line);
    for (int64_t j = 0; j < cols; j++)
      out[j] = k0 == 0 ? line[j] : out[j] + line[j];
  }
}

int kf_run(const kf_call *call) {
  const float *a = call->args[0].ptr;
  const float *b = call->args[1].ptr;
  float *c = call->args[2].ptr;
  float *packed = call->workspace;
  const int64_t M = call->symbols[0], N = call->symbols[1], K = call->symbols[2];
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t j0 = 0; j0 < N; j0 += NR)
      pack(b, packed + j0 * K, j0, N, K);
#pragma omp for schedule(static)
    for (int64_t i0 = 0; i0 < M; i0 += MR)
      for (int64_t k0 = 0; k0 < K; k0 += KB)
        for (int64_t j0 = 0; j0 < N; j0 += NR)
          tile(a, packed + j0 * K, c, i0, j0, k0, least(k0 + KB, K), M, N, K);
  }
  return 0;
}
// [EVOLVE_END]
