/* links: kf_base kf_wire kf_task kf_verify */
/* test_verify_compare.c - tolerances by the formulas, NaN and infinities, and each way of comparing. */
#include "verify/compare.h"

#include "base/alloc.h"
#include "base/philox.h"
#include <float.h>
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-12 * fabs(b);
}

static void test_verify_compare__linear_formula(void **state) {
  (void)state;
  const double scale[] = {3, 5};
  kf_tolerance t = {.kind = KF_ERROR_LINEAR, .type = KF_TYPE_F32, .depth = 100, .scale = scale};
  assert_true(near(kf_tolerance_at(&t, 1, -2), 2 * (0x1p-24 * 2 + 6 * 10 * 0x1p-24 * 5) + FLT_MIN));
  t.type = KF_TYPE_F16; /* accumulates in fp32 */
  assert_true(near(kf_tolerance_at(&t, 0, 2), 2 * (0x1p-11 * 2 + 6 * 10 * 0x1p-24 * 3) + 0x1p-24));
  t.type = KF_TYPE_F64;
  assert_true(near(kf_tolerance_at(&t, 0, 2), 2 * (0x1p-53 * 2 + 6 * 10 * 0x1p-53 * 3)));
  t.depth = 0;
  assert_true(near(kf_tolerance_at(&t, 0, 0), 2 * 6 * 0x1p-53 * 3));
}

static void test_verify_compare__calibrated_formula(void **state) {
  (void)state;
  kf_tolerance t = {.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32};
  assert_true(kf_tolerance_at(&t, 0, 1) == 8 * 0x1p-23);
  assert_true(kf_tolerance_at(&t, 0, -1.99) == 8 * 0x1p-23);
  assert_true(kf_tolerance_at(&t, 0, 4096) == 8 * 0x1p-11);
  assert_true(kf_tolerance_at(&t, 0, 0) == 8 * 0x1p-149);
  assert_true(kf_tolerance_at(&t, 0, 0x1p-140) == 8 * 0x1p-149);
  t.e_float = 0x1p-10;
  assert_true(kf_tolerance_at(&t, 0, 1) == 8 * 0x1p-10);
  assert_true(kf_tolerance_at(&t, 0, 0x1p20) == 8 * 0x1p-3);
  t = (kf_tolerance){.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_BF16};
  assert_true(kf_tolerance_at(&t, 0, 1) == 8 * 0x1p-7);
  t.type = KF_TYPE_F16;
  assert_true(kf_tolerance_at(&t, 0, 1) == 8 * 0x1p-10);
  t.type = KF_TYPE_F64;
  assert_true(kf_tolerance_at(&t, 0, 1) == 8 * 0x1p-52);
}

static void test_verify_compare__exact_kinds_allow_nothing(void **state) {
  (void)state;
  kf_tolerance t = {.kind = KF_ERROR_EXACT, .type = KF_TYPE_F32};
  assert_true(kf_tolerance_at(&t, 0, 1) == 0);
  t.kind = KF_ERROR_CALIBRATED;
  t.type = KF_TYPE_I32;
  assert_true(kf_tolerance_at(&t, 0, 1) == 0);
  t.type = KF_TYPE_F32;
  t.compare = KF_COMPARE_BITWISE;
  assert_true(kf_tolerance_at(&t, 0, 1) == 0);
}

/* Compares one element, in the middle of a longer array of matching ones, so that both paths run. */
static kf_compare_result one(const kf_tolerance *t, double got, double want) {
  enum { N = 1300, AT = 700 };
  static double want_all[N], got_all[N];
  for (int i = 0; i < N; i++) {
    want_all[i] = 1;
    kf_type_put(t->type, got_all, (size_t)i, 1);
  }
  want_all[AT] = want;
  kf_type_put(t->type, got_all, AT, got);
  kf_compare_result result;
  assert_int_equal(kf_compare_array(t, got_all, want_all, N, &result, NULL), KF_OK);
  assert_int_equal(result.right, result.wrong == 0);
  assert_int_equal(result.first, result.right ? -1 : AT);
  if (!result.right && !isnan(want)) assert_true(result.first_want == want);
  return result;
}

