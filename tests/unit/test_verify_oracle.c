/* links: kf_base kf_wire kf_task kf_build kf_verify */
/* test_verify_oracle.c - references are compiled, run in their sandbox, and their mistakes reported at their
 * own lines. */
#include "verify/oracle.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "build/builder.h"
#include "sandbox/role.h"
#include <dirent.h>
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const kf_role_entry roles[] = {{"cc", kf_cc_main}, {"oracle", kf_oracle_main}, {NULL, NULL}};

enum { N = 1000, CALL_MS = 20000 };

/* y = alpha * x + w (f16), counts and flags pass through; n is the only symbol. */
static const char task_yaml[] = "name: axpy\n"
                                "language: opencl\n"
                                "symbols: {n: {default: 1000, min: 1, max: 100000}}\n"
                                "args:\n"
                                "  - {name: x, role: in, type: f32, shape: [n], fill: normal}\n"
                                "  - {name: w, role: in, type: f16, shape: [n], fill: normal}\n"
                                "  - {name: idx, role: in, type: i32, shape: [n], fill: permutation}\n"
                                "  - {name: keep, role: in, type: bool, shape: [n], fill: 'int[0,2)'}\n"
                                "  - {name: acc, role: inout, type: i64, shape: [n], fill: 'int[0,9)'}\n"
                                "  - {name: y, role: out, type: f32, shape: [n]}\n"
                                "  - {name: n, role: size, type: i32}\n"
                                "  - {name: alpha, role: scalar, type: f32, value: 0.1}\n"
                                "kernel: {opencl: kernel.cl}\n"
                                "reference: {file: reference.c, entry: axpy_ref}\n"
                                "compare: {y: bound, acc: exact}\n"
                                "baseline: kernel\n"
                                "check: {cases: [{n: 10}]}\n"
                                "measure: {cases: [{n: 1000}]}\n";

static const char kernel_cl[] =
    "// [EVOLVE_START]\n"
    "//kf: launch axpy global=(n) local=(1) args=(x, w, idx, keep, acc, y, n, alpha)\n"
    "__kernel void axpy(__global const float *x) {}\n"
    "// [EVOLVE_END]\n";

#define PROTOTYPE                                                                                            \
  "void axpy_ref(const kf_real *x, const kf_real *w, const int32_t *idx, const bool *keep, int64_t *acc, "   \
  "kf_real *y, int32_t n, kf_real alpha)"

static const char good_reference[] =
    "#include <math.h>\n" PROTOTYPE " {\n"
    "  for (int i = 0; i < n; i++) {\n"
    "    y[i] = keep[i] ? (kf_real)sqrt(fabs(alpha * x[idx[i]] + w[i])) : 0;\n"
    "    acc[i] += idx[i];\n"
    "  }\n"
    "}\n";

typedef struct {
  char dir[KF_PATH_MAX], work[KF_PATH_MAX];
  kf_task *task;
  kf_oracle *oracle;
  int64_t n;
  float x[N];
  uint16_t w[N];
  int32_t idx[N];
  uint8_t keep[N];
  int64_t acc[N];
  const void *inputs[KF_ARGS_MAX];
} fixture;

static void must(kf_status status, const kf_err *err) {
  if (status != KF_OK) fail_msg("%s (%s)", err->msg, err->hint);
}

static void write_file(const char *dir, const char *name, const char *text) {
  char path[KF_PATH_MAX];
  kf_err err = {0};
  must(kf_fs_join(path, dir, name, &err), &err);
  must(kf_fs_write(path, text, strlen(text), &err), &err);
}

static void fill_inputs(fixture *f) {
  f->n = N;
  for (int i = 0; i < N; i++) {
    f->x[i] = (float)(i - 500) * 0.37f;
    kf_type_put(KF_TYPE_F16, f->w, (size_t)i, i * 0.25);
    f->idx[i] = (i * 7) % N;
    f->keep[i] = i % 3 != 0;
    f->acc[i] = 100 + i;
  }
  const void *inputs[] = {f->x, f->w, f->idx, f->keep, f->acc};
  memcpy(f->inputs, inputs, sizeof inputs);
}

/* Loads the task with this reference; the oracle may be refused. */
static kf_status begin(fixture *f, const char *reference, kf_err *ret_err) {
  kf_err err = {0};
  memset(f, 0, sizeof *f);
  must(kf_fs_mkdtemp(f->dir, "kf-test", &err), &err);
  must(kf_fs_join(f->work, f->dir, "work", &err), &err);
  must(kf_fs_mkdirs(f->work, &err), &err);
  write_file(f->dir, "task.yaml", task_yaml);
  write_file(f->dir, "kernel.cl", kernel_cl);
  write_file(f->dir, "reference.c", reference);
  must(kf_task_load(f->dir, &f->task, &err), &err);
  fill_inputs(f);
  return kf_oracle_new(f->task, f->work, &f->oracle, ret_err);
}

