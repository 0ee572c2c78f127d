/* c = a b, rows of a by columns of b */
void matmul_ref(const kf_real *a, const kf_real *b, kf_real *c, int32_t M, int32_t N, int32_t K) {
  for (int32_t i = 0; i < M; i++)
    for (int32_t j = 0; j < N; j++) {
      kf_real sum = 0;
      for (int32_t k = 0; k < K; k++)
        sum += a[(int64_t)i * K + k] * b[(int64_t)k * N + j];
      c[(int64_t)i * N + j] = sum;
    }
}
