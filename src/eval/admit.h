/* admit.h - is a task fit to be optimised? What can be shown by running its reference and its kernels
 * (docs/internals/evaluator.md, Admission). What the task file alone shows is in task/review.h. */
#ifndef KF_EVAL_ADMIT_H
#define KF_EVAL_ADMIT_H

#include "eval/taskstate.h"
#include "measure/roofline.h"
#include "wire/admission.h"

typedef struct {
  kf_task_state *state;
  kf_task_means means;
  kf_artefact *const *kernels; /* the initial kernel and the seeds, READY; failed ones are passed over */
  const char *const *names;    /* their files */
  int nkernels;
  const kf_ceilings *ceilings; /* NULL: unknown */
  void (*progress)(void *context, const char *what);
  void (*serve)(void *context);
  bool (*canceled)(void *context);
  void *context;
} kf_admit_request;

/* KF_OK with lines of every weight; KF_EREFUSED where the reference itself fails (it does not compile,
 * crashes, leaves outputs unwritten, writes to an input); else a failure of ours. Cases of over 2^26 elements
 * are left out, which a line says. */
kf_status kf_admit(const kf_admit_request *request, kf_admission *ret_admission, kf_err *err);

#endif
