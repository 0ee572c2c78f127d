/* reference.c - the transpose over kf_real, the oracle of this task.
 * It goes through small square blocks, so that both sides stay in the cache. */

enum { BLOCK = 32 };

void transpose_ref(const kf_real *x, kf_real *y, int32_t rows, int32_t cols) {
  for (int64_t r0 = 0; r0 < rows; r0 += BLOCK)
    for (int64_t c0 = 0; c0 < cols; c0 += BLOCK)
      for (int64_t r = r0; r < rows && r < r0 + BLOCK; r++)
        for (int64_t c = c0; c < cols && c < c0 + BLOCK; c++)
          y[c * rows + r] = x[r * cols + c];
}
