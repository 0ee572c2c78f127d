/* links: kf_build */
/* Builds and runs with the real OpenCL driver of this machine, through the sandboxes. */
#include "test_build_fixture.h"

#include <sys/wait.h>

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
  fixture_assert_enforced(run.enforced, "namespaces(user,net,ipc,uts)");
  OK(kf_runner_stop(run.runner, &fixture_err));
  const float *y = kf_region_data(run.regions[1], 0);
  for (int i = 0; i < 1000; i++)
    assert_true(y[i] == 2.0f * (float)i);
  assert_true(kf_region_guards_ok(run.regions[0], NULL, NULL) &&
              kf_region_guards_ok(run.regions[1], NULL, NULL));
  OK(kf_runner_resume(run.runner, &fixture_err));
  fixture_run_once(&run, 0);
  assert_int_equal(run.result.code, KF_RUN_OK);
  for (int call = 0; call < 200; call++)
    fixture_run_once(&run, 1);
  assert_int_equal(run.result.code, KF_RUN_OK);
  assert_true(run.times.child_ns > 0 && run.times.child_ns <= run.times.wall_ns);
  fixture_run_done(&run);
}

/* ---- the builder ---- */

static void test_build__log_has_line_and_column(void **state) {
  (void)state;
  kf_build_outcome outcome;
  fixture_build("__kernel void f(__global float *y) {\n  y[0] = undeclared_name;\n}\n", NULL, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_BUILD_FAILED);
  assert_non_null(strstr(outcome.log, "kernel.cl:2:10: use of undeclared identifier 'undeclared_name'"));
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
    assert_non_null(strstr(outcome.log, "kernel.cl:1:10"));
    assert_null(strstr(outcome.log, "root:"));
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
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  assert_int_equal(outcome.nentries, 2);
  const kf_entry_info *one = &outcome.entries[0], *two = &outcome.entries[1];
  assert_string_equal(one->entry, "one");
  assert_true(one->has_arg_info && one->nargs == 4 && two->nargs == 2);
  assert_string_equal(one->args[0].name, "x");
  assert_string_equal(one->args[0].type_name, "float*");
  assert_true(one->args[0].is_global && one->args[0].is_const && one->args[1].is_constant &&
              one->args[2].is_local);
  assert_string_equal(one->args[3].type_name, "float4");
  assert_false(one->args[3].is_global || one->args[3].is_local || one->args[3].is_constant);
  assert_string_equal(two->entry, "two");
  assert_false(two->args[0].is_const);
  assert_null(outcome.artefact);
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
  assert_int_equal(outcome.result.code, KF_RUN_LAUNCH_FAILED);
  kf_build_outcome_done(&outcome);
}

/* ---- plans that do not fit ---- */

static void expect_refused(fixture_plan *plan, const char *source, const char *text) {
  kf_build_outcome outcome;
  fixture_build(source, &plan->calls, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_REFUSED);
  assert_string_equal(outcome.result.text, text);
  assert_true(outcome.in_launch);
  kf_build_outcome_done(&outcome);
}

static void test_build__refuses_arguments_of_another_kind(void **state) {
  (void)state;
  fixture_plan plan;
  fixture_plan_init(&plan, "thrice", 1000, 1024, 64);
  expect_refused(&plan, doubling, "the source has no kernel \"thrice\" (launch in line 0)");
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  plan.steps[0].args[1] = (kf_step_arg){.kind = KF_STEP_ARG_LOCAL, .local_bytes = 64};
  expect_refused(&plan, doubling,
                 "twice: argument 2: the kernel declares __global float* y, the plan passes local(BYTES)");
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  plan.steps[0].args[2].nbytes = 8;
  expect_refused(&plan, doubling,
                 "twice: argument 3: the kernel declares int n (4 bytes), the plan passes 8 bytes");
  fixture_plan_init(&plan, "picture", 1000, 1024, 64);
  expect_refused(&plan,
                 "__kernel void picture(__read_only image2d_t x, __global float *y, int n) { y[0] = n; }",
                 "picture: argument 1 (x): images and samplers cannot be passed");
}

static void test_build__fills_and_several_launches(void **state) {
  (void)state;
  static const char source[] =
      "__kernel void add(__global const float *x, __global float *y, int n) {\n"
      "  int i = get_global_id(0); if (i < n) y[i] += x[i]; }\n"
      "__kernel void tree(__global const float *x, __global float *y, int n, __local float *t) {\n"
      "  int l = get_local_id(0); t[l] = x[l]; barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  for (int s = 32; s > 0; s /= 2) { if (l < s) t[l] += t[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }\n"
      "  if (l == 0) y[n - 1] = t[0]; }\n";
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "add", 100, 128, 32);
  plan.steps[1] = plan.steps[2] = plan.steps[0];
  plan.steps[0] =
      (kf_step){.kind = KF_STEP_FILL, .buffer = 1, .pattern = {0, 0, 0x80, 0x3f}, .npattern = 4}; /* 1.0f */
  snprintf(plan.steps[2].entry, sizeof plan.steps[2].entry, "tree");
  plan.steps[2].global[0] = plan.steps[2].local[0] = 64;
  plan.steps[2].nargs = 4;
  plan.steps[2].args[3] = (kf_step_arg){.kind = KF_STEP_ARG_LOCAL, .local_bytes = 64 * sizeof(float)};
  plan.calls.nsteps = 3;
  fixture_try(source, &plan.calls, FIXTURE_CALL_MS, &run);
  if (run.result.code != KF_RUN_OK) fail_msg("%s", run.result.text);
  for (int call = 0; call < 3; call++) /* each call begins with the fill, so calls do not add up */
    fixture_run_once(&run, 1);
  const float *y = kf_region_data(run.regions[1], 0);
  for (int i = 0; i < 99; i++)
    assert_true(y[i] == 1.0f + (float)i);
  assert_true(y[99] == 63.0f * 64.0f / 2.0f);
  fixture_run_done(&run);
}