static void test_verify_compare__edge_of_the_tolerance(void **state) {
  (void)state;
  kf_tolerance t = {.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32};
  assert_true(one(&t, 1 + 8 * 0x1p-23, 1).right);
  assert_false(one(&t, 1 + 9 * 0x1p-23, 1).right);
  assert_true(one(&t, 1 + 9 * 0x1p-23, 1).worst == 9 / 8.0);
  assert_true(one(&t, 1 + 4 * 0x1p-23, 1).worst == 0.5);
  static double scale[1300];
  t = (kf_tolerance){.kind = KF_ERROR_LINEAR, .type = KF_TYPE_F64, .depth = 1, .scale = scale};
  assert_true(one(&t, 1 + 0x1p-52, 1).right);
  assert_false(one(&t, 1 + 0x1p-51, 1).right);
  for (int i = 0; i < 1300; i++)
    scale[i] = 4;
  assert_true(one(&t, 1 + 0x1p-48, 1).right); /* 2 (1 + 24) u = 25 ulp */
  assert_false(one(&t, 1 + 0x1p-47, 1).right);
}

static void test_verify_compare__nan_and_infinities_must_agree(void **state) {
  (void)state;
  static const double values[] = {NAN, INFINITY, -INFINITY, 0, 1, 1e30};
  static const kf_compare compares[] = {KF_COMPARE_BOUND, KF_COMPARE_EXACT, KF_COMPARE_BITWISE};
  for (size_t c = 0; c < KF_COUNTOF(compares); c++)
    for (size_t i = 0; i < KF_COUNTOF(values); i++)
      for (size_t j = 0; j < KF_COUNTOF(values); j++) {
        kf_tolerance t = {.compare = compares[c], .kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F64};
        kf_compare_result result = one(&t, values[i], values[j]);
        assert_int_equal(result.right, i == j);
        if (i != j && (!isfinite(values[i]) || !isfinite(values[j]))) assert_true(isinf(result.worst));
      }
}

static void test_verify_compare__values_beyond_the_type_may_saturate(void **state) {
  (void)state;
  kf_tolerance t = {.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F16};
  assert_true(one(&t, INFINITY, 1e6).right);
  assert_true(one(&t, 65504, 1e6).right);
  assert_false(one(&t, -65504, 1e6).right);
  assert_false(one(&t, 60000, 1e6).right);
  assert_false(one(&t, INFINITY, 60000).right);
  assert_false(one(&t, 65504, INFINITY).right);
  t.type = KF_TYPE_F32;
  assert_true(one(&t, -INFINITY, -1e39).right);
  t.type = KF_TYPE_E4M3; /* has no infinity */
  assert_true(one(&t, 448, INFINITY).right);
}

static void test_verify_compare__exact_rounds_to_the_type(void **state) {
  (void)state;
  kf_tolerance t = {.compare = KF_COMPARE_EXACT, .kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32};
  assert_true(one(&t, 0.1, 0.1).right); /* the double 0.1 is no float */
  assert_false(one(&t, 0.1 + 0x1p-27, 0.1).right);
  assert_true(one(&t, -0.0, 0.0).right);
  t.compare = KF_COMPARE_BITWISE;
  assert_true(one(&t, 0.1, 0.1).right);
  assert_false(one(&t, -0.0, 0.0).right);
  t.type = KF_TYPE_F16;
  assert_true(one(&t, 0.1, 0.1).right);
}

static void test_verify_compare__integers(void **state) {
  (void)state;
  static const kf_type types[] = {KF_TYPE_I8, KF_TYPE_U8, KF_TYPE_I32, KF_TYPE_U32, KF_TYPE_I64};
  for (size_t i = 0; i < KF_COUNTOF(types); i++) {
    kf_tolerance t = {
        .compare = KF_COMPARE_BOUND, .kind = KF_ERROR_CALIBRATED, .type = types[i], .e_float = 5};
    assert_true(one(&t, 17, 17).right);
    kf_compare_result result = one(&t, 18, 17);
    assert_false(result.right);
    assert_true(result.first_got == 18 && isinf(result.worst));
  }
}

static void test_verify_compare__linear_without_scale_is_a_bug(void **state) {
  (void)state;
  kf_tolerance t = {.kind = KF_ERROR_LINEAR, .type = KF_TYPE_F32};
  const float got = 1;
  const double want = 1;
  kf_compare_result result = {.wrong = 42};
  assert_int_equal(kf_compare_array(&t, &got, &want, 1, &result, NULL), KF_EBUG);
  assert_int_equal(result.wrong, 42);
}

