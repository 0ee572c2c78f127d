/* links: kf_base kf_wire kf_task kf_build kf_verify */
/* test_verify_expected.c - expected data with a real reference: honest results in another order pass every
 * input family, results of a lower precision do not pass the gates. */
#include "verify/expected.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "build/builder.h"
#include "sandbox/role.h"
#include "verify/precision.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const kf_role_entry roles[] = {{"cc", kf_cc_main}, {"oracle", kf_oracle_main}, {NULL, NULL}};

enum { ROWS = 40, COLS = 200 };

/* Row sums of x * w: y[r] = sum over c of x[r][c] w[c]. */
#define TASK(error)                                                                                          \
  "name: rows\n"                                                                                             \
  "language: opencl\n"                                                                                       \
  "symbols: {rows: {default: 40, min: 1, max: 100}, cols: {default: 200, min: 1, max: 1000}}\n"              \
  "args:\n"                                                                                                  \
  "  - {name: x, role: in, type: f32, shape: [rows, cols], fill: normal}\n"                                  \
  "  - {name: w, role: in, type: f32, shape: [cols], fill: normal}\n"                                        \
  "  - {name: y, role: out, type: f32, shape: [rows]}\n"                                                     \
  "  - {name: rows, role: size, type: i32}\n"                                                                \
  "  - {name: cols, role: size, type: i32}\n"                                                                \
  "kernel: {opencl: kernel.cl}\n"                                                                            \
  "reference: {file: reference.c, entry: rows_ref}\n"                                                        \
  "compare: {y: bound}\n"                                                                                    \
  "error: " error "\n"                                                                                       \
  "baseline: kernel\n"                                                                                       \
  "check: {cases: [{rows: 40, cols: 200}]}\n"                                                                \
  "measure: {cases: [{rows: 40, cols: 200}]}\n"

static const char calibrated_yaml[] = TASK("{kind: calibrated}"),
                  linear_yaml[] = TASK("{kind: linear, depth: cols}");

static const char kernel_cl[] = "// [EVOLVE_START]\n"
                                "//kf: launch rows_sum global=(rows) local=(1) args=(x, w, y, rows, cols)\n"
                                "__kernel void rows_sum(__global const float *x) {}\n"
                                "// [EVOLVE_END]\n";

static const char reference_c[] =
    "void rows_ref(const kf_real *x, const kf_real *w, kf_real *y, int32_t rows, int32_t cols) {\n"
    "  for (int r = 0; r < rows; r++) {\n"
    "    kf_real sum = 0;\n"
    "    for (int c = 0; c < cols; c++) sum += x[r * cols + c] * w[c];\n"
    "    y[r] = sum;\n"
    "  }\n"
    "}\n";

typedef enum { IN_ORDER, REVERSED, IN_LANES, LOWER } way;

typedef struct {
  char dir[KF_PATH_MAX];
  kf_task *task;
  kf_oracle *oracle;
  kf_inputs *inputs;
  kf_expected_source source;
  bool initial_works;
} fixture;

static void must(kf_status status, const kf_err *err) {
  if (status != KF_OK) fail_msg("%s (%s)", err->msg, err->hint);
}

/* Rounded to the 11 digits of tf32 and fp16. */
static float lower(float x) {
  int exponent;
  float fraction = frexpf(x, &exponent);
  return ldexpf(nearbyintf(fraction * 2048) / 2048, exponent);
}

static void compute(const kf_inputs *inputs, way how, float *ret_y) {
  const void *pointers[KF_ARGS_MAX];
  kf_inputs_pointers(inputs, pointers);
  const float *x = pointers[0], *w = pointers[1];
  for (int r = 0; r < ROWS; r++) {
    float lanes[8] = {0}, sum = 0;
    for (int c = 0; c < COLS; c++) {
      int at = how == REVERSED ? COLS - 1 - c : c;
      float a = x[r * COLS + at], b = w[at];
      lanes[how == IN_LANES ? at % 8 : 0] += how == LOWER ? lower(a) * lower(b) : a * b;
    }
    for (int i = 0; i < 8; i++)
      sum += lanes[i];
    ret_y[r] = sum;
  }
}

static kf_status initial(void *context, kf_inputs *inputs, void *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  const fixture *f = context;
  if (!f->initial_works) return kf_fail(err, KF_ENOTFOUND, "none");
  float *y = kf_alloc(ROWS * sizeof *y);
  if (y == NULL) return kf_nomem(err);
  compute(inputs, IN_ORDER, y);
  ret_outputs[2] = y;
  return KF_OK;
}

static void write_file(const char *dir, const char *name, const char *text) {
  char path[KF_PATH_MAX];
  kf_err err = {0};
  must(kf_fs_join(path, dir, name, &err), &err);
  must(kf_fs_write(path, text, strlen(text), &err), &err);
}

