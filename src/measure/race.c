/* race.c - paired timing; see race.h. */
#include "measure/race.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  PURPOSE_ORDER = 0x6f72,
  PURPOSE_BLOCK = 0x626c,
  CACHE_LINE = 64,
  NS_PER_MS = 1000 * 1000,
  EMPTY_REQUESTS = 9,
  REPEATS = 3,                 /* m of docs/internals/evaluator.md, T2 */
  WARM_NS = 300 * 1000 * 1000, /* docs/internals/evaluator.md, T11 */
  LONG_CALL_NS = 1000 * 1000 * 1000,
  FIRST_CALL_SLACK_NS = 100 * 1000 * 1000,
  CALLS_MAX = 4096,
};

typedef struct {
  const kf_race_options *options;
  kf_race_report *report;
  uint64_t block_seed;
} race_state;

/* Reads more than the last-level cache holds (up to a limit), so that the next request starts cold. Reading
 * leaves clean lines: nothing is left to drain inside the timed window. */
static void flush_caches(const race_state *state) {
  const char *flush = state->options->flush;
  unsigned sum = 0;
  for (size_t i = 0; i < (size_t)state->options->flush_bytes; i += CACHE_LINE)
    sum += (unsigned char)flush[i];
  __asm__ volatile("" : : "r"(sum) : "memory");
}

static bool is_candidate(const kf_race_case *c, const kf_racer *racer) {
  return racer == &c->candidate;
}

/* Books a failed run on whoever failed. */
static void book_failure(race_state *state, const kf_race_case *c, const kf_racer *racer,
                         const kf_run_result *run) {
  kf_race_report *report = state->report;
  report->failed = is_candidate(c, racer);
  report->opponent_failed = !report->failed;
  report->kind = kf_check_run_verdict(run, racer->rig->calls, c->inputs->case_text, &report->diagnosis);
}

/* One request of k calls: reset, flush, run. *ret_ns is per call, empty time subtracted. */
static kf_status request(race_state *state, const kf_race_case *c, kf_racer *racer, unsigned k,
                         int64_t empty_ns, int64_t deadline_ns, int64_t *ret_ns, kf_err *err) {
  kf_run_times times;
  kf_run_result run;
  kf_rig_reset(racer->rig, (int)(state->block_seed & 1));
  flush_caches(state);
  KF_TRY(kf_runner_run(racer->runner, k, deadline_ns, &times, &run, err));
  if (run.code != KF_RUN_OK) {
    book_failure(state, c, racer, &run);
    return KF_OK;
  }
  if (kf_check_guards(racer->rig, &state->report->diagnosis) != KF_VERDICT_CORRECT) {
    state->report->failed = is_candidate(c, racer);
    state->report->opponent_failed = !state->report->failed;
    state->report->kind = KF_VERDICT_WRONG_MEMORY;
    return KF_OK;
  }
  int64_t net = times.wall_ns - empty_ns;
  *ret_ns = k ? (net > 0 ? net : 1) / (int64_t)k : times.wall_ns;
  if (k && *ret_ns < 1) *ret_ns = 1;
  return KF_OK;
}

static bool over(const race_state *state) {
  return state->report->failed || state->report->opponent_failed;
}

static kf_status measure_empty(race_state *state, const kf_race_case *c, kf_racer *racer, int64_t *ret_ns,
                               kf_err *err) {
  int64_t values[EMPTY_REQUESTS];
  for (int i = 0; i < EMPTY_REQUESTS; i++) {
    kf_run_times times;
    kf_run_result run;
    KF_TRY(kf_runner_run(racer->runner, 0, 0, &times, &run, err));
    if (run.code != KF_RUN_OK) {
      book_failure(state, c, racer, &run);
      return KF_OK;
    }
    values[i] = times.wall_ns;
  }
  *ret_ns = kf_median_i64(values, EMPTY_REQUESTS);
  return KF_OK;
}

/* Warms up (>= 0.3 s or 3 calls, less if one call is long) and chooses k. `limit_ns`: the first call is
 * stopped there; 0: never. */
static kf_status set_pace(race_state *state, const kf_race_case *c, kf_racer *racer, int64_t limit_ns,
                          kf_race_pace *ret_pace, kf_err *err) {
  kf_race_pace p = {.calls = 1};
  int64_t best = INT64_MAX, begun = kf_now_ns();
  KF_TRY(measure_empty(state, c, racer, &p.empty_ns, err));
  for (int i = 0; i < 3 && !over(state); i++) {
    int64_t ns = 0, deadline = limit_ns ? kf_now_ns() + limit_ns : 0;
    KF_TRY(request(state, c, racer, 1, p.empty_ns, deadline, &ns, err));
    if (over(state)) break;
    if (ns < best) best = ns;
    if (kf_now_ns() - begun > WARM_NS) break;
  }
  if (over(state)) return KF_OK;
  p.call_ns = best;
  int64_t least_ns = state->options->settings->measure_min_wall_us * 1000;
  if (best < least_ns && !kf_rig_has_inout(racer->rig)) {
    int64_t k = (least_ns + best - 1) / best;
    p.calls = (unsigned)(k > CALLS_MAX ? CALLS_MAX : k);
  }
  *ret_pace = p;
  return KF_OK;
}

