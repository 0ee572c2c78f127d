/* the sum of each row */
void sum_ref(const kf_real *x, kf_real *y, int32_t rows, int32_t cols) {
  for (int32_t r = 0; r < rows; r++) {
    kf_real total = 0;
    for (int32_t c = 0; c < cols; c++)
      total += x[(int64_t)r * cols + c];
    y[r] = total;
  }
}
