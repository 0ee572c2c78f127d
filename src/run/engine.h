/* engine.h - the search as a deterministic machine: inputs in, decisions out (docs/internals/search.md,
 * docs/formats/run-database.md).
 *
 *   live:    driver appends an input event, calls kf_engine_input, appends the decisions it emits (one
 * transaction), then carries them out resume:  kf_engine_fold over the stored decisions (and the start event)
 * rebuilds the state; pending effects are listed replay:  kf_engine_input over the stored inputs; the emitted
 * bytes must equal the stored decisions
 *
 * No I/O, no clock, no global state. Randomness: Philox(run seed, proposal id, purpose). All comparisons on
 * int64 nano-log units. State changes happen in the fold only: kf_engine_input decides, then folds its own
 * decisions. */
#ifndef KF_RUN_ENGINE_H
#define KF_RUN_ENGINE_H

#include "archive/archive.h"
#include "base/settings.h"
#include "propose/propose.h"
#include "store/store.h"
#include "task/plan.h"

enum { KF_ENGINE_VERSION = 1 };

/* Kinds whose events hold state: the mask for kf_store_scan at resume. Answers and verdicts are left out:
 * what the state needs of them is repeated in the decision that follows. */
#define KF_ENGINE_FOLD_KINDS                                                                                 \
  (1ull << KF_EVENT_START | 1ull << KF_EVENT_CLOCK | 1ull << KF_EVENT_RESUME | 1ull << KF_EVENT_STOP |       \
   1ull << KF_EVENT_PROPOSE | 1ull << KF_EVENT_EVALUATE | 1ull << KF_EVENT_INSERT |                          \
   1ull << KF_EVENT_ANCHOR | 1ull << KF_EVENT_CONFIRM | 1ull << KF_EVENT_FINISH)

typedef struct kf_engine kf_engine;

typedef struct {
  const kf_task *task;
  kf_language language;
  kf_settings settings;
  uint64_t seed;
  int64_t evals_max;   /* 0: no limit */
  int64_t time_max_ms; /* 0: no limit */
  int in_flight;       /* proposals asked or judged at a time, at least 1; a promotion comes on top */
  bool text_proposer;  /* refine and fix (command, mailbox, replay); false: sample and tune (builtin) */
} kf_engine_config;

/* The part of a START body that the engine answers for: engine version, task, language, seed, budget,
 * in_flight, settings. The driver adds its own keys (device, proposer). Caller owns *ret_body. */
kf_status kf_engine_config_to_json(const kf_engine_config *config, json_t **ret_body, kf_err *err);
/* Back, at resume and replay; `config->task` is set by the caller and must have the recorded id (KF_EINVAL),
 * as must the engine version. */
kf_status kf_engine_config_from_json(const json_t *body, kf_engine_config *config, kf_err *err);

/* What an evaluation is for; written into the evaluate decision. */
typedef enum {
  KF_PURPOSE_ADMIT,   /* initial kernel and seeds: verify and time, no opponent */
  KF_PURPOSE_LINK,    /* the anchor against the baseline: the l of T9 */
  KF_PURPOSE_JUDGE,   /* a candidate against the anchor */
  KF_PURPOSE_DUEL,    /* against its cell's elite: decides replacement */
  KF_PURPOSE_PROMOTE, /* stage 3 against the anchor: may become the new anchor */
  KF_PURPOSE_CONFIRM, /* stage 3 against the baseline: the champion */
} kf_purpose;
const char *kf_purpose_name(kf_purpose purpose);
bool kf_purpose_parse(const char *name, kf_purpose *ret_purpose);

/* Called for each decision, in order; body is borrowed. */
typedef kf_status (*kf_engine_emit)(void *context, const kf_event *decision, kf_err *err);

kf_status kf_engine_new(const kf_engine_config *config, kf_engine **ret_engine, kf_err *err);
void kf_engine_free(kf_engine *engine);

/* Decides on one input and folds the decisions. The first input must be START (or RESUME after a fold). An
 * input that cannot be (an answer nobody waits for, an unknown request, a body that does not parse) is
 * KF_EPROTO and changes nothing; after any other failure the engine is to be freed. `task` and the settings
 * are borrowed until kf_engine_free. */
kf_status kf_engine_input(kf_engine *engine, const kf_event *input, kf_engine_emit emit, void *context,
                          kf_err *err);
/* Rebuilds state from stored events, in order (decisions, and those inputs whose facts are state: start,
 * answer, verdict, resume, stop). KF_EPROTO with the sequence number for an event that cannot be. */
kf_status kf_engine_fold(kf_engine *engine, const kf_event *event, kf_err *err);

/* After a fold, before RESUME is given: effects decided but not completed, to be carried out again. Asks by
 * id, then requests by number. */
typedef struct {
  int64_t proposal;
  int64_t request; /* evaluation request, 0: waiting for the proposer's answer */
} kf_pending;
int kf_engine_pending(const kf_engine *engine, kf_pending *ret_pending,
                      int max); /* returns the number there is */

/* A known candidate. Strings live in the engine. */
typedef struct {
  int64_t id, parent; /* parent 0: none */
  kf_emitter emitter;
  bool answered, judged, duplicate_of_known; /* a duplicate shows what its original got */
  bool abandoned;                            /* infrastructure failed, or the proposer did: no verdict */
  bool demoted;                              /* failed a hidden check */
  kf_verdict_kind verdict;
  kf_cell cell;
  int64_t score_nano, half_nano; /* valid when verdict is correct and it was raced */
  bool scored;
  kf_hash source;
  const char *binding;
} kf_candidate;
bool kf_engine_candidate(const kf_engine *engine, int64_t id, kf_candidate *ret_candidate);

/* What a pending evaluation asks of the evaluator. */
typedef struct {
  int64_t request, candidate, against; /* against 0: none */
  kf_purpose purpose;
  int stage;
  bool verified;
  int blocks_min, blocks_max; /* 0: the rule's own */
} kf_evaluation;
bool kf_engine_evaluation(const kf_engine *engine, int64_t request, kf_evaluation *ret_evaluation);

/* Read-only view for progress, reports, prompts. */
typedef struct {
  int64_t evaluated; /* candidates with a verdict; without duplicates, the initial kernel and the baseline */
  int64_t proposed, in_flight;
  int64_t verdicts[KF_VERDICT_COUNT];
  int64_t baseline, anchor,
      champion; /* proposal ids; 0 none yet. Champion: the confirmed one, else the archive's best so far */
  int64_t anchor_link_nano, anchor_half_nano; /* l and h of the present anchor over the baseline */
  int64_t best_nano, best_half_nano;          /* of the archive's best over the baseline; INT64_MIN none */
  bool champion_confirmed;
  int64_t elapsed_ms;
  bool finished;
  const char *finish_reason; /* "" until finished */
  const char
      *finish_outcome; /* "confirmed", "no_gain", "unconfirmed", "refused" (exit 3), "environment" (exit 4) */
  int64_t confirmed_low_nano, confirmed_median_nano,
      confirmed_high_nano; /* of the champion over the baseline */
} kf_engine_stats;
void kf_engine_get_stats(const kf_engine *engine, kf_engine_stats *ret_stats);
const kf_archive *kf_engine_archive(const kf_engine *engine);

#endif
