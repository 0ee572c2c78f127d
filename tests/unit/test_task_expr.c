/* links: kf_base kf_task */
/* test_task_expr.c - the expression language: values, precedence, and every error with its column. */
#include "test_task_util.h"

static bool lookup(void *context, const char *name, kf_value *ret_value) {
  (void)context;
  if (strcmp(name, "rows") == 0)
    *ret_value = (kf_value){.number = 33};
  else if (strcmp(name, "dev.units") == 0)
    *ret_value = (kf_value){.number = 8};
  else if (strcmp(name, "big") == 0)
    *ret_value = (kf_value){.number = INT64_MAX};
  else if (strcmp(name, "T") == 0)
    *ret_value = (kf_value){.is_word = true, .word = "float4"};
  else if (strcmp(name, "float4") == 0 || strcmp(name, "half2") == 0)
    *ret_value = (kf_value){.is_word = true, .word = name};
  else
    return false;
  return true;
}

static kf_status evaluate(const char *text, int64_t *ret_value, int *ret_column, kf_err *err) {
  kf_arena arena = {0};
  const kf_expr *expr = NULL;
  kf_value value = {0};
  kf_status status = kf_expr_parse(&arena, text, strlen(text), &expr, ret_column, err);
  if (status == KF_OK) status = kf_expr_eval(expr, lookup, NULL, &value, ret_column, err);
  if (status == KF_OK) *ret_value = value.number;
  kf_arena_done(&arena);
  return status;
}

static void test_task_expr__values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
  } cases[] = {
      {"1+2*3", 7},
      {"(1+2)*3", 9},
      {"7-2-1", 4},
      {"100/7%4", 2},
      {"1 + 1 == 2 && 3 > 2", 1},
      {"1 || 0 && 0", 1},
      {"!0 + 1", 2},
      {"!rows", 0},
      {"-3 + 5", 2},
      {"2 < 1 ? 10 : 2 < 3 ? 20 : 30", 20},
      {"ceil(33, 8)", 5},
      {"ceil(32,8)", 4},
      {"log2(1)", 0},
      {"log2(1023)", 9},
      {"min(3, max(rows, 40))", 3},
      {"rows % 4 == 1", 1},
      {"dev.units*2", 16},
      {"T == float4", 1},
      {"T != half2", 1},
      {"0x10 + 1", 17},
      {"1 <= 1", 1},
      {"3 >= 4", 0},
      {"3 != 4", 1},
      {"0 && 1/0", 0},
      {"1 || 1/0", 1},
      {"1 ? 5 : 1/0", 5},
      {"9223372036854775807", INT64_MAX},
      {"\t rows ", 33},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    int64_t value = -999;
    kf_err err = {0};
    if (evaluate(cases[i].text, &value, NULL, &err) != KF_OK) fail_msg("%s: %s", cases[i].text, err.msg);
    if (value != cases[i].value) fail_msg("%s is %lld", cases[i].text, (long long)value);
  }
}

static void test_task_expr__errors_have_a_column(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int column;
    const char *part;
  } cases[] = {
      {"", 1, "found the end"},
      {"1 +", 4, "found the end"},
      {"1 + * 2", 5, "found \"*\""},
      {"(1 + 2", 7, "expected \")\""},
      {"1 2", 3, "expected an operator"},
      {"12x", 3, "operator after the number"},
      {"1.5", 1, "whole numbers only"},
      {"a & b", 3, "found \"&\""},
      {"abs(1)", 1, "unknown function \"abs\""},
      {"1 + min", 5, "needs its arguments"},
      {"min(1)", 6, "expected \",\""},
      {"log2(1, 2)", 7, "expected \")\""},
      {"9223372036854775808", 1, "does not fit"},
      {"1 ? 2", 6, "expected \":\""},
      {"\xc3\xa4", 1, "byte 0xc3"},
      {"rows + nope", 8, "unknown name \"nope\""},
      {"big + 1", 5, "does not fit in 64 bits"},
      {"rows * big", 6, "does not fit in 64 bits"},
      {"0 - big - 2", 9, "does not fit in 64 bits"},
      {"rows / 0", 6, "division by zero"},
      {"rows % (1 - 1)", 6, "division by zero"},
      {"(0 - 4) / 2", 9, "negative operand"},
      {"4 % (0-2)", 3, "negative operand"},
      {"1 + ceil(rows, 0)", 5, "division by zero"},
      {"ceil(0-1, 2)", 1, "negative operand"},
      {"log2(0)", 1, "not positive"},
      {"T + 1", 1, "\"float4\" is a word"},
      {"1 < T", 5, "is a word"},
      {"T == 1", 3, "compared with a number"},
      {"!T", 2, "is a word"},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    int64_t value;
    int column = 0;
    kf_err err = {0};
    kf_status status = evaluate(cases[i].text, &value, &column, &err);
    char begin[32];
    snprintf(begin, sizeof begin, "column %d: ", cases[i].column);
    if (status != KF_EINVAL || column != cases[i].column)
      fail_msg("%s: column %d: %s", cases[i].text, column, err.msg);
    assert_err(&err, KF_EINVAL, begin, cases[i].part, "");
  }
}

