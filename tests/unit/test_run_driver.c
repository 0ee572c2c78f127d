/* links: kf_run kf_archive kf_store kf_propose kf_dist kf_device kf_sandbox kf_task kf_wire kf_base
 * Runs of the driver with the null evaluator: to the end, stopped, killed at many moments and resumed, and
 * replayed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/philox.h"
#include "run/progress.h"
#include "run/run.h"
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum { EVALS = 60 };

static char folder[KF_PATH_MAX];

static int make_folder(void **state) {
  (void)state;
  kf_err err = {0};
  return kf_fs_mkdtemp(folder, "kf-test-driver", &err) == KF_OK ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return kf_fs_remove_tree(folder, NULL) == KF_OK ? 0 : -1;
}

static void db_path(const char *name, char ret_path[KF_PATH_MAX]) {
  assert_int_equal(kf_fs_join(ret_path, folder, name, NULL), KF_OK);
}

static kf_run_options options_for(const char *path) {
  return (kf_run_options){
      .task_path = KF_TEST_SOURCE_DIR "/tasks/matmul",
      .db_path = path,
      .evals_max = EVALS,
      .seed = 1,
      .null_evaluator = true,
  };
}

static void show_error(const char *what, kf_status status, const kf_err *err) {
  if (status != KF_OK) print_message("%s: %s (%s)\n", what, err->msg, err->hint);
}

static kf_run_result run(const kf_run_options *options) {
  kf_run_result result;
  kf_err err = {0};
  kf_status status = kf_run(options, &result, &err);
  show_error("run", status, &err);
  assert_int_equal(status, KF_OK);
  return result;
}

/* ---- what a log must hold, however often the run was interrupted ---- */

enum { REQUESTS_MAX = 1024 };

typedef struct {
  int starts, resumes, finishes, verdicts, judged;
  int verdicts_of[REQUESTS_MAX], evaluates_of[REQUESTS_MAX];
} audit;

static kf_status audit_event(void *context, const kf_event *event, kf_err *err) {
  audit *seen = context;
  json_t *body KF_CLEANUP(kf_json_freep) = NULL;
  KF_TRY(kf_json_parse(event->body, event->body_len, 1 << 22, "event", &body, err));
  int64_t request = kf_json_int_or(body, "request", 0);
  if (event->kind == KF_EVENT_START) seen->starts++;
  if (event->kind == KF_EVENT_RESUME) seen->resumes++;
  if (event->kind == KF_EVENT_FINISH) seen->finishes++;
  if (event->kind == KF_EVENT_EVALUATE && request < REQUESTS_MAX) seen->evaluates_of[request]++;
  if (event->kind == KF_EVENT_VERDICT && request < REQUESTS_MAX) {
    seen->verdicts++;
    seen->verdicts_of[request]++;
  }
  /* As the engine counts: an insertion with a verdict, not of a duplicate, not of the initial kernel. */
  const char *status = kf_json_str_or(body, "status", "");
  if (event->kind == KF_EVENT_INSERT && event->proposal > 1 && json_object_get(body, "verdict") &&
      strcmp(status, "admitted") != 0)
    seen->judged++;
  return KF_OK;
}

static audit *read_audit(const char *path) {
  kf_store *store = NULL;
  kf_err err = {0};
  audit *seen = kf_calloc(1, sizeof *seen);
  assert_non_null(seen);
  assert_int_equal(kf_store_open(path, KF_STORE_READ, &store, &err), KF_OK);
  assert_int_equal(kf_store_scan(store, 1, 0, audit_event, seen, &err), KF_OK);
  kf_store_close(store);
  return seen;
}

static void assert_sound(const char *path, int evals) {
  audit *seen = read_audit(path);
  assert_int_equal(seen->starts, 1);
  assert_int_equal(seen->finishes, 1);
  assert_int_equal(seen->judged, evals);
  for (int i = 0; i < REQUESTS_MAX; i++) {
    assert_in_range(seen->evaluates_of[i], 0, 1);
    /* Every request has exactly one verdict: none is lost, none is measured twice. */
    assert_int_equal(seen->verdicts_of[i], seen->evaluates_of[i]);
  }
  kf_free(seen);
  kf_run_comparison comparison;
  kf_err err = {0};
  kf_status status = kf_run_replay(path, &comparison, &err);
  show_error("replay", status, &err);
  assert_int_equal(status, KF_OK);
  if (!comparison.same) print_message("seq %lld: %s\n", (long long)comparison.seq, comparison.what);
  assert_true(comparison.same);
  assert_true(comparison.decisions > evals);
  assert_int_equal(comparison.stored_version, KF_ENGINE_VERSION);
}

