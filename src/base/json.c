/* json.c - jansson behind limits. The nesting is counted before jansson's recursive reader sees the text, and
 * memory failures inside jansson are never mistaken for a result (json_alloc.h). */
#include "base/json.h"

#include "base/alloc.h"
#include "base/json_alloc.h"
#include <string.h>

#include "base/banned.h"

typedef struct {
  unsigned depth; /* deepest nesting */
  size_t longest; /* bytes of the longest token */
} text_shape;

/* Nesting and token length, without judging the syntax: where this scan and jansson's lexer differ, jansson
 * has already met a syntax error. Stops once the depth is over the limit. */
static text_shape scan_shape(const char *text, size_t len) {
  text_shape shape = {0};
  unsigned depth = 0;
  size_t start = 0; /* of the current token */
  bool in_string = false;
  for (size_t i = 0; i < len && shape.depth <= KF_JSON_DEPTH_MAX; i++) {
    size_t token_len = i + 1 - start;
    if (token_len > shape.longest) shape.longest = token_len;
    char c = text[i];
    if (in_string && c == '\\') {
      i++;
    } else if (in_string && c != '"') {
      continue;
    } else if (c == '"') {
      in_string = !in_string;
      start = in_string ? i : i + 1;
    } else if (strchr("[]{},: \t\r\n", c) != NULL) {
      if ((c == '[' || c == '{') && ++depth > shape.depth) shape.depth = depth;
      if ((c == ']' || c == '}') && depth > 0) depth--;
      start = i + 1;
    }
  }
  return shape;
}

typedef struct {
  const char *next, *end;
  unsigned long failures_before;
} feed;

/* One byte a call: after a failed allocation the text must end before jansson's token buffer grows again. */
static size_t feed_byte(void *buffer, size_t room, void *arg) {
  feed *f = arg;
  if (room == 0 || f->next == f->end || kf__json_failures() != f->failures_before) return 0;
  *(char *)buffer = *f->next++;
  return 1;
}

static kf_status parse_failure(const json_error_t *error, const char *what, kf_err *err) {
  if (json_error_code(error) == json_error_out_of_memory) return kf_nomem(err);
  return kf_fail(err, KF_EINVAL, "%s: line %d, column %d: %s", what, error->line, error->column, error->text);
}

