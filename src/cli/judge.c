/* judge.c - a loop, an evaluator and one request at a time. */
#include "cli/judge.h"

#include "base/alloc.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

struct kf_judge {
  uv_loop_t loop;
  uv_signal_t on_interrupt, on_terminate;
  kf_evaluator *evaluator;
  int64_t last_id;
  bool waiting, interrupted, progress_shown;
  kf_status status; /* of the request that was waited for */
  kf_err error;
  kf_verdict *verdict;
  json_t *admission; /* of the last request that asked for one */
};

/* A line that is written over while stderr is a terminal; nothing else is said while waiting. */
static void show_progress(kf_judge *judge, const char *what) {
  if (isatty(STDERR_FILENO) == 0) return;
  fprintf(stderr, "\r\033[K%.100s", what);
  fflush(stderr);
  judge->progress_shown = true;
}

static void clear_progress(kf_judge *judge) {
  if (!judge->progress_shown) return;
  fprintf(stderr, "\r\033[K");
  fflush(stderr);
  judge->progress_shown = false;
}

static void on_result(void *context, const kf_eval_result *result) {
  kf_judge *judge = context;
  if (result->id != judge->last_id) return;
  judge->waiting = false;
  judge->status = result->status;
  if (result->status == KF_OK && result->admission != NULL)
    judge->admission = json_deep_copy(result->admission);
  else if (result->status == KF_OK)
    *judge->verdict = *result->verdict;
  else if (result->error != NULL)
    judge->error = *result->error;
}

static void on_progress(void *context, int64_t id, const char *what) {
  (void)id;
  show_progress(context, what);
}

static void on_lost(void *context, const kf_err *error) {
  kf_judge *judge = context;
  if (error != NULL) judge->error = *error;
  if (judge->waiting) judge->status = KF_EIO;
  judge->waiting = false;
}

static void on_signal(uv_signal_t *handle, int number) {
  kf_judge *judge = handle->data;
  if (judge->interrupted) {
    signal(number, SIG_DFL);
    raise(number);
  }
  judge->interrupted = true;
  if (judge->waiting)
    (void)kf_evaluator_cancel(judge->evaluator, judge->last_id, NULL); /* its result still comes */
}

static void start_signals(kf_judge *judge) {
  struct {
    uv_signal_t *handle;
    int number;
  } const rows[] = {{&judge->on_interrupt, SIGINT}, {&judge->on_terminate, SIGTERM}};
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    uv_signal_init(&judge->loop, rows[i].handle);
    rows[i].handle->data = judge;
    uv_signal_start(rows[i].handle, on_signal, rows[i].number);
    uv_unref((uv_handle_t *)rows[i].handle);
  }
}

kf_status kf_judge_open(const kf_settings *settings, kf_judge **ret_judge, kf_err *err) {
  kf_judge *judge = kf_calloc(1, sizeof *judge);
  if (judge == NULL) return kf_nomem(err);
  judge->verdict = kf_alloc(sizeof *judge->verdict);
  if (judge->verdict == NULL || uv_loop_init(&judge->loop) != 0) {
    kf_free(judge->verdict);
    kf_free(judge);
    return kf_nomem(err);
  }
  start_signals(judge);
  kf_eval_callbacks callbacks = {on_result, on_progress, on_lost, judge};
  kf_status status = kf_evaluator_open_local(&judge->loop, settings, &callbacks, &judge->evaluator, err);
  if (status != KF_OK) {
    kf_judge_free(judge);
    return status;
  }
  *ret_judge = judge;
  return KF_OK;
}

void kf_judge_free(kf_judge *judge) {
  if (judge == NULL) return;
  clear_progress(judge);
  if (judge->evaluator != NULL) kf_evaluator_close(judge->evaluator);
  uv_close((uv_handle_t *)&judge->on_interrupt, NULL);
  uv_close((uv_handle_t *)&judge->on_terminate, NULL);
  uv_run(&judge->loop, UV_RUN_DEFAULT);
  uv_loop_close(&judge->loop);
  kf_free(judge->verdict);
  kf_free(judge);
}

const kf_evaluator *kf_judge_evaluator(const kf_judge *judge) {
  return judge->evaluator;
}

