/* runner.h - the sandboxed process that executes a candidate, and the judge's side of it
 * (docs/internals/evaluator.md, Who is trusted).
 *
 * Life: start (opens the device) -> load (puts on the strict filter, then loads the artefact) -> map -> plan
 * -> run ... -> free. A started one can wait for its candidate as long as the caller likes; no second
 * candidate is ever loaded into it. Nothing the child says is believed unless the judge can check it: outputs
 * are read from the judge's own mapping, time is the judge's clock from request to reply, and the child is
 * stopped before its outputs are read. */
#ifndef KF_DEVICE_RUNNER_H
#define KF_DEVICE_RUNNER_H

#include "device/backend.h"
#include "device/region.h"
#include "sandbox/child.h"

typedef struct kf_runner kf_runner;

typedef struct {
  const char *device_id;
  const char *work_dir; /* private folder of this runner (kernel cache); emptied by the caller afterwards */
  int64_t memory_bytes; /* RLIMIT_AS and polled RSS */
  int64_t call_timeout_ms;
} kf_runner_options;

int kf_runner_main(int fd); /* --role runner; fd is the control socket */

/* Returns at once; the child opens the device meanwhile. */
kf_status kf_runner_start(const kf_runner_options *options, kf_runner **ret_runner, kf_err *err);
/* For one that waits as a spare: without waiting, whether its device is open (kf_runner_load then begins at
 * once). Fails if it has ended: free it. */
kf_status kf_runner_look(kf_runner *runner, bool *ret_open, kf_err *err);
/* Stops a spare that is still opening its device, without waiting; kf_runner_resume lets it go on. */
kf_status kf_runner_pause(kf_runner *runner, kf_err *err);
/* Loads the artefact under the filter. `ret_enforced` (KF_SANDBOX_TEXT_MAX) may be NULL. */
kf_status kf_runner_load(kf_runner *runner, const void *artefact, size_t len, char *ret_enforced,
                         kf_run_result *ret_result, kf_err *err);
/* Where buffer i of kf_calls lives. */
typedef struct {
  int region; /* index into the regions given to kf_runner_map */
  int slot;
} kf_buffer_place;
enum { KF_RUNNER_REGIONS_MAX = 4 };
kf_status kf_runner_map(kf_runner *runner, kf_region *const *regions, int nregions,
                        const kf_buffer_place *places, int nbuffers, kf_run_result *ret_result, kf_err *err);
/* After every kf_runner_map. The entry, local size and size class of each launch must have been in a plan of
 * the build: the runner cannot compile, and ends with KF_RUN_LAUNCH_FAILED otherwise. */
kf_status kf_runner_plan(kf_runner *runner, const kf_calls *calls, kf_run_result *ret_result, kf_err *err);

typedef struct {
  int64_t wall_ns;  /* judge's clock, request sent (or a stopped child continued) -> reply seen */
  int64_t child_ns; /* the child's word */
} kf_run_times;
/* One call, or none (k = 0): the empty request whose median is subtracted. A child never learns how many
 * calls will follow. A stopped runner is continued, after the request lies ready for it. A call beyond
 * call_timeout_ms (or deadline_ns if earlier and not 0) kills the child: KF_RUN_TIMED_OUT. After any code but
 * OK the runner is finished and can only be freed. */
kf_status kf_runner_run(kf_runner *runner, unsigned k, int64_t deadline_ns, kf_run_times *ret_times,
                        kf_run_result *ret_result, kf_err *err);
/* Stop before outputs are read; resume before the next request. */
kf_status kf_runner_stop(kf_runner *runner, kf_err *err);
kf_status kf_runner_resume(kf_runner *runner, kf_err *err);
int kf_runner_pid(const kf_runner *runner);
/* Threads of the process now, by /proc; 0 when it cannot be told. */
int kf_runner_threads(const kf_runner *runner);
/* What the child printed so far, capped; appended. */
kf_status kf_runner_output(kf_runner *runner, kf_buf *buf, kf_err *err);
void kf_runner_free(kf_runner *runner);

#endif
