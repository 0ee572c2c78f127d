/* table.c - layout of plain text tables, and figures with three or four significant digits. */
#include "report/table.h"

#include "base/text.h"
#include "wire/verdict.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

void kf_table_init(kf_table *table, const char *const *heads, int columns, uint32_t right) {
  memset(table, 0, sizeof *table);
  table->heads = heads;
  table->columns = columns;
  table->right = right;
}

void kf_table_done(kf_table *table) {
  kf_vec_done(&table->cells);
  kf_arena_done(&table->arena);
}

/* Columns on a terminal, taking every character as one. */
static size_t width_of(const char *text) {
  size_t width = 0;
  for (; *text != '\0'; text++)
    width += ((unsigned char)*text & 0xc0) != 0x80;
  return width;
}

kf_status kf_table_cell(kf_table *table, kf_err *err, const char *fmt, ...) {
  char text[KF_TABLE_CELL_MAX];
  va_list args;
  va_start(args, fmt);
  int len = vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (len < 0) text[0] = '\0';
  kf_text_clean(text, strlen(text));
  const char *copy = kf_arena_strdup(&table->arena, text);
  if (copy == NULL || kf_vec_push(&table->cells, copy) != KF_OK) return kf_nomem(err);
  return KF_OK;
}

static kf_status put_line(const kf_table *table, const char *const *cells, const size_t *widths, kf_buf *buf,
                          kf_err *err) {
  for (int i = 0; i < table->columns; i++) {
    size_t pad = widths[i] - width_of(cells[i]);
    bool right = (table->right >> i & 1) != 0;
    bool last = i + 1 == table->columns;
    if (i > 0) KF_TRY(kf_buf_puts(buf, "  ", err));
    if (right) KF_TRY(kf_buf_printf(buf, err, "%*s", (int)pad, ""));
    KF_TRY(kf_buf_puts(buf, cells[i], err));
    if (!right && !last) KF_TRY(kf_buf_printf(buf, err, "%*s", (int)pad, ""));
  }
  return kf_buf_puts(buf, "\n", err);
}

kf_status kf_table_write(const kf_table *table, kf_buf *buf, kf_err *err) {
  size_t widths[KF_TABLE_COLUMNS_MAX] = {0};
  for (int i = 0; i < table->columns; i++)
    widths[i] = width_of(table->heads[i]);
  for (size_t i = 0; i < table->cells.count; i++) {
    size_t width = width_of(table->cells.items[i]);
    size_t *widest = &widths[i % (size_t)table->columns];
    if (width > *widest) *widest = width;
  }
  KF_TRY(put_line(table, table->heads, widths, buf, err));
  size_t columns = (size_t)table->columns;
  for (size_t row = 0; row + columns <= table->cells.count; row += columns)
    KF_TRY(put_line(table, table->cells.items + row, widths, buf, err));
  return KF_OK;
}

/* Three significant digits, without an exponent. */
static void put_three(double value, const char *unit, char *ret_text) {
  int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  snprintf(ret_text, KF_FIGURE_TEXT, "%.*f %s", decimals, value, unit);
}

const char *kf_figure_ns(int64_t ns, char ret_text[KF_FIGURE_TEXT]) {
  double value = (double)ns;
  if (ns == 0)
    snprintf(ret_text, KF_FIGURE_TEXT, "-");
  else if (value < 999.5e0)
    put_three(value, "ns", ret_text);
  else if (value < 999.5e3)
    put_three(value / 1e3, "us", ret_text);
  else if (value < 999.5e6)
    put_three(value / 1e6, "ms", ret_text);
  else
    put_three(value / 1e9, "s", ret_text);
  return ret_text;
}

const char *kf_figure_ratio(int64_t nano, char ret_text[KF_FIGURE_TEXT]) {
  double ratio = kf_nano_ratio(nano);
  int decimals = ratio >= 99.95 ? 0 : ratio >= 9.995 ? 1 : ratio >= 1.9995 ? 2 : 3;
  snprintf(ret_text, KF_FIGURE_TEXT, "%.*fx", decimals, ratio);
  return ret_text;
}

const char *kf_figure_bytes(int64_t bytes, char ret_text[KF_FIGURE_TEXT]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < KF_COUNTOF(units)) {
    value /= 1024;
    unit++;
  }
  snprintf(ret_text, KF_FIGURE_TEXT, "%.*f %s", unit == 0 || value >= 9.95 ? 0 : 1, value, units[unit]);
  return ret_text;
}

const char *kf_figure_ms(int64_t ms, char ret_text[KF_FIGURE_TEXT]) {
  int64_t s = ms / 1000;
  if (ms < 10000)
    snprintf(ret_text, KF_FIGURE_TEXT, "%.1f s", (double)ms / 1e3);
  else if (s < 60)
    snprintf(ret_text, KF_FIGURE_TEXT, "%lld s", (long long)s);
  else if (s < 3600)
    snprintf(ret_text, KF_FIGURE_TEXT, "%lld min %lld s", (long long)(s / 60), (long long)(s % 60));
  else
    snprintf(ret_text, KF_FIGURE_TEXT, "%lld h %lld min", (long long)(s / 3600), (long long)(s % 3600 / 60));
  return ret_text;
}
