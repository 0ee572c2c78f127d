/* trial_floor.c - a time below what moving the compulsory bytes takes is not believed before the candidate
 * has been right on inputs that nobody has seen; see trial_int.h and docs/internals/evaluator.md, T17. */
#include "eval/perf.h"

#include "measure/floor.h"

#include <stdio.h>
#include <string.h>

/* Ceilings are measured: a perfect kernel may come out a little above them. */
static const double NOISE = 0.9;
enum { SEEDS = 3 };

static int64_t time_of_case(const kf_trial *trial, int index) {
  const kf_verdict *v = trial->verdict;
  for (int i = 0; i < v->ncases; i++)
    if (v->cases[i].measured && strcmp(v->cases[i].symbols, trial->race[index].inputs->case_text) == 0)
      return v->cases[i].time_ns;
  return v->time_ns; /* of a candidate verified before: no line a case */
}

static kf_status recheck(kf_trial *trial, int index, int64_t time_ns, int64_t floor_ns, int stage,
                         kf_err *err) {
  kf_verdict *v = trial->verdict;
  kf_diagnosis found = {.kind = "below_floor"};
  snprintf(found.where, sizeof found.where, "%.150s", trial->race[index].inputs->case_text);
  snprintf(found.evidence, sizeof found.evidence, "%lld ns; reading and writing what it must takes %lld ns",
           (long long)time_ns, (long long)floor_ns);
  kf_trial_say(trial, "rechecking");
  KF_TRY(kf_trial_recheck(trial, index, SEEDS, err));
  if (kf_trial_decided(trial)) {
    snprintf(found.text, sizeof found.text, "faster than memory allows, and on new inputs: %.300s",
             v->diagnosis.text);
    kf_trial_fail(trial, KF_VERDICT_CHEAT, &found, stage);
    return KF_OK;
  }
  snprintf(found.text, sizeof found.text,
           "faster than memory is thought to allow, but right on %d further inputs", SEEDS);
  v->diagnosis = found;
  return KF_OK;
}

kf_status kf_trial_check_floor(kf_trial *trial, int stage, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  const kf_ceilings *ceilings = kf_trial_ceilings(trial);
  for (int i = 0; i < trial->nrace && !kf_trial_decided(trial); i++) {
    int64_t floor_ns = kf_floor_ns(trial->race[i].inputs, ceilings, j->device->llc_bytes);
    int64_t time_ns = trial->nrace == 1 ? trial->verdict->time_ns : time_of_case(trial, i);
    if (time_ns <= 0 || (double)time_ns >= NOISE * (double)floor_ns) continue;
    /* They may have been measured while the machine was busy. */
    if (kf_trial_ceilings_again(trial))
      floor_ns = kf_floor_ns(trial->race[i].inputs, ceilings, j->device->llc_bytes);
    if ((double)time_ns >= NOISE * (double)floor_ns) continue;
    KF_TRY(recheck(trial, i, time_ns, floor_ns, stage, err));
  }
  return KF_OK;
}