static void end(fixture *f) {
  kf_err err = {0};
  kf_oracle_free(f->oracle);
  kf_task_free(f->task);
  must(kf_fs_remove_tree(f->dir, &err), &err);
}

static kf_status run(fixture *f, int precision, int64_t timeout_ms, double *ret_outputs[KF_ARGS_MAX],
                     kf_err *err) {
  int64_t ns = 0;
  kf_status status = kf_oracle_run(f->oracle, &f->n, f->inputs, precision, timeout_ms, ret_outputs, &ns, err);
  if (status == KF_OK) assert_true(ns > 0);
  return status;
}

static void free_outputs(double *outputs[KF_ARGS_MAX]) {
  for (int i = 0; i < KF_ARGS_MAX; i++)
    kf_free(outputs[i]);
}

static double expected_y(const fixture *f, int i, int precision) {
  double w = kf_type_get(KF_TYPE_F16, f->w, (size_t)i);
  if (!f->keep[i]) return 0;
  if (precision == 64) return sqrt(fabs(0.1 * (double)f->x[f->idx[i]] + w));
  float inner = 0.1f * f->x[f->idx[i]];
  inner += (float)w;
  return (float)sqrt(fabs((double)inner));
}

static void test_verify_oracle__gives_outputs_in_both_precisions(void **state) {
  (void)state;
  static fixture f;
  kf_err err = {0};
  must(begin(&f, good_reference, &err), &err);
  for (int repeat = 0; repeat < 3; repeat++) { /* the process is used again */
    for (int precision = 64; precision >= 32; precision -= 32) {
      double *outputs[KF_ARGS_MAX] = {NULL};
      must(run(&f, precision, CALL_MS, outputs, &err), &err);
      assert_null(outputs[0]);
      assert_null(outputs[6]);
      for (int i = 0; i < N; i++) {
        assert_true(outputs[4][i] == f.acc[i] + f.idx[i]);
        double want = expected_y(&f, i, precision);
        assert_true(fabs(outputs[5][i] - want) <= fabs(want) * (precision == 64 ? 1e-15 : 1e-6));
        if (precision == 32) assert_true(outputs[5][i] == (double)(float)outputs[5][i]);
      }
      free_outputs(outputs);
    }
    f.n = repeat == 0 ? 1 : N;
    if (repeat == 0) {
      double *outputs[KF_ARGS_MAX] = {NULL};
      must(run(&f, 64, CALL_MS, outputs, &err), &err);
      assert_true(outputs[4][0] == 100);
      free_outputs(outputs);
      f.n = N;
    }
  }
  end(&f);
}

static void expect_refused(const char *reference, const char *message, const char *hint) {
  static fixture f;
  kf_err err = {0};
  kf_status status = begin(&f, reference, &err);
  if (status != KF_EREFUSED || strstr(err.msg, message) == NULL || strstr(err.hint, hint) == NULL)
    fail_msg("status %d: %s (%s); expected: %s (%s)", (int)status, err.msg, err.hint, message, hint);
  assert_null(f.oracle);
  end(&f);
}

static void test_verify_oracle__compile_errors_name_the_line(void **state) {
  (void)state;
  expect_refused("#include <math.h>\n" PROTOTYPE " {\n  y[0] = nope;\n}\n", "reference.c:3:10: error: ", "");
  expect_refused(PROTOTYPE " { y[0] = missing_function(x[0]); }\n", "reference.c:1:", "");
  expect_refused(PROTOTYPE " { if (n) {\n", "reference.c", "");
}

static void test_verify_oracle__missing_entry(void **state) {
  (void)state;
  expect_refused("void other(void) {}\n", "reference.c: no function axpy_ref",
                 "expected void axpy_ref(kf_real *x, ");
}

static void test_verify_oracle__other_arguments_are_refused_at_the_definition(void **state) {
  (void)state;
  expect_refused("\n\nvoid axpy_ref(const kf_real *x, int32_t n) { (void)x; (void)n; }\n",
                 "reference.c:3:6: does not take the arguments of task.yaml: too many arguments",
                 "int32_t *idx, _Bool *keep, int64_t *acc, kf_real *y, int32_t n, kf_real alpha)");
  expect_refused("void axpy_ref(const float *x, const kf_real *w, const int32_t *idx, const bool *keep,\n"
                 "  int64_t *acc, kf_real *y, int32_t n, kf_real alpha) {}\n",
                 "reference.c:1:28: does not take the arguments of task.yaml: ", "expected void axpy_ref(");
}

static void expect_run_refused(fixture *f, int64_t timeout_ms, const char *message) {
  kf_err err = {0};
  double *outputs[KF_ARGS_MAX] = {NULL};
  kf_status status = run(f, 64, timeout_ms, outputs, &err);
  if (status != KF_EREFUSED || strstr(err.msg, message) == NULL)
    fail_msg("status %d: %s; expected: %s", (int)status, err.msg, message);
  assert_null(outputs[4]);
}

