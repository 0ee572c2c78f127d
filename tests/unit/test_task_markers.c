/* links: kf_base kf_task */
/* test_task_markers.c - marked regions of a text. */
#include "task/markers.h"
#include "test_task_util.h"

static kf_status find(const char *text, kf_region_span spans[KF_MARKER_SPANS_MAX], int *count, kf_err *err) {
  return kf_markers_find(text, strlen(text), "k.cl", spans, count, err);
}

static void test_task_markers__finds_regions_in_order(void **state) {
  (void)state;
  kf_region_span spans[KF_MARKER_SPANS_MAX];
  int count = 0;
  const char *text = "a\n"
                     "  // [EVOLVE_START]\r\n"
                     "code\n"
                     "/* [EVOLVE_END] */\n"
                     "# [REFERENCE_START]\n"
                     "# [REFERENCE_END]\n"
                     "\"\"\"\n"
                     "[USER_INSTRUCTIONS_START]\n"
                     "be fast\n"
                     "[USER_INSTRUCTIONS_END]\n"
                     "\"\"\"";
  assert_int_equal(find(text, spans, &count, NULL), KF_OK);
  assert_int_equal(count, 3);
  assert_int_equal(spans[0].kind, KF_MARKER_EVOLVE);
  assert_int_equal(spans[0].line, 3);
  assert_memory_equal(text + spans[0].begin, "code\n", spans[0].end - spans[0].begin);
  assert_int_equal(spans[1].kind, KF_MARKER_REFERENCE);
  assert_int_equal(spans[1].begin, spans[1].end);
  assert_int_equal(spans[2].kind, KF_MARKER_USER_INSTRUCTIONS);
  assert_memory_equal(text + spans[2].begin, "be fast\n", spans[2].end - spans[2].begin);
}

static void test_task_markers__prose_is_no_marker(void **state) {
  (void)state;
  kf_region_span spans[KF_MARKER_SPANS_MAX];
  int count = 7;
  assert_int_equal(
      find("// what stands after [EVOLVE_START] may change\nint x; // [EVOLVE_START]\n[EVOLVE_START]\n",
           spans, &count, NULL),
      KF_OK);
  assert_int_equal(count, 0);
}

static void test_task_markers__mistakes_have_a_line(void **state) {
  (void)state;
  kf_region_span spans[KF_MARKER_SPANS_MAX];
  int count;
  kf_err err = {0};
  find("\n// [EVOLVE_START]\n// [EVOLVE_START]\n", spans, &count, &err);
  assert_err(&err, KF_EREFUSED, "k.cl:3: ", "inside the [EVOLVE_START] of line 2", "");
  find("// [EVOLVE_START]\n// [REFERENCE_START]\n", spans, &count, &err);
  assert_err(&err, KF_EREFUSED, "k.cl:2: ", "[REFERENCE_START] inside", "");
  find("\n// [EVOLVE_END]\n", spans, &count, &err);
  assert_err(&err, KF_EREFUSED, "k.cl:2: ", "without its [EVOLVE_START]", "");
  find("// [REFERENCE_START]\n// [EVOLVE_END]\n", spans, &count, &err);
  assert_err(&err, KF_EREFUSED, "k.cl:2: ", "without its", "");
  find("\n\n// [EVOLVE_START]\ncode", spans, &count, &err);
  assert_err(&err, KF_EREFUSED, "k.cl:3: ", "without its [EVOLVE_END]", "");
}

static void test_task_markers__too_many_are_refused(void **state) {
  (void)state;
  kf_region_span spans[KF_MARKER_SPANS_MAX];
  int count;
  kf_err err = {0};
  kf_buf text;
  kf_buf_init(&text, 100000);
  for (int i = 0; i < KF_MARKER_SPANS_MAX + 1; i++)
    assert_int_equal(kf_buf_puts(&text, "// [EVOLVE_START]\n// [EVOLVE_END]\n", NULL), KF_OK);
  find(kf_buf_text(&text), spans, &count, &err);
  assert_err(&err, KF_EREFUSED, "k.cl:129: ", "more than 64", "");
  kf_buf_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_markers__finds_regions_in_order),
      cmocka_unit_test(test_task_markers__prose_is_no_marker),
      cmocka_unit_test(test_task_markers__mistakes_have_a_line),
      cmocka_unit_test(test_task_markers__too_many_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
