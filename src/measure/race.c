/* race.c - blocks of paired timing, and times of one kernel alone; see race.h. A single call is in
 * race_call.c. */
#include "measure/race.h"

#include "base/clock.h"
#include "measure/race_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum {
  PURPOSE_ORDER = 0x6f72,
  PURPOSE_BLOCK = 0x626c,
  PURPOSE_ROUND = 0x726f,
  PURPOSE_LOOK = 0x6c6f,
  NS_PER_MS = 1000 * 1000,
  EMPTIES_AT_FIRST = 9, /* of each side; then one a block */
  REPEATS = 3,          /* docs/internals/evaluator.md, T2 */
  WARM_CALLS = 3,
  WARM_NS = 300 * 1000 * 1000, /* docs/internals/evaluator.md, T11 */
  LONG_CALL_NS = 1000 * 1000 * 1000,
  FIRST_CALL_SLACK_NS = 100 * 1000 * 1000,
  LOOK_WITHIN_BLOCKS = 3, /* one of the first blocks is looked at twice */
  LOOK_AGAIN_MS = 50,
  CALLS_WITHOUT_FLUSH = 5,
  WHOLLY_NEW_BYTES = 8 << 20,         /* of all inputs: as long as it takes to flush them */
  FLUSH_TELLS_NS = 100 * 1000 * 1000, /* beyond it what lay in the caches at first is no part of the time */
};

enum { CANDIDATE, OPPONENT };

static kf_racer *racer_of(kf_race_case *c, int side) {
  return side == CANDIDATE ? &c->candidate : &c->opponent;
}

static uint64_t draw(uint64_t seed, uint64_t number, uint32_t purpose) {
  kf_rng rng;
  kf_rng_init(&rng, seed, number, purpose);
  return kf_rng_u64(&rng);
}

/* ---- warm-up ---- */

/* Calls one side a few times: how long is a call? `limit_ns`: the first call is stopped there; 0: never. */
static kf_status set_pace(kf__race *race, kf_race_case *c, int side, int64_t limit_ns, int64_t *ret_ns,
                          kf_err *err) {
  kf_racer *racer = racer_of(c, side);
  int64_t best = INT64_MAX, begun = kf_now_ns();
  kf__race_watch(race, racer);
  for (int i = 0; i < EMPTIES_AT_FIRST && !kf__race_over(race); i++)
    KF_TRY(kf__race_empty(race, c, racer, err));
  for (int i = 0; i < WARM_CALLS && !kf__race_over(race); i++) {
    kf__call call = {.wall_ns = INT64_MAX};
    KF_TRY(kf__race_call(race, c, racer, true, limit_ns ? kf_now_ns() + limit_ns : 0, &call, err));
    if (call.wall_ns < best) best = call.wall_ns;
    if (kf_now_ns() - begun > WARM_NS) break;
  }
  *ret_ns = best;
  return KF_OK;
}

/* m: one call from measure.repeat_below_us on, else an odd number from 3 so that they last measure.value_us.
 */
static int calls_for(const kf_settings *settings, int64_t call_ns) {
  if (call_ns >= settings->measure_repeat_below_us * 1000) return 1;
  int64_t m = settings->measure_value_us * 1000 / (call_ns > 0 ? call_ns : 1);
  if (m > KF_RACE_CALLS_MAX) m = KF_RACE_CALLS_MAX;
  return m < REPEATS ? REPEATS : (int)(m | 1);
}

/* The opponent first: the candidate's first call is limited by its time. */
static kf_status warm_case(kf__race *race, kf_race_case *c, kf_err *err) {
  const kf_settings *settings = race->options->settings;
  int64_t limit = 0;
  KF_TRY(kf_inputs_fill(c->inputs, race->block_seed, KF_FAMILY_DECLARED, err));
  if (c->opponent.runner) {
    KF_TRY(set_pace(race, c, OPPONENT, 0, &c->opponent_ns, err));
    if (kf__race_over(race)) return KF_OK;
    limit = (int64_t)((double)c->opponent_ns * settings->measure_stop_ratio) + FIRST_CALL_SLACK_NS;
  }
  KF_TRY(set_pace(race, c, CANDIDATE, limit, &c->candidate_ns, err));
  kf_race_report *report = race->report;
  if (report->failed && report->kind == KF_VERDICT_TIMED_OUT && limit) {
    report->kind = KF_VERDICT_SLOW;
    snprintf(report->diagnosis.text, sizeof report->diagnosis.text,
             "the first call took over %.0f times as long as the opponent's and was stopped",
             settings->measure_stop_ratio);
  }
  /* The same for both, so that every timed output has its counterpart. */
  c->calls = calls_for(settings, c->candidate_ns > c->opponent_ns ? c->candidate_ns : c->opponent_ns);
  return KF_OK;
}