static void test_task_expr__nesting_and_length_are_limited(void **state) {
  (void)state;
  char text[4096];
  int64_t value;
  kf_err err = {0};
  memset(text, '(', 65);
  memcpy(text + 65, "1", 2);
  assert_int_equal(evaluate(text, &value, NULL, &err), KF_EINVAL);
  assert_non_null(strstr(err.msg, "nested deeper"));
  memset(text, '!', 200);
  memcpy(text + 200, "1", 2);
  assert_int_equal(evaluate(text, &value, NULL, &err), KF_EINVAL);
  for (size_t i = 0; i + 2 < sizeof text; i += 2)
    memcpy(text + i, "1+", 3);
  assert_int_equal(evaluate(text, &value, NULL, &err), KF_EINVAL);
  assert_non_null(strstr(err.msg, "longer than 1024"));
  text[1023] = '\0'; /* 512 ones */
  assert_int_equal(evaluate(text, &value, NULL, &err), KF_OK);
  assert_int_equal(value, 512);
}

static bool count_name(void *context, const char *name, int column) {
  char *seen = context;
  snprintf(seen + strlen(seen), 64, "%s@%d ", name, column);
  return strcmp(name, "stop") != 0;
}

static void test_task_expr__names_are_visited_in_order(void **state) {
  (void)state;
  kf_arena arena = {0};
  const kf_expr *expr = NULL;
  char seen[256] = "";
  const char *text = " min(a, dev.units) ? b : stop + c";
  assert_int_equal(kf_expr_parse(&arena, text, strlen(text), &expr, NULL, NULL), KF_OK);
  kf_expr_names(expr, count_name, seen);
  assert_string_equal(seen, "a@6 dev.units@9 b@22 stop@26 ");
  assert_string_equal(kf_expr_text(expr), "min(a, dev.units) ? b : stop + c");
  kf_arena_done(&arena);
}

static void test_task_expr__a_word_is_no_number(void **state) {
  (void)state;
  kf_arena arena = {0};
  const kf_expr *expr = NULL;
  int64_t value = 5;
  kf_err err = {0};
  assert_int_equal(kf_expr_parse(&arena, "T", 1, &expr, NULL, NULL), KF_OK);
  assert_int_equal(kf_expr_eval_int(expr, lookup, NULL, &value, &err), KF_EINVAL);
  assert_int_equal(value, 5);
  assert_err(&err, KF_EINVAL, "column 1: ", "where a number is needed", "== and !=");
  kf_arena_done(&arena);
}

static void test_task_expr__survives_every_allocation_failure(void **state) {
  (void)state;
  const char *text = "min(rows, 4) + (rows > 3 ? log2(rows) : 2)";
  for (unsigned long n = 1; n < 100; n++) {
    kf_arena arena = {0};
    const kf_expr *expr = NULL;
    kf_err err = {0};
    kf_alloc_fail_at(n, true);
    kf_status status = kf_expr_parse(&arena, text, strlen(text), &expr, NULL, &err);
    kf_alloc_fail_at(0, false);
    kf_arena_done(&arena);
    if (status == KF_OK) return;
    assert_int_equal(status, KF_ENOMEM);
    assert_null(expr);
  }
  fail_msg("the parse never succeeded");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_expr__values),
      cmocka_unit_test(test_task_expr__errors_have_a_column),
      cmocka_unit_test(test_task_expr__nesting_and_length_are_limited),
      cmocka_unit_test(test_task_expr__names_are_visited_in_order),
      cmocka_unit_test(test_task_expr__a_word_is_no_number),
      cmocka_unit_test(test_task_expr__survives_every_allocation_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
