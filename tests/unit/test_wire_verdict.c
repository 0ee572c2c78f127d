/* links: kf_base kf_wire */
/* test_wire_verdict.c - verdicts go to JSON and back unharmed, and foreign JSON is read strictly. */
#include "wire/verdict.h"

#include "base/alloc.h"
#include <float.h>
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_base_sweep.h"

#define SET(field, text) snprintf(field, sizeof(field), "%s", text)

static void fill_rest(kf_verdict *v) {
  v->evidence = (kf_evidence){.known = true,
                              .source = "syntax",
                              .vector_width = 4,
                              .staged_local = true,
                              .accumulators = 8,
                              .async_or_prefetch = true,
                              .launches = 2,
                              .sweeps = 1,
                              .barrier = true,
                              .joined_launches = true,
                              .matrix = 2};
  v->cell = (kf_cell){{2, 0, 1, 3}};
  v->precision = (kf_precision_result){.state = KF_PRECISION_PASSED, .rms = 1e-7, .limit = 0.25};
  v->time_ns = 1000;
  v->time_low_ns = 990;
  v->time_high_ns = 1020;
  v->build_ms = 11;
  v->verify_ms = 12;
  v->measure_ms = 13;
  v->total_ms = 40;
  v->nerrors = 2;
  v->errors[0] = (kf_compile_error){.file = "kernel.cl",
                                    .line = 12,
                                    .col = 5,
                                    .severity = "error",
                                    .category = "undeclared",
                                    .message = "use of undeclared identifier 'x'"};
  v->errors[1] = (kf_compile_error){.severity = "fatal", .category = "other", .message = "no more"};
  v->roofline = (kf_roofline){.bound = "memory_bound",
                              .bytes_share = 0.75,
                              .operations_share = 0.125,
                              .launch_share = 0.0625,
                              .floor_ns = 750};
  SET(v->source_sha256, "ab12");
  SET(v->artefact_sha256, "cd34");
  SET(v->shared_with, "ef56");
  SET(v->binding, "TILE=16,VEC=4");
  SET(v->log, "warning: x\n");
  SET(v->next_why, "the race is over");
  SET(v->next_command, "kf report");
}

enum { SAMPLES = 3 };

static void fill_verdict(kf_verdict *v) {
  kf_verdict_init(v);
  v->kind = KF_VERDICT_CORRECT;
  v->stage = 3;
  v->confirmed = true;
  SET(v->oracle, "reference");
  SET(v->tier, "B");
  SET(v->enforced, "seccomp landlock rlimits");
  SET(v->device, "opencl:0");
  SET(v->device_name, "Some CPU");
  SET(v->driver, "pocl 3.1");
  SET(v->diagnosis.kind, "tail");
  SET(v->diagnosis.where, "y[3,17] of rows=33");
  SET(v->diagnosis.text, "a sentence");
  SET(v->diagnosis.evidence, "numbers");
  v->race = (kf_race_result){.outcome = KF_RACE_FASTER,
                             .against = "ee",
                             .against_binding = "TILE=8",
                             .median_nano = 405465108,
                             .low_nano = 300000000,
                             .high_nano = INT64_MAX,
                             .level = 0.9818,
                             .blocks = 8,
                             .dropped = 1,
                             .why = "more than 1 % faster"};
  v->warm_ns = 555;
  v->nsamples = SAMPLES;
  for (int i = 0; i < v->nsamples; i++) {
    kf_sample *sample = &v->samples[i];
    *sample = (kf_sample){.process = i % 3,
                          .block = i,
                          .ncases = i + 1,
                          .candidate_first = i & 1,
                          .drop = (kf_sample_drop)(i % (KF_DROP_FREQUENCY + 1)),
                          .waited_ns = {i, INT64_MAX},
                          .switches = {3, 4},
                          .stolen_ns = 5,
                          .span_ns = 6,
                          .mhz = 7};
    for (int c = 0; c < sample->ncases; c++)
      for (int side = 0; side < 2; side++)
        sample->value[side][c] = (kf_sample_value){100 * i + 10 * c + side, -i};
  }
  v->ncases = 2;
  v->cases[0] = (kf_case_result){.symbols = "n=1", .right = true, .worst = 0.25};
  v->cases[1] = (kf_case_result){.symbols = "n=2", .measured = true, .worst = HUGE_VAL, .time_ns = 77};
  fill_rest(v);
}