static void test_verify_compare__counts_and_finds_the_first(void **state) {
  (void)state;
  enum { N = 4000 };
  static float got[N];
  static double want[N];
  for (int i = 0; i < N; i++)
    want[i] = got[i] = (float)i;
  for (int i = 1234; i < N; i += 100)
    got[i] += 1;
  kf_tolerance t = {.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32};
  kf_compare_result result;
  assert_int_equal(kf_compare_array(&t, got, want, N, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 28);
  assert_int_equal(result.first, 1234);
  assert_true(result.first_got == 1235 && result.first_want == 1234);
  assert_int_equal(kf_compare_array(&t, got, want, 0, &result, NULL), KF_OK);
  assert_true(result.right);
}

static void test_verify_compare__outputs_get_twice_the_tolerance(void **state) {
  (void)state;
  kf_tolerance t = {.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32};
  const float want[] = {1, NAN, INFINITY}, got[] = {1 + 16 * 0x1p-23f, NAN, INFINITY},
              far[] = {1 + 17 * 0x1p-23f, NAN, 1};
  kf_compare_result result;
  assert_int_equal(kf_compare_outputs(&t, got, want, 3, &result, NULL), KF_OK);
  assert_true(result.right && result.worst == 1);
  assert_int_equal(kf_compare_outputs(&t, far, want, 3, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 2);
  const int64_t big[] = {INT64_MAX, 5}, other[] = {INT64_MAX - 1, 5};
  t = (kf_tolerance){.compare = KF_COMPARE_EXACT, .type = KF_TYPE_I64};
  assert_int_equal(kf_compare_outputs(&t, big, other, 2, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 1);
  assert_int_equal(kf_compare_outputs(&t, big, big, 2, &result, NULL), KF_OK);
  assert_true(result.right);
}

static void test_verify_compare__sets_ignore_the_order(void **state) {
  (void)state;
  kf_tolerance t = {.compare = KF_COMPARE_SET, .type = KF_TYPE_I32};
  const double want[] = {3, 1, 2, 2};
  const int32_t same[] = {2, 3, 2, 1}, other[] = {1, 3, 9, 1};
  kf_compare_result result;
  assert_int_equal(kf_compare_array(&t, same, want, 4, &result, NULL), KF_OK);
  assert_true(result.right && result.first == -1);
  assert_int_equal(kf_compare_array(&t, other, want, 4, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 2);
  assert_int_equal(result.first, 2); /* the 9; one of the ones is extra too, but at 3 */
  assert_true(result.first_got == 9);
  t = (kf_tolerance){.compare = KF_COMPARE_SET, .kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32};
  const double reals[] = {NAN, 1, 0.5};
  const float close[] = {0.5f, NAN, 1 + 0x1p-22f}, apart[] = {0.5f, 2, 1};
  assert_int_equal(kf_compare_array(&t, close, reals, 3, &result, NULL), KF_OK);
  assert_true(result.right);
  assert_int_equal(kf_compare_array(&t, apart, reals, 3, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 1);
  assert_int_equal(result.first, 1);
  assert_int_equal(kf_compare_outputs(&t, close, apart, 3, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 1);
  kf_alloc_fail_at(1, true);
  kf_status status = kf_compare_array(&t, close, reals, 3, &result, NULL);
  kf_alloc_fail_at(0, false);
  assert_int_equal(status, KF_ENOMEM);
}

static void test_verify_compare__argmax_accepts_ties_when_it_can_see_them(void **state) {
  (void)state;
  const double choices[] = {1, 5, 5, 2, /* row 1 */ 7, 7 + 1e-8, 3, 0};
  const double want[] = {1, 1};
  const int32_t tie[] = {2, 0}, wrong[] = {3, 1}, outside[] = {4, -1};
  kf_tolerance t = {.compare = KF_COMPARE_ARGMAX, .type = KF_TYPE_I32};
  kf_compare_result result;
  assert_int_equal(kf_compare_array(&t, tie, want, 2, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 2); /* without the values: exact */
  t.choices = choices;
  t.nchoices = 4;
  assert_int_equal(kf_compare_array(&t, tie, want, 2, &result, NULL), KF_OK);
  assert_true(result.right);
  assert_int_equal(kf_compare_array(&t, wrong, want, 2, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 1);
  assert_int_equal(kf_compare_array(&t, outside, want, 2, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 2);
}

/* The chunked loops agree with the formula, element by element. */
static void test_verify_compare__fast_and_slow_paths_agree(void **state) {
  (void)state;
  enum { N = 3000 };
  static float got[N];
  static double want[N], scale[N];
  kf_rng rng;
  kf_rng_init(&rng, 3, 1, 4);
  for (int i = 0; i < N; i++) {
    want[i] = ldexp(kf_rng_unit(&rng) - 0.5, (int)kf_rng_below(&rng, 60) - 30);
    scale[i] = fabs(want[i]) * (1 + kf_rng_unit(&rng));
    got[i] = (float)(want[i] * (1 + (kf_rng_unit(&rng) - 0.5) * 3e-6));
  }
  static const kf_error_kind kinds[] = {KF_ERROR_CALIBRATED, KF_ERROR_LINEAR};
  for (size_t k = 0; k < KF_COUNTOF(kinds); k++) {
    kf_tolerance t = {.kind = kinds[k], .type = KF_TYPE_F32, .depth = 3, .scale = scale, .e_float = 1e-12};
    int64_t wrong = 0;
    double worst = 0;
    for (int i = 0; i < N; i++) {
      double ratio = fabs(got[i] - want[i]) / kf_tolerance_at(&t, i, want[i]);
      wrong += ratio > 1;
      worst = fmax(worst, ratio);
    }
    kf_compare_result result;
    assert_int_equal(kf_compare_array(&t, got, want, N, &result, NULL), KF_OK);
    assert_true(wrong > 10 && wrong < N - 10);
    assert_int_equal(result.wrong, wrong);
    assert_true(near(result.worst, worst));
  }
}

static void test_verify_compare__slack_raises_and_never_lowers(void **state) {
  (void)state;
  const double slack[] = {0, 0.5, HUGE_VAL, 0, HUGE_VAL};
  const double want[] = {1, 1, 1, NAN, NAN};
  float got[] = {1, 1.5f, NAN, NAN, 7};
  kf_tolerance t = {.kind = KF_ERROR_CALIBRATED, .type = KF_TYPE_F32, .e_float = 0x1p-10, .slack = slack};
  kf_compare_result result;
  assert_true(kf_tolerance_at(&t, 0, 1) == 8 * 0x1p-10);
  assert_true(kf_tolerance_at(&t, 1, 1) == 0.5);
  assert_int_equal(kf_compare_array(&t, got, want, 5, &result, NULL), KF_OK);
  assert_true(result.right);
  got[0] = 1.5f; /* slack 0: only the usual tolerance */
  got[1] = 1.75f;
  got[3] = 1; /* NaN stays due where nothing is waived */
  assert_int_equal(kf_compare_array(&t, got, want, 5, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 3);
  assert_int_equal(result.first, 0);
  t.compare = KF_COMPARE_BITWISE; /* waived elements stay waived, numbers get no slack */
  assert_int_equal(kf_compare_array(&t, got, want, 5, &result, NULL), KF_OK);
  assert_int_equal(result.wrong, 3);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_compare__linear_formula),
      cmocka_unit_test(test_verify_compare__calibrated_formula),
      cmocka_unit_test(test_verify_compare__exact_kinds_allow_nothing),
      cmocka_unit_test(test_verify_compare__edge_of_the_tolerance),
      cmocka_unit_test(test_verify_compare__nan_and_infinities_must_agree),
      cmocka_unit_test(test_verify_compare__values_beyond_the_type_may_saturate),
      cmocka_unit_test(test_verify_compare__exact_rounds_to_the_type),
      cmocka_unit_test(test_verify_compare__integers),
      cmocka_unit_test(test_verify_compare__linear_without_scale_is_a_bug),
      cmocka_unit_test(test_verify_compare__counts_and_finds_the_first),
      cmocka_unit_test(test_verify_compare__outputs_get_twice_the_tolerance),
      cmocka_unit_test(test_verify_compare__sets_ignore_the_order),
      cmocka_unit_test(test_verify_compare__argmax_accepts_ties_when_it_can_see_them),
      cmocka_unit_test(test_verify_compare__slack_raises_and_never_lowers),
      cmocka_unit_test(test_verify_compare__fast_and_slow_paths_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
