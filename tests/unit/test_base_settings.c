/* links: kf_base */
/* test_base_settings.c - the table sets, refuses, travels through JSON and documents itself. */
#include "base/settings.h"

#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_base_sweep.h"

static void test_settings__table_is_sound(void **state) {
  (void)state;
  assert_true(kf_settings_count() > 0);
  assert_null(kf_settings_info(kf_settings_count()));
  for (size_t i = 0; i < kf_settings_count(); i++) {
    const kf_setting_info *info = kf_settings_info(i);
    assert_true(info->min <= info->initial && info->initial <= info->max);
    assert_true(info->min >= -0x1p53 && info->max <= 0x1p53); /* whole numbers are exact */
    assert_true(strlen(info->help) > 0 && strlen(info->source) > 0);
    assert_null(strpbrk(info->help, "|\n"));
    assert_non_null(strchr(info->name, '.'));
    for (size_t j = 0; j < i; j++)
      assert_string_not_equal(info->name, kf_settings_info(j)->name);
  }
}

static void test_settings__starts_at_the_defaults(void **state) {
  (void)state;
  kf_settings settings;
  kf_settings_init(&settings);
  for (size_t i = 0; i < kf_settings_count(); i++) {
    const kf_setting_info *info = kf_settings_info(i);
    const char *field = (const char *)&settings + info->offset;
    if (info->type == KF_SETTING_INT) assert_true(*(const int64_t *)field == (int64_t)info->initial);
    if (info->type == KF_SETTING_REAL) assert_true(*(const double *)field == info->initial);
    if (info->type == KF_SETTING_BOOL) assert_true(*(const bool *)field == (info->initial != 0));
  }
}

static void test_settings__set_by_name(void **state) {
  (void)state;
  kf_settings settings;
  kf_err err = {0};
  kf_settings_init(&settings);
  assert_int_equal(kf_settings_set(&settings, "measure.delta", "0.05", &err), KF_OK);
  assert_true(settings.measure_delta == 0.05);
  assert_int_equal(kf_settings_set(&settings, "build.jobs", "3", &err), KF_OK);
  assert_int_equal(settings.build_jobs, 3);
  assert_int_equal(kf_settings_set(&settings, "build.jobs", "300", &err), KF_EINVAL);
  assert_string_equal(err.msg, "build.jobs: 300 is out of range: 0 to 256 expected");
  assert_int_equal(kf_settings_set(&settings, "build.jobs", "many", &err), KF_EINVAL);
  assert_int_equal(settings.build_jobs, 3);
  assert_int_equal(kf_settings_set(&settings, "measure.detla", "1", &err), KF_EINVAL);
  assert_string_equal(err.msg, "unknown setting \"measure.detla\"");
  assert_string_equal(err.hint, "did you mean \"measure.delta\"?");
  assert_int_equal(kf_settings_set(&settings, "nothing.like_it", "1", &err), KF_EINVAL);
  assert_string_equal(err.hint, "");
}

static void test_settings__survive_json(void **state) {
  (void)state;
  kf_settings a, b;
  kf_settings_init(&a);
  kf_settings_init(&b);
  a.measure_delta = 0.1 + 0.2;
  a.search_in_flight = 17;
  json_t *object = NULL, *parsed = NULL;
  kf_buf buf;
  kf_buf_init(&buf, 100000);
  assert_int_equal(kf_settings_to_json(&a, &object, NULL), KF_OK);
  assert_int_equal(kf_json_dump(object, &buf, NULL), KF_OK);
  assert_int_equal(kf_json_parse(buf.data, buf.len, buf.len, "settings", &parsed, NULL), KF_OK);
  assert_int_equal(json_object_size(parsed), kf_settings_count());
  assert_int_equal(kf_settings_from_json(&b, parsed, NULL), KF_OK);
  assert_memory_equal(&a, &b, sizeof a);
  json_decref(object);
  json_decref(parsed);
  kf_buf_done(&buf);
}

static void test_settings__json_is_taken_whole_or_not(void **state) {
  (void)state;
  static const char *const bad[] = {
      "{\"build.jobs\":5,\"build.jbos\":1}",
      "{\"build.jobs\":5,\"measure.delta\":2}",
      "{\"build.jobs\":5,\"measure.delta\":\"0.1\"}",
      "{\"build.jobs\":5.0}",
      "[5]",
  };
  kf_settings settings, before;
  kf_settings_init(&settings);
  before = settings;
  for (size_t i = 0; i < KF_COUNTOF(bad); i++) {
    json_t *object = NULL;
    assert_int_equal(kf_json_parse(bad[i], strlen(bad[i]), 1000, "settings", &object, NULL), KF_OK);
    assert_int_equal(kf_settings_from_json(&settings, object, NULL), KF_EINVAL);
    assert_memory_equal(&settings, &before, sizeof before);
    json_decref(object);
  }
  json_t *object = NULL;
  assert_int_equal(kf_json_pack(&object, NULL, "{s:i}", "measure.delta", 1), KF_OK);
  assert_int_equal(kf_settings_from_json(&settings, object, NULL), KF_OK);
  assert_true(settings.measure_delta == 1.0);
  json_decref(object);
}

static void test_settings__markdown_has_a_row_each(void **state) {
  (void)state;
  kf_buf buf;
  kf_buf_init(&buf, 100000);
  assert_int_equal(kf_settings_markdown(&buf, NULL), KF_OK);
  size_t rows = 0;
  for (const char *line = kf_buf_text(&buf); *line != '\0'; rows++) {
    size_t len = strcspn(line, "\n"), bars = 0;
    for (size_t i = 0; i < len; i++)
      bars += line[i] == '|';
    assert_int_equal(bars, 8);
    assert_int_equal(line[len], '\n');
    line += len + 1;
  }
  assert_int_equal(rows, kf_settings_count() + 2);
  assert_non_null(strstr(kf_buf_text(&buf), "| `measure.delta` | number | 0.01 | 0 to 1 |  | smallest gain"));
  kf_buf_done(&buf);
}

static kf_status to_json(void) {
  kf_settings settings;
  kf_settings_init(&settings);
  json_t *object = NULL;
  KF_TRY(kf_settings_to_json(&settings, &object, NULL));
  json_decref(object);
  return KF_OK;
}

static void test_settings__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(sweep_allocations(to_json, false) > kf_settings_count());
  assert_true(sweep_allocations(to_json, true) > kf_settings_count());
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_settings__table_is_sound),
      cmocka_unit_test(test_settings__starts_at_the_defaults),
      cmocka_unit_test(test_settings__set_by_name),
      cmocka_unit_test(test_settings__survive_json),
      cmocka_unit_test(test_settings__json_is_taken_whole_or_not),
      cmocka_unit_test(test_settings__markdown_has_a_row_each),
      cmocka_unit_test(test_settings__survive_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