static void test_wire_verdict__survives_the_round_trip(void **state) {
  (void)state;
  static kf_verdict before, after;
  fill_verdict(&before);
  json_t *json = NULL;
  assert_int_equal(kf_verdict_to_json(&before, &json, NULL), KF_OK);
  memset(&after, 0x55, sizeof after);
  kf_err err;
  assert_int_equal(kf_verdict_from_json(json, &after, &err), KF_OK);
  json_t *again = NULL;
  assert_int_equal(kf_verdict_to_json(&after, &again, NULL), KF_OK);
  assert_true(json_equal(json, again));
  assert_int_equal(after.kind, KF_VERDICT_CORRECT);
  assert_int_equal(after.race.high_nano, INT64_MAX);
  assert_int_equal(after.race.outcome, KF_RACE_FASTER);
  assert_true(after.confirmed);
  assert_true(after.evidence.known && after.evidence.joined_launches && !after.evidence.subgroup);
  assert_int_equal(after.cell.level[3], 3);
  assert_int_equal(after.precision.state, KF_PRECISION_PASSED);
  assert_true(after.precision.rms == 1e-7 && after.precision.limit == 0.25);
  assert_true(isinf(after.cases[1].worst));
  assert_string_equal(after.cases[1].symbols, "n=2");
  assert_string_equal(after.next_command, "kf report");
  assert_int_equal(after.warm_ns, 555);
  assert_int_equal(after.nsamples, SAMPLES);
  for (int i = 0; i < SAMPLES; i++)
    assert_memory_equal(&after.samples[i], &before.samples[i], sizeof after.samples[i]);
  json_decref(json);
  json_decref(again);
}

static void test_wire_verdict__has_the_keys_of_the_format(void **state) {
  (void)state;
  static kf_verdict v;
  fill_verdict(&v);
  json_t *json = NULL;
  assert_int_equal(kf_verdict_to_json(&v, &json, NULL), KF_OK);
  static const char *const keys[] = {"verdict",       "device", "diagnosis", "stage",    "confirmed",
                                     "oracle",        "trust",  "speedup",   "cases",    "time_ns",
                                     "stages_ms",     "cell",   "next",      "evidence", "binding",
                                     "source_sha256", "log"};
  for (size_t i = 0; i < KF_COUNTOF(keys); i++)
    assert_non_null(json_object_get(json, keys[i]));
  json_t *speedup = json_object_get(json, "speedup");
  double median = json_real_value(json_object_get(speedup, "median"));
  assert_true(fabs(median - 1.5) < 1e-8);
  assert_int_equal(json_integer_value(json_object_get(speedup, "median_nano")), 405465108);
  assert_string_equal(json_string_value(json_object_get(speedup, "baseline")), "ee");
  assert_true(json_is_null(json_object_get(speedup, "high"))); /* beyond what a double can hold */
  assert_string_equal(json_string_value(json_object_get(json, "cell")), "m2.a0.c1.x3");
  json_decref(json);
}

static void test_wire_verdict__leaves_out_what_is_not_known(void **state) {
  (void)state;
  static kf_verdict v, back;
  kf_verdict_init(&v);
  json_t *json = NULL;
  assert_int_equal(kf_verdict_to_json(&v, &json, NULL), KF_OK);
  assert_null(json_object_get(json, "speedup"));
  assert_null(json_object_get(json, "diagnosis"));
  assert_null(json_object_get(json, "evidence"));
  assert_string_equal(json_string_value(json_object_get(json, "cell")), "unknown");
  assert_int_equal(kf_verdict_from_json(json, &back, NULL), KF_OK);
  assert_int_equal(back.kind, KF_VERDICT_NO_CODE);
  assert_int_equal(back.cell.level[0], -1);
  json_decref(json);
}

static kf_status read_text(const char *text, kf_verdict *ret_verdict, kf_err *err) {
  json_t *json = json_loads(text, 0, NULL);
  assert_non_null(json);
  kf_status status = kf_verdict_from_json(json, ret_verdict, err);
  json_decref(json);
  return status;
}

