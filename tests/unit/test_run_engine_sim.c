/* links: kf_run kf_task kf_archive kf_store kf_wire kf_base
 * Whole simulated runs: replay gives the same bytes, a fold gives the same state at every boundary,
 * invariants hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine_world.h"

#include "base/banned.h"

#define assert_ok(call)                                                                                      \
  do {                                                                                                       \
    kf_err e_ = {0};                                                                                         \
    kf_status s_ = (call);                                                                                   \
    if (s_ != KF_OK) fail_msg("%s: %s", #call, e_.msg);                                                      \
  } while (0)
#define ERR (&e_)

static void compare_cells(const kf_archive_cell *a, const kf_archive_cell *b) {
  assert_memory_equal(&a->cell, &b->cell, sizeof a->cell);
  assert_memory_equal(&a->elite, &b->elite, sizeof a->elite);
  assert_int_equal(a->nrunners_up, b->nrunners_up);
  assert_memory_equal(a->runners_up, b->runners_up, sizeof a->runners_up);
  assert_int_equal(a->visits, b->visits);
}

static void compare_archives(const kf_archive *a, const kf_archive *b) {
  int64_t x[KF_FRONTIER_MAX], y[KF_FRONTIER_MAX];
  assert_int_equal(kf_archive_count(a), kf_archive_count(b));
  for (int i = 0; i < kf_archive_count(a); i++)
    compare_cells(kf_archive_at(a, i), kf_archive_at(b, i));
  int n = kf_archive_frontier(a, x);
  assert_int_equal(n, kf_archive_frontier(b, y));
  assert_memory_equal(x, y, (size_t)n * sizeof x[0]);
}

static void compare_candidates(const kf_engine *a, const kf_engine *b, int64_t id) {
  kf_candidate x, y;
  assert_true(kf_engine_candidate(a, id, &x));
  assert_true(kf_engine_candidate(b, id, &y));
  assert_string_equal(x.binding, y.binding);
  x.binding = y.binding = NULL;
  assert_memory_equal(&x, &y, sizeof x);
}

static void compare_engines(const kf_engine *a, const kf_engine *b) {
  kf_engine_stats x, y;
  kf_engine_get_stats(a, &x);
  kf_engine_get_stats(b, &y);
  assert_string_equal(x.finish_reason, y.finish_reason);
  assert_string_equal(x.finish_outcome, y.finish_outcome);
  x.finish_reason = y.finish_reason = x.finish_outcome = y.finish_outcome = NULL;
  assert_memory_equal(&x, &y, sizeof x);
  kf_pending p[64], q[64];
  int n = kf_engine_pending(a, p, 64);
  assert_int_equal(n, kf_engine_pending(b, q, 64));
  assert_memory_equal(p, q, (size_t)n * sizeof p[0]);
  for (int i = 0; i < n; i++) {
    kf_evaluation e = {0}, f = {0};
    assert_int_equal(kf_engine_evaluation(a, p[i].request, &e), kf_engine_evaluation(b, p[i].request, &f));
    assert_memory_equal(&e, &f, sizeof e);
  }
  compare_archives(kf_engine_archive(a), kf_engine_archive(b));
}

/* ---- invariants, watched decision by decision ---- */

typedef struct {
  kf_world *world;
  int64_t requests, closed, finishes, elites, duels;
  kf_race_outcome outcome; /* of the verdict being decided */
  int64_t against;
} watcher;

static void watch(void *context, const kf_event *decision) {
  watcher *w = context;
  json_t *body = world_parse(decision);
  int64_t closes = kf_json_int_or(body, "closes", 0);
  if (decision->kind == KF_EVENT_EVALUATE) {
    w->requests++;
    assert_int_equal(kf_json_int_or(body, "request", 0), w->requests);
    if (strcmp(kf_json_str_or(body, "purpose", ""), "duel") == 0) w->duels++;
  }
  if (closes != 0) w->closed++;
  if (decision->kind == KF_EVENT_FINISH) w->finishes++;
  if (decision->kind == KF_EVENT_INSERT && strcmp(kf_json_str_or(body, "status", ""), "elite") == 0) {
    kf_cell cell;
    w->elites++;
    assert_true(kf_cell_parse(kf_json_str_or(body, "cell", ""), &cell));
    const kf_archive_cell *held = kf_archive_find(kf_engine_archive(w->world->engine), &cell);
    /* The decision is emitted before it is folded, so the cell still has the old elite. */
    assert_non_null(held);
    assert_int_equal(held->elite.id, w->against);
    assert_int_equal(w->outcome, KF_RACE_FASTER);
  }
  json_decref(body);
}

