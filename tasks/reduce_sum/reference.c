/* reference.c - the sum over kf_real, the oracle of this task.
 * Blocks are summed by themselves, so that small values are not lost in a large total. Their order differs
 * from the naive kernel's on purpose: with a single output, two orders tell more of the rounding error. */

enum { BLOCK = 128 };

void reduce_sum_ref(const kf_real *x, kf_real *total, int32_t n) {
  kf_real sum = 0;
  for (int64_t i0 = 0; i0 < n; i0 += BLOCK) {
    kf_real part = 0;
    for (int64_t i = i0; i < n && i < i0 + BLOCK; i++)
      part += x[i];
    sum += part;
  }
  total[0] = sum;
}
