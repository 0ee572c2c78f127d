/* stats.h - medians and order-statistic intervals (docs/internals/evaluator.md, T6). Pure. Doubles are
 * natural logs unless named. */
#ifndef KF_MEASURE_STATS_H
#define KF_MEASURE_STATS_H

#include "base/status.h"
#include <stdint.h>

double kf_median(const double *values, int count);       /* count >= 1; does not reorder the input */
int64_t kf_median_i64(const int64_t *values, int count); /* lower median */

typedef struct {
  double median, low, high; /* low = high = NaN-free: with too few values low = -HUGE_VAL, high = HUGE_VAL */
  double level;             /* nominal coverage */
} kf_interval;

/* Symmetric ranks (r, n+1-r), r the largest with two-sided binomial coverage >= level; -inf..inf if even r=1
 * falls short. */
kf_interval kf_interval_median(const double *values, int count, double level);
int kf_interval_rank(int count, double level); /* r, 0 if none */

#endif