static kf_status warm_up(kf__race *race, kf_race_case *cases, int ncases, kf_err *err) {
  for (int i = 0; i < ncases && !kf__race_over(race); i++) {
    if (cases[i].calls) continue;
    race->block_seed = race->options->seed + (uint64_t)i;
    kf_rng_init(&race->rng, race->block_seed, (uint64_t)i, PURPOSE_ROUND);
    KF_TRY(warm_case(race, &cases[i], err));
  }
  return KF_OK;
}

/* ---- a block ---- */

/* The call of a side whose wall time is the (lower) median. */
static const kf__call *median_call(const kf__call *calls, int count) {
  int64_t walls[KF_RACE_CALLS_MAX] = {0};
  for (int i = 0; i < count; i++)
    walls[i] = calls[i].wall_ns;
  int64_t median = kf_median_i64(walls, count);
  int at = 0;
  while (at < count - 1 && walls[at] != median)
    at++;
  return &calls[at];
}

static int64_t input_bytes(const kf_inputs *inputs) {
  const void *pointers[KF_ARGS_MAX];
  int64_t total = 0;
  kf_inputs_pointers(inputs, pointers);
  for (int a = 0; a < inputs->task->nargs; a++)
    if (pointers[a]) total += inputs->elements[a] * (int64_t)kf_type_size(inputs->task->args[a].type);
  return total;
}

/* What a kernel kept of the last call must not serve this one. A few new lines spoil a result that depends on
 * all of an input; a kernel that keeps the result of each element or row would still win by the share that
 * stayed, so inputs are wholly new where that is cheap. A kernel on larger ones is timed by few calls or is
 * bound by memory, where keeping costs what it saves (docs/internals/cheats.md, rows 5 and 38). */
static kf_status new_content(kf_inputs *inputs, uint64_t seed, kf_err *err) {
  if (input_bytes(inputs) <= WHOLLY_NEW_BYTES) return kf_inputs_fill(inputs, seed, KF_FAMILY_DECLARED, err);
  return kf_inputs_rewrite(inputs, seed, err);
}

/* The rounds of one case; fills its part of the sample. */
static kf_status rounds(kf__race *race, kf_race_case *c, int index, kf_sample *sample, kf_err *err) {
  kf__call calls[2][KF_RACE_CALLS_MAX] = {0};
  int sides = c->opponent.runner ? 2 : 1;
  /* Each round compares some of the outputs, one compares all of them. */
  int whole = (int)kf_rng_below(&race->rng, (uint64_t)c->calls);
  KF_TRY(kf_inputs_fill(c->inputs, race->block_seed + (uint64_t)index, KF_FAMILY_DECLARED, err));
  for (int r = 0; r < c->calls; r++) {
    uint64_t seed = draw(race->block_seed + (uint64_t)index, (uint64_t)r, PURPOSE_ROUND);
    KF_TRY(new_content(c->inputs, seed, err));
    for (int turn = 0; turn < sides; turn++) {
      int side = sides == 1 ? CANDIDATE : (turn + r + (sample->candidate_first ? 0 : 1)) & 1;
      KF_TRY(kf__race_call(race, c, racer_of(c, side), true, 0, &calls[side][r], err));
      if (kf__race_over(race)) return KF_OK;
    }
    KF_TRY(kf__race_compare(race, c, r == whole && sample->block == 0, err));
    if (kf__race_over(race)) return KF_OK;
  }
  for (int side = 0; side < sides; side++) {
    const kf__call *call = median_call(calls[side], c->calls);
    sample->value[side][index] = (kf_sample_value){call->wall_ns, call->child_ns};
    sample->waited_ns[side] += call->waited.longest_ns;
  }
  return KF_OK;
}

