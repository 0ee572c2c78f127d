/* links: kf_base */
/* test_base_buf.c - buffers keep their limit, their NUL and, on failure, their content. */
#include "base/buf.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_base_sweep.h"

static void test_buf__appends_and_terminates(void **state) {
  (void)state;
  kf_buf buf;
  kf_buf_init(&buf, 1000);
  assert_string_equal(kf_buf_text(&buf), "");
  assert_int_equal(kf_buf_puts(&buf, "ab", NULL), KF_OK);
  assert_int_equal(kf_buf_append(&buf, "\0c", 2, NULL), KF_OK);
  assert_int_equal(kf_buf_printf(&buf, NULL, "%d-%s", 12, "x"), KF_OK);
  assert_int_equal(buf.len, 8);
  assert_memory_equal(buf.data, "ab\0c12-x", 9);
  kf_buf_drop(&buf, 3);
  assert_string_equal(kf_buf_text(&buf), "c12-x");
  kf_buf_drop(&buf, 5);
  assert_string_equal(kf_buf_text(&buf), "");
  kf_buf_puts(&buf, "again", NULL);
  kf_buf_clear(&buf);
  assert_int_equal(buf.len, 0);
  assert_string_equal(kf_buf_text(&buf), "");
  kf_buf_done(&buf);
  kf_buf_done(&buf);
}

static void test_buf__limit_refuses_and_keeps_content(void **state) {
  (void)state;
  kf_buf buf;
  kf_err err = {0};
  kf_buf_init(&buf, 100);
  char text[101];
  memset(text, 'x', sizeof text);
  assert_int_equal(kf_buf_append(&buf, text, 100, &err), KF_OK);
  assert_int_equal(buf.room, 101);
  assert_int_equal(kf_buf_puts(&buf, "y", &err), KF_EINVAL);
  assert_non_null(strstr(err.msg, "100 bytes"));
  assert_int_equal(kf_buf_printf(&buf, &err, "%d", 1), KF_EINVAL);
  assert_int_equal(kf_buf_reserve(&buf, SIZE_MAX, &err), KF_EINVAL);
  assert_int_equal(kf_buf_append(&buf, text, 0, &err), KF_OK);
  assert_int_equal(buf.len, 100);
  assert_int_equal(strlen(kf_buf_text(&buf)), 100);
  kf_buf_done(&buf);
}

static void test_buf__zeroed_buffer_takes_nothing(void **state) {
  (void)state;
  kf_buf buf = {0};
  assert_int_equal(kf_buf_puts(&buf, "a", NULL), KF_EINVAL);
  kf_buf_drop(&buf, 0);
  kf_buf_clear(&buf);
  kf_buf_done(&buf);
}

static void test_buf__reserved_room_stays_terminated(void **state) {
  (void)state;
  kf_buf buf;
  kf_buf_init(&buf, SIZE_MAX);
  assert_int_equal(kf_buf_reserve(&buf, 300, NULL), KF_OK);
  memset(buf.data, 'z', 300);
  assert_int_equal(kf_buf_reserve(&buf, 300, NULL), KF_OK);
  memcpy(buf.data, "four", 4);
  buf.len += 4;
  assert_string_equal(kf_buf_text(&buf), "four");
  kf_buf_done(&buf);
}

static void test_buf__take_leaves_an_empty_buffer(void **state) {
  (void)state;
  kf_buf buf;
  kf_buf_init(&buf, 10);
  char *empty = kf_buf_take(&buf);
  assert_string_equal(empty, "");
  kf_buf_puts(&buf, "0123456789", NULL);
  char *text = kf_buf_take(&buf);
  assert_string_equal(text, "0123456789");
  assert_int_equal(kf_buf_puts(&buf, "next", NULL), KF_OK);
  assert_string_equal(kf_buf_text(&buf), "next");
  kf_free(empty);
  kf_free(text);
  kf_buf_done(&buf);
}

static kf_status append_much(void) {
  kf_buf buf;
  kf_status status = KF_OK;
  size_t lines = 0;
  kf_buf_init(&buf, 1 << 20);
  for (; lines < 100 && status == KF_OK; lines++)
    status = kf_buf_printf(&buf, NULL, "%07zu\n", lines);
  size_t whole = status == KF_OK ? lines : lines - 1;
  assert_int_equal(buf.len, 8 * whole); /* a failed append leaves what was there */
  assert_int_equal(strlen(kf_buf_text(&buf)), buf.len);
  kf_buf_done(&buf);
  return status;
}

static void test_buf__survives_failing_allocations(void **state) {
  (void)state;
  assert_int_equal(sweep_allocations(append_much, false), 5); /* 64, 128, ... 1024 */
  assert_int_equal(sweep_allocations(append_much, true), 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buf__appends_and_terminates),
      cmocka_unit_test(test_buf__limit_refuses_and_keeps_content),
      cmocka_unit_test(test_buf__zeroed_buffer_takes_nothing),
      cmocka_unit_test(test_buf__reserved_room_stays_terminated),
      cmocka_unit_test(test_buf__take_leaves_an_empty_buffer),
      cmocka_unit_test(test_buf__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