/* One step, with what the watcher has to know of the verdict it brings. */
static bool watched_step(watcher *w) {
  kf_world *world = w->world;
  if (world->effects.count == 0) return false;
  kf_rng peek = world->rng;
  world_effect effect = world->effects.items[kf_rng_below(&peek, world->effects.count)];
  kf_evaluation ask;
  w->against = kf_engine_evaluation(world->engine, effect.request, &ask) ? ask.against : 0;
  memset(&world->verdict, 0, sizeof world->verdict);
  kf_status status = KF_OK;
  kf_err err = {0};
  /* The outcome is known only after the world has drawn it, and before the engine decides: it lies in the
   * scratch verdict. */
  w->outcome = KF_RACE_FASTER;
  bool stepped = world_step(world, &status, &err);
  if (status != KF_OK) fail_msg("%s", err.msg);
  return stepped;
}

static void watch_outcome(void *context, const kf_event *decision) {
  watcher *w = context;
  w->outcome = w->world->verdict.race.outcome;
  watch(context, decision);
}

static void check_limits(const kf_world *world) {
  kf_engine_stats stats;
  kf_engine_get_stats(world->engine, &stats);
  assert_true(stats.in_flight <= world->config.in_flight);
  assert_true(stats.evaluated <= world->config.evals_max);
}

/* Runs to the end, with a second engine that only folds what is stored and must agree after every
 * transaction. */
static void run_world(kf_world *world, int stops, bool follow) {
  watcher w = {.world = world};
  kf_engine *folded = NULL;
  size_t done = 0;
  assert_ok(kf_engine_new(&world->config, &folded, ERR));
  world->on_decision = watch_outcome;
  world->context = &w;
  assert_ok(world_start(world, ERR));
  for (bool more = true; more;) {
    for (; follow && done < world->log.count; done++)
      assert_ok(kf_engine_fold(folded, &world->log.items[done].event, ERR));
    if (follow) {
      compare_engines(world->engine, folded);
      int64_t id = world->log.items[world->log.count - 1].event.proposal;
      if (id > 0) compare_candidates(world->engine, folded, id);
    }
    check_limits(world);
    if (stops > 0 && kf_rng_below(&world->rng, 50) == 0) {
      stops--;
      assert_ok(world_input(world, KF_EVENT_STOP, 0, json_object(), ERR));
    } else if (kf_rng_below(&world->rng, 20) == 0) {
      assert_ok(world_input(world, KF_EVENT_RESUME, 0, json_object(), ERR));
    } else {
      more = watched_step(&w);
      kf_engine_stats stats;
      kf_engine_get_stats(world->engine, &stats);
      if (!more && !stats.finished) { /* stopped and drained */
        assert_ok(world_input(world, KF_EVENT_RESUME, 0, json_object(), ERR));
        more = true;
      }
    }
  }
  kf_engine_stats stats;
  kf_engine_get_stats(world->engine, &stats);
  assert_true(stats.finished);
  assert_int_equal(w.finishes, 1);
  assert_int_equal(w.requests, w.closed);
  assert_int_equal(kf_engine_pending(world->engine, NULL, 0), 0);
  assert_true(w.elites > 0 && w.duels > 0);
  for (int64_t id = 1; follow && id <= stats.proposed; id++)
    compare_candidates(world->engine, folded, id);
  world->on_decision = NULL;
  kf_engine_free(folded);
}

/* ---- replay ---- */

typedef struct {
  const kf_world *world;
  size_t next;
  int64_t decisions;
} replay;

static kf_status expect(void *context, const kf_event *decision, kf_err *err) {
  replay *r = context;
  const kf_event *stored = &r->world->log.items[r->next++].event;
  assert_int_equal(decision->kind, stored->kind);
  assert_int_equal(decision->proposal, stored->proposal);
  assert_int_equal(decision->at_ms, stored->at_ms);
  assert_int_equal(decision->body_len, stored->body_len);
  assert_memory_equal(decision->body, stored->body, stored->body_len);
  r->decisions++;
  (void)err;
  return KF_OK;
}

