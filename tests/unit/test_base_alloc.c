/* links: kf_base */
/* test_base_alloc.c - the door for memory counts, fails on demand and refuses overflow. */
#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_alloc__nth_fails_once(void **state) {
  (void)state;
  kf_alloc_fail_at(2, false);
  void *a = kf_alloc(8), *b = kf_alloc(8), *c = kf_calloc(2, 8);
  assert_int_equal(kf_alloc_count(), 3);
  kf_alloc_fail_at(0, false);
  assert_non_null(a);
  assert_null(b);
  assert_non_null(c);
  kf_free(a);
  kf_free(c);
}

static void test_alloc__nth_fails_forever(void **state) {
  (void)state;
  kf_alloc_fail_at(2, true);
  char *a = kf_strdup("a"), *b = kf_strdup("b"), *c = kf_strdup("c");
  char *a2 = kf_realloc(a, 100);
  kf_alloc_fail_at(0, false);
  assert_string_equal(a, "a");
  assert_null(b);
  assert_null(c);
  assert_null(a2);
  kf_free(a);
}

static void test_alloc__zero_bytes_are_unique(void **state) {
  (void)state;
  void *a = kf_alloc(0), *b = kf_calloc(0, 8), *c = kf_realloc(NULL, 0);
  assert_non_null(a);
  assert_non_null(b);
  assert_non_null(c);
  assert_ptr_not_equal(a, b);
  c = kf_realloc(c, 0);
  assert_non_null(c);
  kf_free(a);
  kf_free(b);
  kf_free(c);
}

static void test_alloc__overflow_gives_null(void **state) {
  (void)state;
  volatile size_t huge = SIZE_MAX; /* hidden from the compiler, which would warn */
  void *a = kf_calloc(huge / 2, 3), *b = kf_reallocarray(NULL, huge, 2), *c = kf_alloc(huge);
  assert_null(a);
  assert_null(b);
  assert_null(c);
}

static void test_alloc__strndup_stops_at_nul(void **state) {
  (void)state;
  char *a = kf_strndup("abcdef", 3), *b = kf_strndup("ab", 100);
  assert_string_equal(a, "abc");
  assert_string_equal(b, "ab");
  kf_freep(&a);
  assert_null(a);
  kf_free(b);
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *allocate_often(void *arg) {
  (void)arg;
  for (int i = 0; i < ROUNDS; i++)
    kf_free(kf_calloc(1, 16));
  return NULL;
}

static void test_alloc__memdup_keeps_every_byte(void **state) {
  (void)state;
  char *copy = kf_memdup("a\0b", 3);
  assert_non_null(copy);
  assert_memory_equal(copy, "a\0b", 4); /* and a NUL one past */
  kf_free(copy);
  copy = kf_memdup(NULL, 0);
  assert_non_null(copy);
  assert_int_equal(copy[0], 0);
  kf_free(copy);
  assert_null(kf_memdup("", SIZE_MAX));
}

static void test_alloc__counts_across_threads(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  kf_alloc_fail_at(0, false);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, allocate_often, NULL), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(kf_alloc_count(), THREADS * ROUNDS);
}

static void test_alloc__nomem_names_itself(void **state) {
  (void)state;
  kf_err err = {0};
  assert_int_equal(kf_nomem(&err), KF_ENOMEM);
  assert_string_equal(err.msg, "out of memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_alloc__nth_fails_once),
      cmocka_unit_test(test_alloc__nth_fails_forever),
      cmocka_unit_test(test_alloc__zero_bytes_are_unique),
      cmocka_unit_test(test_alloc__overflow_gives_null),
      cmocka_unit_test(test_alloc__strndup_stops_at_nul),
      cmocka_unit_test(test_alloc__memdup_keeps_every_byte),
      cmocka_unit_test(test_alloc__counts_across_threads),
      cmocka_unit_test(test_alloc__nomem_names_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
