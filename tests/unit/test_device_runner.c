/* links: kf_build */
/* Runners with artefacts of the real OpenCL driver: what wrong kernels end as, limits, several cases. */
#include "test_build_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static const char doubling[] = "__kernel void twice(__global const float *x, __global float *y, int n) {\n"
                               "  int i = get_global_id(0);\n"
                               "  if (i < n) y[i] = 2.0f * x[i];\n"
                               "}\n";

static void run_source(const char *source, int64_t call_ms, fixture_run *run) {
  fixture_plan plan;
  fixture_plan_init(&plan, "f", 1024, 64, 64);
  fixture_try(source, &plan.calls, call_ms, run);
}

#define KERNEL(body) "__kernel void f(__global float *x, __global float *y, int n) { " body " }"

static void test_runner__out_of_bounds_read_names_the_buffer(void **state) {
  (void)state;
  fixture_run run;
  run_source(KERNEL("y[0] = x[n + 1];"), FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_WRONG_MEMORY);
  assert_string_equal(run.result.text, "out-of-bounds read 4 bytes past the end of x (element 1025 of 1024)");
  assert_int_equal(run.result.slot, 0);
  assert_int_equal(run.result.offset, 4100);
  fixture_run_done(&run);
}

static void test_runner__out_of_bounds_write_before_the_start(void **state) {
  (void)state;
  fixture_run run;
  run_source(KERNEL("y[-1 - (int)x[2] * 1024] = 1;"), FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_WRONG_MEMORY);
  assert_string_equal(run.result.text,
                      "out-of-bounds write 8196 bytes before the start of y (element -2049 of 1024)");
  assert_int_equal(run.result.slot, 1);
  fixture_run_done(&run);
}

static void test_runner__write_to_an_input(void **state) {
  (void)state;
  fixture_run run;
  run_source(KERNEL("x[3] = 1;"), FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_WRONG_MEMORY);
  assert_string_equal(run.result.text, "write to the input x at byte 12");
  assert_true(((float *)kf_region_data(run.regions[0], 0))[3] == 3.0f);
  fixture_run_done(&run);
}

static void test_runner__guards_show_a_write_into_the_slack(void **state) {
  (void)state;
  int slot = -1;
  int64_t offset = 0;
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "f", 1001, 64, 64); /* 4004 bytes: 92 bytes of slack behind them */
  fixture_try(KERNEL("y[n] = 1;"), &plan.calls, FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_OK);
  assert_false(kf_region_guards_ok(run.regions[1], &slot, &offset));
  assert_int_equal(slot, 0);
  assert_true(offset >= 4004 && offset < 4008);
  fixture_run_done(&run);
}

static void test_runner__crash_elsewhere(void **state) {
  (void)state;
  fixture_run run;
  run_source(KERNEL("if (x[1] == 1.0f) { volatile int *p = (volatile int *)(ulong)(n + 4096); *p = 1; }"),
             FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_CRASHED);
  assert_int_equal(run.result.api_code, SIGSEGV);
  assert_non_null(strstr(run.result.text, "at address 0x1400 (write)"));
  fixture_run_done(&run);
}

static void test_runner__stack_overflow(void **state) {
  (void)state;
  fixture_run run;
  run_source(KERNEL("if (x[1] == 1.0f) { volatile char big[40000000]; for (int i = 0; i < 40000000; i++) "
                    "big[i] = 1; }"),
             FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_CRASHED);
  fixture_run_done(&run);
}

static void test_runner__a_stopped_one_is_continued_by_its_request(void **state) {
  (void)state;
  fixture_run run;
  run_source(KERNEL("y[get_global_id(0)] = 2 * x[get_global_id(0)];"), FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_OK);
  float *y = kf_region_data(run.regions[1], 0);
  for (unsigned k = 0; k < 2; k++) {
    OK(kf_runner_stop(run.runner, &fixture_err));
    y[5] = -1;
    fixture_run_once(&run, k);
    assert_int_equal(run.result.code, KF_RUN_OK);
    assert_true(run.times.wall_ns > 0 && run.times.child_ns <= run.times.wall_ns);
    assert_true(y[5] == (k ? 10.0f : -1.0f)); /* no call is none */
  }
  fixture_run_done(&run);
}

