/* links: kf_base */
/* test_base_log.c - lines reach stderr by level, one each, without control characters. */
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What log calls write to stderr between capture_begin and capture_end. */
static FILE *captured;
static int saved_stderr;
static char text[8192];

static void capture_begin(void) {
  captured = tmpfile();
  assert_non_null(captured);
  saved_stderr = dup(STDERR_FILENO);
  assert_true(dup2(fileno(captured), STDERR_FILENO) >= 0);
}

static const char *capture_end(void) {
  dup2(saved_stderr, STDERR_FILENO);
  close(saved_stderr);
  rewind(captured);
  text[fread(text, 1, sizeof text - 1, captured)] = '\0';
  fclose(captured);
  return text;
}

static void test_log__level_comes_from_the_environment(void **state) {
  (void)state;
  unsetenv("KF_LOG");
  kf_log_init("kf");
  capture_begin();
  kf_error("one %d", 1);
  kf_warning("two");
  kf_info("three");
  kf_debug("four");
  assert_string_equal(capture_end(), "kf: error: one 1\nkf: warning: two\n");

  setenv("KF_LOG", "debug", 1);
  kf_log_init("kf-eval");
  capture_begin();
  kf_info("three");
  kf_debug("four");
  assert_string_equal(capture_end(), "kf-eval: info: three\nkf-eval: debug: four\n");

  setenv("KF_LOG", "loud", 1);
  capture_begin();
  kf_log_init("kf");
  kf_info("silent");
  assert_non_null(strstr(capture_end(), "kf: warning: KF_LOG: \"loud\" is not a level"));
  assert_null(strstr(text, "silent"));
  unsetenv("KF_LOG");
}

static void test_log__outside_text_cannot_forge_lines(void **state) {
  (void)state;
  kf_log_init("kf");
  capture_begin();
  kf_warning("a\nkf: error: b\x1b[2J\x7f");
  assert_string_equal(capture_end(), "kf: warning: a kf: error: b [2J \n");
}

static void test_log__long_line_is_cut(void **state) {
  (void)state;
  kf_log_init("kf");
  char longer[6000];
  memset(longer, 'x', sizeof longer);
  longer[sizeof longer - 1] = '\0';
  capture_begin();
  kf_warning("%s", longer);
  const char *line = capture_end();
  assert_int_equal(strlen(line), 4096);
  assert_int_equal(line[4095], '\n');
}

static void test_log__error_with_hint(void **state) {
  (void)state;
  kf_log_init("kf");
  kf_err err = {0};
  kf_err_hint(&err, kf_fail(&err, KF_EINVAL, "no such thing"), "try another");
  capture_begin();
  kf_log_err(&err);
  assert_string_equal(capture_end(), "kf: error: no such thing\nkf: hint: try another\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_log__level_comes_from_the_environment),
      cmocka_unit_test(test_log__outside_text_cannot_forge_lines),
      cmocka_unit_test(test_log__long_line_is_cut),
      cmocka_unit_test(test_log__error_with_hint),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
