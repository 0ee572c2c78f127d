/* links: kf_base kf_task */
/* test_task_resolve.c - plans become numbers; bindings are drawn; both are fast enough to be called often. */
#include "base/clock.h"
#include "test_task_util.h"

static kf_task *task;

static int set_up(void **state) {
  (void)state;
  task = load_yaml(SOFTMAX_YAML);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  kf_task_free(task);
  return 0;
}

static kf_plan *parse(const char *source) {
  kf_plan *plan = NULL;
  kf_err err = {0};
  if (kf_plan_parse(task, source, strlen(source), "k.cl", &plan, &err) != KF_OK)
    fail_msg("%s (%s)", err.msg, err.hint);
  return plan;
}

#define TUNED                                                                                                \
  "//kf: param TILE = 16 in {8, 16, 32}\n"                                                                   \
  "//kf: param VEC = 4 in {1, 2, 4, 8}\n"                                                                    \
  "//kf: where TILE * VEC <= 64 && cols % VEC == 0\n"                                                        \
  "//kf: let groups = ceil(rows, TILE)\n"                                                                    \
  "//kf: temp partial f32 [rows, 2]\n"                                                                       \
  "//kf: fill y -1.5\n"                                                                                      \
  "//kf: launch first global=(groups*TILE) local=(TILE) args=(x, partial, rows, local(TILE*4), groups, "     \
  "VEC)\n"                                                                                                   \
  "//kf: launch second if=rows > 1 args=(partial, y, alpha, f16(3), u8(VEC), i64(0-cols)) local=(1, 2) "     \
  "global=(4, 8)\n"

static void assert_bytes(const kf_step_arg *arg, const void *bytes, size_t len) {
  assert_int_equal(arg->kind, KF_STEP_ARG_BYTES);
  assert_int_equal(arg->nbytes, len);
  assert_memory_equal(arg->bytes, bytes, len);
}

static void test_task_resolve__gives_numbers(void **state) {
  (void)state;
  kf_plan *plan = parse(TUNED);
  kf_binding binding;
  kf_calls *calls = NULL;
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_resolve(plan, task, &binding, task->check[1].values, &cpu_limits, &calls, NULL),
                   KF_OK);
  assert_int_equal(calls->nbuffers, 3);
  assert_string_equal(calls->buffers[0].name, "x");
  assert_int_equal(calls->buffers[0].elements, 33000);
  assert_int_equal(calls->buffers[1].role, KF_ROLE_OUT);
  assert_int_equal(calls->buffers[1].arg, 1);
  assert_true(calls->buffers[2].is_temp);
  assert_int_equal(calls->buffers[2].arg, -1);
  assert_int_equal(calls->buffers[2].bytes, 264);
  assert_int_equal(calls->nsteps, 3);
  const kf_step *fill = &calls->steps[0], *first = &calls->steps[1], *second = &calls->steps[2];
  assert_int_equal(fill->kind, KF_STEP_FILL);
  assert_int_equal(fill->buffer, 1);
  assert_int_equal(fill->npattern, 4);
  assert_memory_equal(fill->pattern, &(float){-1.5f}, 4);
  assert_string_equal(first->entry, "first");
  assert_int_equal(first->line, 7);
  assert_int_equal(first->global[0], 48);
  assert_int_equal(first->local[0], 16);
  assert_int_equal(first->global[1], 1);
  assert_int_equal(first->nargs, 6);
  assert_int_equal(first->args[1].buffer, 2);
  assert_bytes(&first->args[2], &(int32_t){33}, 4);
  assert_int_equal(first->args[3].kind, KF_STEP_ARG_LOCAL);
  assert_int_equal(first->args[3].local_bytes, 64);
  assert_bytes(&first->args[4], &(int32_t){3}, 4);
  assert_bytes(&first->args[5], &(int32_t){4}, 4);
  assert_int_equal(second->global[1], 8);
  assert_int_equal(second->local[1], 2);
  assert_bytes(&second->args[2], &(float){0.5f}, 4);
  assert_bytes(&second->args[3], &(uint16_t){0x4200}, 2);
  assert_bytes(&second->args[4], &(uint8_t){4}, 1);
  assert_bytes(&second->args[5], &(int64_t){-1000}, 8);
  kf_calls_free(calls);
  /* One row: the second launch is left out. */
  calls = NULL;
  assert_int_equal(kf_plan_resolve(plan, task, &binding, task->check[0].values, &cpu_limits, &calls, NULL),
                   KF_OK);
  assert_int_equal(calls->nsteps, 2);
  kf_calls_free(calls);
  kf_plan_free(plan);
}

