/* trial_race.c - timing of a candidate against its opponent, stages 1 and 2; see trial_int.h and
 * docs/internals/evaluator.md. */
#include "eval/trial_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double CLEAR_RATIO = 1.3; /* no process is that lucky */

enum {
  REPEATS = 2, /* further pairs of processes that a small claim needs */
  REPEAT_BLOCKS = 12,
  FIRST_BLOCKS = 3,
  ALONE_BLOCKS = 3,
  LONG_CHECK_NS = 1000000000
};

static kf_status start_side(kf_trial *trial, int index, int side, const kf_artefact *artefact, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_race_case *c = &trial->race[index];
  kf_racer *racer = side == 0 ? &c->candidate : &c->opponent;
  char *dir = trial->race_dirs[index][side];
  KF_TRY(kf_rig_new(c->inputs, artefact->measure[index], j->device->base_align, &racer->rig, err));
  return kf_spares_runner(j->spares, j->device, "race", &racer->runner, dir, err);
}

/* Loads and attaches; a failure of the candidate decides the verdict, one of the opponent is ours. */
static kf_status load_side(kf_trial *trial, int index, int side, const kf_artefact *artefact, kf_err *err) {
  kf_race_case *c = &trial->race[index];
  kf_racer *racer = side == 0 ? &c->candidate : &c->opponent;
  kf_run_result run;
  KF_TRY(kf_runner_load(racer->runner, artefact->outcome.artefact, artefact->outcome.artefact_len, NULL, &run,
                        err));
  if (run.code == KF_RUN_OK) KF_TRY(kf_rig_attach(racer->rig, racer->runner, &run, err));
  if (run.code == KF_RUN_OK) return kf_runner_stop(racer->runner, err);
  if (side == 1) return kf_fail(err, KF_EIO, "the opponent does not run any more: %s", run.text);
  kf_diagnosis diagnosis;
  kf_verdict_kind kind = kf_check_run_verdict(&run, racer->rig->calls, c->inputs->case_text, &diagnosis);
  kf_trial_fail(trial, kind, &diagnosis, trial->verdict->stage + 1);
  return KF_OK;
}

kf_status kf_trial_open_race(kf_trial *trial, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  const kf_task *task = j->state->task;
  if (task->nmeasure > KF_RACE_CASES_MAX)
    return kf_fail(err, KF_EREFUSED, "a task may have at most %d measure cases, this one has %d",
                   KF_RACE_CASES_MAX, task->nmeasure);
  for (int i = 0; i < task->nmeasure; i++) {
    kf_race_case *c = &trial->race[i];
    trial->nrace = i + 1;
    KF_TRY(kf_inputs_new(task, task->measure[i].values, j->device->base_align, &c->inputs, err));
    KF_TRY(start_side(trial, i, 0, j->candidate, err));
    if (j->against) KF_TRY(start_side(trial, i, 1, j->against, err));
  }
  for (int i = 0; i < task->nmeasure && !kf_trial_decided(trial); i++) {
    kf_race_case *c = &trial->race[i];
    KF_TRY(kf_task_expected(j->state, &trial->means, c->inputs, KF_FAMILY_DECLARED, &c->expected, err));
    KF_TRY(load_side(trial, i, 0, j->candidate, err));
    if (j->against && !kf_trial_decided(trial)) KF_TRY(load_side(trial, i, 1, j->against, err));
  }
  return KF_OK;
}

void kf_trial_close_race(kf_trial *trial) {
  for (int i = 0; i < trial->nrace; i++) {
    kf_race_case *c = &trial->race[i];
    if (c->candidate.watched) kf_watch_close(&c->candidate.watch);
    if (c->opponent.watched) kf_watch_close(&c->opponent.watch);
    kf_runner_free(c->candidate.runner);
    kf_runner_free(c->opponent.runner);
    kf_rig_free(c->candidate.rig);
    kf_rig_free(c->opponent.rig);
    kf_inputs_free(c->inputs);
    for (int side = 0; side < 2; side++)
      if (trial->race_dirs[i][side][0]) kf_fs_remove_tree(trial->race_dirs[i][side], NULL);
    memset(c, 0, sizeof *c);
    trial->race_dirs[i][0][0] = trial->race_dirs[i][1][0] = '\0';
  }
  trial->nrace = 0;
}

