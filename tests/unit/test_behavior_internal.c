/* links: kf_behavior */
/* test_behavior_internal.c - what passes between judge and child, the tables of the language, lost memory. */
#include "behavior/behavior.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "behavior/evidence_wire_int.h"
#include "behavior/opencl_table_int.h"
#include "behavior/walk_int.h"

#include "test_base_sweep.h"

static kf_err err;
#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != KF_OK) fail_msg("%s", err.msg);                                                            \
  } while (0)

static void test_behavior_internal__request_round_trip(void **state) {
  (void)state;
  char source[256];
  for (int i = 0; i < 255; i++)
    source[i] = (char)(i + 1); /* every byte but NUL */
  kf_step steps[2] = {{.kind = KF_STEP_FILL},
                      {.kind = KF_STEP_LAUNCH,
                       .entry = "second",
                       .nargs = 3,
                       .args = {{.kind = KF_STEP_ARG_BUFFER, .buffer = 1},
                                {.kind = KF_STEP_ARG_BYTES},
                                {.kind = KF_STEP_ARG_LOCAL}}}};
  kf_calls calls = {.nbuffers = 3, .steps = steps, .nsteps = 2};
  calls.buffers[0].role = KF_ROLE_INOUT;
  calls.buffers[1].is_temp = true;
  calls.buffers[2].role = KF_ROLE_OUT;
  const char *entries[] = {"first", "second"};
  kf_evidence_request request = {.source = source,
                                 .source_len = 255,
                                 .options = "-DA=1 -DB=\"x y\"",
                                 .entries = entries,
                                 .nentries = 2,
                                 .calls = &calls},
                      got;
  kf_buf buf;
  kf_arena arena = {0};
  kf_buf_init(&buf, KF_EVIDENCE_REQUEST_MAX);
  OK(kf__evidence_request_pack(&request, &buf, &err));
  OK(kf__evidence_request_unpack(buf.data, buf.len, &arena, &got, &err));
  assert_int_equal(got.source_len, 255);
  assert_memory_equal(got.source, source, 255);
  assert_string_equal(got.options, request.options);
  assert_int_equal(got.nentries, 2);
  assert_string_equal(got.entries[1], "second");
  assert_int_equal(got.calls->nbuffers, 3);
  assert_int_equal(got.calls->buffers[0].role, KF_ROLE_INOUT);
  assert_true(got.calls->buffers[1].is_temp);
  assert_int_equal(got.calls->nsteps, 1); /* fills say nothing */
  assert_string_equal(got.calls->steps[0].entry, "second");
  assert_int_equal(got.calls->steps[0].args[0].buffer, 1);
  assert_int_equal(got.calls->steps[0].args[0].kind, KF_STEP_ARG_BUFFER);
  assert_int_equal(got.calls->steps[0].args[1].kind, KF_STEP_ARG_BYTES);
  kf_arena_done(&arena);
  kf_buf_done(&buf);
}

static void test_behavior_internal__bad_requests_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",
      "[]",
      "{\"source\":1,\"options\":\"\",\"entries\":[]}",
      "{\"source\":\"\",\"options\":\"\",\"entries\":[1]}",
      "{\"source\":\"\",\"options\":\"\",\"entries\":[],\"steps\":[1],\"buffers\":[]}",
      "{\"source\":\"\",\"options\":\"\",\"entries\":[],\"steps\":[{\"entry\":\"k\"}],\"buffers\":[]}",
  };
  for (size_t i = 0; i < KF_COUNTOF(texts); i++) {
    kf_arena arena = {0};
    kf_evidence_request got;
    assert_int_not_equal(kf__evidence_request_unpack(texts[i], strlen(texts[i]), &arena, &got, &err), KF_OK);
    kf_arena_done(&arena);
  }
}

