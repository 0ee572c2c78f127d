/* links: kf_base kf_wire kf_task kf_device kf_build kf_verify kf_measure kf_eval */
/* test_eval_trivial.c - answers without computation are found where a comparison lets them through, and only
 * there. */
#include "eval/trivial.h"

#include "test_task_util.h"
#include <string.h>

typedef struct {
  kf_task *task;
  kf_inputs *inputs;
  kf_expected expected;
  double *other[KF_ARGS_MAX];
  kf_trivial *trivial;
  kf_admission admission;
} world;

/* x[n] -> y[n, m], x and y as large as each other where m is 1. */
static void world_new(world *w, int64_t n, int64_t m, const char *fill) {
  char yaml[1024];
  kf_err err = {0};
  memset(w, 0, sizeof *w);
  snprintf(
      yaml, sizeof yaml,
      "name: t\nlanguage: opencl\nsymbols: {n: {default: %lld, min: 1, max: 99}, m: {default: %lld, min: 1, "
      "max: 99}}\nargs:\n  - {name: x, role: in, type: f32, shape: [n], fill: %s}\n"
      "  - {name: y, role: out, type: f32, shape: [n, m]}\nkernel: kernel.cl\nreference: kernel\n",
      (long long)n, (long long)m, fill);
  w->task = load_yaml(yaml);
  if (kf_inputs_new(w->task, w->task->check[0].values, 64, &w->inputs, &err) != KF_OK)
    fail_msg("%s", err.msg);
  assert_int_equal(kf_inputs_fill(w->inputs, 1, KF_FAMILY_DECLARED, &err), KF_OK);
  w->expected.e_float[1] = 1e-6;
  w->expected.want[1] = kf_alloc(sizeof(double) * (size_t)(n * m));
  w->other[1] = kf_alloc(sizeof(double) * (size_t)(n * m));
  w->trivial = kf_calloc(1, sizeof *w->trivial);
  assert_true(w->expected.want[1] && w->other[1] && w->trivial);
  for (int64_t i = 0; i < n * m; i++) {
    w->expected.want[1][i] = (double)((i * 37) % 101) / 7 - 3;
    w->other[1][i] = (double)((i * 53) % 101) / 7 - 5;
  }
}

static void world_done(world *w) {
  kf_free(w->trivial);
  kf_free(w->other[1]);
  kf_free(w->expected.want[1]);
  kf_inputs_free(w->inputs);
  kf_task_free(w->task);
}

static kf_admission_state conclude(world *w, bool measured) {
  kf_err err = {0};
  if (kf_trivial_try(w->trivial, w->inputs, &w->expected, w->other, measured, &err) != KF_OK ||
      kf_trivial_conclude(w->trivial, w->task, &w->admission, &err) != KF_OK)
    fail_msg("%s", err.msg);
  assert_true(w->admission.nlines >= 1);
  return kf_admission_worst(&w->admission);
}

static void test_eval_trivial__an_honest_output_is_none(void **state) {
  (void)state;
  world w;
  world_new(&w, 12, 5, "normal");
  assert_int_equal(conclude(&w, false), KF_ADMISSION_OK);
  world_done(&w);
}

static void test_eval_trivial__zeros(void **state) {
  (void)state;
  world w;
  world_new(&w, 12, 5, "uniform");
  for (int i = 0; i < 60; i++)
    w.expected.want[1][i] = (i % 2 ? 1e-7 : -1e-7); /* below the tolerance */
  assert_int_equal(conclude(&w, true), KF_ADMISSION_REFUSED);
  assert_non_null(strstr(w.admission.lines[0].text, "zeros passes as y (n=12,m=5"));
  assert_non_null(
      strstr(w.admission.lines[0].fix, "- {name: x, role: in, type: f32, shape: [n], fill: normal}"));
  world_done(&w);
}

