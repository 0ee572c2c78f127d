/* perf.h - the device's ceilings, measured once in a session when they are first needed, and what they say of
 * a correct kernel (docs/internals/evaluator.md, Ceilings and diagnosis). */
#ifndef KF_EVAL_PERF_H
#define KF_EVAL_PERF_H

#include "eval/trial_int.h"
#include "measure/roofline.h"

/* The ceilings of one device of a session. Zeroed: nothing measured yet. */
typedef struct kf_ceiling_store {
  kf_ceilings ceilings;
  bool tried; /* one failure is enough: verdicts then go without a class */
  kf_task *task;
  kf_artefact *artefact; /* the probe's build */
  bool wanted;           /* its build was asked for */
} kf_ceiling_store;

/* Starts the probe's build, so that it is there when it is needed; never waits. */
void kf_ceiling_store_prepare(kf_ceiling_store *store, kf_artefacts *artefacts, const kf_device_info *device);
/* Measures now unless it was tried before; the device is locked by the caller. Waits for the build (5 s at
 * most), about half a second more. Without a result the ceilings stay unknown. */
void kf_ceiling_store_measure(kf_ceiling_store *store, kf_artefacts *artefacts, const kf_device_info *device);
void kf_ceiling_store_done(kf_ceiling_store *store, kf_artefacts *artefacts);

/* The judgement's ceilings, measured if they were not yet; NULL if they cannot be known. */
const kf_ceilings *kf_trial_ceilings(const kf_trial *trial);
/* roofline and diagnosis of a correct, timed candidate; nothing else is touched. */
void kf_trial_diagnose(kf_trial *trial);

#endif
