/* links: kf_archive kf_wire kf_base
 * archive.h: who is kept where, after insertions that were decided elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "archive/archive.h"
#include "base/alloc.h"

#include "base/banned.h"

static const kf_cell CELL = {{1, 0, 2, 0}}, OTHER = {{0, 3, 1, 0}}, UNKNOWN = {{-1, -1, -1, -1}};

static kf_archive *fresh(void) {
  kf_archive *archive = NULL;
  assert_int_equal(kf_archive_new(&archive, NULL), KF_OK);
  return archive;
}

static kf_status put(kf_archive *archive, kf_cell cell, int64_t id, int64_t score, int64_t half,
                     kf_insert_status status) {
  kf_entry entry = {id, score, half};
  return kf_archive_insert(archive, &cell, &entry, status, NULL);
}

static void test_archive__keeps_the_best_two_runners_up(void **state) {
  (void)state;
  kf_archive *archive = fresh();
  assert_int_equal(put(archive, CELL, 1, 100, 10, KF_INSERT_NEW), KF_OK);
  assert_int_equal(put(archive, CELL, 2, 50, 1, KF_INSERT_RUNNER_UP), KF_OK);
  assert_int_equal(put(archive, CELL, 3, 60, 20, KF_INSERT_RUNNER_UP), KF_OK); /* 40 < 49 */
  assert_int_equal(put(archive, CELL, 4, 45, 0, KF_INSERT_RUNNER_UP), KF_OK);  /* between: 3 goes */
  assert_int_equal(put(archive, CELL, 5, 10, 0, KF_INSERT_RUNNER_UP), KF_OK);  /* behind both: not kept */
  assert_int_equal(put(archive, CELL, 6, 10, 0, KF_INSERT_DROPPED), KF_OK);
  const kf_archive_cell *cell = kf_archive_find(archive, &CELL);
  assert_non_null(cell);
  assert_int_equal(cell->elite.id, 1);
  assert_int_equal(cell->nrunners_up, 2);
  assert_int_equal(cell->runners_up[0].id, 2);
  assert_int_equal(cell->runners_up[1].id, 4);
  assert_int_equal(cell->visits, 6);
  kf_archive_free(archive);
}

static void test_archive__a_beaten_elite_becomes_a_runner_up(void **state) {
  (void)state;
  kf_archive *archive = fresh();
  assert_int_equal(put(archive, CELL, 1, 100, 10, KF_INSERT_NEW), KF_OK);
  assert_int_equal(put(archive, CELL, 2, 95, 1, KF_INSERT_ELITE),
                   KF_OK); /* won the race whatever the scores say */
  const kf_archive_cell *cell = kf_archive_find(archive, &CELL);
  assert_int_equal(cell->elite.id, 2);
  assert_int_equal(cell->nrunners_up, 1);
  assert_int_equal(cell->runners_up[0].id, 1);
  kf_archive_free(archive);
}

static void test_archive__refuses_contradictions(void **state) {
  (void)state;
  kf_archive *archive = fresh();
  assert_int_equal(put(archive, CELL, 1, 0, 0, KF_INSERT_ELITE), KF_EBUG);
  assert_int_equal(put(archive, CELL, 1, 0, 0, KF_INSERT_RUNNER_UP), KF_EBUG);
  assert_int_equal(put(archive, CELL, 1, 0, 0, KF_INSERT_FAILED), KF_EBUG);
  assert_int_equal(put(archive, CELL, 0, 0, 0, KF_INSERT_NEW), KF_EBUG);
  assert_int_equal(put(archive, (kf_cell){{0, 4, 0, 0}}, 1, 0, 0, KF_INSERT_NEW), KF_EBUG);
  assert_int_equal(put(archive, CELL, 1, 0, 0, KF_INSERT_NEW), KF_OK);
  assert_int_equal(put(archive, CELL, 2, 0, 0, KF_INSERT_NEW), KF_EBUG);
  assert_int_equal(put(archive, CELL, 1, 0, 0, KF_INSERT_RUNNER_UP), KF_EBUG);
  assert_int_equal(kf_archive_demote(archive, 9, NULL), KF_EBUG);
  assert_int_equal(kf_archive_count(archive), 1);
  kf_archive_free(archive);
}

static void test_archive__demotion_moves_the_runner_up_in_and_may_empty_the_cell(void **state) {
  (void)state;
  kf_archive *archive = fresh();
  assert_int_equal(put(archive, CELL, 1, 100, 0, KF_INSERT_NEW), KF_OK);
  assert_int_equal(put(archive, CELL, 2, 50, 0, KF_INSERT_RUNNER_UP), KF_OK);
  assert_int_equal(put(archive, CELL, 3, 60, 0, KF_INSERT_RUNNER_UP), KF_OK);
  assert_int_equal(kf_archive_demote(archive, 1, NULL), KF_OK);
  assert_int_equal(kf_archive_find(archive, &CELL)->elite.id, 3);
  assert_int_equal(kf_archive_demote(archive, 2, NULL), KF_OK); /* a runner-up */
  assert_int_equal(kf_archive_find(archive, &CELL)->nrunners_up, 0);
  assert_int_equal(kf_archive_demote(archive, 3, NULL), KF_OK);
  assert_null(kf_archive_find(archive, &CELL));
  assert_int_equal(kf_archive_count(archive), 0);
  assert_null(kf_archive_best(archive));
  assert_int_equal(put(archive, CELL, 4, 1, 0, KF_INSERT_NEW), KF_OK);
  assert_int_equal(kf_archive_find(archive, &CELL)->visits, 4);
  kf_archive_free(archive);
}

