/* links: kf_store kf_base
 * store.h through its public face: events, blobs, modes, the lock, kill -9, the folder of runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/philox.h"
#include "store/store.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

typedef struct {
  char dir[KF_PATH_MAX], path[KF_PATH_MAX];
  kf_err err;
} fixture;

static int setup(void **state) {
  fixture *f = kf_calloc(1, sizeof *f);
  if (f == NULL || kf_fs_mkdtemp(f->dir, "kf-test-store", NULL) != KF_OK) return -1;
  *state = f;
  return kf_fs_join(f->path, f->dir, "run.db", NULL) == KF_OK ? 0 : -1;
}

static int teardown(void **state) {
  fixture *f = *state;
  kf_status status = kf_fs_remove_tree(f->dir, NULL);
  kf_free(f);
  return status == KF_OK ? 0 : -1;
}

static kf_store *open_store(fixture *f, kf_store_mode mode) {
  kf_store *store = NULL;
  kf_status status = kf_store_open(f->path, mode, &store, &f->err);
  if (status != KF_OK) fail_msg("%s", f->err.msg);
  return store;
}

static int64_t append(kf_store *store, kf_event_kind kind, int64_t proposal, const char *body) {
  kf_event event = {
      .kind = kind, .proposal = proposal, .at_ms = 10 * proposal, .body = body, .body_len = strlen(body)};
  assert_int_equal(kf_store_append(store, &event, NULL), KF_OK);
  return event.seq;
}

typedef struct {
  char text[512];
  int64_t count, last;
  int stop_after;
} seen;

static kf_status note(void *context, const kf_event *event, kf_err *err) {
  seen *s = context;
  size_t len = strlen(s->text);
  snprintf(s->text + len, sizeof s->text - len, "%lld:%s:%lld:%lld:%.*s ", (long long)event->seq,
           kf_event_name(event->kind), (long long)event->proposal, (long long)event->at_ms,
           (int)event->body_len, event->body);
  s->count++;
  s->last = event->seq;
  if (s->stop_after > 0 && s->count == s->stop_after) return kf_fail(err, KF_ECANCELED, "enough");
  return KF_OK;
}

static void test_store__events_come_back_in_order(void **state) {
  fixture *f = *state;
  kf_store *store = open_store(f, KF_STORE_CREATE);
  assert_int_equal(kf_store_begin(store, NULL), KF_OK);
  assert_int_equal(append(store, KF_EVENT_START, 0, "{}"), 1);
  assert_int_equal(append(store, KF_EVENT_PROPOSE, 1, "{\"id\":1}"), 2);
  assert_int_equal(kf_store_commit(store, NULL), KF_OK);
  assert_int_equal(append(store, KF_EVENT_ANSWER, 1, "{}"), 3); /* its own transaction */
  kf_store_close(store);

  store = open_store(f, KF_STORE_READ);
  seen all = {0}, some = {0}, one = {0}, cut = {.stop_after = 2};
  assert_int_equal(kf_store_scan(store, 0, 0, note, &all, NULL), KF_OK);
  assert_string_equal(all.text, "1:start:0:0:{} 2:propose:1:10:{\"id\":1} 3:answer:1:10:{} ");
  assert_int_equal(
      kf_store_scan(store, 2, 1ull << KF_EVENT_PROPOSE | 1ull << KF_EVENT_START, note, &some, NULL), KF_OK);
  assert_string_equal(some.text, "2:propose:1:10:{\"id\":1} ");
  assert_int_equal(kf_store_scan_proposal(store, 1, note, &one, NULL), KF_OK);
  assert_int_equal(one.count, 2);
  assert_int_equal(kf_store_scan(store, 0, 0, note, &cut, &f->err), KF_ECANCELED);
  assert_string_equal(f->err.msg, "enough");
  assert_int_equal(cut.count, 2);
  kf_event event = {.kind = KF_EVENT_STOP, .body = "{}", .body_len = 2};
  assert_int_equal(kf_store_append(store, &event, NULL), KF_EBUG); /* a reader */
  kf_store_close(store);
}

static void test_store__rollback_forgets(void **state) {
  fixture *f = *state;
  kf_store *store = open_store(f, KF_STORE_CREATE);
  append(store, KF_EVENT_START, 0, "{}");
  assert_int_equal(kf_store_begin(store, NULL), KF_OK);
  append(store, KF_EVENT_STOP, 0, "{}");
  assert_int_equal(kf_store_put(store, "abc", 3, NULL, NULL), KF_OK);
  kf_store_rollback(store);
  kf_store_rollback(store); /* harmless without a transaction */
  seen all = {0};
  assert_int_equal(kf_store_scan(store, 0, 0, note, &all, NULL), KF_OK);
  assert_int_equal(all.count, 1);
  kf_hash hash;
  kf_hash_bytes("abc", 3, &hash);
  kf_buf buf;
  kf_buf_init(&buf, 100);
  assert_int_equal(kf_store_get(store, &hash, &buf, NULL), KF_ENOTFOUND);
  kf_buf_done(&buf);
  kf_store_close(store);
}

