/* links: kf_base kf_task */
/* test_task_plan.c - launch directives: parsing, every mistake with line and column, bindings, and the
 * normalised hash. */
#include "test_task_util.h"

static kf_task *task;

static int set_up(void **state) {
  (void)state;
  kf_alloc_init();
  task = load_yaml(SOFTMAX_YAML);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  kf_task_free(task);
  return 0;
}

#define LAUNCH "//kf: launch f global=(64) local=(64) args=(x, y)\n"
#define TUNED                                                                                                \
  "//kf: param TILE = 16 in {8, 16, 32}\n"                                                                   \
  "//kf: param VEC = 4 in [1..8 pow2]\n"                                                                     \
  "//kf: param N = 3 in [1..10 step 2]\n"                                                                    \
  "//kf: param T = float4 in {float, float4}\n"                                                              \
  "//kf: param BOUND = -7\n"                                                                                 \
  "//kf: where TILE * VEC <= 64 && cols % VEC == 0\n"                                                        \
  "//kf: let groups = ceil(rows, TILE)\n"                                                                    \
  "//kf: where T == float4 || VEC < 4\n"                                                                     \
  "//kf: temp partial f32 [rows, 2]\n"                                                                       \
  "//kf: fill y 0\n"                                                                                         \
  "//kf: fill partial -inf\n"                                                                                \
  "//kf: launch first global=(groups*TILE) local=(TILE) args=(x, partial, rows, cols, local(TILE*4), "       \
  "groups, TILE)\n"                                                                                          \
  "//kf: launch second if=rows > 1 args=(partial, y, alpha, f16(3), u8(VEC), i64(cols)) local=(1, 2) "       \
  "global=(4, 8)\n"

static kf_plan *parse_named(const char *source, const char *name) {
  kf_plan *plan = NULL;
  kf_err err = {0};
  if (kf_plan_parse(task, source, strlen(source), name, &plan, &err) != KF_OK)
    fail_msg("%s (%s)", err.msg, err.hint);
  return plan;
}

static kf_plan *parse(const char *source) {
  return parse_named(source, "k.cl");
}

static void test_task_plan__reads_params(void **state) {
  (void)state;
  kf_plan *plan = parse(TUNED);
  assert_int_equal(kf_plan_nparams(plan), 5);
  const kf_param *n = kf_plan_param(plan, 2);
  assert_string_equal(n->name, "N");
  assert_int_equal(n->nchoices, 5);
  assert_int_equal(n->choices[4].number, 9);
  assert_int_equal(n->initial, 1);
  assert_int_equal(n->line, 3);
  assert_int_equal(kf_plan_param(plan, 1)->nchoices, 4);
  assert_true(kf_plan_param(plan, 3)->choices[1].is_word);
  assert_int_equal(kf_plan_param(plan, 4)->nchoices, 1);
  assert_int_equal(kf_plan_space(plan), 3 * 4 * 5 * 2);
  kf_plan_free(plan);
}

typedef struct {
  const char *source;
  const char *begin, *part, *hint;
} mistake;

static void check_mistakes(const mistake *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    kf_plan *plan = NULL;
    kf_err err = {0};
    if (kf_plan_parse(task, list[i].source, strlen(list[i].source), "k.cl", &plan, &err) == KF_OK)
      fail_msg("accepted:\n%s", list[i].source);
    assert_null(plan);
    assert_err(&err, KF_EREFUSED, list[i].begin, list[i].part, list[i].hint);
  }
}

