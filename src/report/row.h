/* row.h - a JSON object under construction, for lines of --json. An addition that fails spoils it, and the
 * end reports that once. Text from outside (paths, names, sources) may be no UTF-8: such bytes become '?',
 * since what the rest says matters more than its spelling. */
#ifndef KF_REPORT_ROW_H
#define KF_REPORT_ROW_H

#include "base/json.h"

typedef struct {
  json_t *object;
  bool failed;
} kf_row;

void kf_row_begin(kf_row *row);
void kf_row_begin_with(kf_row *row, json_t *take_object); /* goes on with an object; NULL spoils it */
void kf_row_value(kf_row *row, const char *key, json_t *take_value); /* NULL spoils it */
void kf_row_text(kf_row *row, const char *key, const char *text);
void kf_row_bytes(kf_row *row, const char *key, const char *text, size_t len);
void kf_row_int(kf_row *row, const char *key, int64_t value);
void kf_row_real(kf_row *row, const char *key, double value); /* null unless finite */
void kf_row_bool(kf_row *row, const char *key, bool value);
/* The object, the caller's; NULL when an addition failed for want of memory. */
json_t *kf_row_take(kf_row *row);
kf_status kf_row_finish(kf_row *row, json_t **ret_object, kf_err *err); /* the same with a status */

#endif
