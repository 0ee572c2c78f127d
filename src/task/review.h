/* review.h - what a task file leaves to be desired before anything is run (docs/formats/task.md, Admission).
 */
#ifndef KF_TASK_REVIEW_H
#define KF_TASK_REVIEW_H

#include "task/task.h"

/* One finding. `fix` is YAML ready to be pasted, "" if there is none. */
typedef void (*kf_review_note)(void *context, bool doubtful, const char *area, const char *text,
                               const char *fix);

/* Looks at symbols, cases, fills and references of the kernels in one language, and calls `note` once for
 * each doubt, and once for each area without any. Threads: pure. */
kf_status kf_task_review(const kf_task *task, kf_language language, kf_review_note note, void *context,
                         kf_err *err);
/* The argument as a line of `args`, with another fill: "- {name: x, role: in, type: f32, ...}". */
kf_status kf_task_arg_line(const kf_task *task, int arg, const char *fill, kf_buf *buf, kf_err *err);

#endif
