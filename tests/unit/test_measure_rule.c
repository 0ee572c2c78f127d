/* links: kf_base kf_wire kf_measure */
/* test_measure_rule.c - the stopping rule: each way to end, and its error rates on simulated races. */
#include "measure/rule.h"

#include "base/philox.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Adds `d` until the race ends; returns the number of blocks. */
static int run_constant(kf_rule *rule, double d) {
  while (!kf_rule_finished(rule))
    kf_rule_add(rule, d);
  return rule->count;
}

static kf_race_result result_of(const kf_rule *rule) {
  kf_race_result result = {.against = "opponent"};
  kf_rule_result(rule, &result);
  return result;
}

static void test_measure_rule__a_slow_candidate_is_dropped_after_three(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 1.3, 0, 48);
  assert_int_equal(run_constant(&rule, log(1 / 1.5)), 3);
  kf_race_result result = result_of(&rule);
  assert_int_equal(result.outcome, KF_RACE_DROPPED);
  assert_non_null(strstr(result.why, "1.5 times slower"));
  assert_string_equal(result.against, "opponent");
}

static void test_measure_rule__dropping_can_be_off_and_needs_the_minimum(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 0, 0, 48);
  assert_int_equal(run_constant(&rule, log(1 / 1.5)), 6);
  assert_int_equal(result_of(&rule).outcome, KF_RACE_SLOWER);
  kf_rule_init(&rule, 0.01, 1.3, 24, 48);
  assert_int_equal(run_constant(&rule, log(1 / 1.5)), 24);
  assert_int_equal(result_of(&rule).outcome, KF_RACE_SLOWER);
}

static void test_measure_rule__a_clear_winner_needs_six_blocks(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 1.3, 0, 48);
  static const double d[] = {0.40, 0.41, 0.39, 0.42, 0.38, 0.43};
  for (int i = 0; i < 6; i++) {
    assert_false(kf_rule_finished(&rule));
    kf_rule_add(&rule, d[i]);
  }
  assert_true(kf_rule_finished(&rule));
  kf_race_result result = result_of(&rule);
  assert_int_equal(result.outcome, KF_RACE_FASTER);
  assert_int_equal(result.blocks, 6);
  assert_int_equal(result.low_nano, 380000000);
  assert_int_equal(result.high_nano, 430000000);
  assert_int_equal(result.median_nano, 405000000);
  assert_true(result.level == 0.95);
}

static void test_measure_rule__time_up_is_an_undecided_tie(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 0, 0, 48);
  for (int i = 0; i < 6; i++) {
    kf_rule_time_up(&rule); /* too early: fewer than six blocks say nothing */
    assert_false(kf_rule_finished(&rule));
    kf_rule_add(&rule, i % 2 ? 0.02 : 0.03);
  }
  kf_rule_time_up(&rule);
  kf_race_result result = result_of(&rule);
  assert_int_equal(result.outcome, KF_RACE_TIE);
  assert_int_equal(result.low_nano, 20000000);
  assert_non_null(strstr(result.why, "undecided"));
  kf_rule_init(&rule, 0.01, 0, 8, 48);
  for (int i = 0; i < 7; i++)
    kf_rule_add(&rule, 0.02);
  kf_rule_time_up(&rule); /* a rule that wants eight blocks is not cut before */
  assert_false(kf_rule_finished(&rule));
}

static void test_measure_rule__six_scattered_blocks_go_on_to_the_looks(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 1.3, 0, 48);
  static const double d[] = {0.4, 0.4, 0.4, 0.4, -0.2, 0.4, 0.4, 0.4};
  for (int i = 0; i < 8; i++)
    kf_rule_add(&rule, d[i]);
  assert_false(kf_rule_finished(&rule)); /* one low value: (1,8) does not decide either */
  assert_int_equal(run_constant(&rule, 0.4), 12);
  assert_int_equal(result_of(&rule).outcome, KF_RACE_FASTER);
}

