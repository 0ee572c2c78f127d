/* report_summary.c - the run as a whole, and the filled cells of its archive. */
#include "report/report_int.h"

#include "base/text.h"
#include "report/row.h"
#include "report/verdict_text.h"
#include <string.h>

#include "base/banned.h"

const char *const kf_report_list_heads[KF_REPORT_LIST_COLUMNS] = {"run",  "task",   "device", "evaluations",
                                                                  "best", "worked", "state"};

json_t *kf__report_speedup_json(const kf_report *report, int64_t median_nano, int64_t low_nano,
                                int64_t high_nano) {
  kf_engine_stats stats;
  kf_row row;
  kf_engine_get_stats(report->engine, &stats);
  kf_row_begin(&row);
  kf_row_real(&row, "median", kf_nano_ratio(median_nano));
  kf_row_real(&row, "low", kf_nano_ratio(low_nano));
  kf_row_real(&row, "high", kf_nano_ratio(high_nano));
  kf_row_int(&row, "median_nano", median_nano);
  kf_row_int(&row, "low_nano", low_nano);
  kf_row_int(&row, "high_nano", high_nano);
  kf_row_int(&row, "baseline", stats.baseline);
  return kf_row_take(&row);
}

bool kf__report_is_confirmed(const kf_report *report, int64_t id) {
  kf_engine_stats stats;
  kf_engine_get_stats(report->engine, &stats);
  return stats.champion_confirmed && stats.champion == id;
}

bool kf__report_interval(const kf_report *report, const kf_candidate *candidate, int64_t *ret_median,
                         int64_t *ret_low, int64_t *ret_high) {
  kf_engine_stats stats;
  kf_engine_get_stats(report->engine, &stats);
  if (stats.champion_confirmed && stats.champion == candidate->id) {
    *ret_median = stats.confirmed_median_nano;
    *ret_low = stats.confirmed_low_nano;
    *ret_high = stats.confirmed_high_nano;
    return true;
  }
  if (!candidate->scored) return false;
  *ret_median = candidate->score_nano;
  *ret_low = candidate->score_nano - candidate->half_nano;
  *ret_high = candidate->score_nano + candidate->half_nano;
  return true;
}

/* ---- what state it is in ---- */

static const char *state_of(const kf_engine_stats *stats) {
  return stats->finished ? stats->finish_outcome : "unfinished";
}

static kf_status best_of(const kf_report *report, kf_candidate *ret_candidate, int64_t *ret_median,
                         int64_t *ret_low, int64_t *ret_high, bool *ret_found, kf_err *err) {
  int64_t id = 0;
  *ret_found = false;
  kf_status status = kf_report_best(report, &id, NULL);
  if (status == KF_ENOTFOUND) return KF_OK;
  KF_TRY(status);
  KF_TRY(kf_report_candidate(report, id, ret_candidate, err));
  *ret_found = kf__report_interval(report, ret_candidate, ret_median, ret_low, ret_high);
  return KF_OK;
}

/* ---- JSON ---- */

static json_t *verdicts_json(const kf_engine_stats *stats) {
  kf_row row;
  kf_row_begin(&row);
  for (int kind = 0; kind < KF_VERDICT_COUNT; kind++)
    if (stats->verdicts[kind] > 0)
      kf_row_int(&row, kf_verdict_name((kf_verdict_kind)kind), stats->verdicts[kind]);
  return kf_row_take(&row);
}

static void put_cell(kf_row *row, const kf_cell *cell) {
  char text[KF_CELL_TEXT];
  kf_cell_text(cell, text);
  kf_row_text(row, "cell", text);
}

static kf_status add_best(const kf_report *report, kf_row *to, kf_err *err) {
  kf_candidate best;
  int64_t median = 0, low = 0, high = 0;
  bool found = false;
  KF_TRY(best_of(report, &best, &median, &low, &high, &found, err));
  if (!found) return KF_OK;
  kf_row row;
  kf_row_begin(&row);
  kf_row_int(&row, "candidate", best.id);
  kf_row_bool(&row, "confirmed", kf__report_is_confirmed(report, best.id));
  put_cell(&row, &best.cell);
  kf_row_text(&row, "binding", best.binding);
  kf_row_value(&row, "speedup", kf__report_speedup_json(report, median, low, high));
  kf_row_value(to, "best", kf_row_take(&row));
  return KF_OK;
}

static void add_progress(const kf_report *report, kf_row *row) {
  const kf_archive *archive = kf_engine_archive(report->engine);
  kf_engine_stats stats;
  kf_engine_get_stats(report->engine, &stats);
  kf_row_int(row, "evaluations", stats.evaluated);
  kf_row_int(row, "proposed", stats.proposed);
  kf_row_int(row, "in_flight", stats.in_flight);
  kf_row_int(row, "elapsed_ms", report->last_ms);
  kf_row_int(row, "cells", kf_archive_count(archive));
  kf_row_real(row, "qd_score", (double)kf_archive_qd_nano(archive) * 1e-9);
  kf_row_value(row, "verdicts", verdicts_json(&stats));
  kf_row_bool(row, "finished", stats.finished);
  kf_row_text(row, "outcome", stats.finish_outcome);
  kf_row_text(row, "reason", stats.finish_reason);
}