static void test_archive__order_best_and_qd_score(void **state) {
  (void)state;
  kf_archive *archive = fresh();
  assert_int_equal(put(archive, CELL, 1, 1000, 900, KF_INSERT_NEW), KF_OK);
  assert_int_equal(put(archive, OTHER, 2, 500, 100, KF_INSERT_NEW), KF_OK);
  assert_int_equal(put(archive, UNKNOWN, 3, -2302585093 - 7, 0, KF_INSERT_NEW),
                   KF_OK); /* slower than 10x: adds nothing */
  assert_int_equal(kf_archive_count(archive), 3);
  assert_int_equal(kf_archive_at(archive, 0)->elite.id, 3);
  assert_int_equal(kf_archive_at(archive, 1)->elite.id, 2);
  assert_int_equal(kf_archive_at(archive, 2)->elite.id, 1);
  assert_null(kf_archive_at(archive, 3));
  assert_int_equal(kf_archive_best(archive)->elite.id, 2); /* 400 > 100 */
  assert_int_equal(kf_archive_qd_nano(archive), 2 * 2302585093LL + 1500);
  assert_true(kf_archive_rescore(archive, 1, 600, 0));
  assert_int_equal(kf_archive_best(archive)->elite.id, 1);
  assert_false(kf_archive_rescore(archive, 77, 600, 0));
  kf_archive_free(archive);
}

static void test_archive__rescoring_orders_the_runners_up(void **state) {
  (void)state;
  kf_archive *archive = fresh();
  assert_int_equal(put(archive, CELL, 1, 100, 0, KF_INSERT_NEW), KF_OK);
  assert_int_equal(put(archive, CELL, 2, 50, 0, KF_INSERT_RUNNER_UP), KF_OK);
  assert_int_equal(put(archive, CELL, 3, 60, 0, KF_INSERT_RUNNER_UP), KF_OK);
  assert_true(kf_archive_rescore(archive, 2, 70, 0));
  assert_int_equal(kf_archive_find(archive, &CELL)->runners_up[0].id, 2);
  assert_int_equal(kf_archive_find(archive, &CELL)->nrunners_up, 2);
  kf_archive_free(archive);
}

static void test_archive__frontier_is_by_grade_then_recency(void **state) {
  (void)state;
  kf_archive *archive = fresh();
  int64_t ids[KF_FRONTIER_MAX];
  for (int64_t id = 1; id <= 40; id++)
    assert_int_equal(kf_archive_frontier_add(archive, id, id % 4 * 100, NULL), KF_OK);
  assert_int_equal(kf_archive_frontier(archive, ids), KF_FRONTIER_MAX);
  for (int i = 0; i < 10; i++)
    assert_int_equal(ids[i], 39 - 4 * i); /* grade 300, newest first */
  for (int i = 10; i < 16; i++)
    assert_int_equal(ids[i], 38 - 4 * (i - 10)); /* then grade 200 */
  kf_archive_free(archive);
}

static void test_archive__names(void **state) {
  (void)state;
  for (int i = KF_INSERT_FAILED; i <= KF_INSERT_NEW; i++) {
    kf_insert_status back = KF_INSERT_FAILED;
    assert_true(kf_insert_parse(kf_insert_name((kf_insert_status)i), &back));
    assert_int_equal(back, i);
  }
  kf_insert_status untouched = KF_INSERT_NEW;
  assert_false(kf_insert_parse("admitted", &untouched));
  assert_int_equal(untouched, KF_INSERT_NEW);
}

static void test_archive__survives_any_failing_allocation(void **state) {
  (void)state;
  for (unsigned long nth = 1; nth <= 4; nth++) {
    kf_archive *archive = NULL;
    kf_alloc_fail_at(nth, false);
    kf_status status = kf_archive_new(&archive, NULL);
    if (status == KF_OK) status = put(archive, CELL, 1, 1, 1, KF_INSERT_NEW);
    if (status == KF_OK) status = put(archive, OTHER, 2, 1, 1, KF_INSERT_NEW);
    kf_alloc_fail_at(0, false);
    assert_int_equal(status, nth <= 3 ? KF_ENOMEM : KF_OK);
    if (nth > 1) assert_int_equal(kf_archive_count(archive), nth == 4 ? 2 : (int)nth - 2);
    kf_archive_free(archive);
  }
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_archive__keeps_the_best_two_runners_up),
      cmocka_unit_test(test_archive__a_beaten_elite_becomes_a_runner_up),
      cmocka_unit_test(test_archive__refuses_contradictions),
      cmocka_unit_test(test_archive__demotion_moves_the_runner_up_in_and_may_empty_the_cell),
      cmocka_unit_test(test_archive__order_best_and_qd_score),
      cmocka_unit_test(test_archive__rescoring_orders_the_runners_up),
      cmocka_unit_test(test_archive__frontier_is_by_grade_then_recency),
      cmocka_unit_test(test_archive__names),
      cmocka_unit_test(test_archive__survives_any_failing_allocation),
  };
  return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
