/* compare_limit.h - private to verify/: a tolerance with its constants worked out, shared by compare, set and
 * diagnosis. */
#ifndef KF_VERIFY_COMPARE_LIMIT_H
#define KF_VERIFY_COMPARE_LIMIT_H

#include "verify/compare.h"

typedef struct {
  double spacing_min, normal_min, largest; /* smallest subnormal, smallest normal, largest finite value */
} kf_float_range;
const kf_float_range *kf__float_range(kf_type type); /* of a float type */

typedef struct {
  const kf_tolerance *tolerance;
  kf_error_kind kind;  /* what applies to this type and compare */
  double widen;        /* every tolerance times this */
  double u_out;        /* unit roundoff of the output type */
  double accumulation; /* linear: 6 sqrt(K) u_acc */
  double tiny;         /* linear: added; see kf_tolerance_at */
  double spacing_min;  /* distance of the subnormals of the type */
  double largest;      /* largest finite value; HUGE_VAL for integers */
} kf_limit;

kf_status kf__limit_init(kf_limit *limit, const kf_tolerance *tolerance, double widen, kf_err *err);
double kf__limit_allowed(const kf_limit *limit, int64_t index, double want);
/* Error over tolerance by all rules for bound, exact and bitwise (NaN, infinities, overflow): <= 1 is right.
 * `index` picks scale and choices. */
double kf__limit_ratio(const kf_limit *limit, int64_t index, double got, double want);
/* `want` rounded to the type of the output. */
double kf__limit_round(const kf_limit *limit, double want);

kf_status kf__compare_set(const kf_limit *limit, const void *got, const double *want, int64_t elements,
                          kf_compare_result *ret_result, kf_err *err);

#endif