kf_status kf_report_summary_json(const kf_report *report, json_t **ret_object, kf_err *err) {
  kf_row row;
  kf_row_begin(&row);
  kf_row_text(&row, "run", report->run_id);
  kf_row_text(&row, "task", report->task->name);
  kf_row_text(&row, "device", kf_report_device(report));
  kf_row_value(&row, "proposers", json_incref(json_object_get(report->start, "proposers")));
  kf_row_int(&row, "seed", (int64_t)report->config.seed);
  add_progress(report, &row);
  kf_status status = add_best(report, &row, err);
  if (status == KF_OK) return kf_row_finish(&row, ret_object, err);
  json_decref(kf_row_take(&row));
  return status;
}

static kf_status cell_json(const kf_report *report, const kf_archive_cell *cell, json_t **ret_row,
                           kf_err *err) {
  kf_candidate elite;
  KF_TRY(kf_report_candidate(report, cell->elite.id, &elite, err));
  int64_t median = 0, low = 0, high = 0;
  (void)kf__report_interval(report, &elite, &median, &low, &high); /* an elite has a score */
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  bool timed = kf_report_verdict(report, elite.id, verdict, NULL) == KF_OK;
  kf_row row;
  kf_row_begin(&row);
  put_cell(&row, &cell->cell);
  kf_row_int(&row, "candidate", elite.id);
  kf_row_int(&row, "parent", elite.parent);
  kf_row_bool(&row, "confirmed", kf__report_is_confirmed(report, elite.id));
  kf_row_text(&row, "binding", elite.binding);
  kf_row_text(&row, "emitter", kf_emitter_name(elite.emitter));
  kf_row_int(&row, "time_ns", timed ? verdict->time_ns : 0);
  kf_row_int(&row, "runners_up", cell->nrunners_up);
  kf_row_value(&row, "speedup", kf__report_speedup_json(report, median, low, high));
  return kf_row_finish(&row, ret_row, err);
}

kf_status kf_report_archive_json(const kf_report *report, json_t **ret_array, kf_err *err) {
  json_t *array = json_array();
  if (array == NULL) return kf_nomem(err);
  const kf_archive *archive = kf_engine_archive(report->engine);
  for (int i = 0; i < kf_archive_count(archive); i++) {
    json_t *row = NULL;
    kf_status status = cell_json(report, kf_archive_at(archive, i), &row, err);
    if (status == KF_OK && json_array_append_new(array, row) != 0) status = kf_nomem(err);
    if (status != KF_OK) {
      json_decref(array);
      return status;
    }
  }
  *ret_array = array;
  return KF_OK;
}

/* ---- text ---- */

static kf_status put_verdicts(const kf_engine_stats *stats, kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err, "verdicts     "));
  bool any = false;
  for (int kind = KF_VERDICT_COUNT - 1; kind >= 0; kind--) {
    if (stats->verdicts[kind] == 0) continue;
    KF_TRY(kf_buf_printf(buf, err, "%s%s %lld", any ? ", " : "", kf_verdict_name((kf_verdict_kind)kind),
                         (long long)stats->verdicts[kind]));
    any = true;
  }
  return kf_buf_puts(buf, any ? "\n" : "none yet\n", err);
}

kf_status kf_report_best_text(const kf_report *report, kf_buf *buf, kf_err *err) {
  kf_candidate best;
  int64_t median = 0, low = 0, high = 0;
  bool found = false;
  KF_TRY(best_of(report, &best, &median, &low, &high, &found, err));
  if (!found) return kf_buf_puts(buf, "none yet", err);
  KF_TRY(kf_interval_text(median, low, high, 0, buf, err));
  KF_TRY(kf_buf_printf(buf, err, " over the baseline, %s: candidate %lld",
                       kf__report_is_confirmed(report, best.id) ? "confirmed" : "not confirmed",
                       (long long)best.id));
  return best.binding[0] != '\0' ? kf_buf_printf(buf, err, ", %s", best.binding) : KF_OK;
}