static kf_status no_such_device(const kf_device_info *devices, int count, const char *wanted, kf_err *err) {
  if (count == 0 || wanted == NULL) {
    kf_fail(err, KF_ENODEV,
            count == 0 ? "there is no device on this machine"
                       : "no device here runs this language; this version judges on CPU devices only");
    return kf_err_hint(err, KF_ENODEV, "`kf doctor` says what is missing and how to get it");
  }
  kf_status status = kf_fail(err, KF_ENODEV, "device \"%.60s\": not on this machine", wanted);
  KF_CLEANUP(kf_buf_done) kf_buf ids;
  kf_buf_init(&ids, KF_ERR_HINT_MAX);
  for (int i = 0; i < count; i++)
    if (kf_buf_printf(&ids, NULL, "%s%s", i > 0 ? ", " : "", devices[i].id) != KF_OK)
      break; /* a hint may be shorter */
  return kf_err_hint(err, status, "there is %s", kf_buf_text(&ids));
}

static kf_status named_device(const kf_device_info *devices, int count, const char *wanted,
                              const kf_task *task, const kf_device_info **ret_device, kf_err *err) {
  for (int i = 0; i < count; i++) {
    if (strcmp(devices[i].id, wanted) != 0) continue;
    *ret_device = &devices[i];
    if (!kf_device_is_judged_on(&devices[i]))
      return kf_err_hint(
          err, kf_fail(err, KF_ENODEV, "device %.60s: this version judges on CPU devices only", wanted),
          "`kf doctor` lists devices and what is missing");
    if (task == NULL || kf_task_has_language(task, kf_device_language(&devices[i]))) return KF_OK;
    return kf_err_hint(err,
                       kf_fail(err, KF_ENODEV, "device %.60s runs %s kernels: task %s has none", wanted,
                               devices[i].api, task->name),
                       "`kf doctor` lists devices; the task's `language:` says what it has");
  }
  return no_such_device(devices, count, wanted, err);
}

static const kf_device_info *device_for(const kf_device_info *devices, int count, kf_language language) {
  for (int i = 0; i < count; i++)
    if (kf_device_is_judged_on(&devices[i]) && kf_device_language(&devices[i]) == language)
      return &devices[i];
  return NULL;
}

kf_status kf_judge_device(const kf_judge *judge, const char *wanted, const kf_task *task, const char *file,
                          const kf_device_info **ret_device, kf_err *err) {
  int count = 0;
  const kf_device_info *devices = kf_evaluator_devices(judge->evaluator, &count), *found = NULL;
  kf_language language = KF_LANG_OPENCL;
  if (wanted != NULL) return named_device(devices, count, wanted, task, ret_device, err);
  bool of_file = file != NULL && kf_language_of_file(file, &language);
  if (task == NULL || (of_file && kf_task_has_language(task, language)))
    found = device_for(devices, count, language);
  for (int i = 0; task != NULL && found == NULL && i < task->nlanguages; i++)
    found = device_for(devices, count, task->languages[i]);
  if (found == NULL) return no_such_device(devices, count, NULL, err);
  *ret_device = found;
  return KF_OK;
}

/* Sends the request and runs the loop until its result is there. */
static kf_status ask(kf_judge *judge, kf_eval_request *request, kf_err *err) {
  if (judge->interrupted) return kf_fail(err, KF_ECANCELED, "interrupted");
  request->id = ++judge->last_id;
  judge->waiting = true;
  judge->error = (kf_err){0};
  kf_status status = kf_evaluator_submit(judge->evaluator, request, err);
  if (status != KF_OK) {
    judge->waiting = false;
    return status;
  }
  while (judge->waiting)
    uv_run(&judge->loop, UV_RUN_ONCE);
  clear_progress(judge);
  if (judge->interrupted) return kf_fail(err, KF_ECANCELED, "interrupted");
  if (judge->status == KF_OK) return KF_OK;
  if (judge->error.msg[0] == '\0') return kf_fail(err, judge->status, "the evaluator gave no answer");
  if (err != NULL) *err = judge->error;
  return judge->status;
}

kf_status kf_judge_ask(kf_judge *judge, kf_eval_request *request, kf_verdict *ret_verdict, kf_err *err) {
  KF_TRY(ask(judge, request, err));
  *ret_verdict = *judge->verdict;
  return KF_OK;
}

kf_status kf_judge_admit(kf_judge *judge, const kf_task *task, const char *device,
                         kf_admission *ret_admission, kf_err *err) {
  kf_eval_request request = {.task = task, .device = device, .admit = true};
  kf_status status = ask(judge, &request, err);
  if (status == KF_OK && judge->admission == NULL) status = kf_nomem(err);
  if (status == KF_OK) status = kf_admission_from_json(judge->admission, ret_admission, err);
  json_decref(judge->admission);
  judge->admission = NULL;
  return status;
}

kf_status kf_judge_inspect(kf_judge *judge, const char *device, const char *source, size_t len,
                           json_t **ret_kernels, kf_err *err) {
  return kf_evaluator_inspect(judge->evaluator, device, source, len, ret_kernels, err);
}
