/* judge.c - the order of the stages; see judge.h. The stages themselves are in trial_check.c and
 * trial_race.c. */
#include "eval/judge.h"

#include "base/clock.h"
#include "eval/perf.h"
#include "wire/advice.h"

#include <stdio.h>
#include <string.h>

bool kf_trial_decided(const kf_trial *trial) {
  return trial->verdict->kind != KF_VERDICT_CORRECT;
}

void kf_trial_fail(kf_trial *trial, kf_verdict_kind kind, const kf_diagnosis *diagnosis, int stage) {
  trial->verdict->kind = kind;
  trial->verdict->stage = stage;
  trial->verdict->diagnosis = *diagnosis;
}

void kf_trial_say(kf_trial *trial, const char *what) {
  const kf_judgement *j = trial->judgement;
  if (j->progress) j->progress(j->context, what);
}

/* What is the candidate's own even where another one's judgement is taken over. */
static void fill_own(const kf_judgement *j, kf_verdict *v) {
  const kf_artefact *candidate = j->candidate;
  snprintf(v->source_sha256, sizeof v->source_sha256, "%s", candidate->source_sha256);
  snprintf(v->binding, sizeof v->binding, "%s", candidate->binding_text);
  snprintf(v->log, sizeof v->log, "%s", candidate->outcome.log ? candidate->outcome.log : "");
  v->build_ms = candidate->outcome.wall_ms;
  if (candidate->outcome.artefact) {
    kf_hash hash;
    kf_hash_bytes(candidate->outcome.artefact, candidate->outcome.artefact_len, &hash);
    kf_hash_hex(&hash, v->artefact_sha256);
  }
  if (j->against) {
    snprintf(v->race.against, sizeof v->race.against, "%s", j->against->source_sha256);
    snprintf(v->race.against_binding, sizeof v->race.against_binding, "%s", j->against->binding_text);
  }
}

/* Who was judged, where, by whom: the parts that do not depend on the outcome. */
static void fill_header(const kf_judgement *j, kf_verdict *v) {
  const kf_artefact *candidate = j->candidate;
  kf_verdict_init(v);
  v->kind = KF_VERDICT_CORRECT; /* until something else holds */
  snprintf(v->oracle, sizeof v->oracle, "%s",
           j->state->task->reference_kind == KF_REFERENCE_KERNEL ? "kernel" : "reference");
  snprintf(v->tier, sizeof v->tier, "%s", j->device->limits.is_cpu ? "B" : "A");
  snprintf(v->device, sizeof v->device, "%s", j->device->id);
  snprintf(v->device_name, sizeof v->device_name, "%s", j->device->name);
  snprintf(v->driver, sizeof v->driver, "%s", j->device->driver);
  snprintf(v->enforced, sizeof v->enforced, "%s", candidate->outcome.enforced); /* until a runner is up */
  fill_own(j, v);
}

/* Where in the archive it belongs; the first candidate of a task also settles what "as the reference" means.
 */
static void find_cell(kf_trial *trial) {
  const kf_judgement *j = trial->judgement;
  if (j->initial && !j->initial->failed && !j->state->base_known) {
    j->state->base = (kf_behavior_base){.operations = j->initial->evidence.launches,
                                        .sweeps = j->initial->evidence.sweeps,
                                        .split_reduction = j->initial->evidence.split_reduction};
    j->state->base_known = j->initial->evidence.known;
  }
  trial->verdict->evidence = j->candidate->evidence;
  trial->verdict->cell = kf_behavior_cell(&j->candidate->evidence, &j->state->base);
}

static kf_status stages_of_verified(kf_trial *trial, kf_err *err) {
  kf_trial_say(trial, "racing");
  KF_TRY(kf_trial_open_race(trial, err));
  if (kf_trial_decided(trial)) return KF_OK;
  trial->verdict->stage = 2;
  KF_TRY(kf_trial_first_blocks(trial, err));
  return kf_trial_decided(trial) ? KF_OK : kf_trial_race(trial, err);
}

/* Stages 1 and 2 with an opponent: three blocks may drop it before the dear verification begins. */
static kf_status verify_and_race(kf_trial *trial, kf_err *err) {
  kf_trial_say(trial, "racing");
  KF_TRY(kf_trial_open_race(trial, err));
  if (kf_trial_decided(trial)) return KF_OK;
  KF_TRY(kf_trial_first_blocks(trial, err));
  if (kf_trial_decided(trial)) return KF_OK;
  trial->verdict->stage = 1;
  if (trial->judgement->stage < 2) return KF_OK;
  kf_trial_say(trial, "verifying");
  int64_t begun = kf_now_ms();
  KF_TRY(kf_trial_full(trial, err));
  trial->verdict->verify_ms += kf_now_ms() - begun;
  if (kf_trial_decided(trial)) return KF_OK;
  trial->verdict->stage = 2;
  kf_trial_say(trial, "racing");
  return kf_trial_race(trial, err);
}

