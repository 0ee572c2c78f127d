/* engine_world.h - a simulated world for the engine: answers, verdicts and failures drawn from a seeded
 * generator, in any order. Nothing here is measured; it exists to drive the decisions through every path and
 * to compare them. */
#ifndef KF_TESTS_ENGINE_WORLD_H
#define KF_TESTS_ENGINE_WORLD_H

#include "base/alloc.h"
#include "base/vec.h"
#include "run/engine.h"

typedef struct {
  kf_event event;
  char *body;
} world_event;

typedef struct {
  int64_t proposal, request; /* request 0: an ask */
  kf_emitter emitter;
  int64_t parent;
} world_effect;

/* What the world knows of a candidate: which template and binding it is. */
typedef struct {
  int template, binding;
} world_candidate;

typedef struct {
  kf_task task;
  kf_task_file kernel, seeds[3];
  const kf_task_file *seed_list[3];
  kf_engine_config config;
  kf_rng rng;
  uint64_t truth; /* seed of the hidden speeds */
  int bindings;   /* of each template; few give many duplicates */
  int infra_percent, no_answer_percent;
  kf_engine *engine;
  KF_VEC(world_event) log;
  KF_VEC(world_effect) effects;
  KF_VEC(world_candidate) known;
  bool keep_log;
  int64_t clock_ms;
  kf_verdict verdict; /* scratch */
  void (*on_decision)(void *context, const kf_event *decision);
  void *context;
} kf_world;

static inline void world_init(kf_world *world, uint64_t seed, int64_t evals_max, int in_flight) {
  memset(world, 0, sizeof *world);
  world->kernel = (kf_task_file){.path = "kernel.cl"};
  for (int i = 0; i < 3; i++) {
    static const char *const paths[] = {"a.cl", "b.cl", "c.cl"};
    world->seeds[i] = (kf_task_file){.path = paths[i]};
    world->task.seeds[KF_LANG_OPENCL][i] = &world->seeds[i];
  }
  world->task.name = "world";
  world->task.kernel[KF_LANG_OPENCL] = &world->kernel;
  world->task.nseeds[KF_LANG_OPENCL] = 3;
  world->task.baseline_kind = KF_BASELINE_KERNEL;
  world->config = (kf_engine_config){.task = &world->task,
                                     .language = KF_LANG_OPENCL,
                                     .seed = seed,
                                     .evals_max = evals_max,
                                     .in_flight = in_flight};
  kf_settings_init(&world->config.settings);
  kf_rng_init(&world->rng, seed, 1, 99);
  world->truth = seed;
  world->bindings = 4000;
  world->infra_percent = 3;
  world->no_answer_percent = 3;
  world->keep_log = true;
}

static inline void world_done(kf_world *world) {
  kf_engine_free(world->engine);
  for (size_t i = 0; i < world->log.count; i++)
    kf_free(world->log.items[i].body);
  kf_vec_done(&world->log);
  kf_vec_done(&world->effects);
  kf_vec_done(&world->known);
}

static inline void world_log(kf_world *world, const kf_event *event) {
  if (!world->keep_log) return;
  world_event stored = {.event = *event, .body = kf_strndup(event->body, event->body_len)};
  stored.event.body = stored.body;
  stored.event.seq = (int64_t)world->log.count + 1;
  if (stored.body == NULL || kf_vec_push(&world->log, stored) != KF_OK) abort();
}

static inline json_t *world_parse(const kf_event *event) {
  json_t *body = NULL;
  if (kf_json_parse(event->body, event->body_len, 1 << 20, "event", &body, NULL) != KF_OK) abort();
  return body;
}

/* Decisions become effects to carry out. */
static inline kf_status world_emit(void *context, const kf_event *decision, kf_err *err) {
  kf_world *world = context;
  (void)err;
  world_log(world, decision);
  if (decision->kind == KF_EVENT_PROPOSE || decision->kind == KF_EVENT_EVALUATE) {
    json_t *body = world_parse(decision);
    world_effect effect = {.proposal = decision->proposal,
                           .request = kf_json_int_or(body, "request", 0),
                           .parent = kf_json_int_or(body, "parent", 0)};
    kf_emitter_parse(kf_json_str_or(body, "emitter", "seed"), &effect.emitter);
    if (kf_vec_push(&world->effects, effect) != KF_OK) abort();
    json_decref(body);
  }
  if (world->on_decision != NULL) world->on_decision(world->context, decision);
  return KF_OK;
}

