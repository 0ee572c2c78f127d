/* links: kf_base kf_wire kf_task kf_build kf_verify kf_eval */
/* test_eval_pool.c - secret seeds: the same within one judgement, others in the next, within time and memory.
 */
#include "eval/expected_pool.h"

#include "base/alloc.h"
#include "base/clock.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct {
  int calls, last;
  int64_t bytes; /* claimed by each item */
  bool fails;
  int64_t sleep_ms;
} maker;

static kf_status make(void *context, const kf_pool_key *key, int index, kf_pool_item *ret_item, kf_err *err) {
  maker *m = context;
  (void)key;
  if (m->fails) return kf_fail(err, KF_EREFUSED, "no reference");
  m->calls++;
  m->last = index;
  if (m->sleep_ms > 0) kf_sleep_ms(m->sleep_ms);
  ret_item->expected = kf_calloc(1, sizeof *ret_item->expected);
  if (ret_item->expected == NULL) return kf_nomem(err);
  ret_item->expected->seed = (uint64_t)index;
  ret_item->expected->bytes = m->bytes;
  return KF_OK;
}

static const int64_t symbols[] = {7};
static const kf_pool_key declared = {symbols, 1, KF_FAMILY_DECLARED}, tiny = {symbols, 1, KF_FAMILY_TINY};

static const kf_expected *get(kf_pool *pool, const kf_pool_key *key, maker *m, bool *ret_made) {
  kf_err err = {0};
  const kf_pool_item *item = NULL;
  if (kf_pool_get(pool, key, make, m, &item, ret_made, &err) != KF_OK) fail_msg("%s", err.msg);
  return item->expected;
}

static void test_eval_pool__candidates_get_different_seeds(void **state) {
  (void)state;
  kf_pool pool;
  maker m = {.bytes = 100};
  bool made = false;
  uint64_t last = UINT64_MAX;
  bool seen[KF_POOL_SEEDS] = {false};
  kf_pool_init(&pool);
  pool.saved_ns = INT64_C(1) << 40; /* a stalled machine must not look like a dear reference */
  for (int candidate = 0; candidate < 3 * KF_POOL_SEEDS; candidate++) {
    kf_pool_begin(&pool);
    const kf_expected *first = get(&pool, &declared, &m, &made);
    const kf_expected *again = get(&pool, &declared, &m, &made);
    assert_ptr_equal(first, again);
    assert_false(made);
    assert_true(first->seed != last && first->seed < KF_POOL_SEEDS);
    last = first->seed;
    seen[first->seed] = true;
  }
  for (int i = 0; i < KF_POOL_SEEDS; i++)
    assert_true(seen[i]);
  assert_int_equal(m.calls, KF_POOL_SEEDS); /* each made once */
  get(&pool, &tiny, &m, &made);
  assert_true(made); /* another family, other data */
  kf_pool_done(&pool);
}

static void test_eval_pool__a_dear_case_grows_slowly(void **state) {
  (void)state;
  kf_pool pool;
  maker m = {.bytes = 100, .sleep_ms = 200};
  bool made = false;
  kf_pool_init(&pool);
  kf_pool_begin(&pool);
  get(&pool, &declared, &m, &made);
  assert_true(made);
  kf_pool_begin(&pool); /* 120 ms saved: not enough */
  get(&pool, &declared, &m, &made);
  assert_false(made);
  for (int i = 0; i < 60 && !made; i++) {
    kf_pool_begin(&pool);
    get(&pool, &declared, &m, &made);
  }
  assert_true(made);
  kf_pool_done(&pool);
}

static void test_eval_pool__memory_is_bounded_and_what_is_in_use_stays(void **state) {
  (void)state;
  kf_pool pool;
  maker m = {.bytes = 400};
  bool made = false;
  kf_pool_init(&pool);
  pool.bytes_max = 1000;
  for (int candidate = 0; candidate < 20; candidate++) {
    kf_pool_begin(&pool);
    const kf_expected *a = get(&pool, &declared, &m, &made);
    uint64_t seed = a->seed;
    const kf_expected *b = get(&pool, &tiny, &m, &made);
    assert_true(a->seed == seed && b->bytes == 400); /* both still there */
    assert_true(pool.bytes <= 1000);
  }
  pool.bytes_max = 100; /* less than one judgement needs: it gets it all the same */
  kf_pool_begin(&pool);
  const kf_expected *a = get(&pool, &declared, &m, &made);
  const kf_expected *b = get(&pool, &tiny, &m, &made);
  assert_true(a->bytes == 400 && b->bytes == 400);
  kf_pool_done(&pool);
  assert_int_equal(pool.bytes, 0);
}

static void test_eval_pool__a_failure_leaves_it_usable(void **state) {
  (void)state;
  kf_pool pool;
  maker m = {.bytes = 100, .fails = true};
  const kf_pool_item *item = NULL;
  bool made = false;
  kf_err err;
  kf_pool_init(&pool);
  kf_pool_begin(&pool);
  assert_int_equal(kf_pool_get(&pool, &declared, make, &m, &item, &made, &err), KF_EREFUSED);
  m.fails = false;
  assert_int_equal(get(&pool, &declared, &m, &made)->seed, 0);
  kf_pool_done(&pool);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_eval_pool__candidates_get_different_seeds),
      cmocka_unit_test(test_eval_pool__a_dear_case_grows_slowly),
      cmocka_unit_test(test_eval_pool__memory_is_bounded_and_what_is_in_use_stays),
      cmocka_unit_test(test_eval_pool__a_failure_leaves_it_usable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
