// kernel.c - the sum as one writes it first, in the host form: one thread adds all values in order.
#include "kf_call.h"

// [EVOLVE_START]
int kf_run(const kf_call *call) {
  const float *x = call->args[0].ptr;
  float *total = call->args[1].ptr;
  const int64_t n = call->symbols[0];
  float sum = 0.0f;
  for (int64_t i = 0; i < n; i++)
    sum += x[i];
  total[0] = sum;
  return 0;
}
// [EVOLVE_END]