/* ---- tests ---- */

static int views;
static kf_run_view last_view;

static void count_view(void *context, const kf_run_view *view) {
  (void)context;
  views++;
  last_view = *view;
  char text[KF_PROGRESS_TEXT];
  kf_progress_text(view, text);
  assert_true(strstr(text, "evaluated") != NULL);
}

static void test_run_driver__runs_to_the_end_of_its_budget(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("whole.db", path);
  kf_run_options options = options_for(path);
  options.on_view = count_view;
  views = 0;
  kf_run_result result = run(&options);
  assert_true(result.finished);
  assert_false(result.interrupted);
  assert_string_equal(result.outcome, "confirmed");
  assert_int_equal(result.stats.evaluated, EVALS);
  assert_true(result.stats.best_nano > 0);
  assert_int_equal(strlen(result.best_source), 64);
  assert_true(result.cells > 3);
  assert_true(views > EVALS);
  assert_int_equal(last_view.stats.evaluated, EVALS);
  assert_sound(path, EVALS);
}

static void test_run_driver__stops_and_goes_on_after_any_input(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("stepwise.db", path);
  kf_run_options options = options_for(path);
  options.max_inputs = 7;
  kf_run_result result = run(&options);
  assert_true(result.interrupted);
  kf_run_options more = {.resume = path, .evals_max = -1, .time_max_ms = -1, .null_evaluator = true};
  int sessions = 1;
  for (int64_t step = 3; !result.finished; step = step % 23 + 3, sessions++) {
    more.max_inputs = step;
    result = run(&more);
    assert_in_range(sessions, 1, 1000);
  }
  assert_true(sessions > 5);
  assert_int_equal(result.stats.evaluated, EVALS);
  assert_sound(path, EVALS);
}

static void test_run_driver__a_resumed_run_may_get_more_budget(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("more.db", path);
  kf_run_options options = options_for(path);
  options.evals_max = 20;
  assert_int_equal(run(&options).stats.evaluated, 20);
  kf_run_options more = {.resume = path, .evals_max = 35, .time_max_ms = -1, .null_evaluator = true};
  kf_run_result result = run(&more);
  assert_true(result.finished);
  assert_int_equal(result.stats.evaluated, 35);
  /* Nothing more to do: it says so and stays as it is. */
  more.evals_max = -1;
  result = run(&more);
  assert_true(result.finished);
  assert_int_equal(result.stats.evaluated, 35);
}

/* A child of the test runs; it ends by itself or is killed. */
static pid_t start_child(const kf_run_options *options) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid > 0) return pid;
  kf_run_result result;
  kf_err err = {0};
  kf_status status = kf_run(options, &result, &err);
  if (status != KF_OK) fprintf(stderr, "child: %s\n", err.msg);
  _exit(status != KF_OK ? 1 : result.finished ? 0 : 5);
}

