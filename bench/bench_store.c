/* links: kf_store kf_base */
/* bench_store.c - what the run database costs: a transaction of an input and two decisions, a scan, blobs of
 * source text.
 *
 *   bench_store [TRANSACTIONS [DIR]]    default 20000, a fresh folder below $TMPDIR */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "base/vec.h"
#include "store/store.h"

#include "base/banned.h"

static void check(kf_status status, const kf_err *err) {
  if (status == KF_OK) return;
  fprintf(stderr, "bench_store: %s\n", err->msg);
  exit(1);
}

static void report(const char *what, int64_t count, int64_t wall_ns, int64_t cpu_ns) {
  printf("%-34s %10lld %10.1f %10.1f\n", what, (long long)count, (double)wall_ns / 1000 / (double)count,
         (double)cpu_ns / 1000 / (double)count);
}

static void append(kf_store *store, kf_event_kind kind, int64_t proposal, const char *body, size_t len) {
  kf_err err = {0};
  kf_event event = {.kind = kind, .proposal = proposal, .at_ms = proposal, .body = body, .body_len = len};
  check(kf_store_append(store, &event, &err), &err);
}

static void transactions(kf_store *store, int64_t count) {
  kf_err err = {0};
  static char verdict[1500], decision[300];
  memset(verdict, 'v', sizeof verdict);
  memset(decision, 'd', sizeof decision);
  int64_t wall = kf_now_ns(), cpu = kf_cpu_ns();
  for (int64_t i = 1; i <= count; i++) {
    check(kf_store_begin(store, &err), &err);
    append(store, KF_EVENT_VERDICT, i, verdict, sizeof verdict);
    append(store, KF_EVENT_INSERT, i, decision, sizeof decision);
    append(store, KF_EVENT_PROPOSE, i + 1, decision, sizeof decision);
    check(kf_store_commit(store, &err), &err);
  }
  report("transaction of 3 events (2.1 kB)", count, kf_now_ns() - wall, kf_cpu_ns() - cpu);
}

static kf_status count_event(void *context, const kf_event *event, kf_err *err) {
  (void)event;
  (void)err;
  ++*(int64_t *)context;
  return KF_OK;
}

static void scans(kf_store *store) {
  kf_err err = {0};
  int64_t count = 0, wall = kf_now_ns(), cpu = kf_cpu_ns();
  check(
      kf_store_scan(store, 1, 1ull << KF_EVENT_INSERT | 1ull << KF_EVENT_PROPOSE, count_event, &count, &err),
      &err);
  report("decision read by a scan", count, kf_now_ns() - wall, kf_cpu_ns() - cpu);
}

/* Text that compresses about as well as a kernel does. */
static size_t source_text(char *text, size_t room, int64_t number) {
  size_t len = 0;
  for (int line = 0; len + 80 < room; line++)
    len += (size_t)snprintf(text + len, room - len, "  acc%d = fma(a[%lld + i * %d], b[j + %d], acc%d);\n",
                            line % 7, (long long)number * 31 + line, line % 13, line * 17 % 101, line % 7);
  return len;
}

static void blobs(kf_store *store, int64_t count) {
  kf_err err = {0};
  static char text[4096];
  KF_VEC(kf_hash) hashes = {0};
  kf_buf buf;
  kf_buf_init(&buf, sizeof text);
  int64_t wall = kf_now_ns(), cpu = kf_cpu_ns();
  for (int64_t i = 0; i < count; i++) {
    kf_hash hash;
    size_t len = source_text(text, sizeof text, i);
    check(kf_store_begin(store, &err), &err);
    check(kf_store_put(store, text, len, &hash, &err), &err);
    check(kf_store_commit(store, &err), &err);
    if (kf_vec_push(&hashes, hash) != KF_OK) exit(1);
  }
  report("blob put (4 kB)", count, kf_now_ns() - wall, kf_cpu_ns() - cpu);
  wall = kf_now_ns();
  cpu = kf_cpu_ns();
  for (int64_t i = 0; i < count; i++) {
    kf_buf_clear(&buf);
    check(kf_store_get(store, &hashes.items[i], &buf, &err), &err);
  }
  report("blob get (4 kB)", count, kf_now_ns() - wall, kf_cpu_ns() - cpu);
  kf_vec_done(&hashes);
  kf_buf_done(&buf);
}

int main(int argc, char **argv) {
  kf_err err = {0};
  int64_t count = 20000;
  char dir[KF_PATH_MAX], path[KF_PATH_MAX];
  kf_store *store = NULL;
  kf_alloc_init();
  if (argc > 1) check(kf_text_int(argv[1], 1, 100000000, "TRANSACTIONS", &count, &err), &err);
  if (argc > 2)
    check(kf_fs_join(dir, argv[2], "bench-store", &err), &err);
  else
    check(kf_fs_mkdtemp(dir, "kf-bench-store", &err), &err);
  check(kf_fs_join(path, dir, "run.db", &err), &err);
  check(kf_store_open(path, KF_STORE_CREATE, &store, &err), &err);
  printf("%-34s %10s %10s %10s\n", "", "count", "wall us", "CPU us");
  transactions(store, count);
  scans(store);
  blobs(store, count / 4);
  kf_store_close(store);
  check(kf_fs_remove_tree(dir, &err), &err);
  return 0;
}
