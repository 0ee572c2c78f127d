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
  for (int i = 0; i < 1000; i++) assert_true(y[i] == 2.0f * (float)i);
  assert_true(kf_region_guards_ok(run.regions[0], NULL, NULL) && kf_region_guards_ok(run.regions[1], NULL, NULL));
  OK(kf_runner_resume(run.runner, &fixture_err));
  for (unsigned k = 0; k < 4; k++) {
    fixture_run_once(&run, k * 10);
    printf("k=%u wall %lld child %lld inv %lld\n", k * 10, (long long)run.times.wall_ns, (long long)run.times.child_ns,
           (long long)run.times.involuntary);
  }
  fixture_run_done(&run);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_build__runs_a_right_kernel)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
