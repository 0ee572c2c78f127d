/* verdict_text.c - verdicts for people. Text that comes from a candidate or a compiler is cleaned of control
 * characters. */
#include "report/verdict_text.h"

#include "base/text.h"
#include "report/table.h"
#include <math.h>
#include <string.h>

#include "base/banned.h"

static kf_status put_clean(kf_buf *buf, const char *text, kf_err *err) {
  size_t start = buf->len;
  KF_TRY(kf_buf_puts(buf, text, err));
  if (buf->len > start) kf_text_clean(buf->data + start, buf->len - start);
  return KF_OK;
}

kf_status kf_interval_text(int64_t median_nano, int64_t low_nano, int64_t high_nano, double level,
                           kf_buf *buf, kf_err *err) {
  char median[KF_FIGURE_TEXT], low[KF_FIGURE_TEXT], high[KF_FIGURE_TEXT];
  KF_TRY(kf_buf_printf(buf, err, "%s (%s to %s", kf_figure_ratio(median_nano, median),
                       kf_figure_ratio(low_nano, low), kf_figure_ratio(high_nano, high)));
  if (level > 0) KF_TRY(kf_buf_printf(buf, err, ", %.3g %%", level * 100));
  return kf_buf_puts(buf, ")", err);
}

static kf_status put_race(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  const kf_race_result *race = &verdict->race;
  return kf_interval_text(race->median_nano, race->low_nano, race->high_nano, race->level, buf, err);
}

static kf_status put_diagnosis(const kf_diagnosis *diagnosis, kf_buf *buf, kf_err *err) {
  const char *const parts[] = {diagnosis->kind, diagnosis->where, diagnosis->text};
  bool first = true;
  for (size_t i = 0; i < KF_COUNTOF(parts); i++) {
    if (parts[i][0] == '\0') continue;
    KF_TRY(kf_buf_puts(buf, first ? "  " : ": ", err));
    KF_TRY(put_clean(buf, parts[i], err));
    first = false;
  }
  return KF_OK;
}

kf_status kf_verdict_line(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err, "%s%s", kf_verdict_name(verdict->kind),
                       verdict->confirmed ? " (confirmed)" : ""));
  if (verdict->kind != KF_VERDICT_CORRECT) return put_diagnosis(&verdict->diagnosis, buf, err);
  char time[KF_FIGURE_TEXT];
  if (verdict->time_ns > 0) KF_TRY(kf_buf_printf(buf, err, "  %s", kf_figure_ns(verdict->time_ns, time)));
  if (verdict->race.outcome == KF_RACE_NONE) return KF_OK;
  KF_TRY(kf_buf_puts(buf, "  ", err));
  return put_race(verdict, buf, err);
}

static kf_status put_field(kf_buf *buf, const char *label, const char *text, kf_err *err) {
  if (text[0] == '\0') return KF_OK;
  KF_TRY(kf_buf_printf(buf, err, "  %-10s", label));
  KF_TRY(put_clean(buf, text, err));
  return kf_buf_puts(buf, "\n", err);
}

/* The first lines of a log, each cleaned and indented. */
static kf_status put_log(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  enum { LINES = 12 };
  const char *at = verdict->log;
  for (int line = 0; *at != '\0' && line < LINES; line++) {
    size_t len = strcspn(at, "\n");
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text - 1), at);
    KF_TRY(put_field(buf, line == 0 ? "log" : "", text, err));
    at += len + (at[len] == '\n');
  }
  if (*at != '\0') return kf_buf_puts(buf, "            ...\n", err);
  return KF_OK;
}

static kf_status put_outcome(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  const kf_race_result *race = &verdict->race;
  if (race->outcome == KF_RACE_NONE) return KF_OK;
  KF_TRY(kf_buf_printf(buf, err, "  %-10s%s by ", "race", kf_race_outcome_name(race->outcome)));
  KF_TRY(put_race(verdict, buf, err));
  KF_TRY(kf_buf_printf(buf, err, ", %d blocks", race->blocks));
  if (race->dropped > 0) KF_TRY(kf_buf_printf(buf, err, ", %d dropped", race->dropped));
  if (race->why[0] != '\0') KF_TRY(kf_buf_puts(buf, ": ", err));
  KF_TRY(put_clean(buf, race->why, err));
  return kf_buf_puts(buf, "\n", err);
}