static void test_wire_verdict__unknown_fields_are_ignored_missing_ones_default(void **state) {
  (void)state;
  static kf_verdict v;
  assert_int_equal(read_text("{\"verdict\":\"slow\",\"new\":[1],\"stage\":null}", &v, NULL), KF_OK);
  assert_int_equal(v.kind, KF_VERDICT_SLOW);
  assert_int_equal(v.stage, 0);
  assert_int_equal(v.race.outcome, KF_RACE_NONE);
  assert_false(v.evidence.known);
  assert_int_equal(v.ncases, 0);
}

static void test_wire_verdict__wrong_types_are_refused_and_outputs_kept(void **state) {
  (void)state;
  static const char *const texts[] = {
      "[]",
      "{}",
      "{\"verdict\":1}",
      "{\"verdict\":\"fine\"}",
      "{\"verdict\":\"slow\",\"stage\":\"2\"}",
      "{\"verdict\":\"slow\",\"precision\":1}",
      "{\"verdict\":\"slow\",\"precision\":{\"state\":\"fine\"}}",
      "{\"verdict\":\"slow\",\"precision\":{\"state\":\"passed\",\"rms\":\"1\"}}",
      "{\"verdict\":\"slow\",\"stage\":4}",
      "{\"verdict\":\"slow\",\"stage\":1.5}",
      "{\"verdict\":\"slow\",\"confirmed\":0}",
      "{\"verdict\":\"slow\",\"log\":[]}",
      "{\"verdict\":\"slow\",\"trust\":\"A\"}",
      "{\"verdict\":\"slow\",\"trust\":{\"tier\":1}}",
      "{\"verdict\":\"slow\",\"cases\":{}}",
      "{\"verdict\":\"slow\",\"cases\":[1]}",
      "{\"verdict\":\"slow\",\"cases\":[{\"worst\":\"1\"}]}",
      "{\"verdict\":\"slow\",\"speedup\":{\"outcome\":\"better\"}}",
      "{\"verdict\":\"slow\",\"speedup\":{\"blocks\":-1}}",
      "{\"verdict\":\"slow\",\"cell\":\"m2.a0.c1.x00000000\"}",
      "{\"verdict\":\"slow\",\"evidence\":{\"matrix\":9}}",
  };
  static kf_verdict v;
  for (size_t i = 0; i < KF_COUNTOF(texts); i++) {
    kf_err err = {0};
    v.stage = 77;
    if (read_text(texts[i], &v, &err) != KF_EPROTO) fail_msg("accepted: %s", texts[i]);
    assert_int_equal(v.stage, 77);
    assert_string_not_equal(err.msg, "");
  }
}

static void test_wire_verdict__more_cases_than_fit_are_refused(void **state) {
  (void)state;
  json_t *cases = json_array();
  for (int i = 0; i <= KF_VERDICT_CASES_MAX; i++)
    json_array_append_new(cases, json_object());
  json_t *json = json_pack("{s:s,s:o}", "verdict", "slow", "cases", cases);
  static kf_verdict v;
  assert_int_equal(kf_verdict_from_json(json, &v, NULL), KF_EPROTO);
  json_decref(json);
}

static void test_wire_verdict__long_strings_are_cut_between_characters(void **state) {
  (void)state;
  char text[80] = "{\"verdict\":\"slow\",\"oracle\":\"0123456789";
  strncat(text, "\xC3\xA9z\"}",
          sizeof text - strlen(text) - 1); /* an e with accent over the edge of 12 bytes */
  static kf_verdict v;
  assert_int_equal(read_text(text, &v, NULL), KF_OK);
  assert_string_equal(v.oracle, "0123456789");
  assert_int_equal(read_text("{\"verdict\":\"slow\",\"oracle\":\"012345678\xC3\xA9z\"}", &v, NULL), KF_OK);
  assert_string_equal(v.oracle, "012345678\xC3\xA9");
}

