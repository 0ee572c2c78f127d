/* links: kf_base kf_wire */
/* test_wire_advice.c - every failing verdict says what to do next, whatever its diagnosis. */
#include "wire/advice.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const diagnoses[] = {"",
                                        "plan",
                                        "first_launch",
                                        "compile",
                                        "build",
                                        "compile_undeclared",
                                        "compile_type",
                                        "compile_syntax",
                                        "compile_address_space",
                                        "compile_builtin",
                                        "compile_limit",
                                        "compile_preprocessor",
                                        "compile_other",
                                        "launch",
                                        "memory",
                                        "signal",
                                        "out_of_bounds",
                                        "time",
                                        "forged",
                                        "unwritten",
                                        "nan",
                                        "race",
                                        "tail",
                                        "tile_edge",
                                        "transposed",
                                        "shifted",
                                        "scaled",
                                        "one_element",
                                        "imprecise",
                                        "all",
                                        "timed_output",
                                        "slow",
                                        "not_confirmed",
                                        "of a later version"};

static void test_wire_advice__no_failure_is_left_without(void **state) {
  (void)state;
  static kf_verdict v;
  for (int kind = 0; kind < KF_VERDICT_COUNT; kind++) {
    if (kind == KF_VERDICT_CORRECT) continue;
    for (size_t d = 0; d < KF_COUNTOF(diagnoses); d++) {
      kf_verdict_init(&v);
      v.kind = (kf_verdict_kind)kind;
      snprintf(v.diagnosis.kind, sizeof v.diagnosis.kind, "%s", diagnoses[d]);
      kf_advice_fill(&v, "opencl");
      if (v.next_why[0] == '\0' || strncmp(v.next_command, "kf ", 3) != 0)
        fail_msg("%s with \"%s\": why \"%s\", command \"%s\"", kf_verdict_name(v.kind), diagnoses[d],
                 v.next_why, v.next_command);
      if (strlen(v.next_why) + 1 == sizeof v.next_why || strlen(v.next_command) + 1 == sizeof v.next_command)
        fail_msg("%s with \"%s\": cut", kf_verdict_name(v.kind), diagnoses[d]);
    }
  }
}

static void test_wire_advice__a_known_diagnosis_has_its_own(void **state) {
  (void)state;
  static kf_verdict general, special;
  static const struct {
    kf_verdict_kind kind;
    const char *diagnosis;
  } rows[] = {{KF_VERDICT_BUILD_FAILED, "compile_undeclared"},
              {KF_VERDICT_BUILD_FAILED, "compile_preprocessor"},
              {KF_VERDICT_WRONG_OUTPUT, "tail"},
              {KF_VERDICT_WRONG_OUTPUT, "transposed"},
              {KF_VERDICT_CRASHED, "first_launch"},
              {KF_VERDICT_CHEAT, "forged"},
              {KF_VERDICT_REFUSED, "plan"}};
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    kf_verdict_init(&general);
    kf_verdict_init(&special);
    general.kind = special.kind = rows[i].kind;
    snprintf(special.diagnosis.kind, sizeof special.diagnosis.kind, "%s", rows[i].diagnosis);
    kf_advice_fill(&general, "opencl");
    kf_advice_fill(&special, "opencl");
    assert_string_not_equal(general.next_why, special.next_why);
  }
}

static void test_wire_advice__a_correct_kernel_gets_its_menu(void **state) {
  (void)state;
  static kf_verdict v;
  static const char *const classes[] = {"launch_bound", "memory_bound", "compute_bound", "underfilled",
                                        "latency_bound"};
  static const char *const languages[] = {"opencl", "c", "cuda", "hip", "sycl", "triton"};
  for (size_t c = 0; c < KF_COUNTOF(classes); c++)
    for (size_t l = 0; l < KF_COUNTOF(languages); l++) {
      const kf_menu *menu = kf_advice_menu(classes[c], languages[l]);
      assert_non_null(menu);
      assert_non_null(menu->techniques[0]);
      assert_non_null(menu->techniques[1]);
      kf_verdict_init(&v);
      v.kind = KF_VERDICT_CORRECT;
      snprintf(v.roofline.bound, sizeof v.roofline.bound, "%s", classes[c]);
      kf_advice_fill(&v, languages[l]);
      assert_non_null(strstr(v.next_why, menu->techniques[1]));
    }
  assert_ptr_not_equal(kf_advice_menu("memory_bound", "opencl"), kf_advice_menu("memory_bound", "c"));
  assert_null(kf_advice_menu("", "opencl"));
  assert_null(kf_advice_menu("lazy", "opencl"));
}

static void test_wire_advice__a_correct_kernel_without_a_class_gets_none(void **state) {
  (void)state;
  static kf_verdict v;
  kf_verdict_init(&v);
  v.kind = KF_VERDICT_CORRECT;
  kf_advice_fill(&v, "opencl");
  assert_string_equal(v.next_why, "");
  snprintf(v.diagnosis.kind, sizeof v.diagnosis.kind, "not_confirmed");
  kf_advice_fill(&v, "opencl");
  assert_non_null(strstr(v.next_command, "kf race"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wire_advice__no_failure_is_left_without),
      cmocka_unit_test(test_wire_advice__a_known_diagnosis_has_its_own),
      cmocka_unit_test(test_wire_advice__a_correct_kernel_gets_its_menu),
      cmocka_unit_test(test_wire_advice__a_correct_kernel_without_a_class_gets_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
