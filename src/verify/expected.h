/* expected.h - what the outputs of one case must be for one seed, and how far off an honest kernel may be.
 * Lives in the judge only: never mapped by a candidate. */
#ifndef KF_VERIFY_EXPECTED_H
#define KF_VERIFY_EXPECTED_H

#include "verify/compare.h"
#include "verify/oracle.h"
#include "verify/rig.h"

typedef struct {
  uint64_t seed;
  kf_family family;
  double *want[KF_ARGS_MAX];   /* by argument; NULL for inputs */
  double *scale[KF_ARGS_MAX];  /* linear: s = sum |a||b|; NULL otherwise */
  double e_float[KF_ARGS_MAX]; /* calibrated: largest error of an honest float computation */
  int64_t depth;               /* linear: K */
} kf_expected;

/* Where expected data comes from. */
typedef struct {
  kf_oracle *oracle; /* NULL: `reference: kernel`, the initial kernel is the oracle */
  /* Runs the task's initial kernel on the present bytes of `inputs`; gives each out/inout argument in its
   * declared type (kf_free). KF_ENOTFOUND: the task has none that works. */
  kf_status (*run_initial)(void *context, kf_inputs *inputs, void *ret_outputs[KF_ARGS_MAX], kf_err *err);
  void *context;
  int64_t timeout_ms; /* of one run of the reference */
} kf_expected_source;

/* Fills `inputs` with (seed, family) and leaves them so.
 * calibrated: e_float = max over elements of |float reference - double reference| and of |initial kernel -
 * double reference|; the latter is capped at 16 times the former, so that a wrong initial kernel cannot widen
 * the net. An output of under 256 elements gives
 * too few samples of the error: there the float reference also runs on 8 copies of the inputs moved by half
 * an ulp. With `reference: kernel` there is no higher precision: e_float is the largest change of the
 * kernel's output over 4 perturbations of every input by one ulp. linear: `scale` is the reference on
 * absolute values. (docs/internals/evaluator.md, Tolerance.) */
kf_status kf_expected_make(const kf_expected_source *source, kf_inputs *inputs, uint64_t seed,
                           kf_family family, kf_expected **ret_expected, kf_err *err);
void kf_expected_free(kf_expected *expected);
kf_tolerance kf_expected_tolerance(const kf_expected *expected, const kf_task *task, int arg);

#endif