static void begin(fixture *f, const char *yaml) {
  kf_err err = {0};
  char work[KF_PATH_MAX];
  const int64_t symbols[] = {ROWS, COLS};
  memset(f, 0, sizeof *f);
  must(kf_fs_mkdtemp(f->dir, "kf-test", &err), &err);
  must(kf_fs_join(work, f->dir, "work", &err), &err);
  must(kf_fs_mkdirs(work, &err), &err);
  write_file(f->dir, "task.yaml", yaml);
  write_file(f->dir, "kernel.cl", kernel_cl);
  write_file(f->dir, "reference.c", reference_c);
  must(kf_task_load(f->dir, &f->task, &err), &err);
  must(kf_oracle_new(f->task, work, &f->oracle, &err), &err);
  must(kf_inputs_new(f->task, symbols, 128, &f->inputs, &err), &err);
  f->initial_works = true;
  f->source =
      (kf_expected_source){.oracle = f->oracle, .run_initial = initial, .context = f, .timeout_ms = 20000};
}

static void end(fixture *f) {
  kf_err err = {0};
  kf_inputs_free(f->inputs);
  kf_oracle_free(f->oracle);
  kf_task_free(f->task);
  must(kf_fs_remove_tree(f->dir, &err), &err);
}

static kf_expected *make(fixture *f, kf_family family, uint64_t seed) {
  kf_err err = {0};
  kf_expected *expected = NULL;
  must(kf_expected_make(&f->source, f->inputs, seed, family, &expected, &err), &err);
  return expected;
}

static kf_compare_result judge(const fixture *f, const kf_expected *expected, const float *y) {
  kf_err err = {0};
  kf_compare_result result;
  kf_tolerance tolerance = kf_expected_tolerance(expected, f->task, 2);
  must(kf_compare_array(&tolerance, y, expected->want[2], ROWS, &result, &err), &err);
  return result;
}

static void pass_everything(const char *yaml) {
  fixture f;
  begin(&f, yaml);
  for (int family = 0; family < KF_FAMILY_COUNT; family++)
    for (int seed = 1; seed <= 3; seed++) {
      kf_expected *expected = make(&f, (kf_family)family, (uint64_t)seed);
      for (way how = IN_ORDER; how <= IN_LANES; how++) {
        float y[ROWS];
        compute(f.inputs, how, y);
        kf_compare_result result = judge(&f, expected, y);
        if (!result.right)
          fail_msg("family %s, way %d: %lld wrong, got %g, want %g", kf_family_name((kf_family)family),
                   (int)how, (long long)result.wrong, result.first_got, result.first_want);
      }
      assert_true(expected->bytes >= (int64_t)(ROWS * sizeof(double)));
      kf_expected_free(expected);
    }
  end(&f);
}

static void test_verify_expected__honest_orders_pass_every_family(void **state) {
  (void)state;
  pass_everything(calibrated_yaml);
  pass_everything(linear_yaml);
}

/* What is wrong on a stress input only. */
static void test_verify_expected__stress_inputs_find_what_normal_ones_hide(void **state) {
  (void)state;
  fixture f;
  float y[ROWS];
  begin(&f, calibrated_yaml);
  kf_expected *expected = make(&f, KF_FAMILY_NAN_MIDDLE, 1);
  compute(f.inputs, IN_ORDER, y);
  int bad = 0;
  for (int r = 0; r < ROWS; r++)
    if (isnan(y[r])) y[r] = 0, bad++; /* NaN swallowed, as max(x, 0) would */
  assert_int_equal(bad, 1);
  assert_int_equal(judge(&f, expected, y).wrong, 1);
  kf_expected_free(expected);

  expected = make(&f, KF_FAMILY_EQUAL, 1);
  compute(f.inputs, IN_ORDER, y);
  y[3] *= 1.01f;
  assert_int_equal(judge(&f, expected, y).wrong, 1);
  kf_expected_free(expected);

  /* Subnormals: flushed inputs are right, anything else of that size is too, another size is not. */
  expected = make(&f, KF_FAMILY_SUBNORMAL, 1);
  memset(y, 0, sizeof y);
  assert_true(judge(&f, expected, y).right);
  y[5] = 1e-30f;
  assert_int_equal(judge(&f, expected, y).wrong, 1);
  kf_expected_free(expected);
  end(&f);
}

static void test_verify_expected__where_honest_runs_disagree_nothing_is_compared(void **state) {
  (void)state;
  fixture f;
  float y[ROWS];
  begin(&f, calibrated_yaml);
  f.initial_works = false; /* then the float reference alone */
  kf_expected *expected = make(&f, KF_FAMILY_INF_FIRST, 2);
  compute(f.inputs, REVERSED, y);
  assert_true(judge(&f, expected, y).right);
  int64_t waived = 0;
  for (int r = 0; r < ROWS; r++)
    waived += isinf(expected->slack[2][r]) != 0;
  assert_int_equal(waived, 0); /* they agree here */
  y[0] = 1;                    /* an infinity is due */
  assert_int_equal(judge(&f, expected, y).wrong, 1);
  kf_expected_free(expected);
  end(&f);
}

