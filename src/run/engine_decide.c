/* engine_decide.c - what an answer, a verdict or a failed request leads to (docs/internals/search.md).
 * Everything is checked before the first decision, so that an input which cannot be changes nothing. */
#include "run/engine_int.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* ---- writing decisions ---- */

static void write_score(kf_body *body, const kf_cell *cell, const kf_entry *entry, int64_t low_nano,
                        int64_t raced) {
  kf__body_cell(body, "cell", cell);
  kf__body_int(body, "half", entry->half_nano);
  kf__body_int(body, "low", low_nano);
  kf__body_int(body, "raced", raced);
  kf__body_int(body, "score", entry->score_nano);
}

static void write_answer(kf_body *body, const char *source, const char *binding, const char *norm) {
  kf__body_text(body, "binding", binding);
  kf__body_text(body, "norm", norm);
  kf__body_text(body, "source", source);
}

kf_status kf__engine_evaluate(kf_engine *engine, const kf_evaluate *what, kf_err *err) {
  kf_body body;
  kf__body_begin(&body);
  kf__body_int(&body, "against", what->against);
  /* A race between equals would always take the rule's last block. A judgement only has to place the
   * candidate; what is undecided is left to the duel, and undecided there the incumbent stays. */
  const kf_settings *settings = &engine->config.settings;
  int64_t blocks_max = what->purpose == KF_PURPOSE_DUEL    ? settings->search_duel_blocks
                       : what->purpose == KF_PURPOSE_JUDGE ? settings->search_judge_blocks
                                                           : 0;
  kf__body_int(&body, "blocks_max", blocks_max);
  kf__body_int(&body, "blocks_min", what->blocks_min);
  if (what->closes != 0) kf__body_int(&body, "closes", what->closes);
  kf__body_int(&body, "id", what->id);
  kf__body_text(&body, "purpose", kf_purpose_name(what->purpose));
  kf__body_int(&body, "request", engine->next_request);
  kf__body_int(&body, "retry", what->retry);
  kf__body_int(&body, "stage", what->stage);
  kf__body_bool(&body, "verified", what->verified);
  if (what->source != NULL) write_answer(&body, what->source, what->binding, what->norm);
  if (what->scored) write_score(&body, &what->cell, &what->entry, what->low_nano, what->raced);
  json_t *object = NULL;
  KF_TRY(kf__body_finish(&body, &object, err));
  return kf__engine_decide(engine, KF_EVENT_EVALUATE, what->id, object, err);
}

kf_status kf__engine_insert(kf_engine *engine, const kf_insert *what, kf_err *err) {
  kf_body body;
  kf__body_begin(&body);
  if (what->closes != 0) kf__body_int(&body, "closes", what->closes);
  kf__body_int(&body, "id", what->id);
  kf__body_text(&body, "status", what->status);
  if (what->judged) kf__body_text(&body, "verdict", kf_verdict_name(what->verdict));
  if (what->scored)
    write_score(&body, &what->cell, &what->entry, what->low_nano, what->raced);
  else if (what->placed)
    kf__body_cell(&body, "cell", &what->cell);
  if (what->graded) kf__body_int(&body, "grade", what->grade_nano);
  if (strcmp(what->status, "admitted") == 0) kf__body_int(&body, "time_ns", what->time_ns);
  if (what->duplicate_of != 0) kf__body_int(&body, "duplicate_of", what->duplicate_of);
  if (what->source != NULL) write_answer(&body, what->source, what->binding, what->norm);
  if (what->why != NULL) kf__body_text(&body, "why", what->why);
  json_t *object = NULL;
  KF_TRY(kf__body_finish(&body, &object, err));
  return kf__engine_decide(engine, KF_EVENT_INSERT, what->id, object, err);
}

