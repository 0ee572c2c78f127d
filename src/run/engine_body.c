/* engine_body.c - event bodies: compact JSON objects with sorted keys (docs/formats/run-database.md). */
#include "run/engine_int.h"

#include "base/alloc.h"
#include <string.h>

#include "base/banned.h"

void kf__body_begin(kf_body *body) {
  *body = (kf_body){.object = json_object()};
  body->failed = body->object == NULL;
}

void kf__body_value(kf_body *body, const char *key, json_t *take_value) {
  if (body->failed)
    json_decref(take_value);
  else if (json_object_set_new_nocheck(body->object, key, take_value) != 0)
    body->failed = true;
}

void kf__body_int(kf_body *body, const char *key, int64_t value) {
  kf__body_value(body, key, json_integer(value));
}

void kf__body_bool(kf_body *body, const char *key, bool value) {
  kf__body_value(body, key, json_boolean(value));
}

/* Text that was cut inside a UTF-8 sequence is kept with its other bytes: what it says matters more than its
 * spelling. */
static json_t *repaired(const char *text) {
  char *copy = kf_strdup(text);
  if (copy == NULL) return NULL;
  for (char *c = copy; *c != '\0'; c++)
    if ((unsigned char)*c >= 0x80) *c = '?';
  json_t *value = json_string(copy);
  kf_free(copy);
  return value;
}

void kf__body_text(kf_body *body, const char *key, const char *text) {
  json_t *value = json_string(text);
  kf__body_value(body, key, value != NULL ? value : repaired(text));
}

void kf__body_cell(kf_body *body, const char *key, const kf_cell *cell) {
  char text[KF_CELL_TEXT];
  kf_cell_text(cell, text);
  kf__body_text(body, key, text);
}

kf_status kf__body_finish(kf_body *body, json_t **ret_object, kf_err *err) {
  if (body->failed) {
    json_decref(body->object);
    body->object = NULL;
    return kf_nomem(err);
  }
  *ret_object = body->object;
  return KF_OK;
}

kf_status kf__body_range(const json_t *body, const char *key, int64_t min, int64_t max, int64_t *ret_value,
                         kf_err *err) {
  int64_t value = 0;
  KF_TRY(kf_json_int(body, key, &value, err));
  if (value < min || value > max)
    return kf_fail(err, KF_EPROTO, "\"%s\": %lld cannot be", key, (long long)value);
  *ret_value = value;
  return KF_OK;
}

kf_status kf__body_get_cell(const json_t *body, const char *key, kf_cell *ret_cell, kf_err *err) {
  const char *text = NULL;
  KF_TRY(kf_json_str(body, key, &text, err));
  if (!kf_cell_parse(text, ret_cell)) return kf_fail(err, KF_EPROTO, "\"%s\": \"%s\" is no cell", key, text);
  return KF_OK;
}

/* ---- the engine's part of START ---- */

kf_status kf_engine_config_to_json(const kf_engine_config *config, json_t **ret_body, kf_err *err) {
  json_t *settings = NULL;
  KF_TRY(kf_settings_to_json(&config->settings, &settings, err));
  char id[KF_HASH_HEX];
  kf_hash_hex(&config->task->id, id);
  kf_body body;
  kf__body_begin(&body);
  kf__body_int(&body, "engine", KF_ENGINE_VERSION);
  kf__body_int(&body, "evals_max", config->evals_max);
  kf__body_int(&body, "in_flight", config->in_flight);
  kf__body_text(&body, "language", kf_language_name(config->language));
  kf__body_int(&body, "seed", (int64_t)config->seed);
  kf__body_value(&body, "settings", settings);
  kf__body_text(&body, "task", id);
  kf__body_bool(&body, "text_proposer", config->text_proposer);
  kf__body_int(&body, "time_max_ms", config->time_max_ms);
  return kf__body_finish(&body, ret_body, err);
}

static kf_status check_recorded(const json_t *body, const kf_task *task, kf_err *err) {
  int64_t version = 0;
  const char *id = NULL;
  char hex[KF_HASH_HEX];
  KF_TRY(kf_json_int(body, "engine", &version, err));
  KF_TRY(kf_json_str(body, "task", &id, err));
  if (version != KF_ENGINE_VERSION) {
    kf_fail(err, KF_EINVAL, "the run was made by engine version %lld, this is version %d", (long long)version,
            (int)KF_ENGINE_VERSION);
    return kf_err_hint(err, KF_EINVAL,
                       "use the kf that made the run; decisions are the same within a version only");
  }
  kf_hash_hex(&task->id, hex);
  if (strcmp(hex, id) != 0)
    return kf_fail(err, KF_EINVAL, "the run was made for task %.12s, this is task %.12s", id, hex);
  return KF_OK;
}

kf_status kf_engine_config_from_json(const json_t *body, kf_engine_config *config, kf_err *err) {
  KF_TRY(check_recorded(body, config->task, err));
  kf_engine_config read = {.task = config->task};
  json_t *settings = NULL;
  const char *language = NULL;
  int64_t seed = 0, in_flight = 0;
  kf_settings_init(&read.settings);
  KF_TRY(kf_json_obj(body, "settings", &settings, err));
  KF_TRY(kf_settings_from_json(&read.settings, settings, err));
  KF_TRY(kf_json_str(body, "language", &language, err));
  if (!kf_language_parse(language, &read.language))
    return kf_fail(err, KF_EPROTO, "\"language\": \"%s\" is no language", language);
  KF_TRY(kf_json_int(body, "seed", &seed, err));
  KF_TRY(kf__body_range(body, "in_flight", 1, 1 << 20, &in_flight, err));
  KF_TRY(kf__body_range(body, "evals_max", 0, INT64_MAX, &read.evals_max, err));
  KF_TRY(kf__body_range(body, "time_max_ms", 0, INT64_MAX, &read.time_max_ms, err));
  KF_TRY(kf_json_bool(body, "text_proposer", &read.text_proposer, err));
  read.seed = (uint64_t)seed;
  read.in_flight = (int)in_flight;
  *config = read;
  return KF_OK;
}
