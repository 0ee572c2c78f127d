/* links: kf_base kf_task */
/* test_task_review.c - doubts about a task file, each with the lines that remove it. */
#include "task/review.h"

#include "test_task_util.h"
#include <string.h>

typedef struct {
  char doubts[16][400], fixes[16][2048];
  int ndoubts, nok;
} notes;

static void on_note(void *context, bool doubtful, const char *area, const char *text, const char *fix) {
  notes *n = context;
  assert_true(area[0] != '\0' && text[0] != '\0');
  if (!doubtful) {
    n->nok++;
    assert_string_equal(fix, "");
    return;
  }
  snprintf(n->doubts[n->ndoubts], sizeof n->doubts[0], "%s", text);
  snprintf(n->fixes[n->ndoubts++], sizeof n->fixes[0], "%s", fix);
}

/* The review of a task made of these parts of task.yaml. */
static notes review(const char *symbols, const char *fill, const char *rest) {
  char yaml[2048];
  notes n = {0};
  kf_err err = {0};
  snprintf(yaml, sizeof yaml,
           "name: t\nlanguage: opencl\n%sargs:\n  - {name: x, role: in, type: f32, shape: [%s], fill: %s}\n"
           "  - {name: y, role: out, type: f32, shape: [%s]}\nkernel: kernel.cl\n%s",
           symbols, strstr(symbols, "n:") ? "n, \"ceil(n, 2)\"" : "8", fill,
           strstr(symbols, "n:") ? "n" : "8", rest);
  kf_task *task = load_yaml(yaml);
  if (kf_task_review(task, KF_LANG_OPENCL, on_note, &n, &err) != KF_OK) fail_msg("%s", err.msg);
  kf_task_free(task);
  return n;
}

static void expect_doubt(const notes *n, const char *text, const char *fix) {
  for (int i = 0; i < n->ndoubts; i++)
    if (strstr(n->doubts[i], text) != NULL) {
      if (strstr(n->fixes[i], fix) == NULL) fail_msg("\"%s\" has the fix \"%s\"", n->doubts[i], n->fixes[i]);
      return;
    }
  fail_msg("no doubt says \"%s\" (%d doubts)", text, n->ndoubts);
}

#define N "symbols: {n: {default: 64, min: 1, max: 4096}}\n"
#define REFERENCE "reference: {file: reference.c, entry: t}\n"
#define CHECK "check: {cases: [{n: 1}, {n: 37}]}\n"
#define MEASURE "measure: {cases: [{n: 4096}]}\n"

static void test_task_review__a_good_file_has_no_doubts(void **state) {
  (void)state;
  notes n = review(N, "normal", REFERENCE CHECK MEASURE);
  assert_int_equal(n.ndoubts, 0);
  assert_int_equal(n.nok, 4);
}

static void test_task_review__sizes(void **state) {
  (void)state;
  notes n = review("", "normal", REFERENCE);
  expect_doubt(&n, "no size is a symbol", "symbols: {n: {default:");
  assert_int_equal(n.ndoubts, 1);
  n = review("symbols: {n: 64}\n", "normal", REFERENCE "measure: {cases: [{n: 64}]}\n");
  assert_int_equal(n.ndoubts, 1);
  expect_doubt(&n, "every symbol is fixed", "\n  n: {default: 64, min: 1, max: 128}");
}

static void test_task_review__cases(void **state) {
  (void)state;
  notes n = review(N, "normal", REFERENCE "check: {cases: [{n: 33}]}\n" MEASURE);
  assert_int_equal(n.ndoubts, 1);
  expect_doubt(&n, "one check case only", "check:\n  cases:\n    - {n: 37}\n    - {n: 13}");
  n = review(N, "normal", REFERENCE "check: {cases: [{n: 16}, {n: 256}]}\n" MEASURE);
  expect_doubt(&n, "a multiple of 16", "- {n: 37}");
  n = review(N, "normal", REFERENCE "check: {cases: [{n: 2}, {n: 30}]}\n" MEASURE);
  expect_doubt(&n, "odd size", "- {n: 37}");
  n = review(N, "normal", REFERENCE CHECK);
  expect_doubt(&n, "timed where every symbol has its default", "measure:\n  cases:\n    - {n: 64}");
  /* Where the domain has no odd sizes, none are asked for. */
  n = review("symbols: {n: {default: 64, min: 32, max: 4096, multiple_of: 32}}\n", "normal",
             REFERENCE "check: {cases: [{n: 32}, {n: 96}]}\n" MEASURE);
  assert_int_equal(n.ndoubts, 0);
}

static void test_task_review__inputs(void **state) {
  (void)state;
  notes n = review(N, "uniform", REFERENCE CHECK MEASURE);
  expect_doubt(&n, "x is positive everywhere",
               "- {name: x, role: in, type: f32, shape: [n, \"ceil(n, 2)\"], fill: normal}");
  n = review(N, "constant(1)", REFERENCE CHECK MEASURE);
  expect_doubt(&n, "x is 1 everywhere", "fill: normal}");
  n = review(N, "uniform", REFERENCE CHECK MEASURE "error: {kind: exact}\n"); /* nothing is rounded */
  assert_int_equal(n.ndoubts, 0);
}

static void test_task_review__references(void **state) {
  (void)state;
  notes n = review(N, "normal", "reference: kernel\n" CHECK MEASURE);
  expect_doubt(&n, "its own reference", "reference: {file: reference.c, entry: NAME}");
}

/* What is proposed can be pasted: the file is read, and the doubt is gone. */
static void test_task_review__fixes_remove_their_doubts(void **state) {
  (void)state;
  notes n = review(N, "normal", REFERENCE "check: {cases: [{n: 16}]}\n");
  assert_int_equal(n.ndoubts, 3);
  char rest[4600];
  snprintf(rest, sizeof rest, "%s%s\n%s\n", REFERENCE, n.fixes[0], n.fixes[2]);
  notes after = review(N, "normal", rest);
  if (after.ndoubts > 0) fail_msg("still: %s", after.doubts[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_review__a_good_file_has_no_doubts),
      cmocka_unit_test(test_task_review__sizes),
      cmocka_unit_test(test_task_review__cases),
      cmocka_unit_test(test_task_review__inputs),
      cmocka_unit_test(test_task_review__references),
      cmocka_unit_test(test_task_review__fixes_remove_their_doubts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
