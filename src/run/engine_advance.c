/* engine_advance.c - what is due after an input, read off the state alone:
 *
 *   no anchor yet: ask for the seeds; when all are judged, link the fastest to the baseline
 *   then:          race the other seeds, promote a much faster kernel to anchor, keep proposals in flight
 *   at the end:    when nothing is in flight, confirm the champion, at most five tries, and finish */
#include "run/engine_int.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

int64_t kf__engine_clamp(int64_t nano) {
  return nano > KF_ENGINE_NANO_MAX    ? KF_ENGINE_NANO_MAX
         : nano < -KF_ENGINE_NANO_MAX ? -KF_ENGINE_NANO_MAX
                                      : nano;
}

/* Bit by bit, so that no floating point comes into a decision. */
static int64_t root_of(unsigned __int128 value) {
  int64_t root = 0;
  for (int64_t bit = INT64_C(1) << 38; bit > 0; bit >>= 1) {
    unsigned __int128 tried = (unsigned __int128)(root | bit);
    if (tried * tried <= value) root |= bit;
  }
  return kf__engine_clamp(root);
}

static unsigned __int128 square(int64_t a) {
  return (unsigned __int128)a * (unsigned __int128)a; /* below 2^74: a is below 2^37 */
}

int64_t kf__engine_half(int64_t a, int64_t b) {
  return root_of(square(a) + square(b));
}

int64_t kf__engine_other_half(int64_t whole, int64_t part) {
  return root_of(square(whole) - square(part));
}

const kf_anchor *kf__engine_anchor_of(const kf_engine *engine, int64_t id) {
  for (size_t i = engine->anchors.count; i > 0; i--)
    if (engine->anchors.items[i - 1].id == id) return &engine->anchors.items[i - 1];
  return NULL;
}

/* ---- counting ---- */

typedef struct {
  int active;  /* asked or being judged: what in_flight limits */
  int waiting; /* admitted seeds that were not raced yet */
  int extra;   /* link, promotion, confirmation */
} load;

static load count_load(const kf_engine *engine) {
  load now = {.active = (int)engine->asks.count};
  for (size_t i = 0; i < engine->open.count; i++) {
    kf_purpose purpose = engine->open.items[i].ask.purpose;
    if (purpose == KF_PURPOSE_ADMIT || purpose == KF_PURPOSE_JUDGE || purpose == KF_PURPOSE_DUEL)
      now.active++;
    else
      now.extra++;
  }
  for (int64_t id = 1; id <= engine->nseeds; id++) {
    const kf_record *record = kf__engine_record(engine, id);
    if (record != NULL && record->state == KF_STATE_ADMITTED) now.waiting++;
  }
  return now;
}

/* Why no more proposals are made; false while they are. */
static bool is_over(const kf_engine *engine, load now, char ret_why[160]) {
  const kf_engine_config *config = &engine->config;
  enum { ROOM = 160 };
  if (config->evals_max > 0 && engine->evaluated + now.active + now.waiting >= config->evals_max)
    snprintf(ret_why, ROOM, "evaluations: %lld of %lld", (long long)engine->evaluated,
             (long long)config->evals_max);
  else if (config->time_max_ms > 0 && engine->elapsed_ms >= config->time_max_ms)
    snprintf(ret_why, ROOM, "time: %lld s of %lld s", (long long)(engine->elapsed_ms / 1000),
             (long long)(config->time_max_ms / 1000));
  else if (engine->duplicates >= KF_ENGINE_DUPLICATES)
    snprintf(ret_why, ROOM, "space exhausted: %d duplicates in a row", engine->duplicates);
  else if (engine->unanswered >= KF_ENGINE_UNANSWERED)
    snprintf(ret_why, ROOM, "space exhausted: no proposal in %d answers in a row", engine->unanswered);
  else if (engine->abandoned >= KF_ENGINE_ABANDONED)
    snprintf(ret_why, ROOM, "environment: %d candidates in a row were lost to infrastructure failures",
             engine->abandoned);
  else
    return false;
  return true;
}

static kf_status finish(kf_engine *engine, const char *outcome, int64_t champion, const char *reason,
                        kf_err *err) {
  kf_body body;
  kf__body_begin(&body);
  kf__body_int(&body, "champion", champion);
  kf__body_text(&body, "outcome", outcome);
  kf__body_text(&body, "reason", reason);
  json_t *object = NULL;
  KF_TRY(kf__body_finish(&body, &object, err));
  return kf__engine_decide(engine, KF_EVENT_FINISH, champion, object, err);
}

/* ---- before there is an anchor ---- */

static kf_status refuse(kf_engine *engine, kf_err *err) {
  const kf_record *record = kf__engine_record(engine, engine->baseline);
  const char *what = engine->baseline == engine->initial ? "the initial kernel" : "the baseline";
  char reason[160];
  if (record->flags & KF_FLAG_VERDICT) {
    snprintf(reason, sizeof reason, "task refused: %s is %s", what,
             kf_verdict_name((kf_verdict_kind)record->verdict));
    return finish(engine, "refused", 0, reason, err);
  }
  snprintf(reason, sizeof reason, "environment: %s could not be judged", what);
  return finish(engine, "environment", 0, reason, err);
}

/* The fastest admitted seed; the baseline if none is faster. */
static int64_t fastest_seed(const kf_engine *engine) {
  int64_t best = engine->baseline;
  for (int64_t id = 1; id <= engine->nseeds; id++) {
    const kf_record *record = kf__engine_record(engine, id), *held = kf__engine_record(engine, best);
    if (record->state != KF_STATE_ADMITTED || record->time_ns == 0) continue;
    if (held->time_ns == 0 || record->time_ns < held->time_ns) best = id;
  }
  return best;
}