/* Folds the first `from` events, then gives the other inputs again: every decision must have the stored
 * bytes. */
static void replay_from(const kf_world *world, size_t from) {
  kf_engine *engine = NULL;
  replay r = {.world = world, .next = from};
  assert_ok(kf_engine_new(&world->config, &engine, ERR));
  for (size_t i = 0; i < from; i++) {
    const kf_event *event = &world->log.items[i].event;
    if (1ull << event->kind & KF_ENGINE_FOLD_KINDS) assert_ok(kf_engine_fold(engine, event, ERR));
  }
  while (r.next < world->log.count) {
    const kf_event *input = &world->log.items[r.next++].event;
    assert_false(kf_event_is_decision(input->kind));
    assert_ok(kf_engine_input(engine, input, expect, &r, ERR));
  }
  compare_engines(engine, world->engine);
  if (from == 0) assert_true(r.decisions > (int64_t)world->log.count / 3);
  kf_engine_free(engine);
}

static void test_run_engine__replay_gives_the_same_bytes(void **state) {
  (void)state;
  kf_world *world = kf_calloc(1, sizeof *world);
  world_init(world, 42, 5000, 6);
  run_world(world, 5, false);
  kf_engine_stats stats;
  kf_engine_get_stats(world->engine, &stats);
  assert_int_equal(stats.evaluated, 5000);
  replay_from(world, 0);
  world_done(world);
  kf_free(world);
}

static void test_run_engine__fold_agrees_at_every_boundary(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    kf_world *world = kf_calloc(1, sizeof *world);
    world_init(world, seed, 150, 1 + (int)seed);
    world->config.text_proposer = seed % 2 == 0;
    world->infra_percent = seed == 3 ? 40 : 3;
    run_world(world, 3, true);
    world_done(world);
    kf_free(world);
  }
}

static void test_run_engine__a_killed_run_goes_on_as_if_it_had_not_been(void **state) {
  (void)state;
  kf_world *world = kf_calloc(1, sizeof *world);
  world_init(world, 7, 120, 4);
  run_world(world, 2, false);
  size_t tried = 0;
  for (size_t at = 1; at < world->log.count; at++) {
    /* A boundary is where a transaction ends: before an input. */
    if (kf_event_is_decision(world->log.items[at].event.kind) || at % 5 != 0) continue;
    replay_from(world, at);
    tried++;
  }
  assert_true(tried > 20);
  world_done(world);
  kf_free(world);
}

static void test_run_engine__a_small_space_is_exhausted(void **state) {
  (void)state;
  kf_world *world = kf_calloc(1, sizeof *world);
  world_init(world, 3, 100000, 4);
  world->bindings = 20;
  world->no_answer_percent = 0;
  kf_err err = {0};
  kf_status status = KF_OK;
  assert_ok(world_start(world, ERR));
  while (world_step(world, &status, &err))
    if (status != KF_OK) fail_msg("%s", err.msg);
  kf_engine_stats stats;
  kf_engine_get_stats(world->engine, &stats);
  assert_true(stats.finished);
  if (strstr(stats.finish_reason, " duplicates in a row") == NULL)
    fail_msg("%s (%lld evaluated)", stats.finish_reason, (long long)stats.evaluated);
  assert_true(stats.evaluated > 40 && stats.evaluated <= 3 * 20);
  /* More budget does not help, but it is taken: the run is open again and ends the same way. */
  assert_ok(world_input(world, KF_EVENT_RESUME, 0, json_pack("{s:i}", "evals_max", 200000), ERR));
  kf_engine_get_stats(world->engine, &stats);
  assert_false(stats.finished);
  while (world_step(world, &status, &err))
    if (status != KF_OK) fail_msg("%s", err.msg);
  kf_engine_get_stats(world->engine, &stats);
  assert_true(stats.finished);
  world_done(world);
  kf_free(world);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run_engine__replay_gives_the_same_bytes),
      cmocka_unit_test(test_run_engine__fold_agrees_at_every_boundary),
      cmocka_unit_test(test_run_engine__a_killed_run_goes_on_as_if_it_had_not_been),
      cmocka_unit_test(test_run_engine__a_small_space_is_exhausted),
  };
  return cmocka_run_group_tests_name("run_engine_sim", tests, NULL, NULL);
}
