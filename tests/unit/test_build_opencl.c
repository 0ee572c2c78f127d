/* links: kf_build */
/* Builds and runs with the real OpenCL driver of this machine, through the sandboxes. */
#include "test_build_fixture.h"

static const char doubling[] = "__kernel void twice(__global const float *x, __global float *y, int n) {\n"
                               "  int i = get_global_id(0);\n"
                               "  if (i < n) y[i] = 2.0f * x[i];\n"
                               "}\n";

static void test_build__runs_a_right_kernel(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  fixture_try(doubling, &plan.calls, FIXTURE_CALL_MS, &run);
  if (run.result.code != KF_RUN_OK) fail_msg("%s", run.result.text);
  assert_string_equal(run.enforced, "seccomp landlock rlimits");
  OK(kf_runner_stop(run.runner, &fixture_err));
  const float *y = kf_region_data(run.regions[1], 0);
  for (int i = 0; i < 1000; i++)
    assert_true(y[i] == 2.0f * (float)i);
  assert_true(kf_region_guards_ok(run.regions[0], NULL, NULL) &&
              kf_region_guards_ok(run.regions[1], NULL, NULL));
  OK(kf_runner_resume(run.runner, &fixture_err));
  for (unsigned k = 0; k < 4; k++) {
    fixture_run_once(&run, k * 10);
    printf("k=%u wall %lld child %lld inv %lld\n", k * 10, (long long)run.times.wall_ns,
           (long long)run.times.child_ns, (long long)run.times.involuntary);
  }
  fixture_run_done(&run);
}

/* ---- the builder ---- */

static void test_build__log_has_line_and_column(void **state) {
  (void)state;
  kf_build_outcome outcome;
  fixture_build("__kernel void f(__global float *y) {\n  y[0] = undeclared_name;\n}\n", NULL, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_BUILD_FAILED);
  printf("%s\n---%s\n", outcome.log, outcome.result.text);
  assert_non_null(strstr(outcome.log, "kernel.cl:2:10: error: use of undeclared identifier"));
  assert_null(strstr(outcome.log, "/tmp"));
  assert_false(outcome.in_launch);
  assert_null(outcome.artefact);
  kf_build_outcome_done(&outcome);
}

static void test_build__sees_no_file_outside(void **state) {
  (void)state;
  static const char *const paths[] = {"/etc/hostname", "/etc/passwd", "/root/.profile", "/root/.bashrc",
                                      "/proc/1/environ"};
  for (size_t i = 0; i < KF_COUNTOF(paths); i++) {
    char source[300];
    kf_build_outcome outcome;
    snprintf(source, sizeof source, "#include \"%s\"\n__kernel void f(__global float *y) { y[0] = 1; }\n",
             paths[i]);
    fixture_build(source, NULL, &outcome);
    printf("%d %s\n%s\n", outcome.result.code, outcome.result.text, outcome.log);
    assert_int_equal(outcome.result.code, KF_RUN_BUILD_FAILED);
    kf_build_outcome_done(&outcome);
  }
}

static void test_build__lists_entries(void **state) {
  (void)state;
  static const char source[] =
      "typedef float real;\n"
      "__kernel void one(__global const float *x, __constant int *c, __local float *t, float4 v) {}\n"
      "__kernel void two(__global real *y, uint n) { y[n] = 1; }\n";
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  kf_build_outcome outcome;
  fixture_dir(dir);
  kf_build_request request = fixture_request(source, NULL, 0, dir);
  request.want_entries = true;
  OK(kf_build_start(&request, &build, &fixture_err));
  fixture_build_wait(build, &outcome);
  printf("%s %s\n", outcome.result.text, outcome.log);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  assert_int_equal(outcome.nentries, 2);
  for (int i = 0; i < 2; i++) {
    printf("%s %d\n", outcome.entries[i].entry, outcome.entries[i].has_arg_info);
    for (int j = 0; j < outcome.entries[i].nargs; j++)
      printf("   %s %s g%d c%d l%d const%d\n", outcome.entries[i].args[j].type_name,
             outcome.entries[i].args[j].name, outcome.entries[i].args[j].is_global,
             outcome.entries[i].args[j].is_constant, outcome.entries[i].args[j].is_local,
             outcome.entries[i].args[j].is_const);
  }
  kf_build_outcome_done(&outcome);
  kf_build_free(build);
  fixture_remove(dir);
}

static void test_build__refuses_a_wrong_argument_count(void **state) {
  (void)state;
  fixture_plan plan;
  kf_build_outcome outcome;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  plan.steps[0].nargs = 2;
  fixture_build(doubling, &plan.calls, &outcome);
  printf("%s\n", outcome.result.text);
  assert_int_equal(outcome.result.code, KF_RUN_REFUSED);
  assert_true(outcome.in_launch);
  kf_build_outcome_done(&outcome);
}