static void test_task_resolve__refusals(void **state) {
  (void)state;
  static const struct {
    const char *source, *begin, *part, *hint;
  } cases[] = {
      {"//kf: param T = 3\n//kf: where T > rows\n//kf: launch f global=(1) local=(1) args=()\n",
       "k.cl:2: ", "where T > rows is false (rows=33,cols=1000; T=3)", "not for this shape"},
      {"//kf: launch f global=(rows) local=(8) args=()\n",
       "k.cl:1:24: ", "global size 33 is not a multiple of local size 8 (rows=33,cols=1000)", "ceil(n, 8)*8"},
      {"//kf: launch f global=(rows-33) local=(1) args=()\n", "k.cl:1:24: ", "global size below 1: 0",
       "if=EXPR"},
      {"//kf: launch f global=(8) local=(0) args=()\n", "k.cl:1:34: ", "local size below 1: 0", ""},
      {"//kf: launch f global=(8192) local=(8192) args=()\n",
       "k.cl:1:37: ", "local size: 8192, over the device's limit of 4096", ""},
      {"//kf: launch f global=(128, 64) local=(128, 64) args=()\n",
       "k.cl:1:40: ", "work-items of a group: 8192, over", ""},
      {"//kf: launch f global=(4611686018427387904, 4) local=(1, 1) args=()\n",
       "k.cl:1:45: ", "more work-items", ""},
      {"//kf: launch f global=(rows*9223372036854775807) local=(1) args=()\n",
       "k.cl:1:28: ", "does not fit in 64 bits", ""},
      {"//kf: launch f global=(1) local=(1) args=(local(0))\n",
       "k.cl:1:49: ", "bytes of local memory below 1: 0", ""},
      {"//kf: launch f global=(1) local=(1) args=(local(65536), local(4))\n",
       "k.cl:1:63: ", "bytes of local memory: 65540, over the device's limit of 65536", ""},
      {"//kf: launch f global=(1) local=(1) args=(u8(cols))\n",
       "k.cl:1:46: ", "cols is 1000, which does not fit in u8", ""},
      {"//kf: launch f global=(1) local=(1) args=(u32(0-1))\n",
       "k.cl:1:47: ", "is -1, which does not fit in u32", ""},
      {"//kf: launch f global=(1) local=(1) args=(f16(cols*100))\n", "k.cl:1:47: ", "does not fit in f16",
       ""},
      {"//kf: launch f global=(1) local=(1) args=(e4m3(500))\n", "k.cl:1:48: ", "does not fit in e4m3", ""},
      {"//kf: let big = cols*10000000\n//kf: launch f global=(1) local=(1) args=(big)\n",
       "k.cl:2:43: ", "big is 10000000000, which does not fit in i32", ""},
      {"//kf: temp t f32 [rows-33]\n//kf: launch f global=(1) local=(1) args=(t)\n",
       "k.cl:1:19: ", "dimension of a temp below 1: 0", ""},
      {"//kf: temp t f64 [4611686018427387904]\n//kf: launch f global=(1) local=(1) args=(t)\n",
       "k.cl:1:19: ", "more bytes", ""},
      {"//kf: launch f if=1/(rows-33) global=(1) local=(1) args=()\n", "k.cl:1:20: ", "division by zero", ""},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    kf_plan *plan = parse(cases[i].source);
    kf_binding binding;
    kf_calls *calls = NULL;
    kf_err err = {0};
    kf_plan_default(plan, &binding);
    if (kf_plan_resolve(plan, task, &binding, task->check[1].values, &cpu_limits, &calls, &err) == KF_OK)
      fail_msg("accepted: %s", cases[i].source);
    assert_err(&err, KF_EREFUSED, cases[i].begin, cases[i].part, cases[i].hint);
    kf_plan_free(plan);
  }
}

