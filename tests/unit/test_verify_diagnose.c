/* links: kf_base kf_wire kf_task kf_verify */
/* test_verify_diagnose.c - one golden case for each class of a wrong output, and what must not be taken for
 * it. */
#include "verify/compare.h"

#include "base/alloc.h"
#include "base/philox.h"
#include "verify/fill.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROWS = 40, COLS = 100, N = ROWS * COLS };

static const char case_text[] = "rows=40,cols=100";
static const int64_t shape[] = {ROWS, COLS};
static float got[N];
static double want[N];

/* Random expected values, and an output that has them. */
static void reset(void) {
  kf_rng rng;
  kf_rng_init(&rng, 5, 6, 7);
  for (int i = 0; i < N; i++) {
    want[i] = kf_rng_unit(&rng) * 2 - 1;
    got[i] = (float)want[i];
  }
}

static kf_diagnosis diagnose_at(kf_type type, const void *output, const int64_t *dims, int rank, int64_t n) {
  kf_tolerance t = {.compare = KF_COMPARE_BOUND, .kind = KF_ERROR_CALIBRATED, .type = type};
  kf_compare_result result;
  assert_int_equal(kf_compare_array(&t, output, want, n, &result, NULL), KF_OK);
  assert_false(result.right);
  kf_diagnosis diagnosis;
  kf_diagnose_output("y", &t, output, want, dims, rank, n, 0, case_text, &result, &diagnosis);
  return diagnosis;
}

static kf_diagnosis diagnose(void) {
  return diagnose_at(KF_TYPE_F32, got, shape, 2, N);
}

static void test_verify_diagnose__unwritten(void **state) {
  (void)state;
  reset();
  kf_poison(KF_TYPE_F32, got + 3 * COLS + 17, 31, 0);
  got[0] = 7; /* something else is wrong too */
  want[3 * COLS + 17] = 0.25;
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "unwritten");
  assert_string_equal(d.where, "y[3,17] of rows=40,cols=100");
  assert_string_equal(
      d.text, "31 of 4000 elements of y were never written: y[3,17] is 0x7fa5a5a5 (poison), should be 0.25");
  assert_string_equal(d.evidence, "got 0x7fa5a5a5 (poison), want 0.25; 32 of 4000 elements");
}

static void test_verify_diagnose__nan(void **state) {
  (void)state;
  reset();
  got[1] = 9;
  got[COLS] = NAN;
  want[COLS] = 0.5;
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "nan");
  assert_string_equal(d.text, "y has NaN where there should be none: y[1,0] is nan, should be 0.5");
  reset();
  got[5] = INFINITY;
  assert_string_equal(diagnose().kind, "nan");
  reset();
  want[5] = NAN;
  d = diagnose();
  assert_string_equal(d.kind, "nan");
  assert_non_null(strstr(d.text, "a number where NaN belongs"));
}

static void test_verify_diagnose__tail_of_an_axis(void **state) {
  (void)state;
  reset();
  for (int r = 0; r < ROWS; r++)
    for (int c = 96; c < COLS; c++)
      got[r * COLS + c] = 0;
  want[96] = 0.25;
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "tail");
  assert_string_equal(d.where, "y[0,96] of rows=40,cols=100");
  assert_string_equal(
      d.text,
      "only elements after the last full tile of 8 along axis 1 are wrong: y[0,96] is 0, should be 0.25");
}

static void test_verify_diagnose__tail_of_rows_and_of_the_flat_array(void **state) {
  (void)state;
  reset();
  for (int i = 32 * COLS; i < N; i++)
    got[i] += 1;
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "tail");
  assert_non_null(strstr(d.text, "tile of 16 along axis 0"));
  reset();
  for (int i = N / 256 * 256; i < N; i++)
    got[i] += 1;
  d = diagnose();
  assert_string_equal(d.kind, "tail");
  assert_non_null(strstr(d.text, "tile of 256 along the flat array"));
}

static void test_verify_diagnose__tile_edge(void **state) {
  (void)state;
  reset();
  for (int r = 0; r < ROWS; r++)
    for (int c = 15; c < COLS; c += 16)
      got[r * COLS + c] += 0.5f;
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "tile_edge");
  assert_non_null(strstr(d.text, "the errors repeat every 16 elements along axis 1: y[0,15] is"));
  reset(); /* both sides of tiles in both directions, as a halo that is not loaded gives */
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLS; c++)
      if (r % 8 == 0 || c % 16 == 0 || c % 16 == 15) got[r * COLS + c] += 0.01f * (float)(r + c) + 0.3f;
  assert_string_equal(diagnose().kind, "tile_edge");
}

static void test_verify_diagnose__transposed(void **state) {
  (void)state;
  reset();
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLS; c++)
      got[c * ROWS + r] = (float)want[r * COLS + c];
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "transposed");
  assert_int_equal(strncmp(d.text, "y looks transposed in its last two axes: y[0,1] is ", 51), 0);
}

static void test_verify_diagnose__shifted(void **state) {
  (void)state;
  reset();
  for (int i = 0; i < N - 1; i++)
    got[i] = (float)want[i + 1];
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "shifted");
  assert_int_equal(strncmp(d.text, "the values of y belong 1 elements after: y[0,0]", 47), 0);
  reset(); /* by a row */
  for (int i = N - 1; i >= COLS; i--)
    got[i] = (float)want[i - COLS];
  d = diagnose();
  assert_string_equal(d.kind, "shifted");
  assert_non_null(strstr(d.text, "belong 100 elements before"));
}

