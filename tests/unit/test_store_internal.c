/* links: kf_store kf_base sqlite3
 * What needs the database handle: a full disk, newer and older schemas, network disks, failing allocations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "store/store_int.h"

#include "base/banned.h"

typedef struct {
  char dir[KF_PATH_MAX], path[KF_PATH_MAX];
  kf_err err;
} fixture;

/* In memory where that is possible: the sweep below opens some thousands of databases. */
static int setup(void **state) {
  if (kf_fs_is_dir("/dev/shm")) setenv("TMPDIR", "/dev/shm", 0);
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

static kf_status count_event(void *context, const kf_event *event, kf_err *err) {
  (void)event;
  (void)err;
  ++*(int64_t *)context;
  return KF_OK;
}

static void test_store_internal__a_full_disk_is_said_and_nothing_is_lost(void **state) {
  fixture *f = *state;
  static char body[3000];
  memset(body, 'a', sizeof body);
  kf_store *store = open_store(f, KF_STORE_CREATE);
  assert_int_equal(kf__store_exec(store, "PRAGMA max_page_count = 60", NULL), KF_OK);
  int64_t committed = 0;
  kf_status status = KF_OK;
  for (int i = 0; i < 200 && status == KF_OK; i++) {
    kf_event event = {.kind = KF_EVENT_ANSWER, .proposal = 1, .body = body, .body_len = sizeof body};
    assert_int_equal(kf_store_begin(store, NULL), KF_OK);
    status = kf_store_append(store, &event, &f->err);
    if (status == KF_OK) status = kf_store_commit(store, &f->err);
    if (status == KF_OK) committed++;
  }
  assert_int_equal(status, KF_EIO);
  assert_non_null(strstr(f->err.msg, "disk full"));
  assert_true(f->err.hint[0] != '\0');
  kf_store_rollback(store);
  int64_t count = 0;
  assert_int_equal(kf_store_scan(store, 0, 0, count_event, &count, NULL), KF_OK);
  assert_int_equal(count, committed);
  assert_int_equal(kf__store_exec(store, "PRAGMA max_page_count = 1000000", NULL),
                   KF_OK); /* space was made */
  kf_event event = {.kind = KF_EVENT_STOP, .body = "{}", .body_len = 2};
  assert_int_equal(kf_store_append(store, &event, NULL), KF_OK);
  assert_int_equal(event.seq, committed + 1);
  kf_store_close(store);
}

static void test_store_internal__a_newer_database_is_refused(void **state) {
  fixture *f = *state;
  kf_store *store = open_store(f, KF_STORE_CREATE);
  assert_int_equal(kf__store_exec(store, "PRAGMA user_version = 99", NULL), KF_OK);
  kf_store_close(store);
  store = NULL;
  assert_int_equal(kf_store_open(f->path, KF_STORE_READ, &store, &f->err), KF_EINVAL);
  assert_non_null(strstr(f->err.msg, "newer kf"));
  assert_true(f->err.hint[0] != '\0');
  assert_int_equal(kf_store_open(f->path, KF_STORE_WRITE, &store, NULL), KF_EINVAL);
}

static void test_store_internal__another_program_s_database_is_refused(void **state) {
  fixture *f = *state;
  sqlite3 *db = NULL;
  kf_store *store = NULL;
  assert_int_equal(kf__store_memory_init(NULL), KF_OK);
  assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "CREATE TABLE bookmarks(x)", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  assert_int_equal(kf_store_open(f->path, KF_STORE_WRITE, &store, &f->err), KF_EINVAL);
  assert_non_null(strstr(f->err.msg, "not a run database"));
}

static void test_store_internal__an_unknown_event_is_named(void **state) {
  fixture *f = *state;
  int64_t count = 0;
  kf_store *store = open_store(f, KF_STORE_CREATE);
  assert_int_equal(
      kf__store_exec(store, "INSERT INTO event(kind, proposal, at_ms, body) VALUES(55, 0, 0, '{}')", NULL),
      KF_OK);
  assert_int_equal(kf_store_scan(store, 0, 0, count_event, &count, &f->err), KF_EPROTO);
  assert_non_null(strstr(f->err.msg, "event 1: unknown kind 55"));
  kf_store_close(store);
}

static void test_store_internal__a_damaged_blob_is_noticed(void **state) {
  fixture *f = *state;
  kf_hash hash;
  kf_buf buf;
  kf_buf_init(&buf, 1000);
  kf_store *store = open_store(f, KF_STORE_CREATE);
  assert_int_equal(kf_store_put(store, "some source text", 16, &hash, NULL), KF_OK);
  assert_int_equal(kf__store_exec(store, "UPDATE blob SET bytes = zeroblob(20)", NULL), KF_OK);
  assert_int_equal(kf_store_get(store, &hash, &buf, &f->err), KF_EIO);
  assert_non_null(strstr(f->err.msg, "damaged"));
  assert_int_equal(buf.len, 0);
  kf_buf_done(&buf);
  kf_store_close(store);
}

static void test_store_internal__network_file_systems(void **state) {
  (void)state;
  assert_true(kf__store_is_network(0x6969));             /* nfs */
  assert_true(kf__store_is_network(0x65735546));         /* fuse */
  assert_true(kf__store_is_network(0xffffffffff534d42)); /* cifs, where f_type is signed */
  assert_false(kf__store_is_network(0xef53));            /* ext4 */
  assert_false(kf__store_is_network(0x58465342));        /* xfs */
  assert_false(kf__store_is_network(0x01021994));        /* tmpfs */
  assert_false(kf__store_is_network(0x794c7630));        /* overlayfs */
}

/* ---- every allocation fails once ---- */

static kf_status whole_life(const char *path, kf_store_mode mode) {
  kf_store *store = NULL;
  kf_hash hash;
  kf_buf buf;
  int64_t count = 0, blobs = 0, bytes = 0;
  kf_status status = KF_OK;
  kf_buf_init(&buf, 1000);
  KF_GO(kf_store_open(path, mode, &store, NULL));
  KF_GO(kf_store_begin(store, NULL));
  kf_event event = {.kind = KF_EVENT_ANSWER, .proposal = 1, .body = "{}", .body_len = 2};
  KF_GO(kf_store_append(store, &event, NULL));
  KF_GO(kf_store_put(store, "source", 6, &hash, NULL));
  KF_GO(kf_store_commit(store, NULL));
  KF_GO(kf_store_get(store, &hash, &buf, NULL));
  KF_GO(kf_store_meta_set(store, "run_id", "x", NULL));
  KF_GO(kf_store_meta_get(store, "run_id", &buf, NULL));
  KF_GO(kf_store_scan(store, 0, 0, count_event, &count, NULL));
  KF_GO(kf_store_gc(store, &blobs, &bytes, NULL));
out:
  if (store != NULL) kf_store_rollback(store);
  kf_store_close(store);
  kf_buf_done(&buf);
  return status;
}

static void test_store_internal__survives_any_failing_allocation(void **state) {
  fixture *f = *state;
  unsigned long nth = 1, failures = 0;
  for (; nth < 20000; nth++) {
    char path[KF_PATH_MAX + 16];
    snprintf(path, sizeof path, "%s-%lu", f->path, nth);
    kf_alloc_fail_at(nth, false);
    kf_status status = whole_life(path, KF_STORE_CREATE);
    bool reached = kf_alloc_count() >= nth;
    kf_alloc_fail_at(0, false);
    if (!reached) break; /* it needed fewer: done */
    /* SQLite does without some of its allocations. */
    if (status != KF_OK) failures++;
    if (status != KF_OK && status != KF_ENOMEM && status != KF_EIO)
      fail_msg("allocation %lu: %s", nth, kf_status_name(status));
    if (nth % 8 != 0) continue; /* each failure is tried, what it leaves behind is opened now and then */
    kf_status after = whole_life(path, kf_fs_exists(path) ? KF_STORE_WRITE : KF_STORE_CREATE);
    if (after != KF_OK) fail_msg("after allocation %lu failed: %s", nth, kf_status_name(after));
  }
  assert_true(failures > 50);
  assert_true(nth < 20000);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_store_internal__a_full_disk_is_said_and_nothing_is_lost, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(test_store_internal__a_newer_database_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store_internal__another_program_s_database_is_refused, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(test_store_internal__an_unknown_event_is_named, setup, teardown),
      cmocka_unit_test_setup_teardown(test_store_internal__a_damaged_blob_is_noticed, setup, teardown),
      cmocka_unit_test(test_store_internal__network_file_systems),
      cmocka_unit_test_setup_teardown(test_store_internal__survives_any_failing_allocation, setup, teardown),
  };
  return cmocka_run_group_tests_name("store_internal", tests, NULL, NULL);
}
