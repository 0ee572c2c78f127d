/* expected_int.h - private to verify/: running what expected data comes from, and the slack of stress inputs.
 */
#ifndef KF_VERIFY_EXPECTED_INT_H
#define KF_VERIFY_EXPECTED_INT_H

#include "verify/expected.h"

/* What an honest computation at the declared precision gave; arrays may be NULL. */
typedef struct {
  double *reference[KF_ARGS_MAX], *initial[KF_ARGS_MAX];
} kf_honest;

/* A run of the source with the given precision (64 or 32; 64 without an oracle is the initial kernel). */
kf_status kf__expected_run(const kf_expected_source *source, kf_inputs *inputs, int precision,
                           double *ret_values[KF_ARGS_MAX], kf_err *err);
/* The initial kernel's outputs as doubles; KF_ENOTFOUND: none that works. */
kf_status kf__expected_run_initial(const kf_expected_source *source, kf_inputs *inputs,
                                   double *ret_values[KF_ARGS_MAX], kf_err *err);
void kf__expected_free_arrays(double *arrays[KF_ARGS_MAX]);
/* expected_stress.c: fills in `slack`, running what `honest` does not hold yet. Leaves the inputs as they
 * were. */
kf_status kf__expected_slack(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                             kf_honest *honest, kf_err *err);

#endif