/* One value of a block: the median of m requests. */
static kf_status value(race_state *state, const kf_race_case *c, kf_racer *racer, const kf_race_pace *p,
                       int64_t *ret_ns, kf_err *err) {
  int64_t values[REPEATS];
  int64_t repeat_below_ns = state->options->settings->measure_repeat_below_us * 1000;
  int repeats = p->call_ns * (int64_t)p->calls < repeat_below_ns ? REPEATS : 1;
  KF_TRY(kf_runner_resume(racer->runner, err));
  for (int i = 0; i < repeats && !over(state); i++)
    KF_TRY(request(state, c, racer, p->calls, p->empty_ns, 0, &values[i], err));
  if (over(state)) return KF_OK;
  KF_TRY(kf_runner_stop(racer->runner, err));
  *ret_ns = kf_median_i64(values, repeats);
  return KF_OK;
}

/* The candidate's timed outputs against the opponent's on the same inputs. */
static kf_status compare_timed(race_state *state, const kf_race_case *c, kf_err *err) {
  const kf_inputs *inputs = c->inputs;
  if (!c->expected) return KF_OK;
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!c->expected->want[a]) continue;
    int mine = kf_rig_buffer_of_arg(c->candidate.rig, a), theirs = kf_rig_buffer_of_arg(c->opponent.rig, a);
    kf_tolerance tolerance = kf_expected_tolerance(c->expected, inputs->task, a);
    kf_compare_result compared;
    KF_TRY(kf_compare_outputs(&tolerance, kf_rig_data(c->candidate.rig, mine),
                              kf_rig_data(c->opponent.rig, theirs), inputs->elements[a], &compared, err));
    if (compared.right) continue;
    kf_race_report *report = state->report;
    report->failed = true;
    report->kind = KF_VERDICT_WRONG_OUTPUT;
    kf_diagnosis *diagnosis = &report->diagnosis;
    snprintf(diagnosis->kind, sizeof diagnosis->kind, "timed_output");
    snprintf(diagnosis->where, sizeof diagnosis->where, "%.60s of %.90s", inputs->task->args[a].name,
             inputs->case_text);
    snprintf(diagnosis->text, sizeof diagnosis->text,
             "a timed call's output differs from the opponent's on the same inputs: results of an earlier "
             "call, or a race");
    snprintf(diagnosis->evidence, sizeof diagnosis->evidence,
             "%lld of %lld elements; first at %lld: got %g, opponent %g", (long long)compared.wrong,
             (long long)inputs->elements[a], (long long)compared.first, compared.first_got,
             compared.first_want);
    return KF_OK;
  }
  return KF_OK;
}

static void note_sample(kf_race_report *report, const int64_t *case_ns, int ncases) {
  double sum = 0;
  if (report->samples == KF_RACE_SAMPLES_MAX) return;
  for (int c = 0; c < ncases; c++) {
    sum += log((double)case_ns[c]);
    report->case_ns[c][report->samples] = case_ns[c];
  }
  report->candidate_ns[report->samples++] = (int64_t)exp(sum / ncases);
}

/* One block over all cases; *ret_d is the mean log ratio. */
static kf_status block(race_state *state, kf_race_case *cases, int ncases, bool candidate_first,
                       double *ret_d, kf_err *err) {
  int64_t candidate_ns[KF_RACE_CASES_MAX];
  double sum = 0;
  for (int i = 0; i < ncases; i++) {
    kf_race_case *c = &cases[i];
    int64_t ns[2] = {0, 0};
    KF_TRY(kf_inputs_fill(c->inputs, state->block_seed + (uint64_t)i, KF_FAMILY_DECLARED, err));
    for (int turn = 0; turn < 2; turn++) {
      int side = candidate_first ? turn : 1 - turn; /* 0 candidate, 1 opponent */
      kf_racer *racer = side == 0 ? &c->candidate : &c->opponent;
      const kf_race_pace *pace = side == 0 ? &c->candidate_pace : &c->opponent_pace;
      KF_TRY(value(state, c, racer, pace, &ns[side], err));
      if (over(state)) return KF_OK;
    }
    KF_TRY(compare_timed(state, c, err));
    if (over(state)) return KF_OK;
    candidate_ns[i] = ns[0];
    sum += log((double)ns[1] / (double)ns[0]);
  }
  note_sample(state->report, candidate_ns, ncases);
  *ret_d = sum / ncases;
  return KF_OK;
}

