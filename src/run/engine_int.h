/* engine_int.h - the engine's state, shared by the files engine*.c.
 *
 *   engine.c          new, free, the order of one input, decisions out
 *   engine_decide.c   what an answer, a verdict or a failure leads to
 *   engine_advance.c  what is due next: seeds, anchor, promotion, proposals, confirmation, end
 *   engine_propose.c  emitter, parent, target and inspirations of a proposal
 *   engine_fold.c     the only place where state changes
 *   engine_body.c     event bodies: reading and writing
 *   engine_table.c    candidates, interned texts, sets by hash
 *   engine_view.c     read-only views */
#ifndef KF_RUN_ENGINE_INT_H
#define KF_RUN_ENGINE_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "run/engine.h"

enum {
  KF_ENGINE_BODY_MAX = 64 * 1024, /* a decision's body */
  KF_ENGINE_INPUT_MAX = 8 * 1024 * 1024,
  KF_ENGINE_RETRIES = 3,     /* of a request after infrastructure failures */
  KF_ENGINE_UNANSWERED = 32, /* answers without a proposal in a row: nothing new */
  KF_ENGINE_DUPLICATES = 64, /* duplicates in a row: the space is exhausted */
  KF_ENGINE_ABANDONED = 16,  /* candidates lost to infrastructure in a row: the environment is broken */
  KF_ENGINE_CONFIRM_TRIES = 5,
  KF_ENGINE_LINK_BLOCKS = 6, /* docs/internals/search.md, The course of a run */
};

/* Log ratios beyond e^100 are no measurements; with this bound sums and squares cannot overflow. */
#define KF_ENGINE_NANO_MAX INT64_C(100000000000)

typedef enum {
  KF_STATE_ASKED,    /* waits for the proposer */
  KF_STATE_OPEN,     /* waits for admission, judgement or a duel */
  KF_STATE_ADMITTED, /* verified and timed; waits for the anchor */
  KF_STATE_DONE,
} kf_engine_state;

enum {
  KF_FLAG_VERDICT = 1, /* `verdict` is set and counted */
  KF_FLAG_SCORED = 2,  /* cell, score, half, low and raced are set */
  KF_FLAG_DEMOTED = 4,
  KF_FLAG_PROMOTED = 8, /* promotion was tried */
  KF_FLAG_ABANDONED = 16,
  KF_FLAG_SEED = 32,
};

/* One candidate; about 100 bytes, since 100,000 of them have to fit easily. Indexed by id - 1. */
typedef struct {
  int64_t score_nano, half_nano; /* D and h over the baseline */
  int64_t low_nano;              /* of d over `raced` */
  int64_t time_ns;               /* seeds: as admitted */
  kf_hash norm;
  uint32_t parent, raced, duplicate_of;
  uint32_t source, binding; /* interned; 0 = none */
  kf_cell cell;
  uint8_t emitter, verdict, state, flags;
} kf_record;

/* A set of small numbers, found by what they stand for. */
typedef struct {
  uint32_t *slots; /* item + 1; 0 = free */
  size_t room, used;
} kf_index;

typedef struct {
  int64_t id, link_nano, half_nano;
} kf_anchor;

typedef struct {
  kf_evaluation ask;
  int retry;
} kf_request;

struct kf_engine {
  kf_engine_config config;
  int64_t anchor_ratio_nano;
  int nseeds;                /* proposals 1..nseeds come from the task's files */
  int64_t initial, baseline; /* among them; 0 = the task has no such kernel */
  bool started, stopped, finished;
  int64_t elapsed_ms;

  KF_VEC(kf_record) candidates;
  KF_VEC(kf_hash) sources;
  KF_VEC(const char *) bindings;
  kf_index by_norm, by_source, by_binding;
  kf_arena texts;
  KF_VEC(uint32_t) correct;  /* ids, in the order they were inserted */
  KF_VEC(int64_t) asks;      /* ids, ascending */
  KF_VEC(kf_request) open;   /* by request number */
  KF_VEC(kf_anchor) anchors; /* the last one is in use */
  int64_t next_request;
  kf_archive *archive;

  int64_t evaluated, verdicts[KF_VERDICT_COUNT];
  int duplicates, unanswered, abandoned; /* streaks */
  int confirm_tries;
  int64_t champion;
  bool champion_confirmed;
  int64_t confirmed_low, confirmed_median, confirmed_high;
  char finish_reason[512], finish_outcome[16];

  /* of the input being decided */
  kf_engine_emit emit;
  void *emit_context;
  int64_t at_ms;
  kf_buf body;
  kf_verdict *verdict; /* scratch: too large for the stack */
};

/* ---- engine.c ---- */

/* Emits one decision and folds it. Takes `body`. */
kf_status kf__engine_decide(kf_engine *engine, kf_event_kind kind, int64_t proposal, json_t *take_body,
                            kf_err *err);

/* ---- engine_decide.c ---- */