static void add_switches(kf_race_case *cases, int ncases, int sign, kf_sample *sample) {
  for (int i = 0; i < ncases; i++)
    for (int side = 0; side < 2; side++)
      if (racer_of(&cases[i], side)->runner)
        sample->switches[side] += sign * kf_watch_switches(&racer_of(&cases[i], side)->watch);
}

/* Whether the candidate's process goes on working after a call is over; once a race, after one of its first
 * blocks. */
static kf_status look_again(kf__race *race, kf_race_case *c, int block, int until, kf_err *err) {
  kf_race_report *report = race->report;
  int within = until > 0 && until < LOOK_WITHIN_BLOCKS ? until : LOOK_WITHIN_BLOCKS;
  uint64_t chosen = draw(race->options->seed, 0, PURPOSE_LOOK) % (uint64_t)within;
  if (report->looked_again || (uint64_t)block != chosen) return KF_OK;
  kf_check_result result;
  report->looked_again = true;
  KF_TRY(kf_check_second_look(c->candidate.runner, c->candidate.rig, LOOK_AGAIN_MS, &result, err));
  report->failed = result.kind != KF_VERDICT_CORRECT;
  if (!report->failed) return KF_OK;
  report->kind = result.kind;
  report->diagnosis = result.diagnosis;
  return KF_OK;
}

/* One block over all cases, with its conditions. */
static kf_status block(kf__race *race, kf_race_case *cases, int ncases, int until, kf_sample *sample,
                       kf_err *err) {
  const kf_race_options *options = race->options;
  kf_machine_state before, after;
  uint64_t number = (uint64_t)sample->block;
  race->block_seed = draw(options->seed, number, PURPOSE_BLOCK);
  kf_rng_init(&race->rng, race->block_seed, number, PURPOSE_ORDER);
  sample->candidate_first = kf_rng_u32(&race->rng) & 1;
  sample->ncases = ncases;
  sample->process = options->process;
  add_switches(cases, ncases, -1, sample);
  kf_machine_read(&before);
  int64_t begun = kf_now_ns();
  for (int side = 0; side < 2 && !kf__race_over(race); side++)
    if (racer_of(&cases[0], side)->runner)
      KF_TRY(kf__race_empty(race, &cases[0], racer_of(&cases[0], side), err));
  for (int i = 0; i < ncases && !kf__race_over(race); i++)
    KF_TRY(rounds(race, &cases[i], i, sample, err));
  if (kf__race_over(race)) return KF_OK;
  sample->span_ns = kf_now_ns() - begun;
  kf_machine_read(&after);
  add_switches(cases, ncases, 1, sample);
  sample->stolen_ns = after.stolen_ns - before.stolen_ns;
  sample->mhz = after.mhz;
  return look_again(race, &cases[ncases - 1], sample->block, until, err);
}

static void note_sample(kf_verdict *verdict, const kf_sample *sample) {
  if (verdict->nsamples < KF_SAMPLES_MAX) verdict->samples[verdict->nsamples++] = *sample;
}

/* d_j, the mean log ratio over the cases. */
static double log_ratio(const kf_sample *sample) {
  double sum = 0;
  for (int i = 0; i < sample->ncases; i++)
    sum += log((double)sample->value[OPPONENT][i].wall_ns / (double)sample->value[CANDIDATE][i].wall_ns);
  return sum / sample->ncases;
}

static kf_status one_block(kf__race *race, kf_race_case *cases, int ncases, kf_rule *rule, int until,
                           kf_err *err) {
  kf_sample sample = {.block = rule->count + rule->dropped};
  KF_TRY(block(race, cases, ncases, until, &sample, err));
  if (kf__race_over(race)) return KF_OK;
  sample.drop = kf_disturb_judge(&race->report->disturb, &sample);
  note_sample(race->options->verdict, &sample);
  if (sample.drop == KF_DROP_NO)
    kf_rule_add(rule, log_ratio(&sample));
  else
    kf_rule_drop_block(rule);
  return KF_OK;
}

