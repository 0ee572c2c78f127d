/* links: kf_run kf_archive kf_store kf_wire kf_base
 * engine.h, rule by rule: scripted answers and verdicts, and the decisions they must lead to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine_world.h"

#include "base/banned.h"

/* The last decisions, as "propose 5", "evaluate judge 5 vs 2 #7", "insert elite 5", ... */
typedef struct {
  kf_world world;
  char said[4096];
} script;

static void note(void *context, const kf_event *decision) {
  script *s = context;
  size_t len = strlen(s->said);
  json_t *body = world_parse(decision);
  char *at = s->said + len;
  size_t room = sizeof s->said - len;
  long long id = (long long)decision->proposal;
  switch (decision->kind) {
  case KF_EVENT_PROPOSE:
    snprintf(at, room, "propose %s %lld|", kf_json_str_or(body, "emitter", ""), id);
    break;
  case KF_EVENT_EVALUATE:
    snprintf(at, room, "%s %lld vs %lld #%lld|", kf_json_str_or(body, "purpose", ""), id,
             (long long)kf_json_int_or(body, "against", -1), (long long)kf_json_int_or(body, "request", -1));
    break;
  case KF_EVENT_INSERT:
    snprintf(at, room, "%s%s %lld|", kf_json_str_or(body, "status", ""),
             json_object_get(body, "duplicate_of") ? " duplicate" : "", id);
    break;
  case KF_EVENT_ANCHOR:
    snprintf(at, room, "anchor %lld %lld+-%lld|", id, (long long)kf_json_int_or(body, "link", -1),
             (long long)kf_json_int_or(body, "half", -1));
    break;
  case KF_EVENT_CONFIRM:
    snprintf(at, room, "%s %lld %s%s|", kf_json_str_or(body, "purpose", ""), id,
             kf_json_bool_or(body, "confirmed", false) ? "yes" : "no",
             kf_json_bool_or(body, "demoted", false) ? " demoted" : "");
    break;
  default:
    snprintf(at, room, "%s %s|", kf_event_name(decision->kind), kf_json_str_or(body, "outcome", ""));
  }
  json_decref(body);
}

static int setup(void **state) {
  script *s = kf_calloc(1, sizeof *s);
  if (s == NULL) return -1;
  world_init(&s->world, 11, 100, 1);
  s->world.on_decision = note;
  s->world.context = s;
  *state = s;
  return 0;
}

static int teardown(void **state) {
  script *s = *state;
  world_done(&s->world);
  kf_free(s);
  return 0;
}

/* The decisions since the last look. */
static void expect(script *s, const char *want) {
  assert_string_equal(s->said, want);
  s->said[0] = '\0';
}

static void input(script *s, kf_event_kind kind, int64_t proposal, json_t *body) {
  kf_err err = {0};
  if (world_input(&s->world, kind, proposal, body, &err) != KF_OK) fail_msg("%s", err.msg);
}

static void start(script *s) {
  kf_err err = {0};
  if (world_start(&s->world, &err) != KF_OK) fail_msg("%s", err.msg);
}

/* An answer with a text and binding of its own: equal numbers are duplicates. */
static void answer(script *s, int64_t id, int number) {
  char source[KF_HASH_HEX], norm[KF_HASH_HEX];
  world_hash(source, "source", number, 0);
  world_hash(norm, "norm", number, 0);
  input(s, KF_EVENT_ANSWER, id,
        json_pack("{s:s,s:s,s:s,s:s}", "status", "ok", "source", source, "norm", norm, "binding", "TILE=1"));
}

typedef struct {
  int64_t request;
  kf_verdict_kind kind;
  int64_t time_ns, median, half;
  kf_cell cell;
  kf_race_outcome outcome;
  bool confirmed;
} judged;

static void verdict(script *s, int64_t id, judged j) {
  kf_verdict *v = &s->world.verdict;
  kf_verdict_init(v);
  v->kind = j.kind;
  v->cell = j.cell;
  v->time_ns = j.time_ns;
  v->confirmed = j.confirmed;
  v->race = (kf_race_result){.outcome = j.outcome,
                             .median_nano = j.median,
                             .low_nano = j.median - j.half,
                             .high_nano = j.median + j.half / 2};
  json_t *value = NULL;
  assert_int_equal(kf_verdict_to_json(v, &value, NULL), KF_OK);
  input(s, KF_EVENT_VERDICT, id, json_pack("{s:I,s:o}", "request", (json_int_t)j.request, "verdict", value));
}