kf_status kf__engine_anchor(kf_engine *engine, const kf_anchor *anchor, int64_t closes, kf_err *err) {
  kf_body body;
  kf__body_begin(&body);
  if (closes != 0) kf__body_int(&body, "closes", closes);
  kf__body_int(&body, "half", anchor->half_nano);
  kf__body_int(&body, "id", anchor->id);
  kf__body_int(&body, "link", anchor->link_nano);
  json_t *object = NULL;
  KF_TRY(kf__body_finish(&body, &object, err));
  return kf__engine_decide(engine, KF_EVENT_ANCHOR, anchor->id, object, err);
}

typedef struct {
  int64_t id, closes;
  kf_purpose purpose;
  bool confirmed, demoted;
  const kf_verdict *verdict; /* NULL after infrastructure failures */
  const char *why;
} confirmation;

static kf_status decide_confirm(kf_engine *engine, const confirmation *what, kf_err *err) {
  kf_body body;
  kf__body_begin(&body);
  kf__body_int(&body, "closes", what->closes);
  kf__body_bool(&body, "confirmed", what->confirmed);
  kf__body_bool(&body, "demoted", what->demoted);
  kf__body_int(&body, "id", what->id);
  kf__body_text(&body, "purpose", kf_purpose_name(what->purpose));
  if (what->verdict != NULL) kf__body_text(&body, "verdict", kf_verdict_name(what->verdict->kind));
  if (what->confirmed) {
    kf__body_int(&body, "high", kf__engine_clamp(what->verdict->race.high_nano));
    kf__body_int(&body, "low", kf__engine_clamp(what->verdict->race.low_nano));
    kf__body_int(&body, "median", kf__engine_clamp(what->verdict->race.median_nano));
  }
  if (what->why[0] != '\0') kf__body_text(&body, "why", what->why);
  json_t *object = NULL;
  KF_TRY(kf__body_finish(&body, &object, err));
  return kf__engine_decide(engine, KF_EVENT_CONFIRM, what->id, object, err);
}

/* ---- answers ---- */

/* Without a hash of the normalised text (the plan did not parse), only the very same text is the same
 * candidate. */
static void unparsed_norm(const char *source, const char *binding, char ret_hex[KF_HASH_HEX]) {
  kf_hasher hasher;
  kf_hash hash;
  kf_hasher_init(&hasher);
  kf_hasher_add_text(&hasher, "unparsed");
  kf_hasher_add_text(&hasher, source);
  kf_hasher_add_text(&hasher, binding);
  kf_hasher_final(&hasher, &hash);
  kf_hash_hex(&hash, ret_hex);
}

static kf_status take_candidate(kf_engine *engine, int64_t id, const json_t *body, kf_err *err) {
  const char *source = NULL, *norm = kf_json_str_or(body, "norm", NULL);
  const char *binding = kf_json_str_or(body, "binding", "");
  char unparsed[KF_HASH_HEX];
  kf_hash source_hash, norm_hash;
  KF_TRY(kf_json_str(body, "source", &source, err));
  if (kf_hash_parse(source, &source_hash, err) != KF_OK) return KF_EPROTO;
  if (norm == NULL) {
    unparsed_norm(source, binding, unparsed);
    norm = unparsed;
  }
  if (kf_hash_parse(norm, &norm_hash, err) != KF_OK) return KF_EPROTO;
  int64_t known = kf__engine_known(engine, &norm_hash);
  if (known != 0 && id != engine->baseline) { /* the baseline has to be measured under its own id */
    kf_insert duplicate = {.id = id,
                           .status = kf_insert_name(KF_INSERT_DROPPED),
                           .duplicate_of = known,
                           .source = source,
                           .binding = binding,
                           .norm = norm};
    return kf__engine_insert(engine, &duplicate, err);
  }
  kf_evaluate evaluate = {
      .id = id, .purpose = KF_PURPOSE_ADMIT, .stage = 2, .source = source, .binding = binding, .norm = norm};
  if (id > engine->nseeds) {
    evaluate.purpose = KF_PURPOSE_JUDGE;
    evaluate.against = engine->anchors.items[engine->anchors.count - 1].id;
  }
  return kf__engine_evaluate(engine, &evaluate, err);
}

