/* reference.c - layer normalisation over kf_real, the oracle of this task.
 * The variance is the mean of squared distances from the mean, in a sweep of its own. */

#include <tgmath.h> /* sqrt in the precision of kf_real */

void layernorm_ref(const kf_real *x, const kf_real *gamma, const kf_real *beta, kf_real *y, int32_t rows,
                   int32_t cols) {
  for (int64_t r = 0; r < rows; r++) {
    const kf_real *in = x + r * cols;
    kf_real *out = y + r * cols;
    kf_real mean = 0;
    for (int64_t c = 0; c < cols; c++)
      mean += in[c];
    mean /= cols;
    kf_real variance = 0;
    for (int64_t c = 0; c < cols; c++)
      variance += (in[c] - mean) * (in[c] - mean);
    variance /= cols;
    const kf_real scale = 1 / sqrt(variance + (kf_real)1e-5);
    for (int64_t c = 0; c < cols; c++)
      out[c] = (in[c] - mean) * scale * gamma[c] + beta[c];
  }
}
