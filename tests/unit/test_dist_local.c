/* links: kf_dist kf_device kf_sandbox kf_task kf_wire kf_base
 * The client's side of the evaluator protocol against a peer that does what the candidate's text says: this
 * program, started as `kf-eval` would be. So every way in which an evaluator can fail happens for certain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "dist/evaluator.h"
#include "wire/proto.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

/* ---- the peer ---- */

enum { BLOBS_MAX = 64 };

static struct {
  char hex[BLOBS_MAX][KF_HASH_HEX];
  char *text[BLOBS_MAX];
  int count, puts;
  int64_t waiting; /* request that needs a blob again, or hangs */
  bool hello;
} peer;

static void say(json_t *take_message) {
  kf_buf line KF_CLEANUP(kf_buf_done);
  kf_buf_init(&line, KF_WIRE_LINE_MAX);
  if (!take_message || kf_wire_write(&line, take_message, NULL) != KF_OK) _exit(9);
  json_decref(take_message);
  if (kf_fs_write_fd(1, line.data, line.len, NULL) != KF_OK) _exit(9);
}

static void say_verdict(int64_t id) {
  json_t *json = NULL;
  kf_verdict *verdict = kf_calloc(1, sizeof *verdict);
  if (!verdict) _exit(9);
  kf_verdict_init(verdict);
  verdict->kind = KF_VERDICT_CORRECT;
  snprintf(verdict->binding, sizeof verdict->binding, "puts=%d", peer.puts);
  if (kf_verdict_to_json(verdict, &json, NULL) != KF_OK) _exit(9);
  kf_free(verdict);
  say(json_pack("{s:s,s:I,s:o}", "op", "result", "id", (json_int_t)id, "verdict", json));
}

static void say_error(int64_t id, kf_status status, const char *message) {
  say(json_pack("{s:s,s:I,s:{s:s,s:s,s:s}}", "op", "result", "id", (json_int_t)id, "error", "status",
                kf_status_name(status), "message", message, "hint", "try again"));
}

static const char *peer_text(const char *hex) {
  for (int i = 0; i < peer.count; i++)
    if (strcmp(peer.hex[i], hex) == 0) return peer.text[i];
  return "";
}

static void peer_judge(const json_t *message) {
  int64_t id = kf_json_int_or(message, "id", 0);
  const char *hex = kf_json_str_or(json_object_get(message, "candidate"), "source", "");
  const char *text = peer_text(hex);
  say(json_pack("{s:s,s:I,s:s}", "op", "progress", "id", (json_int_t)id, "what", "building"));
  if (strcmp(text, "die") == 0) raise(SIGKILL);
  if (strcmp(text, "leave") == 0) _exit(4);
  if (strcmp(text, "garbage") == 0) {
    (void)kf_fs_write_fd(1, "not json\n", 9, NULL);
    return;
  }
  if (strcmp(text, "error") == 0) {
    say_error(id, KF_ETIMEOUT, "the device was busy");
    return;
  }
  if (strcmp(text, "bad verdict") == 0) {
    say(json_pack("{s:s,s:I,s:{s:i}}", "op", "result", "id", (json_int_t)id, "verdict", "verdict", 7));
    return;
  }
  if (strcmp(text, "hang") == 0) {
    peer.waiting = id;
    return;
  }
  if (strncmp(text, "need", 4) == 0) {
    peer.waiting = id;
    say(json_pack("{s:s,s:I,s:[s]}", "op", "need", "id", (json_int_t)id, "sha256", hex));
    return;
  }
  say_verdict(id);
  if (strcmp(text, "twice") == 0) say_verdict(id);
}

static kf_status peer_message(void *context, json_t *message, const char *blob, size_t len, kf_err *err) {
  (void)context, (void)err;
  const char *op = kf_json_str_or(message, "op", "");
  if (blob) {
    peer.puts++;
    if (peer.count < BLOBS_MAX) {
      snprintf(peer.hex[peer.count], KF_HASH_HEX, "%s", kf_json_str_or(message, "sha256", ""));
      peer.text[peer.count++] = kf_strndup(blob, len);
    }
    if (peer.waiting && strncmp(blob, "need", 4) == 0) {
      say_verdict(peer.waiting);
      peer.waiting = 0;
    }
  } else if (strcmp(op, "hello") == 0) {
    peer.hello = json_is_object(json_object_get(message, "settings"));
  } else if (strcmp(op, "judge") == 0 && peer.hello) {
    peer_judge(message);
  } else if (strcmp(op, "cancel") == 0) {
    say_error(kf_json_int_or(message, "id", 0), KF_ECANCELED, "canceled");
  } else if (strcmp(op, "inspect") == 0) {
    const char *text = peer_text(kf_json_str_or(message, "source", ""));
    int64_t id = kf_json_int_or(message, "id", 0);
    bool compiles = strcmp(text, "bad") != 0;
    say(json_pack("{s:s,s:I,s:b,s:[{s:s,s:[]}],s:s}", "op", "result", "id", (json_int_t)id, "compiles",
                  (int)compiles, "kernels", "entry", "f", "args", "log", compiles ? "" : "1:1: error: no"));
  }
  return KF_OK;
}

