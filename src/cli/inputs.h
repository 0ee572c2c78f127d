/* inputs.h - what commands read besides options: tasks, kernels, and the run that is meant. */
#ifndef KF_CLI_INPUTS_H
#define KF_CLI_INPUTS_H

#include "cli/cli.h"
#include "task/task.h"

enum { KF_SOURCE_MAX = 1 << 20 };

/* The task's language that this build can judge. KF_EREFUSED names those it has. */
kf_status kf_input_language(const kf_task *task, kf_language *ret_language, kf_err *err);
/* The task, with a hint when the path is no package. The caller frees it. */
kf_status kf_input_task(const char *path, kf_task **ret_task, kf_err *err);
void kf_input_task_free(kf_task **task); /* for KF_CLEANUP */
/* A kernel file of at most KF_SOURCE_MAX bytes, appended to an initialised buffer. */
kf_status kf_input_kernel(const char *path, kf_buf *buf, kf_err *err);
/* The task's own kernel; KF_EREFUSED if it has none. */
kf_status kf_input_own_kernel(const kf_task *task, const kf_task_file **ret_file, kf_err *err);

#endif