kf_status kf_json_parse(const char *text, size_t len, size_t max_len, const char *what, json_t **ret_value,
                        kf_err *err) {
  if (len > max_len)
    return kf_fail(err, KF_EINVAL, "%s: %zu bytes of JSON are over the limit of %zu", what, len, max_len);
  text_shape shape = scan_shape(text, len);
  if (shape.depth > KF_JSON_DEPTH_MAX)
    return kf_fail(err, KF_EINVAL, "%s: nested deeper than %d levels", what, KF_JSON_DEPTH_MAX);

  /* The token buffer at least doubles from what it holds, and holds a token and one character read ahead. */
  size_t reserve_size = 2 * (shape.longest + 8) + 256;
  void *reserve = kf_alloc(reserve_size);
  if (reserve == NULL) return kf_nomem(err);
  feed f = {text, text + len, kf__json_failures()};
  kf__json_reserve_begin(reserve, reserve_size);
  json_error_t error = {0};
  json_t *value = json_load_callback(feed_byte, &f, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  bool starved = kf__json_failures() != f.failures_before;
  if (starved) {
    json_decref(value); /* before the reserve goes: a part of it may lie there */
    value = NULL;
  }
  kf__json_reserve_end();
  kf_free(reserve);
  if (starved) return kf_nomem(err);
  if (value == NULL) return parse_failure(&error, what, err);
  *ret_value = value;
  return KF_OK;
}

typedef struct {
  kf_buf *buf;
  kf_err *err;
  kf_status status;
} dump_target;

static int dump_piece(const char *bytes, size_t len, void *arg) {
  dump_target *target = arg;
  if (target->status != KF_OK) return -1; /* jansson goes on after a failed object key */
  target->status = kf_buf_append(target->buf, bytes, len, target->err);
  return target->status == KF_OK ? 0 : -1;
}

kf_status kf_json_dump(const json_t *value, kf_buf *buf, kf_err *err) {
  size_t len_before = buf->len;
  unsigned long failures_before = kf__json_failures();
  dump_target target = {buf, err, KF_OK};
  const size_t flags = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ENCODE_ANY;
  int dumped = json_dump_callback(value, dump_piece, &target, flags);
  if (dumped == 0 && target.status == KF_OK) return KF_OK;
  buf->len = len_before;
  if (buf->data != NULL) buf->data[len_before] = '\0';
  if (target.status != KF_OK) return target.status;
  if (kf__json_failures() != failures_before) return kf_nomem(err);
  return kf_fail(err, KF_EBUG, "JSON value is missing or contains itself");
}

void kf_json_freep(json_t **value) {
  json_decref(*value);
  *value = NULL;
}

/* The value of `key`, which must satisfy the jansson type in `type` (JSON_REAL: any number, JSON_TRUE: either
 * boolean). */
static bool has_type(const json_t *value, json_type type) {
  if (type == JSON_REAL) return json_is_number(value);
  if (type == JSON_TRUE) return json_is_boolean(value);
  return value != NULL && json_typeof(value) == type;
}

static kf_status get(const json_t *object, const char *key, json_type type, const char *type_name,
                     json_t **ret_value, kf_err *err) {
  if (!json_is_object(object)) return kf_fail(err, KF_EPROTO, "\"%s\": looked for outside of an object", key);
  json_t *value = json_object_get(object, key);
  if (value == NULL) return kf_fail(err, KF_EPROTO, "\"%s\": missing", key);
  if (!has_type(value, type)) return kf_fail(err, KF_EPROTO, "\"%s\": not %s", key, type_name);
  *ret_value = value;
  return KF_OK;
}

kf_status kf_json_str(const json_t *object, const char *key, const char **ret_text, kf_err *err) {
  json_t *value = NULL;
  KF_TRY(get(object, key, JSON_STRING, "a string", &value, err));
  *ret_text = json_string_value(value);
  return KF_OK;
}

kf_status kf_json_int(const json_t *object, const char *key, int64_t *ret_value, kf_err *err) {
  json_t *value = NULL;
  KF_TRY(get(object, key, JSON_INTEGER, "a whole number", &value, err));
  *ret_value = json_integer_value(value);
  return KF_OK;
}

kf_status kf_json_real(const json_t *object, const char *key, double *ret_value, kf_err *err) {
  json_t *value = NULL;
  KF_TRY(get(object, key, JSON_REAL, "a number", &value, err));
  *ret_value = json_number_value(value);
  return KF_OK;
}

kf_status kf_json_bool(const json_t *object, const char *key, bool *ret_value, kf_err *err) {
  json_t *value = NULL;
  KF_TRY(get(object, key, JSON_TRUE, "true or false", &value, err));
  *ret_value = json_is_true(value);
  return KF_OK;
}

kf_status kf_json_obj(const json_t *object, const char *key, json_t **ret_object, kf_err *err) {
  return get(object, key, JSON_OBJECT, "an object", ret_object, err);
}

kf_status kf_json_arr(const json_t *object, const char *key, json_t **ret_array, kf_err *err) {
  return get(object, key, JSON_ARRAY, "an array", ret_array, err);
}

const char *kf_json_str_or(const json_t *object, const char *key, const char *fallback) {
  const json_t *value = json_object_get(object, key);
  return json_is_string(value) ? json_string_value(value) : fallback;
}

int64_t kf_json_int_or(const json_t *object, const char *key, int64_t fallback) {
  const json_t *value = json_object_get(object, key);
  return json_is_integer(value) ? json_integer_value(value) : fallback;
}

double kf_json_real_or(const json_t *object, const char *key, double fallback) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : fallback;
}

bool kf_json_bool_or(const json_t *object, const char *key, bool fallback) {
  const json_t *value = json_object_get(object, key);
  return json_is_boolean(value) ? json_is_true(value) : fallback;
}

kf_status kf_json_pack(json_t **ret_value, kf_err *err, const char *fmt, ...) {
  unsigned long failures_before = kf__json_failures();
  json_error_t error = {0};
  va_list args;
  va_start(args, fmt);
  json_t *value = json_vpack_ex(&error, 0, fmt, args);
  va_end(args);
  if (kf__json_failures() != failures_before) {
    json_decref(value);
    return kf_nomem(err);
  }
  if (value != NULL) {
    *ret_value = value;
    return KF_OK;
  }
  switch (json_error_code(&error)) {
  case json_error_out_of_memory:
    return kf_nomem(err);
  case json_error_invalid_utf8:
    return kf_fail(err, KF_EINVAL, "text for JSON is not valid UTF-8");
  default:
    return kf_fail(err, KF_EBUG, "JSON could not be packed by \"%s\": %s", fmt, error.text);
  }
}
