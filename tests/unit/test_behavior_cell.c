/* links: kf_behavior */
/* test_behavior_cell.c - the level table of docs/internals/search.md, axis by axis. */
#include "behavior/behavior.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const kf_behavior_base naive = {.operations = 2, .sweeps = 3};
static const kf_evidence scalar = {.known = true, .vector_width = 1, .launches = 2, .sweeps = 3};

static int level(const kf_evidence *evidence, int axis) {
  return kf_behavior_cell(evidence, &naive).level[axis];
}

static void test_behavior_cell__memory(void **state) {
  (void)state;
  kf_evidence e = scalar;
  assert_int_equal(level(&e, 0), 0);
  e.accumulators = 16;
  e.register_staging = e.async_or_prefetch = true;
  assert_int_equal(level(&e, 0), 0); /* nothing is staged */
  e.vector_width = 2;
  assert_int_equal(level(&e, 0), 1);
  e = scalar;
  e.staged_local = true;
  assert_int_equal(level(&e, 0), 2);
  e.accumulators = 4;
  assert_int_equal(level(&e, 0), 2); /* one of three */
  e.async_or_prefetch = true;
  assert_int_equal(level(&e, 0), 3);
  e.accumulators = 3;
  assert_int_equal(level(&e, 0), 2);
  e.register_staging = true;
  assert_int_equal(level(&e, 0), 3);
}

static void test_behavior_cell__algorithm(void **state) {
  (void)state;
  kf_evidence e = scalar;
  assert_int_equal(level(&e, 1), 0);
  e.launches = 1;
  assert_int_equal(level(&e, 1), 1);
  e.sweeps = 2;
  assert_int_equal(level(&e, 1), 2);
  e.sweeps = 0; /* no input was recognised */
  assert_int_equal(level(&e, 1), 1);
  e.split_reduction = true;
  assert_int_equal(level(&e, 1), 3);
  kf_behavior_base split = naive;
  split.split_reduction = true;
  assert_int_equal(kf_behavior_cell(&e, &split).level[1], 1); /* the naive kernel does it too */
  kf_behavior_base one = {.operations = 1, .sweeps = 1};
  e = scalar;
  e.launches = 1;
  e.sweeps = 1;
  assert_int_equal(kf_behavior_cell(&e, &one).level[1], 0); /* one operation cannot be fused */
}

static void test_behavior_cell__coordination_and_matrix(void **state) {
  (void)state;
  kf_evidence e = scalar;
  assert_int_equal(level(&e, 2), 0);
  e.barrier = true;
  assert_int_equal(level(&e, 2), 1);
  e.subgroup = true;
  assert_int_equal(level(&e, 2), 2);
  e.joined_launches = true;
  assert_int_equal(level(&e, 2), 3);
  e = scalar;
  e.global_atomic = true;
  assert_int_equal(level(&e, 2), 3);
  assert_int_equal(level(&e, 3), 0);
  e.matrix = 2;
  assert_int_equal(level(&e, 3), 2);
  e.matrix = 99;
  assert_int_equal(level(&e, 3), 3);
}

static void test_behavior_cell__unknown(void **state) {
  (void)state;
  kf_evidence e = scalar;
  e.known = false;
  e.staged_local = true;
  assert_int_equal(kf_behavior_cell(&e, &naive).level[0], -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_behavior_cell__memory),
      cmocka_unit_test(test_behavior_cell__algorithm),
      cmocka_unit_test(test_behavior_cell__coordination_and_matrix),
      cmocka_unit_test(test_behavior_cell__unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
