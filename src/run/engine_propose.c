/* engine_propose.c - which emitter makes the next proposal, from which parent, for which cell, shown what
 * (docs/internals/search.md, Parents, Emitters). Every draw comes from Philox(run seed, proposal id,
 * purpose), so keys identify draws and none is logged. */
#include "run/engine_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* Purposes of the draws made here; proposers use numbers below 0x100 for theirs. */
enum { DRAW_EMITTER = 0x100, DRAW_PARENT, DRAW_TARGET };

/* Ours: shares of the emitters, and of targets that are an empty cell (docs/internals/search.md, Emitters).
 */
static const double SAMPLE_SHARE = 0.2, FIX_SHARE = 0.1, EMPTY_TARGET_SHARE = 0.25;

enum { CELLS_MAX = 257, SHOWN_MAX = 2, TRIES = 32 };

typedef struct {
  kf_emitter emitter;
  int64_t parent;
  bool has_target;
  kf_cell target;
  int64_t shown[SHOWN_MAX];
  int nshown;
} choice;

typedef struct {
  kf_entry items[CELLS_MAX];
  int count;
} elites;

/* Only a kernel with parameters can be sampled or tuned: its canonical binding is not empty. */
static bool has_params(const kf_engine *engine, int64_t id) {
  return kf__engine_record(engine, id)->binding != 0;
}

static void gather(const kf_engine *engine, bool tunable, int64_t least_nano, elites *ret_elites) {
  ret_elites->count = 0;
  for (int i = 0; i < kf_archive_count(engine->archive); i++) {
    const kf_entry *elite = &kf_archive_at(engine->archive, i)->elite;
    if (elite->score_nano < least_nano || (tunable && !has_params(engine, elite->id))) continue;
    ret_elites->items[ret_elites->count++] = *elite;
  }
}

/* Parameters are worth tuning where the kernel is near the best already; elsewhere `sample` looks. */
static int64_t least_tunable(const kf_engine *engine) {
  const kf_archive_cell *best = kf_archive_best(engine->archive);
  if (best == NULL) return INT64_MIN;
  return best->elite.score_nano - (int64_t)(engine->config.settings.search_tune_within * 1e9);
}

/* ---- parents: 20/70/10 ---- */