kf_status kf__engine_answer(kf_engine *engine, int64_t id, const json_t *body, kf_err *err);
kf_status kf__engine_verdict(kf_engine *engine, int64_t id, const json_t *body, kf_err *err);
kf_status kf__engine_infra(kf_engine *engine, int64_t id, const json_t *body, kf_err *err);

typedef struct {
  int64_t id, against, closes;
  kf_purpose purpose;
  int stage, retry, blocks_min;
  bool verified;
  const char *source, *binding, *norm; /* NULL but after an answer */
  bool scored;                         /* a duel: the score of the judgement */
  kf_cell cell;
  kf_entry entry;
  int64_t low_nano, raced;
} kf_evaluate;
kf_status kf__engine_evaluate(kf_engine *engine, const kf_evaluate *what, kf_err *err);

typedef struct {
  int64_t id, closes;
  const char *status; /* kf_insert_name, or "admitted", "abandoned", "unanswered" */
  const char *why;    /* NULL: nothing to say */
  bool judged;        /* verdict is set */
  kf_verdict_kind verdict;
  bool placed; /* cell is set */
  kf_cell cell;
  bool scored;
  kf_entry entry;
  int64_t low_nano, raced;
  bool graded;
  int64_t grade_nano;
  int64_t time_ns; /* admitted */
  int64_t duplicate_of;
  const char *source, *binding, *norm; /* a duplicate's own */
} kf_insert;
kf_status kf__engine_insert(kf_engine *engine, const kf_insert *what, kf_err *err);
/* Puts a scored candidate into its cell, or asks for the duel that decides. `raced`: the opponent of
 * `outcome`. */
kf_status kf__engine_place(kf_engine *engine, kf_insert *what, int64_t raced, kf_race_outcome outcome,
                           bool last, kf_err *err);
kf_status kf__engine_anchor(kf_engine *engine, const kf_anchor *anchor, int64_t closes, kf_err *err);

/* ---- engine_advance.c ---- */

/* Decides what is due after an input. */
kf_status kf__engine_advance(kf_engine *engine, kf_err *err);
const kf_anchor *kf__engine_anchor_of(const kf_engine *engine,
                                      int64_t id); /* the last entry of `id`, NULL if none */
int64_t kf__engine_half(int64_t a, int64_t b);     /* floor of sqrt(a^2 + b^2) */
int64_t kf__engine_other_half(int64_t whole,
                              int64_t part); /* floor of sqrt(whole^2 - part^2), part <= whole */
int64_t kf__engine_clamp(int64_t nano);

/* ---- engine_propose.c ---- */

kf_status kf__engine_propose(kf_engine *engine, kf_err *err);
kf_status kf__engine_propose_seed(kf_engine *engine, kf_err *err);

/* ---- engine_fold.c ---- */

kf_status kf__engine_apply(kf_engine *engine, kf_event_kind kind, const json_t *body, kf_err *err);
const kf_request *kf__engine_request(const kf_engine *engine, int64_t request);

/* ---- engine_body.c ---- */

/* An object under construction; one failure spoils it and is reported by finish. */
typedef struct {
  json_t *object;
  bool failed;
} kf_body;
void kf__body_begin(kf_body *body);
void kf__body_int(kf_body *body, const char *key, int64_t value);
void kf__body_bool(kf_body *body, const char *key, bool value);
void kf__body_text(kf_body *body, const char *key, const char *text);
void kf__body_cell(kf_body *body, const char *key, const kf_cell *cell);
void kf__body_value(kf_body *body, const char *key, json_t *take_value);
kf_status kf__body_finish(kf_body *body, json_t **ret_object, kf_err *err);

/* KF_EPROTO unless the number is there and in [min, max]. */
kf_status kf__body_range(const json_t *body, const char *key, int64_t min, int64_t max, int64_t *ret_value,
                         kf_err *err);
kf_status kf__body_get_cell(const json_t *body, const char *key, kf_cell *ret_cell, kf_err *err);

/* ---- engine_table.c ---- */

kf_record *kf__engine_record(const kf_engine *engine, int64_t id); /* NULL if there is none */
/* The candidate known by this normalised hash, 0 if none; abandoned ones do not count. */
int64_t kf__engine_known(const kf_engine *engine, const kf_hash *norm);
kf_status kf__engine_learn_norm(kf_engine *engine, int64_t id, kf_err *err);
kf_status kf__engine_intern_source(kf_engine *engine, const kf_hash *hash, uint32_t *ret_index, kf_err *err);
kf_status kf__engine_intern_binding(kf_engine *engine, const char *text, uint32_t *ret_index, kf_err *err);
const kf_hash *kf__engine_source(const kf_engine *engine, const kf_record *record); /* NULL if none */
const char *kf__engine_binding(const kf_engine *engine, const kf_record *record);   /* "" if none */
void kf__engine_tables_done(kf_engine *engine);

#endif
