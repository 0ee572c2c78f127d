/* links: kf_build kf_wire kf_verify */
/* test_verify_look.c - the second look sees what is written after a call was said to be done, and nothing
 * else. */
#include "test_build_fixture.h"

#include "verify/check.h"
#include <pthread.h>

static const char doubling[] = "__kernel void f(__global const float *x, __global float *y, int n) {\n"
                               "  int i = get_global_id(0);\n"
                               "  if (i < n) y[i] = 2.0f * x[i];\n"
                               "}\n";

typedef struct {
  fixture_run run;
  kf_inputs inputs;
  kf_rig rig;
  fixture_plan plan;
} scene;

/* A kernel that has just run, stopped. */
static void set_up(scene *s) {
  memset(s, 0, sizeof *s);
  fixture_plan_init(&s->plan, "f", 1024, 64, 64);
  fixture_try(doubling, &s->plan.calls, FIXTURE_CALL_MS, &s->run);
  assert_int_equal(s->run.result.code, KF_RUN_OK);
  OK(kf_runner_stop(s->run.runner, &fixture_err));
  kf_region_guards_restore(s->run.regions[1]);
  s->rig =
      (kf_rig){.inputs = &s->inputs, .calls = &s->plan.calls, .region = s->run.regions[1], .slot = {-1, 0}};
}

static kf_check_result look(scene *s) {
  kf_check_result result = {.kind = KF_VERDICT_NO_CODE};
  OK(kf_check_second_look(s->run.runner, &s->rig, 50, &result, &fixture_err));
  return result;
}

static void test_verify_look__an_honest_kernel_is_done_when_it_says_so(void **state) {
  (void)state;
  scene s;
  set_up(&s);
  assert_int_equal(look(&s).kind, KF_VERDICT_CORRECT);
  fixture_run_once(&s.run, 1); /* and can be used as before */
  assert_int_equal(s.run.result.code, KF_RUN_OK);
  fixture_run_done(&s.run);
}

/* Stands for a thread that the kernel left behind: the memory is the same. */
static void *write_later(void *where) {
  struct timespec pause = {.tv_nsec = 15 * 1000 * 1000};
  nanosleep(&pause, NULL);
  *(volatile float *)where += 1;
  return NULL;
}

static void late_write_is_seen(size_t byte_from_start) {
  scene s;
  pthread_t thread;
  set_up(&s);
  char *where = (char *)kf_region_data(s.run.regions[1], 0) + byte_from_start;
  assert_int_equal(pthread_create(&thread, NULL, write_later, where), 0);
  kf_check_result result = look(&s);
  assert_int_equal(result.kind, KF_VERDICT_CHEAT);
  assert_string_equal(result.diagnosis.kind, "late_write");
  pthread_join(thread, NULL);
  fixture_run_done(&s.run);
}

static void test_verify_look__a_late_write_to_an_output(void **state) {
  (void)state;
  late_write_is_seen(4000);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_look__an_honest_kernel_is_done_when_it_says_so),
      cmocka_unit_test(test_verify_look__a_late_write_to_an_output),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
