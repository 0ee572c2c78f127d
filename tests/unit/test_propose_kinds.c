/* links: kf_propose kf_store kf_sandbox kf_task kf_wire kf_base
 * Each kind of proposer with the real thing behind it: plans of a real task, files, programs, a recorded run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "propose/propose.h"
#include "store/store.h"
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { ANSWERS_MAX = 64 };

/* Answers as they came, copied. */
typedef struct {
  int64_t id;
  kf_status status;
  char source[8192], binding[256], note[512];
  bool has_source;
  size_t raw_len;
} taken;

static struct {
  char folder[KF_PATH_MAX];
  uv_loop_t loop;
  kf_task *task;
  kf_settings settings;
  taken answers[ANSWERS_MAX];
  int count;
  bool inside_ask;
} t;

static int set_up(void **state) {
  (void)state;
  kf_err err = {0};
  signal(SIGPIPE, SIG_IGN);
  kf_settings_init(&t.settings);
  if (kf_fs_mkdtemp(t.folder, "kf-test-propose", &err) != KF_OK) return -1;
  if (kf_task_load(KF_TEST_SOURCE_DIR "/tasks/matmul", &t.task, &err) != KF_OK) {
    print_message("%s\n", err.msg);
    return -1;
  }
  return uv_loop_init(&t.loop);
}

static int tear_down(void **state) {
  (void)state;
  kf_task_free(t.task);
  kf_fs_remove_tree(t.folder, NULL);
  return uv_loop_close(&t.loop);
}

static void on_answer(void *context, const kf_answer *answer) {
  (void)context;
  assert_false(t.inside_ask);
  assert_true(t.count < ANSWERS_MAX);
  taken *kept = &t.answers[t.count++];
  *kept = (taken){.id = answer->id,
                  .status = answer->status,
                  .has_source = answer->source != NULL,
                  .raw_len = answer->raw_len};
  if (answer->source) snprintf(kept->source, sizeof kept->source, "%s", answer->source);
  snprintf(kept->binding, sizeof kept->binding, "%s", answer->binding);
  snprintf(kept->note, sizeof kept->note, "%s", answer->note);
}

static kf_proposer *open_spec(const char *spec) {
  kf_proposer *proposer = NULL;
  kf_err err = {0};
  kf_status status = kf_proposer_open(spec, &t.settings, &t.loop, on_answer, NULL, &proposer, &err);
  if (status != KF_OK) print_message("%s: %s\n", spec, err.msg);
  assert_int_equal(status, KF_OK);
  t.count = 0;
  return proposer;
}

static void ask(kf_proposer *proposer, const kf_ask *what) {
  kf_err err = {0};
  t.inside_ask = true;
  kf_status status = kf_proposer_ask(proposer, what, &err);
  t.inside_ask = false;
  if (status != KF_OK) print_message("ask: %s\n", err.msg);
  assert_int_equal(status, KF_OK);
}

static void wait_for(int count) {
  int64_t until = kf_now_ms() + 30000;
  while (t.count < count && kf_now_ms() < until) {
    uv_run(&t.loop, UV_RUN_NOWAIT);
    usleep(1000);
  }
  assert_int_equal(t.count, count);
}

static void close_it(kf_proposer *proposer) {
  kf_proposer_close(proposer);
  uv_run(&t.loop, UV_RUN_DEFAULT);
}

static const kf_task_file *seed(int index) {
  assert_true(index < t.task->nseeds[KF_LANG_OPENCL]);
  return t.task->seeds[KF_LANG_OPENCL][index];
}

static kf_shown shown_of(const kf_task_file *file, const char *binding) {
  return (kf_shown){
      .id = 7, .source = file->bytes, .source_len = file->len, .binding = binding, .score_nano = 1500000000};
}

static kf_ask ask_of(int64_t id, kf_emitter emitter, const kf_shown *parent) {
  return (kf_ask){.id = id,
                  .seed = 42,
                  .run_id = "run-1",
                  .emitter = emitter,
                  .task = t.task,
                  .language = KF_LANG_OPENCL,
                  .parent = parent};
}

