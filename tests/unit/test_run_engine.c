/* links: kf_run kf_task kf_archive kf_store kf_wire kf_base
 * engine.h, rule by rule: scripted answers and verdicts, and the decisions they must lead to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine_script.h"

#include "base/banned.h"

static void test_run_engine__seeds_are_admitted_and_the_fastest_is_linked(void **state) {
  script *s = *state;
  start_search(s);
  kf_engine_stats stats = stats_of(s);
  assert_int_equal(stats.anchor, 2);
  assert_int_equal(stats.anchor_link_nano, 2302000000);
  assert_int_equal(stats.anchor_half_nano, 3000000);
  assert_int_equal(stats.baseline, 1);
  assert_int_equal(stats.evaluated, 1); /* the initial kernel is not what the budget is for */
  assert_int_equal(candidate(s, 1).score_nano, 0);
  assert_int_equal(candidate(s, 2).score_nano, 2302000000);
  assert_int_equal(kf_archive_count(kf_engine_archive(s->world.engine)), 2);
}

static void test_run_engine__the_baseline_is_anchor_when_nothing_is_faster(void **state) {
  script *s = *state;
  s->world.task.nseeds[KF_LANG_OPENCL] = 1;
  start(s);
  answer(s, 1, 1);
  verdict(s, 1, (judged){.request = 1, .kind = OK_, .time_ns = 100, .cell = A});
  answer(s, 2, 2);
  s->said[0] = '\0';
  verdict(s, 2, (judged){.request = 2, .kind = OK_, .time_ns = 200, .cell = A});
  expect(s, "admitted 2|anchor 1 0+-0|new 1|judge 2 vs 1 #3|");
  /* The elite of its cell is the anchor it was raced against: that race decides. */
  verdict(
      s, 2,
      (judged){
          .request = 3, .kind = OK_, .median = -500000000, .half = 2, .cell = A, .outcome = KF_RACE_SLOWER});
  assert_int_equal(strncmp(s->said, "runner_up 2|propose", 19), 0);
}

static void test_run_engine__score_is_link_plus_race(void **state) {
  script *s = *state;
  start_search(s);
  answer(s, 3, 3);
  s->said[0] = '\0';
  verdict(s, 3,
          (judged){.request = 4,
                   .kind = OK_,
                   .median = 100000000,
                   .half = 4000000,
                   .cell = {{3, 1, 2, 0}},
                   .outcome = FASTER_});
  assert_non_null(strstr(s->said, "new 3|"));
  assert_int_equal(candidate(s, 3).score_nano, 2402000000);
  assert_int_equal(candidate(s, 3).half_nano, 5000000); /* sqrt(3^2 + 4^2) */
}

static void test_run_engine__a_taken_cell_is_won_by_a_duel_only(void **state) {
  script *s = *state;
  start_search(s);
  answer(s, 3, 3);
  s->said[0] = '\0';
  /* Cell A holds the baseline with D = 0: far better, and still a duel. */
  verdict(s, 3,
          (judged){.request = 4,
                   .kind = OK_,
                   .median = -1000000000,
                   .half = 1000000,
                   .cell = A,
                   .outcome = KF_RACE_SLOWER});
  expect(s, "duel 3 vs 1 #5|");
  verdict(
      s, 3,
      (judged){
          .request = 5, .kind = OK_, .median = 1300000000, .half = 1000000, .cell = A, .outcome = FASTER_});
  assert_int_equal(strncmp(s->said, "elite 3|propose", 15), 0);
  assert_int_equal(kf_archive_find(kf_engine_archive(s->world.engine), &A)->runners_up[0].id, 1);
  /* Below the elite's interval: no race. */
  answer(s, 4, 4);
  s->said[0] = '\0';
  verdict(s, 4,
          (judged){.request = 6,
                   .kind = OK_,
                   .median = -1500000000,
                   .half = 1000000,
                   .cell = A,
                   .outcome = KF_RACE_SLOWER});
  assert_int_equal(strncmp(s->said, "runner_up 4|propose", 19), 0);
  /* A tie leaves the elite where it is. */
  answer(s, 5, 5);
  s->said[0] = '\0';
  verdict(s, 5,
          (judged){.request = 7,
                   .kind = OK_,
                   .median = -1000000000,
                   .half = 1000000,
                   .cell = A,
                   .outcome = KF_RACE_SLOWER});
  expect(s, "duel 5 vs 3 #8|");
  verdict(s, 5,
          (judged){
              .request = 8, .kind = OK_, .median = 1000, .half = 1000000, .cell = A, .outcome = KF_RACE_TIE});
  assert_int_equal(strncmp(s->said, "runner_up 5|", 12), 0);
  assert_int_equal(kf_archive_find(kf_engine_archive(s->world.engine), &A)->elite.id, 3);
}