static void test_eval_trivial__a_constant(void **state) {
  (void)state;
  world w;
  world_new(&w, 12, 5, "normal");
  for (int i = 0; i < 60; i++)
    w.expected.want[1][i] = 4.25, w.other[1][i] = i % 2 ? 4 : 4.5;
  assert_int_equal(conclude(&w, false), KF_ADMISSION_REFUSED);
  assert_non_null(strstr(w.admission.lines[0].text, "the mean of another seed's output"));
  world_done(&w);
}

static void test_eval_trivial__another_seed(void **state) {
  (void)state;
  world w;
  world_new(&w, 12, 5, "normal");
  memcpy(w.other[1], w.expected.want[1], 60 * sizeof(double));
  assert_int_equal(conclude(&w, false), KF_ADMISSION_REFUSED);
  assert_non_null(strstr(w.admission.lines[0].text, "does not depend on its inputs"));
  world_done(&w);
}

static void test_eval_trivial__a_copy(void **state) {
  (void)state;
  world w;
  world_new(&w, 12, 1, "normal");
  for (int i = 0; i < 12; i++)
    w.expected.want[1][i] = ((float *)kf_inputs_data(w.inputs, 0))[i];
  assert_int_equal(conclude(&w, true), KF_ADMISSION_REFUSED);
  assert_non_null(strstr(w.admission.lines[0].text, "a copy of x"));
  world_done(&w);
}

/* What passes on the smallest cases only is no answer: one element of a sum is the sum. */
static void test_eval_trivial__a_small_case_proves_nothing(void **state) {
  (void)state;
  world w, one;
  world_new(&w, 12, 1, "normal");
  world_new(&one, 1, 1, "normal");
  one.expected.want[1][0] = ((float *)kf_inputs_data(one.inputs, 0))[0];
  assert_int_equal(kf_trivial_try(w.trivial, one.inputs, &one.expected, one.other, false, NULL), KF_OK);
  assert_int_equal(kf_trivial_try(w.trivial, w.inputs, &w.expected, w.other, false, NULL), KF_OK);
  assert_int_equal(conclude(&w, true), KF_ADMISSION_OK);
  /* On most cases it is a doubt. */
  assert_int_equal(kf_trivial_try(w.trivial, one.inputs, &one.expected, one.other, false, NULL), KF_OK);
  memset(&w.admission, 0, sizeof w.admission);
  assert_int_equal(kf_trivial_conclude(w.trivial, w.task, &w.admission, NULL), KF_OK);
  assert_int_equal(kf_admission_worst(&w.admission), KF_ADMISSION_DOUBTFUL);
  assert_non_null(strstr(w.admission.lines[0].text, "2 of 3 check cases"));
  world_done(&one);
  world_done(&w);
}

static void test_eval_trivial__rows_that_are_alike(void **state) {
  (void)state;
  world w;
  world_new(&w, 12, 5, "normal");
  for (int i = 0; i < 60; i++)
    w.expected.want[1][i] = i % 5;
  assert_int_equal(conclude(&w, false), KF_ADMISSION_DOUBTFUL);
  assert_non_null(strstr(w.admission.lines[0].text, "the same all along axis 0"));
  world_done(&w);
}

/* Not a number counts as a value: an output of nothing else is a constant like any other. */
static void test_eval_trivial__nan_everywhere(void **state) {
  (void)state;
  world w;
  world_new(&w, 12, 5, "normal");
  for (int i = 0; i < 60; i++)
    w.expected.want[1][i] = w.other[1][i] = __builtin_nan("");
  assert_int_equal(conclude(&w, true), KF_ADMISSION_REFUSED);
  world_done(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_eval_trivial__an_honest_output_is_none),
      cmocka_unit_test(test_eval_trivial__zeros),
      cmocka_unit_test(test_eval_trivial__a_constant),
      cmocka_unit_test(test_eval_trivial__another_seed),
      cmocka_unit_test(test_eval_trivial__a_copy),
      cmocka_unit_test(test_eval_trivial__a_small_case_proves_nothing),
      cmocka_unit_test(test_eval_trivial__rows_that_are_alike),
      cmocka_unit_test(test_eval_trivial__nan_everywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
