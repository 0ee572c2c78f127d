/* test_build_fixture.h - what tests of builders and runners share: the roles, work folders, plans by hand,
 * one whole build-and-run of a kernel y = f(x) over n floats. Included by one test program each. */
#ifndef KF_TEST_BUILD_FIXTURE_H
#define KF_TEST_BUILD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "build/builder.h"
#include "device/runner.h"
#include "sandbox/role.h"
#include "sandbox/sandbox.h"
#include <poll.h>

static const kf_role_entry fixture_roles[] = {{"devices", kf_devices_main},
                                              {"runner", kf_runner_main},
                                              {"builder", kf_builder_main},
                                              {"cc", kf_cc_main},
                                              {NULL, NULL}};

enum { FIXTURE_MEMORY_MIB = 4096, FIXTURE_CALL_MS = 30000, FIXTURE_BUILD_MS = 120000 };

static const char *fixture_device = "opencl:0";

#define OK(call) fixture_ok((call), &fixture_err, #call)
static kf_err fixture_err;

static inline void fixture_ok(kf_status status, const kf_err *err, const char *what) {
  if (status != KF_OK) fail_msg("%s: %s", what, err->msg);
}

static inline void fixture_dir(char ret_path[KF_PATH_MAX]) {
  OK(kf_fs_mkdtemp(ret_path, "kf-test", &fixture_err));
}

static inline void fixture_remove(const char *path) {
  OK(kf_fs_remove_tree(path, &fixture_err));
}

/* x (input) and y (output), n floats each, and a launch of `entry` with args (x, y, n). */
typedef struct {
  kf_calls calls;
  kf_step steps[4];
} fixture_plan;

static inline void fixture_plan_init(fixture_plan *plan, const char *entry, int64_t n, int64_t global,
                                     int64_t local) {
  memset(plan, 0, sizeof *plan);
  static const char *const names[] = {"x", "y"};
  plan->calls.steps = plan->steps;
  plan->calls.nsteps = 1;
  plan->calls.nbuffers = 2;
  for (int i = 0; i < 2; i++)
    plan->calls.buffers[i] = (kf_buffer_spec){.name = names[i],
                                              .role = i == 0 ? KF_ROLE_IN : KF_ROLE_OUT,
                                              .type = KF_TYPE_F32,
                                              .elements = n,
                                              .bytes = n * (int64_t)sizeof(float),
                                              .arg = i};
  kf_step *step = &plan->steps[0];
  step->kind = KF_STEP_LAUNCH;
  snprintf(step->entry, sizeof step->entry, "%s", entry);
  for (int i = 0; i < 3; i++)
    step->global[i] = step->local[i] = 1;
  step->global[0] = global;
  step->local[0] = local;
  step->nargs = 3;
  step->args[0] = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = 0};
  step->args[1] = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = 1};
  step->args[2] = (kf_step_arg){.kind = KF_STEP_ARG_BYTES, .nbytes = 4};
  int32_t value = (int32_t)n;
  memcpy(step->args[2].bytes, &value, sizeof value);
}

static inline void fixture_build_wait(kf_build *build, kf_build_outcome *ret_outcome) {
  for (bool done = false; !done;) {
    struct pollfd entry = {.fd = kf_build_fd(build), .events = POLLIN};
    poll(&entry, 1, 20);
    OK(kf_build_step(build, &done, &fixture_err));
  }
  OK(kf_build_outcome_take(build, ret_outcome, &fixture_err));
}

static inline kf_build_request fixture_request(const char *source, const kf_calls *const *plans, int nplans,
                                               const char *work_dir) {
  return (kf_build_request){.device_id = fixture_device,
                            .source = source,
                            .source_len = strlen(source),
                            .options = "",
                            .source_name = "kernel.cl",
                            .plans = plans,
                            .nplans = nplans,
                            .work_dir = work_dir,
                            .timeout_ms = FIXTURE_BUILD_MS,
                            .memory_bytes = (int64_t)FIXTURE_MEMORY_MIB << 20};
}

