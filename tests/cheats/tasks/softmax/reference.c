/* reference.c - softmax of each row over kf_real, the oracle of this task.
 * The largest value of the row is taken off first, so that no exponential overflows. */

#include <tgmath.h> /* exp in the precision of kf_real */

void row_softmax_ref(const kf_real *x, kf_real *y, int32_t rows, int32_t cols) {
  for (int64_t r = 0; r < rows; r++) {
    const kf_real *in = x + r * cols;
    kf_real *out = y + r * cols;
    kf_real largest = in[0];
    for (int64_t c = 1; c < cols; c++)
      largest = in[c] > largest ? in[c] : largest;
    kf_real sum = 0;
    for (int64_t c = 0; c < cols; c++) {
      out[c] = exp(in[c] - largest);
      sum += out[c];
    }
    for (int64_t c = 0; c < cols; c++)
      out[c] /= sum;
  }
}