static inline kf_status world_input(kf_world *world, kf_event_kind kind, int64_t proposal, json_t *take_body,
                                    kf_err *err) {
  kf_buf text;
  kf_buf_init(&text, 1 << 20);
  if (kf_json_dump(take_body, &text, NULL) != KF_OK) abort();
  json_decref(take_body);
  kf_event input = {.kind = kind,
                    .proposal = proposal,
                    .at_ms = world->clock_ms,
                    .body = kf_buf_text(&text),
                    .body_len = text.len};
  world_log(world, &input);
  kf_status status = kf_engine_input(world->engine, &input, world_emit, world, err);
  kf_buf_done(&text);
  return status;
}

static inline void world_hash(char ret_hex[KF_HASH_HEX], const char *what, int template, int binding) {
  char text[64];
  kf_hash hash;
  snprintf(text, sizeof text, "%s %d %d", what, template, binding);
  kf_hash_bytes(text, strlen(text), &hash);
  kf_hash_hex(&hash, ret_hex);
}

static inline json_t *world_answer(kf_world *world, const world_effect *effect) {
  world_candidate candidate = {0, 0};
  if (effect->emitter == KF_EMIT_SEED)
    candidate.template = (int)effect->proposal - 1;
  else {
    if ((int)kf_rng_below(&world->rng, 100) < world->no_answer_percent)
      return json_pack("{s:s}", "status", kf_rng_below(&world->rng, 2) ? "notfound" : "no_code");
    if (effect->parent > 0) candidate.template = world->known.items[effect->parent - 1].template;
    if (candidate.template == 0) candidate.template = 1 + (int)kf_rng_below(&world->rng, 3);
    candidate.binding = (int)kf_rng_below(&world->rng, (uint64_t)world->bindings);
  }
  while ((int64_t)world->known.count < effect->proposal)
    if (kf_vec_push(&world->known, (world_candidate){0, 0}) != KF_OK) abort();
  world->known.items[effect->proposal - 1] = candidate;
  char source[KF_HASH_HEX], norm[KF_HASH_HEX], binding[64] = "";
  world_hash(source, "source", candidate.template, 0);
  world_hash(norm, "norm", candidate.template, candidate.binding);
  if (candidate.template != 0)
    snprintf(binding, sizeof binding, "TILE=%d,VEC=4,UNROLL=%d", candidate.binding, candidate.template);
  return json_pack("{s:s,s:s,s:s,s:s}", "status", "ok", "source", source, "norm", norm, "binding", binding);
}

/* The hidden truth: log time in nano, cell and verdict of a template and binding. */
static inline void world_truth(const kf_world *world, world_candidate c, int64_t *ret_log_nano,
                               kf_cell *ret_cell, kf_verdict_kind *ret_kind) {
  kf_rng rng;
  kf_rng_init(&rng, world->truth, (uint64_t)c.template << 32 | (uint32_t)c.binding, 7);
  *ret_log_nano = c.template == 0 ? 0 : -(int64_t)kf_rng_below(&rng, 1500000000) - 200000000 * c.template;
  *ret_cell = (kf_cell){
      {(int8_t)kf_rng_below(&rng, 4), (int8_t)kf_rng_below(&rng, 2), (int8_t)kf_rng_below(&rng, 3), 0}};
  if (c.template != 0 && kf_rng_below(&rng, 50) == 0) ret_cell->level[0] = -1;
  static const kf_verdict_kind bad[] = {KF_VERDICT_REFUSED,      KF_VERDICT_BUILD_FAILED, KF_VERDICT_CRASHED,
                                        KF_VERDICT_WRONG_OUTPUT, KF_VERDICT_SLOW,         KF_VERDICT_UNSTABLE,
                                        KF_VERDICT_CHEAT,        KF_VERDICT_IMPRECISE};
  *ret_kind = KF_VERDICT_CORRECT;
  uint64_t lot = kf_rng_below(&rng, 40);
  if (c.binding != 0 && lot < 8) *ret_kind = bad[lot];
}

