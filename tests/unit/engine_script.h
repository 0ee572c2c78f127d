/* engine_script.h - one engine, answered by hand: what a test says, and the decisions that follow as short
 * text. */
#ifndef KF_TESTS_ENGINE_SCRIPT_H
#define KF_TESTS_ENGINE_SCRIPT_H

#include "engine_world.h"

/* The last decisions, as "propose 5", "evaluate judge 5 vs 2 #7", "insert elite 5", ... */
typedef struct {
  kf_world world;
  char said[4096];
} script;

static inline void note(void *context, const kf_event *decision) {
  script *s = context;
  size_t len = strlen(s->said);
  json_t *body = world_parse(decision);
  char *at = s->said + len;
  size_t room = sizeof s->said - len;
  long long id = (long long)decision->proposal;
  switch (decision->kind) {
  case KF_EVENT_PROPOSE:
    snprintf(at, room, "propose %s %lld|", kf_json_str_or(body, "emitter", ""), id);
    break;
  case KF_EVENT_EVALUATE:
    snprintf(at, room, "%s %lld vs %lld #%lld|", kf_json_str_or(body, "purpose", ""), id,
             (long long)kf_json_int_or(body, "against", -1), (long long)kf_json_int_or(body, "request", -1));
    break;
  case KF_EVENT_INSERT:
    snprintf(at, room, "%s%s %lld|", kf_json_str_or(body, "status", ""),
             json_object_get(body, "duplicate_of") ? " duplicate" : "", id);
    break;
  case KF_EVENT_ANCHOR:
    snprintf(at, room, "anchor %lld %lld+-%lld|", id, (long long)kf_json_int_or(body, "link", -1),
             (long long)kf_json_int_or(body, "half", -1));
    break;
  case KF_EVENT_CONFIRM:
    snprintf(at, room, "%s %lld %s%s|", kf_json_str_or(body, "purpose", ""), id,
             kf_json_bool_or(body, "confirmed", false) ? "yes" : "no",
             kf_json_bool_or(body, "demoted", false) ? " demoted" : "");
    break;
  default:
    snprintf(at, room, "%s %s|", kf_event_name(decision->kind), kf_json_str_or(body, "outcome", ""));
  }
  json_decref(body);
}

static inline int setup(void **state) {
  script *s = kf_calloc(1, sizeof *s);
  if (s == NULL) return -1;
  world_init(&s->world, 11, 100, 1);
  s->world.on_decision = note;
  s->world.context = s;
  *state = s;
  return 0;
}

static inline int teardown(void **state) {
  script *s = *state;
  world_done(&s->world);
  kf_free(s);
  return 0;
}

/* The decisions since the last look. */
static inline void expect(script *s, const char *want) {
  assert_string_equal(s->said, want);
  s->said[0] = '\0';
}

static inline void input(script *s, kf_event_kind kind, int64_t proposal, json_t *body) {
  kf_err err = {0};
  if (world_input(&s->world, kind, proposal, body, &err) != KF_OK) fail_msg("%s", err.msg);
}

static inline void start(script *s) {
  kf_err err = {0};
  if (world_start(&s->world, &err) != KF_OK) fail_msg("%s", err.msg);
}

/* An answer with a text and binding of its own: equal numbers are duplicates. */
static inline void answer(script *s, int64_t id, int number) {
  char source[KF_HASH_HEX], norm[KF_HASH_HEX];
  world_hash(source, "source", number, 0);
  world_hash(norm, "norm", number, 0);
  input(s, KF_EVENT_ANSWER, id,
        json_pack("{s:s,s:s,s:s,s:s}", "status", "ok", "source", source, "norm", norm, "binding", "TILE=1"));
}

typedef struct {
  int64_t request;
  kf_verdict_kind kind;
  int64_t time_ns, median, half;
  kf_cell cell;
  kf_race_outcome outcome;
  bool confirmed;
} judged;

static inline void verdict(script *s, int64_t id, judged j) {
  kf_verdict *v = &s->world.verdict;
  kf_verdict_init(v);
  v->kind = j.kind;
  v->cell = j.cell;
  v->time_ns = j.time_ns;
  v->confirmed = j.confirmed;
  v->race = (kf_race_result){.outcome = j.outcome,
                             .median_nano = j.median,
                             .low_nano = j.median - j.half,
                             .high_nano = j.median + j.half / 2};
  json_t *value = NULL;
  assert_int_equal(kf_verdict_to_json(v, &value, NULL), KF_OK);
  input(s, KF_EVENT_VERDICT, id, json_pack("{s:I,s:o}", "request", (json_int_t)j.request, "verdict", value));
}

static const kf_cell A = {{0, 0, 0, 0}}, B = {{2, 0, 1, 0}};
#define OK_ KF_VERDICT_CORRECT
#define FASTER_ KF_RACE_FASTER

static inline kf_engine_stats stats_of(const script *s) {
  kf_engine_stats stats;
  kf_engine_get_stats(s->world.engine, &stats);
  return stats;
}

static inline kf_candidate candidate(const script *s, int64_t id) {
  kf_candidate c;
  assert_true(kf_engine_candidate(s->world.engine, id, &c));
  return c;
}

/* Kernel and one seed; the seed is 10x faster and becomes the anchor: l = 2.302 +- 0.003, cells A and B. */
static inline void start_search(script *s) {
  s->world.task.nseeds[KF_LANG_OPENCL] = 1;
  start(s);
  answer(s, 1, 1);
  verdict(s, 1, (judged){.request = 1, .kind = OK_, .time_ns = 1000, .cell = A});
  answer(s, 2, 2);
  verdict(s, 2, (judged){.request = 2, .kind = OK_, .time_ns = 100, .cell = B});
  expect(
      s,
      "propose seed 1|admit 1 vs 0 #1|admitted 1|propose seed 2|admit 2 vs 0 #2|admitted 2|link 2 vs 1 #3|");
  verdict(
      s, 2,
      (judged){
          .request = 3, .kind = OK_, .median = 2302000000, .half = 3000000, .cell = B, .outcome = FASTER_});
  s->said[0] = '\0';
}

#endif