static void pause_builds(void *context) {
  const kf_judgement *j = context;
  if (j->device->limits.is_cpu) kf_artefacts_pause(j->artefacts);
}

static void resume_builds(void *context) {
  const kf_judgement *j = context;
  if (j->device->limits.is_cpu) kf_artefacts_resume(j->artefacts);
  if (j->serve) j->serve(j->context);
}

static bool is_canceled(void *context) {
  const kf_judgement *j = context;
  return j->canceled && j->canceled(j->context);
}

/* Cores that a process can be on at once: all there are; a device may use fewer. */
static int cores_online(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}

kf_race_options kf_trial_race_options(const kf_trial *trial, int process, uint64_t salt) {
  const kf_judgement *j = trial->judgement;
  int64_t limit = j->settings->measure_flush_max_mib << 20, twice = 2 * j->device->llc_bytes;
  return (kf_race_options){.settings = j->settings,
                           .flush = {.memory = j->flush, .bytes = twice > 0 && twice < limit ? twice : limit},
                           .verdict = trial->verdict,
                           .process = process,
                           .cores = cores_online(),
                           .may_start_threads = strcmp(j->device->api, "opencl") != 0,
                           .limit_ms = salt || j->blocks_min ? 0 : j->settings->measure_race_ms,
                           .seed = trial->seed + salt,
                           .before_pair = pause_builds,
                           .after_pair = resume_builds,
                           .canceled = is_canceled,
                           .context = (void *)(uintptr_t)j};
}

kf_status kf_trial_book_report(kf_trial *trial, int stage, kf_err *err) {
  const kf_race_report *report = &trial->report;
  if (report->opponent_failed)
    return kf_fail(err, KF_EIO, "the opponent failed while it was timed: %s", report->diagnosis.text);
  if (report->failed) kf_trial_fail(trial, report->kind, &report->diagnosis, stage);
  return KF_OK;
}

/* The ratio below which stage 1 drops: measured against the elite of the candidate's own cell, never the best
 * of all (docs/internals/evaluator.md, Stages); 0 where the cell is empty: nothing is dropped from an empty
 * cell. */
static double drop_ratio(const kf_trial *trial) {
  const kf_judgement *j = trial->judgement;
  if (j->verified) return 0;
  for (int i = 0; i < j->nelites; i++)
    if (memcmp(&j->elites[i].cell, &trial->verdict->cell, sizeof(kf_cell)) == 0)
      return exp(log(j->settings->measure_slow_ratio) - (double)j->elites[i].elite_nano * 1e-9);
  return 0;
}

kf_status kf_trial_first_blocks(kf_trial *trial, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_race_options options = kf_trial_race_options(trial, 0, 0);
  kf_rule_init(&trial->rule, j->settings->measure_delta, drop_ratio(trial), j->blocks_min,
               j->blocks_max ? j->blocks_max : KF_RULE_BLOCKS_MAX);
  KF_TRY(
      kf_race_blocks(trial->race, trial->nrace, &options, &trial->rule, FIRST_BLOCKS, &trial->report, err));
  KF_TRY(kf_trial_book_report(trial, 1, err));
  kf_rule_result(&trial->rule, &trial->verdict->race);
  if (trial->verdict->race.outcome != KF_RACE_DROPPED || kf_trial_decided(trial)) return KF_OK;
  kf_diagnosis diagnosis = {.kind = "slow"};
  snprintf(diagnosis.where, sizeof diagnosis.where, "stage 1");
  snprintf(diagnosis.text, sizeof diagnosis.text,
           "dropped after %d blocks: more than %.2fx slower than its cell's elite", trial->rule.count,
           j->settings->measure_slow_ratio);
  kf_trial_fail(trial, KF_VERDICT_SLOW, &diagnosis, 1);
  return KF_OK;
}