static void test_run_engine__a_duel_is_repeated_when_the_elite_changed(void **state) {
  script *s = *state;
  s->world.config.in_flight = 2;
  s->world.task.nseeds[KF_LANG_OPENCL] = 0;
  start(s);
  answer(s, 1, 1);
  verdict(s, 1, (judged){.request = 1, .kind = OK_, .time_ns = 100, .cell = A});
  answer(s, 2, 2);
  answer(s, 3, 3);
  verdict(s, 2,
          (judged){.request = 2, .kind = OK_, .median = 100000000, .half = 1, .cell = B, .outcome = FASTER_});
  answer(s, 4, 4);
  s->said[0] = '\0';
  verdict(
      s, 3,
      (judged){
          .request = 3, .kind = OK_, .median = 110000000, .half = 50000000, .cell = B, .outcome = FASTER_});
  expect(s, "duel 3 vs 2 #5|");
  verdict(s, 4,
          (judged){.request = 4, .kind = OK_, .median = 120000000, .half = 1, .cell = B, .outcome = FASTER_});
  expect(s, "duel 4 vs 2 #6|");
  verdict(s, 4, (judged){.request = 6, .kind = OK_, .median = 20000000, .half = 1, .outcome = FASTER_});
  assert_int_equal(strncmp(s->said, "elite 4|", 8), 0);
  s->said[0] = '\0';
  verdict(s, 3, (judged){.request = 5, .kind = OK_, .median = 10000000, .half = 1, .outcome = FASTER_});
  expect(s, "duel 3 vs 4 #7|"); /* what it won is no longer there */
  verdict(s, 3,
          (judged){.request = 7, .kind = OK_, .median = -30000000, .half = 1, .outcome = KF_RACE_SLOWER});
  assert_int_equal(strncmp(s->said, "runner_up 3|", 12), 0);
  assert_int_equal(kf_archive_find(kf_engine_archive(s->world.engine), &B)->elite.id, 4);
}

static void test_run_engine__duplicates_inherit_and_cost_nothing(void **state) {
  script *s = *state;
  start_search(s);
  answer(s, 3, 2); /* the seed again */
  assert_int_equal(strncmp(s->said, "dropped duplicate 3|propose", 27), 0);
  kf_candidate c = candidate(s, 3);
  assert_true(c.duplicate_of_known && c.judged && c.scored);
  assert_int_equal(c.score_nano, 2302000000);
  assert_int_equal(stats_of(s).evaluated, 1);
}

static void test_run_engine__failures_are_graded_into_the_frontier(void **state) {
  script *s = *state;
  int64_t ids[KF_FRONTIER_MAX];
  start_search(s);
  static const kf_verdict_kind kinds[] = {KF_VERDICT_BUILD_FAILED, KF_VERDICT_SLOW, KF_VERDICT_CHEAT,
                                          KF_VERDICT_CRASHED};
  for (int i = 0; i < 4; i++) {
    answer(s, 3 + i, 3 + i);
    verdict(s, 3 + i, (judged){.request = 4 + i, .kind = kinds[i]});
  }
  input(s, KF_EVENT_ANSWER, 7, json_pack("{s:s}", "status", "no_code"));
  assert_int_equal(kf_archive_frontier(kf_engine_archive(s->world.engine), ids), 3);
  assert_int_equal(ids[0], 4);
  assert_int_equal(ids[1], 6);
  assert_int_equal(ids[2], 3);
  assert_int_equal(stats_of(s).evaluated, 6);
  assert_int_equal(stats_of(s).verdicts[KF_VERDICT_NO_CODE], 1);
}