static const kf_cell A = {{0, 0, 0, 0}}, B = {{2, 0, 1, 0}};
#define OK_ KF_VERDICT_CORRECT
#define FASTER_ KF_RACE_FASTER

static kf_engine_stats stats_of(const script *s) {
  kf_engine_stats stats;
  kf_engine_get_stats(s->world.engine, &stats);
  return stats;
}

static kf_candidate candidate(const script *s, int64_t id) {
  kf_candidate c;
  assert_true(kf_engine_candidate(s->world.engine, id, &c));
  return c;
}

/* Kernel and one seed; the seed is 10x faster and becomes the anchor: l = 2.302 +- 0.003, cells A and B. */
static void start_search(script *s) {
  s->world.task.nseeds[KF_LANG_OPENCL] = 1;
  start(s);
  answer(s, 1, 1);
  verdict(s, 1, (judged){.request = 1, .kind = OK_, .time_ns = 1000, .cell = A});
  answer(s, 2, 2);
  verdict(s, 2, (judged){.request = 2, .kind = OK_, .time_ns = 100, .cell = B});
  expect(
      s,
      "propose seed 1|admit 1 vs 0 #1|admitted 1|propose seed 2|admit 2 vs 0 #2|admitted 2|link 2 vs 1 #3|");
  verdict(
      s, 2,
      (judged){
          .request = 3, .kind = OK_, .median = 2302000000, .half = 3000000, .cell = B, .outcome = FASTER_});
  s->said[0] = '\0';
}

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