static void test_runner__is_never_asked_for_more_than_one_call(void **state) {
  (void)state;
  fixture_run run;
  run_source(KERNEL("y[0] = 1;"), FIXTURE_CALL_MS, &run);
  assert_int_equal(kf_runner_run(run.runner, 2, 0, &run.times, &run.result, &fixture_err), KF_EBUG);
  fixture_run_done(&run);
}

static void test_runner__endless_kernel_is_killed_in_time(void **state) {
  (void)state;
  enum { LIMIT_MS = 700, TRIES = 3 };
  kf_build_outcome outcome;
  fixture_plan plan;
  int64_t best_ms = INT64_MAX;
  fixture_plan_init(&plan, "f", 1024, 64, 64);
  fixture_build(KERNEL("volatile int go = x[1] == 1.0f; while (go) ; y[0] = 1;"), &plan.calls, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  /* The best of a few: other work on this machine may delay the test itself. */
  for (int i = 0; i < TRIES && best_ms > LIMIT_MS + 100; i++) {
    fixture_run run;
    fixture_run_start(&run, outcome.artefact, outcome.artefact_len, &plan.calls, FIXTURE_CALL_MS);
    int64_t start_ns = kf_now_ns();
    OK(kf_runner_run(run.runner, 1, start_ns + (int64_t)LIMIT_MS * 1000000, &run.times, &run.result,
                     &fixture_err));
    int64_t took_ms = (kf_now_ns() - start_ns) / 1000000;
    if (took_ms < best_ms) best_ms = took_ms;
    assert_int_equal(run.result.code, KF_RUN_TIMED_OUT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing left, before the handle is freed */
    assert_int_equal(kf_runner_run(run.runner, 1, 0, &run.times, &run.result, &fixture_err), KF_EBUG);
    fixture_run_done(&run);
  }
  kf_build_outcome_done(&outcome);
  if (best_ms < LIMIT_MS || best_ms > LIMIT_MS + 100) fail_msg("took %lld ms", (long long)best_ms);
}

static void test_runner__printf_flood_is_cut(void **state) {
  (void)state;
  fixture_run run;
  kf_buf text;
  kf_buf_init(&text, KF_CHILD_OUTPUT_MAX);
  run_source(KERNEL("for (int i = 0; i < (x[1] == 1.0f ? 20000 : 1); i++) printf(\"line %d\\n\", i); "
                    "y[get_global_id(0)] = 1;"),
             FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_OK);
  OK(kf_runner_output(run.runner, &text, &fixture_err));
  assert_true(text.len > KF_CHILD_OUTPUT_MAX - 16);
  assert_memory_equal(text.data, "line 0\nline 1\n", 14);
  kf_buf_done(&text);
  fixture_run_done(&run);
}

static void test_runner__launch_without_code_fails_cleanly(void **state) {
  (void)state;
  kf_build_outcome outcome;
  fixture_plan plan;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  fixture_build(doubling, &plan.calls, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  static const int64_t others[][2] = {{1024, 32}, {1 << 17, 64}};
  for (size_t i = 0; i < KF_COUNTOF(others); i++) {
    fixture_run run;
    fixture_plan_init(&plan, "twice", 1000, others[i][0], others[i][1]);
    fixture_run_start(&run, outcome.artefact, outcome.artefact_len, &plan.calls, FIXTURE_CALL_MS);
    fixture_run_once(&run, 1);
    assert_int_equal(run.result.code, KF_RUN_LAUNCH_FAILED);
    assert_non_null(strstr(run.result.text, "no code for this launch"));
    fixture_run_done(&run);
  }
  kf_build_outcome_done(&outcome);
}

static void test_runner__rubbish_is_no_artefact(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  fixture_run_start(&run, "rubbish", 7, &plan.calls, FIXTURE_CALL_MS);
  assert_int_equal(run.result.code, KF_RUN_LAUNCH_FAILED);
  fixture_run_done(&run);
}

static void test_runner__empty_buffers_and_launches(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "twice", 0, 0, 64);
  fixture_try(doubling, &plan.calls, FIXTURE_CALL_MS, &run);
  if (run.result.code != KF_RUN_OK) fail_msg("%s", run.result.text);
  fixture_run_done(&run);
  fixture_plan_init(&plan, "twice", 0, 64, 64);
  fixture_try(doubling, &plan.calls, FIXTURE_CALL_MS, &run);
  if (run.result.code != KF_RUN_OK) fail_msg("%s", run.result.text);
  fixture_run_done(&run);
}

static void test_runner__maps_again_for_another_case(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_run run;
  const kf_buffer_place places[] = {{0, 0}, {0, 1}};
  kf_region *region = NULL;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  fixture_try(doubling, &plan.calls, FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_OK);
  fixture_plan_init(&plan, "twice", 77, 128, 64);
  const kf_slot_spec slots[] = {{77 * sizeof(float), 128}, {77 * sizeof(float), 128}};
  OK(kf_region_new(slots, 2, false, 5, &region, &fixture_err));
  for (int i = 0; i < 77; i++)
    ((float *)kf_region_data(region, 0))[i] = (float)i;
  OK(kf_runner_map(run.runner, &region, 1, places, 2, &run.result, &fixture_err));
  OK(kf_runner_plan(run.runner, &plan.calls, &run.result, &fixture_err));
  fixture_run_once(&run, 1);
  assert_int_equal(run.result.code, KF_RUN_OK);
  for (int i = 0; i < 77; i++)
    assert_true(((float *)kf_region_data(region, 1))[i] == 2.0f * (float)i);
  kf_region_free(region);
  fixture_run_done(&run);
}

/* clone with the flags of a thread, from inside the kernel, in the runner only: there x[1] is 1. */
static void test_runner__kernel_starts_no_thread(void **state) {
  (void)state;
#if defined(__x86_64__)
  fixture_run run;
  run_source(
      KERNEL("if (x[1] == 1.0f && get_global_id(0) == 0) { char stack[4096]; long rc = 56;"
             "  __asm__ volatile(\"syscall; test %%rax, %%rax; jnz 1f; mov $60, %%eax; xor %%edi, %%edi; "
             "syscall; 1:\" : \"+a\"(rc) : \"D\"(0x10f00l), \"S\"(stack + 4080), \"d\"(0l) : \"rcx\", "
             "\"r11\", \"memory\"); y[0] = rc; }"),
      FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_OK);
  assert_true(((float *)kf_region_data(run.regions[1], 0))[0] == -(float)EPERM);
  fixture_run_done(&run);
#else
  print_message("skipped: the system call is written for x86-64\n");
  skip();
#endif
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runner__out_of_bounds_read_names_the_buffer),
      cmocka_unit_test(test_runner__out_of_bounds_write_before_the_start),
      cmocka_unit_test(test_runner__write_to_an_input),
      cmocka_unit_test(test_runner__guards_show_a_write_into_the_slack),
      cmocka_unit_test(test_runner__crash_elsewhere),
      cmocka_unit_test(test_runner__stack_overflow),
      cmocka_unit_test(test_runner__a_stopped_one_is_continued_by_its_request),
      cmocka_unit_test(test_runner__is_never_asked_for_more_than_one_call),
      cmocka_unit_test(test_runner__endless_kernel_is_killed_in_time),
      cmocka_unit_test(test_runner__printf_flood_is_cut),
      cmocka_unit_test(test_runner__launch_without_code_fails_cleanly),
      cmocka_unit_test(test_runner__rubbish_is_no_artefact),
      cmocka_unit_test(test_runner__empty_buffers_and_launches),
      cmocka_unit_test(test_runner__maps_again_for_another_case),
      cmocka_unit_test(test_runner__kernel_starts_no_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
