/* reference.c - each row of x times its weight. */

void tiny_ref(const kf_real *x, const kf_real *w, kf_real *y, int32_t rows, int32_t cols) {
  for (int32_t r = 0; r < rows; r++)
    for (int32_t c = 0; c < cols; c++)
      y[r * cols + c] = x[r * cols + c] * w[r];
}
