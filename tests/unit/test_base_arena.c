/* links: kf_base */
/* test_base_arena.c - arenas give zeroed, aligned, separate pieces and release them together. */
#include "base/arena.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_base_sweep.h"

static void test_arena__pieces_are_zeroed_aligned_and_apart(void **state) {
  (void)state;
  kf_arena arena = {0};
  unsigned char *pieces[400];
  for (size_t i = 0; i < 400; i++) {
    size_t size = i % 50 == 49 ? 10000 : i % 70;
    pieces[i] = kf_arena_alloc(&arena, size);
    assert_non_null(pieces[i]);
    assert_int_equal((uintptr_t)pieces[i] % 16, 0);
    for (size_t j = 0; j < size; j++)
      assert_int_equal(pieces[i][j], 0);
    memset(pieces[i], (int)(i % 255 + 1), size);
  }
  for (size_t i = 0; i < 400; i++) {
    size_t size = i % 50 == 49 ? 10000 : i % 70;
    for (size_t j = 0; j < size; j++)
      assert_int_equal(pieces[i][j], i % 255 + 1);
  }
  kf_arena_done(&arena);
  assert_null(arena.head);
  kf_arena_done(&arena);
}

static void test_arena__large_piece_keeps_the_rest_of_the_block(void **state) {
  (void)state;
  kf_arena arena = {0};
  char *first = kf_arena_alloc(&arena, 16);
  assert_non_null(kf_arena_alloc(&arena, 100000));
  assert_ptr_equal(kf_arena_alloc(&arena, 16), first + 16);
  kf_arena_done(&arena);
}

static void test_arena__texts_and_overflow(void **state) {
  (void)state;
  kf_arena arena = {0};
  assert_string_equal(kf_arena_strdup(&arena, "text"), "text");
  assert_string_equal(kf_arena_strndup(&arena, "text", 2), "te");
  assert_string_equal(kf_arena_strndup(&arena, "text", 100), "text");
  assert_null(kf_arena_array(&arena, SIZE_MAX / 2, 3));
  assert_null(kf_arena_alloc(&arena, SIZE_MAX));
  assert_null(kf_arena_alloc(&arena, PTRDIFF_MAX - 20));
  assert_non_null(kf_arena_array(&arena, 3, 8));
  kf_arena_done(&arena);
}

static kf_status fill(void) {
  kf_arena arena = {0};
  bool good = kf_arena_alloc(&arena, 3000) != NULL && kf_arena_alloc(&arena, 3000) != NULL &&
              kf_arena_alloc(&arena, 50000) != NULL && kf_arena_strdup(&arena, "end") != NULL;
  kf_arena_done(&arena);
  return good ? KF_OK : KF_ENOMEM;
}

static void test_arena__survives_failing_allocations(void **state) {
  (void)state;
  assert_int_equal(sweep_allocations(fill, false), 3);
  assert_int_equal(sweep_allocations(fill, true), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arena__pieces_are_zeroed_aligned_and_apart),
      cmocka_unit_test(test_arena__large_piece_keeps_the_rest_of_the_block),
      cmocka_unit_test(test_arena__texts_and_overflow),
      cmocka_unit_test(test_arena__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
