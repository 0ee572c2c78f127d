/* compare.h - is an output right? Tolerances by error kind, and a diagnosis of what is wrong
 * (docs/internals/evaluator.md, Tolerance; docs/formats/verdict.md). Pure functions on arrays; no process,
 * no device. Threads: pure. */
#ifndef KF_VERIFY_COMPARE_H
#define KF_VERIFY_COMPARE_H

#include "task/task.h"
#include "wire/verdict.h"

/* What is allowed, for one output of one case. */
typedef struct {
  kf_compare compare;
  kf_error_kind kind;
  kf_type type;
  /* calibrated: largest |float reference or naive kernel - double reference| over the output; 0 if none */
  double e_float;
  int64_t depth; /* linear: K */
  /* linear: s_i = sum |a||b| from the reference on absolute values, one per element (oracle.h) */
  const double *scale;
  /* optional, one per element: the least that is allowed where errors are (linear, calibrated); an element of
   * infinite slack is not compared at all, whatever the compare. See expected.h. */
  const double *slack;
  /* argmax, optional: the values that output i chose from are choices[i * nchoices ..]; an index whose value
   * ties with the expected one within u_acc is right too. NULL: only the expected index is. */
  const double *choices;
  int64_t nchoices;
} kf_tolerance;

/* The allowed error of element i whose expected value is `want` (docs/internals/evaluator.md, Tolerance):
 *   linear      2 (u_out |y| + 6 sqrt(K) u_acc s_i) + tiny
 *   calibrated  8 max(e_float, ulp(y))
 *   each raised to slack[i] where there is one
 *   exact       0; so too for integer types and every compare but bound and set
 * u_out is the unit roundoff of the type; u_acc that of fp32 for f32 and narrower types, of fp64 for f64;
 * tiny the smallest normal number of f64, f32, bf16 (a device may flush below it), the smallest subnormal of
 * the narrower types. ulp(y) is the spacing of the type at y. */
double kf_tolerance_at(const kf_tolerance *tolerance, int64_t index, double want);

typedef struct {
  bool right;
  int64_t wrong; /* elements out of tolerance, NaN where none is expected and the reverse included */
  int64_t first; /* index of the first wrong one, -1 */
  double worst;  /* largest error / tolerance (infinite for exact and NaN mismatches); <= 1 is right */
  double first_got, first_want;
} kf_compare_result;

/* `got` in the argument's type, `want` as doubles, both `elements` long. NaN and +-Inf positions must agree
 * exactly; a `want` beyond the range of the type counts as infinite, and the largest finite value is right
 * there too.
 *
 *   bound    within kf_tolerance_at
 *   exact    equal to `want` rounded to the type; +0 equals -0
 *   bitwise  the bits of `want` rounded to the type; any NaN equals any NaN
 *   set      the whole array as a multiset: sorted, then as bound; `first` is an element of `got` without a
 *            partner. O(n log n), allocates
 *   argmax   as exact, or a tie: see kf_tolerance.choices
 *
 * KF_EBUG: linear without scale. */
kf_status kf_compare_array(const kf_tolerance *tolerance, const void *got, const double *want,
                           int64_t elements, kf_compare_result *ret_result, kf_err *err);
/* Same, against another kernel's output of the same type (timed outputs: within twice the tolerance; `worst`
 * is relative to twice the tolerance). */
kf_status kf_compare_outputs(const kf_tolerance *tolerance, const void *got, const void *want,
                             int64_t elements, kf_compare_result *ret_result, kf_err *err);

/* Class of a wrong output, first match in the order of docs/formats/verdict.md: unwritten, nan, tail,
 * tile_edge, transposed, shifted, scaled, one_element, imprecise (worst < 100), all. (race needs repeats: the
 * caller's.) `poison_pattern` as in fill.h; `shape` of rank `rank`. Fills kind, where, text, evidence. */
void kf_diagnose_output(const char *arg_name, const kf_tolerance *tolerance, const void *got,
                        const double *want, const int64_t *shape, int rank, int64_t elements,
                        int poison_pattern, const char *case_text, const kf_compare_result *result,
                        kf_diagnosis *ret_diagnosis);

#endif
