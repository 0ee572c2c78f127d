/* links: kf_run kf_archive kf_store kf_propose kf_dist kf_device kf_sandbox kf_task kf_wire kf_base */
/* bench_loop.c - what the search loop costs by itself: the driver with the null evaluator and the replay
 * proposer.
 *
 *   bench_loop [TASK] [N...]      default: tasks/matmul 1000 10000 100000
 *
 * For each N a recording of N distinct kernels is made (one kernel of the task with a constant varied), then
 * a run of N evaluations is driven from it in a process of its own. Printed: CPU milliseconds per evaluated
 * candidate over the first and the last 1,000, peak memory, and how long resuming that run takes to fold its
 * log. Files go to $TMPDIR. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "run/run.h"
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum { WINDOW = 1000, BATCH = 1000, SOURCE_MAX = 1 << 20 };

static _Noreturn void die(const char *what, const kf_err *err) {
  fprintf(stderr, "bench_loop: %s: %s\n", what, err->msg);
  exit(1);
}

/* ---- the recording ---- */

static const kf_task_file *kernel_of(const kf_task *task) {
  int count = task->nseeds[KF_LANG_OPENCL];
  return count > 0 ? task->seeds[KF_LANG_OPENCL][count - 1] : task->kernel[KF_LANG_OPENCL];
}

static kf_status record_one(kf_store *store, const kf_task_file *file, int64_t id, kf_err *err) {
  kf_buf source KF_CLEANUP(kf_buf_done);
  kf_hash hash;
  char hex[KF_HASH_HEX], body[192];
  kf_buf_init(&source, SOURCE_MAX);
  KF_TRY(kf_buf_append(&source, file->bytes, file->len, err));
  KF_TRY(kf_buf_printf(&source, err, "\n__constant int bench_variant = %lld;\n", (long long)id));
  KF_TRY(kf_store_put(store, kf_buf_text(&source), source.len, &hash, err));
  kf_hash_hex(&hash, hex);
  snprintf(body, sizeof body, "{\"binding\":\"\",\"source\":\"%s\",\"status\":\"ok\"}", hex);
  kf_event event = {.kind = KF_EVENT_ANSWER, .proposal = id, .body = body, .body_len = strlen(body)};
  return kf_store_append(store, &event, err);
}

static void record(const char *path, const kf_task *task, int64_t count) {
  kf_store *store = NULL;
  kf_err err = {0};
  kf_status status = kf_store_open(path, KF_STORE_CREATE, &store, &err);
  for (int64_t id = 1; status == KF_OK && id <= count; id++) {
    if (id % BATCH == 1) status = kf_store_begin(store, &err);
    if (status == KF_OK) status = record_one(store, kernel_of(task), id, &err);
    if (status == KF_OK && (id % BATCH == 0 || id == count)) status = kf_store_commit(store, &err);
  }
  if (status != KF_OK) die("recording", &err);
  kf_store_close(store);
}

/* ---- the run ---- */

typedef struct {
  int64_t count;
  int64_t cpu_begin_ns, cpu_first_ns, cpu_before_last_ns, cpu_end_ns;
} windows;

static void on_view(void *context, const kf_run_view *view) {
  windows *seen = context;
  int64_t done = view->stats.evaluated, now = kf_cpu_ns();
  if (seen->cpu_begin_ns == 0) seen->cpu_begin_ns = now;
  if (done >= WINDOW && seen->cpu_first_ns == 0) seen->cpu_first_ns = now;
  if (done >= seen->count - WINDOW && seen->cpu_before_last_ns == 0) seen->cpu_before_last_ns = now;
  seen->cpu_end_ns = now;
}

static int run_child(const char *task, const char *recording, const char *path, int64_t count) {
  char spec[KF_PATH_MAX + 16];
  snprintf(spec, sizeof spec, "replay:%s", recording);
  const char *const specs[] = {spec};
  windows seen = {.count = count};
  kf_run_result result;
  kf_err err = {0};
  kf_run_options options = {.task_path = task,
                            .db_path = path,
                            .proposers = specs,
                            .nproposers = 1,
                            .evals_max = count,
                            .seed = 1,
                            .null_evaluator = true,
                            .on_view = on_view,
                            .context = &seen};
  if (kf_run(&options, &result, &err) != KF_OK) die("run", &err);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%9lld  %9lld  %7d  %14.3f  %13.3f  %9.1f", (long long)count, (long long)result.stats.evaluated,
         result.cells, (double)(seen.cpu_first_ns - seen.cpu_begin_ns) / 1e6 / WINDOW,
         (double)(seen.cpu_end_ns - seen.cpu_before_last_ns) / 1e6 / WINDOW,
         (double)usage.ru_maxrss / 1024.0);
  fflush(stdout);
  return 0;
}

/* Resuming a finished run: its log is folded, and there is nothing to do. */
static int resume_child(const char *task, const char *recording, const char *path, int64_t count) {
  char spec[KF_PATH_MAX + 16];
  snprintf(spec, sizeof spec, "replay:%s", recording);
  const char *const specs[] = {spec};
  kf_run_result result;
  kf_err err = {0};
  (void)task, (void)count;
  kf_run_options options = {.resume = path,
                            .proposers = specs,
                            .nproposers = 1,
                            .evals_max = -1,
                            .time_max_ms = -1,
                            .null_evaluator = true};
  int64_t begin = kf_now_ns();
  if (kf_run(&options, &result, &err) != KF_OK) die("resume", &err);
  printf("  %9.3f\n", (double)(kf_now_ns() - begin) / 1e9);
  fflush(stdout);
  return 0;
}

/* In a process of its own, so that its memory is its own. */
static void in_child(int (*what)(const char *, const char *, const char *, int64_t), const char *task,
                     const char *recording, const char *path, int64_t count) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) _exit(what(task, recording, path, count));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) exit(1);
}

/* The recording is made in a child too: its pages are not to count. */
static int record_child(const char *task_path, const char *recording, const char *path, int64_t count) {
  kf_task *task = NULL;
  kf_err err = {0};
  (void)path;
  if (kf_task_load(task_path, &task, &err) != KF_OK) die("task", &err);
  record(recording, task, count + 16);
  kf_task_free(task);
  return 0;
}

int main(int argc, char **argv) {
  static const char *const sizes[] = {"1000", "10000", "100000"};
  kf_alloc_init();
  const char *task = argc > 1 ? argv[1] : "tasks/matmul";
  const char *const *counts = argc > 2 ? (const char *const *)argv + 2 : sizes;
  int ncounts = argc > 2 ? argc - 2 : (int)KF_COUNTOF(sizes);
  char folder[KF_PATH_MAX], recording[KF_PATH_MAX], path[KF_PATH_MAX];
  kf_err err = {0};
  printf("        N  evaluated    cells  first 1000 ms   last 1000 ms   peak MiB   fold s\n");
  for (int i = 0; i < ncounts; i++) {
    int64_t count = strtoll(counts[i], NULL, 10);
    if (count < WINDOW) count = WINDOW;
    if (kf_fs_mkdtemp(folder, "kf-bench-loop", &err) != KF_OK ||
        kf_fs_join(recording, folder, "record.db", &err) != KF_OK ||
        kf_fs_join(path, folder, "run.db", &err) != KF_OK)
      die("folder", &err);
    in_child(record_child, task, recording, path, count);
    in_child(run_child, task, recording, path, count);
    in_child(resume_child, task, recording, path, count);
    kf_fs_remove_tree(folder, NULL);
  }
  return 0;
}