static void test_build__local_size_over_the_limit_fails_to_launch(void **state) {
  (void)state;
  fixture_plan plan;
  kf_build_outcome outcome;
  fixture_plan_init(&plan, "twice", 1000, 5000, 5000);
  fixture_build(doubling, &plan.calls, &outcome);
  printf("%s\n", outcome.result.text);
  assert_int_equal(outcome.result.code, KF_RUN_LAUNCH_FAILED);
  kf_build_outcome_done(&outcome);
}

/* ---- wrong memory ---- */

static void run_source(const char *source, const char *entry, int64_t call_ms, fixture_run *run) {
  fixture_plan plan;
  fixture_plan_init(&plan, entry, 1024, 64, 64);
  fixture_try(source, &plan.calls, call_ms, run);
  printf("%d: %s (slot %d offset %lld)\n", run->result.code, run->result.text, run->result.slot,
         (long long)run->result.offset);
}

static void test_runner__out_of_bounds_read_names_the_buffer(void **state) {
  (void)state;
  fixture_run run;
  run_source("__kernel void f(__global const float *x, __global float *y, int n) { y[0] = x[n + 1]; }", "f",
             FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_WRONG_MEMORY);
  assert_string_equal(run.result.text, "out-of-bounds read 4 bytes past the end of x (element 1025 of 1024)");
  assert_int_equal(run.result.slot, 0);
  assert_int_equal(run.result.offset, 4100);
  fixture_run_done(&run);
}

static void test_runner__out_of_bounds_write_before_the_start(void **state) {
  (void)state;
  fixture_run run;
  run_source(
      "__kernel void f(__global const float *x, __global float *y, int n) { y[-1 - (int)x[1]*2048] = 1; }",
      "f", FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_WRONG_MEMORY);
  fixture_run_done(&run);
}

static void test_runner__write_to_an_input(void **state) {
  (void)state;
  fixture_run run;
  run_source("__kernel void f(__global float *x, __global float *y, int n) { x[3] = 1; }", "f",
             FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_WRONG_MEMORY);
  assert_string_equal(run.result.text, "write to the input x at byte 12");
  fixture_run_done(&run);
}

static void test_runner__crash_elsewhere(void **state) {
  (void)state;
  fixture_run run;
  run_source("__kernel void f(__global float *x, __global float *y, int n) { if (x[1] == 1.0f) { volatile "
             "int *p = (volatile int *)(ulong)(n + 4096); *p = 1; } }",
             "f", FIXTURE_CALL_MS, &run);
  assert_int_equal(run.result.code, KF_RUN_CRASHED);
  assert_int_equal(run.result.api_code, 11);
  fixture_run_done(&run);
}

static void test_runner__stack_overflow(void **state) {
  (void)state;
  fixture_run run;
  run_source("__kernel void f(__global float *x, __global float *y, int n) { volatile char big[40000000]; if "
             "(x[1] == 1.0f) for (int i = 0; i < 40000000; i += 1000) big[i] = 1; y[0] = big[n]; }",
             "f", FIXTURE_CALL_MS, &run);
  fixture_run_done(&run);
}

static void test_runner__endless_kernel_is_killed_in_time(void **state) {
  (void)state;
  fixture_run run;
  int64_t start = kf_now_ms();
  run_source("__kernel void f(__global const float *x, __global float *y, int n) { volatile int go = x[1] == "
             "1.0f; while (go) ; y[0] = 1; }",
             "f", 1000, &run);
  (void)start;
  assert_int_equal(run.result.code, KF_RUN_TIMED_OUT);
  fixture_run_done(&run);
}

static void test_runner__printf_flood(void **state) {
  (void)state;
  fixture_run run;
  kf_buf text;
  kf_buf_init(&text, KF_CHILD_OUTPUT_MAX);
  run_source(
      "__kernel void f(__global const float *x, __global float *y, int n) { int m = x[1] == 1.0f ? 20000 : "
      "1; for (int i = 0; i < m; i++) printf(\"line %d of the flood\\n\", i); y[get_global_id(0)] = 1; }",
      "f", FIXTURE_CALL_MS, &run);
  OK(kf_runner_output(run.runner, &text, &fixture_err));
  printf("%zu bytes: %.60s\n", text.len, kf_buf_text(&text));
  kf_buf_done(&text);
  fixture_run_done(&run);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_build__runs_a_right_kernel),
                                     cmocka_unit_test(test_build__log_has_line_and_column),
                                     cmocka_unit_test(test_build__sees_no_file_outside),
                                     cmocka_unit_test(test_build__lists_entries),
                                     cmocka_unit_test(test_build__refuses_a_wrong_argument_count),
                                     cmocka_unit_test(test_build__local_size_over_the_limit_fails_to_launch),
                                     cmocka_unit_test(test_runner__out_of_bounds_read_names_the_buffer),
                                     cmocka_unit_test(test_runner__out_of_bounds_write_before_the_start),
                                     cmocka_unit_test(test_runner__write_to_an_input),
                                     cmocka_unit_test(test_runner__crash_elsewhere),
                                     cmocka_unit_test(test_runner__stack_overflow),
                                     cmocka_unit_test(test_runner__endless_kernel_is_killed_in_time),
                                     cmocka_unit_test(test_runner__printf_flood)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
