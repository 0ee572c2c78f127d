/* engine_view.c - what others may see of the state. */
#include "run/engine_int.h"

#include <string.h>

#include "base/banned.h"

static const char *const purpose_names[] = {"admit", "link", "judge", "duel", "promote", "confirm"};

const char *kf_purpose_name(kf_purpose purpose) {
  return (size_t)purpose < KF_COUNTOF(purpose_names) ? purpose_names[purpose] : "unknown";
}

bool kf_purpose_parse(const char *name, kf_purpose *ret_purpose) {
  for (size_t i = 0; i < KF_COUNTOF(purpose_names); i++) {
    if (strcmp(name, purpose_names[i]) != 0) continue;
    *ret_purpose = (kf_purpose)i;
    return true;
  }
  return false;
}

int kf_engine_pending(const kf_engine *engine, kf_pending *ret_pending, int max) {
  int count = 0;
  for (size_t i = 0; i < engine->asks.count; i++, count++)
    if (count < max) ret_pending[count] = (kf_pending){engine->asks.items[i], 0};
  for (size_t i = 0; i < engine->open.count; i++, count++)
    if (count < max)
      ret_pending[count] =
          (kf_pending){engine->open.items[i].ask.candidate, engine->open.items[i].ask.request};
  return count;
}

bool kf_engine_candidate(const kf_engine *engine, int64_t id, kf_candidate *ret_candidate) {
  const kf_record *own = kf__engine_record(engine, id);
  if (own == NULL) return false;
  /* A duplicate inherits everything that was measured. */
  const kf_record *measured = own->duplicate_of != 0 ? kf__engine_record(engine, own->duplicate_of) : own;
  const kf_hash *source = kf__engine_source(engine, own);
  kf_candidate candidate = {
      .id = id,
      .parent = own->parent,
      .emitter = (kf_emitter)own->emitter,
      .answered = source != NULL || (own->flags & KF_FLAG_VERDICT) != 0,
      .judged = (measured->flags & KF_FLAG_VERDICT) != 0,
      .duplicate_of_known = own->duplicate_of != 0,
      .abandoned = (measured->flags & KF_FLAG_ABANDONED) != 0,
      .demoted = (measured->flags & KF_FLAG_DEMOTED) != 0,
      .verdict = (kf_verdict_kind)measured->verdict,
      .cell = measured->cell,
      .score_nano = measured->score_nano,
      .half_nano = measured->half_nano,
      .scored = (measured->flags & KF_FLAG_SCORED) != 0,
      .binding = kf__engine_binding(engine, own),
  };
  if (source != NULL) candidate.source = *source;
  *ret_candidate = candidate;
  return true;
}

bool kf_engine_evaluation(const kf_engine *engine, int64_t request, kf_evaluation *ret_evaluation) {
  const kf_request *open = kf__engine_request(engine, request);
  if (open == NULL) return false;
  *ret_evaluation = open->ask;
  return true;
}

static int64_t in_flight(const kf_engine *engine) {
  int64_t count = (int64_t)engine->asks.count;
  for (size_t i = 0; i < engine->open.count; i++) {
    kf_purpose purpose = engine->open.items[i].ask.purpose;
    if (purpose == KF_PURPOSE_ADMIT || purpose == KF_PURPOSE_JUDGE || purpose == KF_PURPOSE_DUEL) count++;
  }
  return count;
}

void kf_engine_get_stats(const kf_engine *engine, kf_engine_stats *ret_stats) {
  kf_engine_stats stats = {
      .evaluated = engine->evaluated,
      .proposed = (int64_t)engine->candidates.count,
      .in_flight = in_flight(engine),
      .baseline = kf__engine_record(engine, engine->baseline) != NULL ? engine->baseline : 0,
      .champion = engine->champion,
      .best_nano = INT64_MIN,
      .champion_confirmed = engine->champion_confirmed,
      .confirmed_low_nano = engine->confirmed_low,
      .confirmed_median_nano = engine->confirmed_median,
      .confirmed_high_nano = engine->confirmed_high,
      .elapsed_ms = engine->elapsed_ms,
      .finished = engine->finished,
      .finish_reason = engine->finish_reason,
      .finish_outcome = engine->finish_outcome,
  };
  memcpy(stats.verdicts, engine->verdicts, sizeof stats.verdicts);
  if (engine->anchors.count > 0) {
    const kf_anchor *anchor = &engine->anchors.items[engine->anchors.count - 1];
    stats.anchor = anchor->id;
    stats.anchor_link_nano = anchor->link_nano;
    stats.anchor_half_nano = anchor->half_nano;
  }
  const kf_archive_cell *best = kf_archive_best(engine->archive);
  if (best != NULL) {
    stats.best_nano = best->elite.score_nano;
    stats.best_half_nano = best->elite.half_nano;
    if (!engine->champion_confirmed) stats.champion = best->elite.id;
  }
  *ret_stats = stats;
}

const kf_archive *kf_engine_archive(const kf_engine *engine) {
  return engine->archive;
}
