/* links: kf_report */
/* test_report_table.c - layout of plain tables, figures for people, and verdicts as text. */
#include "report/row.h"
#include "report/table.h"
#include "report/verdict_text.h"

#include "base/alloc.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_report_table__columns_get_the_width_they_need(void **state) {
  (void)state;
  static const char *const heads[] = {"name", "n", "note"};
  kf_table table;
  kf_buf buf;
  kf_buf_init(&buf, 4096);
  kf_table_init(&table, heads, 3, 1u << 1);
  assert_int_equal(kf_table_cell(&table, NULL, "a"), KF_OK);
  assert_int_equal(kf_table_cell(&table, NULL, "%d", 12345), KF_OK);
  assert_int_equal(kf_table_cell(&table, NULL, "last"), KF_OK);
  assert_int_equal(kf_table_cell(&table, NULL,
                                 "gr\xc3\xb6\xc3\x9f"
                                 "er"),
                   KF_OK);
  assert_int_equal(kf_table_cell(&table, NULL, "7"), KF_OK);
  assert_int_equal(kf_table_cell(&table, NULL, "x\ny\033[0m"), KF_OK);
  assert_int_equal(kf_table_write(&table, &buf, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&buf), "name        n  note\n"
                                         "a       12345  last\n"
                                         "gr\xc3\xb6\xc3\x9f"
                                         "er      7  x y [0m\n");
  kf_table_done(&table);
  kf_buf_done(&buf);
}

static void test_report_table__figures(void **state) {
  (void)state;
  char text[KF_FIGURE_TEXT];
  assert_string_equal(kf_figure_ns(0, text), "-");
  assert_string_equal(kf_figure_ns(7, text), "7.00 ns");
  assert_string_equal(kf_figure_ns(999, text), "999 ns");
  assert_string_equal(kf_figure_ns(9996, text), "10.0 us");
  assert_string_equal(kf_figure_ns(2412345, text), "2.41 ms");
  assert_string_equal(kf_figure_ns(999600000, text), "1.00 s");
  assert_string_equal(kf_figure_ratio(0, text), "1.000x");
  assert_string_equal(kf_figure_ratio(kf_ratio_nano(log(57.25)), text), "57.2x");
  assert_string_equal(kf_figure_ratio(kf_ratio_nano(log(0.5)), text), "0.500x");
  assert_string_equal(kf_figure_ratio(kf_ratio_nano(log(1234.0)), text), "1234x");
  assert_string_equal(kf_figure_bytes(0, text), "0 B");
  assert_string_equal(kf_figure_bytes(1023, text), "1023 B");
  assert_string_equal(kf_figure_bytes(1536, text), "1.5 KiB");
  assert_string_equal(kf_figure_bytes(INT64_C(12) << 30, text), "12 GiB");
  assert_string_equal(kf_figure_ms(9900, text), "9.9 s");
  assert_string_equal(kf_figure_ms(125000, text), "2 min 5 s");
  assert_string_equal(kf_figure_ms(7200000, text), "2 h 0 min");
}

static void test_report_table__verdict_lines(void **state) {
  (void)state;
  kf_verdict *verdict = kf_alloc(sizeof *verdict);
  kf_buf buf;
  assert_non_null(verdict);
  kf_buf_init(&buf, 1 << 16);
  kf_verdict_init(verdict);
  verdict->kind = KF_VERDICT_CORRECT;
  verdict->time_ns = 410000;
  verdict->race = (kf_race_result){.outcome = KF_RACE_FASTER,
                                   .median_nano = kf_ratio_nano(log(2)),
                                   .low_nano = kf_ratio_nano(log(1.5)),
                                   .high_nano = kf_ratio_nano(log(3)),
                                   .level = 0.95,
                                   .blocks = 6};
  assert_int_equal(kf_verdict_line(verdict, &buf, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&buf), "correct  410 us  2.00x (1.500x to 3.00x, 95 %)");
  kf_buf_clear(&buf);
  kf_verdict_init(verdict);
  verdict->kind = KF_VERDICT_WRONG_OUTPUT;
  snprintf(verdict->diagnosis.kind, sizeof verdict->diagnosis.kind, "tail");
  snprintf(verdict->diagnosis.where, sizeof verdict->diagnosis.where, "y[3]\n\033[31m");
  snprintf(verdict->log, sizeof verdict->log, "first line\nsecond line");
  assert_int_equal(kf_verdict_line(verdict, &buf, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&buf), "wrong_output  tail: y[3]  [31m");
  kf_buf_clear(&buf);
  assert_int_equal(kf_verdict_details(verdict, &buf, NULL), KF_OK);
  assert_non_null(strstr(kf_buf_text(&buf), "  log       first line\n            second line\n"));
  kf_buf_clear(&buf);
  verdict->ncases = 1;
  verdict->cases[0] = (kf_case_result){.symbols = "n=3", .worst = HUGE_VAL};
  assert_int_equal(kf_verdict_cases(verdict, &buf, NULL), KF_OK);
  assert_non_null(strstr(kf_buf_text(&buf), "n=3   check  wrong               inf     -\n"));
  kf_buf_done(&buf);
  kf_free(verdict);
}

/* Every allocation of a table may fail: the failure is reported and nothing leaks. */
static kf_status write_table(kf_buf *buf) {
  static const char *const heads[] = {"a", "b"};
  KF_CLEANUP(kf_table_done) kf_table table;
  kf_table_init(&table, heads, 2, 0);
  for (int i = 0; i < 20; i++)
    KF_TRY(kf_table_cell(&table, NULL, "cell %d", i));
  return kf_table_write(&table, buf, NULL);
}

/* Bytes of a kernel need be neither text nor UTF-8. */
static void test_report_table__any_bytes_make_a_row(void **state) {
  (void)state;
  kf_row row;
  kf_row_begin(&row);
  kf_row_bytes(&row, "source", "a\0b\xff", 4);
  json_t *object = kf_row_take(&row);
  assert_non_null(object);
  const json_t *source = json_object_get(object, "source");
  assert_int_equal(json_string_length(source), 4);
  assert_memory_equal(json_string_value(source), "a\0b?", 4);
  json_decref(object);
}

static void test_report_table__no_memory(void **state) {
  (void)state;
  kf_status status = KF_ENOMEM;
  unsigned long nth = 1;
  for (; status == KF_ENOMEM && nth < 1000; nth++) {
    kf_buf buf;
    kf_buf_init(&buf, 4096);
    kf_alloc_fail_at(nth, false);
    status = write_table(&buf);
    kf_alloc_fail_at(0, false);
    kf_buf_done(&buf);
  }
  assert_int_equal(status, KF_OK);
  assert_true(nth > 2);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_report_table__columns_get_the_width_they_need),
      cmocka_unit_test(test_report_table__figures),
      cmocka_unit_test(test_report_table__verdict_lines),
      cmocka_unit_test(test_report_table__any_bytes_make_a_row),
      cmocka_unit_test(test_report_table__no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
