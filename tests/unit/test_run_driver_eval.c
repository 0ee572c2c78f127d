/* links: kf_run kf_archive kf_store kf_propose kf_dist kf_device kf_sandbox kf_task kf_wire kf_base kf-eval
 * The driver with the real evaluator on the CPU through OpenCL: kernels are built, verified and timed, and
 * kf-eval is killed in the middle of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "run/run.h"
#include <signal.h>

#include "base/banned.h"

enum { EVALS = 2, REQUESTS_MAX = 256 };

static const char task_path[] = KF_TEST_SOURCE_DIR "/tests/cases/tasks/affine";
static char folder[KF_PATH_MAX];

static int set_up(void **state) {
  (void)state;
  if (kf_fs_mkdtemp(folder, "kf-test-driver-eval", NULL) != KF_OK) return -1;
  return setenv("KF_EVAL", KF_TEST_BIN_DIR "/kf-eval", 1);
}

static int tear_down(void **state) {
  (void)state;
  return kf_fs_remove_tree(folder, NULL) == KF_OK ? 0 : -1;
}

/* By proposal id, cycled: 2 and 3 are wrong, which is soon found out. */
static void write_answers(char ret_spec[KF_PATH_MAX + 16]) {
  static const char *const bodies[] = {
      "y[i] = fma(2.0f, x[i], 1.0f);",
      "y[i] = 2.0f * x[i];",
      "y[i] = x[i] + 1.0f;",
      "y[i] = 1.0f + 2.0f * x[i];",
  };
  char dir[KF_PATH_MAX];
  assert_int_equal(kf_fs_join(dir, folder, "answers", NULL), KF_OK);
  assert_int_equal(kf_fs_mkdirs(dir, NULL), KF_OK);
  for (size_t i = 0; i < KF_COUNTOF(bodies); i++) {
    char name[16], path[KF_PATH_MAX], text[1024];
    snprintf(name, sizeof name, "%zu.cl", i);
    assert_int_equal(kf_fs_join(path, dir, name, NULL), KF_OK);
    snprintf(text, sizeof text,
             "//kf: launch affine global=(ceil(n,64)*64) local=(64) args=(x, y, n)\n"
             "__kernel void affine(__global const float *x, __global float *y, int n) {\n"
             "  int i = get_global_id(0);\n  if (i < n) { %s }\n}\n",
             bodies[i]);
    assert_int_equal(kf_fs_write(path, text, strlen(text), NULL), KF_OK);
  }
  snprintf(ret_spec, KF_PATH_MAX + 16, "replay:%s", dir);
}

/* Kills kf-eval once, when the first verdict is in. */
static void kill_once(void *context, const kf_run_view *view) {
  bool *killed = context;
  if (*killed || view->stats.verdicts[KF_VERDICT_CORRECT] == 0) return;
  assert_true(view->evaluator_pid > 0);
  assert_int_equal(kill((pid_t)view->evaluator_pid, SIGKILL), 0);
  *killed = true;
}

typedef struct {
  int evaluates, verdicts, infras, wrong;
  int closed[REQUESTS_MAX];
} audit;

static kf_status audit_event(void *context, const kf_event *event, kf_err *err) {
  audit *seen = context;
  json_t *body KF_CLEANUP(kf_json_freep) = NULL;
  KF_TRY(kf_json_parse(event->body, event->body_len, 1 << 22, "event", &body, err));
  int64_t request = kf_json_int_or(body, "request", 0);
  seen->evaluates += event->kind == KF_EVENT_EVALUATE;
  seen->verdicts += event->kind == KF_EVENT_VERDICT;
  seen->infras += event->kind == KF_EVENT_INFRA;
  seen->wrong += strcmp(kf_json_str_or(body, "verdict", ""), "wrong_output") == 0;
  if ((event->kind == KF_EVENT_VERDICT || event->kind == KF_EVENT_INFRA) && request < REQUESTS_MAX)
    seen->closed[request]++;
  return KF_OK;
}

static void test_run_driver_eval__a_killed_evaluator_is_replaced_and_nothing_is_lost(void **state) {
  (void)state;
  char path[KF_PATH_MAX], spec[KF_PATH_MAX + 16];
  bool killed = false;
  write_answers(spec);
  assert_int_equal(kf_fs_join(path, folder, "run.db", NULL), KF_OK);
  const char *const specs[] = {spec};
  kf_run_options options = {.task_path = task_path,
                            .db_path = path,
                            .proposers = specs,
                            .nproposers = 1,
                            .evals_max = EVALS,
                            .seed = 1,
                            .on_view = kill_once,
                            .context = &killed};
  kf_run_result result;
  kf_err err = {0};
  kf_status status = kf_run(&options, &result, &err);
  if (status != KF_OK) print_message("%s (%s)\n", err.msg, err.hint);
  assert_int_equal(status, KF_OK);
  assert_true(killed);
  assert_int_equal(result.restarts, 1);
  assert_true(result.finished);
  assert_int_equal(result.stats.evaluated, EVALS);
  assert_int_equal(result.stats.verdicts[KF_VERDICT_WRONG_OUTPUT], EVALS);

  audit *seen = kf_calloc(1, sizeof *seen);
  assert_non_null(seen);
  kf_store *store = NULL;
  assert_int_equal(kf_store_open(path, KF_STORE_READ, &store, &err), KF_OK);
  assert_int_equal(kf_store_scan(store, 1, 0, audit_event, seen, &err), KF_OK);
  kf_store_close(store);
  assert_in_range(seen->infras, 1, 4); /* once for each request that was in flight, not for its retries */
  assert_int_equal(seen->evaluates, seen->verdicts + seen->infras);
  for (int i = 0; i < REQUESTS_MAX; i++)
    assert_in_range(seen->closed[i], 0, 1);
  kf_free(seen);

  kf_run_comparison comparison;
  assert_int_equal(kf_run_replay(path, &comparison, &err), KF_OK);
  assert_true(comparison.same);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run_driver_eval__a_killed_evaluator_is_replaced_and_nothing_is_lost),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