static void test_task_plan__places(void **state) {
  (void)state;
  /* Not directives: in a block comment, in a string, with a blank after the slashes. */
  kf_plan_free(parse("/*\n//kf: nonsense\n*/\nconstant char *s = \"\\\n//kf: nonsense\";\n// kf: nonsense\n"
                     "char q = '\"'; // \" \\\n//kf: nonsense\n  \t" LAUNCH));
  kf_plan_free(parse(LAUNCH "\r\n//kf: fill y 0\r\n"));
  kf_plan_free(parse("// [EVOLVE_START]\n" LAUNCH "// [EVOLVE_END]\n"));
  static const mistake list[] = {
      {"int x; //kf: fill y 0\n" LAUNCH, "k.cl:1:8: ", "line of its own", "begin a new line"},
      {"/* a\n */ //kf: fill y 0\n" LAUNCH, "k.cl:2:5: ", "line of its own", ""},
      {"#define A \\\n//kf: fill y 0\n" LAUNCH, "k.cl:2:1: ", "line of its own", ""},
      {"//kf: fill y \\\n 0\n" LAUNCH, "k.cl:1:14: ", "cannot be continued", ""},
      {"// [EVOLVE_START]\n// [EVOLVE_END]\n" LAUNCH, "k.cl:3:6: ", "outside of the [EVOLVE_START] block",
       ""},
      {"// [EVOLVE_START]\n" LAUNCH, "k.cl:1: ", "without its [EVOLVE_END]", ""},
      {"kernel void f() {}\n", "k.cl:1:1: ", "no launch directive", "//kf: launch"},
      {"//kf: lauch f\n", "k.cl:1:7: ", "unknown directive \"lauch\"", "did you mean \"launch\"?"},
      {"//kf:\n" LAUNCH, "k.cl:1:6: ", "unknown directive \"\"", "there are param"},
      {LAUNCH "//kf: fill y 0 // zero\n", "k.cl:2:16: ", "unexpected text \"// zero\"", ""},
  };
  check_mistakes(list, KF_COUNTOF(list));
}

static void test_task_plan__param_mistakes(void **state) {
  (void)state;
  static const mistake list[] = {
      {"//kf: param = 1\n" LAUNCH, "k.cl:1:13: ", "expected the name", ""},
      {"//kf: param A 1\n" LAUNCH, "k.cl:1:15: ", "expected \"=\"", ""},
      {"//kf: param A =\n" LAUNCH, "k.cl:1:16: ", "whole number", ""},
      {"//kf: param A = 1x\n" LAUNCH, "k.cl:1:18: ", "whole number or a word", ""},
      {"//kf: param A = 99999999999999999999\n" LAUNCH, "k.cl:1:17: ", "whole number", ""},
      {"//kf: param A = 1 in 2\n" LAUNCH, "k.cl:1:22: ", "expected \"{\" or \"[\"", ""},
      {"//kf: param A = 1 in {2, 3}\n" LAUNCH, "k.cl:1:17: ", "default is not in the space", ""},
      {"//kf: param A = 1 in {1, 1}\n" LAUNCH, "k.cl:1:26: ", "already", ""},
      {"//kf: param A = 1 in {1, b}\n" LAUNCH, "k.cl:1:26: ", "numbers or words", ""},
      {"//kf: param A = 1 in {1, 2\n" LAUNCH, "k.cl:1:27: ", "expected \"}\"", ""},
      {"//kf: param A = 1 in [1..4]\n" LAUNCH, "k.cl:1:27: ", "\"step\" or \"pow2\"", ""},
      {"//kf: param A = 1 in [1..4 step 0]\n" LAUNCH, "k.cl:1:23: ", "step must be positive", ""},
      {"//kf: param A = 1 in [4..1 step 1]\n" LAUNCH, "k.cl:1:23: ", "4 is above 1", ""},
      {"//kf: param A = 1 in [1..9999 step 1]\n" LAUNCH, "k.cl:1:23: ", "more than 4096", ""},
      {"//kf: param A = 1 in [0..8 pow2]\n" LAUNCH, "k.cl:1:23: ", "begin at 1", ""},
      {"//kf: param A = 5 in [5..7 pow2]\n" LAUNCH, "k.cl:1:23: ", "no power of two", ""},
      {"//kf: param A = 1\n//kf: param A = 2\n" LAUNCH, "k.cl:2:13: ", "\"A\" is declared in line 1", ""},
      {"//kf: param A = 1\n//kf: let A = 2\n" LAUNCH, "k.cl:2:11: ", "\"A\" is declared in line 1", ""},
      {"//kf: let A = 1\n//kf: temp A f32 [2]\n" LAUNCH, "k.cl:2:12: ", "\"A\" is declared in line 1", ""},
      {"//kf: param rows = 1\n" LAUNCH, "k.cl:1:13: ", "a symbol of the task", ""},
      {"//kf: param x = 1\n" LAUNCH, "k.cl:1:13: ", "an argument of the task", ""},
      {"//kf: param ceil = 1\n" LAUNCH, "k.cl:1:13: ", "reserved", ""},
  };
  check_mistakes(list, KF_COUNTOF(list));
  kf_plan *plan = parse(
      "//kf: param A = 9223372036854775807 in [9223372036854775806..9223372036854775807 step 1]\n"
      "//kf: param B = 4611686018427387904 in [4611686018427387903..9223372036854775807 pow2]\n" LAUNCH);
  assert_int_equal(kf_plan_param(plan, 0)->nchoices, 2);
  assert_int_equal(kf_plan_param(plan, 1)->nchoices, 1);
  kf_plan_free(plan);
}