/* ---- builtin ---- */

static void test_propose_kinds__builtin_draws_the_same_for_the_same_ask(void **state) {
  (void)state;
  kf_proposer *proposer = open_spec("builtin");
  assert_false(kf_proposer_writes_code(proposer));
  assert_string_equal(kf_proposer_discloses(proposer), "nothing");
  kf_shown parent = shown_of(seed(1), "");
  for (int round = 0; round < 2; round++)
    for (int64_t id = 1; id <= 10; id++) {
      kf_ask what = ask_of(id, KF_EMIT_SAMPLE, &parent);
      ask(proposer, &what);
    }
  wait_for(20);
  int different = 0;
  kf_plan *plan = NULL;
  assert_int_equal(kf_plan_parse(t.task, parent.source, parent.source_len, "seed", &plan, NULL), KF_OK);
  for (int i = 0; i < 10; i++) {
    kf_binding binding;
    assert_int_equal(t.answers[i].status, KF_OK);
    assert_string_equal(t.answers[i].source, parent.source);
    assert_string_equal(t.answers[i].binding, t.answers[i + 10].binding);
    assert_int_equal(kf_plan_binding_parse(plan, t.answers[i].binding, &binding, NULL), KF_OK);
    different += strcmp(t.answers[i].binding, t.answers[0].binding) != 0;
  }
  assert_true(different >= 5);
  kf_plan_free(plan);
  close_it(proposer);
}

static void test_propose_kinds__builtin_tunes_near_its_parent(void **state) {
  (void)state;
  kf_proposer *proposer = open_spec("builtin");
  kf_shown parent = shown_of(seed(1), "");
  kf_plan *plan = NULL;
  kf_binding from, to;
  assert_int_equal(kf_plan_parse(t.task, parent.source, parent.source_len, "seed", &plan, NULL), KF_OK);
  kf_plan_default(plan, &from);
  for (int64_t id = 1; id <= 10; id++) {
    kf_ask what = ask_of(id, KF_EMIT_TUNE, &parent);
    ask(proposer, &what);
  }
  wait_for(10);
  for (int i = 0; i < 10; i++) {
    int moved = 0;
    assert_int_equal(kf_plan_binding_parse(plan, t.answers[i].binding, &to, NULL), KF_OK);
    for (int p = 0; p < kf_plan_nparams(plan); p++)
      moved += to.choice[p] != from.choice[p];
    assert_in_range(moved, 1, 2);
  }
  kf_plan_free(plan);
  close_it(proposer);
}

static void test_propose_kinds__builtin_has_nothing_without_params(void **state) {
  (void)state;
  kf_proposer *proposer = open_spec("builtin");
  kf_shown plain = shown_of(t.task->kernel[KF_LANG_OPENCL], "");
  static const char broken_text[] = "//kf: nonsense\n";
  kf_shown broken = {.id = 8, .source = broken_text, .source_len = strlen(broken_text), .binding = ""};
  kf_ask asks[] = {ask_of(1, KF_EMIT_SAMPLE, &plain), ask_of(2, KF_EMIT_TUNE, &broken),
                   ask_of(3, KF_EMIT_REFINE, NULL)};
  for (size_t i = 0; i < KF_COUNTOF(asks); i++)
    ask(proposer, &asks[i]);
  wait_for(3);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(t.answers[i].status, KF_ENOTFOUND);
    assert_true(t.answers[i].note[0] != '\0');
  }
  /* What is queued at the end is canceled, once. */
  kf_shown parent = shown_of(seed(0), "");
  kf_ask last = ask_of(9, KF_EMIT_SAMPLE, &parent);
  ask(proposer, &last);
  close_it(proposer);
  assert_int_equal(t.count, 4);
  assert_int_equal(t.answers[3].status, KF_ECANCELED);
}

/* ---- mailbox ---- */

static void in_folder(const char *dir, const char *name, char ret_path[KF_PATH_MAX]) {
  assert_int_equal(kf_fs_join(ret_path, dir, name, NULL), KF_OK);
}

