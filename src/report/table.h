/* table.h - plain text tables: cells are added row by row, columns get the width they need.
 * Text from outside (names, logs) is made safe for a terminal: control characters become spaces. */
#ifndef KF_REPORT_TABLE_H
#define KF_REPORT_TABLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include <stdint.h>

enum { KF_TABLE_COLUMNS_MAX = 16, KF_TABLE_CELL_MAX = 1024 };

typedef struct {
  const char *const *heads; /* borrowed */
  int columns;
  uint32_t right;             /* bit i: column i is set flush right */
  KF_VEC(const char *) cells; /* row by row */
  kf_arena arena;
} kf_table;

/* `heads` has `columns` (1..KF_TABLE_COLUMNS_MAX) entries and outlives the table. */
void kf_table_init(kf_table *table, const char *const *heads, int columns, uint32_t right);
void kf_table_done(kf_table *table); /* accepts a zeroed table */
/* The next cell; a row ends after `columns` of them. Longer text than KF_TABLE_CELL_MAX is cut. */
kf_status kf_table_cell(kf_table *table, kf_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
kf_status kf_table_write(const kf_table *table, kf_buf *buf, kf_err *err);

/* Figures as people read them, each into a caller's array. */
enum { KF_FIGURE_TEXT = 32 };
const char *kf_figure_ns(int64_t ns, char ret_text[KF_FIGURE_TEXT]);      /* "2.41 ms"; "-" for 0 */
const char *kf_figure_ratio(int64_t nano, char ret_text[KF_FIGURE_TEXT]); /* log ratio -> "57.3x", "1.042x" */
const char *kf_figure_bytes(int64_t bytes, char ret_text[KF_FIGURE_TEXT]); /* "1.5 GiB" */
const char *kf_figure_ms(int64_t ms, char ret_text[KF_FIGURE_TEXT]);       /* "2 min 5 s" */

#endif