static void test_task_plan__expression_and_temp_mistakes(void **state) {
  (void)state;
  static const mistake list[] = {
      {"//kf: where rows >\n" LAUNCH, "k.cl:1:19: ", "expected a number", ""},
      {"//kf: where rws > 1\n" LAUNCH, "k.cl:1:13: ", "unknown name \"rws\"", "did you mean \"rows\"?"},
      {"//kf: where dev.unit > 1\n" LAUNCH, "k.cl:1:13: ", "unknown name \"dev.unit\"",
       "did you mean \"dev.units\"?"},
      {"//kf: where later > 1\n//kf: let later = 1\n" LAUNCH, "k.cl:1:13: ", "unknown name \"later\"",
       "names are"},
      {"//kf: where rows > 1 2\n" LAUNCH, "k.cl:1:22: ", "unexpected text \"2\"", ""},
      {"//kf: where abs(1)\n" LAUNCH, "k.cl:1:13: ", "unknown function", "min(a,b)"},
      {"//kf: let a\n" LAUNCH, "k.cl:1:12: ", "expected \"=\"", ""},
      {"//kf: let a = a\n" LAUNCH, "k.cl:1:15: ", "unknown name \"a\"", ""},
      {"//kf: temp t float [2]\n" LAUNCH, "k.cl:1:14: ", "unknown type \"float\"", "did you mean \"f32\"?"},
      {"//kf: temp t f32 2\n" LAUNCH, "k.cl:1:18: ", "expected \"[\"", ""},
      {"//kf: temp t f32 [2, ]\n" LAUNCH, "k.cl:1:22: ", "expected a number", ""},
      {"//kf: temp t f32 [1,1,1,1,1,1,1,1,1]\n" LAUNCH, "k.cl:1:35: ", "more than 8", ""},
      {"//kf: fill x 0\n" LAUNCH, "k.cl:1:12: ", "no output and no temp", ""},
      {"//kf: fill z 0\n" LAUNCH, "k.cl:1:12: ", "unknown name \"z\"", ""},
      {"//kf: fill y\n" LAUNCH, "k.cl:1:13: ", "expected a number", ""},
      {"//kf: fill y abc\n" LAUNCH, "k.cl:1:14: ", "not a number", ""},
      {"//kf: fill y 1e39\n" LAUNCH, "k.cl:1:14: ", "too large for f32", ""},
      {"//kf: temp t u8 [2]\n//kf: fill t 256\n" LAUNCH, "k.cl:2:14: ", "out of range", ""},
      {"//kf: temp t u8 [2]\n//kf: fill t 1.5\n" LAUNCH, "k.cl:2:14: ", "not a whole number", ""},
      {"//kf: temp t e4m3 [2]\n//kf: fill t inf\n" LAUNCH, "k.cl:2:14: ", "no infinity", ""},
  };
  check_mistakes(list, KF_COUNTOF(list));
}

