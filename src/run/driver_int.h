/* driver_int.h - private to driver*.c: the state of one running search.
 *
 *   driver.c          opening, the loop, signals, the end
 *   driver_input.c    one input: its transaction, and the effects it leaves
 *   driver_ask.c      proposals: seeds, asks, answers
 *   driver_eval.c     judge requests, results, a lost kf-eval
 *   driver_record.c   the task and its run in the database: START, and back
 *   driver_source.c   sources by hash, kept for a while
 *   driver_dry.c      the dry run */
#ifndef KF_RUN_DRIVER_INT_H
#define KF_RUN_DRIVER_INT_H

#include "base/vec.h"
#include "propose/plan_cache.h"
#include "run/run.h"

enum {
  KF_DRIVER_SHOWN_MAX = 8,
  KF_DRIVER_SOURCES = 16,
  /* One more than a request is retried: what kills kf-eval every time is given up before the run is. */
  KF_DRIVER_RESTARTS = 4,
  KF_DRIVER_BODY_MAX = 4 << 20,
};

/* A decision to be carried out. */
typedef struct {
  int64_t proposal;
  int64_t request; /* 0: an ask */
} kf__effect;

/* What a PROPOSE decision says. */
typedef struct {
  int64_t id, parent;
  kf_emitter emitter;
  char file[256]; /* seeds */
  char target[KF_CELL_TEXT];
  int64_t shown[KF_DRIVER_SHOWN_MAX];
  int nshown;
} kf__proposal;

typedef struct {
  kf_hash hash;
  char *bytes;
  size_t len;
  uint64_t used;
} kf__source;

typedef struct kf__driver {
  kf_run_options options;
  uv_loop_t loop;
  kf_store *store;
  kf_task *task;
  kf_engine *engine;
  kf_engine_config config;
  char run_id[KF_RUN_ID_MAX], db_path[4096];
  bool loop_open, stopping, stop_now;

  kf_evaluator *evaluator;
  kf_device_info device;
  bool evaluator_lost;
  bool other_device; /* than at START: what was verified there is verified again */
  kf_err lost_error;
  int restarts_in_a_row, restarts;

  kf_proposer *proposers[KF_RUN_PROPOSERS_MAX];
  char *specs[KF_RUN_PROPOSERS_MAX];
  int nproposers;

  KF_VEC(kf__effect) effects; /* decided and committed, not begun; from `effects_done` on */
  size_t effects_done;
  KF_VEC(int64_t) asks;     /* proposals that wait for an answer */
  KF_VEC(int64_t) requests; /* submitted to the evaluator */
  kf_plan_cache plans;
  kf__source sources[KF_DRIVER_SOURCES];
  uint64_t sources_clock;
  kf_buf scratch;

  int64_t clock_start_ms; /* kf_now_ms at which this session began */
  int64_t clock_base_ms;  /* the run's clock then */
  int64_t pace_from_ms,
      pace_from_evals; /* from where the pace is taken: after the seeds' long first races; 0: not yet */
  uv_timer_t tick, budget;
  uv_signal_t sigint, sigterm;
  int64_t inputs; /* of this session */
  char activity[96];
  kf_status status; /* the failure that ends the run */
  kf_err *err;      /* the caller's */
} kf__driver;

/* ---- driver.c ---- */

int64_t kf__driver_now_ms(const kf__driver *driver);
/* The first failure ends the run. */
void kf__driver_fail(kf__driver *driver, kf_status status, const kf_err *error);
void kf__driver_show(kf__driver *driver, const char *notice);
/* Opens what options and START name; used by the dry run too. */
kf_status kf__driver_open_evaluator(kf__driver *driver, kf_err *err);
kf_status kf__driver_choose_device(kf__driver *driver, const char *wanted, const char *language, kf_err *err);
kf_status kf__driver_open_proposers(kf__driver *driver, kf_err *err);
kf_status kf__driver_init(kf__driver *driver, const kf_run_options *options, kf_err *err);
/* Closes everything and runs the loop until all handles are gone. */
void kf__driver_done(kf__driver *driver);

/* ---- driver_input.c ---- */

/* Appends the input and the engine's decisions in one transaction and queues the effects. Failures end the
 * run. Takes `body` (NULL: {}). */
void kf__driver_input(kf__driver *driver, kf_event_kind kind, int64_t proposal, json_t *take_body);
/* The same within a transaction that the caller has begun, after storing blobs; commits or rolls back. */
kf_status kf__driver_input_joined(kf__driver *driver, kf_event_kind kind, int64_t proposal, json_t *take_body,
                                  kf_err *err);
/* Carries out what is queued. */
void kf__driver_pump(kf__driver *driver);

/* ---- driver_ask.c ---- */

void kf__driver_ask(kf__driver *driver, int64_t proposal);
void kf__driver_on_answer(void *context, const kf_answer *answer);
/* Gives up on everything that waits for an answer: the time is over. */
void kf__driver_expire_asks(kf__driver *driver);
bool kf__driver_forget(int64_t *items, size_t *count, int64_t value);

/* ---- driver_eval.c ---- */

/* false: not now, the evaluator is to be restarted first. */
bool kf__driver_evaluate(kf__driver *driver, int64_t request);
extern const kf_eval_callbacks kf__driver_eval_callbacks; /* context to be filled in */
/* Outside callbacks: opens a new kf-eval when the last one was lost. */
void kf__driver_restart_evaluator(kf__driver *driver);

/* ---- driver_record.c ---- */

kf_status kf__record_start(kf__driver *driver, json_t **ret_body, kf_err *err);
/* Reads START of an opened store: task, config, device and proposer specs. */
kf_status kf__record_read(kf__driver *driver, kf_err *err);
/* Feeds the stored decisions to the engine. */
kf_status kf__record_fold(kf__driver *driver, kf_err *err);
kf_status kf__record_proposal(kf__driver *driver, int64_t id, kf__proposal *ret_proposal, kf_err *err);
/* The last verdict that the log has of a candidate; false: none. */
kf_status kf__record_verdict(kf__driver *driver, int64_t id, kf_verdict *ret_verdict, bool *ret_found,
                             kf_err *err);

/* ---- driver_source.c ---- */

/* Bytes of a stored source, borrowed until KF_DRIVER_SOURCES - 1 others were asked for. NUL-terminated. */
kf_status kf__source_get(kf__driver *driver, const kf_hash *hash, const char **ret_bytes, size_t *ret_len,
                         kf_err *err);
void kf__source_remember(kf__driver *driver, const kf_hash *hash, const char *bytes, size_t len);
void kf__sources_done(kf__driver *driver);

#endif