static inline void fixture_build(const char *source, const kf_calls *calls, kf_build_outcome *ret_outcome) {
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  fixture_dir(dir);
  kf_build_request request = fixture_request(source, &calls, calls ? 1 : 0, dir);
  OK(kf_build_start(&request, &build, &fixture_err));
  fixture_build_wait(build, ret_outcome);
  kf_build_free(build);
  fixture_remove(dir);
}

/* A runner with x = 0, 1, 2, .. and y = -1 in regions of its own, ready to run, or the result that stopped
 * it. */
typedef struct {
  char dir[KF_PATH_MAX], enforced[KF_SANDBOX_TEXT_MAX];
  kf_runner *runner;
  kf_region *regions[2]; /* inputs, outputs */
  kf_run_result result;
  kf_run_times times;
} fixture_run;

static inline void fixture_run_start(fixture_run *run, const void *artefact, size_t len,
                                     const kf_calls *calls, int64_t call_ms) {
  memset(run, 0, sizeof *run);
  fixture_dir(run->dir);
  kf_runner_options options = {.device_id = fixture_device,
                               .work_dir = run->dir,
                               .memory_bytes = (int64_t)FIXTURE_MEMORY_MIB << 20,
                               .call_timeout_ms = call_ms};
  OK(kf_runner_start(&options, &run->runner, &fixture_err));
  for (int i = 0; i < 2; i++) {
    kf_slot_spec slot = {.bytes = (size_t)calls->buffers[i].bytes, .align = 128};
    OK(kf_region_new(&slot, 1, i == 0, 7, &run->regions[i], &fixture_err));
    float *data = kf_region_data(run->regions[i], 0);
    for (int64_t j = 0; j < calls->buffers[i].elements; j++)
      data[j] = i == 0 ? (float)j : -1.0f;
  }
  OK(kf_runner_load(run->runner, artefact, len, run->enforced, &run->result, &fixture_err));
  if (run->result.code != KF_RUN_OK) return;
  const kf_buffer_place places[] = {{0, 0}, {1, 0}};
  OK(kf_runner_map(run->runner, run->regions, 2, places, 2, &run->result, &fixture_err));
  if (run->result.code != KF_RUN_OK) return;
  OK(kf_runner_plan(run->runner, calls, &run->result, &fixture_err));
}

/* The base layer always, the upper one where this machine has it. */
static inline void fixture_assert_enforced(const char *enforced, const char *upper) {
  char offered[KF_SANDBOX_TEXT_MAX], expected[KF_SANDBOX_TEXT_MAX];
  kf_sandbox_upper_probe(offered);
  bool none = strncmp(offered, "none", 4) == 0;
  snprintf(expected, sizeof expected, "seccomp landlock rlimits%s%s", none ? "" : " ", none ? "" : upper);
  assert_string_equal(enforced, expected);
}

static inline void fixture_run_once(fixture_run *run, unsigned k) {
  OK(kf_runner_run(run->runner, k, 0, &run->times, &run->result, &fixture_err));
}

static inline void fixture_run_done(fixture_run *run) {
  kf_runner_free(run->runner);
  for (int i = 0; i < 2; i++)
    kf_region_free(run->regions[i]);
  fixture_remove(run->dir);
}

/* Build, start, run once: the result of the first thing that went wrong is in run->result. */
static inline void fixture_try(const char *source, const kf_calls *calls, int64_t call_ms, fixture_run *run) {
  kf_build_outcome outcome;
  fixture_build(source, calls, &outcome);
  if (outcome.result.code != KF_RUN_OK) fail_msg("build: %s\n%s", outcome.result.text, outcome.log);
  fixture_run_start(run, outcome.artefact, outcome.artefact_len, calls, call_ms);
  kf_build_outcome_done(&outcome);
  if (run->result.code == KF_RUN_OK) fixture_run_once(run, 1);
}

#endif