static void test_behavior_internal__answer_is_held_to_ranges(void **state) {
  (void)state;
  kf_evidence evidence = {.known = true, .vector_width = 8, .accumulators = 64, .launches = 2, .matrix = 3},
              got;
  kf_buf buf, note;
  kf_buf_init(&buf, KF_EVIDENCE_ANSWER_MAX);
  kf_buf_init(&note, KF_EVIDENCE_ANSWER_MAX);
  OK(kf__evidence_answer_pack(&evidence, "why", &buf, &err));
  OK(kf__evidence_answer_unpack(buf.data, buf.len, &got, &note, &err));
  assert_true(got.known);
  assert_int_equal(got.accumulators, 64);
  assert_int_equal(got.matrix, 3);
  assert_string_equal(got.source, "syntax");
  assert_string_equal(kf_buf_text(&note), "why");
  evidence.matrix = 4;
  kf_buf_clear(&buf);
  OK(kf__evidence_answer_pack(&evidence, "", &buf, &err));
  assert_int_equal(kf__evidence_answer_unpack(buf.data, buf.len, &got, &note, &err), KF_EPROTO);
  assert_int_equal(got.matrix, 3); /* untouched */
  assert_int_equal(kf__evidence_answer_unpack("{}", 2, &got, &note, &err), KF_EPROTO);
  kf_buf_done(&buf);
  kf_buf_done(&note);
}

static void test_behavior_internal__screen_round_trip(void **state) {
  (void)state;
  kf_screen screen = {.state = KF_SCREEN_REFUSED,
                      .diagnosis = {.kind = "inline_assembly", .text = "no \xff\xfe assembly"}},
            got;
  kf_buf buf;
  kf_buf_init(&buf, KF_EVIDENCE_ANSWER_MAX);
  assert_int_equal(kf__screen_pack(&screen, &buf, &err), KF_OK);
  assert_int_equal(kf__screen_unpack(buf.data, buf.len, &got, &err), KF_OK);
  assert_int_equal(got.state, KF_SCREEN_REFUSED);
  assert_string_equal(got.diagnosis.kind, "inline_assembly");
  assert_non_null(strstr(got.diagnosis.text, "assembly"));
  static const char *const bad[] = {"{}",
                                    "{\"screen\":4,\"kind\":\"a\",\"text\":\"b\"}",
                                    "{\"screen\":-1}",
                                    "{\"screen\":2}",
                                    "{\"screen\":3,\"kind\":\"a\"}",
                                    "[]",
                                    "x"};
  for (size_t i = 0; i < KF_COUNTOF(bad); i++)
    assert_int_not_equal(kf__screen_unpack(bad[i], strlen(bad[i]), &got, &err), KF_OK);
  assert_int_equal(got.state, KF_SCREEN_REFUSED); /* untouched */
  kf_buf_done(&buf);
}

static bool has_arg(const char *const *args, int count, const char *wanted) {
  for (int i = 0; i < count; i++)
    if (strcmp(args[i], wanted) == 0) return true;
  return false;
}

/* Only what changes the meaning of the source reaches libclang: no plug-ins, no includes, no files. */
static void test_behavior_internal__options_are_chosen(void **state) {
  (void)state;
  const char *args[KF_OPENCL_ARGS_MAX];
  int count = 0;
  kf_buf text;
  kf_buf_init(&text, 1000);
  OK(kf__opencl_arguments("-DA=1 -D B=2 -UC -I /etc -include /etc/passwd @file -Xclang -load -cl-std=CL2.0 "
                          "-cl-fast-relaxed-math '-DQ=a b' -D",
                          &text, args, &count, &err));
  assert_true(has_arg(args, count, "-DA=1"));
  assert_true(has_arg(args, count, "B=2"));
  assert_true(has_arg(args, count, "-UC"));
  assert_true(has_arg(args, count, "-DQ=a b"));
  assert_string_equal(args[count - 1], "-DQ=a b"); /* a -D without a name is dropped */
  assert_true(has_arg(args, count, "-cl-std=CL2.0"));
  assert_false(has_arg(args, count, "/etc"));
  assert_false(has_arg(args, count, "/etc/passwd"));
  assert_false(has_arg(args, count, "@file"));
  assert_false(has_arg(args, count, "-load"));
  kf_buf_done(&text);
}