static void test_store__blobs_and_meta(void **state) {
  fixture *f = *state;
  kf_store *store = open_store(f, KF_STORE_CREATE);
  static char big[200000];
  for (size_t i = 0; i < sizeof big; i++)
    big[i] = (char)(i % 251);
  kf_hash hash, again, empty;
  assert_int_equal(kf_store_put(store, big, sizeof big, &hash, NULL), KF_OK);
  assert_int_equal(kf_store_put(store, big, sizeof big, &again, NULL), KF_OK);
  assert_true(kf_hash_equal(&hash, &again));
  assert_int_equal(kf_store_put(store, "", 0, &empty, NULL), KF_OK);
  kf_buf buf;
  kf_buf_init(&buf, sizeof big + 10);
  assert_int_equal(kf_store_get(store, &hash, &buf, NULL), KF_OK);
  assert_int_equal(buf.len, sizeof big);
  assert_memory_equal(buf.data, big, sizeof big);
  assert_int_equal(kf_store_get(store, &hash, &buf, NULL), KF_EINVAL); /* would be over the buffer's limit */
  assert_int_equal(buf.len, sizeof big);
  assert_int_equal(kf_store_get(store, &empty, &buf, NULL), KF_OK);
  assert_int_equal(buf.len, sizeof big);
  kf_buf_clear(&buf);
  assert_int_equal(kf_store_meta_get(store, "run_id", &buf, &f->err), KF_ENOTFOUND);
  assert_int_equal(kf_store_meta_set(store, "run_id", "a", NULL), KF_OK);
  assert_int_equal(kf_store_meta_set(store, "run_id", "matmul-1", NULL), KF_OK);
  assert_int_equal(kf_store_meta_get(store, "run_id", &buf, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&buf), "matmul-1");
  kf_buf_done(&buf);
  kf_store_close(store);
}

static void test_store__gc_drops_what_no_event_names(void **state) {
  fixture *f = *state;
  kf_store *store = open_store(f, KF_STORE_CREATE);
  kf_hash kept, lost, meta;
  char body[128], hex[KF_HASH_HEX];
  int64_t blobs = -1, bytes = -1;
  assert_int_equal(kf_store_put(store, "kept", 4, &kept, NULL), KF_OK);
  assert_int_equal(kf_store_put(store, "lost", 4, &lost, NULL), KF_OK);
  assert_int_equal(kf_store_put(store, "meta", 4, &meta, NULL), KF_OK);
  kf_hash_hex(&kept, hex);
  snprintf(body, sizeof body, "{\"source\":\"%s\"}", hex);
  append(store, KF_EVENT_ANSWER, 1, body);
  kf_hash_hex(&lost, hex);
  snprintf(body, sizeof body, "{\"longer\":\"%s0\"}", hex); /* 65 digits are no hash */
  append(store, KF_EVENT_ANSWER, 1, body);
  kf_hash_hex(&meta, hex);
  assert_int_equal(kf_store_meta_set(store, "task", hex, NULL), KF_OK);
  assert_int_equal(kf_store_gc(store, &blobs, &bytes, NULL), KF_OK);
  assert_int_equal(blobs, 1);
  assert_true(bytes > 0);
  kf_buf buf;
  kf_buf_init(&buf, 100);
  assert_int_equal(kf_store_get(store, &kept, &buf, NULL), KF_OK);
  assert_int_equal(kf_store_get(store, &meta, &buf, NULL), KF_OK);
  assert_int_equal(kf_store_get(store, &lost, &buf, NULL), KF_ENOTFOUND);
  assert_int_equal(kf_store_gc(store, &blobs, &bytes, NULL), KF_OK);
  assert_int_equal(blobs, 0);
  kf_buf_done(&buf);
  kf_store_close(store);
}

