/* perf.h - the device's ceilings, measured once in a session when they are first needed, and what they say of
 * a correct kernel (docs/internals/evaluator.md, Ceilings and diagnosis). */
#ifndef KF_EVAL_PERF_H
#define KF_EVAL_PERF_H

#include "eval/trial_int.h"
#include "measure/roofline.h"

/* The ceilings of one device of a session. Zeroed: nothing measured yet. */
typedef struct kf_ceiling_store {
  kf_ceilings ceilings;
  int runs;    /* measurements so far */
  bool broken; /* a failure: there is no other try */
  kf_task *task;
  kf_artefact *artefact; /* the probe's build */
  bool wanted;           /* its build was asked for */
} kf_ceiling_store;

/* Starts the probe's build, so that it is there when it is needed; never waits. */
void kf_ceiling_store_prepare(kf_ceiling_store *store, kf_artefacts *artefacts, const kf_device_info *device);
/* Whether its build is done, or will never be. */
bool kf_ceiling_store_ready(const kf_ceiling_store *store);
/* Measures now, up to three times in a session, and keeps the best of each number; the device is locked by
 * the caller. Waits for the build (5 s at most), about half a second more. False: nothing new was learned,
 * and without any measurement the ceilings stay unknown. */
bool kf_ceiling_store_measure(kf_ceiling_store *store, kf_artefacts *artefacts, const kf_device_info *device);
/* Before the artefacts end; `task` is the caller's to free after them. */
void kf_ceiling_store_done(kf_ceiling_store *store, kf_artefacts *artefacts);

/* The judgement's ceilings, measured if they were not yet; NULL if they cannot be known. */
const kf_ceilings *kf_trial_ceilings(const kf_trial *trial);
/* Measures once more, for a candidate that seems faster than the device: they may have been taken while the
 * machine was busy. False: no better numbers are to be had. */
bool kf_trial_ceilings_again(const kf_trial *trial);
/* roofline and diagnosis of a correct, timed candidate; nothing else is touched. */
void kf_trial_diagnose(kf_trial *trial);

#endif