static kf_status put_summary(const kf_report *report, kf_buf *buf, kf_err *err) {
  kf_engine_stats stats;
  kf_engine_get_stats(report->engine, &stats);
  const kf_archive *archive = kf_engine_archive(report->engine);
  char worked[KF_FIGURE_TEXT];
  KF_TRY(kf_buf_printf(buf, err, "run          %s\ntask         %s\n", report->run_id, report->task->name));
  KF_TRY(kf_buf_printf(buf, err, "device       %s %s\n", kf_report_device(report),
                       kf_json_str_or(json_object_get(report->start, "device"), "name", "")));
  KF_TRY(kf_buf_puts(buf, "proposer     ", err));
  KF_TRY(kf__report_proposers(report, buf, err));
  KF_TRY(kf_buf_printf(buf, err, ", seed %llu\n", (unsigned long long)report->config.seed));
  KF_TRY(kf_buf_printf(buf, err, "evaluations  %lld", (long long)stats.evaluated));
  if (report->config.evals_max > 0)
    KF_TRY(kf_buf_printf(buf, err, " of %lld", (long long)report->config.evals_max));
  KF_TRY(kf_buf_printf(buf, err, " in %s\n", kf_figure_ms(report->last_ms, worked)));
  KF_TRY(put_verdicts(&stats, buf, err));
  KF_TRY(kf_buf_printf(buf, err, "archive      %d cell%s filled, QD-score %.2f\n", kf_archive_count(archive),
                       kf_archive_count(archive) == 1 ? "" : "s",
                       (double)kf_archive_qd_nano(archive) * 1e-9));
  KF_TRY(kf_buf_puts(buf, "best         ", err));
  KF_TRY(kf_report_best_text(report, buf, err));
  if (!stats.finished) return kf_buf_puts(buf, "\nstate        unfinished\n", err);
  return kf_buf_printf(buf, err, "\nstate        %s: %s\n", stats.finish_outcome, stats.finish_reason);
}

kf_status kf_report_summary_text(const kf_report *report, kf_buf *buf, kf_err *err) {
  size_t start = buf->len;
  KF_TRY(put_summary(report, buf, err));
  /* Names and reasons come from the database. */
  for (size_t at = start; at < buf->len; at++) {
    const char *end = memchr(buf->data + at, '\n', buf->len - at);
    size_t len = end ? (size_t)(end - buf->data) - at : buf->len - at;
    kf_text_clean(buf->data + at, len);
    at += len;
  }
  return KF_OK;
}

kf_status kf_report_list_row(const kf_report *report, kf_table *table, kf_err *err) {
  kf_engine_stats stats;
  kf_engine_get_stats(report->engine, &stats);
  kf_candidate best;
  int64_t median = 0, low = 0, high = 0;
  bool found = false;
  char text[KF_FIGURE_TEXT];
  KF_TRY(best_of(report, &best, &median, &low, &high, &found, err));
  KF_TRY(kf_table_cell(table, err, "%s", report->run_id));
  KF_TRY(kf_table_cell(table, err, "%s", report->task->name));
  KF_TRY(kf_table_cell(table, err, "%s", kf_report_device(report)));
  KF_TRY(kf_table_cell(table, err, "%lld", (long long)stats.evaluated));
  KF_TRY(kf_table_cell(table, err, "%s", found ? kf_figure_ratio(median, text) : "-"));
  KF_TRY(kf_table_cell(table, err, "%s", kf_figure_ms(report->last_ms, text)));
  return kf_table_cell(table, err, "%s", state_of(&stats));
}

static kf_status put_cell_row(const kf_report *report, const kf_archive_cell *cell, kf_table *table,
                              kf_err *err) {
  kf_candidate elite;
  KF_TRY(kf_report_candidate(report, cell->elite.id, &elite, err));
  int64_t median = 0, low = 0, high = 0;
  (void)kf__report_interval(report, &elite, &median, &low, &high); /* an elite has a score */
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  bool timed = kf_report_verdict(report, elite.id, verdict, NULL) == KF_OK;
  char text[KF_CELL_TEXT], a[KF_FIGURE_TEXT], b[KF_FIGURE_TEXT], c[KF_FIGURE_TEXT];
  kf_cell_text(&cell->cell, text);
  KF_TRY(kf_table_cell(table, err, "%s", text));
  KF_TRY(kf_table_cell(table, err, "%lld%s", (long long)elite.id,
                       kf__report_is_confirmed(report, elite.id) ? "*" : ""));
  KF_TRY(kf_table_cell(table, err, "%s", kf_figure_ratio(median, a)));
  KF_TRY(kf_table_cell(table, err, "%s to %s", kf_figure_ratio(low, b), kf_figure_ratio(high, c)));
  KF_TRY(kf_table_cell(table, err, "%s", kf_figure_ns(timed ? verdict->time_ns : 0, a)));
  KF_TRY(kf_table_cell(table, err, "%lld", (long long)cell->visits));
  return kf_table_cell(table, err, "%s", elite.binding[0] != '\0' ? elite.binding : "-");
}

kf_status kf_report_archive_text(const kf_report *report, kf_buf *buf, kf_err *err) {
  static const char *const heads[] = {"cell", "elite", "speed-up", "interval", "time", "visits", "binding"};
  const kf_archive *archive = kf_engine_archive(report->engine);
  if (kf_archive_count(archive) == 0) return kf_buf_puts(buf, "no cell is filled yet\n", err);
  KF_CLEANUP(kf_table_done) kf_table table;
  kf_table_init(&table, heads, (int)KF_COUNTOF(heads), 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5);
  for (int i = 0; i < kf_archive_count(archive); i++)
    KF_TRY(put_cell_row(report, kf_archive_at(archive, i), &table, err));
  return kf_table_write(&table, buf, err);
}
