/* json.h - reading and writing JSON through jansson, with limits for hostile input.
 * Values are jansson's `json_t`; ownership is jansson's (new references are owned, getters borrow). */
#ifndef KF_BASE_JSON_H
#define KF_BASE_JSON_H

#include "base/buf.h"
#include <jansson.h>
#include <stdint.h>

enum { KF_JSON_DEPTH_MAX = 64 };

/* Parses exactly one value. Refuses: more than `max_len` bytes, depth over KF_JSON_DEPTH_MAX, duplicate keys,
 * NUL in strings, trailing bytes. `what` names the text in messages. *ret_value is owned by the caller
 * (json_decref). */
kf_status kf_json_parse(const char *text, size_t len, size_t max_len, const char *what, json_t **ret_value,
                        kf_err *err);
/* Appends the compact form: keys sorted, no spaces, ASCII-safe; equal values give equal bytes. */
kf_status kf_json_dump(const json_t *value, kf_buf *buf, kf_err *err);
void kf_json_freep(json_t **value); /* for KF_CLEANUP */

/* Getters for objects from outside: KF_EPROTO with the key's name when missing or of another type.
 * Strings are borrowed from the object. */
kf_status kf_json_str(const json_t *object, const char *key, const char **ret_text, kf_err *err);
kf_status kf_json_int(const json_t *object, const char *key, int64_t *ret_value, kf_err *err);
kf_status kf_json_real(const json_t *object, const char *key, double *ret_value,
                       kf_err *err); /* int or real */
kf_status kf_json_bool(const json_t *object, const char *key, bool *ret_value, kf_err *err);
kf_status kf_json_obj(const json_t *object, const char *key, json_t **ret_object, kf_err *err);
kf_status kf_json_arr(const json_t *object, const char *key, json_t **ret_array, kf_err *err);
/* Optional ones: the default when the key is missing, null or of another type. */
const char *kf_json_str_or(const json_t *object, const char *key, const char *fallback);
int64_t kf_json_int_or(const json_t *object, const char *key, int64_t fallback);
double kf_json_real_or(const json_t *object, const char *key, double fallback);
bool kf_json_bool_or(const json_t *object, const char *key, bool fallback);

/* A string value of at most `max` bytes of `text`; bytes that are no UTF-8 become U+FFFD. NULL: no memory. */
json_t *kf_json_text(const char *text, size_t max);

/* json_pack with the memory failure turned into a status; NULL values are refused, not dropped. */
kf_status kf_json_pack(json_t **ret_value, kf_err *err, const char *fmt, ...);

#endif