static int peer_main(const char *mode) {
  static char chunk[4096];
  kf_wire_reader reader;
  kf_wire_reader_init(&reader);
  if (strcmp(mode, "silent") == 0) pause();
  if (strcmp(mode, "gone") == 0) return 4;
  say(json_pack("{s:s,s:[i,i],s:s,s:[],s:s}", "op", "hello", "protocol", strcmp(mode, "newer") == 0 ? 2 : 1,
                0, "version", "9.9", "devices", "sandbox", "seccomp"));
  for (ssize_t got; (got = read(0, chunk, sizeof chunk)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || kf_wire_feed(&reader, chunk, (size_t)got, peer_message, NULL, NULL) != KF_OK) return 9;
  }
  kf_wire_reader_done(&reader); /* the client closed its end */
  for (int i = 0; i < peer.count; i++)
    kf_free(peer.text[i]);
  return 0;
}

/* ---- the client ---- */

enum { RESULTS_MAX = 32 };

static struct {
  char folder[KF_PATH_MAX];
  uv_loop_t loop;
  kf_settings settings;
  kf_task *task;
  kf_eval_result results[RESULTS_MAX];
  char bindings[RESULTS_MAX][256], messages[RESULTS_MAX][KF_ERR_MSG_MAX];
  int count, progress, lost;
} t;

static void on_result(void *context, const kf_eval_result *result) {
  (void)context;
  assert_true(t.count < RESULTS_MAX);
  t.results[t.count] = *result;
  snprintf(t.bindings[t.count], sizeof t.bindings[0], "%s", result->verdict ? result->verdict->binding : "");
  snprintf(t.messages[t.count], sizeof t.messages[0], "%s", result->error ? result->error->msg : "");
  t.count++;
}

static void on_progress(void *context, int64_t id, const char *what) {
  (void)context, (void)id;
  t.progress += strcmp(what, "building") == 0;
}

static void on_lost(void *context, const kf_err *error) {
  (void)context;
  assert_int_equal(error->code, KF_EIO);
  t.lost++;
}

static const kf_eval_callbacks callbacks = {on_result, on_progress, on_lost, NULL};

static int set_up(void **state) {
  (void)state;
  kf_settings_init(&t.settings);
  if (kf_fs_mkdtemp(t.folder, "kf-test-dist", NULL) != KF_OK) return -1;
  if (kf_task_load(KF_TEST_SOURCE_DIR "/tasks/matmul", &t.task, NULL) != KF_OK) return -1;
  return uv_loop_init(&t.loop);
}

static int tear_down(void **state) {
  (void)state;
  kf_task_free(t.task);
  kf_fs_remove_tree(t.folder, NULL);
  return uv_loop_close(&t.loop);
}

/* $KF_EVAL becomes a program that starts this one as a peer. */
static void choose_peer(const char *mode) {
  char self[KF_PATH_MAX], path[KF_PATH_MAX], script[2 * KF_PATH_MAX];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  assert_true(len > 0);
  self[len] = '\0';
  assert_int_equal(kf_fs_join(path, t.folder, mode, NULL), KF_OK);
  snprintf(script, sizeof script, "#!/bin/sh\nexec '%s' --peer %s\n", self, mode);
  assert_int_equal(kf_fs_write(path, script, strlen(script), NULL), KF_OK);
  assert_int_equal(chmod(path, 0755), 0);
  setenv("KF_EVAL", path, 1);
}

static kf_evaluator *open_peer(void) {
  kf_evaluator *evaluator = NULL;
  kf_err err = {0};
  t.count = t.progress = t.lost = 0;
  choose_peer("normal");
  kf_status status = kf_evaluator_open_local(&t.loop, &t.settings, &callbacks, &evaluator, &err);
  if (status != KF_OK) print_message("%s\n", err.msg);
  assert_int_equal(status, KF_OK);
  return evaluator;
}

static void submit(kf_evaluator *evaluator, int64_t id, const char *text, const char *against) {
  kf_err err = {0};
  kf_eval_source opponent = {
      .source = against, .source_len = against ? strlen(against) : 0, .binding = "A=1"};
  kf_eval_elite elite = {.cell = {{1, 0, 1, 0}}, .elite_nano = 5};
  kf_eval_request request = {.id = id,
                             .task = t.task,
                             .device = "opencl:0",
                             .candidate = {text, strlen(text), ""},
                             .against = against ? &opponent : NULL,
                             .stage = 2,
                             .elites = &elite,
                             .nelites = 1};
  kf_status status = kf_evaluator_submit(evaluator, &request, &err);
  if (status != KF_OK) print_message("%s\n", err.msg);
  assert_int_equal(status, KF_OK);
}