/* The child's own times against the judge's, over all calls so far. */
static void hear_witness(kf_race_report *report, const char *where) {
  const kf_witness *w = &report->witness;
  kf_diagnosis *diagnosis = &report->diagnosis;
  kf_witness_says says = kf_witness_judge(w);
  if (says == KF_WITNESS_FINE || report->failed) return;
  report->failed = true;
  report->kind = KF_VERDICT_CHEAT;
  memset(diagnosis, 0, sizeof *diagnosis);
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "clock");
  snprintf(diagnosis->where, sizeof diagnosis->where, "%s", where);
  if (says == KF_WITNESS_RAN_OUTSIDE) {
    snprintf(
        diagnosis->text, sizeof diagnosis->text,
        "in every call the process was on the cores for longer than the time it claims can hold: work is "
        "done outside its window");
    snprintf(diagnosis->evidence, sizeof diagnosis->evidence, "at best %lld ns on cores, of %lld ns claimed",
             (long long)w->outside_ran_ns, (long long)w->outside_child_ns);
    return;
  }
  if (says == KF_WITNESS_TOO_LONG) {
    snprintf(diagnosis->text, sizeof diagnosis->text,
             "the process claims to have worked for longer than its calls lasted");
    snprintf(diagnosis->evidence, sizeof diagnosis->evidence, "claimed %lld ns of a call of %lld ns",
             (long long)w->long_child_ns, (long long)w->long_wall_ns);
    return;
  }
  snprintf(diagnosis->text, sizeof diagnosis->text,
           "every call lasted longer than the process's own clock says: the clock was tampered with, or work "
           "is done outside its window");
  snprintf(diagnosis->evidence, sizeof diagnosis->evidence, "at best %lld ns, of which it claims %lld ns",
           (long long)w->gap_wall_ns, (long long)w->gap_child_ns);
}

/* Threads that the candidate's process has now and had not before its first call. */
static void count_threads(const kf_race_options *options, kf_race_case *cases, int ncases,
                          kf_race_report *report) {
  for (int i = 0; i < ncases && !options->may_start_threads && !report->failed; i++) {
    const kf_racer *racer = &cases[i].candidate;
    int threads = kf_runner_threads(racer->runner);
    if (!racer->watched || threads <= racer->watch.nthreads || threads >= KF_WATCH_THREADS_MAX) continue;
    kf_diagnosis *diagnosis = &report->diagnosis;
    report->failed = true;
    report->kind = KF_VERDICT_CHEAT;
    memset(diagnosis, 0, sizeof *diagnosis);
    snprintf(diagnosis->kind, sizeof diagnosis->kind, "thread");
    snprintf(diagnosis->where, sizeof diagnosis->where, "%s", cases[i].inputs->case_text);
    snprintf(diagnosis->text, sizeof diagnosis->text, "the kernel started a thread in its process");
    snprintf(diagnosis->evidence, sizeof diagnosis->evidence,
             "%d threads before the first call of the race, %d after it", racer->watch.nthreads, threads);
  }
}

/* ---- the race ---- */

/* Between these two nothing is started and nobody is served. */
static void begin_timing(kf__race *race) {
  const kf_race_options *options = race->options;
  if (options->before_pair) options->before_pair(options->context);
  kf_cores_hold(&race->cores);
}

static void end_timing(kf__race *race) {
  const kf_race_options *options = race->options;
  kf_cores_release(&race->cores);
  if (options->after_pair) options->after_pair(options->context);
}

static kf_status guarded_block(kf__race *race, kf_race_case *cases, int ncases, kf_rule *rule, int until,
                               kf_err *err) {
  begin_timing(race);
  kf_status status = warm_up(race, cases, ncases, err);
  if (status == KF_OK && !kf__race_over(race)) status = one_block(race, cases, ncases, rule, until, err);
  end_timing(race);
  return status;
}

kf_status kf_race_blocks(kf_race_case *cases, int ncases, const kf_race_options *options, kf_rule *rule,
                         int until, kf_race_report *report, kf_err *err) {
  kf__race race = {.options = options, .report = report};
  if (ncases < 1 || ncases > KF_RACE_CASES_MAX)
    return kf_fail(err, KF_EREFUSED, "a race needs 1 to %d measure cases, not %d", KF_RACE_CASES_MAX, ncases);
  int64_t begun = kf_now_ns();
  while (!kf__race_over(&race) && !kf_rule_finished(rule) && (until == 0 || rule->count < until)) {
    if (options->canceled && options->canceled(options->context))
      return kf_fail(err, KF_ECANCELED, "the race was canceled");
    KF_TRY(guarded_block(&race, cases, ncases, rule, until, err));
    if (options->limit_ms > 0 && kf_now_ns() - begun > options->limit_ms * NS_PER_MS) kf_rule_time_up(rule);
  }
  if (!report->opponent_failed) count_threads(options, cases, ncases, report);
  hear_witness(report, cases[0].inputs->case_text);
  return KF_OK;
}

