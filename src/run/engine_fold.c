/* engine_fold.c - the only place where state changes: each stored event applied to it, live or at resume. A
 * body is checked before it is believed, since a database may be damaged or foreign. */
#include "run/engine_int.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { CANDIDATES_MAX = 1 << 30, TIME_NS_MAX_BITS = 62 };

static kf_status cannot(kf_err *err, int64_t id, const char *what) {
  return kf_fail(err, KF_EPROTO, "candidate %lld: %s", (long long)id, what);
}

static kf_status get_nano(const json_t *body, const char *key, int64_t *ret_nano, kf_err *err) {
  return kf__body_range(body, key, -KF_ENGINE_NANO_MAX, KF_ENGINE_NANO_MAX, ret_nano, err);
}

static kf_status get_candidate(const kf_engine *engine, const json_t *body, const char *key,
                               kf_record **ret_record, int64_t *ret_id, kf_err *err) {
  int64_t id = 0;
  KF_TRY(kf__body_range(body, key, 1, (int64_t)engine->candidates.count, &id, err));
  *ret_record = kf__engine_record(engine, id);
  *ret_id = id;
  return KF_OK;
}

/* ---- what waits ---- */

const kf_request *kf__engine_request(const kf_engine *engine, int64_t request) {
  for (size_t i = 0; i < engine->open.count; i++)
    if (engine->open.items[i].ask.request == request) return &engine->open.items[i];
  return NULL;
}

static kf_status close_ask(kf_engine *engine, int64_t id, kf_err *err) {
  for (size_t i = 0; i < engine->asks.count; i++) {
    if (engine->asks.items[i] != id) continue;
    engine->asks.count--;
    memmove(&engine->asks.items[i], &engine->asks.items[i + 1],
            (engine->asks.count - i) * sizeof engine->asks.items[0]);
    return KF_OK;
  }
  return cannot(err, id, "is not asked for");
}

/* Closes the request that "closes" names, if any; its candidate is *ret_id, else 0. */
static kf_status close_request(kf_engine *engine, const json_t *body, int64_t *ret_id, kf_err *err) {
  *ret_id = 0;
  if (json_object_get(body, "closes") == NULL) return KF_OK;
  int64_t request = 0;
  KF_TRY(kf_json_int(body, "closes", &request, err));
  const kf_request *open = kf__engine_request(engine, request);
  if (open == NULL)
    return kf_fail(err, KF_EPROTO, "\"closes\": request %lld is not open", (long long)request);
  *ret_id = open->ask.candidate;
  size_t at = (size_t)(open - engine->open.items);
  engine->open.count--;
  memmove(&engine->open.items[at], &engine->open.items[at + 1],
          (engine->open.count - at) * sizeof engine->open.items[0]);
  return KF_OK;
}

/* ---- inputs ---- */

static void reopen(kf_engine *engine) {
  engine->finished = false;
  engine->finish_reason[0] = engine->finish_outcome[0] = '\0';
  engine->confirm_tries = engine->duplicates = engine->unanswered = engine->abandoned = 0;
}

static kf_status apply_resume(kf_engine *engine, const json_t *body, kf_err *err) {
  int64_t evals_max = engine->config.evals_max, time_max_ms = engine->config.time_max_ms;
  bool raised = json_object_get(body, "evals_max") != NULL || json_object_get(body, "time_max_ms") != NULL;
  if (json_object_get(body, "evals_max") != NULL)
    KF_TRY(kf__body_range(body, "evals_max", 0, INT64_MAX, &evals_max, err));
  if (json_object_get(body, "time_max_ms") != NULL)
    KF_TRY(kf__body_range(body, "time_max_ms", 0, INT64_MAX, &time_max_ms, err));
  engine->config.evals_max = evals_max;
  engine->config.time_max_ms = time_max_ms;
  engine->stopped = false;
  /* A task that was refused stays refused: there is no anchor to go on from. */
  if (engine->finished && raised && engine->anchors.count > 0) reopen(engine);
  return KF_OK;
}

/* ---- decisions ---- */