static inline void world_race(kf_world *world, const kf_evaluation *ask, int64_t own_nano) {
  kf_race_result *race = &world->verdict.race;
  kf_verdict_kind kind;
  kf_cell cell;
  int64_t other = 0;
  world_truth(world, world->known.items[ask->against - 1], &other, &cell, &kind);
  int64_t half = 2000000 + (int64_t)kf_rng_below(&world->rng, 30000000);
  race->median_nano = other - own_nano + (int64_t)kf_rng_below(&world->rng, 20000000) - 10000000;
  race->low_nano = race->median_nano - half;
  race->high_nano = race->median_nano + half / 2;
  race->outcome = race->low_nano > 9950331     ? KF_RACE_FASTER
                  : race->high_nano < -9950331 ? KF_RACE_SLOWER
                                               : KF_RACE_TIE;
  race->level = 0.95;
  race->blocks = 12;
  /* A slower one is never confirmed, and hidden shapes find some wrong that looked right. */
  if (ask->stage < 3) return;
  world->verdict.stage = 3;
  uint64_t lot = kf_rng_below(&world->rng, 10);
  world->verdict.confirmed = race->outcome == KF_RACE_FASTER && lot > 2;
  if (lot == 0) world->verdict.kind = KF_VERDICT_WRONG_OUTPUT;
}

static inline json_t *world_judge(kf_world *world, const world_effect *effect) {
  kf_evaluation ask;
  int64_t own = 0;
  if (!kf_engine_evaluation(world->engine, effect->request, &ask)) abort();
  kf_verdict *verdict = &world->verdict;
  kf_verdict_init(verdict);
  world_truth(world, world->known.items[ask.candidate - 1], &own, &verdict->cell, &verdict->kind);
  if (ask.verified) verdict->kind = KF_VERDICT_CORRECT;
  verdict->stage = 2;
  verdict->time_ns = 1000000000 + own / 2;
  if (verdict->kind != KF_VERDICT_CORRECT)
    snprintf(verdict->diagnosis.text, sizeof verdict->diagnosis.text, "simulated %s",
             kf_verdict_name(verdict->kind));
  else if (ask.against != 0)
    world_race(world, &ask, own);
  json_t *value = NULL;
  if (kf_verdict_to_json(verdict, &value, NULL) != KF_OK) abort();
  return json_pack("{s:I,s:o}", "request", (json_int_t)effect->request, "verdict", value);
}

/* Carries out one effect, any of those that wait. False when none does. */
static inline bool world_step(kf_world *world, kf_status *ret_status, kf_err *err) {
  if (world->effects.count == 0) return false;
  size_t at = kf_rng_below(&world->rng, world->effects.count);
  world_effect effect = world->effects.items[at];
  world->effects.items[at] = world->effects.items[--world->effects.count];
  world->clock_ms += (int64_t)kf_rng_below(&world->rng, 20);
  if (effect.request == 0)
    *ret_status = world_input(world, KF_EVENT_ANSWER, effect.proposal, world_answer(world, &effect), err);
  else if ((int)kf_rng_below(&world->rng, 100) < world->infra_percent)
    *ret_status = world_input(
        world, KF_EVENT_INFRA, effect.proposal,
        json_pack("{s:I,s:s}", "request", (json_int_t)effect.request, "error", "worker gone"), err);
  else
    *ret_status = world_input(world, KF_EVENT_VERDICT, effect.proposal, world_judge(world, &effect), err);
  return true;
}

static inline kf_status world_start(kf_world *world, kf_err *err) {
  json_t *body = NULL;
  KF_TRY(kf_engine_new(&world->config, &world->engine, err));
  KF_TRY(kf_engine_config_to_json(&world->config, &body, err));
  return world_input(world, KF_EVENT_START, 0, body, err);
}

#endif