static void test_task_plan__launch_mistakes(void **state) {
  (void)state;
#define L "//kf: launch f global=(64) local=(64) args="
  static const mistake list[] = {
      {"//kf: launch\n", "k.cl:1:13: ", "name of a kernel", ""},
      {"//kf: launch f\n", "k.cl:1:15: ", "no global=(...)", ""},
      {"//kf: launch f global=(1) local=(1)\n", "k.cl:1:36: ", "no args=(...)", ""},
      {"//kf: launch f global=(1) local=(1) args=(x) global=(1)\n", "k.cl:1:46: ", "given twice", ""},
      {"//kf: launch f globl=(1)\n", "k.cl:1:16: ", "found \"globl\"", "did you mean \"global\"?"},
      {"//kf: launch f + 1\n", "k.cl:1:16: ", "found \"+\"", "global="},
      {"//kf: launch f global (1)\n", "k.cl:1:23: ", "expected \"=\"", ""},
      {"//kf: launch f global=64\n", "k.cl:1:23: ", "expected \"(\"", ""},
      {"//kf: launch f global=(1,2,3,4)\n", "k.cl:1:30: ", "more than 3", ""},
      {"//kf: launch f global=(1,2) local=(1) args=(x)\n",
       "k.cl:1:47: ", "global has 2 dimensions, local has 1", ""},
      {L "(z)\n", "k.cl:1:45: ", "unknown name \"z\"", ""},
      {L "(prtial)\n//kf: temp partial f32 [2]\n", "k.cl:1:45: ", "unknown name",
       "did you mean \"partial\"?"},
      {L "(4)\n", "k.cl:1:45: ", "expected a name", "i32(4)"},
      {L "(x,)\n", "k.cl:1:47: ", "expected a name", ""},
      {L "(x\n", "k.cl:1:46: ", "expected \")\"", ""},
      {L "(int(4))\n", "k.cl:1:45: ", "unknown type \"int\"", "did you mean \"i32\"?"},
      {L "(i32(4)\n", "k.cl:1:51: ", "expected \")\"", ""},
      {L "(i32())\n", "k.cl:1:49: ", "expected a number", ""},
      {"//kf: param T = a in {a, b}\n" L "(T)\n", "k.cl:2:45: ", "has words", ""},
      {"//kf: launch f<4> global=(1) local=(1) args=()\n", "k.cl:1:15: ", "template arguments: not in OpenCL",
       "param"},
      {"//kf: launch f<4 global=(1)\n", "k.cl:1:15: ", "expected \">\"", ""},
      {"//kf: launch f shared=64 global=(1)\n", "k.cl:1:16: ", "shared=: not in OpenCL", "local(BYTES)"},
      {"//kf: launch f cluster=(2) global=(1)\n", "k.cl:1:16: ", "cluster=: not in OpenCL", ""},
      {"//kf: launch f cooperative global=(1)\n", "k.cl:1:16: ", "cooperative: not in OpenCL",
       "two launches"},
      {L "(tensormap(x, dims=(1)))\n", "k.cl:1:45: ", "tensormap: not in OpenCL", ""},
  };
  check_mistakes(list, KF_COUNTOF(list));
}

static void test_task_plan__limits_on_counts(void **state) {
  (void)state;
  static const struct {
    const char *line;
    int count;
    const char *part;
  } cases[] = {
      {"//kf: param A%d = 1\n", KF_PARAMS_MAX + 1, "more than 64 params"},
      {"//kf: temp t%d f32 [1]\n", KF_TEMPS_MAX + 1, "more than 16 temps"},
      {"//kf: let a%d = 1\n", 129, "more than 128 where and let"},
      {"//kf: launch f%d global=(1) local=(1) args=()\n", KF_STEPS_MAX + 1, "more than 32 launches"},
      {"//kf: where %d\n", 513, "too many directives"},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    kf_buf source;
    kf_plan *plan = NULL;
    kf_err err = {0};
    kf_buf_init(&source, 100000);
    for (int k = 0; k < cases[i].count; k++) {
      char line[100];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      snprintf(line, sizeof line, cases[i].line, k);
#pragma GCC diagnostic pop
      assert_int_equal(kf_buf_puts(&source, line, NULL), KF_OK);
    }
    assert_int_equal(kf_buf_puts(&source, LAUNCH, NULL), KF_OK);
    assert_int_equal(kf_plan_parse(task, source.data, source.len, "k.cl", &plan, &err), KF_EREFUSED);
    assert_err(&err, KF_EREFUSED, "k.cl:", cases[i].part, "");
    kf_buf_done(&source);
  }
}

static void test_task_plan__other_languages_keep_their_clauses_until_resolved(void **state) {
  (void)state;
  kf_plan *plan =
      parse_named("//kf: launch f<4, float> cluster=(2) cooperative shared=rows*4 global=(64) local=(64) "
                  "args=(tensormap(x, dims=(1, 2), swizzle=128), y)\n",
                  "k.cu");
  kf_binding binding;
  kf_calls *calls = NULL;
  kf_err err = {0};
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_resolve(plan, task, &binding, task->check[0].values, &cpu_limits, &calls, &err),
                   KF_EREFUSED);
  assert_err(&err, KF_EREFUSED, "k.cu:1: ", "no device backend of this version", "");
  kf_plan_free(plan);
}

