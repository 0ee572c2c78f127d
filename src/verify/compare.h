/* compare.h - is an output right? Tolerances by error kind, and a diagnosis of what is wrong (EVALUATION Correctness (a); SEARCH 7).
 * Pure functions on arrays; no process, no device. Threads: pure. */
#ifndef KF_VERIFY_COMPARE_H
#define KF_VERIFY_COMPARE_H

#include "task/task.h"
#include "wire/verdict.h"

/* What is allowed, for one output of one case. */
typedef struct {
  kf_compare compare;
  kf_error_kind kind;
  kf_type type;
  double e_float;       /* calibrated: largest |float reference or naive kernel - double reference| over the output; 0 if none */
  int64_t depth;        /* linear: K */
  const double *scale;  /* linear: s_i = sum |a||b| from the reference on absolute values, one per element */
} kf_tolerance;

/* The allowed error of element i whose expected value is `want`:
 *   linear      2 (u_out |y| + 6 sqrt(K) u_acc s_i) + tiny
 *   calibrated  8 max(e_float, ulp(y))
 *   exact       0 */
double kf_tolerance_at(const kf_tolerance *tolerance, int64_t index, double want);

typedef struct {
  bool right;
  int64_t wrong;       /* elements out of tolerance, NaN where none is expected and the reverse included */
  int64_t first;       /* index of the first wrong one, -1 */
  double worst;        /* largest error / tolerance (infinite for exact and NaN mismatches) */
  double first_got, first_want;
} kf_compare_result;

/* `got` in the argument's type, `want` as doubles, both `elements` long. NaN and +-Inf positions must agree exactly. */
kf_status kf_compare_array(const kf_tolerance *tolerance, const void *got, const double *want, int64_t elements,
                           kf_compare_result *ret_result, kf_err *err);
/* Same, against another kernel's output of the same type (timed outputs: within twice the tolerance). */
kf_status kf_compare_outputs(const kf_tolerance *tolerance, const void *got, const void *want, int64_t elements,
                             kf_compare_result *ret_result, kf_err *err);

/* Class of a wrong output, first match of SEARCH 7: unwritten, nan, tail, tile_edge, transposed, shifted, scaled, one_element,
 * imprecise, all. `poison_pattern` as in fill.h; `shape` of rank `rank`. Fills kind, where, text, evidence. */
void kf_diagnose_output(const char *arg_name, const kf_tolerance *tolerance, const void *got, const double *want,
                        const int64_t *shape, int rank, int64_t elements, int poison_pattern, const char *case_text,
                        const kf_compare_result *result, kf_diagnosis *ret_diagnosis);

#endif
