/* links: kf_base */
/* test_base_status.c - errors are filled, cut, extended and mapped to exit codes. */
#include "base/status.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static kf_status fails(kf_err *err) {
  return kf_fail(err, KF_EIO, "disk %s", "full");
}

static kf_status tries(kf_err *err) {
  KF_TRY(fails(err));
  return KF_OK;
}

static void test_status__failure_fills_err(void **state) {
  (void)state;
  kf_err err = {0};
  assert_int_equal(tries(&err), KF_EIO);
  assert_int_equal(err.code, KF_EIO);
  assert_string_equal(err.msg, "disk full");
  assert_string_equal(err.hint, "");
  assert_non_null(strstr(err.file, "test_base_status.c"));
  assert_true(err.line > 0);
  assert_int_equal(tries(NULL), KF_EIO);
}

static void test_status__context_and_hint_chain(void **state) {
  (void)state;
  kf_err err = {0};
  kf_status s = kf_err_hint(&err, fails(&err), "free %d MiB", 5);
  assert_int_equal(s, KF_EIO);
  assert_int_equal(kf_err_context(&err, KF_EBUG, "could not open archive \"%s\"", "x"), KF_EIO);
  assert_string_equal(err.msg, "could not open archive \"x\": disk full");
  assert_string_equal(err.hint, "free 5 MiB");
  assert_int_equal(kf_err_context(NULL, KF_EBUG, "x"), KF_EBUG);
}

static void test_status__message_may_quote_itself(void **state) {
  (void)state;
  kf_err err = {0};
  fails(&err);
  kf_fail(&err, KF_EIO, "again: %s", err.msg);
  assert_string_equal(err.msg, "again: disk full");
}

static void test_status__long_text_is_cut_between_characters(void **state) {
  (void)state;
  for (size_t shift = 0; shift < 4; shift++) {
    char text[2 * KF_ERR_MSG_MAX] = {0};
    memset(text, 'a', shift);
    for (size_t i = shift; i + 4 < sizeof text; i += 4)
      memcpy(text + i, "\xf0\x9f\x98\x80", 4);
    kf_err err = {0};
    kf_fail(&err, KF_EINVAL, "%s", text);
    size_t len = strlen(err.msg);
    assert_int_equal((len - shift) % 4, 0);
    assert_true(len >= KF_ERR_MSG_MAX - 4);
    kf_err_context(&err, KF_EINVAL, "abc");
    assert_int_equal((strlen(err.msg) - 5 - shift) % 4, 0);
  }
}

static void test_status__exit_codes_are_those_of_the_contract(void **state) {
  (void)state;
  const int expected[] = {0, 4, 2, 3, 4, 4, 4, 4, 5, 2, 70};
  for (int s = KF_OK; s <= KF_EBUG; s++) {
    assert_int_equal(kf_status_exit_code((kf_status)s), expected[s]);
    assert_string_not_equal(kf_status_name((kf_status)s), "unknown status");
  }
  assert_string_equal(kf_status_name(KF_EINVAL), "invalid input");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_status__failure_fills_err),
      cmocka_unit_test(test_status__context_and_hint_chain),
      cmocka_unit_test(test_status__message_may_quote_itself),
      cmocka_unit_test(test_status__long_text_is_cut_between_characters),
      cmocka_unit_test(test_status__exit_codes_are_those_of_the_contract),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
