/* links: kf_base kf_wire kf_task kf_verify */
/* test_verify_rewrite.c - between two calls a few lines of every input change, and stay legal. */
#include "verify/rig.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N = 20000, SIDE = 64 };

/* One inout argument on memory of the test. */
static kf_inputs inputs_on(void *data, kf_type type, kf_fill fill, int64_t elements) {
  static kf_task task;
  memset(&task, 0, sizeof task);
  task.nargs = task.nsymbols = 1;
  task.symbols[0] = (kf_symbol){.name = "n", .initial = N, .min = 1, .max = N, .multiple_of = 1};
  task.args[0] = (kf_arg_spec){.name = "x", .role = KF_ROLE_INOUT, .type = type, .fill = fill};
  return (kf_inputs){.task = &task,
                     .symbols = {N},
                     .elements = {elements},
                     .shape = {{SIDE, SIDE}},
                     .slot = {-1},
                     .inout = {data}};
}

static void fill(kf_inputs *inputs) {
  kf_err err = {0};
  if (kf_inputs_fill(inputs, 77, KF_FAMILY_DECLARED, &err) != KF_OK) fail_msg("%s", err.msg);
}

static void rewrite(kf_inputs *inputs, uint64_t seed) {
  kf_err err = {0};
  if (kf_inputs_rewrite(inputs, seed, &err) != KF_OK) fail_msg("%s", err.msg);
}

static void test_verify_rewrite__changes_one_line_in_256(void **state) {
  (void)state;
  static float x[N], before[N];
  kf_inputs inputs = inputs_on(x, KF_TYPE_F32, (kf_fill){.kind = KF_FILL_NORMAL}, N);
  fill(&inputs);
  int touched[N / 16 + 1] = {0}, rounds = 200;
  for (int round = 0; round < rounds; round++) {
    memcpy(before, x, sizeof x);
    rewrite(&inputs, 1000 + (uint64_t)round); /* not the seed of the fill */
    int lines = 0;
    for (int line = 0; line * 16 < N; line++) {
      int changed = memcmp((const char *)x + line * 64, (const char *)before + line * 64, 64) != 0;
      lines += changed;
      touched[line] += changed;
    }
    assert_in_range(lines, N / 16 / 256, N / 16 / 256 + 1);
  }
  /* Anywhere: no half of the array is left alone. */
  int first = 0;
  for (int line = 0; line < N / 32; line++)
    first += touched[line];
  assert_in_range(first, rounds, 4 * rounds);
}

static void test_verify_rewrite__the_same_seed_gives_the_same_bytes(void **state) {
  (void)state;
  static double x[N], y[N];
  kf_inputs inputs = inputs_on(x, KF_TYPE_F64, (kf_fill){.kind = KF_FILL_UNIFORM}, N);
  fill(&inputs);
  rewrite(&inputs, 5);
  memcpy(y, x, sizeof x);
  fill(&inputs);
  rewrite(&inputs, 5);
  assert_memory_equal(x, y, sizeof x);
  rewrite(&inputs, 6);
  assert_memory_not_equal(x, y, sizeof x);
}

static void test_verify_rewrite__integers_stay_in_their_range(void **state) {
  (void)state;
  static int32_t x[N];
  kf_inputs inputs = inputs_on(x, KF_TYPE_I32, (kf_fill){.kind = KF_FILL_INT, .lo = -3, .hi = 4}, N);
  fill(&inputs);
  for (uint64_t seed = 0; seed < 100; seed++)
    rewrite(&inputs, seed);
  for (int i = 0; i < N; i++)
    assert_true(x[i] >= -3 && x[i] < 4);
}

static void test_verify_rewrite__a_permutation_stays_one(void **state) {
  (void)state;
  static int32_t x[N], before[N];
  static bool seen[N];
  kf_inputs inputs = inputs_on(x, KF_TYPE_I32, (kf_fill){.kind = KF_FILL_PERMUTATION}, N);
  fill(&inputs);
  memcpy(before, x, sizeof x);
  for (uint64_t seed = 0; seed < 20; seed++)
    rewrite(&inputs, seed);
  assert_memory_not_equal(x, before, sizeof x);
  for (int i = 0; i < N; i++) {
    assert_true(x[i] >= 0 && x[i] < N && !seen[x[i]]);
    seen[x[i]] = true;
  }
}

static void test_verify_rewrite__sorted_stays_sorted(void **state) {
  (void)state;
  static float x[N], before[N];
  kf_inputs inputs = inputs_on(x, KF_TYPE_F32, (kf_fill){.kind = KF_FILL_SORTED}, N);
  fill(&inputs);
  memcpy(before, x, sizeof x);
  for (uint64_t seed = 0; seed < 100; seed++)
    rewrite(&inputs, seed);
  assert_memory_not_equal(x, before, sizeof x);
  for (int i = 1; i < N; i++)
    assert_true(x[i - 1] <= x[i]);
}

static void test_verify_rewrite__spd_stays_symmetric_and_dominant(void **state) {
  (void)state;
  static double x[SIDE * SIDE];
  for (int i = 0; i < SIDE; i++)
    x[i * SIDE + i] = SIDE;
  kf_inputs inputs = inputs_on(x, KF_TYPE_F64, (kf_fill){.kind = KF_FILL_SPD}, SIDE * SIDE);
  int changed = 0;
  for (uint64_t seed = 0; seed < 200; seed++)
    rewrite(&inputs, seed);
  for (int row = 0; row < SIDE; row++) {
    assert_true(x[row * SIDE + row] == SIDE);
    for (int column = 0; column < row; column++) {
      double a = x[row * SIDE + column];
      assert_true(a == x[column * SIDE + row] && a < 1 && a >= -1);
      changed += a != 0;
    }
  }
  assert_true(changed > 50);
}

static void test_verify_rewrite__every_type_and_length(void **state) {
  (void)state;
  enum { ROOM = 300 };
  for (int type = 0; type < KF_TYPE_COUNT; type++) {
    if (type == KF_TYPE_BOOL) continue; /* filled with integers only */
    for (int64_t n = 0; n < ROOM / 2; n++) {
      uint64_t data[ROOM];
      memset(data, 0x77, sizeof data);
      kf_inputs inputs = inputs_on(data, (kf_type)type, (kf_fill){.kind = KF_FILL_UNIFORM}, n);
      for (uint64_t seed = 0; seed < 8; seed++)
        rewrite(&inputs, seed);
      size_t end = (size_t)n * kf_type_size((kf_type)type);
      for (size_t i = end; i < sizeof data; i++)
        assert_int_equal(((unsigned char *)data)[i], 0x77); /* nothing beyond the end */
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_rewrite__changes_one_line_in_256),
      cmocka_unit_test(test_verify_rewrite__the_same_seed_gives_the_same_bytes),
      cmocka_unit_test(test_verify_rewrite__integers_stay_in_their_range),
      cmocka_unit_test(test_verify_rewrite__a_permutation_stays_one),
      cmocka_unit_test(test_verify_rewrite__sorted_stays_sorted),
      cmocka_unit_test(test_verify_rewrite__spd_stays_symmetric_and_dominant),
      cmocka_unit_test(test_verify_rewrite__every_type_and_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
