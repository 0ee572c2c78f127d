/* oracle.h - the reference in a sandboxed process of its own: expected outputs in double, and the honest
 * float result for calibration.
 *
 * The task's C reference is compiled twice with a generated wrapper (kf_real = double, then float). Integer
 * arrays keep their C type; float arrays of any declared type are converted by the judge to kf_real, and
 * outputs come back as kf_real. All data of a call lies in a memfd of fixed size; the judge copies the
 * results out once the process is stopped. Expected data is never in a candidate's address space.
 *
 * Where `scale` of a linear tolerance comes from: run with the absolute values of the inputs, 64 bit, gives
 * s_i = sum |a||b|. True for references that only multiply and add; one that subtracts is not `linear`.
 *
 * An oracle has one owner at a time; different oracles are independent. */
#ifndef KF_VERIFY_ORACLE_H
#define KF_VERIFY_ORACLE_H

#include "sandbox/child.h"
#include "task/task.h"

typedef struct kf_oracle kf_oracle;

int kf_oracle_main(int fd); /* --role oracle */

/* Compiles (in the compiler sandbox, files in `work_dir`) and starts the process. `task` is borrowed. A
 * reference that does not compile or has no such entry is KF_EREFUSED: the task is at fault; the message
 * carries the compiler's first error at the reference's own line, and the hint the expected prototype where
 * arguments do not fit. KF_ENODEV without a C compiler. C references only. */
kf_status kf_oracle_new(const kf_task *task, const char *work_dir, kf_oracle **ret_oracle, kf_err *err);
void kf_oracle_free(kf_oracle *oracle);

/* Runs the reference on `inputs` (one pointer per task argument in its declared type; NULL for out; size and
 * scalar arguments are taken from symbols and the task). Gives for each out/inout argument an array of
 * doubles of kf_task_elements length in ret_outputs[arg] (NULL elsewhere), owned by the caller (kf_free).
 * precision: 64 or 32. *ret_ns: the judge's wall time of the call. KF_EREFUSED, with the case: a crash (a
 * write to an input or past the end of an array included), a time-out, memory over 16 GiB, a float output not
 * wholly written. Killed from outside: KF_EIO. The oracle can be used again after each of these. */
kf_status kf_oracle_run(kf_oracle *oracle, const int64_t *symbols, const void *const *inputs, int precision,
                        int64_t timeout_ms, double *ret_outputs[KF_ARGS_MAX], int64_t *ret_ns, kf_err *err);

#endif
