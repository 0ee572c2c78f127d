/* driver_record.c - what a run writes down of itself (docs/formats/run-database.md), and how it is read back.
 * The task goes into the database whole, so that a run needs nothing but its file to be resumed or replayed.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "run/driver_int.h"
#include "wire/proto.h"

#include "base/banned.h"

/* ---- writing START ---- */

static kf_status put_task(kf__driver *driver, json_t **ret_files, kf_hash *ret_hash, kf_err *err) {
  const kf_task *task = driver->task;
  json_t *json KF_CLEANUP(kf_json_freep) = NULL, *files KF_CLEANUP(kf_json_freep) = json_array();
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, KF_WIRE_BLOB_MAX);
  if (!files) return kf_nomem(err);
  KF_TRY(kf_task_to_json(task, &json, err));
  KF_TRY(kf_json_dump(json, &text, err));
  KF_TRY(kf_store_put(driver->store, kf_buf_text(&text), text.len, ret_hash, err));
  for (int i = 0; i < task->nfiles; i++) {
    char hex[KF_HASH_HEX];
    KF_TRY(kf_store_put(driver->store, task->files[i].bytes, task->files[i].len, NULL, err));
    kf_hash_hex(&task->files[i].hash, hex);
    if (json_array_append_new(files, json_string(hex)) != 0) return kf_nomem(err);
  }
  *ret_files = json_incref(files);
  return KF_OK;
}

static json_t *specs_json(const kf__driver *driver) {
  json_t *list = json_array();
  for (int i = 0; list && i < driver->nproposers; i++) {
    if (json_array_append_new(list, json_string(driver->specs[i])) == 0) continue;
    json_decref(list);
    return NULL;
  }
  return list;
}

kf_status kf__record_start(kf__driver *driver, json_t **ret_body, kf_err *err) {
  json_t *body KF_CLEANUP(kf_json_freep) = NULL, *device = NULL, *files = NULL,
               *more KF_CLEANUP(kf_json_freep) = NULL;
  kf_hash hash;
  char hex[KF_HASH_HEX];
  KF_TRY(kf_engine_config_to_json(&driver->config, &body, err));
  KF_TRY(kf_device_to_json(&driver->device, &device, err));
  kf_status status = put_task(driver, &files, &hash, err);
  if (status != KF_OK) {
    json_decref(device);
    return status;
  }
  kf_hash_hex(&hash, hex);
  KF_TRY(kf_json_pack(&more, err, "{s:o,s:o,s:s,s:o,s:s,s:s}", "device", device, "files", files, "task_blob",
                      hex, "proposers", specs_json(driver), "run", driver->run_id, "kf", KF_VERSION));
  if (json_object_update(body, more) != 0) return kf_nomem(err);
  *ret_body = json_incref(body);
  return KF_OK;
}

/* ---- reading it ---- */

static kf_status take_first(void *context, const kf_event *event, kf_err *err) {
  json_t **body = context;
  if (*body) return KF_OK;
  return kf_json_parse(event->body, event->body_len, KF_DRIVER_BODY_MAX, "START", body, err);
}

kf_status kf_run_read_start(kf_store *store, json_t **ret_body, kf_err *err) {
  json_t *body = NULL;
  kf_status status = kf_store_scan(store, 1, 1ull << KF_EVENT_START, take_first, &body, err);
  if (status == KF_OK && body) {
    *ret_body = body;
    return KF_OK;
  }
  json_decref(body);
  KF_TRY(status);
  status = kf_fail(err, KF_EINVAL, "the run never began: its database holds no start");
  return kf_err_hint(err, status, "start it again");
}

typedef struct {
  kf_store *store;
  kf_buf bytes;
  kf_status status;
} blob_reader;

static bool find_blob(void *context, const kf_hash *hash, const char **ret_bytes, size_t *ret_len) {
  blob_reader *reader = context;
  kf_buf_clear(&reader->bytes);
  reader->status = kf_store_get(reader->store, hash, &reader->bytes, NULL);
  if (reader->status != KF_OK) return false;
  *ret_bytes = kf_buf_text(&reader->bytes);
  *ret_len = reader->bytes.len;
  return true;
}

