/* judge.h - an evaluator of one's own for commands that ask it one thing at a time (check, eval, race, init,
 * export). It runs the loop until the answer is there; the first Ctrl-C cancels what is asked, the second
 * ends the program. Threads: one owner. */
#ifndef KF_CLI_JUDGE_H
#define KF_CLI_JUDGE_H

#include "cli/cli.h"
#include "dist/evaluator.h"
#include "wire/admission.h"

typedef struct kf_judge kf_judge;

/* Starts the evaluator. The devices it found are there afterwards; there may be none. */
kf_status kf_judge_open(const kf_settings *settings, kf_judge **ret_judge, kf_err *err);
void kf_judge_free(kf_judge *judge); /* accepts NULL */
const kf_evaluator *kf_judge_evaluator(const kf_judge *judge);
/* The device that `wanted` names, an id; NULL: the first that this version judges on and that runs the
 * language of `file` (a kernel's name, by its ending; NULL or unknown: the earliest of the task's languages
 * for which there is a device). `task` NULL: any task. KF_ENODEV says what there is, or why the named one
 * will not do. */
kf_status kf_judge_device(const kf_judge *judge, const char *wanted, const kf_task *task, const char *file,
                          const kf_device_info **ret_device, kf_err *err);
/* Asks and waits; request->id is set here. An infrastructure failure is a failure; a verdict is none. */
kf_status kf_judge_ask(kf_judge *judge, kf_eval_request *request, kf_verdict *ret_verdict, kf_err *err);
/* Looks at the task itself. KF_EREFUSED: its reference fails, and the message says how. */
kf_status kf_judge_admit(kf_judge *judge, const kf_task *task, const char *device,
                         kf_admission *ret_admission, kf_err *err);
kf_status kf_judge_inspect(kf_judge *judge, const char *device, const char *source, size_t len,
                           json_t **ret_kernels, kf_err *err);

#endif