static kf_status apply_propose(kf_engine *engine, const json_t *body, kf_err *err) {
  int64_t next = (int64_t)engine->candidates.count + 1, id = 0, parent = 0;
  const char *emitter_name = NULL;
  kf_emitter emitter = KF_EMIT_SEED;
  if (next > CANDIDATES_MAX) return kf_fail(err, KF_EPROTO, "too many candidates");
  KF_TRY(kf__body_range(body, "id", next, next, &id, err));
  KF_TRY(kf__body_range(body, "parent", 0, id - 1, &parent, err));
  KF_TRY(kf_json_str(body, "emitter", &emitter_name, err));
  if (!kf_emitter_parse(emitter_name, &emitter))
    return kf_fail(err, KF_EPROTO, "\"emitter\": \"%s\" is none", emitter_name);
  if ((emitter == KF_EMIT_SEED) != (id <= engine->nseeds) ||
      (emitter == KF_EMIT_SEED) != (engine->anchors.count == 0))
    return cannot(err, id, "is a seed where none is due, or none where one is");
  kf_record record = {
      .parent = (uint32_t)parent,
      .emitter = (uint8_t)emitter,
      .state = KF_STATE_ASKED,
      .flags = emitter == KF_EMIT_SEED ? KF_FLAG_SEED : 0,
  };
  if (kf_vec_push(&engine->asks, id) != KF_OK) return kf_nomem(err);
  if (kf_vec_push(&engine->candidates, record) != KF_OK) {
    engine->asks.count--;
    return kf_nomem(err);
  }
  return KF_OK;
}

/* What an answer brought: repeated in the decision, so that answers need not be read again. */
static kf_status learn_answer(kf_engine *engine, int64_t id, const json_t *body, kf_err *err) {
  kf_record *record = kf__engine_record(engine, id);
  const char *source_hex = NULL, *norm_hex = NULL, *binding = NULL;
  kf_hash source;
  KF_TRY(kf_json_str(body, "source", &source_hex, err));
  KF_TRY(kf_json_str(body, "norm", &norm_hex, err));
  KF_TRY(kf_json_str(body, "binding", &binding, err));
  KF_TRY(kf_hash_parse(source_hex, &source, err));
  KF_TRY(kf_hash_parse(norm_hex, &record->norm, err));
  KF_TRY(kf__engine_intern_source(engine, &source, &record->source, err));
  KF_TRY(kf__engine_intern_binding(engine, binding, &record->binding, err));
  return close_ask(engine, id, err);
}

static kf_status learn_score(kf_engine *engine, kf_record *record, const json_t *body, kf_err *err) {
  int64_t score = 0, half = 0, low = 0, raced = 0;
  kf_cell cell;
  KF_TRY(kf__body_get_cell(body, "cell", &cell, err));
  KF_TRY(get_nano(body, "score", &score, err));
  KF_TRY(kf__body_range(body, "half", 0, KF_ENGINE_NANO_MAX, &half, err));
  KF_TRY(get_nano(body, "low", &low, err));
  KF_TRY(kf__body_range(body, "raced", 0, (int64_t)engine->candidates.count, &raced, err));
  record->cell = cell;
  record->score_nano = score;
  record->half_nano = half;
  record->low_nano = low;
  record->raced = (uint32_t)raced;
  record->flags |= KF_FLAG_SCORED;
  return KF_OK;
}

static bool is_candidates_own(kf_purpose purpose) {
  return purpose == KF_PURPOSE_ADMIT || purpose == KF_PURPOSE_JUDGE || purpose == KF_PURPOSE_DUEL;
}

