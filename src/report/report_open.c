/* report_open.c - opens a run for reading and folds what was decided. */
#include "report/report_int.h"

#include <string.h>

#include "base/banned.h"

static kf_status parse_body(const kf_event *event, json_t **ret_body, kf_err *err) {
  kf_status status = kf_json_parse(event->body, event->body_len, KF_REPORT_BODY_MAX,
                                   kf_event_name(event->kind), ret_body, err);
  return status == KF_OK ? KF_OK : kf_err_context(err, status, "event %lld", (long long)event->seq);
}

static kf_status on_start(void *context, const kf_event *event, kf_err *err) {
  kf_report *report = context;
  if (report->start != NULL)
    return kf_fail(err, KF_EPROTO, "event %lld: a second start", (long long)event->seq);
  return parse_body(event, &report->start, err);
}

static kf_status on_event(void *context, const kf_event *event, kf_err *err) {
  kf_report *report = context;
  if (event->at_ms > report->last_ms) report->last_ms = event->at_ms;
  return kf_engine_fold(report->engine, event, err);
}

/* The package as it was when the run began: START names its canonical JSON, and each file of it is stored
 * beside it. */
typedef struct {
  kf_store *store;
  kf_buf bytes;
} blob_source;

static bool find_blob(void *context, const kf_hash *hash, const char **ret_bytes, size_t *ret_len) {
  blob_source *source = context;
  kf_buf_clear(&source->bytes);
  if (kf_store_get(source->store, hash, &source->bytes, NULL) != KF_OK) return false;
  *ret_bytes = kf_buf_text(&source->bytes);
  *ret_len = source->bytes.len;
  return true;
}

static kf_status load_task(kf_report *report, kf_err *err) {
  const char *hex = NULL;
  kf_hash id;
  KF_CLEANUP(kf_buf_done) kf_buf text;
  KF_CLEANUP(kf_json_freep) json_t *json = NULL;
  kf_buf_init(&text, KF_REPORT_BODY_MAX);
  KF_TRY(kf_json_str(report->start, "task_blob", &hex, err));
  KF_TRY(kf_hash_parse(hex, &id, err));
  KF_TRY(kf_store_get(report->store, &id, &text, err));
  KF_TRY(kf_json_parse(kf_buf_text(&text), text.len, KF_REPORT_BODY_MAX, "task", &json, err));
  blob_source source = {.store = report->store};
  kf_buf_init(&source.bytes, KF_REPORT_SOURCE_MAX);
  kf_status status = kf_task_from_json(json, find_blob, &source, &report->task, err);
  kf_buf_done(&source.bytes);
  return status;
}

static kf_status open_engine(kf_report *report, kf_err *err) {
  KF_TRY(kf_store_scan(report->store, 1, 1ull << KF_EVENT_START, on_start, report, err));
  if (report->start == NULL) return kf_fail(err, KF_EINVAL, "the run was never started");
  snprintf(report->run_id, sizeof report->run_id, "%s", kf_json_str_or(report->start, "run", "unnamed"));
  KF_TRY(load_task(report, err));
  report->config.task = report->task;
  KF_TRY(kf_engine_config_from_json(report->start, &report->config, err));
  KF_TRY(kf_engine_new(&report->config, &report->engine, err));
  return kf_store_scan(report->store, 1, KF_ENGINE_FOLD_KINDS, on_event, report, err);
}

kf_status kf_report_open(const char *path, kf_report **ret_report, kf_err *err) {
  kf_report *report = kf_calloc(1, sizeof *report);
  if (report == NULL) return kf_nomem(err);
  kf_status status = kf_store_open(path, KF_STORE_READ, &report->store, err);
  if (status == KF_OK) {
    status = open_engine(report, err);
    if (status != KF_OK) kf_err_context(err, status, "%s", path);
  }
  if (status != KF_OK) {
    kf_report_free(report);
    return status;
  }
  *ret_report = report;
  return KF_OK;
}

void kf_report_free(kf_report *report) {
  if (report == NULL) return;
  if (report->engine != NULL) kf_engine_free(report->engine);
  if (report->task != NULL) kf_task_free(report->task);
  if (report->store != NULL) kf_store_close(report->store);
  json_decref(report->start);
  kf_free(report);
}

void kf_report_freep(kf_report **report) {
  kf_report_free(*report);
}

const kf_task *kf_report_task(const kf_report *report) {
  return report->task;
}

kf_language kf_report_language(const kf_report *report) {
  return report->config.language;
}

const kf_engine *kf_report_engine(const kf_report *report) {
  return report->engine;
}

const char *kf_report_device(const kf_report *report) {
  return kf_json_str_or(json_object_get(report->start, "device"), "id", "");
}

kf_status kf__report_proposers(const kf_report *report, kf_buf *buf, kf_err *err) {
  size_t index = 0;
  json_t *item = NULL;
  json_array_foreach(json_object_get(report->start, "proposers"), index, item) {
    const char *text = json_string_value(item);
    KF_TRY(kf_buf_printf(buf, err, "%s%s", index > 0 ? ", " : "", text != NULL ? text : ""));
  }
  return KF_OK;
}

const char *kf_report_run_id(const kf_report *report) {
  return report->run_id;
}