/* Geometric mean over the cases of one sample. */
static double mean_log(const kf_sample *sample) {
  double sum = 0;
  for (int c = 0; c < sample->ncases; c++)
    sum += log((double)sample->value[0][c].wall_ns);
  return sum / sample->ncases;
}

static void book_case_times(kf_trial *trial) {
  kf_verdict *v = trial->verdict;
  for (int c = 0; c < trial->nrace; c++) {
    int64_t walls[KF_SAMPLES_MAX];
    int count = 0;
    for (int s = 0; s < v->nsamples; s++)
      if (v->samples[s].drop == KF_DROP_NO) walls[count++] = v->samples[s].value[0][c].wall_ns;
    for (int i = 0; i < v->ncases && count > 0; i++)
      if (v->cases[i].measured && strcmp(v->cases[i].symbols, trial->race[c].inputs->case_text) == 0)
        v->cases[i].time_ns = kf_median_i64(walls, count);
  }
}

/* Medians with their interval over the blocks that were used, and a line per case. */
static void book_cold_times(kf_trial *trial) {
  kf_verdict *v = trial->verdict;
  double logs[KF_SAMPLES_MAX];
  int count = 0;
  for (int s = 0; s < v->nsamples; s++)
    if (v->samples[s].drop == KF_DROP_NO) logs[count++] = mean_log(&v->samples[s]);
  if (count == 0) return;
  kf_interval interval = kf_interval_median(logs, count, 0.95);
  v->time_ns = (int64_t)exp(interval.median);
  v->time_low_ns = isfinite(interval.low) ? (int64_t)exp(interval.low) : 0;
  v->time_high_ns = isfinite(interval.high) ? (int64_t)exp(interval.high) : 0;
  book_case_times(trial);
}

kf_status kf_trial_book_times(kf_trial *trial, int stage, kf_err *err) {
  kf_race_options options = kf_trial_race_options(trial, 0, 0);
  book_cold_times(trial);
  KF_TRY(kf_race_warm(trial->race, trial->nrace, &options, &trial->report, &trial->verdict->warm_ns, err));
  KF_TRY(kf_trial_book_report(trial, stage, err));
  return kf_trial_decided(trial) ? KF_OK : kf_trial_check_floor(trial, stage, err);
}

/* A claim of being faster needs quiet conditions; not being faster needs none, for it changes nothing. */
static void judge_conditions(kf_trial *trial, int stage) {
  kf_race_result *race = &trial->verdict->race;
  if (!kf_rule_unstable(&trial->rule) || race->outcome != KF_RACE_FASTER) return;
  race->outcome = KF_RACE_TIE;
  kf_diagnosis diagnosis = {.kind = "unstable"};
  snprintf(diagnosis.where, sizeof diagnosis.where, "stage %d", stage);
  snprintf(diagnosis.text, sizeof diagnosis.text,
           "the machine was too busy for the claim that this is faster; what it was raced against stays");
  snprintf(diagnosis.evidence, sizeof diagnosis.evidence, "%d of %d blocks were disturbed", race->dropped,
           race->blocks + race->dropped);
  kf_trial_fail(trial, KF_VERDICT_UNSTABLE, &diagnosis, stage);
}

/* Where the system puts a process changes the time of a short call by some per cent for as long as the
 * process lives, so one pair of processes can show a gain that is none, with any number of blocks. A clear
 * ratio is beyond that, a long call too; a link claims nothing. */
static bool may_be_luck(const kf_trial *trial) {
  const kf_race_result *race = &trial->verdict->race;
  int64_t long_ns = trial->judgement->settings->measure_repeat_below_us * 1000;
  if (race->outcome != KF_RACE_FASTER && race->outcome != KF_RACE_SLOWER) return false;
  if (trial->judgement->blocks_min || llabs(race->median_nano) > kf_ratio_nano(log(CLEAR_RATIO)))
    return false;
  for (int c = 0; c < trial->nrace; c++)
    if (trial->race[c].candidate_ns > long_ns || trial->race[c].opponent_ns > long_ns) return false;
  return true;
}

