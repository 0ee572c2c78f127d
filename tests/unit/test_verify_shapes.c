/* links: kf_base kf_wire kf_task kf_verify */
/* test_verify_shapes.c - hidden shapes lie in the domain, are not the named ones, and cover what breaks
 * kernels. */
#include "verify/shapes.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SECRETS = 200 };

static const char *const tasks[] = {"conv2d",     "layernorm",   "matmul",
                                    "reduce_sum", "row_softmax", "transpose"};

static kf_task *load(const char *name) {
  char path[512];
  kf_task *task = NULL;
  kf_err err = {0};
  snprintf(path, sizeof path, KF_TEST_SOURCE_DIR "/tasks/%s", name);
  if (kf_task_load(path, &task, &err) != KF_OK) fail_msg("%s", err.msg);
  return task;
}

static bool equal(const kf_task *task, const kf_case *a, const kf_case *b) {
  return memcmp(a->values, b->values, sizeof(int64_t) * (size_t)task->nsymbols) == 0;
}

static void test_verify_shapes__are_in_the_domain_and_not_named(void **state) {
  (void)state;
  for (size_t t = 0; t < KF_COUNTOF(tasks); t++) {
    kf_task *task = load(tasks[t]);
    for (uint64_t secret = 0; secret < SECRETS; secret++) {
      kf_case cases[KF_SHAPE_KINDS];
      int count = kf_shapes_hidden(task, secret, cases);
      assert_in_range(count, KF_SHAPE_KINDS - 2, KF_SHAPE_KINDS);
      for (int i = 0; i < count; i++) {
        assert_int_equal(kf_task_check_case(task, cases[i].values, NULL), KF_OK);
        for (int c = 0; c < task->ncheck; c++)
          assert_false(equal(task, &cases[i], &task->check[c]));
        for (int c = 0; c < task->nmeasure; c++)
          assert_false(equal(task, &cases[i], &task->measure[c]));
        for (int c = 0; c < i; c++)
          assert_false(equal(task, &cases[i], &cases[c]));
      }
    }
    kf_task_free(task);
  }
}

static int64_t elements(const kf_task *task, const kf_case *c) {
  int64_t total = 0, n = 0, shape[KF_RANK_MAX];
  for (int a = 0; a < task->nargs; a++) {
    assert_int_equal(kf_task_elements(task, a, c->values, &n, shape, NULL), KF_OK);
    total += n;
  }
  return total;
}

static void test_verify_shapes__stay_small_enough_for_the_reference(void **state) {
  (void)state;
  for (size_t t = 0; t < KF_COUNTOF(tasks); t++) {
    kf_task *task = load(tasks[t]);
    int64_t largest = 1 << 18;
    for (int c = 0; c < task->nmeasure; c++)
      if (elements(task, &task->measure[c]) > largest) largest = elements(task, &task->measure[c]);
    for (uint64_t secret = 0; secret < SECRETS; secret++) {
      kf_case cases[KF_SHAPE_KINDS];
      int count = kf_shapes_hidden(task, secret, cases);
      for (int i = 0; i < count; i++)
        assert_true(elements(task, &cases[i]) <= 4 * largest);
    }
    kf_task_free(task);
  }
}

/* Over many secrets: the end of the domain, the smallest values, and sizes beyond every named case appear. */
static void test_verify_shapes__reach_the_ends_of_the_domain(void **state) {
  (void)state;
  kf_task *task = load("row_softmax");
  const kf_symbol *cols = &task->symbols[kf_task_symbol(task, "cols")];
  int at_max = 0, at_min = 0, beyond = 0, odd = 0, round = 0;
  for (uint64_t secret = 0; secret < SECRETS; secret++) {
    kf_case cases[KF_SHAPE_KINDS];
    int count = kf_shapes_hidden(task, secret, cases);
    for (int i = 0; i < count; i++) {
      int64_t value = cases[i].values[kf_task_symbol(task, "cols")];
      at_max += value == cols->max;
      at_min += value == cols->min;
      beyond += value > task->measure[0].values[kf_task_symbol(task, "cols")];
      odd += value % 2 == 1;
      round += value % 64 == 0;
    }
  }
  assert_true(at_max > SECRETS / 4);
  assert_true(at_min > SECRETS / 4);
  assert_true(beyond > SECRETS / 4);
  assert_true(odd > SECRETS);
  assert_true(round > SECRETS / 2);
  kf_task_free(task);
}

/* Two secrets give two sets: knowing one run's shapes says nothing about the next. */
static void test_verify_shapes__differ_by_secret(void **state) {
  (void)state;
  kf_task *task = load("matmul");
  kf_case first[KF_SHAPE_KINDS], again[KF_SHAPE_KINDS], other[KF_SHAPE_KINDS];
  int count = kf_shapes_hidden(task, 7, first);
  assert_int_equal(kf_shapes_hidden(task, 7, again), count);
  for (int i = 0; i < count; i++)
    assert_true(equal(task, &first[i], &again[i]));
  assert_true(kf_shapes_hidden(task, 8, other) > 0);
  assert_false(equal(task, &first[KF_SHAPE_PRIME], &other[KF_SHAPE_PRIME]));
  kf_task_free(task);
}

static void test_verify_shapes__none_where_all_is_fixed_or_the_domain_is_used_up(void **state) {
  (void)state;
  kf_case cases[KF_SHAPE_KINDS];
  kf_task task = {.nsymbols = 1};
  task.symbols[0] =
      (kf_symbol){.name = "n", .initial = 8, .min = 8, .max = 8, .multiple_of = 1, .fixed = true};
  assert_int_equal(kf_shapes_hidden(&task, 1, cases), 0);
  task.symbols[0] = (kf_symbol){.name = "n", .initial = 4, .min = 4, .max = 7, .multiple_of = 4};
  task.ncheck = 1;
  task.check[0].values[0] = 4;
  assert_int_equal(kf_shapes_hidden(&task, 1, cases), 0);
}

static void test_verify_shapes__survive_the_largest_domain(void **state) {
  (void)state;
  kf_case cases[KF_SHAPE_KINDS];
  kf_task task = {.nsymbols = 2};
  for (int s = 0; s < 2; s++)
    task.symbols[s] = (kf_symbol){.name = "n", .initial = 1, .min = 1, .max = INT64_MAX, .multiple_of = 3};
  task.ncheck = task.nmeasure = 1;
  task.check[0].values[0] = task.check[0].values[1] = 3;
  task.measure[0].values[0] = task.measure[0].values[1] = INT64_MAX;
  for (uint64_t secret = 0; secret < SECRETS; secret++) {
    int count = kf_shapes_hidden(&task, secret, cases);
    for (int i = 0; i < count; i++)
      for (int s = 0; s < 2; s++) {
        assert_true(cases[i].values[s] >= 1 && cases[i].values[s] <= INT64_C(1) << 40);
        assert_int_equal(cases[i].values[s] % 3, 0);
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_shapes__are_in_the_domain_and_not_named),
      cmocka_unit_test(test_verify_shapes__stay_small_enough_for_the_reference),
      cmocka_unit_test(test_verify_shapes__reach_the_ends_of_the_domain),
      cmocka_unit_test(test_verify_shapes__differ_by_secret),
      cmocka_unit_test(test_verify_shapes__none_where_all_is_fixed_or_the_domain_is_used_up),
      cmocka_unit_test(test_verify_shapes__survive_the_largest_domain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
