/* taskstate.h - what a session knows about one task: the parsed task, its oracle, its initial kernel, and
 * expected data. Seeds are secret: drawn at session start, never told to a child before its inputs are there.
 */
#ifndef KF_EVAL_TASKSTATE_H
#define KF_EVAL_TASKSTATE_H

#include "device/runner.h"
#include "eval/artefact.h"
#include "eval/expected_pool.h"

typedef struct kf_task_state {
  kf_hash blob; /* of the canonical JSON text */
  kf_task *task;
  uint64_t secret; /* seeds come from it */
  kf_oracle *oracle;
  kf_pool pool; /* expected data of check and measure cases; hidden ones are made anew each time */
  /* The initial kernel's process for expected data: stopped between runs, NULL until the first one. */
  kf_runner *initial;
  kf_hash initial_key; /* of the artefact in it */
  char initial_dir[KF_PATH_MAX];
  bool base_known;
  kf_behavior_base base; /* facts of the initial kernel, for the algorithm axis */
  struct kf_task_state *next;
} kf_task_state;

/* What making expected data needs from the session. */
typedef struct {
  const kf_settings *settings;
  const kf_device_info *device;
  kf_work_root *work;
  const kf_artefact *initial; /* the task's initial kernel, READY; NULL if the task has none */
} kf_task_means;

/* `task` is taken over; freed too when this fails. */
kf_status kf_task_state_new(kf_task *task, const kf_hash *blob, kf_task_state **ret_state, kf_err *err);
void kf_task_state_free(kf_task_state *state);
/* A judgement begins: kf_pool_begin. */
void kf_task_state_begin(kf_task_state *state);
/* The expected data of a case and a family for this judgement's secret seed; `inputs` then hold that seed's
 * bytes. Borrowed from the state until the next kf_task_state_begin. */
kf_status kf_task_expected(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                           kf_family family, const kf_expected **ret_expected, kf_err *err);
/* The precision gate's data of a case; what `inputs` hold then is undefined. Borrowed likewise. */
kf_status kf_task_precision(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                            const kf_precision **ret_precision, kf_err *err);
/* As kf_task_expected for a seed never used before; the caller frees. */
kf_status kf_task_expected_fresh(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                                 kf_expected **ret_expected, kf_err *err);
/* The task's oracle on the present bytes of `inputs`, in double or float (precision 64, 32): outputs as
 * doubles, NULL elsewhere, to be freed by the caller. With `reference: kernel` it is the initial kernel. */
kf_status kf_task_oracle_run(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                             int precision, double *ret_outputs[KF_ARGS_MAX], kf_err *err);
/* A built kernel in a process of its own on the present bytes of `inputs`: outputs in their declared types
 * (kf_free). KF_ENOTFOUND with the reason: it does not run on this case. */
kf_status kf_task_kernel_run(const kf_task_means *means, const kf_artefact *artefact, kf_inputs *inputs,
                             void *ret_outputs[KF_ARGS_MAX], kf_err *err);

#endif