static kf_status put_times(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  char time[KF_FIGURE_TEXT], low[KF_FIGURE_TEXT], high[KF_FIGURE_TEXT];
  if (verdict->time_ns > 0) {
    KF_TRY(kf_buf_printf(buf, err, "  %-10s%s", "time", kf_figure_ns(verdict->time_ns, time)));
    if (verdict->time_low_ns > 0 && verdict->time_high_ns > 0)
      KF_TRY(kf_buf_printf(buf, err, " (%s to %s)", kf_figure_ns(verdict->time_low_ns, low),
                           kf_figure_ns(verdict->time_high_ns, high)));
    KF_TRY(kf_buf_puts(buf, "\n", err));
  }
  return kf_buf_printf(
      buf, err, "  %-10sbuild %lld ms, verify %lld ms, measure %lld ms, in all %lld ms; reached stage %d\n",
      "took", (long long)verdict->build_ms, (long long)verdict->verify_ms, (long long)verdict->measure_ms,
      (long long)verdict->total_ms, verdict->stage);
}

kf_status kf_verdict_details(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  char cell[KF_CELL_TEXT];
  if (verdict->kind == KF_VERDICT_CORRECT && verdict->diagnosis.kind[0] != '\0') {
    KF_TRY(kf_buf_printf(buf, err, "  %-8s", "bound"));
    KF_TRY(put_diagnosis(&verdict->diagnosis, buf, err));
    KF_TRY(kf_buf_puts(buf, "\n", err));
  }
  KF_TRY(put_field(buf, "evidence", verdict->diagnosis.evidence, err));
  if (verdict->kind != KF_VERDICT_CORRECT) KF_TRY(put_log(verdict, buf, err));
  KF_TRY(put_field(buf, "next", verdict->next_why, err));
  KF_TRY(put_field(buf, "", verdict->next_command, err));
  KF_TRY(put_outcome(verdict, buf, err));
  KF_TRY(put_times(verdict, buf, err));
  KF_TRY(put_field(buf, "binding", verdict->binding, err));
  if (verdict->evidence.known) {
    kf_cell_text(&verdict->cell, cell);
    KF_TRY(put_field(buf, "cell", cell, err));
  }
  if (verdict->tier[0] == '\0' || verdict->enforced[0] == '\0') return KF_OK; /* nothing of it ran */
  size_t start = buf->len;
  KF_TRY(kf_buf_printf(buf, err, "  %-10stier %s on %s (%s); enforced: %s", "trust", verdict->tier,
                       verdict->device, verdict->device_name, verdict->enforced));
  kf_text_clean(buf->data + start, buf->len - start);
  return kf_buf_puts(buf, "\n", err);
}

kf_status kf_verdict_cases(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  static const char *const heads[] = {"case", "kind", "result", "error/tolerance", "time"};
  KF_CLEANUP(kf_table_done) kf_table table;
  kf_table_init(&table, heads, (int)KF_COUNTOF(heads), 1u << 3 | 1u << 4);
  for (int i = 0; i < verdict->ncases; i++) {
    const kf_case_result *c = &verdict->cases[i];
    char time[KF_FIGURE_TEXT];
    KF_TRY(kf_table_cell(&table, err, "%s", c->symbols));
    KF_TRY(kf_table_cell(&table, err, "%s", c->measured ? "measure" : "check"));
    KF_TRY(kf_table_cell(&table, err, "%s", c->right ? "right" : "wrong"));
    KF_TRY(isfinite(c->worst) ? kf_table_cell(&table, err, "%.3g", c->worst)
                              : kf_table_cell(&table, err, "inf"));
    KF_TRY(kf_table_cell(&table, err, "%s", kf_figure_ns(c->time_ns, time)));
  }
  return verdict->ncases > 0 ? kf_table_write(&table, buf, err) : KF_OK;
}
