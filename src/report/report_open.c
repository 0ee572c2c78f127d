/* report_open.c - opens a run for reading and folds what was decided. */
#include "report/report_int.h"

#include "base/text.h"
#include <string.h>

#include "base/banned.h"

static kf_status on_event(void *context, const kf_event *event, kf_err *err) {
  kf_report *report = context;
  if (event->at_ms > report->last_ms) report->last_ms = event->at_ms;
  return kf_engine_fold(report->engine, event, err);
}

static kf_status open_engine(kf_report *report, kf_err *err) {
  KF_TRY(kf_run_read_start(report->store, &report->start, err));
  KF_TRY(kf_run_read_id(report->start, report->run_id, err));
  KF_TRY(kf_run_read_task(report->store, report->start, &report->task, err));
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
  kf_language language = report->task->languages[0];
  kf_language_parse(kf_json_str_or(report->start, "language", ""), &language);
  return language;
}

const char *kf_report_device(const kf_report *report) {
  return kf_json_str_or(json_object_get(report->start, "device"), "id", "");
}

kf_status kf__report_proposers(const kf_report *report, kf_buf *buf, kf_err *err) {
  size_t index = 0;
  json_t *item = NULL;
  json_array_foreach(json_object_get(report->start, "proposers"), index, item) {
    const char *text = json_string_value(item);
    size_t start = buf->len;
    KF_TRY(kf_buf_printf(buf, err, "%s%s", index > 0 ? ", " : "", text != NULL ? text : ""));
    if (buf->len > start) kf_text_clean(buf->data + start, buf->len - start);
  }
  return KF_OK;
}

const char *kf_report_run_id(const kf_report *report) {
  return report->run_id;
}