static void test_behavior_internal__effects(void **state) {
  (void)state;
  assert_int_equal(kf__opencl_effect("vload4").kind, KF_EFFECT_LOAD);
  assert_int_equal(kf__opencl_effect("vload4").lanes, 4);
  assert_int_equal(kf__opencl_effect("vload_half").lanes, 1);
  assert_int_equal(kf__opencl_effect("vstorea_half16_rte").kind, KF_EFFECT_STORE);
  assert_int_equal(kf__opencl_effect("vstorea_half16_rte").lanes, 16);
  assert_int_equal(kf__opencl_effect("intel_sub_group_block_read8").lanes, 8);
  assert_int_equal(kf__opencl_effect("intel_sub_group_u8_i8_matrix_mad_k32").kind, KF_EFFECT_MATRIX);
  assert_int_equal(kf__opencl_effect("atomic_fetch_add_explicit").kind, KF_EFFECT_ATOMIC);
  assert_int_equal(kf__opencl_effect("atomic_load_explicit").kind, KF_EFFECT_ATOMIC_LOAD);
  assert_int_equal(kf__opencl_effect("work_group_barrier").kind, KF_EFFECT_BARRIER);
  assert_int_equal(kf__opencl_effect("work_group_reduce_add").kind, KF_EFFECT_COLLECTIVE);
  assert_int_equal(kf__opencl_effect("sub_group_barrier").kind, KF_EFFECT_NONE);
  assert_int_equal(kf__opencl_effect("sqrt").kind, KF_EFFECT_NONE);
}

static void test_behavior_internal__constants_fold(void **state) {
  (void)state;
  kf_flow two = {.known = true, .number = 2}, zero = {.known = true}, unknown = {.loads = 1};
  assert_int_equal(kf__flow_binary(KF_OP_MUL, two, two).number, 4);
  assert_false(kf__flow_binary(KF_OP_DIV, two, zero).known);
  assert_false(kf__flow_binary(KF_OP_ADD, two, unknown).known);
  kf_flow both = kf__flow_binary(KF_OP_BOTH, unknown, zero);
  assert_true(both.known && both.number == 0);
  kf_flow either = kf__flow_binary(KF_OP_EITHER, unknown, two);
  assert_true(either.known && either.number == 1);
  kf_flow max = {.known = true, .number = INT64_MAX};
  assert_false(kf__flow_binary(KF_OP_ADD, max, two).known);
  assert_false(kf__flow_binary(KF_OP_SHL, max, two).known);
  assert_int_equal(kf__flow_unary(KF_OP_NOT, two).number, 0);
}

static const char small[] = "#define ADD(a) a##u\nvoid f(__global float *y) { y[0] += ADD(1); } __kernel "
                            "void k(__global float *y) { f(y); }";

static kf_status parse_small(void) {
  const char *entry = "k";
  kf_evidence_request request = {
      .source = small, .source_len = strlen(small), .options = "-DA=1", .entries = &entry, .nentries = 1};
  kf_evidence evidence = {0};
  kf_buf note;
  kf_buf_init(&note, 1000);
  kf_status status = kf_evidence_parse(&request, &evidence, &note, NULL);
  if (status == KF_OK) assert_true(evidence.known);
  kf_buf_done(&note);
  return status;
}

static void test_behavior_internal__lost_memory(void **state) {
  (void)state;
  const char *entry = "k";
  kf_evidence_request request = {
      .source = small, .source_len = strlen(small), .entries = &entry, .nentries = 1};
  kf_evidence evidence = {0};
  kf_buf note;
  kf_buf_init(&note, 1000);
  kf_evidence_parse(&request, &evidence, &note, NULL);
  kf_buf_done(&note);
  if (!evidence.known) skip();
  assert_true(sweep_allocations(parse_small, true) > 10);
  assert_true(sweep_allocations(parse_small, false) > 10);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_behavior_internal__request_round_trip),
      cmocka_unit_test(test_behavior_internal__bad_requests_are_refused),
      cmocka_unit_test(test_behavior_internal__answer_is_held_to_ranges),
      cmocka_unit_test(test_behavior_internal__screen_round_trip),
      cmocka_unit_test(test_behavior_internal__options_are_chosen),
      cmocka_unit_test(test_behavior_internal__effects),
      cmocka_unit_test(test_behavior_internal__constants_fold),
      cmocka_unit_test(test_behavior_internal__lost_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