static kf_status read_evaluate(const kf_engine *engine, const json_t *body, kf_request *ret_request,
                               kf_err *err) {
  kf_request request = {0};
  const char *purpose = NULL;
  int64_t stage = 0, retry = 0, blocks_min = 0, blocks_max = 0, count = (int64_t)engine->candidates.count;
  KF_TRY(
      kf__body_range(body, "request", engine->next_request, engine->next_request, &request.ask.request, err));
  KF_TRY(kf__body_range(body, "id", 1, count, &request.ask.candidate, err));
  KF_TRY(kf__body_range(body, "against", 0, count, &request.ask.against, err));
  KF_TRY(kf__body_range(body, "stage", 0, 3, &stage, err));
  KF_TRY(kf__body_range(body, "retry", 0, KF_ENGINE_RETRIES, &retry, err));
  KF_TRY(kf__body_range(body, "blocks_min", 0, 1000000, &blocks_min, err));
  KF_TRY(kf__body_range(body, "blocks_max", 0, 1000000, &blocks_max, err));
  KF_TRY(kf_json_bool(body, "verified", &request.ask.verified, err));
  KF_TRY(kf_json_str(body, "purpose", &purpose, err));
  if (!kf_purpose_parse(purpose, &request.ask.purpose))
    return kf_fail(err, KF_EPROTO, "\"purpose\": \"%s\" is none", purpose);
  if ((request.ask.purpose == KF_PURPOSE_ADMIT) != (request.ask.against == 0))
    return kf_fail(err, KF_EPROTO, "\"against\": %lld does not fit \"%s\"", (long long)request.ask.against,
                   purpose);
  bool before = request.ask.purpose == KF_PURPOSE_ADMIT || request.ask.purpose == KF_PURPOSE_LINK;
  if (before != (engine->anchors.count == 0))
    return kf_fail(err, KF_EPROTO, "\"purpose\": \"%s\" %s there is an anchor", purpose,
                   before ? "after" : "before");
  request.ask.stage = (int)stage;
  request.ask.blocks_min = (int)blocks_min;
  request.ask.blocks_max = (int)blocks_max;
  request.retry = (int)retry;
  *ret_request = request;
  return KF_OK;
}

static kf_status apply_evaluate(kf_engine *engine, const json_t *body, kf_err *err) {
  kf_request request;
  int64_t closed = 0;
  KF_TRY(read_evaluate(engine, body, &request, err));
  int64_t id = request.ask.candidate;
  kf_record *record = kf__engine_record(engine, id);
  KF_TRY(close_request(engine, body, &closed, err));
  if (closed != 0 && closed != id) return cannot(err, id, "closes another's request");
  if (json_object_get(body, "source") != NULL) {
    KF_TRY(learn_answer(engine, id, body, err));
    KF_TRY(kf__engine_learn_norm(engine, id, err));
    record->state = KF_STATE_OPEN;
    engine->duplicates = engine->unanswered = 0;
  } else if (record->state == KF_STATE_ASKED) {
    return cannot(err, id, "has no answer yet");
  }
  if (is_candidates_own(request.ask.purpose)) {
    bool fresh = json_object_get(body, "source") != NULL;
    if (record->state == KF_STATE_DONE || (record->state == KF_STATE_OPEN && closed == 0 && !fresh))
      return cannot(err, id, "is judged or being judged already");
    record->state = KF_STATE_OPEN;
  }
  if (json_object_get(body, "score") != NULL) KF_TRY(learn_score(engine, record, body, err));
  if (kf_vec_push(&engine->open, request) != KF_OK) return kf_nomem(err);
  engine->next_request++;
  return KF_OK;
}

/* A candidate with a verdict counts once; the initial kernel and the baseline are not what the budget is for.
 */
static void count_verdict(kf_engine *engine, int64_t id, kf_record *record, kf_verdict_kind verdict) {
  record->verdict = (uint8_t)verdict;
  record->flags |= KF_FLAG_VERDICT;
  engine->verdicts[verdict]++;
  if (id != engine->initial && id != engine->baseline) engine->evaluated++;
  engine->abandoned = 0;
}

static kf_status insert_placed(kf_engine *engine, int64_t id, kf_record *record, const json_t *body,
                               kf_insert_status status, kf_err *err) {
  KF_TRY(learn_score(engine, record, body, err));
  kf_entry entry = {id, record->score_nano, record->half_nano};
  kf_status inserted = kf_archive_insert(engine->archive, &record->cell, &entry, status, err);
  if (inserted != KF_OK) return inserted == KF_ENOMEM ? inserted : KF_EPROTO;
  if (kf_vec_push(&engine->correct, (uint32_t)id) != KF_OK) return kf_nomem(err);
  return KF_OK;
}

static kf_status insert_failed(kf_engine *engine, int64_t id, kf_record *record, const json_t *body,
                               kf_err *err) {
  record->flags &= (uint8_t)~KF_FLAG_SCORED;
  if (json_object_get(body, "grade") == NULL) return KF_OK;
  int64_t grade = 0;
  KF_TRY(kf__body_range(body, "grade", 0, 1000000000, &grade, err));
  return kf_archive_frontier_add(engine->archive, id, grade, err);
}