static void put_file(const char *dir, const char *name, const char *text) {
  char path[KF_PATH_MAX];
  in_folder(dir, name, path);
  assert_int_equal(kf_fs_write(path, text, strlen(text), NULL), KF_OK);
}

static bool has_file(const char *dir, const char *name) {
  char path[KF_PATH_MAX];
  in_folder(dir, name, path);
  return kf_fs_exists(path);
}

static void test_propose_kinds__mailbox_takes_answers_and_failures(void **state) {
  (void)state;
  char dir[KF_PATH_MAX], spec[KF_PATH_MAX + 16];
  in_folder(t.folder, "mail", dir);
  snprintf(spec, sizeof spec, "mailbox:%s", dir);
  kf_proposer *proposer = open_spec(spec);
  kf_shown parent = shown_of(seed(0), "");
  for (int64_t id = 5; id <= 7; id++) {
    kf_ask what = ask_of(id, KF_EMIT_REFINE, &parent);
    ask(proposer, &what);
  }
  kf_buf prompt KF_CLEANUP(kf_buf_done);
  kf_buf_init(&prompt, KF_PROMPT_MAX);
  char path[KF_PATH_MAX];
  in_folder(dir, "6.prompt.md", path);
  assert_int_equal(kf_fs_read(path, &prompt, NULL), KF_OK);
  assert_non_null(strstr(kf_buf_text(&prompt), "proposal 6"));
  put_file(dir, "6.answer.md", "Done.\n\n```opencl\n//kf: launch matmul\n```\n");
  wait_for(1);
  assert_int_equal(t.answers[0].id, 6);
  assert_string_equal(t.answers[0].source, "//kf: launch matmul\n");
  assert_true(t.answers[0].raw_len > 20);
  put_file(dir, "5.failed", "gone fishing\nand more\n");
  wait_for(2);
  assert_int_equal(t.answers[1].id, 5);
  assert_int_equal(t.answers[1].status, KF_EIO);
  assert_string_equal(t.answers[1].note, "gone fishing");
  assert_false(has_file(dir, "6.answer.md"));
  assert_true(has_file(dir, "done/6.answer.md"));
  assert_true(has_file(dir, "done/6.prompt.md"));
  assert_true(has_file(dir, "7.prompt.md"));
  close_it(proposer);
  assert_int_equal(t.count, 3);
  assert_int_equal(t.answers[2].id, 7);
  assert_int_equal(t.answers[2].status, KF_ECANCELED);
}

static void test_propose_kinds__mailbox_takes_regular_files_only(void **state) {
  (void)state;
  char dir[KF_PATH_MAX], spec[KF_PATH_MAX + 16], path[KF_PATH_MAX], secret[KF_PATH_MAX];
  in_folder(t.folder, "links", dir);
  snprintf(spec, sizeof spec, "mailbox:%s", dir);
  kf_proposer *proposer = open_spec(spec);
  put_file(t.folder, "secret", "```opencl\nsecret\n```\n");
  in_folder(t.folder, "secret", secret);
  in_folder(dir, ".kf-run", path);
  assert_int_equal(symlink(secret, path), 0);
  kf_shown parent = shown_of(seed(0), "");
  kf_ask what = ask_of(5, KF_EMIT_REFINE, &parent);
  kf_err err = {0};
  assert_int_equal(kf_proposer_ask(proposer, &what, &err), KF_EIO);
  assert_int_equal(unlink(path), 0);
  ask(proposer, &what);
  what = ask_of(6, KF_EMIT_REFINE, &parent);
  ask(proposer, &what);
  in_folder(dir, "5.answer.md", path);
  assert_int_equal(symlink(secret, path), 0);
  wait_for(1);
  in_folder(dir, "6.answer.md", path);
  assert_int_equal(mkfifo(path, 0600), 0);
  wait_for(2);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(t.answers[i].status, KF_EIO);
    assert_non_null(strstr(t.answers[i].note, "no regular file"));
  }
  close_it(proposer);
}