static int wait_child(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

static bool has_start(const char *path) {
  kf_store *store = NULL;
  audit *seen = kf_calloc(1, sizeof *seen);
  assert_non_null(seen);
  if (kf_store_open(path, KF_STORE_READ, &store, NULL) == KF_OK) {
    (void)kf_store_scan(store, 1, 1ull << KF_EVENT_START, audit_event, seen, NULL);
    kf_store_close(store);
  }
  bool found = seen->starts > 0;
  kf_free(seen);
  return found;
}

static void remove_db(const char *path) {
  static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
  for (size_t i = 0; i < KF_COUNTOF(ends); i++) {
    char name[KF_PATH_MAX + 8];
    snprintf(name, sizeof name, "%s%s", path, ends[i]);
    unlink(name);
  }
}

/* The time a whole run takes, so that kills fall anywhere within one. */
static int64_t time_whole_run(void) {
  char path[KF_PATH_MAX];
  db_path("timing.db", path);
  kf_run_options options = options_for(path);
  int64_t begin = kf_now_ms();
  pid_t pid = start_child(&options);
  assert_int_equal(wait_child(pid), 0);
  return kf_now_ms() - begin + 1;
}

static void test_run_driver__kill_9_at_any_moment_loses_nothing(void **state) {
  (void)state;
  kf_rng rng;
  kf_rng_init(&rng, 20261130, 0, 1);
  int64_t whole_ms = time_whole_run();
  int kills = 0;
  for (int round = 0; round < 12; round++) {
    char path[KF_PATH_MAX], name[32];
    snprintf(name, sizeof name, "killed-%d.db", round);
    db_path(name, path);
    kf_run_options options = options_for(path);
    for (int session = 0;; session++) {
      assert_in_range(session, 0, 200);
      if (options.task_path && has_start(path))
        options =
            (kf_run_options){.resume = path, .evals_max = -1, .time_max_ms = -1, .null_evaluator = true};
      else if (options.task_path)
        remove_db(path);
      pid_t pid = start_child(&options);
      /* Short at first, so that every part of a run is hit; whole runs in the end. */
      int64_t wait_us = (int64_t)kf_rng_below(&rng, (uint64_t)(whole_ms * (session < 8 ? 300 : 2000)) + 1);
      usleep((useconds_t)wait_us);
      kill(pid, SIGKILL);
      int status = wait_child(pid);
      if (WIFEXITED(status)) {
        assert_int_equal(WEXITSTATUS(status), 0);
        break;
      }
      kills++;
    }
    assert_sound(path, EVALS);
  }
  print_message("killed %d times\n", kills);
  assert_true(kills >= 12);
}

static void test_run_driver__a_signal_stops_it_and_it_can_be_resumed(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("signal.db", path);
  kf_run_options options = options_for(path);
  options.evals_max = 100000;
  pid_t pid = start_child(&options);
  while (!has_start(path))
    usleep(1000);
  usleep(50000);
  assert_int_equal(kill(pid, SIGINT), 0);
  int status = wait_child(pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 5);
  kf_run_options more = {.resume = path, .evals_max = EVALS, .time_max_ms = -1, .null_evaluator = true};
  kf_run_result result = run(&more);
  assert_true(result.finished);
  audit *seen = read_audit(path);
  assert_int_equal(seen->resumes, 1);
  assert_int_equal(seen->finishes, 1);
  kf_free(seen);
}

static void test_run_driver__a_full_disk_ends_it_and_it_can_be_resumed(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("full.db", path);
  kf_run_options options = options_for(path);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    struct rlimit small = {.rlim_cur = 192 << 10, .rlim_max = 192 << 10};
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails, as on a full disk */
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(2);
    kf_run_result result;
    kf_err err = {0};
    kf_status status = kf_run(&options, &result, &err);
    _exit(status == KF_EIO && strstr(err.msg, path) ? 4 : 3);
  }
  int status = wait_child(pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 4);
  kf_run_options more = {.resume = path, .evals_max = -1, .time_max_ms = -1, .null_evaluator = true};
  assert_true(run(&more).finished);
  assert_sound(path, EVALS);
}

static void test_run_driver__the_time_budget_ends_a_run(void **state) {
  (void)state;
  char path[KF_PATH_MAX], mail[KF_PATH_MAX], spec[KF_PATH_MAX + 16];
  db_path("timed.db", path);
  db_path("mail", mail);
  snprintf(spec, sizeof spec, "mailbox:%s", mail);
  const char *const specs[] = {spec};
  kf_run_options options = options_for(path);
  options.evals_max = 0;
  options.time_max_ms = 400;
  options.proposers = specs; /* nobody answers */
  options.nproposers = 1;
  int64_t begin = kf_now_ms();
  kf_run_result result = run(&options);
  assert_true(result.finished);
  assert_non_null(strstr(result.reason, "time"));
  assert_in_range(kf_now_ms() - begin, 400, 20000);
  kf_run_comparison comparison;
  assert_int_equal(kf_run_replay(path, &comparison, NULL), KF_OK);
  assert_true(comparison.same);
}