/* The opponent first: the candidate's first call is limited by its time. */
static kf_status warm_case(race_state *state, kf_race_case *c, kf_err *err) {
  double stop_ratio = state->options->settings->measure_stop_ratio;
  int64_t limit = 0;
  KF_TRY(kf_inputs_fill(c->inputs, state->block_seed, KF_FAMILY_DECLARED, err));
  if (c->opponent.runner) {
    KF_TRY(kf_runner_resume(c->opponent.runner, err));
    KF_TRY(set_pace(state, c, &c->opponent, 0, &c->opponent_pace, err));
    if (over(state)) return KF_OK;
    KF_TRY(kf_runner_stop(c->opponent.runner, err));
    limit = (int64_t)((double)c->opponent_pace.call_ns * stop_ratio) + FIRST_CALL_SLACK_NS;
  }
  KF_TRY(kf_runner_resume(c->candidate.runner, err));
  KF_TRY(set_pace(state, c, &c->candidate, limit, &c->candidate_pace, err));
  kf_race_report *report = state->report;
  if (report->failed && report->kind == KF_VERDICT_TIMED_OUT && limit) {
    report->kind = KF_VERDICT_SLOW;
    snprintf(report->diagnosis.text, sizeof report->diagnosis.text,
             "the first call took over %.0f times as long as the opponent's and was stopped", stop_ratio);
  }
  return over(state) ? KF_OK : kf_runner_stop(c->candidate.runner, err);
}

static kf_status warm_up(race_state *state, kf_race_case *cases, int ncases, kf_err *err) {
  for (int i = 0; i < ncases && !over(state); i++) {
    if (cases[i].candidate_pace.calls) continue;
    state->block_seed = state->options->seed + (uint64_t)i;
    KF_TRY(warm_case(state, &cases[i], err));
  }
  return KF_OK;
}

static kf_status run_blocks(race_state *state, kf_race_case *cases, int ncases, kf_rule *rule, int until,
                            kf_err *err) {
  const kf_race_options *options = state->options;
  int64_t begun = kf_now_ns();
  if (options->before_pair) options->before_pair(options->context);
  kf_status status = warm_up(state, cases, ncases, err);
  if (options->after_pair) options->after_pair(options->context);
  while (status == KF_OK && !over(state) && !kf_rule_finished(rule) && (until == 0 || rule->count < until)) {
    if (options->canceled && options->canceled(options->context))
      return kf_fail(err, KF_ECANCELED, "the race was canceled");
    kf_rng rng;
    uint64_t number = (uint64_t)rule->count + (uint64_t)rule->dropped;
    kf_rng_init(&rng, options->seed, number, PURPOSE_ORDER);
    bool candidate_first = kf_rng_u32(&rng) & 1;
    kf_rng_init(&rng, options->seed, number, PURPOSE_BLOCK);
    state->block_seed = kf_rng_u64(&rng);
    double d = 0;
    if (options->before_pair) options->before_pair(options->context);
    status = block(state, cases, ncases, candidate_first, &d, err);
    if (options->after_pair) options->after_pair(options->context);
    if (status == KF_OK && !over(state)) kf_rule_add(rule, d);
    if (options->limit_ms > 0 && kf_now_ns() - begun > options->limit_ms * NS_PER_MS) kf_rule_time_up(rule);
  }
  return status;
}

kf_status kf_race_blocks(kf_race_case *cases, int ncases, const kf_race_options *options, kf_rule *rule,
                         int until, kf_race_report *report, kf_err *err) {
  race_state state = {.options = options, .report = report};
  if (ncases < 1 || ncases > KF_RACE_CASES_MAX)
    return kf_fail(err, KF_EREFUSED, "a race needs 1 to %d measure cases, not %d", KF_RACE_CASES_MAX, ncases);
  if (report->failed || report->opponent_failed) return KF_OK;
  return run_blocks(&state, cases, ncases, rule, until, err);
}

static kf_status alone(race_state *state, kf_race_case *cases, int ncases, int blocks, kf_err *err) {
  KF_TRY(warm_up(state, cases, ncases, err));
  for (int b = 0; b < blocks && !over(state); b++) {
    int64_t case_ns[KF_RACE_CASES_MAX] = {0}, total = 0;
    for (int i = 0; i < ncases; i++) {
      if (cases[i].candidate_pace.call_ns > LONG_CALL_NS) { /* the warm-up call was long: it is the value */
        case_ns[i] = cases[i].candidate_pace.call_ns;
      } else {
        KF_TRY(value(state, &cases[i], &cases[i].candidate, &cases[i].candidate_pace, &case_ns[i], err));
        if (over(state)) return KF_OK;
      }
      total += case_ns[i];
    }
    note_sample(state->report, case_ns, ncases);
    if (total > LONG_CALL_NS) break;
  }
  return KF_OK;
}

kf_status kf_race_alone(kf_race_case *cases, int ncases, const kf_race_options *options, int blocks,
                        kf_race_report *report, kf_err *err) {
  race_state state = {.options = options, .report = report};
  if (ncases < 1 || ncases > KF_RACE_CASES_MAX)
    return kf_fail(err, KF_EREFUSED, "timing needs 1 to %d measure cases, not %d", KF_RACE_CASES_MAX, ncases);
  if (options->before_pair) options->before_pair(options->context);
  kf_status status = alone(&state, cases, ncases, blocks, err);
  if (options->after_pair) options->after_pair(options->context);
  return status;
}