static kf_status choose_anchor(kf_engine *engine, kf_err *err) {
  int64_t baseline = engine->baseline, id = fastest_seed(engine);
  if (id != baseline) {
    kf_evaluate link = {.id = id,
                        .against = baseline,
                        .purpose = KF_PURPOSE_LINK,
                        .stage = 2,
                        .verified = true,
                        .blocks_min = KF_ENGINE_LINK_BLOCKS};
    return kf__engine_evaluate(engine, &link, err);
  }
  kf_anchor anchor = {baseline, 0, 0};
  KF_TRY(kf__engine_anchor(engine, &anchor, 0, err));
  kf_insert first = {.id = baseline,
                     .scored = true,
                     .cell = kf__engine_record(engine, baseline)->cell,
                     .entry = {baseline, 0, 0},
                     .raced = baseline};
  return kf__engine_place(engine, &first, 0, KF_RACE_NONE, true, err);
}

static kf_status advance_seeds(kf_engine *engine, kf_err *err) {
  const kf_record *baseline = kf__engine_record(engine, engine->baseline);
  bool doomed = baseline != NULL && baseline->state == KF_STATE_DONE;
  load now = count_load(engine);
  for (;
       !doomed && (int64_t)engine->candidates.count < engine->nseeds && now.active < engine->config.in_flight;
       now.active++)
    KF_TRY(kf__engine_propose_seed(engine, err));
  if (now.active + now.extra > 0) return KF_OK;
  if (doomed) return refuse(engine, err);
  return choose_anchor(engine, err);
}

/* ---- the search ---- */

static kf_status race_seeds(kf_engine *engine, load *now, kf_err *err) {
  int64_t anchor = engine->anchors.items[engine->anchors.count - 1].id;
  for (int64_t id = 1; id <= engine->nseeds && now->waiting > 0 && now->active < engine->config.in_flight;
       id++) {
    const kf_record *record = kf__engine_record(engine, id);
    if (record == NULL || record->state != KF_STATE_ADMITTED) continue;
    kf_evaluate judge = {
        .id = id, .against = anchor, .purpose = KF_PURPOSE_JUDGE, .stage = 2, .verified = true};
    KF_TRY(kf__engine_evaluate(engine, &judge, err));
    now->active++;
    now->waiting--;
  }
  return KF_OK;
}

/* docs/internals/evaluator.md, T9: a kernel that is confidently more than the ratio faster than the anchor
 * may replace it. */
static kf_status promote(kf_engine *engine, load *now, kf_err *err) {
  const kf_anchor *anchor = &engine->anchors.items[engine->anchors.count - 1];
  const kf_archive_cell *cell = kf_archive_best(engine->archive);
  if (now->extra > 0 || cell == NULL) return KF_OK;
  int64_t id = cell->elite.id;
  const kf_record *record = kf__engine_record(engine, id);
  if (id == engine->baseline || id == anchor->id || record->flags & KF_FLAG_PROMOTED) return KF_OK;
  /* Raced against an earlier anchor, its distance to this one is known through the links only. */
  int64_t low = record->raced == anchor->id ? record->low_nano
                                            : record->score_nano - record->half_nano - anchor->link_nano;
  if (low <= engine->anchor_ratio_nano) return KF_OK;
  kf_evaluate ask = {
      .id = id, .against = anchor->id, .purpose = KF_PURPOSE_PROMOTE, .stage = 3, .verified = true};
  KF_TRY(kf__engine_evaluate(engine, &ask, err));
  now->extra++;
  return KF_OK;
}

static kf_status finish_search(kf_engine *engine, const char *outcome, int64_t champion, const char *why,
                               const char *result, kf_err *err) {
  char reason[320];
  snprintf(reason, sizeof reason, "%s; %s", why, result);
  return finish(engine, outcome, champion, reason, err);
}

static kf_status end(kf_engine *engine, const char *why, kf_err *err) {
  const kf_archive_cell *best = kf_archive_best(engine->archive);
  int64_t id = best != NULL ? best->elite.id : 0;
  if (engine->abandoned >= KF_ENGINE_ABANDONED) return finish(engine, "environment", 0, why, err);
  if (id != 0 && engine->champion == id && engine->champion_confirmed)
    return finish_search(engine, "confirmed", id, why, "the champion is confirmed", err);
  if (engine->confirm_tries >= KF_ENGINE_CONFIRM_TRIES)
    return finish_search(engine, "unconfirmed", 0, why, "no champion could be confirmed", err);
  if (id == 0 || id == engine->baseline)
    return finish_search(engine, "no_gain", 0, why, "nothing is confidently faster than the baseline", err);
  kf_evaluate ask = {
      .id = id, .against = engine->baseline, .purpose = KF_PURPOSE_CONFIRM, .stage = 3, .verified = true};
  return kf__engine_evaluate(engine, &ask, err);
}

static kf_status advance_search(kf_engine *engine, kf_err *err) {
  char why[160];
  load now = count_load(engine);
  KF_TRY(race_seeds(engine, &now, err));
  if (!is_over(engine, now, why)) KF_TRY(promote(engine, &now, err));
  for (; now.active < engine->config.in_flight && !is_over(engine, now, why); now.active++)
    KF_TRY(kf__engine_propose(engine, err));
  if (now.active + now.waiting + now.extra > 0 || !is_over(engine, now, why)) return KF_OK;
  return end(engine, why, err);
}

kf_status kf__engine_advance(kf_engine *engine, kf_err *err) {
  if (engine->finished || engine->stopped) return KF_OK;
  if (engine->anchors.count == 0) KF_TRY(advance_seeds(engine, err));
  if (engine->finished || engine->anchors.count == 0) return KF_OK;
  return advance_search(engine, err);
}