static void test_run_engine__a_wrong_initial_kernel_refuses_the_task(void **state) {
  script *s = *state;
  start(s);
  answer(s, 1, 1);
  s->said[0] = '\0';
  verdict(s, 1, (judged){.request = 1, .kind = KF_VERDICT_WRONG_OUTPUT});
  expect(s, "failed 1|finish refused|");
  kf_engine_stats stats = stats_of(s);
  assert_true(stats.finished);
  assert_string_equal(stats.finish_reason, "task refused: the initial kernel is wrong_output");
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

static void test_run_engine__the_champion_is_confirmed_or_the_next_is_tried(void **state) {
  script *s = *state;
  s->world.config.evals_max = 2;
  start_search(s);
  answer(s, 3, 3);
  s->said[0] = '\0';
  verdict(s, 3,
          (judged){.request = 4,
                   .kind = OK_,
                   .median = 100000000,
                   .half = 1,
                   .cell = {{3, 0, 0, 0}},
                   .outcome = FASTER_});
  expect(s, "new 3|confirm 3 vs 1 #5|");
  verdict(s, 3, (judged){.request = 5, .kind = KF_VERDICT_CRASHED});
  expect(s, "confirm 3 no demoted|confirm 2 vs 1 #6|");
  verdict(
      s, 2,
      (judged){
          .request = 6, .kind = OK_, .median = 2290000000, .half = 2, .outcome = FASTER_, .confirmed = true});
  expect(s, "confirm 2 yes|finish confirmed|");
  kf_engine_stats stats = stats_of(s);
  assert_int_equal(stats.champion, 2);
  assert_true(stats.champion_confirmed);
  assert_int_equal(stats.confirmed_median_nano, 2290000000);
  assert_string_equal(stats.finish_reason, "evaluations: 2 of 2; the champion is confirmed");
  /* More budget opens the run again; the confirmed champion stays one. */
  input(s, KF_EVENT_RESUME, 0, json_pack("{s:i}", "evals_max", 3));
  assert_false(stats_of(s).finished);
  assert_int_equal(strncmp(s->said, "propose", 7), 0);
}

static void test_run_engine__no_gain_is_said(void **state) {
  script *s = *state;
  s->world.config.evals_max = 1;
  s->world.task.nseeds[KF_LANG_OPENCL] = 0;
  start(s);
  answer(s, 1, 1);
  verdict(s, 1, (judged){.request = 1, .kind = OK_, .time_ns = 100, .cell = A});
  answer(s, 2, 2);
  s->said[0] = '\0';
  verdict(s, 2, (judged){.request = 2, .kind = KF_VERDICT_SLOW});
  expect(s, "failed 2|finish no_gain|");
}

static void test_run_engine__time_ends_the_search(void **state) {
  script *s = *state;
  s->world.config.time_max_ms = 5000;
  start_search(s);
  s->world.clock_ms = 6000;
  s->said[0] = '\0';
  input(s, KF_EVENT_CLOCK, 0, json_object());
  expect(s, ""); /* one answer is still awaited */
  answer(s, 3, 3);
  expect(s, "judge 3 vs 2 #4|");
  verdict(s, 3, (judged){.request = 4, .kind = KF_VERDICT_CRASHED});
  expect(s, "failed 3|confirm 2 vs 1 #5|");
}

static void test_run_engine__stop_makes_no_proposals_and_resume_goes_on(void **state) {
  script *s = *state;
  start_search(s);
  answer(s, 3, 3);
  input(s, KF_EVENT_STOP, 0, json_object());
  s->said[0] = '\0';
  verdict(s, 3, (judged){.request = 4, .kind = KF_VERDICT_CRASHED});
  expect(s, "failed 3|");
  assert_int_equal(kf_engine_pending(s->world.engine, NULL, 0), 0);
  assert_false(stats_of(s).finished);
  input(s, KF_EVENT_RESUME, 0, json_object());
  assert_int_equal(strncmp(s->said, "propose", 7), 0);
}

static void test_run_engine__a_proposer_without_ideas_ends_the_search(void **state) {
  script *s = *state;
  start_search(s);
  for (int i = 0; i < 32; i++) {
    s->said[0] = '\0';
    input(s, KF_EVENT_ANSWER, 3 + i, json_pack("{s:s}", "status", "notfound"));
  }
  expect(s, "unanswered 34|confirm 2 vs 1 #4|");
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

static void test_run_engine__the_start_body_gives_the_config_back(void **state) {
  script *s = *state;
  kf_engine_config config = s->world.config, back = {.task = config.task};
  json_t *body = NULL;
  kf_err err = {0};
  config.seed = UINT64_MAX - 3;
  config.time_max_ms = 90000;
  config.text_proposer = true;
  config.settings.search_uniform = 0.25;
  assert_int_equal(kf_engine_config_to_json(&config, &body, NULL), KF_OK);
  assert_int_equal(kf_engine_config_from_json(body, &back, &err), KF_OK);
  assert_int_equal(back.seed, config.seed);
  assert_int_equal(back.time_max_ms, 90000);
  assert_int_equal(back.in_flight, config.in_flight);
  assert_int_equal(back.evals_max, config.evals_max);
  assert_true(back.text_proposer && back.settings.search_uniform == 0.25);
  json_object_set_new(body, "engine", json_integer(KF_ENGINE_VERSION + 1));
  assert_int_equal(kf_engine_config_from_json(body, &back, &err), KF_EINVAL);
  json_object_set_new(body, "engine", json_integer(KF_ENGINE_VERSION));
  json_object_set_new(body, "task", json_string("00"));
  assert_int_equal(kf_engine_config_from_json(body, &back, &err), KF_EINVAL);
  json_decref(body);
}

static void test_run_engine__configurations_that_cannot_run_are_refused(void **state) {
  script *s = *state;
  kf_engine *engine = NULL;
  kf_err err = {0};
  kf_engine_config config = s->world.config;
  config.in_flight = 0;
  assert_int_equal(kf_engine_new(&config, &engine, &err), KF_EINVAL);
  config = s->world.config;
  config.language = KF_LANG_CUDA;
  assert_int_equal(kf_engine_new(&config, &engine, &err), KF_EREFUSED);
  s->world.task.baseline_kind = KF_BASELINE_TORCH_EAGER;
  assert_int_equal(kf_engine_new(&s->world.config, &engine, &err), KF_EREFUSED);
  assert_null(engine);
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
      T(a_wrong_initial_kernel_refuses_the_task),
      T(score_is_link_plus_race),
      T(a_taken_cell_is_won_by_a_duel_only),
      T(a_duel_is_repeated_when_the_elite_changed),
      T(duplicates_inherit_and_cost_nothing),
      T(failures_are_graded_into_the_frontier),
      T(infrastructure_is_tried_again_three_times),
      T(a_much_faster_kernel_becomes_the_anchor),
      T(a_promotion_that_turns_out_wrong_is_demoted),
      T(the_champion_is_confirmed_or_the_next_is_tried),
      T(no_gain_is_said),
      T(time_ends_the_search),
      T(stop_makes_no_proposals_and_resume_goes_on),
      T(a_proposer_without_ideas_ends_the_search),
      T(impossible_inputs_change_nothing),
      T(the_start_body_gives_the_config_back),
      T(configurations_that_cannot_run_are_refused),
      T(survives_any_failing_allocation),
  };
  return cmocka_run_group_tests_name("run_engine", tests, NULL, NULL);
}