static void test_propose_kinds__mailbox_keeps_runs_apart(void **state) {
  (void)state;
  char dir[KF_PATH_MAX], spec[KF_PATH_MAX + 16];
  in_folder(t.folder, "mail", dir); /* of the test before: 7 was asked by run-1 */
  snprintf(spec, sizeof spec, "mailbox:%s", dir);
  put_file(dir, "7.answer.md", "```opencl\nof run one\n```\n");
  kf_proposer *proposer = open_spec(spec);
  kf_shown parent = shown_of(seed(0), "");
  kf_ask again = ask_of(7, KF_EMIT_REFINE, &parent);
  ask(proposer, &again); /* the resumed run finds what came while it was away */
  wait_for(1);
  assert_string_equal(t.answers[0].source, "of run one\n");
  close_it(proposer);
  put_file(dir, "8.answer.md", "```opencl\nstale\n```\n");
  proposer = open_spec(spec);
  kf_ask other = ask_of(8, KF_EMIT_REFINE, &parent);
  other.run_id = "run-2";
  ask(proposer, &other);
  assert_true(has_file(dir, "old-run-1/8.answer.md"));
  /* A second run beside it is refused. */
  kf_proposer *second = NULL;
  kf_err err = {0};
  assert_int_equal(kf_proposer_open(spec, &t.settings, &t.loop, on_answer, NULL, &second, &err), KF_OK);
  other.run_id = "run-3";
  assert_int_equal(kf_proposer_ask(second, &other, &err), KF_EINVAL);
  assert_true(err.hint[0] != '\0');
  kf_proposer_close(second);
  put_file(dir, "8.answer.md", "no code in here");
  wait_for(1);
  assert_int_equal(t.answers[0].status, KF_OK);
  assert_false(t.answers[0].has_source);
  assert_non_null(strstr(t.answers[0].note, "no code block"));
  close_it(proposer);
}

/* ---- command ---- */

static void test_propose_kinds__command_gets_the_prompt_and_gives_the_answer(void **state) {
  (void)state;
  kf_proposer *proposer = open_spec("command:sh -c \"echo; head -n 1; echo; echo '```opencl'; echo '//kf: "
                                    "launch f'; echo '```'; cat >/dev/null\"");
  kf_shown parent = shown_of(seed(2), "");
  for (int64_t id = 1; id <= 3; id++) {
    kf_ask what = ask_of(id, KF_EMIT_REFINE, &parent);
    ask(proposer, &what);
  }
  wait_for(3);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(t.answers[i].status, KF_OK);
    assert_string_equal(t.answers[i].source, "//kf: launch f\n");
    assert_true(t.answers[i].raw_len > 40); /* the first line of the prompt is in it */
  }
  close_it(proposer);
}

static void test_propose_kinds__command_sees_no_environment_but_what_is_listed(void **state) {
  (void)state;
  setenv("KF_TEST_KEY", "secret", 1);
  setenv("KF_TEST_LISTED", "shown", 1);
  kf_proposer *proposer = open_spec("command:+KF_TEST_LISTED sh -c \"echo '```opencl'; env; echo '```'\"");
  kf_ask what = ask_of(1, KF_EMIT_REFINE, NULL);
  ask(proposer, &what);
  wait_for(1);
  assert_null(strstr(t.answers[0].source, "secret"));
  assert_non_null(strstr(t.answers[0].source, "KF_TEST_LISTED=shown"));
  assert_non_null(strstr(t.answers[0].source, "PATH="));
  close_it(proposer);
}

static void test_propose_kinds__command_that_fails_says_why(void **state) {
  (void)state;
  kf_proposer *proposer = open_spec("command:sh -c 'echo first >&2; echo no quota >&2; exit 3'");
  kf_ask what = ask_of(1, KF_EMIT_REFINE, NULL);
  ask(proposer, &what);
  wait_for(1);
  assert_int_equal(t.answers[0].status, KF_EIO);
  assert_non_null(strstr(t.answers[0].note, "code 3"));
  assert_non_null(strstr(t.answers[0].note, "no quota"));
  close_it(proposer);
  proposer = open_spec("command:sh -c 'yes | head -c 2000000'");
  ask(proposer, &what);
  wait_for(1);
  assert_int_equal(t.answers[0].status, KF_EIO);
  assert_non_null(strstr(t.answers[0].note, "1 MiB"));
  close_it(proposer);
}

