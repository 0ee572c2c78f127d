/* run.h - a whole search: store, engine, proposers and evaluator joined (src/run/README.md). The only place
 * where the loop closes.
 *
 *   world event -> one transaction {input, decisions} -> effects (asks, judge requests) carried out after the
 * commit
 *
 * So what was committed was decided, and what was decided is carried out again by a resumed run: `kill -9` at
 * any moment loses at most what was in flight. One run a process at a time: it handles SIGINT and SIGTERM and
 * ignores SIGPIPE. */
#ifndef KF_RUN_RUN_H
#define KF_RUN_RUN_H

#include "dist/evaluator.h"
#include "run/engine.h"

enum {
  KF_RUN_PROPOSERS_MAX = 16,
  KF_RUN_ID_CHARS = 64,
  KF_RUN_ID_MAX = KF_RUN_ID_CHARS + 1,
  KF_RUN_TEXT_MAX = 512
};

/* What is shown while a run goes on. Borrowed during the callback. */
typedef struct {
  const char *run_id;
  kf_engine_stats stats;
  int64_t evals_max;     /* 0: no limit */
  int64_t time_max_ms;   /* 0: no limit */
  int64_t elapsed_ms;    /* the run's clock, over all its sessions */
  int64_t time_left_ms;  /* until the nearest budget at the pace so far; -1 unknown */
  int cells;             /* filled */
  const char *activity;  /* what kf-eval does, "" nothing known */
  bool draining;         /* asked to stop: waits for what is being measured */
  int64_t evaluator_pid; /* kf-eval; 0: none */
  const char *notice;    /* something to be told once ("kf-eval was restarted: ..."), or NULL */
} kf_run_view;

typedef struct {
  const char *task_path; /* folder or task.yaml; not for resume */
  const char *resume;    /* path of a run database to go on with, or NULL */
  const char *db_path;   /* of the new run; NULL: RUN_ID.db in runs_dir */
  const char *runs_dir;  /* NULL: .kf/runs */
  const char *device;    /* "opencl:0"; NULL: the first judged on that runs the task (resume: as before) */
  const char *language;  /* NULL: the first of the task's languages that the device runs */
  const char *const *proposers; /* specs (propose.h) */
  int nproposers;      /* 0: builtin (resume: KF_EINVAL if it had others, with a hint that names them) */
  int64_t evals_max;   /* candidates judged; 0: no limit; resume: -1 as before */
  int64_t time_max_ms; /* 0: no limit; resume: -1 as before */
  uint64_t seed;
  const kf_settings *settings; /* of the new run; NULL: defaults */
  bool null_evaluator;         /* verdicts without a device: bench and tests */
  int64_t max_inputs;          /* > 0: stop after so many inputs, as if interrupted (tests) */
  void (*on_view)(void *context, const kf_run_view *view); /* after every input; may be NULL */
  void *context;
} kf_run_options;

typedef struct {
  char run_id[KF_RUN_ID_MAX];
  char db_path[4096];
  bool interrupted; /* by a signal: exit code 5, and resumable */
  bool finished;
  char reason[KF_RUN_TEXT_MAX], outcome[16]; /* of the engine's FINISH; "" until finished */
  kf_engine_stats stats;                     /* its text pointers are those two */
  int cells;
  int restarts; /* of kf-eval */
  /* of the champion, or of the best candidate; "" none */
  char best_source[KF_HASH_HEX], best_binding[256];
} kf_run_result;

/* Runs or resumes until the engine finishes, a signal stops it, or something of ours fails (the failure says
 * so; what was committed stays and can be resumed). KF_EREFUSED: the task; KF_ENODEV: no device for it.
 * *ret_result is filled as far as known on failures too. */
kf_status kf_run(const kf_run_options *options, kf_run_result *ret_result, kf_err *err);

/* What `kf run --dry-run` tells, after judging one kernel of the task against itself. */
typedef struct {
  char device[64], device_name[128], language[16];
  char kernel[256];        /* path of the kernel that was judged */
  kf_verdict_kind verdict; /* of it */
  char why[400];           /* its diagnosis, when it is not correct */
  int64_t total_ms;        /* of that evaluation */
  double evals_per_minute;
  double smallest_gain; /* 0.012 = 1.2 %: what a full race can still tell from noise */
  double noise;         /* standard deviation of a block's log ratio; 0: unknown */
  int blocks;
  int nproposers;
  char proposers[KF_RUN_PROPOSERS_MAX][64];
  char discloses[KF_RUN_PROPOSERS_MAX][256]; /* what leaves this machine, by proposer */
} kf_run_forecast;
kf_status kf_run_dry(const kf_run_options *options, kf_run_forecast *ret_forecast, kf_err *err);

/* Feeds the stored inputs of a run to a fresh engine and compares its decisions with the stored ones, byte by
 * byte. A difference is a result, not a failure. No device, no proposer. */
typedef struct {
  int64_t inputs, decisions; /* compared */
  bool same;
  int64_t seq; /* of the first difference: the stored event, or the input that led to it; 0 none */
  char what[KF_RUN_TEXT_MAX];           /* one line: which decision, where the texts part */
  int64_t stored_version, this_version; /* of the engine */
} kf_run_comparison;
kf_status kf_run_replay(const char *db_path, kf_run_comparison *ret_comparison, kf_err *err);

/* A recorded run, read back: the body of its START event (KF_EINVAL when it never began), and the task that
 * was stored with it. Both are the caller's. */
kf_status kf_run_read_start(kf_store *store, json_t **ret_start, kf_err *err);
/* Its run id, which is printed and typed: KF_RUN_ID_CHARS of [A-Za-z0-9_.-] at most, else KF_EPROTO. */
kf_status kf_run_read_id(const json_t *start, char ret_id[KF_RUN_ID_MAX], kf_err *err);
/* Appends " --proposer 'SPEC'" for each, cleaned and quoted for a shell: what a resumed run is to be given
 * again, because a database does not get to say which programs are started. */
kf_status kf_run_proposer_options(const char *const *specs, int count, kf_buf *buf, kf_err *err);
kf_status kf_run_read_task(kf_store *store, const json_t *start, kf_task **ret_task, kf_err *err);

#endif
