/* check.h - one verified call of a candidate: poison, run, stop, guards, compare, diagnose
 * (docs/internals/evaluator.md). */
#ifndef KF_VERIFY_CHECK_H
#define KF_VERIFY_CHECK_H

#include "base/hash.h"
#include "verify/precision.h"

typedef struct {
  kf_verdict_kind kind; /* KF_VERDICT_CORRECT if this call was right */
  kf_diagnosis diagnosis;
  double worst;    /* largest error over its tolerance */
  int64_t wall_ns; /* of the call, judge's clock */
  kf_hash outputs; /* of all output bytes, comparable within this process: equal for repeats of a
                      deterministic kernel */
} kf_check_result;

typedef struct {
  int pattern;         /* of the poison: 0 signalling NaN, 1 a large finite value */
  int64_t deadline_ns; /* 0: the runner's own */
  bool under_load;     /* with the cores busy meanwhile (load.h) */
  /* Optional: the errors of this call's outputs are added as draw `draw` of the precision gate. */
  const kf_precision *precision;
  int draw;
  kf_precision_sum *precision_sum;
} kf_check_options;

/* The rig must be attached. Its inputs must hold the bytes of `expected` (NULL: no comparison). After
 * KF_VERDICT_CRASHED and the like the runner is finished. */
kf_status kf_check_call(kf_runner *runner, kf_rig *rig, const kf_expected *expected,
                        const kf_check_options *options, kf_check_result *ret_result, kf_err *err);
/* The same outputs and guards some time after the call (docs/internals/cheats.md, row 2): KF_VERDICT_CHEAT if
 * anything changed since `outputs` was taken. The process has run meanwhile and is stopped afterwards. */
kf_status kf_check_look_again(kf_runner *runner, kf_rig *rig, const kf_hash *outputs,
                              kf_check_result *ret_result, kf_err *err);
/* After a call whose outputs were read: lets the stopped runner go on for `ms`, then looks again as above. */
kf_status kf_check_second_look(kf_runner *runner, kf_rig *rig, int64_t ms, kf_check_result *ret_result,
                               kf_err *err);
/* KF_VERDICT_WRONG_MEMORY with the diagnosis if the bytes around a buffer changed (they are then restored),
 * else CORRECT. */
kf_verdict_kind kf_check_guards(kf_rig *rig, kf_diagnosis *ret_diagnosis);
/* What a failed run means as a verdict. `buffers` names them for wrong_memory (NULL allowed). */
kf_verdict_kind kf_check_run_verdict(const kf_run_result *run, const kf_calls *calls, const char *case_text,
                                     kf_diagnosis *ret_diagnosis);

#endif