static void test_propose_kinds__command_is_ended_when_its_time_is_over(void **state) {
  (void)state;
  t.settings.propose_timeout_ms = 300;
  kf_proposer *proposer = open_spec("command:sh -c 'sleep 100 & sleep 100'");
  t.settings.propose_timeout_ms = 60000;
  kf_ask what = ask_of(1, KF_EMIT_REFINE, NULL);
  int64_t begin = kf_now_ms();
  ask(proposer, &what);
  wait_for(1);
  assert_int_equal(t.answers[0].status, KF_ETIMEOUT);
  assert_true(kf_now_ms() - begin < 20000);
  ask(proposer, &what); /* closed while one works */
  close_it(proposer);
  assert_int_equal(t.count, 2);
  assert_int_equal(t.answers[1].status, KF_ECANCELED);
}

static void test_propose_kinds__a_held_pipe_does_not_keep_an_answer(void **state) {
  (void)state;
  kf_proposer *proposer = open_spec("command:sh -c \"echo '```opencl'; echo x; sleep 100 &\"");
  kf_ask what = ask_of(1, KF_EMIT_REFINE, NULL);
  int64_t begin = kf_now_ms();
  ask(proposer, &what);
  wait_for(1);
  assert_int_equal(t.answers[0].status, KF_OK);
  assert_string_equal(t.answers[0].source, "x\n");
  assert_true(kf_now_ms() - begin < 20000);
  close_it(proposer);
}

/* ---- replay ---- */

static void append_answer_bytes(kf_store *store, int64_t id, const char *source, size_t len,
                                const char *more) {
  kf_hash hash;
  char hex[KF_HASH_HEX], body[400];
  kf_err err = {0};
  assert_int_equal(kf_store_put(store, source, len, &hash, &err), KF_OK);
  kf_hash_hex(&hash, hex);
  snprintf(body, sizeof body, "{\"binding\":\"A=%lld\",\"source\":\"%s\",%s}", (long long)id, hex, more);
  kf_event event = {.kind = KF_EVENT_ANSWER, .proposal = id, .body = body, .body_len = strlen(body)};
  assert_int_equal(kf_store_append(store, &event, &err), KF_OK);
}

static void append_answer(kf_store *store, int64_t id, const char *source, const char *more) {
  append_answer_bytes(store, id, source, strlen(source), more);
}

static void test_propose_kinds__replay_of_a_run_goes_by_proposal(void **state) {
  (void)state;
  char path[KF_PATH_MAX], spec[KF_PATH_MAX + 16];
  in_folder(t.folder, "recorded.db", path);
  snprintf(spec, sizeof spec, "replay:%s", path);
  kf_store *store = NULL;
  kf_err err = {0};
  assert_int_equal(kf_store_open(path, KF_STORE_CREATE, &store, &err), KF_OK);
  append_answer(store, 3, "three", "\"status\":\"ok\"");
  append_answer(store, 2, "two", "\"status\":\"ok\"");
  append_answer(store, 4, "four", "\"status\":\"timeout\",\"note\":\"slow\"");
  append_answer_bytes(store, 6, "si\0x", 4, "\"status\":\"ok\"");
  kf_store_close(store);
  kf_proposer *proposer = open_spec(spec);
  assert_true(kf_proposer_writes_code(proposer));
  for (int64_t id = 2; id <= 6; id++) {
    kf_ask what = ask_of(id, KF_EMIT_REFINE, NULL);
    ask(proposer, &what);
  }
  wait_for(5);
  assert_string_equal(t.answers[0].source, "two");
  assert_string_equal(t.answers[1].source, "three");
  assert_string_equal(t.answers[1].binding, "A=3");
  assert_int_equal(t.answers[2].status, KF_ETIMEOUT);
  assert_string_equal(t.answers[2].note, "slow");
  assert_int_equal(t.answers[3].status, KF_ENOTFOUND);
  assert_int_equal(t.answers[4].status, KF_EIO); /* a NUL is no text */
  assert_false(t.answers[4].has_source);
  close_it(proposer);
}