/* ---- bindings ---- */

static void test_task_plan__binding_text_round_trips(void **state) {
  (void)state;
  kf_plan *plan = parse(TUNED);
  kf_binding binding, again;
  kf_buf text;
  kf_buf_init(&text, 1000);
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_binding_text(plan, &binding, &text, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&text), "TILE=16,VEC=4,N=3,T=float4,BOUND=-7");
  assert_int_equal(kf_plan_binding_parse(plan, " T = float , TILE=32", &binding, NULL), KF_OK);
  kf_buf_clear(&text);
  assert_int_equal(kf_plan_binding_text(plan, &binding, &text, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&text), "TILE=32,VEC=4,N=3,T=float,BOUND=-7");
  assert_int_equal(kf_plan_binding_parse(plan, kf_buf_text(&text), &again, NULL), KF_OK);
  assert_memory_equal(&binding, &again, sizeof binding);
  kf_buf_clear(&text);
  assert_int_equal(kf_plan_defines(plan, &binding, &text, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&text), "-DTILE=32 -DVEC=4 -DN=3 -DT=float -DBOUND=-7");
  kf_buf_done(&text);
  kf_plan_free(plan);
}

static void test_task_plan__binding_mistakes(void **state) {
  (void)state;
  kf_plan *plan = parse(TUNED);
  kf_binding binding;
  kf_err err = {0};
  memset(&binding, 0x55, sizeof binding);
  kf_binding before = binding;
  static const struct {
    const char *text, *part, *hint;
  } cases[] = {
      {"TLIE=8", "no param \"TLIE\"", "did you mean \"TILE\"?"},
      {"TILE=12", "\"12\" is not in its space", "one of 8, 16, 32"},
      {"TILE=", "\"\" is not in its space", ""},
      {"T=double", "\"double\" is not in its space", "one of float, float4"},
      {"TILE=8,TILE=8", "given twice", ""},
      {"TILE", "no NAME=VALUE", "TILE=16,VEC=4"},
      {"TILE=8,", "no NAME=VALUE", ""},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    assert_int_equal(kf_plan_binding_parse(plan, cases[i].text, &binding, &err), KF_EINVAL);
    assert_err(&err, KF_EINVAL, "", cases[i].part, cases[i].hint);
  }
  assert_memory_equal(&binding, &before, sizeof binding);
  assert_int_equal(kf_plan_binding_parse(plan, "  ", &binding, &err), KF_OK);
  kf_plan_free(plan);
}

static void test_task_plan__task_params_override_the_source(void **state) {
  (void)state;
  kf_task *tuned = load_yaml(SOFTMAX_YAML "params: {TILE: 32, BOUND: 5, T: float, OTHER: 1}\n");
  kf_plan *plan = NULL;
  kf_binding binding;
  kf_buf text;
  kf_err err = {0};
  kf_buf_init(&text, 1000);
  assert_int_equal(kf_plan_parse(tuned, TUNED, strlen(TUNED), "k.cl", &plan, NULL), KF_OK);
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_binding_text(plan, &binding, &text, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&text), "TILE=32,VEC=4,N=3,T=float,BOUND=5");
  kf_plan_free(plan);
  const char *without = "//kf: param TILE = 8 in {8, 16}\n" LAUNCH;
  plan = NULL;
  kf_plan_parse(tuned, without, strlen(without), "k.cl", &plan, &err);
  assert_err(&err, KF_EREFUSED, "k.cl:1:13: ", "sets TILE to 32, which is not in this space", "");
  kf_buf_done(&text);
  kf_task_free(tuned);
}

