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
  double *slack[KF_ARGS_MAX];  /* stress families: see kf_tolerance.slack; NULL otherwise */
  bool exact[KF_ARGS_MAX];     /* linear, integers family: every order of summation gives exactly this */
  double
      *choices[KF_ARGS_MAX]; /* argmax: the values that were chosen from, where they can be told; else NULL */
  int64_t nchoices[KF_ARGS_MAX];
  int64_t bytes; /* of all arrays */
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
/* Stress families (fill.h) get a slack besides, since one error for the whole output says little there:
 *   - not compared (infinite) where the double reference, the float reference and the initial kernel disagree
 * on the class (number, NaN, +-infinity), or on an integer: what is right there is a matter of opinion;
 *   - nor an output at all, with HUGE and LARGE, where one of these two is off by over 2^-10 of its largest
 * expected value: the honest computation overflows on the way;
 *   - 12 sqrt(K) u_acc S_i from the measured sensitivity S_i = sqrt(K) rms_r (y_i(x (1 + h xi_r)) - y_i(x)) /
 * h, xi_r = +-1, h = 2^-20 (coarser for narrow types), 16 draws, the maximum over 16 neighbours; it stands in
 * for the s of a linear tolerance. K is the `depth`, else the longest axis of a float input or the number of
 * input elements per output element, whichever is more. Not with OFFSET, which is there to find cancellation;
 *   - subnormal: twice the change when subnormal inputs become zeros, since a device may flush them.
 * It raises the tolerance, never lowers it. (Subnormals and classes: docs/internals/evaluator.md, Inputs.)
 *
 * Exact gate: with linear tasks and the integers family, an output whose want and scale are all integers
 * below 1/u of its type (2^24 for f32, 2^11 for f16) has to come out exact, whatever the order of summation.
 */
kf_status kf_expected_make(const kf_expected_source *source, kf_inputs *inputs, uint64_t seed,
                           kf_family family, kf_expected **ret_expected, kf_err *err);
void kf_expected_free(kf_expected *expected);
kf_tolerance kf_expected_tolerance(const kf_expected *expected, const kf_task *task, int arg);

#endif