static void test_propose_kinds__replay_of_a_folder_cycles_its_files(void **state) {
  (void)state;
  char dir[KF_PATH_MAX], spec[KF_PATH_MAX + 16];
  in_folder(t.folder, "answers", dir);
  assert_int_equal(kf_fs_mkdirs(dir, NULL), KF_OK);
  put_file(dir, "b.md", "```opencl\nfrom markdown\n```\n");
  put_file(dir, "a.cl", "plain source");
  snprintf(spec, sizeof spec, "replay:%s", dir);
  kf_proposer *proposer = open_spec(spec);
  for (int64_t id = 1; id <= 3; id++) {
    kf_ask what = ask_of(id, KF_EMIT_REFINE, NULL);
    ask(proposer, &what);
  }
  wait_for(3);
  assert_string_equal(t.answers[0].source, "plain source");
  assert_string_equal(t.answers[1].source, "from markdown\n");
  assert_string_equal(t.answers[2].source, "plain source");
  close_it(proposer);
}

static void test_propose_kinds__bad_specs_are_refused_with_a_hint(void **state) {
  (void)state;
  static const struct {
    const char *spec;
    kf_status status;
    const char *text;
  } cases[] = {
      {"", KF_EINVAL, "mailbox:DIR"},
      {"comand:ls", KF_EINVAL, "did you mean command"},
      {"builtin:x", KF_EINVAL, "takes nothing"},
      {"mailbox", KF_EINVAL, "mailbox:DIR"},
      {"command:", KF_EINVAL, "command:PROGRAM"},
      {"command:no-such-program-here", KF_ENOTFOUND, "PATH"},
      {"command:sh -c 'open", KF_EINVAL, "not closed"},
      {"command:+1X sh", KF_EINVAL, "environment"},
      {"replay:", KF_EINVAL, "replay:RUN.db"},
      {"replay:/no/such/run.db", KF_ENOTFOUND, "no such"},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    kf_proposer *proposer = NULL;
    kf_err err = {0};
    assert_int_equal(kf_proposer_open(cases[i].spec, &t.settings, &t.loop, on_answer, NULL, &proposer, &err),
                     cases[i].status);
    assert_true(strstr(err.msg, cases[i].text) || strstr(err.hint, cases[i].text));
  }
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_propose_kinds__builtin_draws_the_same_for_the_same_ask),
      cmocka_unit_test(test_propose_kinds__builtin_tunes_near_its_parent),
      cmocka_unit_test(test_propose_kinds__builtin_has_nothing_without_params),
      cmocka_unit_test(test_propose_kinds__mailbox_takes_answers_and_failures),
      cmocka_unit_test(test_propose_kinds__mailbox_takes_regular_files_only),
      cmocka_unit_test(test_propose_kinds__mailbox_keeps_runs_apart),
      cmocka_unit_test(test_propose_kinds__command_gets_the_prompt_and_gives_the_answer),
      cmocka_unit_test(test_propose_kinds__command_sees_no_environment_but_what_is_listed),
      cmocka_unit_test(test_propose_kinds__command_that_fails_says_why),
      cmocka_unit_test(test_propose_kinds__command_is_ended_when_its_time_is_over),
      cmocka_unit_test(test_propose_kinds__a_held_pipe_does_not_keep_an_answer),
      cmocka_unit_test(test_propose_kinds__replay_of_a_run_goes_by_proposal),
      cmocka_unit_test(test_propose_kinds__replay_of_a_folder_cycles_its_files),
      cmocka_unit_test(test_propose_kinds__bad_specs_are_refused_with_a_hint),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