static void test_run_engine__infrastructure_is_tried_again_three_times(void **state) {
  script *s = *state;
  start_search(s);
  answer(s, 3, 3);
  s->said[0] = '\0';
  for (int request = 4; request <= 7; request++)
    input(s, KF_EVENT_INFRA, 3, json_pack("{s:i,s:s}", "request", request, "error", "worker gone"));
  assert_int_equal(strncmp(s->said, "judge 3 vs 2 #5|judge 3 vs 2 #6|judge 3 vs 2 #7|abandoned 3|", 60), 0);
  assert_int_equal(stats_of(s).evaluated, 1);
  assert_true(candidate(s, 3).abandoned);
  answer(s, 4, 3); /* the same text again is no duplicate: it was never judged */
  assert_non_null(strstr(s->said, "judge 4 vs 2 #8|"));
}

static void test_run_engine__a_much_faster_kernel_becomes_the_anchor(void **state) {
  script *s = *state;
  start_search(s);
  answer(s, 3, 3);
  s->said[0] = '\0';
  verdict(s, 3,
          (judged){.request = 4,
                   .kind = OK_,
                   .median = 230000000,
                   .half = 6000000,
                   .cell = {{3, 0, 0, 0}},
                   .outcome = FASTER_});
  assert_non_null(strstr(s->said, "promote 3 vs 2 #5|")); /* 0.224 > ln 1.25 = 0.2231 */
  answer(s, 4, 4);                                        /* meanwhile one is raced against the old anchor */
  s->said[0] = '\0';
  verdict(s, 3,
          (judged){.request = 5,
                   .kind = OK_,
                   .median = 240000000,
                   .half = 4000000,
                   .outcome = FASTER_,
                   .confirmed = true});
  expect(s, "anchor 3 2542000000+-5000000|");
  assert_int_equal(candidate(s, 3).score_nano, 2542000000);
  verdict(s, 4,
          (judged){.request = 6,
                   .kind = OK_,
                   .median = 100000000,
                   .half = 1,
                   .cell = {{3, 3, 0, 0}},
                   .outcome = FASTER_});
  assert_int_equal(candidate(s, 4).score_nano,
                   2402000000); /* by the link of the anchor it was raced against */
  answer(s, 5, 5);
  assert_non_null(strstr(s->said, "judge 5 vs 3 #7|"));
}

static void test_run_engine__a_promotion_that_turns_out_wrong_is_demoted(void **state) {
  script *s = *state;
  start_search(s);
  answer(s, 3, 3);
  verdict(s, 3,
          (judged){.request = 4,
                   .kind = OK_,
                   .median = 900000000,
                   .half = 1,
                   .cell = {{3, 0, 0, 0}},
                   .outcome = FASTER_});
  s->said[0] = '\0';
  verdict(s, 3, (judged){.request = 5, .kind = KF_VERDICT_WRONG_OUTPUT});
  expect(s, "promote 3 no demoted|");
  kf_candidate c = candidate(s, 3);
  assert_true(c.demoted);
  assert_int_equal(c.verdict, KF_VERDICT_WRONG_OUTPUT);
  assert_int_equal(kf_archive_count(kf_engine_archive(s->world.engine)), 2);
  assert_int_equal(stats_of(s).verdicts[KF_VERDICT_WRONG_OUTPUT], 1);
}

static void test_run_engine__impossible_inputs_change_nothing(void **state) {
  script *s = *state;
  start_search(s);
  static const struct {
    kf_event_kind kind;
    int64_t proposal;
    const char *body;
  } bad[] = {
      {KF_EVENT_ANSWER, 2, "{\"status\":\"notfound\"}"},
      {KF_EVENT_ANSWER, 99, "{\"status\":\"notfound\"}"},
      {KF_EVENT_ANSWER, 3, "{}"},
      {KF_EVENT_ANSWER, 3, "{\"status\":\"ok\"}"},
      {KF_EVENT_ANSWER, 3, "{\"status\":\"ok\",\"source\":\"12\"}"},
      {KF_EVENT_VERDICT, 3, "{\"request\":4,\"verdict\":{}}"},
      {KF_EVENT_VERDICT, 3, "[]"},
      {KF_EVENT_INFRA, 3, "{\"request\":3}"},
      {KF_EVENT_CLOCK, 0, "{"},
      {KF_EVENT_RESUME, 0, "{\"evals_max\":-4}"},
      {KF_EVENT_START, 0, "{}"},
  };
  kf_engine_stats before = stats_of(s);
  for (size_t i = 0; i < KF_COUNTOF(bad); i++) {
    kf_err err = {0};
    kf_event event = {.kind = bad[i].kind,
                      .proposal = bad[i].proposal,
                      .at_ms = 77,
                      .body = bad[i].body,
                      .body_len = strlen(bad[i].body)};
    s->said[0] = '\0';
    assert_int_equal(kf_engine_input(s->world.engine, &event, world_emit, &s->world, &err), KF_EPROTO);
    assert_true(err.msg[0] != '\0');
    expect(s, "");
    kf_engine_stats after = stats_of(s);
    assert_memory_equal(&before, &after, sizeof before);
  }
  answer(s, 3, 3); /* and the run goes on */
  assert_non_null(strstr(s->said, "judge 3 vs 2 #4|"));
}

