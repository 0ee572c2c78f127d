/* 1500 contracting steps for each element, on so few that a timed request is a batch of calls */
void medium_ref(const kf_real *x, kf_real *y, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    kf_real v = x[i];
    for (int k = 0; k < 1500; k++)
      v = v * (kf_real)0.5 + x[i];
    y[i] = v;
  }
}