static void test_store__modes(void **state) {
  fixture *f = *state;
  kf_store *store = NULL;
  assert_int_equal(kf_store_open(f->path, KF_STORE_READ, &store, &f->err), KF_ENOTFOUND);
  assert_int_equal(kf_store_open(f->path, KF_STORE_WRITE, &store, &f->err), KF_ENOTFOUND);
  assert_null(store);
  kf_store_close(open_store(f, KF_STORE_CREATE));
  assert_int_equal(kf_store_open(f->path, KF_STORE_CREATE, &store, &f->err), KF_EINVAL);
  assert_non_null(strstr(f->err.msg, "exists already"));
  assert_true(kf_fs_exists(f->path)); /* and was not touched */
  kf_store_close(open_store(f, KF_STORE_WRITE));
}

static void test_store__one_writer_many_readers(void **state) {
  fixture *f = *state;
  kf_store *writer = open_store(f, KF_STORE_CREATE), *second = NULL;
  char pid[32];
  snprintf(pid, sizeof pid, "process %ld", (long)getpid());
  assert_int_equal(kf_store_open(f->path, KF_STORE_WRITE, &second, &f->err), KF_EINVAL);
  assert_non_null(strstr(f->err.msg, pid));
  assert_true(f->err.hint[0] != '\0');
  kf_store *reader = open_store(f, KF_STORE_READ);
  assert_int_equal(kf_store_begin(writer, NULL), KF_OK);
  append(writer, KF_EVENT_START, 0, "{}");
  seen all = {0};
  assert_int_equal(kf_store_scan(reader, 0, 0, note, &all, NULL),
                   KF_OK); /* not blocked, and sees nothing yet */
  assert_int_equal(all.count, 0);
  assert_int_equal(kf_store_commit(writer, NULL), KF_OK);
  assert_int_equal(kf_store_scan(reader, 0, 0, note, &all, NULL), KF_OK);
  assert_int_equal(all.count, 1);
  kf_store_close(writer);
  kf_store_close(open_store(f, KF_STORE_WRITE)); /* the lock is free again */
  kf_store_close(reader);
}

static void expect_refusal(fixture *f, const char *text, size_t len, kf_status want, const char *says) {
  kf_store *store = NULL;
  unlink(f->path);
  assert_int_equal(kf_fs_write(f->path, text, len, NULL), KF_OK);
  assert_int_equal(kf_store_open(f->path, KF_STORE_READ, &store, &f->err), want);
  assert_null(strchr(f->err.msg, '\n'));
  if (strstr(f->err.msg, says) == NULL) fail_msg("%s", f->err.msg);
  assert_int_equal(kf_store_open(f->path, KF_STORE_WRITE, &store, NULL), want);
}

static void test_store__foreign_and_damaged_files_give_one_line(void **state) {
  fixture *f = *state;
  static char noise[20000];
  memset(noise, 'x', sizeof noise);
  expect_refusal(f, "", 0, KF_EINVAL, "not a run database");
  expect_refusal(f, noise, sizeof noise, KF_EINVAL, "not a run database");
  unlink(f->path);
  kf_store *store = open_store(f, KF_STORE_CREATE);
  for (int i = 0; i < 2000; i++)
    append(store, KF_EVENT_ANSWER, i, "{\"note\":\"something to fill the pages\"}");
  kf_store_close(store);
  kf_buf file;
  kf_buf_init(&file, 1 << 24);
  assert_int_equal(kf_fs_read(f->path, &file, NULL), KF_OK);
  memset(file.data + 4096, 0xa5, file.len - 4096); /* everything but the first page */
  expect_refusal(f, file.data, 4096 / 2, KF_EIO, "");
  unlink(f->path);
  assert_int_equal(kf_fs_write(f->path, file.data, file.len, NULL), KF_OK);
  seen all = {0};
  store = open_store(f, KF_STORE_READ);
  assert_int_equal(kf_store_scan(store, 0, 0, note, &all, &f->err), KF_EIO);
  assert_non_null(strstr(f->err.msg, "damaged"));
  kf_store_close(store);
  kf_buf_done(&file);
}

/* ---- kill -9: what was reported as committed is there ---- */

static void append_forever(const char *path, int report) {
  kf_store *store = NULL;
  if (kf_store_open(path, KF_STORE_WRITE, &store, NULL) != KF_OK) _exit(3);
  for (int64_t i = 0;; i++) {
    kf_event input = {.kind = KF_EVENT_ANSWER, .proposal = i, .body = "{\"in\":1}", .body_len = 8};
    kf_event decision = {.kind = KF_EVENT_INSERT, .proposal = i, .body = "{\"out\":1}", .body_len = 9};
    if (kf_store_begin(store, NULL) != KF_OK || kf_store_append(store, &input, NULL) != KF_OK ||
        kf_store_append(store, &decision, NULL) != KF_OK || kf_store_commit(store, NULL) != KF_OK)
      _exit(4);
    if (write(report, &decision.seq, sizeof decision.seq) != (ssize_t)sizeof decision.seq) _exit(5);
  }
}