static void test_run_driver__replay_of_a_recorded_run_decides_the_same(void **state) {
  (void)state;
  char first[KF_PATH_MAX], second[KF_PATH_MAX], spec[KF_PATH_MAX + 16];
  db_path("first.db", first);
  db_path("second.db", second);
  snprintf(spec, sizeof spec, "replay:%s", first);
  const char *const specs[] = {spec};
  kf_run_options options = options_for(first);
  kf_run_result a = run(&options);
  options = options_for(second);
  options.proposers = specs;
  options.nproposers = 1;
  kf_run_result b = run(&options);
  assert_true(b.finished);
  /* The same candidates were judged, so the same one is best. */
  assert_string_equal(a.best_source, b.best_source);
  assert_string_equal(a.best_binding, b.best_binding);
}

static void test_run_driver__a_changed_decision_is_found_by_replay(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("whole.db", path); /* of the first test */
  kf_store *store = NULL;
  kf_err err = {0};
  kf_event extra = {.kind = KF_EVENT_PROPOSE, .proposal = 999, .body = "{}", .body_len = 2};
  assert_int_equal(kf_store_open(path, KF_STORE_WRITE, &store, &err), KF_OK);
  assert_int_equal(kf_store_append(store, &extra, &err), KF_OK);
  kf_store_close(store);
  kf_run_comparison comparison;
  assert_int_equal(kf_run_replay(path, &comparison, &err), KF_OK);
  assert_false(comparison.same);
  assert_int_equal(comparison.seq, extra.seq);
  assert_non_null(strstr(comparison.what, "proposal 999"));
}

static void test_run_driver__what_cannot_be_run_is_refused(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("refused.db", path);
  kf_run_options options = options_for(path);
  kf_run_result result;
  kf_err err = {0};
  options.task_path = "/nowhere/at/all";
  assert_int_equal(kf_run(&options, &result, &err), KF_ENOTFOUND);
  options = options_for(path);
  options.device = "opencl:7";
  assert_int_equal(kf_run(&options, &result, &err), KF_ENODEV);
  assert_true(err.hint[0] != '\0');
  options = options_for(path);
  static const char *const specs[] = {"buildin"};
  options.proposers = specs;
  options.nproposers = 1;
  assert_int_equal(kf_run(&options, &result, &err), KF_EINVAL);
  assert_non_null(strstr(err.hint, "builtin"));
  assert_false(kf_fs_exists(path)); /* nothing was begun */
  options = (kf_run_options){.resume = path, .null_evaluator = true};
  assert_int_equal(kf_run(&options, &result, &err), KF_ENOTFOUND);
}

static void test_run_driver__a_database_starts_no_programs(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("programs.db", path);
  static const char *const specs[] = {"builtin", "command:sh -c 'exit 1'\x1b"};
  kf_run_options options = options_for(path);
  options.proposers = specs;
  options.nproposers = 2;
  options.max_inputs = 6;
  kf_run_result result = run(&options);
  assert_true(result.interrupted);
  kf_err err = {0};
  options = (kf_run_options){.resume = path, .evals_max = -1, .time_max_ms = -1, .null_evaluator = true};
  assert_int_equal(kf_run(&options, &result, &err), KF_EINVAL);
  assert_non_null(strstr(err.hint, " --proposer builtin --proposer 'command:sh -c '\\''exit 1'\\'' '"));
  options.proposers = specs;
  options.nproposers = 1; /* another choice than before is a choice as well */
  result = run(&options);
  assert_true(result.finished);
}

static void test_run_driver__a_run_id_is_checked(void **state) {
  (void)state;
  static const struct {
    const char *id;
    kf_status status;
  } rows[] = {{"matmul-1.b_C", KF_OK},
              {"", KF_EPROTO},
              {"a b", KF_EPROTO},
              {"a\x1b[2J", KF_EPROTO},
              {"a/b", KF_EPROTO}};
  char id[KF_RUN_ID_MAX], longest[KF_RUN_ID_CHARS + 2];
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    json_t *start = json_pack("{s:s}", "run", rows[i].id);
    assert_int_equal(kf_run_read_id(start, id, NULL), rows[i].status);
    json_decref(start);
  }
  for (int length = KF_RUN_ID_CHARS; length <= KF_RUN_ID_CHARS + 1; length++) {
    memset(longest, 'x', (size_t)length);
    longest[length] = '\0';
    json_t *start = json_pack("{s:s}", "run", longest);
    assert_int_equal(kf_run_read_id(start, id, NULL), length == KF_RUN_ID_CHARS ? KF_OK : KF_EPROTO);
    json_decref(start);
  }
}

