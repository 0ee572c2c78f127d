/* links: kf_base */
/* test_base_text.c - near names are found and rubbish numbers refused. */
#include "base/text.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_text__nearest_is_a_likely_slip(void **state) {
  (void)state;
  static const char *const names[] = {"measure.delta", "measure.slow_ratio", "seed", "seen", NULL};
  static const struct {
    const char *word, *nearest;
  } cases[] = {
      {"measure.detla", "measure.delta"},
      {"mesure.delta", "measure.delta"},
      {"sead", "seed"},
      {"seed", "seed"},
      {"sedd", "seed"},
      {"delta", NULL},
      {"x", NULL},
      {"", NULL},
      {"measure.slowratio", "measure.slow_ratio"},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    const char *nearest = kf_text_nearest(cases[i].word, names);
    if (cases[i].nearest == NULL) {
      assert_null(nearest);
    } else {
      assert_non_null(nearest);
      assert_string_equal(nearest, cases[i].nearest);
    }
  }
  char longer[500];
  memset(longer, 's', sizeof longer);
  longer[sizeof longer - 1] = '\0';
  assert_null(kf_text_nearest(longer, names));
}

static void test_text__int_refuses_rubbish(void **state) {
  (void)state;
  int64_t value = 77;
  kf_err err = {0};
  static const char *const bad[] = {"",
                                    " 1",
                                    "1 ",
                                    "+1",
                                    "1.0",
                                    "0x10",
                                    "1e3",
                                    "--1",
                                    "-",
                                    "abc",
                                    "12a",
                                    "\xd9\xa1",
                                    "99999999999999999999",
                                    "-99999999999999999999"};
  for (size_t i = 0; i < KF_COUNTOF(bad); i++) {
    assert_int_equal(kf_text_int(bad[i], INT64_MIN, INT64_MAX, "x", &value, &err), KF_EINVAL);
    assert_int_equal(value, 77);
  }
  assert_int_equal(kf_text_int("11", 1, 10, "jobs", &value, &err), KF_EINVAL);
  assert_string_equal(err.msg, "jobs: 11 is out of range: 1 to 10 expected");
  assert_int_equal(kf_text_int("-9223372036854775808", INT64_MIN, INT64_MAX, "x", &value, &err), KF_OK);
  assert_true(value == INT64_MIN);
  assert_int_equal(kf_text_int("007", 0, 10, "x", &value, &err), KF_OK);
  assert_int_equal(value, 7);
}

static void test_text__real_refuses_rubbish(void **state) {
  (void)state;
  double value = 77;
  kf_err err = {0};
  static const char *const bad[] = {"",     " 1",    "1 ",    "+1", "0x1p3", "inf", "nan",
                                    "-inf", "1e999", "1.2.3", ".",  "e5",    "1,5"};
  for (size_t i = 0; i < KF_COUNTOF(bad); i++) {
    assert_int_equal(kf_text_real(bad[i], -INFINITY, INFINITY, "x", &value, &err), KF_EINVAL);
    assert_true(value == 77);
  }
  assert_int_equal(kf_text_real("1.5", 0, 1, "share", &value, &err), KF_EINVAL);
  assert_string_equal(err.msg, "share: 1.5 is out of range: 0 to 1 expected");
  assert_int_equal(kf_text_real("-2.5e-1", -1, 1, "x", &value, &err), KF_OK);
  assert_true(value == -0.25);
}

static void test_text__durations(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double seconds;
  } good[] = {{"90", 90}, {"90s", 90}, {"5m", 300}, {"2h", 7200}, {"1.5h", 5400}, {"0", 0}};
  double value;
  for (size_t i = 0; i < KF_COUNTOF(good); i++) {
    assert_int_equal(kf_text_duration(good[i].text, &value, NULL), KF_OK);
    assert_true(value == good[i].seconds);
  }
  static const char *const bad[] = {"",
                                    "s",
                                    "m",
                                    "-1s",
                                    "5x",
                                    "5 m",
                                    "5mm",
                                    "1h30m",
                                    "99999999999h",
                                    "1e400",
                                    "00000000000000000000000000000000000000001s"};
  for (size_t i = 0; i < KF_COUNTOF(bad); i++) {
    kf_err err = {0};
    assert_int_equal(kf_text_duration(bad[i], &value, &err), KF_EINVAL);
    assert_non_null(strstr(err.hint, "2h"));
  }
}

static void test_text__clean_blanks_control_characters(void **state) {
  (void)state;
  char text[] = "a\x1b[2J\n\x7f\0\tz\xc3\xa9";
  kf_text_clean(text, sizeof text - 1);
  assert_memory_equal(text, "a [2J    z\xc3\xa9", sizeof text);
}

static void test_text__names(void **state) {
  (void)state;
  assert_true(kf_text_is_name("a"));
  assert_true(kf_text_is_name("_x9"));
  assert_false(kf_text_is_name(""));
  assert_false(kf_text_is_name("9x"));
  assert_false(kf_text_is_name("a-b"));
  assert_false(kf_text_is_name("a "));
  assert_false(kf_text_is_name("\xc3\xa4"));
  char name[66];
  memset(name, 'n', sizeof name);
  name[64] = '\0';
  assert_true(kf_text_is_name(name));
  name[64] = 'n';
  name[65] = '\0';
  assert_false(kf_text_is_name(name));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text__nearest_is_a_likely_slip),
      cmocka_unit_test(test_text__int_refuses_rubbish),
      cmocka_unit_test(test_text__real_refuses_rubbish),
      cmocka_unit_test(test_text__durations),
      cmocka_unit_test(test_text__clean_blanks_control_characters),
      cmocka_unit_test(test_text__names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