static void test_verify_expected__small_integers_of_a_linear_task_are_exact(void **state) {
  (void)state;
  fixture f;
  float y[ROWS];
  begin(&f, linear_yaml);
  kf_expected *expected = make(&f, KF_FAMILY_INTEGERS, 7);
  assert_true(expected->exact[2]);
  compute(f.inputs, IN_LANES, y);
  assert_true(judge(&f, expected, y).right);
  y[9] = nextafterf(y[9], 1e9f); /* far within the bound, but no sum of integers */
  assert_int_equal(judge(&f, expected, y).wrong, 1);
  kf_expected_free(expected);
  expected = make(&f, KF_FAMILY_NORMAL, 7);
  assert_false(expected->exact[2]);
  kf_expected_free(expected);
  end(&f);
}

static kf_precision_result gate(fixture *f, const kf_precision *precision, way how) {
  kf_err err = {0};
  kf_precision_sum sum = {0};
  int arg = -1;
  for (int d = 0; d < precision->ndraws; d++) {
    float y[ROWS];
    must(kf_inputs_fill(f->inputs, precision->seeds[d], KF_FAMILY_NORMAL, &err), &err);
    compute(f->inputs, how, y);
    kf_precision_add(precision, d, 2, KF_TYPE_F32, y, ROWS, &sum);
  }
  kf_precision_result result = kf_precision_judge(precision, &sum, &arg);
  assert_int_equal(arg, precision->observable ? 2 : -1);
  return result;
}

static void test_verify_expected__the_precision_gate_tells_lower_inputs(void **state) {
  (void)state;
  static const char *const tasks[] = {calibrated_yaml, linear_yaml};
  for (int t = 0; t < 2; t++) {
    fixture f;
    kf_err err = {0};
    kf_precision *precision = NULL;
    begin(&f, tasks[t]);
    must(kf_precision_make(&f.source, f.inputs, 3, &precision, &err), &err);
    assert_true(precision->applies && precision->observable);
    assert_int_equal(precision->ndraws, 7); /* 7 x 40 elements */
    for (way how = IN_ORDER; how <= IN_LANES; how++)
      assert_int_equal(gate(&f, precision, how).state, KF_PRECISION_PASSED);
    kf_precision_result result = gate(&f, precision, LOWER);
    assert_int_equal(result.state, KF_PRECISION_FAILED);
    assert_true(result.rms > result.limit && result.limit > 0);
    kf_precision_free(precision);
    end(&f);
  }
}

static void test_verify_expected__the_gate_without_a_reference_is_unobservable(void **state) {
  (void)state;
  fixture f;
  kf_err err = {0};
  kf_precision *precision = NULL;
  begin(&f, calibrated_yaml);
  f.source.oracle = NULL;
  must(kf_precision_make(&f.source, f.inputs, 3, &precision, &err), &err);
  assert_true(precision->applies && !precision->observable);
  assert_int_equal(gate(&f, precision, LOWER).state, KF_PRECISION_UNOBSERVABLE);
  kf_precision_free(precision);
  end(&f);
}

/* A result that is no number must not fall out of the mean. */
static void test_verify_expected__nan_fails_the_gate(void **state) {
  (void)state;
  fixture f;
  kf_err err = {0};
  kf_precision *precision = NULL;
  kf_precision_sum sum = {0};
  int arg = -1;
  float y[ROWS];
  begin(&f, calibrated_yaml);
  must(kf_precision_make(&f.source, f.inputs, 3, &precision, &err), &err);
  compute(f.inputs, IN_ORDER, y);
  y[4] = NAN;
  kf_precision_add(precision, precision->ndraws - 1, 2, KF_TYPE_F32, y, ROWS, &sum);
  assert_int_equal(kf_precision_judge(precision, &sum, &arg).state, KF_PRECISION_FAILED);
  kf_precision_free(precision);
  end(&f);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_expected__honest_orders_pass_every_family),
      cmocka_unit_test(test_verify_expected__stress_inputs_find_what_normal_ones_hide),
      cmocka_unit_test(test_verify_expected__where_honest_runs_disagree_nothing_is_compared),
      cmocka_unit_test(test_verify_expected__small_integers_of_a_linear_task_are_exact),
      cmocka_unit_test(test_verify_expected__the_precision_gate_tells_lower_inputs),
      cmocka_unit_test(test_verify_expected__the_gate_without_a_reference_is_unobservable),
      cmocka_unit_test(test_verify_expected__nan_fails_the_gate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