static kf_status insert_duplicate(kf_engine *engine, int64_t id, kf_record *record, const json_t *body,
                                  kf_err *err) {
  int64_t original = 0;
  KF_TRY(kf__body_range(body, "duplicate_of", 1, (int64_t)engine->candidates.count, &original, err));
  if (record->state != KF_STATE_ASKED) return cannot(err, id, "a duplicate must be fresh");
  /* The original may have the higher number: answers come out of order. */
  const kf_record *first = kf__engine_record(engine, original);
  if (original == id || first->source == 0 || first->duplicate_of != 0)
    return cannot(err, id, "duplicate of what is no original");
  KF_TRY(learn_answer(engine, id, body, err));
  record->duplicate_of = (uint32_t)original;
  engine->duplicates++;
  engine->unanswered = 0;
  return KF_OK;
}

static kf_status insert_abandoned(kf_engine *engine, int64_t id, kf_record *record, bool unanswered,
                                  kf_err *err) {
  if (unanswered != (record->state == KF_STATE_ASKED))
    return cannot(err, id, "cannot be abandoned like that");
  if (unanswered) KF_TRY(close_ask(engine, id, err));
  if (unanswered)
    engine->unanswered++;
  else
    engine->abandoned++;
  record->flags |= KF_FLAG_ABANDONED;
  record->flags &= (uint8_t)~KF_FLAG_SCORED;
  return KF_OK;
}

static kf_status insert_admitted(kf_record *record, const json_t *body, kf_err *err) {
  KF_TRY(kf__body_range(body, "time_ns", 0, INT64_C(1) << TIME_NS_MAX_BITS, &record->time_ns, err));
  KF_TRY(kf__body_get_cell(body, "cell", &record->cell, err));
  record->state = KF_STATE_ADMITTED;
  return KF_OK;
}

static kf_status insert_judged(kf_engine *engine, int64_t id, kf_record *record, const json_t *body,
                               kf_insert_status status, kf_err *err) {
  const char *name = NULL;
  kf_verdict_kind verdict = KF_VERDICT_COUNT;
  KF_TRY(kf_json_str(body, "verdict", &name, err));
  if (!kf_verdict_parse(name, &verdict)) return kf_fail(err, KF_EPROTO, "\"verdict\": \"%s\" is none", name);
  if ((verdict == KF_VERDICT_CORRECT) != (status != KF_INSERT_FAILED))
    return cannot(err, id, "verdict and status contradict each other");
  if (record->state == KF_STATE_ASKED) { /* no code in the answer */
    if (verdict != KF_VERDICT_NO_CODE) return cannot(err, id, "has no answer yet");
    KF_TRY(close_ask(engine, id, err));
    engine->unanswered = 0;
  }
  KF_TRY(status == KF_INSERT_FAILED ? insert_failed(engine, id, record, body, err)
                                    : insert_placed(engine, id, record, body, status, err));
  count_verdict(engine, id, record, verdict);
  return KF_OK;
}

static kf_status apply_insert(kf_engine *engine, const json_t *body, kf_err *err) {
  kf_record *record = NULL;
  int64_t id = 0, closed = 0;
  const char *name = NULL;
  kf_insert_status status = KF_INSERT_FAILED;
  KF_TRY(get_candidate(engine, body, "id", &record, &id, err));
  KF_TRY(kf_json_str(body, "status", &name, err));
  if (record->state == KF_STATE_DONE) return cannot(err, id, "is judged already");
  KF_TRY(close_request(engine, body, &closed, err));
  if (closed != 0 && closed != id) return cannot(err, id, "closes another's request");
  if (record->state == KF_STATE_OPEN && closed == 0) return cannot(err, id, "is still being judged");
  if (strcmp(name, "admitted") == 0) {
    if (record->state != KF_STATE_OPEN) return cannot(err, id, "cannot be admitted");
    return insert_admitted(record, body, err);
  }
  bool unanswered = strcmp(name, "unanswered") == 0;
  if (unanswered || strcmp(name, "abandoned") == 0) {
    KF_TRY(insert_abandoned(engine, id, record, unanswered, err));
  } else if (!kf_insert_parse(name, &status)) {
    return kf_fail(err, KF_EPROTO, "\"status\": \"%s\" is none", name);
  } else if (json_object_get(body, "duplicate_of") != NULL) {
    KF_TRY(insert_duplicate(engine, id, record, body, err));
  } else {
    KF_TRY(insert_judged(engine, id, record, body, status, err));
  }
  record->state = KF_STATE_DONE;
  return KF_OK;
}