static void test_verify_diagnose__scaled(void **state) {
  (void)state;
  reset();
  for (int i = 0; i < N; i++)
    got[i] = (float)(0.5 * want[i]);
  want[0] = 0.25;
  got[0] = 0.125f;
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "scaled");
  assert_string_equal(d.text, "y is 0.5 times what it should be: y[0,0] is 0.125, should be 0.25");
  memset(got, 0, sizeof got);
  d = diagnose();
  assert_string_equal(d.kind, "scaled");
  assert_non_null(strstr(d.text, "y is 0 times"));
}

static void test_verify_diagnose__one_element(void **state) {
  (void)state;
  reset();
  got[7 * COLS + 50] = 3;
  want[7 * COLS + 50] = 0.125;
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "one_element");
  assert_string_equal(d.text, "one element of y is wrong: y[7,50] is 3, should be 0.125");
  assert_non_null(strstr(d.evidence, "1 of 4000 elements; largest error"));
}

static void test_verify_diagnose__imprecise(void **state) {
  (void)state;
  reset();
  kf_rng rng;
  kf_rng_init(&rng, 1, 1, 1);
  for (int i = 0; i < N; i++)
    got[i] = (float)(want[i] * (1 + (kf_rng_unit(&rng) - 0.5) * 3e-5));
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "imprecise");
  assert_int_equal(strncmp(d.text, "y is close, but the error is up to ", 35), 0);
}

static void test_verify_diagnose__all(void **state) {
  (void)state;
  reset();
  kf_rng rng;
  kf_rng_init(&rng, 9, 9, 9);
  for (int i = 0; i < N; i++)
    got[i] = (float)kf_rng_unit(&rng);
  kf_diagnosis d = diagnose();
  assert_string_equal(d.kind, "all");
  assert_int_equal(strncmp(d.text, "4000 of 4000 elements of y are wrong, without a pattern: y[0,0] is ", 67),
                   0);
}

static void test_verify_diagnose__stray_errors_are_no_pattern(void **state) {
  (void)state;
  kf_rng rng;
  kf_rng_init(&rng, 2, 2, 2);
  for (int repeat = 0; repeat < 50; repeat++) {
    reset();
    int errors = 2 + (int)kf_rng_below(&rng, 20);
    for (int e = 0; e < errors; e++)
      got[kf_rng_below(&rng, N)] += 2.5f + (float)kf_rng_unit(&rng);
    kf_diagnosis d = diagnose();
    if (strcmp(d.kind, "all") != 0 && strcmp(d.kind, "one_element") != 0)
      fail_msg("%d stray errors: %s: %s", errors, d.kind, d.text);
  }
}

static void test_verify_diagnose__other_ranks_and_types(void **state) {
  (void)state;
  int32_t ints[] = {1, 2, 3, 5};
  for (int i = 0; i < 4; i++)
    want[i] = i + 1;
  const int64_t four[] = {4}, cube[] = {1, 2, 2};
  kf_diagnosis d = diagnose_at(KF_TYPE_I32, ints, four, 1, 4);
  assert_string_equal(d.text, "one element of y is wrong: y[3] is 5, should be 4");
  assert_string_equal(diagnose_at(KF_TYPE_I32, ints, cube, 3, 4).where, "y[0,1,1] of rows=40,cols=100");
  int32_t single = 3;
  assert_string_equal(diagnose_at(KF_TYPE_I32, &single, NULL, 0, 1).where, "y of rows=40,cols=100");
}

static void test_verify_diagnose__sets_and_short_memory_still_give_a_class(void **state) {
  (void)state;
  const double sorted[] = {1, 2, 3};
  const int32_t output[] = {3, 1, 9};
  const int64_t three[] = {3};
  kf_tolerance t = {.compare = KF_COMPARE_SET, .type = KF_TYPE_I32};
  kf_compare_result result;
  assert_int_equal(kf_compare_array(&t, output, sorted, 3, &result, NULL), KF_OK);
  kf_diagnosis d;
  kf_diagnose_output("y", &t, output, sorted, three, 1, 3, 0, "n=3", &result, &d);
  assert_string_equal(d.kind, "one_element");
  assert_string_equal(d.where, "y[2] of n=3");
  reset();
  got[3] = 9;
  got[4] = 9;
  kf_tolerance bound = {.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32};
  assert_int_equal(kf_compare_array(&bound, got, want, N, &result, NULL), KF_OK);
  for (unsigned long nth = 1; nth <= 4; nth++) {
    kf_alloc_fail_at(nth, false);
    kf_diagnose_output("y", &bound, got, want, shape, 2, N, 0, case_text, &result, &d);
    kf_alloc_fail_at(0, false);
    assert_string_equal(d.kind, "all");
    assert_string_equal(d.where, "y[0,3] of rows=40,cols=100");
  }
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_diagnose__unwritten),
      cmocka_unit_test(test_verify_diagnose__nan),
      cmocka_unit_test(test_verify_diagnose__tail_of_an_axis),
      cmocka_unit_test(test_verify_diagnose__tail_of_rows_and_of_the_flat_array),
      cmocka_unit_test(test_verify_diagnose__tile_edge),
      cmocka_unit_test(test_verify_diagnose__transposed),
      cmocka_unit_test(test_verify_diagnose__shifted),
      cmocka_unit_test(test_verify_diagnose__scaled),
      cmocka_unit_test(test_verify_diagnose__one_element),
      cmocka_unit_test(test_verify_diagnose__imprecise),
      cmocka_unit_test(test_verify_diagnose__all),
      cmocka_unit_test(test_verify_diagnose__stray_errors_are_no_pattern),
      cmocka_unit_test(test_verify_diagnose__other_ranks_and_types),
      cmocka_unit_test(test_verify_diagnose__sets_and_short_memory_still_give_a_class),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