static void test_run_driver__what_is_waited_for_is_told(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  kf_progress progress;
  kf_progress_init(&progress, ends[1]);
  kf_run_view view = {.activity = "waiting\x1b for the device", .time_left_ms = -1};
  view.stats.best_nano = INT64_MIN;
  kf_progress_show(&progress, &view);
  kf_progress_show(&progress, &view); /* too soon */
  progress.last_ms -= 5000;
  kf_progress_show(&progress, &view); /* nothing changed, but it waits */
  view.activity = "";
  progress.last_ms -= 5000;
  kf_progress_show(&progress, &view); /* nothing to be told */
  close(ends[1]);
  char text[2048] = "";
  ssize_t got = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  assert_true(got > 0);
  int lines = 0;
  for (const char *at = text; (at = strstr(at, "| waiting  for the device\n")) != NULL; at++)
    lines++;
  assert_int_equal(lines, 2);
  assert_int_equal(text[got - 1], '\n');
  assert_null(strchr(text, '\x1b'));
}

static void test_run_driver__a_dry_run_measures_and_leaves_nothing(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("dry.db", path);
  kf_run_options options = options_for(path);
  kf_run_forecast forecast;
  kf_err err = {0};
  assert_int_equal(kf_run_dry(&options, &forecast, &err), KF_OK);
  assert_int_equal(forecast.verdict, KF_VERDICT_CORRECT);
  assert_true(forecast.evals_per_minute > 0);
  assert_true(forecast.smallest_gain >= 0.01);
  assert_int_equal(forecast.nproposers, 1);
  assert_string_equal(forecast.discloses[0], "nothing");
  assert_false(kf_fs_exists(path));
}

/* Memory that runs out at any place ends the run with a failure that says so, leaks nothing, and what was
 * committed can be resumed. A sample of places: this run has thousands. */
static void test_run_driver__survives_failing_allocations(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  db_path("memory.db", path);
  kf_run_options options = options_for(path);
  options.evals_max = 4;
  int failed = 0, resumed = 0;
  bool reached = false;
  for (unsigned long nth = 1; !reached; nth += nth < 200 ? 7 : 61) {
    kf_run_result result;
    kf_err err = {0};
    kf_alloc_fail_at(nth, true);
    kf_status status = kf_run(&options, &result, &err);
    reached = kf_alloc_count() < nth;
    kf_alloc_fail_at(0, false);
    if (status != KF_OK) {
      failed++;
      if (status != KF_ENOMEM)
        print_message("allocation %lu: %s: %s\n", nth, kf_status_name(status), err.msg);
      assert_int_equal(status, KF_ENOMEM);
    }
    if (status != KF_OK && has_start(path)) {
      kf_run_options more = {.resume = path, .evals_max = -1, .time_max_ms = -1, .null_evaluator = true};
      assert_true(run(&more).finished);
      assert_sound(path, 4);
      resumed++;
    }
    remove_db(path);
  }
  assert_true(failed > 50);
  assert_true(resumed > 5);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run_driver__runs_to_the_end_of_its_budget),
      cmocka_unit_test(test_run_driver__stops_and_goes_on_after_any_input),
      cmocka_unit_test(test_run_driver__a_resumed_run_may_get_more_budget),
      cmocka_unit_test(test_run_driver__kill_9_at_any_moment_loses_nothing),
      cmocka_unit_test(test_run_driver__a_signal_stops_it_and_it_can_be_resumed),
      cmocka_unit_test(test_run_driver__a_full_disk_ends_it_and_it_can_be_resumed),
      cmocka_unit_test(test_run_driver__survives_failing_allocations),
      cmocka_unit_test(test_run_driver__the_time_budget_ends_a_run),
      cmocka_unit_test(test_run_driver__replay_of_a_recorded_run_decides_the_same),
      cmocka_unit_test(test_run_driver__a_changed_decision_is_found_by_replay),
      cmocka_unit_test(test_run_driver__what_cannot_be_run_is_refused),
      cmocka_unit_test(test_run_driver__a_database_starts_no_programs),
      cmocka_unit_test(test_run_driver__a_run_id_is_checked),
      cmocka_unit_test(test_run_driver__what_is_waited_for_is_told),
      cmocka_unit_test(test_run_driver__a_dry_run_measures_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