kf_status kf_run_read_task(kf_store *store, const json_t *start, kf_task **ret_task, kf_err *err) {
  const char *hex = NULL;
  kf_hash hash;
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, KF_WIRE_BLOB_MAX);
  KF_TRY(kf_json_str(start, "task_blob", &hex, err));
  KF_TRY(kf_hash_parse(hex, &hash, err));
  KF_TRY(kf_store_get(store, &hash, &text, err));
  json_t *json KF_CLEANUP(kf_json_freep) = NULL;
  KF_TRY(kf_json_parse(kf_buf_text(&text), text.len, KF_WIRE_BLOB_MAX, "the run's task", &json, err));
  blob_reader reader = {.store = store};
  kf_buf_init(&reader.bytes, KF_WIRE_BLOB_MAX);
  kf_status status = kf_task_from_json(json, find_blob, &reader, ret_task, err);
  kf_buf_done(&reader.bytes);
  return status;
}

kf_status kf_run_read_id(const json_t *start, char ret_id[KF_RUN_ID_MAX], kf_err *err) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  const char *id = NULL;
  KF_TRY(kf_json_str(start, "run", &id, err));
  size_t len = strlen(id);
  if (len == 0 || len > KF_RUN_ID_CHARS || strspn(id, allowed) != len)
    return kf_fail(err, KF_EPROTO, "START: \"run\" is no run id");
  memcpy(ret_id, id, len + 1);
  return KF_OK;
}

static kf_status put_quoted(const char *text, kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_puts(buf, "'", err));
  for (const char *at = text; *at;) {
    size_t len = strcspn(at, "'");
    size_t start = buf->len;
    KF_TRY(kf_buf_append(buf, at, len, err));
    if (len > 0) kf_text_clean(buf->data + start, len);
    at += len;
    if (*at != '\'') break;
    KF_TRY(kf_buf_puts(buf, "'\\''", err));
    at++;
  }
  return kf_buf_puts(buf, "'", err);
}

kf_status kf_run_proposer_options(const char *const *specs, int count, kf_buf *buf, kf_err *err) {
  for (int i = 0; i < count; i++) {
    bool plain = specs[i][0] && specs[i][strspn(specs[i], "abcdefghijklmnopqrstuvwxyz")] == '\0';
    KF_TRY(kf_buf_puts(buf, " --proposer ", err));
    KF_TRY(plain ? kf_buf_puts(buf, specs[i], err) : put_quoted(specs[i], buf, err));
  }
  return KF_OK;
}

static kf_status refuse_specs(const kf__driver *driver, kf_err *err) {
  kf_buf options KF_CLEANUP(kf_buf_done);
  kf_buf_init(&options, KF_ERR_HINT_MAX - 64);
  kf_status status =
      kf_fail(err, KF_EINVAL, "the run was begun with proposers that a database may not start");
  /* A command that is cut off would be another one. */
  if (kf_run_proposer_options((const char *const *)driver->specs, driver->nproposers, &options, NULL) !=
      KF_OK)
    return kf_err_hint(err, status, "give them again with --proposer; `kf show` lists them");
  return kf_err_hint(err, status, "if you trust them, give them again:%s", kf_buf_text(&options));
}

/* Only what was given on the command line is opened: a database may come from anywhere, and a spec may start
 * a program or write files. `builtin` does neither. */
static kf_status read_specs(kf__driver *driver, const json_t *start, kf_err *err) {
  json_t *list = NULL, *item = NULL;
  size_t index = 0;
  bool harmless = true;
  if (driver->nproposers > 0) return KF_OK; /* given anew */
  KF_TRY(kf_json_arr(start, "proposers", &list, err));
  json_array_foreach(list, index, item) {
    if (!json_is_string(item) || driver->nproposers == KF_RUN_PROPOSERS_MAX)
      return kf_fail(err, KF_EPROTO, "START: \"proposers\" must be a few texts");
    char *spec = kf_strdup(json_string_value(item));
    if (!spec) return kf_nomem(err);
    driver->specs[driver->nproposers++] = spec;
    if (strcmp(spec, "builtin") != 0) harmless = false;
  }
  return harmless ? KF_OK : refuse_specs(driver, err);
}