/* Decisions are held without allocating, since allocations fail while they are made. */
typedef struct {
  kf_event events[16];
  char bodies[16][2048];
  int count;
} held;

static kf_status hold(void *context, const kf_event *decision, kf_err *err) {
  held *h = context;
  (void)err;
  assert_true(h->count < 16 && decision->body_len < sizeof h->bodies[0]);
  memcpy(h->bodies[h->count], decision->body, decision->body_len + 1);
  h->events[h->count] = *decision;
  h->events[h->count].body = h->bodies[h->count];
  h->count++;
  return KF_OK;
}

/* One input with the allocation number *left failing; *left is lowered by what was used. */
static kf_status starved_input(kf_world *world, const world_effect *effect, unsigned long *left,
                               bool *ret_reached) {
  static held h;
  kf_buf text;
  json_t *body = effect->request == 0 ? world_answer(world, effect) : world_judge(world, effect);
  kf_buf_init(&text, 1 << 20);
  assert_int_equal(kf_json_dump(body, &text, NULL), KF_OK);
  json_decref(body);
  kf_event event = {.kind = effect->request == 0 ? KF_EVENT_ANSWER : KF_EVENT_VERDICT,
                    .proposal = effect->proposal,
                    .body = kf_buf_text(&text),
                    .body_len = text.len};
  h.count = 0;
  kf_alloc_fail_at(*left, false);
  kf_status status = kf_engine_input(world->engine, &event, hold, &h, NULL);
  unsigned long used = kf_alloc_count();
  kf_alloc_fail_at(0, false);
  kf_buf_done(&text);
  *ret_reached = used >= *left;
  *left -= *ret_reached ? 0 : used;
  for (int i = 0; status == KF_OK && i < h.count; i++)
    assert_int_equal(world_emit(world, &h.events[i], NULL), KF_OK);
  return status;
}

static void test_run_engine__survives_any_failing_allocation(void **state) {
  (void)state;
  unsigned long failures = 0;
  bool reached = true;
  for (unsigned long nth = 1; reached; nth += 1 + nth / 200) {
    kf_world *world = kf_calloc(1, sizeof *world);
    world_init(world, 5, 12, 2);
    world->keep_log = false;
    assert_int_equal(world_start(world, NULL), KF_OK);
    kf_status status = KF_OK;
    unsigned long left = nth;
    for (reached = false; status == KF_OK && !reached && world->effects.count > 0;) {
      world_effect effect = world->effects.items[--world->effects.count];
      status = starved_input(world, &effect, &left, &reached);
    }
    if (status != KF_OK) failures++;
    assert_int_equal(status, reached && status != KF_OK ? KF_ENOMEM : KF_OK);
    world_done(world);
    kf_free(world);
  }
  assert_true(failures > 100);
}

int main(void) {
  kf_alloc_init();
#define T(name) cmocka_unit_test_setup_teardown(test_run_engine__##name, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(seeds_are_admitted_and_the_fastest_is_linked),
      T(the_baseline_is_anchor_when_nothing_is_faster),
      T(score_is_link_plus_race),
      T(a_taken_cell_is_won_by_a_duel_only),
      T(a_duel_is_repeated_when_the_elite_changed),
      T(duplicates_inherit_and_cost_nothing),
      T(failures_are_graded_into_the_frontier),
      T(infrastructure_is_tried_again_three_times),
      T(a_much_faster_kernel_becomes_the_anchor),
      T(a_promotion_that_turns_out_wrong_is_demoted),
      T(impossible_inputs_change_nothing),
      T(survives_any_failing_allocation),
  };
  return cmocka_run_group_tests_name("run_engine", tests, NULL, NULL);
}