/* ---- alone ---- */

/* One value of each case; a case whose warm-up call was long is not called again. */
static kf_status alone_once(kf__race *race, kf_race_case *cases, int ncases, int number,
                            int64_t *ret_total_ns, kf_err *err) {
  kf_sample sample = {.block = number, .ncases = ncases, .candidate_first = true};
  int64_t total = 0;
  race->block_seed = draw(race->options->seed, (uint64_t)number, PURPOSE_BLOCK);
  kf_rng_init(&race->rng, race->block_seed, (uint64_t)number, PURPOSE_ORDER);
  for (int i = 0; i < ncases; i++) {
    if (cases[i].candidate_ns > LONG_CALL_NS)
      sample.value[CANDIDATE][i].wall_ns = cases[i].candidate_ns;
    else
      KF_TRY(rounds(race, &cases[i], i, &sample, err));
    if (kf__race_over(race)) return KF_OK;
    total += sample.value[CANDIDATE][i].wall_ns;
  }
  note_sample(race->options->verdict, &sample);
  *ret_total_ns = total;
  return look_again(race, &cases[ncases - 1], number, 0, err);
}

kf_status kf_race_alone(kf_race_case *cases, int ncases, const kf_race_options *options, int blocks,
                        kf_race_report *report, kf_err *err) {
  kf__race race = {.options = options, .report = report};
  if (ncases < 1 || ncases > KF_RACE_CASES_MAX)
    return kf_fail(err, KF_EREFUSED, "timing needs 1 to %d measure cases, not %d", KF_RACE_CASES_MAX, ncases);
  begin_timing(&race);
  kf_status status = warm_up(&race, cases, ncases, err);
  int64_t total = 0;
  for (int b = 0; b < blocks && total <= LONG_CALL_NS && status == KF_OK && !kf__race_over(&race); b++)
    status = alone_once(&race, cases, ncases, b, &total, err);
  end_timing(&race);
  if (status == KF_OK) count_threads(options, cases, ncases, report);
  if (status == KF_OK) hear_witness(report, cases[0].inputs->case_text);
  return status;
}

/* ---- warm ---- */

static kf_status warm_calls(kf__race *race, kf_race_case *c, int64_t *ret_ns, kf_err *err) {
  int64_t walls[CALLS_WITHOUT_FLUSH];
  /* The first one only warms; then each finds what the last one left in the caches. */
  for (int i = -1; i < CALLS_WITHOUT_FLUSH; i++) {
    kf__call call = {0};
    KF_TRY(kf__race_call(race, c, &c->candidate, false, 0, &call, err));
    if (kf__race_over(race)) return KF_OK;
    if (i >= 0) walls[i] = call.wall_ns;
  }
  *ret_ns = kf_median_i64(walls, CALLS_WITHOUT_FLUSH);
  return KF_OK;
}

kf_status kf_race_warm(kf_race_case *cases, int ncases, const kf_race_options *options,
                       kf_race_report *report, int64_t *ret_ns, kf_err *err) {
  kf__race race = {.options = options, .report = report};
  double sum = 0;
  kf_rng_init(&race.rng, options->seed, 0, PURPOSE_ROUND);
  begin_timing(&race);
  kf_status status = KF_OK;
  for (int i = 0; i < ncases && status == KF_OK && !kf__race_over(&race); i++) {
    int64_t ns = cases[i].candidate_ns;
    if (ns <= FLUSH_TELLS_NS) status = warm_calls(&race, &cases[i], &ns, err);
    sum += log((double)ns);
  }
  end_timing(&race);
  *ret_ns = status == KF_OK && !kf__race_over(&race) ? (int64_t)exp(sum / ncases) : 0;
  return status;
}
