/* links: kf_build */
/* Kernels that attack: system calls by inline assembly, bombs, floods. Nothing they do may reach beyond their
 * process, and nothing of them may be left behind. x86-64 only, because of the assembly. */
#include "test_build_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSCALL                                                                                              \
  "long sys(long n, long a, long b, long c, long d) {\n"                                                     \
  "  long r;\n"                                                                                              \
  "  __asm__ volatile(\"movq %5, %%r10; xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; syscall\" : \"=a\"(r)\n"       \
  "    : \"a\"(n), \"D\"(a), \"S\"(b), \"d\"(c), \"r\"(d) : \"rcx\", \"r11\", \"r10\", \"r8\", \"r9\", "     \
  "\"memory\");\n"                                                                                           \
  "  return r;\n"                                                                                            \
  "}\n"

/* No child of this process is left, of whatever group. */
static void assert_no_process_left(void) {
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

/* x[1] is 0.5 in the builder's trial launch and 1.0 in the runner. */
static void run_attack(const char *statements, float *ret_y, int count) {
  char source[6000];
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  int32_t pid = (int32_t)getpid();
  memcpy(plan.steps[0].args[2].bytes, &pid, sizeof pid);
  snprintf(source, sizeof source,
           "%s__kernel void attack(__global const float *x, __global float *y, int pid) {\n"
           "  char memory[256];\n"
           "  for (int i = 0; i < 256; i++) memory[i] = 0;\n"
           "  if (x[1] == 1.0f) {\n%s  }\n  y[100] = memory[0];\n}\n",
           SYSCALL, statements);
  fixture_try(source, &plan.calls, FIXTURE_CALL_MS, &run);
  if (run.result.code != KF_RUN_OK) fail_msg("%s", run.result.text);
  memcpy(ret_y, kf_region_data(run.regions[1], 0), sizeof(float) * (size_t)count);
  fixture_run_done(&run);
  assert_no_process_left();
}

static void test_hostile__calls_that_reach_others_are_denied(void **state) {
  (void)state;
  enum { COUNT = 22 };
  static const char calls[] = "y[0] = sys(57, 0, 0, 0, 0);\n"            /* fork */
                              "y[1] = sys(58, 0, 0, 0, 0);\n"            /* vfork */
                              "y[2] = sys(56, 17, 0, 0, 0);\n"           /* clone(SIGCHLD) */
                              "y[3] = sys(59, (long)memory, 0, 0, 0);\n" /* execve */
                              "y[4] = sys(41, 2, 1, 0, 0);\n"            /* socket */
                              "y[5] = sys(53, 1, 1, 0, (long)memory);\n" /* socketpair */
                              "y[6] = sys(62, pid, 9, 0, 0);\n"          /* kill */
                              "y[7] = sys(200, pid, 9, 0, 0);\n"         /* tkill */
                              "y[8] = sys(234, pid, pid, 9, 0);\n"       /* tgkill of the judge */
                              "y[9] = sys(101, 16, pid, 0, 0);\n"        /* ptrace attach */
                              "y[10] = sys(310, pid, (long)memory, 1, (long)memory);\n" /* process_vm_readv */
                              "y[11] = sys(203, pid, 8, (long)memory, 0);\n"   /* sched_setaffinity */
                              "y[12] = sys(141, 0, pid, 19, 0);\n"             /* setpriority */
                              "y[13] = sys(302, pid, 7, (long)memory, 0);\n"   /* prlimit64 */
                              "y[14] = sys(72, 3, 8, pid, 0);\n"               /* fcntl(F_SETOWN) */
                              "y[15] = sys(16, 3, 0x8901, (long)memory, 0);\n" /* ioctl(FIOSETOWN) */
                              "y[16] = sys(46, 3, (long)memory, 0, 0);\n"      /* sendmsg */
                              "y[17] = sys(272, 0x10000000, 0, 0, 0);\n"       /* unshare(CLONE_NEWUSER) */
                              "y[18] = sys(424, pid, 9, 0, 0);\n"              /* pidfd_send_signal */
                              "y[19] = sys(425, 4, (long)memory, 0, 0);\n"     /* io_uring_setup */
                              "y[20] = sys(112, 0, 0, 0, 0);\n"                /* setsid */
                              "y[21] = sys(157, 4, 1, 0, 0);\n";               /* prctl(PR_SET_DUMPABLE, 1) */
  float y[COUNT];
  run_attack(calls, y, COUNT);
  for (int i = 0; i < COUNT; i++)
    if (y[i] != -EPERM) fail_msg("call %d: %g", i, (double)y[i]);
}

static void test_hostile__files_outside_cannot_be_opened(void **state) {
  (void)state;
  static const char calls[] =
      "__constant char *names[] = {\"/etc/passwd\", \"/root\", \"/tmp\", \"/proc/1/environ\", \"/dev/vda\", "
      "\"/dev/shm/x\"};\n"
      "for (int i = 0; i < 6; i++) y[i] = sys(2, (long)names[i], i == 5 ? 0102 : 0, 0600, 0);\n"
      "__constant char *own = \"own-file\"; y[6] = sys(2, (long)own, 0102, 0600, 0) >= 0;\n"
      "y[7] = sys(83, (long)\"/tmp/kf-escaped\", 0700, 0, 0);\n";
  float y[8];
  run_attack(calls, y, 8);
  for (int i = 0; i < 6; i++)
    if (y[i] != -EACCES && y[i] != -ENOENT) fail_msg("file %d: %g", i, (double)y[i]);
  assert_true(y[6] == 1.0f);
  assert_true(y[7] == -EACCES);
  assert_false(kf_fs_exists("/tmp/kf-escaped"));
}

static void test_hostile__a_forged_reply_is_no_success(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  static const char source[] =
      SYSCALL "__kernel void attack(__global const float *x, __global float *y, int n) {\n"
              "  char byte = 'k';\n"
              "  if (x[1] == 1.0f) y[0] = sys(1, 3, (long)&byte, 1, 0);\n"
              "}\n";
  fixture_try(source, &plan.calls, FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_FORGED);
  fixture_run_done(&run);
}

static void test_hostile__output_is_captured(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_run run;
  kf_buf text;
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  static const char source[] =
      SYSCALL "__kernel void attack(__global const float *x, __global float *y, int n) {\n"
              "  char line[] = \"forged verdict\\n\";\n"
              "  if (x[1] == 1.0f) for (int i = 0; i < 100000; i++) y[0] = sys(1, 1, (long)line, 15, 0);\n"
              "}\n";
  kf_buf_init(&text, KF_CHILD_OUTPUT_MAX);
  fixture_try(source, &plan.calls, FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_OK);
  assert_true(*(float *)kf_region_data(run.regions[1], 0) == -EPERM);
  OK(kf_runner_output(run.runner, &text, &fixture_err));
  assert_int_equal(text.len, KF_CHILD_OUTPUT_MAX);
  assert_memory_equal(text.data, "forged verdict\nforged", 21);
  kf_buf_done(&text);
  fixture_run_done(&run);
}

static void test_hostile__memory_of_a_runner_is_limited(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  fixture_plan plan;
  kf_build_outcome outcome;
  kf_runner *runner = NULL;
  kf_run_result result;
  kf_run_times times;
  kf_region *regions[2];
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  static const char source[] =
      SYSCALL "__kernel void attack(__global const float *x, __global float *y, int n) {\n"
              "  if (x[1] != 1.0f) return;\n"
              "  for (;;) {\n" /* mmap 64 MiB, private, anonymous, populated */
              "    sys(9, 0, 1l << 26, 3, 0x8022);\n"
              "  }\n"
              "}\n";
  fixture_build(source, &plan.calls, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  fixture_dir(dir);
  kf_runner_options options = {
      .device_id = "opencl:0", .work_dir = dir, .memory_bytes = (int64_t)512 << 20, .call_timeout_ms = 20000};
  OK(kf_runner_start(&options, &runner, &fixture_err));
  for (int i = 0; i < 2; i++) {
    kf_slot_spec slot = {4096, 128};
    OK(kf_region_new(&slot, 1, i == 0, 7, &regions[i], &fixture_err));
    ((float *)kf_region_data(regions[i], 0))[1] = 1.0f;
  }
  const kf_buffer_place places[] = {{0, 0}, {1, 0}};
  OK(kf_runner_load(runner, outcome.artefact, outcome.artefact_len, NULL, &result, &fixture_err));
  OK(kf_runner_map(runner, regions, 2, places, 2, &result, &fixture_err));
  OK(kf_runner_plan(runner, &plan.calls, &result, &fixture_err));
  OK(kf_runner_run(runner, 1, 0, &times, &result, &fixture_err));
  if (result.code != KF_RUN_OUT_OF_MEMORY) fail_msg("%d %s", result.code, result.text);
  kf_runner_free(runner);
  for (int i = 0; i < 2; i++)
    kf_region_free(regions[i]);
  kf_build_outcome_done(&outcome);
  fixture_remove(dir);
  assert_no_process_left();
}

/* ---- attacks on the builder ---- */

static void build_attack(const char *source, int64_t timeout_ms, int64_t memory_bytes,
                         kf_build_outcome *ret_outcome) {
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  fixture_plan plan;
  const kf_calls *calls = &plan.calls;
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  fixture_dir(dir);
  kf_build_request request = fixture_request(source, &calls, 1, dir);
  request.timeout_ms = timeout_ms;
  request.memory_bytes = memory_bytes;
  OK(kf_build_start(&request, &build, &fixture_err));
  fixture_build_wait(build, ret_outcome);
  kf_build_free(build);
  fixture_remove(dir);
  assert_no_process_left();
}

static void test_hostile__macro_bomb_ends_at_the_memory_limit(void **state) {
  (void)state;
  char source[4000] = "#define D0 y[0] += 1.0f;\n";
  for (int i = 1; i <= 34; i++) {
    char line[64];
    snprintf(line, sizeof line, "#define D%d D%d D%d\n", i, i - 1, i - 1);
    strncat(source, line, sizeof source - strlen(source) - 1);
  }
  strncat(source, "__kernel void attack(__global const float *x, __global float *y, int n) { D34 }\n",
          sizeof source - strlen(source) - 1);
  kf_build_outcome outcome;
  build_attack(source, 60000, (int64_t)600 << 20, &outcome);
  if (outcome.result.code != KF_RUN_OUT_OF_MEMORY)
    fail_msg("%d %s", outcome.result.code, outcome.result.text);
  assert_false(outcome.in_launch);
  kf_build_outcome_done(&outcome);
}

static void test_hostile__include_recursion_is_an_error(void **state) {
  (void)state;
  kf_build_outcome outcome;
  build_attack(
      "#include __FILE__\n__kernel void attack(__global const float *x, __global float *y, int n) {}\n",
      60000, (int64_t)1 << 30, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_BUILD_FAILED);
  kf_build_outcome_done(&outcome);
}

static void test_hostile__endless_trial_launch_times_out(void **state) {
  (void)state;
  kf_build_outcome outcome;
  int64_t start = kf_now_ms();
  build_attack("__kernel void attack(__global const float *x, __global float *y, int n) {\n"
               "  volatile int go = 1; while (go) ; y[0] = 1; }\n",
               8000, (int64_t)1 << 30, &outcome);
  int64_t took = kf_now_ms() - start;
  assert_int_equal(outcome.result.code, KF_RUN_TIMED_OUT);
  assert_true(outcome.in_launch);
  if (took > 3 * 8000 + 1000) fail_msg("took %lld ms", (long long)took);
  kf_build_outcome_done(&outcome);
}

static void test_hostile__fork_bomb_in_the_builder_leaves_nothing(void **state) {
  (void)state;
  kf_build_outcome outcome;
  build_attack(SYSCALL
               "__kernel void attack(__global const float *x, __global float *y, int n) {\n"
               "  for (int i = 0; i < 3; i++) sys(57, 0, 0, 0, 0);\n"
               "  y[0] = sys(112, 0, 0, 0, 0); y[1] = sys(109, 0, 0, 0, 0); y[2] = sys(62, -1, 0, 0, 0);\n"
               "  if (y[0] != -1 || y[1] != -1 || y[2] != -1) for (;;) ;\n" /* setsid, setpgid, kill(-1) */
               "}\n",
               60000, (int64_t)4 << 30, &outcome);
  if (outcome.result.code != KF_RUN_OK) fail_msg("%d %s", outcome.result.code, outcome.result.text);
  kf_build_outcome_done(&outcome);
}

static void test_hostile__crash_in_the_trial_launch_is_said(void **state) {
  (void)state;
  kf_build_outcome outcome;
  build_attack("__kernel void attack(__global const float *x, __global float *y, int n) {\n"
               "  volatile __global int *p = (volatile __global int *)(ulong)(n * 4); *p = 1; }\n",
               60000, (int64_t)4 << 30, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_CRASHED);
  assert_true(outcome.in_launch);
  assert_non_null(strstr(outcome.result.text, "at address 0x1000 (write)"));
  kf_build_outcome_done(&outcome);
}

/* 9: a process cannot end itself by the signal that says "from outside"; 6 is its own doing. */
static void test_hostile__a_builder_that_aborts_has_crashed(void **state) {
  (void)state;
  kf_build_outcome outcome;
  kf_sandbox_upper_allow(false); /* the first process of a namespace is spared signals of its own */
  build_attack(SYSCALL "__kernel void attack(__global const float *x, __global float *y, int n) {\n"
                       "  y[0] = sys(234, sys(39, 0, 0, 0, 0), sys(186, 0, 0, 0, 0), 9, 0);\n"
                       "  if (y[0] == -1) sys(234, sys(39, 0, 0, 0, 0), sys(186, 0, 0, 0, 0), 6, 0); }\n",
               60000, (int64_t)4 << 30, &outcome);
  kf_sandbox_upper_allow(true);
  assert_int_equal(outcome.result.code, KF_RUN_CRASHED);
  assert_int_equal(outcome.result.api_code, SIGABRT);
  assert_true(outcome.in_launch);
  kf_build_outcome_done(&outcome);
}

static void test_hostile__fork_bomb_is_stopped_at_its_number(void **state) {
  (void)state;
  kf_build_outcome outcome;
  build_attack(SYSCALL
               "__kernel void attack(__global const float *x, __global float *y, int n) {\n"
               "  for (int i = 0; i < 300; i++) if (sys(57, 0, 0, 0, 0) == 0) for (;;) sys(34, 0, 0, 0, 0);\n"
               "  for (;;) sys(34, 0, 0, 0, 0); }\n", /* pause */
               60000, (int64_t)1 << 42, &outcome);
  if (outcome.result.code != KF_RUN_CRASHED) fail_msg("%d %s", outcome.result.code, outcome.result.text);
  assert_non_null(strstr(outcome.result.text, "started more than 32 others"));
  kf_build_outcome_done(&outcome);
}

/* The process ends between two requests: found when the next cannot be sent. */
static void test_hostile__an_end_between_requests_is_the_candidates(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_run run;
  const kf_buffer_place places[] = {{0, 0}, {1, 0}};
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  static const char source[] =
      SYSCALL "__kernel void attack(__global const float *x, __global float *y, int n) {\n"
              "  if (x[1] == 1.0f) y[0] = sys(37, 1, 0, 0, 0);\n" /* alarm */
              "}\n";
  for (int i = 0; i < 2; i++) {
    fixture_try(source, &plan.calls, FIXTURE_CALL_MS, &run);
    assert_int_equal(run.result.code, KF_RUN_OK);
    kf_sleep_ms(1500);
    if (i == 0)
      OK(kf_runner_map(run.runner, run.regions, 2, places, 2, &run.result, &fixture_err));
    else
      OK(kf_runner_plan(run.runner, &plan.calls, &run.result, &fixture_err));
    assert_int_equal(run.result.code, KF_RUN_CRASHED);
    assert_int_equal(run.result.api_code, SIGALRM);
    fixture_run_done(&run);
  }
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
#if defined(__x86_64__)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hostile__calls_that_reach_others_are_denied),
      cmocka_unit_test(test_hostile__files_outside_cannot_be_opened),
      cmocka_unit_test(test_hostile__a_forged_reply_is_no_success),
      cmocka_unit_test(test_hostile__output_is_captured),
      cmocka_unit_test(test_hostile__memory_of_a_runner_is_limited),
      cmocka_unit_test(test_hostile__macro_bomb_ends_at_the_memory_limit),
      cmocka_unit_test(test_hostile__include_recursion_is_an_error),
      cmocka_unit_test(test_hostile__endless_trial_launch_times_out),
      cmocka_unit_test(test_hostile__fork_bomb_in_the_builder_leaves_nothing),
      cmocka_unit_test(test_hostile__crash_in_the_trial_launch_is_said),
      cmocka_unit_test(test_hostile__a_builder_that_aborts_has_crashed),
      cmocka_unit_test(test_hostile__fork_bomb_is_stopped_at_its_number),
      cmocka_unit_test(test_hostile__an_end_between_requests_is_the_candidates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
#else
  puts("skipped: the attacks are written in x86-64 assembly");
  return 0;
#endif
}