static void test_task_plan__legality_names_the_where(void **state) {
  (void)state;
  kf_plan *plan = parse(TUNED);
  kf_binding binding;
  bool legal = false;
  const char *reason = NULL;
  const int64_t *symbols = task->check[1].values;
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_legal(plan, &binding, symbols, &cpu_limits, &legal, &reason, NULL), KF_OK);
  assert_true(legal);
  assert_null(reason);
  assert_int_equal(kf_plan_binding_parse(plan, "TILE=32,VEC=4", &binding, NULL), KF_OK);
  assert_int_equal(kf_plan_legal(plan, &binding, symbols, &cpu_limits, &legal, &reason, NULL), KF_OK);
  assert_false(legal);
  assert_string_equal(reason, "where TILE * VEC <= 64 && cols % VEC == 0 (line 6)");
  assert_int_equal(kf_plan_binding_parse(plan, "T=float", &binding, NULL), KF_OK);
  assert_int_equal(kf_plan_legal(plan, &binding, symbols, &cpu_limits, &legal, &reason, NULL), KF_OK);
  assert_false(legal);
  assert_string_equal(reason, "where T == float4 || VEC < 4 (line 8)");
  kf_plan_free(plan);
  /* A false where guards the let below it; without the guard the overflow has its place. */
  plan = parse("//kf: param K = 0 in {0, 1}\n//kf: where K > 0\n//kf: let q = rows / K\n" LAUNCH);
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_legal(plan, &binding, symbols, &cpu_limits, &legal, &reason, NULL), KF_OK);
  assert_false(legal);
  kf_plan_free(plan);
  plan = parse("//kf: where rows * 9223372036854775807 > 1\n" LAUNCH);
  kf_err err = {0};
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_legal(plan, &binding, symbols, &cpu_limits, &legal, &reason, &err), KF_EREFUSED);
  assert_err(&err, KF_EREFUSED, "k.cl:1:18: ", "does not fit in 64 bits (rows=33,cols=1000)", "");
  kf_plan_free(plan);
}

/* ---- source ---- */

static void test_task_plan__bound_source_fixes_the_params(void **state) {
  (void)state;
  kf_plan *plan =
      parse("int a;\r\n  //kf: param TILE = 16 in {8, 16}\r\nint b;\n//kf: param T = x in {x, y}\n" LAUNCH);
  kf_binding binding;
  kf_buf source;
  kf_buf_init(&source, 10000);
  assert_int_equal(kf_plan_binding_parse(plan, "TILE=8,T=y", &binding, NULL), KF_OK);
  assert_int_equal(kf_plan_bind_source(plan, &binding, &source, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&source),
                      "int a;\r\n  //kf: param TILE = 8\r\nint b;\n//kf: param T = y\n" LAUNCH);
  kf_plan *bound = parse(kf_buf_text(&source));
  assert_int_equal(kf_plan_space(bound), 1);
  kf_hash a, b;
  kf_binding only;
  kf_plan_default(bound, &only);
  assert_int_equal(kf_plan_normalised_hash(plan, &binding, &a, NULL), KF_OK);
  assert_int_equal(kf_plan_normalised_hash(bound, &only, &b, NULL), KF_OK);
  assert_true(kf_hash_equal(&a, &b));
  kf_plan_free(bound);
  kf_plan_free(plan);
  kf_buf_done(&source);
}

static kf_hash hash_of(const char *source) {
  kf_plan *plan = parse(source);
  kf_binding binding;
  kf_hash hash;
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_normalised_hash(plan, &binding, &hash, NULL), KF_OK);
  kf_plan_free(plan);
  return hash;
}

