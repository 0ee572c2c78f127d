/* links: kf_run kf_task kf_archive kf_store kf_wire kf_base */
/* bench_engine.c - the loop's own cost with a null world: answers and verdicts come at once from a generator.
 *
 *   bench_engine [CANDIDATES [DIR]]     default 100000, a fresh folder below $TMPDIR
 *
 * Prints CPU time per candidate (engine, and engine with the database) at 1 %, 10 % and 100 % of the
 * candidates, the peak memory, and the time to fold the database's events as at resume. The world's own time
 * is not counted in "engine" and "store". */
#include "../tests/unit/engine_world.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include <sys/resource.h>

#include "base/banned.h"

typedef struct {
  kf_world world;
  kf_store *store;
  int64_t engine_ns, store_ns;
} bench;

static void check(kf_status status, const kf_err *err) {
  if (status == KF_OK) return;
  fprintf(stderr, "bench_engine: %s\n", err->msg);
  exit(1);
}

/* Decisions go to the database, then become effects of the world. */
static kf_status emit(void *context, const kf_event *decision, kf_err *err) {
  bench *b = context;
  kf_event stored = *decision;
  int64_t before = kf_cpu_ns();
  KF_TRY(kf_store_append(b->store, &stored, err));
  int64_t spent = kf_cpu_ns() - before;
  kf_status status = world_emit(&b->world, decision, err);
  b->store_ns += spent;
  b->engine_ns -= kf_cpu_ns() - before; /* what ran inside kf_engine_input but is not the engine */
  return status;
}

static void give(bench *b, kf_event_kind kind, int64_t proposal, json_t *take_body) {
  kf_err err = {0};
  kf_buf text;
  kf_buf_init(&text, 1 << 20);
  check(kf_json_dump(take_body, &text, &err), &err);
  json_decref(take_body);
  kf_event input = {.kind = kind,
                    .proposal = proposal,
                    .at_ms = b->world.clock_ms++,
                    .body = kf_buf_text(&text),
                    .body_len = text.len};
  int64_t start = kf_cpu_ns();
  check(kf_store_begin(b->store, &err), &err);
  check(kf_store_append(b->store, &input, &err), &err);
  int64_t appended = kf_cpu_ns();
  check(kf_engine_input(b->world.engine, &input, emit, b, &err), &err);
  int64_t decided = kf_cpu_ns();
  check(kf_store_commit(b->store, &err), &err);
  b->store_ns += appended - start + (kf_cpu_ns() - decided);
  b->engine_ns += decided - appended;
  kf_buf_done(&text);
}

static void step(bench *b) {
  kf_world *world = &b->world;
  world_effect effect = world->effects.items[0];
  world->effects.count--;
  memmove(world->effects.items, world->effects.items + 1, world->effects.count * sizeof effect);
  if (effect.request == 0)
    give(b, KF_EVENT_ANSWER, effect.proposal, world_answer(world, &effect));
  else
    give(b, KF_EVENT_VERDICT, effect.proposal, world_judge(world, &effect));
}

static double mib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

/* Runs until `until` candidates are judged; prints the cost of each in this stretch. */
static void stretch(bench *b, int64_t until) {
  kf_engine_stats stats;
  kf_engine_get_stats(b->world.engine, &stats);
  int64_t from = stats.evaluated;
  b->engine_ns = b->store_ns = 0;
  while (stats.evaluated < until && b->world.effects.count > 0) {
    step(b);
    kf_engine_get_stats(b->world.engine, &stats);
  }
  double count = (double)(stats.evaluated - from);
  printf("%10lld %12.1f %12.1f %12.1f %10.1f\n", (long long)stats.evaluated,
         (double)b->engine_ns / count / 1000, (double)b->store_ns / count / 1000,
         (double)(b->engine_ns + b->store_ns) / count / 1000, mib());
}

typedef struct {
  kf_engine *engine;
  int64_t events;
} folding;

static kf_status fold(void *context, const kf_event *event, kf_err *err) {
  folding *f = context;
  f->events++;
  return kf_engine_fold(f->engine, event, err);
}

static void resume(const kf_world *world, const char *path) {
  kf_err err = {0};
  kf_store *store = NULL;
  folding f = {0};
  check(kf_engine_new(&world->config, &f.engine, &err), &err);
  check(kf_store_open(path, KF_STORE_READ, &store, &err), &err);
  int64_t start = kf_now_ns(), cpu = kf_cpu_ns();
  check(kf_store_scan(store, 1, KF_ENGINE_FOLD_KINDS, fold, &f, &err), &err);
  double wall_ms = (double)(kf_now_ns() - start) / 1e6, cpu_ms = (double)(kf_cpu_ns() - cpu) / 1e6;
  double share = 1e5 / (double)f.events;
  printf("fold of %lld events from the database: %.0f ms; per 100,000: %.0f ms, CPU %.0f ms\n",
         (long long)f.events, wall_ms, wall_ms * share, cpu_ms * share);
  kf_store_close(store);
  kf_engine_free(f.engine);
}

int main(int argc, char **argv) {
  kf_err err = {0};
  int64_t candidates = 100000;
  char dir[KF_PATH_MAX], path[KF_PATH_MAX];
  kf_alloc_init();
  if (argc > 1) check(kf_text_int(argv[1], 1000, 100000000, "CANDIDATES", &candidates, &err), &err);
  if (argc > 2)
    check(kf_fs_join(dir, argv[2], "bench-engine", &err), &err);
  else
    check(kf_fs_mkdtemp(dir, "kf-bench-engine", &err), &err);
  check(kf_fs_join(path, dir, "run.db", &err), &err);
  bench *b = kf_calloc(1, sizeof *b);
  if (b == NULL) return 1;
  kf_world *world = &b->world;
  world_init(world, 1, candidates + 1, 6);
  world->bindings = 100000000; /* hardly any duplicates */
  world->infra_percent = world->no_answer_percent = 0;
  world->keep_log = false;
  check(kf_store_open(path, KF_STORE_CREATE, &b->store, &err), &err);
  check(kf_engine_new(&world->config, &world->engine, &err), &err);
  json_t *body = NULL;
  check(kf_engine_config_to_json(&world->config, &body, &err), &err);
  printf("CPU per candidate (us)\n%10s %12s %12s %12s %10s\n", "candidates", "engine", "store", "both",
         "peak MiB");
  give(b, KF_EVENT_START, 0, body);
  for (int64_t until = candidates / 100; until <= candidates; until *= 10)
    stretch(b, until);
  kf_store_close(b->store);
  resume(world, path);
  world_done(world);
  kf_free(b);
  check(kf_fs_remove_tree(dir, &err), &err);
  return 0;
}