static void test_wire_verdict__bytes_that_are_no_text_are_replaced(void **state) {
  (void)state;
  static kf_verdict v, back;
  kf_verdict_init(&v);
  SET(v.log, "a\xFF\xC3(\xE2\x82\xACz\xED\xA0\x80");
  memset(v.driver, 'd', sizeof v.driver); /* not even terminated */
  json_t *json = NULL;
  assert_int_equal(kf_verdict_to_json(&v, &json, NULL), KF_OK);
  const char *log = json_string_value(json_object_get(json, "log"));
  assert_string_equal(log, "a\xEF\xBF\xBD\xEF\xBF\xBD(\xE2\x82\xACz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  assert_int_equal(kf_verdict_from_json(json, &back, NULL), KF_OK);
  assert_int_equal(strlen(back.driver), sizeof back.driver - 1);
  json_decref(json);
}

static void test_wire_verdict__precedence(void **state) {
  (void)state;
  static const kf_verdict_kind order[] = {
      KF_VERDICT_CHEAT,        KF_VERDICT_CRASHED,          KF_VERDICT_WRONG_MEMORY,
      KF_VERDICT_WRONG_OUTPUT, KF_VERDICT_NONDETERMINISTIC, KF_VERDICT_IMPRECISE,
      KF_VERDICT_IMPLAUSIBLE,  KF_VERDICT_UNSTABLE,         KF_VERDICT_SLOW,
      KF_VERDICT_CORRECT};
  for (size_t i = 0; i < KF_COUNTOF(order); i++)
    for (size_t j = 0; j < KF_COUNTOF(order); j++)
      assert_int_equal(kf_verdict_worse(order[i], order[j]), i < j);
  assert_false(kf_verdict_worse(KF_VERDICT_CRASHED, KF_VERDICT_TIMED_OUT));
  assert_false(kf_verdict_worse(KF_VERDICT_TIMED_OUT, KF_VERDICT_OUT_OF_MEMORY));
  for (int kind = 0; kind < KF_VERDICT_COUNT; kind++)
    if (kind != KF_VERDICT_CORRECT) assert_true(kf_verdict_worse((kf_verdict_kind)kind, KF_VERDICT_CORRECT));
}

static void test_wire_verdict__names_parse_back(void **state) {
  (void)state;
  for (int i = 0; i < KF_VERDICT_COUNT; i++) {
    kf_verdict_kind kind = KF_VERDICT_COUNT;
    assert_true(kf_verdict_parse(kf_verdict_name((kf_verdict_kind)i), &kind));
    assert_int_equal(kind, i);
  }
  kf_verdict_kind kind = KF_VERDICT_SLOW;
  assert_false(kf_verdict_parse("Correct", &kind));
  assert_int_equal(kind, KF_VERDICT_SLOW);
  assert_string_equal(kf_verdict_name(KF_VERDICT_OUT_OF_MEMORY), "out_of_memory");
}

static void test_wire_verdict__cells_parse_back(void **state) {
  (void)state;
  for (int i = 0; i < 256; i++) {
    kf_cell cell = {{(int8_t)(i & 3), (int8_t)(i >> 2 & 3), (int8_t)(i >> 4 & 3), (int8_t)(i >> 6)}}, back;
    char text[KF_CELL_TEXT];
    kf_cell_text(&cell, text);
    assert_true(kf_cell_parse(text, &back));
    assert_memory_equal(&cell, &back, sizeof cell);
  }
  static const char *const bad[] = {"",        "m", "m0.a0.c0", "m0.a0.c0.x4", "m0.a0.c0.x0 ", "a0.m0.c0.x0",
                                    "m0a0c0x0"};
  kf_cell cell;
  for (size_t i = 0; i < KF_COUNTOF(bad); i++)
    assert_false(kf_cell_parse(bad[i], &cell));
}

static void test_wire_verdict__nano_ratios_round_and_saturate(void **state) {
  (void)state;
  assert_int_equal(kf_ratio_nano(log(2)), 693147181);
  assert_int_equal(kf_ratio_nano(-1.4e-9), -1);
  assert_int_equal(kf_ratio_nano(HUGE_VAL), INT64_MAX);
  assert_int_equal(kf_ratio_nano(-HUGE_VAL), INT64_MIN);
  assert_int_equal(kf_ratio_nano(NAN), 0);
  assert_true(kf_nano_ratio(0) == 1);
}

static kf_status round_trip(void) {
  static kf_verdict v, back;
  fill_verdict(&v);
  json_t *json = NULL;
  kf_status status = kf_verdict_to_json(&v, &json, NULL);
  if (status == KF_OK) status = kf_verdict_from_json(json, &back, NULL);
  json_decref(json);
  return status;
}

static void test_wire_verdict__no_memory_is_reported(void **state) {
  (void)state;
  assert_true(sweep_allocations(round_trip, false) > 50);
  assert_true(sweep_allocations(round_trip, true) > 50);
}

static void test_wire_verdict__holds_as_many_samples_as_there_may_be(void **state) {
  (void)state;
  static kf_verdict before, after;
  kf_verdict_init(&before);
  before.nsamples = KF_SAMPLES_MAX;
  for (int i = 0; i < KF_SAMPLES_MAX; i++) {
    before.samples[i] = (kf_sample){.block = i, .ncases = KF_SAMPLE_CASES_MAX};
    for (int c = 0; c < KF_SAMPLE_CASES_MAX; c++)
      for (int side = 0; side < 2; side++)
        before.samples[i].value[side][c] = (kf_sample_value){INT64_MAX - c, -i};
  }
  json_t *json = NULL;
  assert_int_equal(kf_verdict_to_json(&before, &json, NULL), KF_OK);
  assert_int_equal(kf_verdict_from_json(json, &after, NULL), KF_OK);
  assert_memory_equal(after.samples, before.samples, sizeof after.samples);
  json_array_append_new(json_object_get(json_object_get(json, "samples"), "rows"), json_array());
  assert_int_equal(kf_verdict_from_json(json, &after, NULL), KF_EPROTO);
  json_decref(json);
  before.nsamples++;
  assert_int_equal(kf_verdict_to_json(&before, &json, NULL), KF_EBUG);
}

/* What a hostile or newer evaluator might send in place of a row. */
static void test_wire_verdict__refuses_rows_that_are_no_samples(void **state) {
  (void)state;
  static kf_verdict v;
  static const char *const rows[] = {
      "7",
      "[]",
      "[0,1,\"candidate\",\"\",[1,2],[1,2],0,0,0,[1],[2],[3]]",        /* a list is missing */
      "[0,1,\"candidate\",\"\",[1,2],[1,2],0,0,0,[1],[2],[3],[4,5]]",  /* of another length */
      "[0,1,\"candidate\",\"\",[1,2],[1],0,0,0,[1],[2],[3],[4]]",      /* half a pair */
      "[0,1,\"candidate\",\"why\",[1,2],[1,2],0,0,0,[1],[2],[3],[4]]", /* no such reason */
      "[0,1,\"candidate\",\"\",[1,2],[1,2],0,0,0,[1.5],[2],[3],[4]]",  /* a fraction */
      "[-1,1,\"candidate\",\"\",[1,2],[1,2],0,0,0,[1],[2],[3],[4]]",   /* a process before the first */
      "[0,1,\"candidate\",\"\",[1,2],[1,2],0,0,0,[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],[],[],[]]",
  };
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    char text[512];
    json_t *json = NULL;
    kf_err err = {0};
    snprintf(text, sizeof text, "{\"verdict\":\"correct\",\"samples\":{\"rows\":[%s]}}", rows[i]);
    assert_int_equal(kf_json_parse(text, strlen(text), sizeof text, "test", &json, &err), KF_OK);
    if (kf_verdict_from_json(json, &v, &err) != KF_EPROTO) fail_msg("taken: %s", rows[i]);
    json_decref(json);
  }
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wire_verdict__survives_the_round_trip),
      cmocka_unit_test(test_wire_verdict__holds_as_many_samples_as_there_may_be),
      cmocka_unit_test(test_wire_verdict__refuses_rows_that_are_no_samples),
      cmocka_unit_test(test_wire_verdict__has_the_keys_of_the_format),
      cmocka_unit_test(test_wire_verdict__leaves_out_what_is_not_known),
      cmocka_unit_test(test_wire_verdict__unknown_fields_are_ignored_missing_ones_default),
      cmocka_unit_test(test_wire_verdict__wrong_types_are_refused_and_outputs_kept),
      cmocka_unit_test(test_wire_verdict__more_cases_than_fit_are_refused),
      cmocka_unit_test(test_wire_verdict__long_strings_are_cut_between_characters),
      cmocka_unit_test(test_wire_verdict__bytes_that_are_no_text_are_replaced),
      cmocka_unit_test(test_wire_verdict__precedence),
      cmocka_unit_test(test_wire_verdict__names_parse_back),
      cmocka_unit_test(test_wire_verdict__cells_parse_back),
      cmocka_unit_test(test_wire_verdict__nano_ratios_round_and_saturate),
      cmocka_unit_test(test_wire_verdict__no_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