static void test_task_plan__normalised_hash_ignores_layout_only(void **state) {
  (void)state;
  static const char *const same[] = {
      "#define N 4\nkernel void f(global float *x) { x[0] = a+ b; }\n" LAUNCH,
      "#define   N  4 // four\nkernel void f(\n  global float*x /* in */)\n{\n  x[ 0 ]=a+b;\n}\n\n" LAUNCH,
      "#define N \\\n 4\r\n//kf: launch f global=( 64 ) local=(64)   args=(x,y)\nkernel void f(global float "
      "*x) {\n"
      "x[0] = a \\\n + b; }",
      "// [EVOLVE_START]\n#define N 4\nkernel void f(global float *x) { x[0] = a + b; }\n" LAUNCH
      "// [EVOLVE_END]\n",
  };
  static const char *const other[] = {
      "#define N 5\nkernel void f(global float *x) { x[0] = a+ b; }\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = a- b; }\n" LAUNCH,
      "#define N\n4 kernel void f(global float *x) { x[0] = a+ b; }\n" LAUNCH,
      "#define N 4 kernel void f(global float *x) { x[0] = a+ b; }\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = a++b; }\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = a+ +b; }\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = a+ b; }\n//kf: fill y 0\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = a+ b; }\n//kf: param A = 1\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = a+ b; }\n//kf: param A = 2\n" LAUNCH,
      "#define N(4)\nkernel void f(global float *x) { x[0] = a+ b; }\n" LAUNCH,
      "#define N (4)\nkernel void f(global float *x) { x[0] = a+ b; }\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = \"a+ b\"; }\n" LAUNCH,
      "#define N 4\nkernel void f(global float *x) { x[0] = \"a+  b\"; }\n" LAUNCH,
  };
  kf_hash hashes[KF_COUNTOF(other) + 1];
  hashes[0] = hash_of(same[0]);
  for (size_t i = 1; i < KF_COUNTOF(same); i++) {
    kf_hash hash = hash_of(same[i]);
    if (!kf_hash_equal(&hash, &hashes[0])) fail_msg("differs: %s", same[i]);
  }
  for (size_t i = 0; i < KF_COUNTOF(other); i++) {
    hashes[i + 1] = hash_of(other[i]);
    for (size_t k = 0; k <= i; k++)
      if (kf_hash_equal(&hashes[i + 1], &hashes[k])) fail_msg("%zu equals %zu: %s", i, k, other[i]);
  }
}

static void test_task_plan__hostile_sources_do_no_harm(void **state) {
  (void)state;
  kf_plan *plan = NULL;
  kf_err err = {0};
  const char with_nul[] = LAUNCH "\0";
  assert_int_equal(kf_plan_parse(task, with_nul, sizeof with_nul - 1, "k.cl", &plan, &err), KF_EREFUSED);
  assert_non_null(strstr(err.msg, "NUL"));
  kf_plan_free(parse(LAUNCH "/* never closed //kf: x\n//kf: y"));
  kf_plan_free(parse(LAUNCH "\"never closed //kf: x"));
  kf_plan_free(parse(LAUNCH "'\\"));
  kf_plan_free(parse(LAUNCH "# # #\\\n"));
}

static void test_task_plan__survives_every_allocation_failure(void **state) {
  (void)state;
  for (int forever = 0; forever < 2; forever++) {
    bool done = false;
    for (unsigned long n = 1; n < 2000 && !done; n++) {
      kf_plan *plan = NULL;
      kf_calls *calls = NULL;
      kf_binding binding;
      kf_err err = {0};
      kf_alloc_fail_at(n, forever != 0);
      kf_status status = kf_plan_parse(task, TUNED, strlen(TUNED), "k.cl", &plan, &err);
      if (status == KF_OK) {
        kf_plan_default(plan, &binding);
        status = kf_plan_resolve(plan, task, &binding, task->check[1].values, &cpu_limits, &calls, &err);
      }
      kf_alloc_fail_at(0, false);
      done = status == KF_OK;
      if (!done && (status != KF_ENOMEM || calls != NULL)) fail_msg("allocation %lu: %s", n, err.msg);
      kf_calls_free(calls);
      kf_plan_free(plan);
    }
    assert_true(done);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_plan__reads_params),
      cmocka_unit_test(test_task_plan__places),
      cmocka_unit_test(test_task_plan__param_mistakes),
      cmocka_unit_test(test_task_plan__expression_and_temp_mistakes),
      cmocka_unit_test(test_task_plan__launch_mistakes),
      cmocka_unit_test(test_task_plan__limits_on_counts),
      cmocka_unit_test(test_task_plan__other_languages_keep_their_clauses_until_resolved),
      cmocka_unit_test(test_task_plan__binding_text_round_trips),
      cmocka_unit_test(test_task_plan__binding_mistakes),
      cmocka_unit_test(test_task_plan__task_params_override_the_source),
      cmocka_unit_test(test_task_plan__legality_names_the_where),
      cmocka_unit_test(test_task_plan__bound_source_fixes_the_params),
      cmocka_unit_test(test_task_plan__normalised_hash_ignores_layout_only),
      cmocka_unit_test(test_task_plan__hostile_sources_do_no_harm),
      cmocka_unit_test(test_task_plan__survives_every_allocation_failure),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