static void wait_for(int count) {
  int64_t until = kf_now_ms() + 30000;
  while (t.count < count && kf_now_ms() < until) {
    uv_run(&t.loop, UV_RUN_NOWAIT);
    usleep(500);
  }
  assert_int_equal(t.count, count);
}

static void close_it(kf_evaluator *evaluator) {
  kf_evaluator_close(evaluator);
  uv_run(&t.loop, UV_RUN_DEFAULT);
}

static void test_dist_local__results_come_once_each(void **state) {
  (void)state;
  kf_evaluator *evaluator = open_peer();
  assert_string_equal(kf_evaluator_hello_text(evaluator, "version"), "9.9");
  assert_string_equal(kf_evaluator_hello_text(evaluator, "nothing"), "");
  submit(evaluator, 1, "good", NULL);
  submit(evaluator, 2, "other", "good");
  assert_int_equal(t.count, 0);
  wait_for(2);
  assert_int_equal(t.results[0].id, 1);
  assert_int_equal(t.results[0].status, KF_OK);
  assert_int_equal(t.results[1].id, 2);
  assert_int_equal(t.progress, 2);
  close_it(evaluator);
  assert_int_equal(t.count, 2);
  assert_int_equal(t.lost, 0);
}

static void test_dist_local__nothing_is_sent_twice(void **state) {
  (void)state;
  char want[64];
  kf_evaluator *evaluator = open_peer();
  submit(evaluator, 1, "good", NULL);
  submit(evaluator, 2, "good", "good");
  submit(evaluator, 3, "other", "good");
  wait_for(3);
  int task_blobs = t.task->nfiles + 1;
  snprintf(want, sizeof want, "puts=%d", task_blobs + 1);
  assert_string_equal(t.bindings[1], want);
  snprintf(want, sizeof want, "puts=%d", task_blobs + 2);
  assert_string_equal(t.bindings[2], want);
  close_it(evaluator);
}

static void test_dist_local__what_is_needed_is_sent_again(void **state) {
  (void)state;
  kf_evaluator *evaluator = open_peer();
  submit(evaluator, 1, "need it", NULL);
  wait_for(1);
  assert_int_equal(t.results[0].status, KF_OK);
  close_it(evaluator);
}

static void test_dist_local__errors_carry_their_status(void **state) {
  (void)state;
  kf_evaluator *evaluator = open_peer();
  submit(evaluator, 1, "error", NULL);
  submit(evaluator, 2, "hang", NULL);
  wait_for(1);
  assert_int_equal(t.results[0].status, KF_ETIMEOUT);
  assert_string_equal(t.messages[0], "the device was busy");
  assert_int_equal(kf_evaluator_cancel(evaluator, 2, NULL), KF_OK);
  assert_int_equal(kf_evaluator_cancel(evaluator, 99, NULL), KF_OK); /* not in flight: nothing to do */
  wait_for(2);
  assert_int_equal(t.results[1].status, KF_ECANCELED);
  close_it(evaluator);
}

static void lose_by(const char *text) {
  kf_evaluator *evaluator = open_peer();
  kf_eval_request request = {.id = 9, .task = t.task, .device = "opencl:0", .candidate = {"x", 1, ""}};
  submit(evaluator, 1, "hang", NULL);
  submit(evaluator, 2, text, NULL);
  submit(evaluator, 3, "hang", NULL);
  int64_t until = kf_now_ms() + 30000;
  while (t.lost == 0 && kf_now_ms() < until) {
    uv_run(&t.loop, UV_RUN_NOWAIT);
    usleep(500);
  }
  assert_int_equal(t.lost, 1);
  assert_true(t.count >= 3);
  kf_err err = {0};
  assert_int_equal(kf_evaluator_submit(evaluator, &request, &err), KF_EIO);
  int before = t.count;
  close_it(evaluator);
  assert_int_equal(t.count, before);
  assert_int_equal(t.lost, 1);
}

static void test_dist_local__a_lost_evaluator_fails_all_that_waits(void **state) {
  (void)state;
  lose_by("die");
  assert_int_equal(t.count, 3);
  for (int i = 0; i < 3; i++)
    assert_int_equal(t.results[i].status, KF_EIO);
  assert_non_null(strstr(t.messages[0], "signal 9"));
  lose_by("leave");
  assert_non_null(strstr(t.messages[0], "code 4"));
}

static void test_dist_local__a_peer_that_breaks_the_protocol_is_lost(void **state) {
  (void)state;
  lose_by("garbage");
  assert_int_equal(t.count, 3);
  lose_by("bad verdict");
  assert_int_equal(t.count, 3);
  lose_by("twice");
  assert_int_equal(t.results[0].status, KF_OK);
  assert_int_equal(t.count, 3);
}

