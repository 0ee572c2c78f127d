/* reference.c - the matrix product over kf_real, the oracle of this task.
 * The loops run i, k, j, so that the innermost one walks b and c along their rows. */

void matmul_ref(const kf_real *a, const kf_real *b, kf_real *c, int32_t M, int32_t N, int32_t K) {
  for (int64_t i = 0; i < M; i++) {
    kf_real *row = c + i * N;
    for (int64_t j = 0; j < N; j++)
      row[j] = 0;
    for (int64_t k = 0; k < K; k++) {
      const kf_real x = a[i * K + k];
      const kf_real *bk = b + k * N;
      for (int64_t j = 0; j < N; j++)
        row[j] += x * bk[j];
    }
  }
}
