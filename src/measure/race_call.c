/* race_call.c - one timed request, and the request of nothing; see race_int.h. */
#include "measure/race_int.h"

#include "base/clock.h"

#include <string.h>

#include "base/banned.h"

static bool is_candidate(const kf_race_case *c, const kf_racer *racer) {
  return racer == &c->candidate;
}

/* Books a failure on whoever failed. */
static void book(kf__race *race, const kf_race_case *c, const kf_racer *racer, kf_verdict_kind kind) {
  race->report->failed = is_candidate(c, racer);
  race->report->opponent_failed = !race->report->failed;
  race->report->kind = kind;
}

static void book_run(kf__race *race, const kf_race_case *c, const kf_racer *racer, const kf_run_result *run) {
  book(race, c, racer,
       kf_check_run_verdict(run, racer->rig->calls, c->inputs->case_text, &race->report->diagnosis));
}

/* The smaller of the two sides' medians, for both: an error of it shifts both alike, and a side that lingers
 * over its empty requests takes nothing off its calls. */
static int64_t empty_ns(const kf_race_report *report) {
  int64_t least = INT64_MAX;
  for (int side = 0; side < 2; side++) {
    int count = report->empties[side] < KF_RACE_EMPTIES_MAX ? report->empties[side] : KF_RACE_EMPTIES_MAX;
    int64_t median = count ? kf_median_i64(report->empty_ns[side], count) : INT64_MAX;
    if (median < least) least = median;
  }
  return least == INT64_MAX ? 0 : least;
}

void kf__race_watch(const kf__race *race, kf_racer *racer) {
  if (racer->watched) return;
  kf_watch_open(&racer->watch, kf_runner_pid(racer->runner));
  kf_watch_spread(&racer->watch, &race->cores);
  racer->watched = true;
}

kf_status kf__race_call(kf__race *race, const kf_race_case *c, kf_racer *racer, bool cold,
                        int64_t deadline_ns, kf__call *ret_call, kf_err *err) {
  kf_run_times times;
  kf_run_result run;
  kf_rig_reset(racer->rig, (int)(kf_rng_u32(&race->rng) & 1));
  if (cold) kf_flush_case(&race->options->flush, racer->rig);
  kf_watch_begin(&racer->watch);
  KF_TRY(kf_runner_run(racer->runner, 1, deadline_ns, &times, &run, err));
  if (run.code != KF_RUN_OK) {
    book_run(race, c, racer, &run);
    return KF_OK;
  }
  KF_TRY(kf_runner_stop(racer->runner, err));
  kf_waited waited = kf_watch_end(&racer->watch);
  kf_verdict_kind guards = kf_check_guards(racer->rig, &race->report->diagnosis);
  if (guards != KF_VERDICT_CORRECT) {
    book(race, c, racer, guards);
    return KF_OK;
  }
  /* Below a quarter of the empty request a difference says nothing any more. */
  int64_t empty = empty_ns(race->report), net = times.wall_ns - empty, least = empty / 4 + 1;
  if (is_candidate(c, racer))
    kf_witness_add(&race->report->witness, &(kf_testimony){.wall_ns = times.wall_ns,
                                                           .empty_ns = empty,
                                                           .child_ns = times.child_ns,
                                                           .waited_ns = waited.sum_ns,
                                                           .ran_ns = waited.ran_ns,
                                                           .cores = race->options->cores});
  *ret_call = (kf__call){.wall_ns = net > least ? net : least, .child_ns = times.child_ns, .waited = waited};
  return KF_OK;
}

kf_status kf__race_empty(kf__race *race, const kf_race_case *c, kf_racer *racer, kf_err *err) {
  kf_run_times times;
  kf_run_result run;
  KF_TRY(kf_runner_run(racer->runner, 0, 0, &times, &run, err));
  if (run.code != KF_RUN_OK) {
    book_run(race, c, racer, &run);
    return KF_OK;
  }
  kf_race_report *report = race->report;
  int side = is_candidate(c, racer) ? 0 : 1;
  report->empty_ns[side][report->empties[side]++ % KF_RACE_EMPTIES_MAX] = times.wall_ns;
  return kf_runner_stop(racer->runner, err);
}
