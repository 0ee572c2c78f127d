/* report_candidate.c - one candidate: verdicts, lineage, source. */
#include "report/report_int.h"

#include "report/row.h"
#include "report/verdict_text.h"
#include "task/plan.h"
#include <string.h>

#include "base/banned.h"

enum { LINEAGE_MAX = 64, JUDGEMENTS_MAX = 32 };

kf_status kf_report_best(const kf_report *report, int64_t *ret_id, kf_err *err) {
  kf_engine_stats stats;
  kf_engine_get_stats(report->engine, &stats);
  if (stats.champion == 0)
    return kf_err_hint(err,
                       kf_fail(err, KF_ENOTFOUND, "run %s: no kernel has been raced yet", report->run_id),
                       "`kf show %s` says how far it got", report->run_id);
  *ret_id = stats.champion;
  return KF_OK;
}

kf_status kf_report_candidate(const kf_report *report, int64_t id, kf_candidate *ret_candidate, kf_err *err) {
  if (kf_engine_candidate(report->engine, id, ret_candidate)) return KF_OK;
  kf_engine_stats stats;
  kf_engine_get_stats(report->engine, &stats);
  return kf_fail(err, KF_ENOTFOUND, "run %s: no candidate %lld: they are numbered 1 to %lld", report->run_id,
                 (long long)id, (long long)stats.proposed);
}

/* ---- verdicts ---- */

typedef struct {
  int64_t id, request, against;
  char purpose[16];
  bool judged;
  kf_verdict_kind kind;
  kf_race_result race;
  int64_t time_ns;
} judgement;

typedef struct {
  int64_t id;                /* of the candidate */
  kf_verdict *last;          /* the one to show */
  char samples[KF_HASH_HEX]; /* the blob of its samples; "" if it has none */
  bool found;
  judgement list[JUDGEMENTS_MAX];
  int count;
} history;

static kf_status take_request(history *h, const json_t *body, kf_err *err) {
  if (h->count == JUDGEMENTS_MAX) return KF_OK; /* retries without end: the first ones are shown */
  judgement *j = &h->list[h->count++];
  *j = (judgement){.id = h->id};
  KF_TRY(kf_json_int(body, "request", &j->request, err));
  KF_TRY(kf_json_int(body, "against", &j->against, err));
  snprintf(j->purpose, sizeof j->purpose, "%s", kf_json_str_or(body, "purpose", ""));
  return KF_OK;
}

static kf_status take_verdict(history *h, const json_t *body, kf_err *err) {
  json_t *value = NULL;
  KF_TRY(kf_json_obj(body, "verdict", &value, err));
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  KF_TRY(kf_verdict_from_json(value, verdict, err));
  int64_t request = kf_json_int_or(body, "request", 0);
  for (int i = 0; i < h->count; i++) {
    judgement *j = &h->list[i];
    if (j->request != request) continue;
    j->judged = true;
    j->kind = verdict->kind;
    j->race = verdict->race;
    j->time_ns = verdict->time_ns;
  }
  /* A confirmation repeats no cases of its own: those of the verdict before it still hold. */
  if (verdict->ncases == 0 && h->found) {
    memcpy(verdict->cases, h->last->cases, sizeof verdict->cases);
    verdict->ncases = h->last->ncases;
  }
  *h->last = *verdict;
  snprintf(h->samples, sizeof h->samples, "%s", kf_json_str_or(body, "samples", ""));
  h->found = true;
  return KF_OK;
}

static kf_status on_event(void *context, const kf_event *event, kf_err *err) {
  history *h = context;
  if (event->kind != KF_EVENT_VERDICT && event->kind != KF_EVENT_EVALUATE) return KF_OK;
  KF_CLEANUP(kf_json_freep) json_t *body = NULL;
  KF_TRY(kf_json_parse(event->body, event->body_len, KF_REPORT_BODY_MAX, kf_event_name(event->kind), &body,
                       err));
  return event->kind == KF_EVENT_VERDICT ? take_verdict(h, body, err) : take_request(h, body, err);
}