static void test_measure_rule__looks_and_outcomes(void **state) {
  (void)state;
  static const struct {
    double d;
    int blocks;
    kf_race_outcome outcome;
  } rows[] = {
      {0.05, 8, KF_RACE_FASTER}, {-0.05, 8, KF_RACE_SLOWER}, {0.0, 8, KF_RACE_TIE}, {0.009, 8, KF_RACE_TIE}};
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    kf_rule rule;
    kf_rule_init(&rule, 0.01, 1.3, 0, 48);
    assert_int_equal(run_constant(&rule, rows[i].d), rows[i].blocks);
    assert_int_equal(result_of(&rule).outcome, rows[i].outcome);
    assert_true(fabs(result_of(&rule).level - 0.9818) < 1e-12);
  }
}

static void test_measure_rule__undecided_at_the_end_is_a_tie(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 1.3, 0, 48);
  for (int i = 0; !kf_rule_finished(&rule); i++) {
    kf_race_result so_far = result_of(&rule);
    assert_int_equal(so_far.outcome, KF_RACE_NONE);
    assert_string_equal(so_far.why, "");
    kf_rule_add(&rule, i % 2 == 0 ? 0.1 : -0.1);
  }
  kf_race_result result = result_of(&rule);
  assert_int_equal(result.blocks, 48);
  assert_int_equal(result.outcome, KF_RACE_TIE);
  assert_string_equal(result.why, "undecided after 48 blocks");
}

static void test_measure_rule__limits_of_blocks_are_kept(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 0, 6, 6); /* a link: one look, at 95 % */
  assert_int_equal(run_constant(&rule, 0.05), 6);
  assert_int_equal(result_of(&rule).outcome, KF_RACE_FASTER);
  assert_true(result_of(&rule).level == 0.95);
  kf_rule_init(&rule, 0.01, 0, 24, 24); /* confirmation */
  assert_int_equal(run_constant(&rule, 0.5), 24);
  assert_true(result_of(&rule).level == 0.95);
  kf_rule_init(&rule, 0.01, 0, 24, 48);
  assert_int_equal(run_constant(&rule, 0.05), 24);
  assert_true(result_of(&rule).level > 0.98);
  kf_rule_init(&rule, 0.01, 0, 10, 20); /* maximum that is no look */
  for (int i = 0; !kf_rule_finished(&rule); i++)
    kf_rule_add(&rule, i % 2 == 0 ? 0.1 : -0.1);
  assert_int_equal(rule.count, 20);
  kf_rule_add(&rule, 5); /* after the end: no effect */
  assert_int_equal(rule.count, 20);
  kf_rule_init(&rule, 0.01, 0, -1, 1000);
  assert_int_equal(rule.blocks_max, KF_RULE_BLOCKS_MAX);
}

static void test_measure_rule__many_dropped_blocks_are_called_unstable(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 1.3, 0, 48);
  kf_rule_drop_block(&rule);
  kf_rule_drop_block(&rule);
  run_constant(&rule, 0.05);
  assert_false(kf_rule_unstable(&rule)); /* 2 of 10 */
  kf_rule_init(&rule, 0.01, 1.3, 0, 48);
  for (int i = 0; i < 3; i++)
    kf_rule_drop_block(&rule);
  assert_false(kf_rule_unstable(&rule)); /* not finished */
  run_constant(&rule, 0.05);
  assert_true(kf_rule_unstable(&rule)); /* 3 of 11 */
  kf_race_result result = result_of(&rule);
  assert_int_equal(result.dropped, 3);
  assert_int_equal(strncmp(result.why, "unstable conditions: 3 of 11 blocks dropped", 43), 0);
}