static void test_task_resolve__device_names(void **state) {
  (void)state;
  kf_plan *plan = parse("//kf: where dev.cpu == 1 && dev.local_bytes >= 1024\n"
                        "//kf: launch f global=(dev.units*dev.simd) local=(1) args=(i32(dev.max_group))\n");
  kf_binding binding;
  kf_calls *calls = NULL;
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_resolve(plan, task, &binding, task->check[0].values, &cpu_limits, &calls, NULL),
                   KF_OK);
  assert_int_equal(calls->steps[0].global[0], 16);
  assert_bytes(&calls->steps[0].args[0], &(int32_t){4096}, 4);
  kf_calls_free(calls);
  kf_plan_free(plan);
}

/* ---- drawing ---- */

static void test_task_resolve__samples_are_legal_and_uniform(void **state) {
  (void)state;
  kf_plan *plan = parse(TUNED); /* legal: TILE*VEC <= 64 and 4 % VEC == 0, 8 of 12 points */
  kf_rng rng;
  int counts[3][4] = {{0}};
  kf_rng_init(&rng, 7, 1, 0);
  for (int i = 0; i < 8000; i++) {
    kf_binding binding;
    assert_int_equal(kf_plan_sample(plan, task, &cpu_limits, &rng, &binding, NULL), KF_OK);
    counts[binding.choice[0]][binding.choice[1]]++;
  }
  for (int t = 0; t < 3; t++)
    for (int v = 0; v < 4; v++) {
      bool legal = v < 3 && !(t == 2 && v == 2);
      if (!legal) assert_int_equal(counts[t][v], 0);
      /* 1000 expected, standard deviation 30 */
      if (legal && (counts[t][v] < 850 || counts[t][v] > 1150)) fail_msg("%d %d: %d", t, v, counts[t][v]);
    }
  kf_plan_free(plan);
}

static void test_task_resolve__huge_spaces_are_not_enumerated(void **state) {
  (void)state;
  kf_buf source;
  kf_buf_init(&source, 100000);
  for (int i = 0; i < 60; i++)
    kf_buf_printf(&source, NULL, "//kf: param A%d = 1 in [1..4096 step 1]\n", i);
  kf_buf_puts(&source, "//kf: where A0 % 8 == 0\n//kf: launch f global=(64) local=(64) args=()\n", NULL);
  kf_plan *plan = parse(kf_buf_text(&source));
  kf_rng rng;
  kf_binding binding, next;
  assert_true(kf_plan_space(plan) == INT64_MAX);
  kf_rng_init(&rng, 1, 2, 3);
  int64_t before = kf_now_ms();
  assert_int_equal(kf_plan_sample(plan, task, &cpu_limits, &rng, &binding, NULL), KF_OK);
  assert_int_equal(kf_plan_mutate(plan, task, &cpu_limits, &rng, &binding, &next, NULL), KF_OK);
  assert_true(kf_now_ms() - before < 1000);
  assert_int_equal(kf_plan_param(plan, 0)->choices[binding.choice[0]].number % 8, 0);
  kf_plan_free(plan);
  kf_buf_done(&source);
}