kf_status kf__engine_answer(kf_engine *engine, int64_t id, const json_t *body, kf_err *err) {
  const kf_record *record = kf__engine_record(engine, id);
  const char *status = NULL;
  if (record == NULL || record->state != KF_STATE_ASKED)
    return kf_fail(err, KF_EPROTO, "answer: proposal %lld is not waiting for one", (long long)id);
  KF_TRY(kf_json_str(body, "status", &status, err));
  if (strcmp(status, "ok") == 0) return take_candidate(engine, id, body, err);
  kf_insert insert = {.id = id, .status = "unanswered", .why = status};
  if (strcmp(status, "no_code") == 0) {
    insert.status = kf_insert_name(KF_INSERT_FAILED);
    insert.judged = true;
    insert.verdict = KF_VERDICT_NO_CODE;
    insert.why = NULL;
  }
  return kf__engine_insert(engine, &insert, err);
}

/* ---- verdicts ---- */

enum { GRADE_NONE = -1, TENTH = 100000000 };

/* docs/internals/search.md, What a candidate becomes; in nano units. */
static int64_t grade_of(const kf_verdict *verdict) {
  switch (verdict->kind) {
  case KF_VERDICT_REFUSED:
  case KF_VERDICT_UNSUPPORTED:
  case KF_VERDICT_BUILD_FAILED:
  case KF_VERDICT_BUILD_TIMEOUT:
    return 0;
  case KF_VERDICT_LAUNCH_FAILED:
  case KF_VERDICT_CRASHED:
  case KF_VERDICT_TIMED_OUT:
  case KF_VERDICT_OUT_OF_MEMORY:
  case KF_VERDICT_WRONG_MEMORY:
    return TENTH / 2;
  case KF_VERDICT_WRONG_OUTPUT:
    break;
  case KF_VERDICT_NONDETERMINISTIC:
  case KF_VERDICT_IMPRECISE:
  case KF_VERDICT_IMPLAUSIBLE:
  case KF_VERDICT_UNSTABLE:
    return TENTH * 5 / 2;
  case KF_VERDICT_SLOW:
    return INT64_C(3) * TENTH;
  case KF_VERDICT_NO_CODE: /* no source to repair */
  case KF_VERDICT_CHEAT:
  case KF_VERDICT_CORRECT:
  case KF_VERDICT_COUNT:
    return GRADE_NONE;
  }
  int64_t right = 0, cases = 0;
  for (int i = 0; i < verdict->ncases && i < KF_VERDICT_CASES_MAX; i++) {
    if (verdict->cases[i].measured) continue;
    cases++;
    right += verdict->cases[i].right;
  }
  return TENTH + (cases > 0 ? TENTH * right / cases : 0);
}

static kf_status insert_failure(kf_engine *engine, int64_t id, int64_t closes, const kf_verdict *verdict,
                                kf_err *err) {
  int64_t grade = grade_of(verdict);
  kf_insert insert = {.id = id,
                      .closes = closes,
                      .status = kf_insert_name(KF_INSERT_FAILED),
                      .judged = true,
                      .verdict = verdict->kind,
                      .graded = grade != GRADE_NONE,
                      .grade_nano = grade,
                      .why = verdict->diagnosis.text[0] != '\0' ? verdict->diagnosis.text : NULL};
  return kf__engine_insert(engine, &insert, err);
}

static bool is_kept(const kf_archive_cell *cell, const kf_entry *entry) {
  if (cell->nrunners_up < KF_RUNNERS_UP) return true;
  const kf_entry *last = &cell->runners_up[KF_RUNNERS_UP - 1];
  return entry->score_nano - entry->half_nano > last->score_nano - last->half_nano;
}

static kf_status insert_as(kf_engine *engine, kf_insert *what, kf_insert_status status, kf_err *err) {
  what->status = kf_insert_name(status);
  what->judged = true;
  what->verdict = KF_VERDICT_CORRECT;
  return kf__engine_insert(engine, what, err);
}