static void test_build__warms_every_class_of_launches(void **state) {
  (void)state;
  static const int64_t sizes[] = {64, 65534, 65535, 65536, 1 << 20};
  fixture_plan plans[KF_COUNTOF(sizes)];
  const kf_calls *calls[KF_COUNTOF(sizes)];
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  kf_build_outcome outcome;
  for (size_t i = 0; i < KF_COUNTOF(sizes); i++) {
    fixture_plan_init(&plans[i], "twice", 1000, sizes[i], 1);
    if (i == 4) plans[i].steps[0].local[0] = 256;
    calls[i] = &plans[i].calls;
  }
  fixture_dir(dir);
  kf_build_request request = fixture_request(doubling, calls, KF_COUNTOF(sizes), dir);
  OK(kf_build_start(&request, &build, &fixture_err));
  fixture_build_wait(build, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  fixture_assert_enforced(outcome.enforced, "namespaces(user,net,ipc,uts,pid)");
  for (size_t i = 0; i < KF_COUNTOF(sizes); i++) {
    fixture_run run;
    fixture_run_start(&run, outcome.artefact, outcome.artefact_len, calls[i], FIXTURE_CALL_MS);
    fixture_run_once(&run, 1);
    if (run.result.code != KF_RUN_OK) fail_msg("global size %lld: %s", (long long)sizes[i], run.result.text);
    fixture_run_done(&run);
  }
  kf_build_outcome_done(&outcome);
  kf_build_free(build);
  fixture_remove(dir);
}

static void test_build__pause_takes_no_time(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  kf_build_outcome outcome;
  bool done = false;
  fixture_dir(dir);
  kf_build_request request =
      fixture_request("__kernel void f(__global float *y) { y[0] = 1; }", NULL, 0, dir);
  request.timeout_ms = 20000;
  OK(kf_build_start(&request, &build, &fixture_err));
  OK(kf_build_pause(build, &fixture_err));
  int64_t start = kf_now_ms();
  kf_sleep_ms(1500);
  OK(kf_build_step(build, &done, &fixture_err));
  assert_false(done);
  OK(kf_build_resume(build, &fixture_err));
  fixture_build_wait(build, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  assert_true(outcome.wall_ms + 1400 <= kf_now_ms() - start);
  kf_build_outcome_done(&outcome);
  kf_build_free(build);
  fixture_remove(dir);
}

/* Also while PoCL starts the linker: no pause fails or waits, and the build goes on after each. */
static void test_build__survives_many_pauses(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  kf_build_outcome outcome;
  fixture_plan plan;
  const kf_calls *calls = &plan.calls;
  bool done = false;
  int pauses = 0;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  fixture_dir(dir);
  kf_build_request request = fixture_request(doubling, &calls, 1, dir);
  OK(kf_build_start(&request, &build, &fixture_err));
  for (; !done; pauses++) {
    OK(kf_build_pause(build, &fixture_err));
    kf_sleep_ms(1);
    OK(kf_build_resume(build, &fixture_err));
    kf_sleep_ms(2);
    OK(kf_build_step(build, &done, &fixture_err));
  }
  OK(kf_build_outcome_take(build, &outcome, &fixture_err));
  if (outcome.result.code != KF_RUN_OK) fail_msg("%s", outcome.result.text);
  assert_true(pauses > 10);
  kf_build_outcome_done(&outcome);
  kf_build_free(build);
  fixture_remove(dir);
}

static void test_build__unfinished_build_is_killed_by_free(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  fixture_dir(dir);
  kf_build_request request = fixture_request(doubling, NULL, 0, dir);
  OK(kf_build_start(&request, &build, &fixture_err));
  kf_build_free(build);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  fixture_remove(dir);
}

static void test_build__unknown_device_is_ours(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  bool done = false;
  kf_status status = KF_OK;
  fixture_dir(dir);
  kf_build_request request = fixture_request(doubling, NULL, 0, dir);
  request.device_id = "opencl:77";
  OK(kf_build_start(&request, &build, &fixture_err));
  while (status == KF_OK && !done) {
    status = kf_build_step(build, &done, &fixture_err);
    kf_sleep_ms(5);
  }
  assert_int_equal(status, KF_ENODEV);
  assert_non_null(strstr(fixture_err.msg, "opencl:77"));
  kf_build_free(build);
  fixture_remove(dir);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_build__runs_a_right_kernel),
      cmocka_unit_test(test_build__log_has_line_and_column),
      cmocka_unit_test(test_build__sees_no_file_outside),
      cmocka_unit_test(test_build__lists_entries),
      cmocka_unit_test(test_build__refuses_a_wrong_argument_count),
      cmocka_unit_test(test_build__local_size_over_the_limit_fails_to_launch),
      cmocka_unit_test(test_build__refuses_arguments_of_another_kind),
      cmocka_unit_test(test_build__fills_and_several_launches),
      cmocka_unit_test(test_build__warms_every_class_of_launches),
      cmocka_unit_test(test_build__pause_takes_no_time),
      cmocka_unit_test(test_build__survives_many_pauses),
      cmocka_unit_test(test_build__unfinished_build_is_killed_by_free),
      cmocka_unit_test(test_build__unknown_device_is_ours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