/* A further pair of fresh processes: does it show the same by itself? Its median widens the interval. */
static kf_status repeat_claim(kf_trial *trial, int process, bool *ret_same, kf_err *err) {
  kf_race_result *race = &trial->verdict->race;
  kf_rule rule;
  kf_trial_close_race(trial);
  KF_TRY(kf_trial_open_race(trial, err));
  if (kf_trial_decided(trial)) return KF_OK;
  kf_race_options options = kf_trial_race_options(trial, process, (uint64_t)process << 40);
  memset(&trial->report, 0, sizeof trial->report);
  kf_rule_init(&rule, trial->judgement->settings->measure_delta, 0, REPEAT_BLOCKS, REPEAT_BLOCKS);
  KF_TRY(kf_race_blocks(trial->race, trial->nrace, &options, &rule, 0, &trial->report, err));
  KF_TRY(kf_trial_book_report(trial, 2, err));
  race->dropped += rule.dropped;
  *ret_same = false;
  if (kf_trial_decided(trial) || rule.count == 0) return KF_OK;
  kf_interval interval = kf_interval_median(rule.d, rule.count, 0.95);
  int64_t median_nano = kf_ratio_nano(interval.median);
  *ret_same = race->outcome == KF_RACE_FASTER ? interval.low > 0 : interval.high < 0;
  if (median_nano < race->low_nano) race->low_nano = median_nano;
  if (median_nano > race->high_nano) race->high_nano = median_nano;
  race->blocks += rule.count;
  return KF_OK;
}

/* Two further pairs have to agree with the first, else it is a tie. */
static kf_status repeat_claims(kf_trial *trial, kf_err *err) {
  kf_race_result *race = &trial->verdict->race;
  bool same = true;
  for (int process = 1; process <= REPEATS && same; process++) {
    KF_TRY(repeat_claim(trial, process, &same, err));
    if (kf_trial_decided(trial)) return KF_OK;
  }
  if (same) return KF_OK;
  race->outcome = KF_RACE_TIE;
  snprintf(race->why, sizeof race->why,
           "a difference in one pair of processes that a fresh pair did not show");
  return KF_OK;
}

kf_status kf_trial_race(kf_trial *trial, kf_err *err) {
  kf_race_options options = kf_trial_race_options(trial, 0, 0);
  KF_TRY(kf_race_blocks(trial->race, trial->nrace, &options, &trial->rule, 0, &trial->report, err));
  KF_TRY(kf_trial_book_report(trial, 2, err));
  kf_rule_result(&trial->rule, &trial->verdict->race);
  if (kf_trial_decided(trial)) return KF_OK;
  if (may_be_luck(trial)) KF_TRY(repeat_claims(trial, err));
  if (kf_trial_decided(trial)) return KF_OK;
  KF_TRY(kf_trial_book_times(trial, 2, err));
  if (!kf_trial_decided(trial)) judge_conditions(trial, 2);
  return KF_OK;
}

bool kf_trial_timed_by_check(kf_trial *trial) {
  kf_verdict *v = trial->verdict;
  const kf_task *task = trial->judgement->state->task;
  double sum = 0;
  for (int c = 0; c < task->nmeasure; c++) {
    if (c >= KF_RACE_CASES_MAX || trial->checked_ns[c] < LONG_CHECK_NS) return false;
    sum += log((double)trial->checked_ns[c]);
  }
  if (task->nmeasure == 0) return false;
  v->time_ns = (int64_t)exp(sum / task->nmeasure);
  for (int i = 0, c = 0; i < v->ncases && c < task->nmeasure; i++)
    if (v->cases[i].measured)
      v->cases[i].time_ns = trial->checked_ns[c++]; /* listed in the order they were checked */
  return true;
}

kf_status kf_trial_alone(kf_trial *trial, kf_err *err) {
  kf_race_options options = kf_trial_race_options(trial, 0, 0);
  KF_TRY(kf_race_alone(trial->race, trial->nrace, &options, ALONE_BLOCKS, &trial->report, err));
  KF_TRY(kf_trial_book_report(trial, 2, err));
  return kf_trial_decided(trial) ? KF_OK : kf_trial_book_times(trial, 2, err);
}
