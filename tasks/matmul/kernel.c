// kernel.c - the matrix product as one writes it first, in the host form: three loops, one thread.
#include "kf_call.h"

// [EVOLVE_START]
int kf_run(const kf_call *call) {
  const float *a = call->args[0].ptr;
  const float *b = call->args[1].ptr;
  float *c = call->args[2].ptr;
  const int64_t M = call->symbols[0], N = call->symbols[1], K = call->symbols[2];
  for (int64_t row = 0; row < M; row++)
    for (int64_t col = 0; col < N; col++) {
      float sum = 0.0f;
      for (int64_t k = 0; k < K; k++)
        sum += a[row * K + k] * b[k * N + col];
      c[row * N + col] = sum;
    }
  return 0;
}
// [EVOLVE_END]