kf_status kf__record_read(kf__driver *driver, kf_err *err) {
  json_t *start KF_CLEANUP(kf_json_freep) = NULL, *device = NULL;
  KF_TRY(kf_run_read_start(driver->store, &start, err));
  KF_TRY(kf_run_read_task(driver->store, start, &driver->task, err));
  driver->config.task = driver->task;
  KF_TRY(kf_engine_config_from_json(start, &driver->config, err));
  KF_TRY(kf_json_obj(start, "device", &device, err));
  KF_TRY(kf_device_from_json(device, &driver->device, err));
  KF_TRY(kf_run_read_id(start, driver->run_id, err));
  return read_specs(driver, start, err);
}

static kf_status fold_one(void *context, const kf_event *event, kf_err *err) {
  return kf_engine_fold(context, event, err);
}

kf_status kf__record_fold(kf__driver *driver, kf_err *err) {
  return kf_store_scan(driver->store, 1, KF_ENGINE_FOLD_KINDS, fold_one, driver->engine, err);
}

/* ---- single events ---- */

static kf_status read_proposal(void *context, const kf_event *event, kf_err *err) {
  kf__proposal *proposal = context;
  if (event->kind != KF_EVENT_PROPOSE) return KF_OK;
  json_t *body KF_CLEANUP(kf_json_freep) = NULL;
  const char *emitter = NULL;
  KF_TRY(kf_json_parse(event->body, event->body_len, KF_DRIVER_BODY_MAX, "proposal", &body, err));
  KF_TRY(kf_json_str(body, "emitter", &emitter, err));
  KF_TRY(kf_json_int(body, "id", &proposal->id, err));
  if (!kf_emitter_parse(emitter, &proposal->emitter))
    return kf_fail(err, KF_EPROTO, "proposal: \"%s\" is no emitter", emitter);
  proposal->parent = kf_json_int_or(body, "parent", 0);
  snprintf(proposal->file, sizeof proposal->file, "%s", kf_json_str_or(body, "file", ""));
  snprintf(proposal->target, sizeof proposal->target, "%s", kf_json_str_or(body, "target", ""));
  size_t index = 0;
  json_t *item = NULL;
  proposal->nshown = 0;
  json_array_foreach(json_object_get(body, "shown"), index, item) {
    if (proposal->nshown < KF_DRIVER_SHOWN_MAX)
      proposal->shown[proposal->nshown++] = json_integer_value(item);
  }
  return KF_OK;
}

kf_status kf__record_proposal(kf__driver *driver, int64_t id, kf__proposal *ret_proposal, kf_err *err) {
  kf__proposal proposal = {0};
  KF_TRY(kf_store_scan_proposal(driver->store, id, read_proposal, &proposal, err));
  if (proposal.id != id) return kf_fail(err, KF_EBUG, "proposal %lld is not in the log", (long long)id);
  *ret_proposal = proposal;
  return KF_OK;
}

static kf_status keep_verdict(void *context, const kf_event *event, kf_err *err) {
  kf_buf *last = context;
  if (event->kind != KF_EVENT_VERDICT) return KF_OK;
  kf_buf_clear(last);
  return kf_buf_append(last, event->body, event->body_len, err);
}

kf_status kf__record_verdict(kf__driver *driver, int64_t id, kf_verdict *ret_verdict, bool *ret_found,
                             kf_err *err) {
  kf_buf last KF_CLEANUP(kf_buf_done);
  kf_buf_init(&last, KF_DRIVER_BODY_MAX);
  KF_TRY(kf_store_scan_proposal(driver->store, id, keep_verdict, &last, err));
  *ret_found = last.len > 0;
  if (!*ret_found) return KF_OK;
  json_t *body KF_CLEANUP(kf_json_freep) = NULL, *verdict = NULL;
  KF_TRY(kf_json_parse(kf_buf_text(&last), last.len, KF_DRIVER_BODY_MAX, "verdict", &body, err));
  KF_TRY(kf_json_obj(body, "verdict", &verdict, err));
  return kf_verdict_from_json(verdict, ret_verdict, err);
}