static kf_status ask_duel(kf_engine *engine, const kf_insert *what, int64_t against, kf_err *err) {
  kf_evaluate duel = {.id = what->id,
                      .against = against,
                      .closes = what->closes,
                      .purpose = KF_PURPOSE_DUEL,
                      .stage = 2,
                      .verified = true,
                      .scored = true,
                      .cell = what->cell,
                      .entry = what->entry,
                      .low_nano = what->low_nano,
                      .raced = what->raced};
  return kf__engine_evaluate(engine, &duel, err);
}

/* Half-width of the candidate's own race: what the anchor's link adds to it is the same for all that raced
 * this anchor. */
static int64_t own_half(const kf_engine *engine, int64_t raced, int64_t half_nano) {
  const kf_anchor *anchor = kf__engine_anchor_of(engine, raced);
  int64_t link = anchor != NULL ? anchor->half_nano : 0;
  return link < half_nano ? kf__engine_other_half(half_nano, link) : 0;
}

/* Surely not better than the elite? Both against the same anchor: the link cancels
 * (docs/internals/search.md). */
static bool is_beaten(const kf_engine *engine, const kf_insert *what, const kf_entry *elite) {
  const kf_record *record = kf__engine_record(engine, elite->id);
  int64_t half = what->entry.half_nano, elite_half = elite->half_nano;
  if (record->raced == (uint64_t)what->raced) {
    half = own_half(engine, what->raced, half);
    elite_half = own_half(engine, what->raced, elite_half);
  }
  return what->entry.score_nano + half < elite->score_nano - elite_half;
}

/* `last`: the race was a duel, whose tie is final; a judgement that leaves hope against the anchor itself is
 * not. */
kf_status kf__engine_place(kf_engine *engine, kf_insert *what, int64_t raced, kf_race_outcome outcome,
                           bool last, kf_err *err) {
  const kf_archive_cell *cell = kf_archive_find(engine->archive, &what->cell);
  if (cell == NULL) return insert_as(engine, what, KF_INSERT_NEW, err);
  kf_insert_status behind = is_kept(cell, &what->entry) ? KF_INSERT_RUNNER_UP : KF_INSERT_DROPPED;
  if (cell->elite.id == raced) {
    if (outcome == KF_RACE_FASTER) return insert_as(engine, what, KF_INSERT_ELITE, err);
    bool hope = outcome == KF_RACE_TIE && what->entry.score_nano > cell->elite.score_nano;
    if (hope && !last) return ask_duel(engine, what, cell->elite.id, err);
    return insert_as(engine, what, outcome == KF_RACE_TIE ? KF_INSERT_RUNNER_UP : behind, err);
  }
  if (is_beaten(engine, what, &cell->elite)) return insert_as(engine, what, behind, err);
  return ask_duel(engine, what, cell->elite.id, err);
}

static int64_t race_half(const kf_race_result *race) {
  int64_t below = kf__engine_clamp(race->median_nano) - kf__engine_clamp(race->low_nano);
  int64_t above = kf__engine_clamp(race->high_nano) - kf__engine_clamp(race->median_nano);
  int64_t half = below > above ? below : above;
  return kf__engine_clamp(half);
}

static bool was_raced(const kf_verdict *verdict) {
  const kf_race_result *race = &verdict->race;
  if (race->low_nano > race->median_nano || race->median_nano > race->high_nano) return false;
  return race->outcome == KF_RACE_FASTER || race->outcome == KF_RACE_SLOWER || race->outcome == KF_RACE_TIE;
}

/* A machine that was too busy for a claim says nothing against the candidate: right, and a tie. */
static bool is_right(const kf_verdict *verdict) {
  return verdict->kind == KF_VERDICT_CORRECT || (verdict->kind == KF_VERDICT_UNSTABLE && was_raced(verdict));
}

static kf_race_outcome outcome_of(const kf_verdict *verdict) {
  return verdict->kind == KF_VERDICT_UNSTABLE ? KF_RACE_TIE : verdict->race.outcome;
}