/* `h->last` is the caller's room for a verdict. */
static kf_status read_history(const kf_report *report, int64_t id, history *h, kf_err *err) {
  h->id = id;
  return kf_store_scan_proposal(report->store, id, on_event, h, err);
}

kf_status kf_report_verdict(const kf_report *report, int64_t id, kf_verdict *ret_verdict, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  history h = {.last = verdict};
  KF_TRY(read_history(report, id, &h, err));
  if (!h.found)
    return kf_fail(err, KF_ENOTFOUND, "run %s: candidate %lld has no verdict of its own", report->run_id,
                   (long long)id);
  *ret_verdict = *verdict;
  return KF_OK;
}

/* ---- source ---- */

static kf_status bind_source(const kf_report *report, const kf_candidate *candidate, const kf_buf *source,
                             kf_buf *buf, kf_err *err) {
  kf_plan *plan = NULL;
  kf_binding binding;
  KF_TRY(kf_plan_parse_as(report->task, kf_report_language(report), kf_buf_text(source), source->len,
                          "candidate", &plan, err));
  kf_status status = kf_plan_binding_parse(plan, candidate->binding, &binding, err);
  if (status == KF_OK) status = kf_plan_bind_source(plan, &binding, buf, err);
  kf_plan_free(plan);
  return status;
}

kf_status kf_report_source(const kf_report *report, int64_t id, bool bound, kf_buf *buf, kf_err *err) {
  kf_candidate candidate;
  KF_TRY(kf_report_candidate(report, id, &candidate, err));
  bool has_source = candidate.answered && (!candidate.judged || candidate.verdict != KF_VERDICT_NO_CODE);
  if (!has_source)
    return kf_fail(err, KF_ENOTFOUND, "run %s: candidate %lld has no source", report->run_id, (long long)id);
  KF_CLEANUP(kf_buf_done) kf_buf source;
  kf_buf_init(&source, KF_REPORT_SOURCE_MAX);
  KF_TRY(kf_store_get(report->store, &candidate.source, &source, err));
  if (bound) return bind_source(report, &candidate, &source, buf, err);
  return kf_buf_append(buf, kf_buf_text(&source), source.len, err);
}

/* ---- lineage ---- */

/* Ids from the first ancestor to `id`; the oldest are left out when there are more than LINEAGE_MAX. */
static kf_status read_lineage(const kf_report *report, int64_t id, int64_t ret_ids[LINEAGE_MAX],
                              int *ret_count, kf_err *err) {
  int64_t back[LINEAGE_MAX];
  int count = 0;
  for (int64_t at = id; at != 0 && count < LINEAGE_MAX;) {
    kf_candidate candidate;
    KF_TRY(kf_report_candidate(report, at, &candidate, err));
    back[count++] = at;
    at = candidate.parent;
  }
  for (int i = 0; i < count; i++)
    ret_ids[i] = back[count - 1 - i];
  *ret_count = count;
  return KF_OK;
}

static const char *fate_of(const kf_candidate *candidate) {
  if (candidate->abandoned) return "abandoned";
  if (!candidate->judged) return "waiting";
  return candidate->demoted ? "demoted" : kf_verdict_name(candidate->verdict);
}

static kf_status put_ancestor(const kf_report *report, int64_t id, kf_table *table, kf_err *err) {
  kf_candidate c;
  int64_t median = 0, low = 0, high = 0;
  char cell[KF_CELL_TEXT], ratio[KF_FIGURE_TEXT];
  KF_TRY(kf_report_candidate(report, id, &c, err));
  bool scored = kf__report_interval(report, &c, &median, &low, &high);
  kf_cell_text(&c.cell, cell);
  KF_TRY(kf_table_cell(table, err, "%lld", (long long)id));
  KF_TRY(kf_table_cell(table, err, "%s", kf_emitter_name(c.emitter)));
  KF_TRY(kf_table_cell(table, err, "%s", fate_of(&c)));
  KF_TRY(kf_table_cell(table, err, "%s", scored ? cell : "-"));
  KF_TRY(kf_table_cell(table, err, "%s", scored ? kf_figure_ratio(median, ratio) : "-"));
  return kf_table_cell(table, err, "%s", c.binding[0] != '\0' ? c.binding : "-");
}

