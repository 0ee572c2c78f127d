/* trial_confirm.c - stage 3: the champion's race again, in three fresh processes of either side; see
 * trial_int.h and docs/internals/evaluator.md, T14. */
#include "eval/trial_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In stage 3 only a ratio that no noise makes in three blocks shortens a race. */
static const double CLEAR_RATIO = 2.0;

enum { PROCESSES = 3, BLOCKS = 24, FIRST_BLOCKS = 3, CLEAR_BLOCKS = 2 };

/* All blocks of the three processes, and whether they agree. */
typedef struct {
  double d[PROCESSES * KF_RULE_BLOCKS_MAX];
  int count;
  double medians[PROCESSES];
  double lows[PROCESSES]; /* of each process alone; of a clear one, its distance from the clear ratio */
  int dropped;
  bool unstable; /* one of the processes was disturbed too much */
} pool;

static kf_status confirm_once(kf_trial *trial, int process, pool *p, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_trial_close_race(trial);
  KF_TRY(kf_trial_open_race(trial, err));
  if (kf_trial_decided(trial)) return KF_OK;
  kf_race_options options = kf_trial_race_options(trial, process, (uint64_t)(process + 1) << 32);
  memset(&trial->report, 0, sizeof trial->report); /* other processes: nothing is known of them */
  kf_rule_init(&trial->rule, j->settings->measure_delta, 0, BLOCKS, BLOCKS);
  /* A clear ratio needs six blocks in all (T7): three of the first process, two of each other. */
  int first = p->count == 0 ? FIRST_BLOCKS : CLEAR_BLOCKS;
  KF_TRY(kf_race_blocks(trial->race, trial->nrace, &options, &trial->rule, first, &trial->report, err));
  if (trial->rule.count > 0 && fabs(kf_median(trial->rule.d, trial->rule.count)) < log(CLEAR_RATIO))
    KF_TRY(kf_race_blocks(trial->race, trial->nrace, &options, &trial->rule, 0, &trial->report, err));
  KF_TRY(kf_trial_book_report(trial, 3, err));
  if (kf_trial_decided(trial)) return KF_OK;
  p->dropped += trial->rule.dropped;
  p->unstable = p->unstable || kf_rule_unstable(&trial->rule) || trial->rule.count == 0;
  if (trial->rule.count == 0) { /* every block was dropped: nothing is shown */
    p->lows[process] = -HUGE_VAL;
    return KF_OK;
  }
  p->medians[process] = kf_median(trial->rule.d, trial->rule.count);
  p->lows[process] = kf_interval_median(trial->rule.d, trial->rule.count, 0.95).low;
  if (trial->rule.count <= FIRST_BLOCKS) p->lows[process] = p->medians[process] - log(CLEAR_RATIO);
  for (int b = 0; b < trial->rule.count; b++)
    p->d[p->count++] = trial->rule.d[b];
  return KF_OK;
}

/* The pooled interval, widened to contain every process's median (docs/internals/evaluator.md, T14). */
static void book_confirmation(kf_trial *trial, const pool *p) {
  kf_verdict *v = trial->verdict;
  const kf_settings *settings = trial->judgement->settings;
  kf_interval interval = {.low = -HUGE_VAL, .high = HUGE_VAL, .level = 0.95};
  if (p->count > 0) interval = kf_interval_median(p->d, p->count, 0.95);
  int faster = 0, shown = 0;
  for (int i = 0; i < PROCESSES; i++) {
    shown += p->lows[i] > 0;
    interval.low = fmin(interval.low, p->medians[i]);
    interval.high = fmax(interval.high, p->medians[i]);
    faster += p->medians[i] > 0;
  }
  kf_race_result *race = &v->race;
  race->median_nano = kf_ratio_nano(interval.median);
  race->low_nano = kf_ratio_nano(interval.low);
  race->high_nano = kf_ratio_nano(interval.high);
  race->level = interval.level;
  race->blocks = p->count;
  race->dropped = p->dropped;
  /* Blocks of one process share its luck, so their pool alone proves too much: each process has to show the
   * gain. */
  bool won = !p->unstable && shown == PROCESSES && interval.low > log1p(settings->measure_delta);
  bool lost = faster == 0 && interval.high < -log1p(settings->measure_delta);
  race->outcome = won ? KF_RACE_FASTER : lost ? KF_RACE_SLOWER : KF_RACE_TIE;
  snprintf(race->why, sizeof race->why, "%d processes, %d blocks; %d of %d medians faster", PROCESSES,
           p->count, faster, PROCESSES);
  v->confirmed = won;
  if (won) return;
  snprintf(v->diagnosis.kind, sizeof v->diagnosis.kind, "not_confirmed");
  snprintf(v->diagnosis.text, sizeof v->diagnosis.text, "%s",
           p->unstable ? "the machine was too busy to confirm that it is faster"
                       : "fresh processes do not confirm that it is faster");
  snprintf(v->diagnosis.evidence, sizeof v->diagnosis.evidence, "speed-up %.3f (%.3f to %.3f)",
           exp(interval.median), exp(interval.low), exp(interval.high));
}

kf_status kf_trial_confirm(kf_trial *trial, kf_err *err) {
  pool p = {.count = 0};
  trial->verdict->nsamples = 0; /* times of this stage only, over all its processes */
  for (int process = 0; process < PROCESSES; process++) {
    kf_trial_say(trial, "confirming");
    KF_TRY(confirm_once(trial, process, &p, err));
    if (kf_trial_decided(trial)) return KF_OK;
  }
  KF_TRY(kf_trial_book_times(trial, 3, err));
  if (!kf_trial_decided(trial)) book_confirmation(trial, &p);
  return KF_OK;
}