static void test_task_resolve__mutants_are_near_legal_and_different(void **state) {
  (void)state;
  kf_plan *plan = parse("//kf: param A = 50 in [1..100 step 1]\n//kf: param B = u in {u, v, w}\n"
                        "//kf: where A % 2 == 0\n//kf: launch f global=(64) local=(64) args=()\n");
  kf_rng rng;
  kf_binding from, next;
  int near = 0, words = 0;
  kf_plan_default(plan, &from);
  kf_rng_init(&rng, 3, 3, 3);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(kf_plan_mutate(plan, task, &cpu_limits, &rng, &from, &next, NULL), KF_OK);
    assert_memory_not_equal(&from, &next, sizeof from);
    int step = abs(next.choice[0] - from.choice[0]);
    assert_int_equal(step % 2, 0);
    near += step == 2;
    words += next.choice[1] != 0;
  }
  assert_true(near > 200 && words > 200);
  kf_plan_free(plan);
}

static void test_task_resolve__equal_seeds_draw_equal_bindings(void **state) {
  (void)state;
  kf_plan *plan = parse(TUNED);
  kf_rng a, b;
  kf_rng_init(&a, 5, 6, 7);
  kf_rng_init(&b, 5, 6, 7);
  for (int i = 0; i < 20; i++) {
    kf_binding one, two;
    assert_int_equal(kf_plan_sample(plan, task, &cpu_limits, &a, &one, NULL), KF_OK);
    assert_int_equal(kf_plan_sample(plan, task, &cpu_limits, &b, &two, NULL), KF_OK);
    assert_memory_equal(&one, &two, sizeof one);
  }
  kf_plan_free(plan);
}

static void test_task_resolve__nothing_legal_is_not_found(void **state) {
  (void)state;
  kf_plan *plan =
      parse("//kf: param A = 1 in {1, 2}\n//kf: where A > 2\n//kf: launch f global=(1) local=(1) args=()\n");
  kf_rng rng;
  kf_binding binding;
  kf_err err = {0};
  kf_rng_init(&rng, 1, 1, 1);
  assert_int_equal(kf_plan_sample(plan, task, &cpu_limits, &rng, &binding, &err), KF_ENOTFOUND);
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_mutate(plan, task, &cpu_limits, &rng, &binding, &binding, &err), KF_ENOTFOUND);
  kf_plan_free(plan);
  plan = parse("//kf: param A = 1\n//kf: launch f global=(1) local=(1) args=()\n");
  assert_int_equal(kf_plan_mutate(plan, task, &cpu_limits, &rng, &binding, &binding, &err), KF_ENOTFOUND);
  assert_int_equal(kf_plan_sample(plan, task, &cpu_limits, &rng, &binding, &err), KF_OK);
  kf_plan_free(plan);
}

/* The targets are 50 us and 1 ms; here with room for sanitizers and a busy machine. The best of several
 * counts. */
static void test_task_resolve__is_fast(void **state) {
  (void)state;
  int64_t best_parse = INT64_MAX, best_resolve = INT64_MAX;
  for (int i = 0; i < 50; i++) {
    int64_t t0 = kf_now_ns();
    kf_plan *plan = parse(TUNED);
    int64_t t1 = kf_now_ns();
    kf_binding binding;
    kf_calls *calls = NULL;
    kf_plan_default(plan, &binding);
    assert_int_equal(kf_plan_resolve(plan, task, &binding, task->check[1].values, &cpu_limits, &calls, NULL),
                     KF_OK);
    int64_t t2 = kf_now_ns();
    if (t1 - t0 < best_parse) best_parse = t1 - t0;
    if (t2 - t1 < best_resolve) best_resolve = t2 - t1;
    kf_calls_free(calls);
    kf_plan_free(plan);
  }
  print_message("parse %lld ns, resolve %lld ns\n", (long long)best_parse, (long long)best_resolve);
  assert_true(best_parse < 5000000);
  assert_true(best_resolve < 500000);
}