/* A better value for what the archive holds already. */
static void rescore(kf_engine *engine, int64_t id, kf_record *record, int64_t score, int64_t half) {
  if (!(record->flags & KF_FLAG_SCORED)) return;
  if (kf_archive_rescore(engine->archive, id, score, half)) {
    record->score_nano = score;
    record->half_nano = half;
  }
}

static kf_status apply_anchor(kf_engine *engine, const json_t *body, kf_err *err) {
  kf_record *record = NULL;
  kf_anchor anchor = {0};
  int64_t closed = 0;
  KF_TRY(get_candidate(engine, body, "id", &record, &anchor.id, err));
  KF_TRY(get_nano(body, "link", &anchor.link_nano, err));
  KF_TRY(kf__body_range(body, "half", 0, KF_ENGINE_NANO_MAX, &anchor.half_nano, err));
  KF_TRY(close_request(engine, body, &closed, err));
  if (closed != 0 && closed != anchor.id) return cannot(err, anchor.id, "closes another's request");
  if (engine->candidates.count < (size_t)engine->nseeds)
    return cannot(err, anchor.id, "anchor before all seeds are known");
  if (kf_vec_push(&engine->anchors, anchor) != KF_OK) return kf_nomem(err);
  record->flags |= KF_FLAG_PROMOTED;
  rescore(engine, anchor.id, record, anchor.link_nano, anchor.half_nano);
  return KF_OK;
}

static kf_status demote(kf_engine *engine, int64_t id, kf_record *record, const json_t *body, kf_err *err) {
  const char *name = kf_json_str_or(body, "verdict", "correct");
  kf_verdict_kind verdict = KF_VERDICT_CORRECT;
  if (!kf_verdict_parse(name, &verdict)) return kf_fail(err, KF_EPROTO, "\"verdict\": \"%s\" is none", name);
  if (record->state != KF_STATE_DONE || !(record->flags & KF_FLAG_SCORED))
    return cannot(err, id, "cannot be demoted");
  kf_status demoted = kf_archive_demote(engine->archive, id, err);
  if (demoted != KF_OK) return demoted == KF_ENOMEM ? demoted : KF_EPROTO;
  engine->verdicts[record->verdict]--;
  engine->verdicts[verdict]++;
  record->verdict = (uint8_t)verdict;
  record->flags |= KF_FLAG_DEMOTED;
  if (engine->champion == id) {
    engine->champion = 0;
    engine->champion_confirmed = false;
  }
  return KF_OK;
}

static kf_status apply_confirm(kf_engine *engine, const json_t *body, kf_err *err) {
  kf_record *record = NULL;
  int64_t id = 0, closed = 0, low = 0, median = 0, high = 0;
  bool confirmed = false, demoted = false;
  const char *purpose_name = NULL;
  kf_purpose purpose = KF_PURPOSE_CONFIRM;
  KF_TRY(get_candidate(engine, body, "id", &record, &id, err));
  KF_TRY(kf_json_bool(body, "confirmed", &confirmed, err));
  KF_TRY(kf_json_bool(body, "demoted", &demoted, err));
  KF_TRY(kf_json_str(body, "purpose", &purpose_name, err));
  if (!kf_purpose_parse(purpose_name, &purpose) ||
      (purpose != KF_PURPOSE_CONFIRM && purpose != KF_PURPOSE_PROMOTE) ||
      (confirmed && (demoted || purpose == KF_PURPOSE_PROMOTE)))
    return cannot(err, id, "this confirmation cannot be");
  if (confirmed) {
    KF_TRY(get_nano(body, "low", &low, err));
    KF_TRY(get_nano(body, "median", &median, err));
    KF_TRY(get_nano(body, "high", &high, err));
    if (low > median || median > high) return cannot(err, id, "the interval is out of order");
  }
  KF_TRY(close_request(engine, body, &closed, err));
  if (closed != id) return cannot(err, id, "no request of its own is closed");
  if (demoted) KF_TRY(demote(engine, id, record, body, err));
  if (purpose == KF_PURPOSE_PROMOTE) {
    record->flags |= KF_FLAG_PROMOTED;
  } else if (confirmed) {
    engine->champion = id;
    engine->champion_confirmed = true;
    engine->confirmed_low = low;
    engine->confirmed_median = median;
    engine->confirmed_high = high;
    rescore(engine, id, record, median, median - low > high - median ? median - low : high - median);
  } else {
    /* Not demoted: infrastructure failed, and would fail the next one too. */
    engine->confirm_tries += demoted ? 1 : KF_ENGINE_CONFIRM_TRIES;
  }
  return KF_OK;
}