/* What is surely gained; by an unstable race, nothing. */
static int64_t low_of(const kf_verdict *verdict) {
  int64_t low = kf__engine_clamp(verdict->race.low_nano);
  return verdict->kind == KF_VERDICT_UNSTABLE && low > 0 ? 0 : low;
}

static kf_status admit_verdict(kf_engine *engine, const kf_request *request, const kf_verdict *verdict,
                               kf_err *err) {
  int64_t id = request->ask.candidate;
  if (verdict->kind != KF_VERDICT_CORRECT)
    return insert_failure(engine, id, request->ask.request, verdict, err);
  int64_t time_ns = verdict->time_ns < 0 ? 0 : verdict->time_ns;
  if (time_ns > INT64_C(1) << 62) time_ns = INT64_C(1) << 62;
  kf_insert insert = {.id = id,
                      .closes = request->ask.request,
                      .status = "admitted",
                      .judged = true,
                      .verdict = verdict->kind,
                      .placed = true,
                      .cell = verdict->cell,
                      .time_ns = time_ns};
  return kf__engine_insert(engine, &insert, err);
}

static kf_status judge_verdict(kf_engine *engine, const kf_request *request, const kf_verdict *verdict,
                               kf_err *err) {
  int64_t id = request->ask.candidate, against = request->ask.against;
  if (!is_right(verdict)) return insert_failure(engine, id, request->ask.request, verdict, err);
  /* The anchor of that race, which may have been replaced meanwhile. */
  const kf_anchor *anchor = kf__engine_anchor_of(engine, against);
  if (anchor == NULL)
    return kf_fail(err, KF_EBUG, "candidate %lld was raced against no anchor", (long long)id);
  kf_insert insert = {
      .id = id,
      .closes = request->ask.request,
      .scored = true,
      .cell = verdict->cell,
      .entry = {id, kf__engine_clamp(anchor->link_nano + kf__engine_clamp(verdict->race.median_nano)),
                kf__engine_half(anchor->half_nano, race_half(&verdict->race))},
      .low_nano = low_of(verdict),
      .raced = against,
  };
  return kf__engine_place(engine, &insert, against, outcome_of(verdict), false, err);
}

static void scored_insert(const kf_engine *engine, int64_t id, int64_t closes, kf_insert *ret_insert) {
  const kf_record *record = kf__engine_record(engine, id);
  *ret_insert = (kf_insert){
      .id = id,
      .closes = closes,
      .scored = true,
      .cell = record->cell,
      .entry = {id, record->score_nano, record->half_nano},
      .low_nano = record->low_nano,
      .raced = record->raced,
  };
}

static kf_status duel_verdict(kf_engine *engine, const kf_request *request, const kf_verdict *verdict,
                              kf_err *err) {
  int64_t id = request->ask.candidate;
  bool lost =
      verdict->kind == KF_VERDICT_SLOW; /* dropped in the race: it is right, but this elite is far faster */
  if (!lost && !is_right(verdict)) return insert_failure(engine, id, request->ask.request, verdict, err);
  kf_insert insert;
  scored_insert(engine, id, request->ask.request, &insert);
  return kf__engine_place(engine, &insert, request->ask.against, lost ? KF_RACE_SLOWER : outcome_of(verdict),
                          true, err);
}

/* The anchor over the baseline; with it the baseline and the anchor enter their cells (see
 * kf__engine_advance). */
static kf_status link_verdict(kf_engine *engine, const kf_request *request, const kf_verdict *verdict,
                              kf_err *err) {
  int64_t id = request->ask.candidate;
  if (!is_right(verdict)) return insert_failure(engine, id, request->ask.request, verdict, err);
  kf_anchor anchor = {id, kf__engine_clamp(verdict->race.median_nano), race_half(&verdict->race)};
  kf_race_outcome outcome = outcome_of(verdict);
  int64_t low = low_of(verdict), baseline = request->ask.against;
  KF_TRY(kf__engine_anchor(engine, &anchor, request->ask.request, err));
  kf_insert first = {.id = baseline,
                     .scored = true,
                     .cell = kf__engine_record(engine, baseline)->cell,
                     .entry = {baseline, 0, 0},
                     .raced = baseline};
  KF_TRY(kf__engine_place(engine, &first, 0, KF_RACE_NONE, true, err));
  kf_insert second = {.id = id,
                      .scored = true,
                      .cell = kf__engine_record(engine, id)->cell,
                      .entry = {id, anchor.link_nano, anchor.half_nano},
                      .low_nano = low,
                      .raced = baseline};
  return kf__engine_place(engine, &second, baseline, outcome, true, err);
}

