/* links: kf_base kf_wire */
/* test_wire_admission.c - findings go to JSON and back, and foreign JSON is read strictly. */
#include "wire/admission.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_wire_admission__survives_the_round_trip(void **state) {
  (void)state;
  static kf_admission before, after;
  json_t *json = NULL;
  memset(&before, 0, sizeof before);
  kf_admission_add(&before, KF_ADMISSION_OK, "reference", NULL, "agrees with %d kernels", 4);
  kf_admission_add(&before, KF_ADMISSION_REFUSED, "trivial answers", "fill: normal", "zeros pass");
  before.floors[before.nfloors++] =
      (kf_admission_floor){.symbols = "n=3", .bytes_in = 12, .bytes_out = 4, .floor_ns = 7, .operations = 6};
  before.read_gbs = 20.5;
  before.launch_ns = 1500;
  assert_int_equal(kf_admission_to_json(&before, &json, NULL), KF_OK);
  assert_int_equal(kf_admission_from_json(json, &after, NULL), KF_OK);
  assert_memory_equal(&before, &after, sizeof before);
  assert_int_equal(kf_admission_worst(&after), KF_ADMISSION_REFUSED);
  json_decref(json);
}

static void test_wire_admission__a_grave_line_displaces_a_light_one(void **state) {
  (void)state;
  static kf_admission a;
  memset(&a, 0, sizeof a);
  for (int i = 0; i < 2 * KF_ADMISSION_LINES_MAX; i++)
    kf_admission_add(&a, KF_ADMISSION_OK, "x", NULL, "line %d", i);
  assert_int_equal(a.nlines, KF_ADMISSION_LINES_MAX);
  kf_admission_add(&a, KF_ADMISSION_REFUSED, "x", NULL, "no");
  assert_int_equal(a.nlines, KF_ADMISSION_LINES_MAX);
  assert_int_equal(kf_admission_worst(&a), KF_ADMISSION_REFUSED);
}

static void test_wire_admission__foreign_json(void **state) {
  (void)state;
  static const char *const bad[] = {"{}",
                                    "{\"lines\": {}}",
                                    "{\"lines\": [{\"state\": \"fine\"}]}",
                                    "{\"lines\": [{\"text\": 3}]}",
                                    "{\"lines\": [], \"floors\": 3}",
                                    "{\"lines\": [], \"ceilings\": {\"gflops\": \"many\"}}",
                                    "{\"lines\": [], \"floors\": [{\"floor_ns\": 1.5}]}"};
  static kf_admission a;
  for (size_t i = 0; i < KF_COUNTOF(bad); i++) {
    json_t *json = json_loads(bad[i], 0, NULL);
    kf_err err = {0};
    assert_non_null(json);
    if (kf_admission_from_json(json, &a, &err) != KF_EPROTO) fail_msg("%s was read", bad[i]);
    json_decref(json);
  }
  json_t *json = json_loads("{\"lines\": [{}], \"more\": 1}", 0, NULL);
  assert_int_equal(kf_admission_from_json(json, &a, NULL), KF_OK);
  assert_int_equal(a.nlines, 1);
  json_decref(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wire_admission__survives_the_round_trip),
      cmocka_unit_test(test_wire_admission__a_grave_line_displaces_a_light_one),
      cmocka_unit_test(test_wire_admission__foreign_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