static void test_dist_local__closing_cancels_what_waits(void **state) {
  (void)state;
  kf_evaluator *evaluator = open_peer();
  submit(evaluator, 1, "hang", NULL);
  submit(evaluator, 2, "hang", NULL);
  close_it(evaluator);
  assert_int_equal(t.count, 2);
  assert_int_equal(t.results[0].status, KF_ECANCELED);
  assert_int_equal(t.lost, 0);
}

static void test_dist_local__inspection_gives_kernels_or_the_log(void **state) {
  (void)state;
  kf_evaluator *evaluator = open_peer();
  json_t *kernels = NULL;
  kf_err err = {0};
  submit(evaluator, 1, "hang", NULL); /* other requests go on beside it */
  assert_int_equal(kf_evaluator_inspect(evaluator, "opencl:0", "fine", 4, &kernels, &err), KF_OK);
  assert_string_equal(kf_json_str_or(json_array_get(kernels, 0), "entry", ""), "f");
  json_decref(kernels);
  assert_int_equal(kf_evaluator_inspect(evaluator, "opencl:0", "bad", 3, &kernels, &err), KF_EREFUSED);
  assert_non_null(strstr(err.msg, "1:1: error: no"));
  close_it(evaluator);
}

static void test_dist_local__a_kf_eval_that_does_not_start_is_an_error(void **state) {
  (void)state;
  kf_evaluator *evaluator = NULL;
  kf_err err = {0};
  setenv("KF_EVAL", "/no/such/kf-eval", 1);
  assert_int_equal(kf_evaluator_open_local(&t.loop, &t.settings, &callbacks, &evaluator, &err), KF_ENODEV);
  assert_true(err.hint[0] != '\0');
  choose_peer("gone");
  assert_int_equal(kf_evaluator_open_local(&t.loop, &t.settings, &callbacks, &evaluator, &err), KF_EIO);
  assert_non_null(strstr(err.msg, "code 4"));
  choose_peer("newer");
  assert_int_equal(kf_evaluator_open_local(&t.loop, &t.settings, &callbacks, &evaluator, &err), KF_EIO);
  assert_non_null(strstr(err.msg, "protocol 2"));
  uv_run(&t.loop, UV_RUN_DEFAULT);
}

static void test_dist_local__the_evaluator_dies_with_its_client(void **state) {
  (void)state;
  int report[2];
  assert_int_equal(pipe(report), 0);
  choose_peer("normal");
  pid_t client = fork();
  if (client == 0) {
    kf_evaluator *evaluator = NULL;
    uv_loop_t loop;
    if (uv_loop_init(&loop) != 0) _exit(1);
    if (kf_evaluator_open_local(&loop, &t.settings, &callbacks, &evaluator, NULL) != KF_OK) _exit(1);
    int64_t pid = kf_evaluator_pid(evaluator);
    if (write(report[1], &pid, sizeof pid) != (ssize_t)sizeof pid) _exit(1);
    for (;;)
      pause();
  }
  int64_t pid = 0;
  assert_int_equal(read(report[0], &pid, sizeof pid), sizeof pid);
  assert_true(pid > 0);
  assert_int_equal(kill((pid_t)pid, 0), 0);
  assert_int_equal(kill(client, SIGKILL), 0);
  int status = 0;
  assert_int_equal(waitpid(client, &status, 0), client);
  int64_t until = kf_now_ms() + 10000;
  while (kill((pid_t)pid, 0) == 0 && kf_now_ms() < until) {
    waitpid((pid_t)pid, &status, WNOHANG); /* it may have become ours */
    usleep(1000);
  }
  assert_int_equal(kill((pid_t)pid, 0), -1);
  close(report[0]);
  close(report[1]);
}

int main(int argc, char **argv) {
  kf_alloc_init();
  if (argc == 3 && strcmp(argv[1], "--peer") == 0) return peer_main(argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dist_local__results_come_once_each),
      cmocka_unit_test(test_dist_local__nothing_is_sent_twice),
      cmocka_unit_test(test_dist_local__what_is_needed_is_sent_again),
      cmocka_unit_test(test_dist_local__errors_carry_their_status),
      cmocka_unit_test(test_dist_local__a_lost_evaluator_fails_all_that_waits),
      cmocka_unit_test(test_dist_local__a_peer_that_breaks_the_protocol_is_lost),
      cmocka_unit_test(test_dist_local__closing_cancels_what_waits),
      cmocka_unit_test(test_dist_local__inspection_gives_kernels_or_the_log),
      cmocka_unit_test(test_dist_local__a_kf_eval_that_does_not_start_is_an_error),
      cmocka_unit_test(test_dist_local__the_evaluator_dies_with_its_client),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