static kf_status verify_and_time(kf_trial *trial, kf_err *err) {
  if (trial->judgement->stage < 2) return KF_OK;
  kf_trial_say(trial, "verifying");
  int64_t begun = kf_now_ms();
  KF_TRY(kf_trial_full(trial, err));
  trial->verdict->verify_ms += kf_now_ms() - begun;
  if (kf_trial_decided(trial)) return KF_OK;
  trial->verdict->stage = 2;
  if (kf_trial_timed_by_check(trial)) return KF_OK;
  kf_trial_say(trial, "timing");
  KF_TRY(kf_trial_open_race(trial, err));
  return kf_trial_decided(trial) ? KF_OK : kf_trial_alone(trial, err);
}

/* The opponent's machine code from another source: verified like any other, since nobody here knows whether
 * the opponent was, and then a tie without a race. */
static kf_status verify_same_code(kf_trial *trial, kf_err *err) {
  kf_verdict *v = trial->verdict;
  if (trial->judgement->stage >= 2) {
    kf_trial_say(trial, "verifying");
    int64_t begun = kf_now_ms();
    KF_TRY(kf_trial_full(trial, err));
    v->verify_ms += kf_now_ms() - begun;
    if (kf_trial_decided(trial)) return KF_OK;
  }
  v->stage = trial->judgement->stage >= 2 ? 2 : 1;
  v->race.outcome = KF_RACE_TIE;
  v->race.level = 1;
  snprintf(v->race.why, sizeof v->race.why, "the same machine code as the opponent's: not raced");
  return KF_OK;
}

static kf_status confirm(kf_trial *trial, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  if (j->stage < 3 || kf_trial_decided(trial) || !j->against) return KF_OK;
  kf_trial_say(trial, "checking hidden cases");
  KF_TRY(kf_trial_hidden(trial, err));
  if (kf_trial_decided(trial)) return KF_OK;
  trial->verdict->stage = 3;
  return kf_trial_confirm(trial, err);
}

static kf_status run_stages(kf_trial *trial, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  if (!j->verified) {
    kf_trial_say(trial, "checking");
    int64_t begun = kf_now_ms();
    KF_TRY(kf_trial_start_checker(trial, j->candidate, err));
    if (!kf_trial_decided(trial)) KF_TRY(kf_trial_quick(trial, err));
    trial->verdict->verify_ms = kf_now_ms() - begun;
    if (kf_trial_decided(trial)) return KF_OK;
  }
  find_cell(trial);
  KF_TRY(kf_trial_settle(trial, 0, err));
  if (kf_trial_decided(trial)) return KF_OK;
  /* A confirmation measures in its own processes: the race before it would only be repeated. */
  if (j->verified && j->stage < 3) KF_TRY(stages_of_verified(trial, err));
  if (j->same_code && j->stage >= 1) return verify_same_code(trial, err);
  if (!j->verified && j->against && j->stage >= 1) KF_TRY(verify_and_race(trial, err));
  if (!j->verified && !j->against) KF_TRY(verify_and_time(trial, err));
  return confirm(trial, err);
}

/* Where the parser was missing, the first line of defence was: said beside the layers that held. */
static void note_unscreened(const kf_artefact *candidate, kf_verdict *v) {
  size_t len = strlen(v->enforced);
  if (candidate->reads && candidate->screen.state == KF_SCREEN_UNREAD && len)
    snprintf(v->enforced + len, sizeof v->enforced - len, " unscreened");
}

void kf_judge_shared(const kf_judgement *judgement, const kf_verdict *twin, kf_verdict *ret_verdict) {
  *ret_verdict = *twin;
  snprintf(ret_verdict->shared_with, sizeof ret_verdict->shared_with, "%s", twin->source_sha256);
  fill_own(judgement, ret_verdict);
  ret_verdict->total_ms = ret_verdict->build_ms;
  ret_verdict->verify_ms = ret_verdict->measure_ms = 0;
}

kf_status kf_judge(const kf_judgement *judgement, kf_verdict *ret_verdict, kf_err *err) {
  int64_t begun = kf_now_ms();
  fill_header(judgement, ret_verdict);
  kf_trial trial = {.judgement = judgement,
                    .verdict = ret_verdict,
                    .means = {.settings = judgement->settings,
                              .device = judgement->device,
                              .work = judgement->work,
                              .initial = judgement->initial}};
  kf_random_bytes(&trial.seed, sizeof trial.seed);
  kf_task_state_begin(judgement->state);
  kf_status status = KF_OK;
  if (judgement->candidate->failed) {
    kf_trial_fail(&trial, judgement->candidate->kind, &judgement->candidate->diagnosis, 0);
    memcpy(ret_verdict->errors, judgement->candidate->errors, sizeof ret_verdict->errors);
    ret_verdict->nerrors = judgement->candidate->nerrors;
  } else if (judgement->against && judgement->against->failed) {
    status = kf_fail(err, KF_EREFUSED, "the opponent cannot run: %s", judgement->against->diagnosis.text);
  } else {
    status = run_stages(&trial, err);
  }
  note_unscreened(judgement->candidate, ret_verdict);
  kf_trial_stop_checker(&trial);
  kf_trial_close_race(&trial);
  kf_trial_free_checks(&trial);
  if (status == KF_OK) kf_trial_diagnose(&trial);
  ret_verdict->total_ms = kf_now_ms() - begun + ret_verdict->build_ms;
  ret_verdict->measure_ms = ret_verdict->total_ms - ret_verdict->build_ms - ret_verdict->verify_ms;
  kf_advice_fill(ret_verdict, judgement->device->api);
  return status;
}