kf_status kf_report_lineage_text(const kf_report *report, int64_t id, kf_buf *buf, kf_err *err) {
  static const char *const heads[] = {"candidate", "by", "verdict", "cell", "speed-up", "binding"};
  int64_t ids[LINEAGE_MAX];
  int count = 0;
  KF_TRY(read_lineage(report, id, ids, &count, err));
  KF_CLEANUP(kf_table_done) kf_table table;
  kf_table_init(&table, heads, (int)KF_COUNTOF(heads), 1u << 0 | 1u << 4);
  for (int i = 0; i < count; i++)
    KF_TRY(put_ancestor(report, ids[i], &table, err));
  return kf_table_write(&table, buf, err);
}

/* ---- the page ---- */

static kf_status put_judgements(const history *h, kf_buf *buf, kf_err *err) {
  static const char *const heads[] = {"request", "purpose", "against", "verdict", "race", "time"};
  KF_CLEANUP(kf_table_done) kf_table table;
  kf_table_init(&table, heads, (int)KF_COUNTOF(heads), 1u << 0 | 1u << 2 | 1u << 5);
  for (int i = 0; i < h->count; i++) {
    const judgement *j = &h->list[i];
    KF_CLEANUP(kf_buf_done) kf_buf race;
    kf_buf_init(&race, 256);
    if (j->judged && j->race.outcome != KF_RACE_NONE)
      KF_TRY(kf_interval_text(j->race.median_nano, j->race.low_nano, j->race.high_nano, j->race.level, &race,
                              err));
    char time[KF_FIGURE_TEXT];
    KF_TRY(kf_table_cell(&table, err, "%lld", (long long)j->request));
    KF_TRY(kf_table_cell(&table, err, "%s", j->purpose));
    KF_TRY(j->against != 0 ? kf_table_cell(&table, err, "%lld", (long long)j->against)
                           : kf_table_cell(&table, err, "-"));
    KF_TRY(kf_table_cell(&table, err, "%s", j->judged ? kf_verdict_name(j->kind) : "none"));
    KF_TRY(kf_table_cell(&table, err, "%s", race.len > 0 ? kf_buf_text(&race) : "-"));
    KF_TRY(kf_table_cell(&table, err, "%s", kf_figure_ns(j->judged ? j->time_ns : 0, time)));
  }
  if (h->count == 0) return KF_OK;
  KF_TRY(kf_buf_puts(buf, "\njudged\n", err));
  return kf_table_write(&table, buf, err);
}

static kf_status put_head(const kf_report *report, const kf_candidate *c, kf_buf *buf, kf_err *err) {
  KF_TRY(
      kf_buf_printf(buf, err, "candidate %lld of run %s: %s", (long long)c->id, report->run_id, fate_of(c)));
  int64_t median = 0, low = 0, high = 0;
  if (kf__report_interval(report, c, &median, &low, &high)) {
    KF_TRY(kf_buf_puts(buf, ", ", err));
    KF_TRY(kf_interval_text(median, low, high, 0, buf, err));
    KF_TRY(kf_buf_puts(buf, kf__report_is_confirmed(report, c->id) ? " confirmed" : " not confirmed", err));
  }
  return kf_buf_puts(buf, c->duplicate_of_known ? ", the same as one before\n" : "\n", err);
}

kf_status kf_report_candidate_text(const kf_report *report, int64_t id, kf_buf *buf, kf_err *err) {
  kf_candidate candidate;
  KF_TRY(kf_report_candidate(report, id, &candidate, err));
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  history h = {.last = verdict};
  KF_TRY(read_history(report, id, &h, err));
  KF_TRY(put_head(report, &candidate, buf, err));
  if (h.found) {
    KF_TRY(kf_buf_printf(buf, err, "  %-10s", "verdict"));
    KF_TRY(kf_verdict_line(verdict, buf, err));
    KF_TRY(kf_buf_puts(buf, "\n", err));
    KF_TRY(kf_verdict_details(verdict, buf, err));
  }
  KF_TRY(put_judgements(&h, buf, err));
  KF_TRY(kf_buf_puts(buf, "\nlineage\n", err));
  KF_TRY(kf_report_lineage_text(report, id, buf, err));
  if (!h.found || verdict->ncases == 0) return KF_OK;
  KF_TRY(kf_buf_puts(buf, "\ncases\n", err));
  return kf_verdict_cases(verdict, buf, err);
}

