/* links: kf_base kf_wire kf_verify kf_measure */
/* test_measure_flush.c - a flushed call is a cold one, either way. Compares times within one run only. */
#include "measure/flush.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "measure/stats.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BYTES = 256 << 10, ROUNDS = 31, READ_BYTES = 64 << 20 };

static int64_t copy_ns(char *to, const char *from) {
  int64_t begun = kf_now_ns();
  memcpy(to, from, BYTES);
  return kf_now_ns() - begun;
}

typedef enum { WARM, BY_READING, BY_LINES, WAYS } way;

/* Medians of a copy that is warm, that follows reading much memory, and that follows evicting its lines;
 * taken in turns. */
static void measure(const kf_flush *flush, int64_t ret_ns[WAYS]) {
  char *from = kf_alloc(BYTES), *to = kf_alloc(BYTES);
  int64_t values[WAYS][ROUNDS];
  assert_true(from && to);
  memset(from, 1, BYTES);
  for (int i = 0; i < ROUNDS; i++) {
    for (int w = 0; w < WAYS; w++) {
      copy_ns(to, from);
      copy_ns(to, from);
      if (w == BY_READING) kf_flush_read(flush);
      if (w == BY_LINES) assert_true(kf_flush_lines(from, BYTES) && kf_flush_lines(to, BYTES));
      values[w][i] = copy_ns(to, from);
    }
  }
  for (int w = 0; w < WAYS; w++)
    ret_ns[w] = kf_median_i64(values[w], ROUNDS);
  kf_free(from);
  kf_free(to);
}

static void test_measure_flush__both_ways_make_a_copy_cold(void **state) {
  (void)state;
  if (!kf_flush_lines("", 1)) {
    print_message("skipped: this processor has no instruction that evicts a line\n");
    skip();
  }
  kf_flush flush = {.memory = kf_alloc(READ_BYTES), .bytes = READ_BYTES};
  int64_t ns[WAYS];
  assert_non_null(flush.memory);
  memset((void *)(uintptr_t)flush.memory, 1, READ_BYTES);
  bool cold = false;
  /* Where a neighbour keeps the caches cold all the time, once is not enough to tell. */
  for (int attempt = 0; attempt < 5 && !cold; attempt++) {
    measure(&flush, ns);
    cold = ns[BY_LINES] > ns[WARM] * 3 / 2 && ns[BY_READING] > ns[WARM] * 3 / 2 &&
           ns[BY_LINES] * 2 > ns[BY_READING];
  }
  print_message("copy of %d KiB: warm %lld ns, after reading %lld, after evicting its lines %lld\n",
                BYTES >> 10, (long long)ns[WARM], (long long)ns[BY_READING], (long long)ns[BY_LINES]);
  assert_true(cold);
  kf_free((void *)(uintptr_t)flush.memory);
}

static void test_measure_flush__eviction_keeps_what_was_written(void **state) {
  (void)state;
  char bytes[1000]; /* neither end on a line's edge */
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (char)i;
  kf_flush_lines(bytes + 3, sizeof bytes - 7);
  kf_flush_lines(bytes, 0);
  for (size_t i = 0; i < sizeof bytes; i++)
    assert_int_equal(bytes[i], (char)i);
}

static void test_measure_flush__large_cases_are_flushed_by_reading(void **state) {
  (void)state;
  kf_flush flush = {.memory = "", .bytes = 1000};
  assert_int_equal(kf_flush_choose(&flush, 1001), KF_FLUSH_READ);
  kf_flush_way small = kf_flush_lines("", 1) ? KF_FLUSH_LINES : KF_FLUSH_READ;
  assert_int_equal(kf_flush_choose(&flush, 1000), small);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_measure_flush__both_ways_make_a_copy_cold),
      cmocka_unit_test(test_measure_flush__eviction_keeps_what_was_written),
      cmocka_unit_test(test_measure_flush__large_cases_are_flushed_by_reading),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
