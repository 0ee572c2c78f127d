/* check.h - one verified call of a candidate: poison, run, stop, guards, compare, diagnose
 * (docs/internals/evaluator.md). */
#ifndef KF_VERIFY_CHECK_H
#define KF_VERIFY_CHECK_H

#include "base/hash.h"
#include "verify/expected.h"

typedef struct {
  kf_verdict_kind kind; /* KF_VERDICT_CORRECT if this call was right */
  kf_diagnosis diagnosis;
  double worst;    /* largest error over its tolerance */
  int64_t wall_ns; /* of the call, judge's clock */
  kf_hash outputs; /* of all output bytes: equal for repeats of a deterministic kernel */
} kf_check_result;

/* The rig must be attached. Its inputs must hold the bytes of `expected`. After KF_VERDICT_CRASHED and the
 * like the runner is finished. */
kf_status kf_check_call(kf_runner *runner, kf_rig *rig, const kf_expected *expected, int pattern,
                        int64_t deadline_ns, kf_check_result *ret_result, kf_err *err);
/* KF_VERDICT_WRONG_MEMORY with the diagnosis if the bytes around a buffer changed (they are then restored),
 * else CORRECT. */
kf_verdict_kind kf_check_guards(kf_rig *rig, kf_diagnosis *ret_diagnosis);
/* After a call whose outputs were read: lets the stopped runner go on for `ms` and looks again. CHEAT with the
 * diagnosis when an output or a guard has changed: work that outlived its call (docs/internals/cheats.md, rows
 * 2 and 39). The runner is stopped again. */
kf_status kf_check_second_look(kf_runner *runner, kf_rig *rig, int64_t ms, kf_verdict_kind *ret_kind,
                               kf_diagnosis *ret_diagnosis, kf_err *err);
/* What a failed run means as a verdict. `buffers` names them for wrong_memory (NULL allowed). */
kf_verdict_kind kf_check_run_verdict(const kf_run_result *run, const kf_calls *calls, const char *case_text,
                                     kf_diagnosis *ret_diagnosis);

#endif
