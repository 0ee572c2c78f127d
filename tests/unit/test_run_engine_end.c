/* links: kf_run kf_task kf_archive kf_store kf_wire kf_base
 * engine.h: how runs are refused, stopped, resumed, ended and confirmed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine_script.h"

#include "base/banned.h"

static void test_run_engine_end__a_wrong_initial_kernel_refuses_the_task(void **state) {
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

static void test_run_engine_end__the_champion_is_confirmed_or_the_next_is_tried(void **state) {
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

static void test_run_engine_end__no_gain_is_said(void **state) {
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

static void test_run_engine_end__time_ends_the_search(void **state) {
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

static void test_run_engine_end__stop_makes_no_proposals_and_resume_goes_on(void **state) {
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

static void test_run_engine_end__a_proposer_without_ideas_ends_the_search(void **state) {
  script *s = *state;
  start_search(s);
  for (int i = 0; i < 32; i++) {
    s->said[0] = '\0';
    input(s, KF_EVENT_ANSWER, 3 + i, json_pack("{s:s}", "status", "notfound"));
  }
  expect(s, "unanswered 34|confirm 2 vs 1 #4|");
}

static void test_run_engine_end__the_start_body_gives_the_config_back(void **state) {
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

static void test_run_engine_end__configurations_that_cannot_run_are_refused(void **state) {
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

static void test_run_engine_end__a_baseline_file_is_measured_under_its_own_id(void **state) {
  script *s = *state;
  kf_task_file file = {.path = "fast.cl"};
  s->world.task.baseline_kind = KF_BASELINE_FILE;
  s->world.task.baseline = &file;
  s->world.task.nseeds[KF_LANG_OPENCL] = 0;
  start(s);
  answer(s, 1, 1);
  verdict(s, 1,
          (judged){.request = 1,
                   .kind = KF_VERDICT_WRONG_OUTPUT}); /* no ground for refusal: it is not the baseline */
  answer(s, 2, 1);                                    /* the same text, and no duplicate */
  s->said[0] = '\0';
  verdict(s, 2, (judged){.request = 2, .kind = OK_, .time_ns = 50, .cell = A});
  assert_int_equal(strncmp(s->said, "admitted 2|anchor 2 0+-0|new 2|propose", 38), 0);
  assert_int_equal(stats_of(s).baseline, 2);
  assert_int_equal(stats_of(s).evaluated, 0);
  world_done(&s->world); /* before the file goes out of scope */
  world_init(&s->world, 1, 1, 1);
}

static void test_run_engine_end__a_baseline_that_cannot_be_judged_is_no_refusal(void **state) {
  script *s = *state;
  start(s);
  answer(s, 1, 1);
  s->said[0] = '\0';
  for (int request = 1; request <= 4; request++)
    input(s, KF_EVENT_INFRA, 1, json_pack("{s:i}", "request", request));
  expect(s, "admit 1 vs 0 #2|admit 1 vs 0 #3|admit 1 vs 0 #4|abandoned 1|finish environment|");
}

static void test_run_engine_end__lost_candidates_in_a_row_end_the_run(void **state) {
  script *s = *state;
  start_search(s);
  int request = 4;
  for (int id = 3; id < 3 + 16; id++) {
    answer(s, id, id);
    s->said[0] = '\0';
    for (int i = 0; i < 4; i++)
      input(s, KF_EVENT_INFRA, id, json_pack("{s:i,s:s}", "request", request++, "error", "no compiler"));
  }
  assert_non_null(strstr(s->said, "abandoned 18|finish environment|"));
  assert_int_equal(stats_of(s).evaluated, 1);
}

static void test_run_engine_end__five_failed_confirmations_are_enough(void **state) {
  script *s = *state;
  s->world.config.evals_max = 8;
  start_search(s);
  int request = 4;
  for (int id = 3; id <= 9; id++) {
    answer(s, id, id);
    verdict(s, id,
            (judged){.request = request++,
                     .kind = OK_,
                     .median = 1000000 * id,
                     .half = 1,
                     .cell = {{3, 0, (int8_t)(id & 3), (int8_t)(id >> 2)}},
                     .outcome = KF_RACE_TIE});
  }
  s->said[0] = '\0';
  for (int id = 9; id >= 5; id--)
    verdict(
        s, id,
        (judged){.request = request++, .kind = OK_, .median = 1000, .half = 2000, .outcome = KF_RACE_TIE});
  expect(
      s,
      "confirm 9 no demoted|confirm 8 vs 1 #12|confirm 8 no demoted|confirm 7 vs 1 #13|confirm 7 no demoted|"
      "confirm 6 vs 1 #14|confirm 6 no demoted|confirm 5 vs 1 #15|confirm 5 no demoted|finish unconfirmed|");
  assert_int_equal(stats_of(s).verdicts[OK_], 9); /* right, only not confidently faster */
}

static void test_run_engine_end__a_confirmation_that_cannot_be_run_blames_nobody(void **state) {
  script *s = *state;
  s->world.config.evals_max = 1;
  start_search(s);
  for (int request = 4; request <= 7; request++)
    input(s, KF_EVENT_INFRA, 2, json_pack("{s:i,s:s}", "request", request, "error", "worker gone"));
  assert_non_null(strstr(s->said, "confirm 2 no|finish unconfirmed|"));
  assert_false(candidate(s, 2).demoted);
}

int main(void) {
  kf_alloc_init();
#define T(name) cmocka_unit_test_setup_teardown(test_run_engine_end__##name, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(a_wrong_initial_kernel_refuses_the_task),
      T(the_champion_is_confirmed_or_the_next_is_tried),
      T(no_gain_is_said),
      T(time_ends_the_search),
      T(stop_makes_no_proposals_and_resume_goes_on),
      T(a_proposer_without_ideas_ends_the_search),
      T(the_start_body_gives_the_config_back),
      T(configurations_that_cannot_run_are_refused),
      T(a_baseline_file_is_measured_under_its_own_id),
      T(a_baseline_that_cannot_be_judged_is_no_refusal),
      T(lost_candidates_in_a_row_end_the_run),
      T(five_failed_confirmations_are_enough),
      T(a_confirmation_that_cannot_be_run_blames_nobody),
  };
  return cmocka_run_group_tests_name("run_engine_end", tests, NULL, NULL);
}