static void test_measure_rule__endless_disturbance_ends_the_race(void **state) {
  (void)state;
  kf_rule rule;
  kf_rule_init(&rule, 0.01, 1.3, 0, 48);
  kf_rule_add(&rule, 0.01);
  int dropped = 0;
  for (; !kf_rule_finished(&rule); dropped++)
    kf_rule_drop_block(&rule);
  assert_int_equal(dropped, 13); /* 12 of 60 can still be 20 % */
  assert_int_equal(result_of(&rule).outcome, KF_RACE_TIE);
  assert_true(kf_rule_unstable(&rule));
}

/* ---- simulated races ---- */

enum { RACES = 2000 };

typedef struct {
  int outcome[5];
  int covered; /* the printed interval holds the true median */
} tally;

/* Sum of 12 uniforms: normal enough, and free of libm. */
static double gaussian(kf_rng *rng) {
  double sum = -6;
  for (int i = 0; i < 12; i++)
    sum += kf_rng_unit(rng);
  return sum;
}

static tally simulate(double gain, double sigma, uint64_t seed) {
  tally t = {0};
  kf_rng rng;
  kf_rng_init(&rng, seed, 0, 7);
  for (int race = 0; race < RACES; race++) {
    kf_rule rule;
    kf_rule_init(&rule, 0.01, 1.3, 0, 48);
    while (!kf_rule_finished(&rule))
      kf_rule_add(&rule, gain + sigma * gaussian(&rng));
    t.outcome[rule.outcome]++;
    t.covered += rule.interval.low <= gain && rule.interval.high >= gain;
  }
  return t;
}

static void test_measure_rule__equal_kernels_tie(void **state) {
  (void)state;
  static const double sigmas[] = {0.01, 0.04};
  for (size_t i = 0; i < KF_COUNTOF(sigmas); i++) {
    tally t = simulate(0, sigmas[i], 11 + i);
    assert_true(t.outcome[KF_RACE_TIE] >= 0.96 * RACES);
    assert_int_equal(t.outcome[KF_RACE_DROPPED], 0);
    assert_true(t.covered >= 0.94 * RACES);
  }
}

static void test_measure_rule__a_gain_of_five_percent_is_seen(void **state) {
  (void)state;
  tally t = simulate(log(1.05), 0.01, 21);
  assert_true(t.outcome[KF_RACE_FASTER] > 0.99 * RACES);
  assert_true(t.covered >= 0.94 * RACES);
  t = simulate(-log(1.05), 0.01, 22);
  assert_true(t.outcome[KF_RACE_SLOWER] > 0.99 * RACES);
}

static void test_measure_rule__intervals_keep_their_level_when_stopping(void **state) {
  (void)state;
  static const double gains[] = {0.005, 0.02, 0.3, -0.02};
  for (size_t i = 0; i < KF_COUNTOF(gains); i++)
    assert_true(simulate(gains[i], 0.02, 31 + i).covered >= 0.94 * RACES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_measure_rule__a_slow_candidate_is_dropped_after_three),
      cmocka_unit_test(test_measure_rule__dropping_can_be_off_and_needs_the_minimum),
      cmocka_unit_test(test_measure_rule__a_clear_winner_needs_six_blocks),
      cmocka_unit_test(test_measure_rule__time_up_is_an_undecided_tie),
      cmocka_unit_test(test_measure_rule__six_scattered_blocks_go_on_to_the_looks),
      cmocka_unit_test(test_measure_rule__looks_and_outcomes),
      cmocka_unit_test(test_measure_rule__undecided_at_the_end_is_a_tie),
      cmocka_unit_test(test_measure_rule__limits_of_blocks_are_kept),
      cmocka_unit_test(test_measure_rule__many_dropped_blocks_are_called_unstable),
      cmocka_unit_test(test_measure_rule__endless_disturbance_ends_the_race),
      cmocka_unit_test(test_measure_rule__equal_kernels_tie),
      cmocka_unit_test(test_measure_rule__a_gain_of_five_percent_is_seen),
      cmocka_unit_test(test_measure_rule__intervals_keep_their_level_when_stopping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