static int by_score(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* T = max(0.05, (Q90 - Q50)/ln 4), docs/internals/search.md, Parents; nearest ranks. */
static double temperature(const elites *from) {
  int64_t scores[CELLS_MAX] = {0};
  for (int i = 0; i < from->count; i++)
    scores[i] = from->items[i].score_nano;
  qsort(scores, (size_t)from->count, sizeof scores[0], by_score);
  int64_t spread = scores[(from->count - 1) * 9 / 10] - scores[(from->count - 1) / 2];
  double value = (double)spread * 1e-9 / log(4.0);
  return value > 0.05 ? value : 0.05;
}

/* The one place where floating point decides: exp((D - D_top)/T) / (1 + pending asks). Its libm result is the
 * reason why identical replays are promised for the same build only (docs/internals/search.md, Parents). */
static double parent_weight(int64_t score_nano, int64_t top_nano, double t, int pending) {
  return exp((double)(score_nano - top_nano) * 1e-9 / t) / (1.0 + pending);
}

static int pending_asks(const kf_engine *engine, int64_t parent) {
  int count = 0;
  for (size_t i = 0; i < engine->asks.count; i++)
    count += kf__engine_record(engine, engine->asks.items[i])->parent == (uint64_t)parent;
  return count;
}

static int64_t weighted(const kf_engine *engine, const elites *from, kf_rng *rng) {
  double t = temperature(from), sum = 0, weights[CELLS_MAX];
  int64_t top = from->items[0].score_nano;
  for (int i = 1; i < from->count; i++)
    if (from->items[i].score_nano > top) top = from->items[i].score_nano;
  for (int i = 0; i < from->count; i++) {
    weights[i] = parent_weight(from->items[i].score_nano, top, t, pending_asks(engine, from->items[i].id));
    sum += weights[i];
  }
  double left = kf_rng_unit(rng) * sum;
  for (int i = 0; i < from->count; i++) {
    left -= weights[i];
    if (left < 0) return from->items[i].id;
  }
  return from->items[from->count - 1].id;
}

/* Any correct candidate that still is one; 0 if a few draws find none. */
static int64_t any_correct(const kf_engine *engine, bool tunable, int64_t least_nano, kf_rng *rng) {
  for (int i = 0; i < TRIES && engine->correct.count > 0; i++) {
    int64_t id = engine->correct.items[kf_rng_below(rng, engine->correct.count)];
    const kf_record *record = kf__engine_record(engine, id);
    bool scored = record->flags & KF_FLAG_SCORED && record->score_nano >= least_nano;
    if (record->flags & KF_FLAG_DEMOTED || (tunable && !(scored && has_params(engine, id)))) continue;
    return id;
  }
  return 0;
}

static int64_t choose_parent(const kf_engine *engine, bool tunable, int64_t id) {
  kf_rng rng;
  elites from;
  kf_rng_init(&rng, engine->config.seed, (uint64_t)id, DRAW_PARENT);
  int64_t least_nano = tunable ? least_tunable(engine) : INT64_MIN;
  gather(engine, tunable, least_nano, &from);
  double draw = kf_rng_unit(&rng), uniform = engine->config.settings.search_uniform;
  if (from.count == 0 || (draw >= uniform && draw < uniform + engine->config.settings.search_any_correct)) {
    int64_t any = any_correct(engine, tunable, least_nano, &rng);
    if (any != 0 || from.count == 0) return any;
  }
  if (draw < uniform) return from.items[kf_rng_below(&rng, (uint64_t)from.count)].id;
  return weighted(engine, &from, &rng);
}

/* ---- templates, for `sample` ---- */

/* A seed that lost its race at its defaults may win with others: it was verified when it was admitted. */
static bool is_usable_seed(const kf_record *record) {
  bool verified = record->verdict == KF_VERDICT_CORRECT || record->verdict == KF_VERDICT_SLOW;
  return record->flags & KF_FLAG_VERDICT && verified && !(record->flags & KF_FLAG_DEMOTED) &&
         record->binding != 0;
}

static void add_template(const kf_engine *engine, int64_t id, elites *templates) {
  uint32_t source = kf__engine_record(engine, id)->source;
  for (int i = 0; i < templates->count; i++)
    if (kf__engine_record(engine, templates->items[i].id)->source == source) return;
  if (templates->count < CELLS_MAX) templates->items[templates->count++].id = id;
}

/* One kernel for each source that has parameters: the seeds, then what became an elite. 0 if there is none.
 */
static int64_t choose_template(const kf_engine *engine, kf_rng *rng) {
  elites from, templates = {.count = 0};
  for (int64_t id = 1; id <= engine->nseeds; id++)
    if (is_usable_seed(kf__engine_record(engine, id))) add_template(engine, id, &templates);
  gather(engine, true, INT64_MIN, &from);
  for (int i = 0; i < from.count; i++)
    add_template(engine, from.items[i].id, &templates);
  return templates.count == 0 ? 0 : templates.items[kf_rng_below(rng, (uint64_t)templates.count)].id;
}

/* ---- targets and inspirations, for proposers that read ---- */

static int distance(const kf_cell *a, const kf_cell *b) {
  int sum = 0;
  for (int axis = 0; axis < KF_AXES; axis++)
    sum += abs(a->level[axis] - b->level[axis]);
  return sum;
}

/* The nearest empty cell (L1), one of the nearest by lot. Matrix units are left as the parent has them:
 * whether a language reaches them is not known here. */
static bool nearest_empty(const kf_engine *engine, const kf_cell *from, kf_rng *rng, kf_cell *ret_cell) {
  int best = 100, ties = 0;
  kf_cell cell = *from;
  for (int i = 0; i < 64; i++) {
    cell.level[0] = (int8_t)(i >> 4 & 3);
    cell.level[1] = (int8_t)(i >> 2 & 3);
    cell.level[2] = (int8_t)(i & 3);
    int d = distance(&cell, from);
    if (d > best || kf_archive_find(engine->archive, &cell) != NULL) continue;
    ties = d < best ? 1 : ties + 1;
    best = d;
    if (kf_rng_below(rng, (uint64_t)ties) == 0) *ret_cell = cell;
  }
  return best < 100;
}

static void choose_target(const kf_engine *engine, int64_t id, choice *ret_choice) {
  const kf_record *parent = kf__engine_record(engine, ret_choice->parent);
  if (parent == NULL || !(parent->flags & KF_FLAG_SCORED) || parent->cell.level[0] < 0) return;
  kf_rng rng;
  kf_rng_init(&rng, engine->config.seed, (uint64_t)id, DRAW_TARGET);
  ret_choice->has_target = true;
  ret_choice->target = parent->cell;
  if (kf_rng_unit(&rng) < EMPTY_TARGET_SHARE) nearest_empty(engine, &parent->cell, &rng, &ret_choice->target);
}

static void show(choice *ret_choice, int64_t id) {
  if (id == ret_choice->parent || ret_choice->nshown == SHOWN_MAX) return;
  for (int i = 0; i < ret_choice->nshown; i++)
    if (ret_choice->shown[i] == id) return;
  ret_choice->shown[ret_choice->nshown++] = id;
}

/* The elite nearest the target, then the best one. */
static void choose_shown(const kf_engine *engine, choice *ret_choice) {
  const kf_archive_cell *nearest = NULL, *best = kf_archive_best(engine->archive);
  for (int i = 0; ret_choice->has_target && i < kf_archive_count(engine->archive); i++) {
    const kf_archive_cell *cell = kf_archive_at(engine->archive, i);
    if (cell->elite.id == ret_choice->parent) continue;
    if (nearest == NULL ||
        distance(&cell->cell, &ret_choice->target) < distance(&nearest->cell, &ret_choice->target))
      nearest = cell;
  }
  if (nearest != NULL) show(ret_choice, nearest->elite.id);
  if (best != NULL) show(ret_choice, best->elite.id);
}

/* ---- the proposal ---- */

static void choose_binding(const kf_engine *engine, int64_t id, choice *ret_choice) {
  kf_rng rng;
  kf_rng_init(&rng, engine->config.seed, (uint64_t)id, DRAW_EMITTER);
  ret_choice->emitter = kf_rng_unit(&rng) < SAMPLE_SHARE ? KF_EMIT_SAMPLE : KF_EMIT_TUNE;
  if (ret_choice->emitter == KF_EMIT_TUNE) ret_choice->parent = choose_parent(engine, true, id);
  if (ret_choice->parent == 0) { /* nothing that can be tuned has a cell yet */
    ret_choice->emitter = KF_EMIT_SAMPLE;
    ret_choice->parent = choose_template(engine, &rng);
  }
  /* No kernel has parameters: the proposer will say that there is nothing new. */
  if (ret_choice->parent == 0) ret_choice->parent = engine->baseline;
}

static void choose_text(const kf_engine *engine, int64_t id, choice *ret_choice) {
  kf_rng rng;
  int64_t failed[KF_FRONTIER_MAX];
  kf_rng_init(&rng, engine->config.seed, (uint64_t)id, DRAW_EMITTER);
  int nfailed = kf_archive_frontier(engine->archive, failed);
  bool empty = kf_archive_count(engine->archive) == 0;
  ret_choice->emitter = KF_EMIT_REFINE;
  if (nfailed > 0 && (empty || kf_rng_unit(&rng) < FIX_SHARE)) {
    ret_choice->emitter = KF_EMIT_FIX;
    ret_choice->parent = failed[kf_rng_below(&rng, (uint64_t)nfailed)];
  } else {
    ret_choice->parent = choose_parent(engine, false, id);
  }
  choose_target(engine, id, ret_choice);
  choose_shown(engine, ret_choice);
}

static void write_shown(kf_body *body, const choice *chosen) {
  json_t *shown = json_array();
  for (int i = 0; i < chosen->nshown && shown != NULL; i++) {
    if (json_array_append_new(shown, json_integer(chosen->shown[i])) == 0) continue;
    json_decref(shown);
    shown = NULL;
  }
  kf__body_value(body, "shown", shown);
}

static kf_status decide_propose(kf_engine *engine, int64_t id, const choice *chosen, const char *file,
                                kf_err *err) {
  kf_body body;
  kf__body_begin(&body);
  kf__body_text(&body, "emitter", kf_emitter_name(chosen->emitter));
  if (file != NULL) kf__body_text(&body, "file", file);
  kf__body_int(&body, "id", id);
  kf__body_int(&body, "parent", chosen->parent);
  if (chosen->nshown > 0) write_shown(&body, chosen);
  if (chosen->has_target) kf__body_cell(&body, "target", &chosen->target);
  json_t *object = NULL;
  KF_TRY(kf__body_finish(&body, &object, err));
  return kf__engine_decide(engine, KF_EVENT_PROPOSE, id, object, err);
}

kf_status kf__engine_propose(kf_engine *engine, kf_err *err) {
  int64_t id = (int64_t)engine->candidates.count + 1;
  choice chosen = {0};
  if (engine->config.text_proposer)
    choose_text(engine, id, &chosen);
  else
    choose_binding(engine, id, &chosen);
  return decide_propose(engine, id, &chosen, NULL, err);
}

/* The path in the package of proposal `id`. */
static const char *seed_file(const kf_engine *engine, int64_t id) {
  const kf_task *task = engine->config.task;
  kf_language language = engine->config.language;
  if (id == engine->initial) return task->kernel[language]->path;
  if (id == engine->baseline) return task->baseline->path;
  int64_t first = engine->nseeds - task->nseeds[language] + 1;
  return task->seeds[language][id - first]->path;
}

kf_status kf__engine_propose_seed(kf_engine *engine, kf_err *err) {
  int64_t id = (int64_t)engine->candidates.count + 1;
  choice chosen = {.emitter = KF_EMIT_SEED};
  return decide_propose(engine, id, &chosen, seed_file(engine, id), err);
}