/* ---- JSON ---- */

static kf_status lineage_json(const kf_report *report, int64_t id, json_t **ret_array, kf_err *err) {
  int64_t ids[LINEAGE_MAX];
  int count = 0;
  KF_TRY(read_lineage(report, id, ids, &count, err));
  json_t *array = json_array();
  for (int i = 0; array != NULL && i < count; i++) {
    if (json_array_append_new(array, json_integer(ids[i])) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  if (array == NULL) return kf_nomem(err);
  *ret_array = array;
  return KF_OK;
}

/* The candidate's keys beside the verdict's own. */
static kf_status add_own_keys(const kf_report *report, const kf_candidate *c, kf_row *row, kf_err *err) {
  json_t *lineage = NULL;
  int64_t median = 0, low = 0, high = 0;
  KF_TRY(lineage_json(report, c->id, &lineage, err));
  kf_row_value(row, "lineage", lineage);
  kf_row_text(row, "run", report->run_id);
  kf_row_text(row, "task", report->task->name);
  kf_row_int(row, "candidate", c->id);
  kf_row_int(row, "parent", c->parent);
  kf_row_text(row, "emitter", kf_emitter_name(c->emitter));
  kf_row_text(row, "fate", fate_of(c));
  kf_row_bool(row, "duplicate", c->duplicate_of_known);
  kf_row_text(row, "binding", c->binding);
  kf_row_bool(row, "confirmed", kf__report_is_confirmed(report, c->id));
  if (kf__report_interval(report, c, &median, &low, &high))
    kf_row_value(row, "score", kf__report_speedup_json(report, median, low, high));
  return KF_OK;
}

/* The samples lie in a blob of their own, beside the verdict's event. */
static kf_status add_samples(const kf_report *report, const char *hex, json_t *object, kf_err *err) {
  kf_hash hash;
  json_t *samples = NULL;
  if (hex[0] == '\0') return KF_OK;
  KF_CLEANUP(kf_buf_done) kf_buf text;
  kf_buf_init(&text, KF_REPORT_BODY_MAX);
  KF_TRY(kf_hash_parse(hex, &hash, err));
  KF_TRY(kf_store_get(report->store, &hash, &text, err));
  KF_TRY(kf_json_parse(kf_buf_text(&text), text.len, KF_REPORT_BODY_MAX, "samples", &samples, err));
  return json_object_set_new(object, "samples", samples) == 0 ? KF_OK : kf_nomem(err);
}

/* The last verdict as JSON, samples included; an empty object where there is none. */
static kf_status verdict_json(const kf_report *report, int64_t id, json_t **ret_object, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  history h = {.last = verdict};
  KF_TRY(read_history(report, id, &h, err));
  KF_CLEANUP(kf_json_freep) json_t *object = h.found ? NULL : json_object();
  if (h.found) {
    KF_TRY(kf_verdict_to_json(verdict, &object, err));
    KF_TRY(add_samples(report, h.samples, object, err));
  }
  if (object == NULL) return kf_nomem(err);
  *ret_object = json_incref(object);
  return KF_OK;
}

kf_status kf_report_candidate_json(const kf_report *report, int64_t id, json_t **ret_object, kf_err *err) {
  kf_candidate candidate;
  KF_TRY(kf_report_candidate(report, id, &candidate, err));
  json_t *object = NULL;
  KF_TRY(verdict_json(report, id, &object, err));
  kf_row row;
  kf_row_begin_with(&row, object);
  kf_status status = add_own_keys(report, &candidate, &row, err);
  if (status == KF_OK) return kf_row_finish(&row, ret_object, err);
  json_decref(kf_row_take(&row));
  return status;
}