static int64_t kill_after(fixture *f, int64_t ms) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[0]);
    append_forever(f->path, ends[1]);
  }
  close(ends[1]);
  int64_t seq = 0, reported = 0;
  assert_int_equal(read(ends[0], &reported, sizeof reported), sizeof reported); /* it is under way */
  kf_sleep_ms(ms);
  kill(child, SIGKILL);
  while (read(ends[0], &seq, sizeof seq) == (ssize_t)sizeof seq)
    reported = seq;
  close(ends[0]);
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFSIGNALED(how));
  return reported;
}

static kf_status check_pairs(void *context, const kf_event *event, kf_err *err) {
  int64_t *count = context;
  (void)err;
  assert_int_equal(event->seq, ++*count);
  assert_int_equal(event->kind, event->seq % 2 == 1 ? KF_EVENT_ANSWER : KF_EVENT_INSERT);
  return KF_OK;
}

static void test_store__nothing_committed_is_lost_to_kill_9(void **state) {
  fixture *f = *state;
  kf_store_close(open_store(f, KF_STORE_CREATE));
  kf_rng rng;
  kf_rng_init(&rng, 5, 0, 0);
  for (int round = 0; round < 25; round++) {
    int64_t reported = kill_after(f, (int64_t)kf_rng_below(&rng, 40));
    kf_store *store = open_store(f, round % 2 == 0 ? KF_STORE_READ : KF_STORE_WRITE);
    int64_t count = 0;
    assert_int_equal(kf_store_scan(store, 0, 0, check_pairs, &count, NULL), KF_OK);
    assert_true(count >= reported);
    assert_int_equal(count % 2, 0); /* a transaction is there whole or not at all */
    kf_store_close(store);
  }
}

/* ---- the folder of runs ---- */

static void make_run(fixture *f, const char *id) {
  char name[128];
  snprintf(name, sizeof name, "%s.db", id);
  assert_int_equal(kf_fs_join(f->path, f->dir, name, NULL), KF_OK);
  kf_store_close(open_store(f, KF_STORE_CREATE));
}

static void test_store__finds_runs_by_what_people_type(void **state) {
  fixture *f = *state;
  kf_run_entry *runs = NULL, run;
  size_t count = 99;
  char absent[KF_PATH_MAX];
  assert_int_equal(kf_fs_join(absent, f->dir, "none", NULL), KF_OK);
  assert_int_equal(kf_runs_list(absent, &runs, &count, NULL), KF_OK);
  assert_int_equal(count, 0);
  kf_free(runs);
  assert_int_equal(kf_runs_find(f->dir, "last", &run, &f->err), KF_ENOTFOUND);
  make_run(f, "matmul-20261130-141530-3f2a");
  kf_sleep_ms(20);
  make_run(f, "matmul-20261130-151530-77aa");
  kf_sleep_ms(20);
  make_run(f, "softmax-20261130-161530-0001");
  assert_int_equal(kf_runs_list(f->dir, &runs, &count, NULL), KF_OK);
  assert_int_equal(count, 3);
  assert_string_equal(runs[0].id, "softmax-20261130-161530-0001");
  assert_string_equal(runs[2].id, "matmul-20261130-141530-3f2a");
  kf_free(runs);
  assert_int_equal(kf_runs_find(f->dir, "last", &run, NULL), KF_OK);
  assert_string_equal(run.id, "softmax-20261130-161530-0001");
  assert_int_equal(kf_runs_find(f->dir, "matmul-20261130-15", &run, NULL), KF_OK);
  assert_string_equal(run.id, "matmul-20261130-151530-77aa");
  assert_int_equal(kf_runs_find(f->dir, "matmul", &run, &f->err), KF_EINVAL);
  assert_non_null(strstr(f->err.msg, "could be"));
  assert_int_equal(kf_runs_find(f->dir, "softmax-20261130-161530-0002", &run, &f->err), KF_ENOTFOUND);
  assert_non_null(strstr(f->err.hint, "softmax-20261130-161530-0001"));
  assert_int_equal(kf_runs_find("/nowhere", f->path, &run, NULL), KF_OK);
  assert_string_equal(run.path, f->path);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_store__events_come_back_in_order, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__rollback_forgets, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__blobs_and_meta, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__gc_drops_what_no_event_names, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__modes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__one_writer_many_readers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__foreign_and_damaged_files_give_one_line, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__nothing_committed_is_lost_to_kill_9, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store__finds_runs_by_what_people_type, setup, teardown),
  };
  return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
