/* links: kf_build kf_verify */
/* test_verify_check.c - checked calls of a real kernel: repeats, also beside busy cores, and what changes
 * after the reply. */
#include "test_build_fixture.h"

#include "verify/check.h"
#include "verify/load.h"
#include <string.h>

enum { COUNT = 1001 }; /* 4004 bytes: room for guards behind them */

typedef struct {
  fixture_plan plan;
  fixture_run run;
  kf_task task;
  kf_inputs inputs;
  kf_rig rig;
} fixture;

/* The fixture's regions as a rig of the judge. */
static void begin(fixture *f, const char *source) {
  memset(f, 0, sizeof *f);
  fixture_plan_init(&f->plan, "f", COUNT, 1024, 64);
  fixture_try(source, &f->plan.calls, FIXTURE_CALL_MS, &f->run);
  assert_int_equal(f->run.result.code, KF_RUN_OK);
  f->task.nargs = 2;
  for (int a = 0; a < 2; a++) {
    f->task.args[a] = (kf_arg_spec){.name = a == 0 ? "x" : "y",
                                    .role = a == 0 ? KF_ROLE_IN : KF_ROLE_OUT,
                                    .type = KF_TYPE_F32,
                                    .rank = 1};
    f->inputs.elements[a] = f->inputs.shape[a][0] = COUNT;
  }
  f->inputs.task = &f->task;
  f->inputs.region = f->run.regions[0];
  snprintf(f->inputs.case_text, sizeof f->inputs.case_text, "n=%d", COUNT);
  f->rig =
      (kf_rig){.inputs = &f->inputs, .calls = &f->plan.calls, .region = f->run.regions[1], .slot = {-1, 0}};
}

static const char doubling[] = "__kernel void f(__global const float *x, __global float *y, int n) {\n"
                               "  int i = get_global_id(0);\n"
                               "  if (i < n) y[i] = 2.0f * x[i];\n"
                               "}\n";

static kf_check_result call(fixture *f, const kf_check_options *options) {
  kf_check_result result;
  OK(kf_check_call(f->run.runner, &f->rig, NULL, options, &result, &fixture_err));
  return result;
}

static void test_verify_check__repeats_have_the_same_bits_under_load_too(void **state) {
  (void)state;
  fixture f;
  begin(&f, doubling);
  int threads = kf_runner_threads(f.run.runner);
  assert_true(threads >= 1);
  kf_check_result first = call(&f, &(kf_check_options){.pattern = 0});
  kf_check_result again = call(&f, &(kf_check_options){.pattern = 1, .under_load = true});
  assert_int_equal(first.kind, KF_VERDICT_CORRECT);
  assert_int_equal(again.kind, KF_VERDICT_CORRECT);
  assert_true(kf_hash_equal(&first.outputs, &again.outputs));
  assert_int_equal(kf_runner_threads(f.run.runner), threads);
  float *x = kf_region_data(f.run.regions[0], 0);
  x[COUNT - 1] += 1; /* the last bytes are in the hash */
  again = call(&f, &(kf_check_options){.pattern = 0});
  assert_false(kf_hash_equal(&first.outputs, &again.outputs));
  fixture_run_done(&f.run);
}

/* What a late write does to the shared memory is done here from the judge's side of it. */
static void test_verify_check__a_change_after_the_reply_is_a_cheat(void **state) {
  (void)state;
  fixture f;
  kf_check_result look;
  begin(&f, doubling);
  kf_check_result first = call(&f, &(kf_check_options){.pattern = 0});
  OK(kf_check_look_again(f.run.runner, &f.rig, &first.outputs, &look, &fixture_err));
  assert_int_equal(look.kind, KF_VERDICT_CORRECT);
  OK(kf_runner_resume(f.run.runner, &fixture_err));
  float *y = kf_region_data(f.run.regions[1], 0);
  y[COUNT / 2] = -0.0f;
  OK(kf_check_look_again(f.run.runner, &f.rig, &first.outputs, &look, &fixture_err));
  assert_int_equal(look.kind, KF_VERDICT_CHEAT);
  assert_string_equal(look.diagnosis.kind, "late_write");
  assert_non_null(strstr(look.diagnosis.text, "outputs changed after"));
  OK(kf_runner_resume(f.run.runner, &fixture_err));

  first = call(&f, &(kf_check_options){.pattern = 0});
  ((char *)y)[COUNT * sizeof(float)] ^= 1; /* a guard byte */
  OK(kf_check_look_again(f.run.runner, &f.rig, &first.outputs, &look, &fixture_err));
  assert_int_equal(look.kind, KF_VERDICT_CHEAT);
  assert_non_null(strstr(look.diagnosis.text, "bytes around a buffer changed"));
  fixture_run_done(&f.run);
}

static void test_verify_check__load_starts_and_ends(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    kf_load *load = kf_load_start();
    assert_non_null(load);
    kf_load_stop(load);
  }
  kf_load_stop(NULL);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_check__repeats_have_the_same_bits_under_load_too),
      cmocka_unit_test(test_verify_check__a_change_after_the_reply_is_a_cheat),
      cmocka_unit_test(test_verify_check__load_starts_and_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
