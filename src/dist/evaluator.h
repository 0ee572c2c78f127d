/* evaluator.h - the client's side of kf-eval (docs/formats/wire.md), whatever transport carries it. Today: a
 * local child over pipes; ssh, spool and NATS will be other openers of the same interface.
 *
 * A request completes exactly once (verdict, infrastructure failure, or KF_ECANCELED), or is refused at once
 * with no callback. Callbacks come from the loop, never from within submit. Runs on the program's libuv loop;
 * one owner thread. */
#ifndef KF_DIST_EVALUATOR_H
#define KF_DIST_EVALUATOR_H

#include "base/fs.h"
#include "base/settings.h"
#include "device/device.h"
#include "task/task.h"
#include "wire/verdict.h"
#include <uv.h>

typedef struct {
  const char *source; /* borrowed until submit returns */
  size_t source_len;
  const char *binding; /* "" = defaults */
} kf_eval_source;

/* Drop threshold of stage 1 for one cell: the elite's d against the same opponent (nano). */
typedef struct {
  kf_cell cell;
  int64_t elite_nano;
} kf_eval_elite;

typedef struct {
  int64_t id;          /* request id, unique in the session; the result carries it */
  const kf_task *task; /* must outlive the request */
  const char *device;  /* "opencl:0" */
  bool admit;          /* the task itself is looked at: no candidate; the fields below are not used */
  kf_eval_source candidate;
  const kf_eval_source *against; /* NULL: verify and time only */
  int stage;                     /* highest stage wanted, 0..3 */
  bool verified;                 /* the candidate passed stage 2 in this session: race only */
  int blocks_min, blocks_max;    /* 0: the rule's own */
  const kf_eval_elite *elites;
  int nelites;
  int64_t deadline_ms; /* 0: none */
} kf_eval_request;

typedef struct {
  int64_t id;
  kf_status status; /* KF_OK: `verdict` is set. Else an infrastructure failure: to be retried, not counted */
  const kf_verdict *verdict; /* borrowed during the callback */
  const json_t
      *admission;      /* instead of a verdict, where `admit` was asked for (wire/admission.h); borrowed */
  const kf_err *error; /* set unless KF_OK */
} kf_eval_result;

typedef struct {
  void (*on_result)(void *context, const kf_eval_result *result);
  void (*on_progress)(void *context, int64_t id, const char *what); /* may be NULL */
  /* The evaluator went away; every pending request has had its result with KF_EIO. Submitting is refused from
   * then on; the owner closes it, and may open another. May be NULL. */
  void (*on_lost)(void *context, const kf_err *error);
  void *context;
} kf_eval_callbacks;

typedef struct kf_evaluator kf_evaluator;

/* The kf-eval that will be started: $KF_EVAL, or the one beside this program. KF_ENODEV if there is none. */
kf_status kf_evaluator_path(char ret_path[KF_PATH_MAX], kf_err *err);
/* Starts it and waits for its hello (at most 30 s), running the
 * loop meanwhile: not from within a callback. SIGPIPE is ignored from then on. KF_ENODEV, KF_EPROTO
 * (another major version), KF_ETIMEOUT. */
kf_status kf_evaluator_open_local(uv_loop_t *loop, const kf_settings *settings,
                                  const kf_eval_callbacks *callbacks, kf_evaluator **ret_evaluator,
                                  kf_err *err);
/* Answers every request at once with a verdict computed from the candidate's text (bench/loop, tests): no
 * device, no child. Equal requests get equal verdicts. */
kf_status kf_evaluator_open_null(uv_loop_t *loop, const kf_eval_callbacks *callbacks,
                                 kf_evaluator **ret_evaluator, kf_err *err);
/* Devices and what the sandbox enforces, from the hello. */
const kf_device_info *kf_evaluator_devices(const kf_evaluator *evaluator, int *ret_count);
/* "version", "sandbox", "note"; "" unknown. */
const char *kf_evaluator_hello_text(const kf_evaluator *evaluator, const char *key);
int64_t kf_evaluator_pid(const kf_evaluator *evaluator); /* 0: no process */

kf_status kf_evaluator_submit(kf_evaluator *evaluator, const kf_eval_request *request, kf_err *err);
kf_status kf_evaluator_cancel(kf_evaluator *evaluator, int64_t id, kf_err *err); /* its result still comes */
/* Kernels of a source with their arguments, for `kf init`: an array of {"entry","args":[...]}; runs the loop
 * for at most 60 s, not from within a callback. A source that does not compile is KF_EREFUSED with the start
 * of the log. */
kf_status kf_evaluator_inspect(kf_evaluator *evaluator, const char *device, const char *source, size_t len,
                               json_t **ret_kernels, kf_err *err);
/* Pending requests get their result with KF_ECANCELED within this call; frees when the loop has run. Waits a
 * few seconds for kf-eval to end its children. Accepts NULL. */
void kf_evaluator_close(kf_evaluator *evaluator);

#endif
