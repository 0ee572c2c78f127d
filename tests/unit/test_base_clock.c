/* links: kf_base */
/* test_base_clock.c - clocks move forward and times are written in UTC. */
#include "base/clock.h"

#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_clock__sleep_lasts(void **state) {
  (void)state;
  int64_t start_ns = kf_now_ns(), start_ms = kf_now_ms();
  kf_sleep_ms(0);
  kf_sleep_ms(-5);
  kf_sleep_ms(20);
  assert_true(kf_now_ns() - start_ns >= 20000000);
  assert_true(kf_now_ms() - start_ms >= 19);
}

static void test_clock__cpu_time_counts_work(void **state) {
  (void)state;
  int64_t start_ns = kf_cpu_ns();
  volatile unsigned work = 0;
  while (kf_cpu_ns() - start_ns < 1000000)
    work = work + 1;
  assert_true(work > 0);
}

static void test_clock__utc_text(void **state) {
  (void)state;
  static const struct {
    int64_t ms;
    const char *text;
  } cases[] = {
      {0, "1970-01-01T00:00:00Z"},
      {951782400000, "2000-02-29T00:00:00Z"},
      {1769862896999, "2026-01-31T12:34:56Z"},
      {-1, "1970-01-01T00:00:00Z"},
      {INT64_MAX, "9999-12-31T23:59:59Z"},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    char text[KF_UTC_TEXT];
    kf_utc_text(cases[i].ms, text);
    assert_string_equal(text, cases[i].text);
  }
  assert_true(kf_wall_ms() > 1700000000000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clock__sleep_lasts),
      cmocka_unit_test(test_clock__cpu_time_counts_work),
      cmocka_unit_test(test_clock__utc_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
