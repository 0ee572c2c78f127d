/* quantile.h - private to verify/: the tables behind normally distributed fills (docs/formats/task.md, args).
 *
 * Entry k belongs to the probability (k + 1/2) / 2^16, so that 16 random bits pick a value. Values come from
 * + - * / and sqrt alone, which IEEE 754 rounds the same everywhere; no libm function takes part. Made once,
 * at first use. Threads: safe. */
#ifndef KF_VERIFY_QUANTILE_H
#define KF_VERIFY_QUANTILE_H

enum { KF_QUANTILE_BITS = 16, KF_QUANTILE_COUNT = 1 << KF_QUANTILE_BITS };

typedef enum {
  KF_QUANTILE_NORMAL,    /* q = quantile of N(0,1) */
  KF_QUANTILE_LOGNORMAL, /* e^q */
  KF_QUANTILE_SHIFTED,   /* 10 q + 5 */
  KF_QUANTILE_TINY,      /* q / 1000 */
  KF_QUANTILE_TABLES,
} kf_quantile_table;

const float *kf__quantile_table(kf_quantile_table table); /* KF_QUANTILE_COUNT entries, static */

#endif
