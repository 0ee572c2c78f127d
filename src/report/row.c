/* row.c - JSON objects, key by key. */
#include "report/row.h"

#include "base/alloc.h"
#include <math.h>
#include <string.h>

#include "base/banned.h"

void kf_row_begin(kf_row *row) {
  kf_row_begin_with(row, json_object());
}

void kf_row_begin_with(kf_row *row, json_t *take_object) {
  *row = (kf_row){.object = take_object, .failed = take_object == NULL};
}

void kf_row_value(kf_row *row, const char *key, json_t *take_value) {
  if (row->failed)
    json_decref(take_value);
  else if (take_value == NULL || json_object_set_new(row->object, key, take_value) != 0)
    row->failed = true;
}

static json_t *repaired(const char *text, size_t len) {
  char *copy = kf_memdup(text, len);
  if (copy == NULL) return NULL;
  for (size_t i = 0; i < len; i++)
    if ((unsigned char)copy[i] >= 0x80) copy[i] = '?';
  json_t *value = json_stringn(copy, len);
  kf_free(copy);
  return value;
}

void kf_row_bytes(kf_row *row, const char *key, const char *text, size_t len) {
  json_t *value = json_stringn(text, len);
  kf_row_value(row, key, value != NULL ? value : repaired(text, len));
}

void kf_row_text(kf_row *row, const char *key, const char *text) {
  kf_row_bytes(row, key, text, strlen(text));
}

void kf_row_int(kf_row *row, const char *key, int64_t value) {
  kf_row_value(row, key, json_integer(value));
}

void kf_row_real(kf_row *row, const char *key, double value) {
  kf_row_value(row, key, isfinite(value) ? json_real(value) : json_null());
}

void kf_row_bool(kf_row *row, const char *key, bool value) {
  kf_row_value(row, key, json_boolean(value));
}

json_t *kf_row_take(kf_row *row) {
  json_t *object = row->object;
  row->object = NULL;
  if (!row->failed) return object;
  json_decref(object);
  return NULL;
}

kf_status kf_row_finish(kf_row *row, json_t **ret_object, kf_err *err) {
  json_t *object = kf_row_take(row);
  if (object == NULL) return kf_nomem(err);
  *ret_object = object;
  return KF_OK;
}
