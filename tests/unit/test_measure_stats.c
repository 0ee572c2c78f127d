/* links: kf_base kf_wire kf_measure */
/* test_measure_stats.c - medians, and intervals with exactly the ranks of docs/internals/evaluator.md, T6.
 */
#include "measure/stats.h"

#include "base/philox.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_measure_stats__ranks_are_the_published_ones(void **state) {
  (void)state;
  static const struct {
    double level;
    int count, rank;
  } rows[] = {{0.95, 6, 1},    {0.95, 12, 3},   {0.95, 24, 7},    {0.95, 48, 17},   {0.9818, 8, 1},
              {0.9818, 12, 2}, {0.9818, 24, 6}, {0.9818, 48, 16}, {0.95, 5, 0},     {0.95, 0, 0},
              {0.95, 3, 0},    {0.5, 1, 0},     {0.5, 2, 1},      {0.95, 2000, 956}};
  for (size_t i = 0; i < KF_COUNTOF(rows); i++)
    if (kf_interval_rank(rows[i].count, rows[i].level) != rows[i].rank)
      fail_msg("n=%d level=%g: rank %d, expected %d", rows[i].count, rows[i].level,
               kf_interval_rank(rows[i].count, rows[i].level), rows[i].rank);
}

static void test_measure_stats__median_of_odd_and_even_counts(void **state) {
  (void)state;
  const double values[] = {3, -1, 2, -HUGE_VAL, 7, 0.5};
  assert_true(kf_median(values, 1) == 3);
  assert_true(kf_median(values, 2) == 1);
  assert_true(kf_median(values, 3) == 2);
  assert_true(kf_median(values, 5) == 2);
  assert_true(kf_median(values, 6) == 1.25);
  assert_true(values[0] == 3 && values[5] == 0.5); /* untouched */
  const double same[] = {0.25, 0.25, 0.25, 0.25};
  assert_true(kf_median(same, 4) == 0.25);
  const double zeros[] = {-0.0, 0.0, -0.0};
  assert_true(kf_median(zeros, 3) == 0);
}

static void test_measure_stats__integer_median_is_the_lower_one(void **state) {
  (void)state;
  const int64_t values[] = {9, INT64_MIN, 4, INT64_MAX};
  assert_int_equal(kf_median_i64(values, 1), 9);
  assert_int_equal(kf_median_i64(values, 2), INT64_MIN);
  assert_int_equal(kf_median_i64(values, 3), 4);
  assert_int_equal(kf_median_i64(values, 4), 4);
}

static void test_measure_stats__interval_takes_order_statistics(void **state) {
  (void)state;
  const double values[] = {6, 1, 5, 2, 4, 3, 12, 7, 11, 8, 10, 9};
  kf_interval interval = kf_interval_median(values, 12, 0.95);
  assert_true(interval.median == 6.5 && interval.low == 3 && interval.high == 10);
  assert_true(interval.level == 0.95);
  interval = kf_interval_median(values, 6, 0.95);
  assert_true(interval.median == 3.5 && interval.low == 1 && interval.high == 6);
}

static void test_measure_stats__too_few_values_give_an_infinite_interval(void **state) {
  (void)state;
  const double values[] = {1, 2, 3};
  kf_interval interval = kf_interval_median(values, 3, 0.95);
  assert_true(interval.median == 2 && isinf(interval.low) && interval.low < 0 && isinf(interval.high));
  interval = kf_interval_median(values, 0, 0.95);
  assert_true(interval.median == 0 && isinf(interval.low) && isinf(interval.high));
}

/* Skewed noise: an exponential minus its median, so that the true median is 0. */
static double skewed(kf_rng *rng) {
  return -log(1 - kf_rng_unit(rng)) - log(2);
}

static void test_measure_stats__intervals_cover_the_median(void **state) {
  (void)state;
  static const int counts[] = {6, 12, 24, 48};
  enum { REPEATS = 4000 };
  kf_rng rng;
  kf_rng_init(&rng, 1, 2, 3);
  for (size_t c = 0; c < KF_COUNTOF(counts); c++) {
    int covered = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      double values[48];
      for (int i = 0; i < counts[c]; i++)
        values[i] = skewed(&rng);
      kf_interval interval = kf_interval_median(values, counts[c], 0.95);
      covered += interval.low <= 0 && interval.high >= 0;
    }
    assert_true(covered >= 0.94 * REPEATS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_measure_stats__ranks_are_the_published_ones),
      cmocka_unit_test(test_measure_stats__median_of_odd_and_even_counts),
      cmocka_unit_test(test_measure_stats__integer_median_is_the_lower_one),
      cmocka_unit_test(test_measure_stats__interval_takes_order_statistics),
      cmocka_unit_test(test_measure_stats__too_few_values_give_an_infinite_interval),
      cmocka_unit_test(test_measure_stats__intervals_cover_the_median),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
