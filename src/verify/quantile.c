/* quantile.c - quantiles of N(0,1) by algorithm AS 241, PPND16 (Wichura, Applied Statistics 37, 1988), about
 * 16 digits, with a logarithm and an exponential of our own. Compiled with -ffp-contract=off: a fused
 * multiply-add would round otherwise. The tail branch of AS 241 for p < e^-25 is not needed: the smallest
 * probability here is 2^-17. */
#include "verify/quantile.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/banned.h"

/* 16: _Float16 has arithmetic of its own, float and double are as with 0. */
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16, "excess precision would change the tables");

static float tables[KF_QUANTILE_TABLES][KF_QUANTILE_COUNT];

enum { DEGREE = 7 };

/* c[0] + c[1] x + ... + c[7] x^7 by Horner's rule. */
static double polynomial(const double c[DEGREE + 1], double x) {
  double sum = c[DEGREE];
  for (int i = DEGREE - 1; i >= 0; i--)
    sum = sum * x + c[i];
  return sum;
}

/* ln x for a positive normal x: x = 2^e m with m in [sqrt(1/2), sqrt 2), ln m = 2 artanh((m-1)/(m+1)) by its
 * series. */
static double series_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = (int)(bits >> 52) - 1023;
  bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m = m / 2;
    exponent++;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 25; k >= 1; k -= 2)
    sum = sum * square + 1.0 / k;
  return exponent * 0x1.62e42fefa39efp-1 + 2 * s * sum;
}

/* e^x for |x| < 100: x = k ln 2 + r, Taylor for e^r. */
static double series_exp(double x) {
  const double ln2 = 0x1.62e42fefa39efp-1;
  int k = (int)(x / ln2 + (x < 0 ? -0.5 : 0.5));
  double r = x - k * ln2, sum = 1;
  for (int i = 20; i >= 1; i--)
    sum = 1 + r * sum / i;
  uint64_t bits = (uint64_t)(k + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return sum * power;
}

/* Quantile of probability p in (0, 1/2]: zero or negative. */
static double lower_quantile(double p) {
  static const double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                             1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                             3.3430575583588128105e4, 2.5090809287301226727e3};
  static const double b[] = {1,
                             4.2313330701600911252e1,
                             6.8718700749205790830e2,
                             5.3941960214247511077e3,
                             2.1213794301586595867e4,
                             3.9307895800092710610e4,
                             2.8729085735721942674e4,
                             5.2264952788528545610e3};
  static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                             3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[] = {1,
                             2.05319162663775882187e0,
                             1.67638483018380384940e0,
                             6.89767334985100004550e-1,
                             1.48103976427480074590e-1,
                             1.51986665636164571966e-2,
                             5.47593808499534494600e-4,
                             1.05075007164441684324e-9};
  double q = p - 0.5;
  if (q >= -0.425) {
    double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  double r = sqrt(-series_log(p)) - 1.6;
  return -(polynomial(c, r) / polynomial(d, r));
}

static void make_tables(void) {
  for (int k = 0; k < KF_QUANTILE_COUNT / 2; k++) {
    double p = (k + 0.5) / KF_QUANTILE_COUNT;
    float low = (float)lower_quantile(p);
    const float pair[2] = {low, -low};
    const int index[2] = {k, KF_QUANTILE_COUNT - 1 - k};
    for (int side = 0; side < 2; side++) {
      double value = pair[side];
      int at = index[side];
      tables[KF_QUANTILE_NORMAL][at] = pair[side];
      tables[KF_QUANTILE_LOGNORMAL][at] = (float)series_exp(value);
      tables[KF_QUANTILE_SHIFTED][at] = (float)(value * 10 + 5);
      tables[KF_QUANTILE_TINY][at] = (float)(value * 1e-3);
    }
  }
}

const float *kf__quantile_table(kf_quantile_table table) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_tables);
  return tables[table];
}