/* What goes wrong is chosen by n, so that one oracle shows that it recovers. */
static const char bad_reference[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/socket.h>\n#include <unistd.h>\n" PROTOTYPE " {\n"
    "  for (int i = 0; i < n; i++) y[i] = 1;\n"
    "  if (n == 2) abort();\n"
    "  if (n == 3) y[n] = 1;\n"
    "  if (n == 4) ((kf_real *)x)[0] = 1;\n"
    "  if (n == 5) for (volatile int i = 0;;) i++;\n"
    "  if (n == 6) { fprintf(stderr, \"no good\\n\"); _exit(3); }\n"
    "  if (n == 7) socket(AF_INET, SOCK_STREAM, 0);\n"
    "  if (n == 8) write(3, \"forged\", 6);\n"
    "}\n";

static void test_verify_oracle__failures_name_the_case_and_leave_a_usable_oracle(void **state) {
  (void)state;
  static const struct {
    int64_t n;
    const char *message;
  } rows[] = {{2, "reference: n=2: killed by signal 6"},
              {3, "reference: n=3: killed by signal 11"},
              {4, "reference: n=4: killed by signal 11"},
              {5, "reference: n=5: not done within 300 ms"},
              {6, "reference: n=6: exited with code 3; it printed: no good"},
              {8, "reference: n=8: it wrote to the control socket"}};
  static fixture f;
  kf_err err = {0};
  must(begin(&f, bad_reference, &err), &err);
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    f.n = rows[i].n;
    int64_t start = kf_now_ms();
    expect_run_refused(&f, rows[i].n == 5 ? 300 : CALL_MS, rows[i].message);
    assert_true(kf_now_ms() - start < 10000);
    f.n = 1;
    double *outputs[KF_ARGS_MAX] = {NULL};
    must(run(&f, 64, CALL_MS, outputs, &err), &err);
    assert_true(outputs[5][0] == 1);
    free_outputs(outputs);
  }
  end(&f);
}

static void test_verify_oracle__a_reference_has_no_network_and_no_files(void **state) {
  (void)state;
  static fixture f;
  kf_err err = {0};
  must(begin(&f,
             "#include <errno.h>\n#include <fcntl.h>\n#include <sys/socket.h>\n" PROTOTYPE " {\n"
             "  for (int i = 0; i < n; i++) y[i] = 0;\n"
             "  if (socket(AF_INET, SOCK_STREAM, 0) >= 0) y[0] = 1;\n"
             "  if (open(\"/etc/passwd\", O_RDONLY) >= 0) y[0] = 2;\n"
             "  if (open(\"/tmp/kf-escape\", O_WRONLY | O_CREAT, 0600) >= 0) y[0] = 3;\n"
             "}\n",
             &err),
       &err);
  double *outputs[KF_ARGS_MAX] = {NULL};
  kf_status status = run(&f, 64, CALL_MS, outputs, &err);
  if (status == KF_OK)
    assert_true(outputs[5][0] == 0);
  else /* the filter may also end the process */
    assert_non_null(strstr(err.msg, "signal 31"));
  free_outputs(outputs);
  end(&f);
}

static void test_verify_oracle__unwritten_outputs_are_refused(void **state) {
  (void)state;
  static fixture f;
  kf_err err = {0};
  must(begin(&f, PROTOTYPE " { for (int i = 0; i < n - 1; i++) y[i] = 1; }\n", &err), &err);
  expect_run_refused(&f, CALL_MS, "reference: n=1000: element 999 of y is never written");
  end(&f);
}

static int open_descriptors(void) {
  DIR *dir = opendir("/proc/self/fd");
  int count = 0;
  assert_non_null(dir);
  while (readdir(dir) != NULL)
    count++;
  closedir(dir);
  return count;
}

static void test_verify_oracle__no_memory_leaves_nothing_behind(void **state) {
  (void)state;
  static fixture f;
  kf_err err = {0};
  must(begin(&f, good_reference, &err), &err);
  int before = open_descriptors();
  for (unsigned long nth = 1; nth <= 4; nth++) {
    double *outputs[KF_ARGS_MAX] = {NULL};
    kf_alloc_fail_at(nth, false);
    kf_status status = run(&f, 64, CALL_MS, outputs, &err);
    bool hit = kf_alloc_count() >= nth;
    kf_alloc_fail_at(0, false);
    if (hit) assert_int_equal(status, KF_ENOMEM);
    free_outputs(outputs);
    assert_int_equal(open_descriptors(), before);
  }
  end(&f);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_oracle__gives_outputs_in_both_precisions),
      cmocka_unit_test(test_verify_oracle__compile_errors_name_the_line),
      cmocka_unit_test(test_verify_oracle__missing_entry),
      cmocka_unit_test(test_verify_oracle__other_arguments_are_refused_at_the_definition),
      cmocka_unit_test(test_verify_oracle__failures_name_the_case_and_leave_a_usable_oracle),
      cmocka_unit_test(test_verify_oracle__a_reference_has_no_network_and_no_files),
      cmocka_unit_test(test_verify_oracle__unwritten_outputs_are_refused),
      cmocka_unit_test(test_verify_oracle__no_memory_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