static bool is_wrong(const kf_verdict *verdict) {
  return verdict->kind != KF_VERDICT_CORRECT && verdict->kind != KF_VERDICT_SLOW &&
         verdict->kind != KF_VERDICT_UNSTABLE;
}

static kf_status promote_verdict(kf_engine *engine, const kf_request *request, const kf_verdict *verdict,
                                 kf_err *err) {
  const kf_evaluation *ask = &request->ask;
  const kf_anchor *anchor = kf__engine_anchor_of(engine, ask->against);
  if (anchor == NULL) return kf_fail(err, KF_EBUG, "promotion against no anchor");
  if (verdict->kind == KF_VERDICT_CORRECT && verdict->confirmed && verdict->race.outcome == KF_RACE_FASTER) {
    kf_anchor next = {ask->candidate,
                      kf__engine_clamp(anchor->link_nano + kf__engine_clamp(verdict->race.median_nano)),
                      kf__engine_half(anchor->half_nano, race_half(&verdict->race))};
    return kf__engine_anchor(engine, &next, ask->request, err);
  }
  confirmation failed = {.id = ask->candidate,
                         .closes = ask->request,
                         .purpose = KF_PURPOSE_PROMOTE,
                         .demoted = is_wrong(verdict),
                         .verdict = verdict,
                         .why = verdict->diagnosis.text};
  return decide_confirm(engine, &failed, err);
}

/* A ruler that turned out wrong is put back: the one before it that was not demoted (the first always stays).
 */
static kf_status replace_demoted_anchor(kf_engine *engine, kf_err *err) {
  size_t count = engine->anchors.count;
  size_t at = count - 1;
  while (at > 0 && kf__engine_record(engine, engine->anchors.items[at].id)->flags & KF_FLAG_DEMOTED)
    at--;
  if (at == count - 1) return KF_OK;
  kf_anchor previous = engine->anchors.items[at];
  return kf__engine_anchor(engine, &previous, 0, err);
}

static kf_status confirm_verdict(kf_engine *engine, const kf_request *request, const kf_verdict *verdict,
                                 kf_err *err) {
  bool confirmed =
      verdict->kind == KF_VERDICT_CORRECT && verdict->confirmed && verdict->race.outcome == KF_RACE_FASTER;
  const char *why = confirmed                            ? ""
                    : verdict->diagnosis.text[0] != '\0' ? verdict->diagnosis.text
                                                         : verdict->race.why;
  confirmation result = {.id = request->ask.candidate,
                         .closes = request->ask.request,
                         .purpose = KF_PURPOSE_CONFIRM,
                         .confirmed = confirmed,
                         .demoted = !confirmed,
                         .verdict = verdict,
                         .why = why};
  KF_TRY(decide_confirm(engine, &result, err));
  return confirmed ? KF_OK : replace_demoted_anchor(engine, err);
}

static kf_status find_request(const kf_engine *engine, int64_t id, const json_t *body,
                              kf_request *ret_request, kf_err *err) {
  int64_t number = 0;
  KF_TRY(kf_json_int(body, "request", &number, err));
  const kf_request *request = kf__engine_request(engine, number);
  if (request == NULL) return kf_fail(err, KF_EPROTO, "request %lld is not open", (long long)number);
  if (request->ask.candidate != id)
    return kf_fail(err, KF_EPROTO, "request %lld is for candidate %lld, not %lld", (long long)number,
                   (long long)request->ask.candidate, (long long)id);
  *ret_request = *request; /* the table moves while decisions are folded */
  return KF_OK;
}

