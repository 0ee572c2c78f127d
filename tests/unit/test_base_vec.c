/* links: kf_base */
/* test_base_vec.c - typed arrays grow and, on failure, stay as they were. */
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_base_sweep.h"

typedef struct {
  int number;
  double weight;
} pair;

static void test_vec__keeps_what_was_pushed(void **state) {
  (void)state;
  KF_VEC(pair) pairs = {0};
  for (int i = 0; i < 1000; i++)
    assert_int_equal(kf_vec_push(&pairs, (pair){i, i * 0.5}), KF_OK);
  assert_int_equal(pairs.count, 1000);
  assert_true(pairs.room >= 1000);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(pairs.items[i].number, i);
    assert_true(pairs.items[i].weight == i * 0.5);
  }
  kf_vec_done(&pairs);
  assert_null(pairs.items);
  assert_int_equal(pairs.count, 0);
  assert_int_equal(pairs.room, 0);
}

static void test_vec__refuses_overflowing_growth(void **state) {
  (void)state;
  void *items = NULL;
  size_t room = SIZE_MAX / 4 * 3;
  assert_int_equal(kf_vec_grow(&items, &room, room, 1), KF_ENOMEM);
  room = SIZE_MAX / 8;
  assert_int_equal(kf_vec_grow(&items, &room, room, 64), KF_ENOMEM);
  assert_null(items);
  assert_int_equal(room, SIZE_MAX / 8);
}

static kf_status push_many(void) {
  KF_VEC(int) numbers = {0};
  kf_status status = KF_OK;
  int pushed = 0;
  while (pushed < 50 && status == KF_OK) {
    status = kf_vec_push(&numbers, pushed);
    if (status == KF_OK) pushed++;
  }
  assert_int_equal(numbers.count, pushed);
  for (int i = 0; i < pushed; i++)
    assert_int_equal(numbers.items[i], i);
  kf_vec_done(&numbers);
  return status;
}

static void test_vec__survives_failing_allocations(void **state) {
  (void)state;
  assert_int_equal(sweep_allocations(push_many, false), 6); /* 8, 12, 18, 27, 40, 60 */
  assert_int_equal(sweep_allocations(push_many, true), 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vec__keeps_what_was_pushed),
      cmocka_unit_test(test_vec__refuses_overflowing_growth),
      cmocka_unit_test(test_vec__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