/* In the host form a plan is params and rules; its calls are one step with every argument of the task. */
static void test_task_resolve__host_form(void **state) {
  (void)state;
  static const char source[] =
      "//kf: param V = 4 in {1, 4}\n//kf: where V <= cols\nint kf_run(const kf_call *c);\n";
  kf_plan *plan = NULL;
  kf_binding binding;
  kf_calls *calls = NULL;
  kf_err err = {0};
  if (kf_plan_parse(task, source, strlen(source), "k.c", &plan, &err) != KF_OK) fail_msg("%s", err.msg);
  kf_plan_default(plan, &binding);
  assert_int_equal(kf_plan_resolve(plan, task, &binding, task->check[1].values, &cpu_limits, &calls, &err),
                   KF_OK);
  assert_int_equal(calls->nsteps, 1);
  assert_int_equal(calls->steps[0].kind, KF_STEP_HOST_RUN);
  assert_int_equal(calls->steps[0].nargs, task->nargs);
  assert_non_null(calls->host);
  assert_int_equal(calls->host->nargs, task->nargs);
  assert_memory_equal(calls->host->symbols, task->check[1].values, sizeof(int64_t) * (size_t)task->nsymbols);
  for (int i = 0; i < task->nargs; i++) {
    const kf_step_arg *arg = &calls->steps[0].args[i];
    bool is_array = kf_role_is_array(task->args[i].role);
    assert_int_equal(arg->kind, is_array ? KF_STEP_ARG_BUFFER : KF_STEP_ARG_BYTES);
    assert_int_equal(calls->host->args[i].rank, task->args[i].rank);
    if (task->args[i].role != KF_ROLE_SIZE) continue;
    int32_t value = (int32_t)task->check[1].values[task->args[i].symbol];
    assert_bytes(arg, &value, sizeof value);
  }
  int buffers = calls->nbuffers;
  kf_calls_add_workspace(calls, 0);
  assert_int_equal(calls->nbuffers, buffers);
  kf_calls_add_workspace(calls, 40);
  assert_int_equal(calls->nbuffers, buffers + 1);
  assert_true(calls->buffers[buffers].is_temp && calls->buffers[buffers].bytes == 40);
  kf_calls_free(calls);
  kf_plan_free(plan);
}

static void test_task_resolve__host_form_has_no_launches(void **state) {
  (void)state;
  static const struct {
    const char *line, *hint;
  } list[] = {{"launch f global=(1) local=(1) args=(x)", "kf_run does the whole call"},
              {"temp t f32 [rows]", "kf_workspace"},
              {"fill y 0", "kf_run fills"}};
  for (size_t i = 0; i < KF_COUNTOF(list); i++) {
    char source[200];
    kf_plan *plan = NULL;
    kf_err err = {0};
    snprintf(source, sizeof source, "\n//kf: %s\n", list[i].line);
    assert_int_equal(kf_plan_parse(task, source, strlen(source), "k.c", &plan, &err), KF_EREFUSED);
    assert_non_null(strstr(err.msg, "k.c:2:"));
    assert_non_null(strstr(err.msg, "directive in a C kernel"));
    assert_non_null(strstr(err.hint, list[i].hint));
    assert_int_equal(kf_plan_parse_as(task, KF_LANG_C, source, strlen(source), "any", &plan, NULL),
                     KF_EREFUSED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_resolve__host_form),
      cmocka_unit_test(test_task_resolve__host_form_has_no_launches),
      cmocka_unit_test(test_task_resolve__gives_numbers),
      cmocka_unit_test(test_task_resolve__refusals),
      cmocka_unit_test(test_task_resolve__device_names),
      cmocka_unit_test(test_task_resolve__samples_are_legal_and_uniform),
      cmocka_unit_test(test_task_resolve__huge_spaces_are_not_enumerated),
      cmocka_unit_test(test_task_resolve__mutants_are_near_legal_and_different),
      cmocka_unit_test(test_task_resolve__equal_seeds_draw_equal_bindings),
      cmocka_unit_test(test_task_resolve__nothing_legal_is_not_found),
      cmocka_unit_test(test_task_resolve__is_fast),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
