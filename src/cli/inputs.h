/* inputs.h - what commands read besides options: tasks, kernels, and the run that is meant. */
#ifndef KF_CLI_INPUTS_H
#define KF_CLI_INPUTS_H

#include "cli/cli.h"
#include "report/report.h"
#include "store/store.h"
#include "task/task.h"

enum { KF_SOURCE_MAX = 1 << 20 };

/* Whether the task has a language that this build can judge. KF_EREFUSED names the first it has. */
kf_status kf_input_judged(const kf_task *task, kf_err *err);
/* The task, with a hint when the path is no package. The caller frees it. */
kf_status kf_input_task(const char *path, kf_task **ret_task, kf_err *err);
void kf_input_task_free(kf_task **task); /* for KF_CLEANUP */
/* A kernel file of at most KF_SOURCE_MAX bytes, appended to an initialised buffer. */
kf_status kf_input_kernel(const char *path, kf_buf *buf, kf_err *err);
/* The task's own kernel in a language; KF_EREFUSED if it has none. */
kf_status kf_input_own_kernel(const kf_task *task, kf_language language, const kf_task_file **ret_file,
                              kf_err *err);

/* The run that `name` means (id, unique prefix, path; NULL or "last": the newest). */
kf_status kf_input_run(const kf_cli *cli, const char *name, kf_run_entry *ret_run, kf_err *err);
/* The same, opened for reading. */
kf_status kf_input_report(const kf_cli *cli, const char *name, kf_report **ret_report, kf_err *err);
/* A candidate's number; NULL: the best of the run. */
kf_status kf_input_candidate(const kf_report *report, const char *text, int64_t *ret_id, kf_err *err);

#endif