static kf_status apply_finish(kf_engine *engine, const json_t *body, kf_err *err) {
  const char *reason = NULL, *outcome = NULL;
  KF_TRY(kf_json_str(body, "reason", &reason, err));
  KF_TRY(kf_json_str(body, "outcome", &outcome, err));
  engine->finished = true;
  snprintf(engine->finish_reason, sizeof engine->finish_reason, "%s", reason);
  snprintf(engine->finish_outcome, sizeof engine->finish_outcome, "%s", outcome);
  return KF_OK;
}

kf_status kf__engine_apply(kf_engine *engine, kf_event_kind kind, const json_t *body, kf_err *err) {
  if (engine->finished && kf_event_is_decision(kind))
    return kf_fail(err, KF_EPROTO, "\"%s\" after the run was finished", kf_event_name(kind));
  switch (kind) {
  case KF_EVENT_START:
    if (engine->started) return kf_fail(err, KF_EPROTO, "the run started already");
    engine->started = true;
    return KF_OK;
  case KF_EVENT_RESUME:
    return apply_resume(engine, body, err);
  case KF_EVENT_STOP:
    engine->stopped = true;
    return KF_OK;
  case KF_EVENT_ANSWER:
  case KF_EVENT_VERDICT:
  case KF_EVENT_CLOCK:
  case KF_EVENT_INFRA:
    return KF_OK; /* their facts come back in decisions */
  case KF_EVENT_PROPOSE:
    return apply_propose(engine, body, err);
  case KF_EVENT_EVALUATE:
    return apply_evaluate(engine, body, err);
  case KF_EVENT_INSERT:
    return apply_insert(engine, body, err);
  case KF_EVENT_ANCHOR:
    return apply_anchor(engine, body, err);
  case KF_EVENT_CONFIRM:
    return apply_confirm(engine, body, err);
  case KF_EVENT_FINISH:
    return apply_finish(engine, body, err);
  }
  return kf_fail(err, KF_EPROTO, "unknown kind of event %d", (int)kind);
}

kf_status kf_engine_fold(kf_engine *engine, const kf_event *event, kf_err *err) {
  char what[48];
  snprintf(what, sizeof what, "event %lld (%s)", (long long)event->seq, kf_event_name(event->kind));
  if (!engine->started && event->kind != KF_EVENT_START)
    return kf_fail(err, KF_EPROTO, "%s: before the run started", what);
  bool read = (event->kind == KF_EVENT_RESUME && event->body_len > 0) || kf_event_is_decision(event->kind);
  KF_CLEANUP(kf_json_freep) json_t *body = NULL;
  kf_status status = KF_OK;
  if (read) status = kf_json_parse(event->body, event->body_len, KF_ENGINE_BODY_MAX, what, &body, err);
  if (status == KF_OK && read && !json_is_object(body)) status = kf_fail(err, KF_EPROTO, "not an object");
  if (status == KF_OK) {
    status = kf__engine_apply(engine, event->kind, body, err);
    if (status != KF_OK && status != KF_ENOMEM) kf_err_context(err, status, "%s", what);
  }
  if (status == KF_ENOMEM) return status;
  if (status != KF_OK) {
    if (err != NULL) err->code = KF_EPROTO;
    return KF_EPROTO;
  }
  if (event->at_ms > engine->elapsed_ms) engine->elapsed_ms = event->at_ms;
  return KF_OK;
}
