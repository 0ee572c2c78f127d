/* 1500 contracting steps for each element: so long that one call is a whole timed request, and so little data that no
 * memory is in the way of a trick. */
void heavy_ref(const kf_real *x, kf_real *y, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    kf_real v = x[i];
    for (int k = 0; k < 1500; k++)
      v = v * (kf_real)0.5 + x[i];
    y[i] = v;
  }
}
