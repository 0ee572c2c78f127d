/* inputs.c - tasks and kernels from the command line. */
#include "cli/inputs.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"
#include <string.h>

#include "base/banned.h"

kf_status kf_input_judged(const kf_task *task, kf_err *err) {
  if (kf_task_has_language(task, KF_LANG_OPENCL) || kf_task_has_language(task, KF_LANG_C)) return KF_OK;
  return kf_fail(err, KF_EREFUSED, "task %s: its language is %s: opencl and c are what this version judges",
                 task->name, kf_language_name(task->languages[0]));
}

kf_status kf_input_task(const char *path, kf_task **ret_task, kf_err *err) {
  kf_status status = kf_task_load(path, ret_task, err);
  if (status != KF_ENOTFOUND || (err != NULL && err->hint[0] != '\0')) return status;
  return kf_err_hint(err, status, "a task is a folder with a task.yaml; `kf init` makes one from a kernel");
}

void kf_input_task_free(kf_task **task) {
  if (*task != NULL) kf_task_free(*task);
}

kf_status kf_input_kernel(const char *path, kf_buf *buf, kf_err *err) {
  if (kf_fs_is_dir(path))
    return kf_fail(err, KF_EINVAL, "%s: a kernel file expected, this is a folder", path);
  return kf_fs_read(path, buf, err);
}

kf_status kf_input_own_kernel(const kf_task *task, kf_language language, const kf_task_file **ret_file,
                              kf_err *err) {
  if (task->kernel[language] == NULL)
    return kf_err_hint(err,
                       kf_fail(err, KF_EREFUSED, "task %s: it has no initial kernel in %s", task->name,
                               kf_language_name(language)),
                       "name a kernel file on the command line, or give the task a `kernel:`");
  *ret_file = task->kernel[language];
  return KF_OK;
}

kf_status kf_input_run(const kf_cli *cli, const char *name, kf_run_entry *ret_run, kf_err *err) {
  kf_status status = kf_runs_find(cli->common.runs, name != NULL ? name : "last", ret_run, err);
  if (status != KF_ENOTFOUND || (err != NULL && err->hint[0] != '\0')) return status;
  return kf_err_hint(err, status, "`kf list` shows the runs below %s; --runs names another folder",
                     cli->common.runs);
}

kf_status kf_input_report(const kf_cli *cli, const char *name, kf_report **ret_report, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_run_entry *run = kf_alloc(sizeof *run);
  if (run == NULL) return kf_nomem(err);
  KF_TRY(kf_input_run(cli, name, run, err));
  return kf_report_open(run->path, ret_report, err);
}

kf_status kf_input_candidate(const kf_report *report, const char *text, int64_t *ret_id, kf_err *err) {
  if (text == NULL) return kf_report_best(report, ret_id, err);
  int64_t id = 0;
  kf_candidate candidate;
  KF_TRY(kf_text_int(text, 1, INT64_MAX, "candidate", &id, err));
  KF_TRY(kf_report_candidate(report, id, &candidate, err));
  *ret_id = id;
  return KF_OK;
}
