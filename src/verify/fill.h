/* fill.h - inputs from seeds, by exact operations only, so that host and device agree bit by bit
 * (docs/formats/task.md, args).
 *
 * Element i of argument a under seed s depends on (s, a, i) only: word i % 4 of Philox4x32-10 with key s and
 * counter (low and high word of i / 4, a, 0x66696c6c). uniform = top 24 bits * 2^-24 in [0,1); normal = the
 * entry of the top 16 bits in a quantile table of N(0,1) (generated at first use from fixed series, stored as
 * float; entry k belongs to probability (k + 1/2) / 2^16). The structured fills (permutation, sorted, spd)
 * depend on the length too. Threads: pure. */
#ifndef KF_VERIFY_FILL_H
#define KF_VERIFY_FILL_H

#include "task/task.h"

/* The input families (docs/internals/evaluator.md, Inputs; docs/internals/cheats.md, rows 14 and 17).
 * DECLARED is the task's own fill. The others apply to float arrays filled with normal or uniform; integer
 * and structured fills always stay as declared.
 *
 * The stress families are single-class inputs of the *first* such array of the task; the others are N(0,1),
 * except with EQUAL, which makes every array constant. So a product stays in range, and a zero that a kernel
 * pads with never meets an infinity of the other factor. */
typedef enum {
  KF_FAMILY_DECLARED,
  KF_FAMILY_NORMAL,
  KF_FAMILY_UNIFORM_SYMMETRIC, /* U(-1,1) */
  KF_FAMILY_LOGNORMAL,
  KF_FAMILY_SHIFTED,  /* N(0,1) * 10 + 5 */
  KF_FAMILY_TINY,     /* 1e-3 scale */
  KF_FAMILY_INTEGERS, /* -3..3 (f64, f32) or -1..1: every partial sum of products exact */
  KF_FAMILY_HUGE,     /* +-(1/2..1) of the largest value of the type over 16 sqrt(elements) */
  KF_FAMILY_LARGE,    /* the same of its square root: squares stay in range */
  KF_FAMILY_OFFSET, /* 2^(half of the type's digits, less 2) + N(0,1): the mean is large against the spread */
  KF_FAMILY_SUBNORMAL,
  KF_FAMILY_ZEROS, /* +0 and -0 */
  KF_FAMILY_EQUAL, /* ties */
  KF_FAMILY_ONE_HOT,
  KF_FAMILY_ALTERNATING, /* +-2^(half of the type's digits), plus U(-1,1): cancels */
  KF_FAMILY_NAN_FIRST,   /* N(0,1) with one NaN or infinity, in the first, middle or last element */
  KF_FAMILY_NAN_MIDDLE,
  KF_FAMILY_NAN_LAST,
  KF_FAMILY_INF_FIRST,
  KF_FAMILY_INF_MIDDLE,
  KF_FAMILY_INF_LAST,
  KF_FAMILY_MINUS_INF_FIRST,
  KF_FAMILY_MINUS_INF_MIDDLE,
  KF_FAMILY_MINUS_INF_LAST,
  KF_FAMILY_COUNT,
  KF_FAMILY_STRESS = KF_FAMILY_HUGE, /* the first stress family */
} kf_family;
bool kf_family_is_stress(kf_family family);
const char *kf_family_name(kf_family family);

/* Writes all `elements` of argument `arg` (in or inout) for a case. `data` holds elements * kf_type_size
 * bytes, aligned to the type. KF_EREFUSED: the task asks for the impossible (empty integer range, permutation
 * too long for the type, spd not square, file of another size). KF_ENOMEM only for sorted. */
kf_status kf_fill_arg(const kf_task *task, int arg, const int64_t *symbols, uint64_t seed, kf_family family,
                      void *data, int64_t elements, kf_err *err);
/* Whether each element depends on the seed and its index alone, so that a part can be drawn anew. */
bool kf_fill_is_elementwise(const kf_arg_spec *arg);
/* Elements [first, first + count) of such a fill as declared, `first` a multiple of 4; `data` is the whole
 * array. */
kf_status kf_fill_part(const kf_task *task, int arg, const int64_t *symbols, uint64_t seed, void *data,
                       int64_t first, int64_t count, kf_err *err);
/* Poison: NaN-like bits (pattern 0) or a large finite pattern (1) in the element type; integers get 0xA5.. /
 * 0x5A... */
void kf_poison(kf_type type, void *data, int64_t elements, int pattern);
/* First element still holding exactly the poison, or -1. */
int64_t kf_poison_find(kf_type type, const void *data, int64_t elements, int pattern);

#endif