static kf_status give_up(kf_engine *engine, const kf_request *request, const char *why, kf_err *err) {
  const kf_evaluation *ask = &request->ask;
  char text[256];
  snprintf(text, sizeof text, "infrastructure: %s", why);
  switch (ask->purpose) {
  case KF_PURPOSE_ADMIT:
  case KF_PURPOSE_JUDGE:
  case KF_PURPOSE_LINK: {
    kf_insert insert = {.id = ask->candidate, .closes = ask->request, .status = "abandoned", .why = text};
    return kf__engine_insert(engine, &insert, err);
  }
  case KF_PURPOSE_DUEL: { /* undecided: the incumbent stays */
    kf_insert insert;
    scored_insert(engine, ask->candidate, ask->request, &insert);
    insert.why = text;
    const kf_archive_cell *cell = kf_archive_find(engine->archive, &insert.cell);
    if (cell == NULL) return insert_as(engine, &insert, KF_INSERT_NEW, err);
    return insert_as(engine, &insert, is_kept(cell, &insert.entry) ? KF_INSERT_RUNNER_UP : KF_INSERT_DROPPED,
                     err);
  }
  case KF_PURPOSE_PROMOTE:
  case KF_PURPOSE_CONFIRM:
    break;
  }
  confirmation failed = {.id = ask->candidate, .closes = ask->request, .purpose = ask->purpose, .why = text};
  return decide_confirm(engine, &failed, err);
}

static kf_status retry(kf_engine *engine, const kf_request *request, const char *why, kf_err *err) {
  if (request->retry >= KF_ENGINE_RETRIES) return give_up(engine, request, why, err);
  const kf_evaluation *ask = &request->ask;
  kf_evaluate again = {.id = ask->candidate,
                       .against = ask->against,
                       .closes = ask->request,
                       .purpose = ask->purpose,
                       .stage = ask->stage,
                       .retry = request->retry + 1,
                       .blocks_min = ask->blocks_min,
                       .verified = ask->verified};
  return kf__engine_evaluate(engine, &again, err);
}

kf_status kf__engine_infra(kf_engine *engine, int64_t id, const json_t *body, kf_err *err) {
  kf_request request;
  KF_TRY(find_request(engine, id, body, &request, err));
  return retry(engine, &request, kf_json_str_or(body, "error", "unknown"), err);
}

kf_status kf__engine_verdict(kf_engine *engine, int64_t id, const json_t *body, kf_err *err) {
  kf_request request;
  json_t *value = NULL;
  KF_TRY(find_request(engine, id, body, &request, err));
  KF_TRY(kf_json_obj(body, "verdict", &value, err));
  const kf_verdict *verdict = engine->verdict;
  kf_status status = kf_verdict_from_json(value, engine->verdict, err);
  if (status != KF_OK) return status == KF_ENOMEM ? status : KF_EPROTO;
  /* Right but without the race that was asked for: nothing can be decided from it. */
  if (request.ask.against != 0 && verdict->kind == KF_VERDICT_CORRECT && !was_raced(verdict))
    return retry(engine, &request, "a verdict without a race", err);
  switch (request.ask.purpose) {
  case KF_PURPOSE_ADMIT:
    return admit_verdict(engine, &request, verdict, err);
  case KF_PURPOSE_LINK:
    return link_verdict(engine, &request, verdict, err);
  case KF_PURPOSE_JUDGE:
    return judge_verdict(engine, &request, verdict, err);
  case KF_PURPOSE_DUEL:
    return duel_verdict(engine, &request, verdict, err);
  case KF_PURPOSE_PROMOTE:
    return promote_verdict(engine, &request, verdict, err);
  case KF_PURPOSE_CONFIRM:
    return confirm_verdict(engine, &request, verdict, err);
  }
  return kf_fail(err, KF_EBUG, "request of unknown purpose");
}
