/* links: kf_eval kf_build kf_device kf_sandbox kf_base */
/* bench_spares.c - what waiting processes save: a build and the start of a runner, with a spare and without.
 * Both ways take turns, so that a busy machine is busy for both; each prints the median and the 90th
 * percentile.
 *
 * usage: bench_spares [ROUNDS] */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "eval/roles.h"
#include "eval/spares.h"
#include "sandbox/role.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 200, N = 1024, WAIT_MS = 60000 };

typedef struct {
  kf_settings settings;
  kf_work_root work;
  kf_spares spares;
  kf_device_info devices[KF_DEVICES_MAX];
  kf_calls calls;
  kf_step step;
} bench;

static void must(kf_status status, const kf_err *err) {
  if (status == KF_OK) return;
  fprintf(stderr, "bench_spares: %s\n", err->msg);
  exit(kf_status_exit_code(status));
}

static void plan(bench *b) {
  int32_t n = N;
  kf_step *step = &b->step;
  b->calls.steps = step;
  b->calls.nsteps = 1;
  b->calls.nbuffers = 2;
  for (int i = 0; i < 2; i++)
    b->calls.buffers[i] = (kf_buffer_spec){.name = i ? "y" : "x",
                                           .role = i ? KF_ROLE_OUT : KF_ROLE_IN,
                                           .type = KF_TYPE_F32,
                                           .elements = N,
                                           .bytes = N * 4,
                                           .arg = i};
  step->kind = KF_STEP_LAUNCH;
  snprintf(step->entry, sizeof step->entry, "f");
  for (int i = 0; i < 3; i++)
    step->global[i] = step->local[i] = 1;
  step->global[0] = N;
  step->local[0] = 64;
  step->nargs = 3;
  step->args[0] = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = 0};
  step->args[1] = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = 1};
  step->args[2] = (kf_step_arg){.kind = KF_STEP_ARG_BYTES, .nbytes = sizeof n};
  memcpy(step->args[2].bytes, &n, sizeof n);
}

/* Until every spare is made and, of the builder, the practice is over. */
static void wait_for_spares(bench *b) {
  kf_err err = {0};
  int64_t until = kf_now_ms() + WAIT_MS;
  for (bool usable = false, ready = false; kf_now_ms() < until; kf_sleep_ms(5)) {
    kf_spares_pump(&b->spares, true);
    if (!kf_spares_settled(&b->spares)) continue;
    must(kf_build_spare_look(b->spares.builder, &usable, &ready, &err), &err);
    if (ready) return;
  }
  fprintf(stderr, "bench_spares: no spare within %d s\n", WAIT_MS / 1000);
  exit(4);
}

/* Milliseconds from source to artefact. The number makes each source another one. */
static double build(bench *b, bool with_spare, int number, kf_build_outcome *ret_outcome) {
  kf_err err = {0};
  kf_build *build = NULL;
  char source[400], dir[KF_PATH_MAX];
  snprintf(source, sizeof source,
           "__kernel void f(__global const float *x, __global float *y, int n) {\n"
           "  int i = get_global_id(0);\n"
           "  if (i < n) y[i] = 2.0f * x[i] + %d.0f;\n}\n",
           number);
  const kf_calls *plans[] = {&b->calls};
  int64_t begun = kf_now_ns();
  kf_build *spare = with_spare ? kf_spares_builder(&b->spares, &b->devices[0], dir) : NULL;
  if (!spare) must(kf_work_dir(&b->work, "build", dir, &err), &err);
  kf_build_request request = {.device_id = b->devices[0].id,
                              .source = source,
                              .source_len = strlen(source),
                              .options = "",
                              .source_name = "kernel",
                              .plans = plans,
                              .nplans = 1,
                              .work_dir = dir,
                              .timeout_ms = WAIT_MS,
                              .memory_bytes = b->settings.sandbox_memory_mib << 20,
                              .spare = spare};
  must(kf_build_start(&request, &build, &err), &err);
  for (bool done = false; !done;) {
    struct pollfd entry = {.fd = kf_build_fd(build), .events = POLLIN};
    poll(&entry, 1, 20);
    must(kf_build_step(build, &done, &err), &err);
  }
  double ms = (double)(kf_now_ns() - begun) / 1e6;
  must(kf_build_outcome_take(build, ret_outcome, &err), &err);
  if (ret_outcome->result.code != KF_RUN_OK) {
    fprintf(stderr, "bench_spares: %s\n", ret_outcome->result.text);
    exit(1);
  }
  kf_build_free(build);
  kf_fs_remove_tree(dir, NULL);
  return ms;
}

/* Milliseconds from wanting a runner to one with the artefact loaded. */
static double start_runner(bench *b, bool with_spare, const kf_build_outcome *outcome) {
  kf_err err = {0};
  kf_runner *runner = NULL;
  kf_run_result result;
  kf_spares none = {.settings = &b->settings, .work = &b->work};
  char dir[KF_PATH_MAX];
  int64_t begun = kf_now_ns();
  must(kf_spares_runner(with_spare ? &b->spares : &none, &b->devices[0], "runner", &runner, dir, &err), &err);
  must(kf_runner_load(runner, outcome->artefact, outcome->artefact_len, NULL, &result, &err), &err);
  double ms = (double)(kf_now_ns() - begun) / 1e6;
  kf_runner_free(runner);
  kf_fs_remove_tree(dir, NULL);
  return ms;
}

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

static void print_row(const char *what, double *ms, int count) {
  qsort(ms, (size_t)count, sizeof *ms, by_value);
  printf("%-28s %8.1f %8.1f\n", what, ms[count / 2], ms[count * 9 / 10]);
}

int main(int argc, char **argv) {
  static bench b;
  static double ms[4][ROUNDS_MAX];
  kf_err err = {0};
  kf_fs_keep_standard_fds();
  kf_alloc_init();
  kf_role_run(argc, argv, kf_eval_roles);
  int64_t rounds64 = 10;
  int ndevices = 0;
  if (argc > 1) must(kf_text_int(argv[1], 1, ROUNDS_MAX, "rounds", &rounds64, &err), &err);
  int rounds = (int)rounds64;
  KF_CLEANUP(kf_buf_done) kf_buf note;
  kf_buf_init(&note, 4096);
  kf_settings_init(&b.settings);
  must(kf_device_list(b.devices, &ndevices, &note, &err), &err);
  if (ndevices == 0) {
    fprintf(stderr, "bench_spares: %s", kf_buf_text(&note));
    return 4;
  }
  must(kf_fs_mkdtemp(b.work.root, "bench-spares", &err), &err);
  b.spares.settings = &b.settings;
  b.spares.work = &b.work;
  plan(&b);
  kf_spares_keep(&b.spares, &b.devices[0]);
  for (int i = 0; i < rounds; i++) {
    kf_build_outcome outcome = {0}, other = {0};
    ms[0][i] = build(&b, false, 2 * i, &outcome);
    wait_for_spares(&b);
    ms[1][i] = build(&b, true, 2 * i + 1, &other);
    ms[2][i] = start_runner(&b, false, &outcome);
    ms[3][i] = start_runner(&b, true, &outcome);
    kf_build_outcome_done(&outcome);
    kf_build_outcome_done(&other);
  }
  printf("ms, %d rounds                  p50      p90\n", rounds);
  print_row("build", ms[0], rounds);
  print_row("build, practised builder", ms[1], rounds);
  print_row("runner to loaded", ms[2], rounds);
  print_row("runner to loaded, spare", ms[3], rounds);
  kf_spares_drop(&b.spares);
  kf_fs_remove_tree(b.work.root, NULL);
  return 0;
}
