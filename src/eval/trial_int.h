/* trial_int.h - what the stages of one judgement share; private to eval/. */
#ifndef KF_EVAL_TRIAL_INT_H
#define KF_EVAL_TRIAL_INT_H

#include "eval/judge.h"

/* A case with the memory of one candidate on it. */
typedef struct {
  kf_inputs *inputs;
  kf_rig *rig;
} kf_trial_case;

/* The last checked call: its outputs are looked at once more when kf_trial_settle is called. */
typedef struct {
  bool due;
  kf_rig *rig;
  kf_hash outputs;
  int64_t at_ns;
} kf_trial_look;

typedef struct {
  const kf_judgement *judgement;
  kf_verdict *verdict;
  kf_task_means means;
  uint64_t seed;      /* secret of this judgement: block seeds, order */
  kf_runner *checker; /* the candidate's process for verification */
  char checker_dir[KF_PATH_MAX];
  const kf_rig *attached; /* to the checker; NULL: none yet */
  bool checker_stopped;
  int threads; /* of the checker before its first call; 0: not counted yet */
  kf_trial_look look;
  kf_trial_case check[KF_CASES_MAX];
  /* The race: one process per side and case. */
  kf_race_case race[KF_RACE_CASES_MAX];
  char race_dirs[KF_RACE_CASES_MAX][2][KF_PATH_MAX];
  int nrace;
  int64_t checked_ns[KF_RACE_CASES_MAX]; /* wall time of the first checked call of each measure case */
  kf_rule rule;
  kf_race_report report;
} kf_trial;

/* True once something failed: no further stage is run. */
bool kf_trial_decided(const kf_trial *trial);
/* Records a failure; the diagnosis is copied. */
void kf_trial_fail(kf_trial *trial, kf_verdict_kind kind, const kf_diagnosis *diagnosis, int stage);
void kf_trial_say(kf_trial *trial, const char *what);

/* trial_check.c: verification. */
kf_status kf_trial_start_checker(kf_trial *trial, const kf_artefact *artefact, kf_err *err);
void kf_trial_stop_checker(kf_trial *trial);
kf_status kf_trial_quick(kf_trial *trial, kf_err *err); /* stage 0: two smallest check cases, one poison */
kf_status kf_trial_full(kf_trial *trial,
                        kf_err *err); /* stage 2: all cases, both poisons, repeats, families */
/* The candidate on a measure case with `seeds` seeds never used before, every output compared with the
 * oracle's. A failure decides the verdict. */
kf_status kf_trial_recheck(kf_trial *trial, int measure_case, int seeds, kf_err *err);
/* Stage 3: hidden seeds on the measure cases and hidden shapes; new process. */
kf_status kf_trial_hidden(kf_trial *trial, kf_err *err);
/* The delayed second look at the last checked call, if one is due; waits until it is old enough. Leaves the
 * checker stopped: it does not run beside a race. */
kf_status kf_trial_settle(kf_trial *trial, int stage, kf_err *err);
void kf_trial_free_checks(kf_trial *trial);

/* trial_check.c, for its neighbours. Check case `index`, opened and with its expected data, inputs filled. */
kf_status kf__trial_ready(kf_trial *trial, int index, kf_family family, const kf_expected **ret_expected,
                          kf_err *err);
/* Opens check case `index` if it is not open. */
kf_status kf__trial_open(kf_trial *trial, int index, kf_err *err);
/* One checked call, attached if it is not; decides nothing. */
kf_status kf__trial_call(kf_trial *trial, kf_trial_case *c, const kf_expected *expected,
                         const kf_check_options *options, kf_check_result *ret_result, kf_err *err);
/* One checked call; a failure decides the verdict, and makes the case's line wrong (NULL for hidden cases,
 * which are not listed). */
kf_status kf__trial_check(kf_trial *trial, kf_trial_case *c, const kf_expected *expected,
                          const kf_check_options *options, int stage, kf_case_result *line,
                          kf_check_result *ret_result, kf_err *err);
/* The check case's line in the verdict, added at its first call; NULL when there is no room. */
kf_case_result *kf__trial_line(kf_trial *trial, const kf_inputs *inputs, bool measured);
int64_t kf__trial_elements(const kf_task *task, const kf_case *c); /* of all arguments */

/* trial_families.c */
/* The input families on the largest check case, the stress families on a small one. */
kf_status kf__trial_families(kf_trial *trial, kf_err *err);
/* The precision gate on one case; books verdict->precision. */
kf_status kf__trial_precision(kf_trial *trial, kf_trial_case *c, kf_err *err);
/* The same on the largest check case whose reference is cheap. */
kf_status kf__trial_precision_check(kf_trial *trial, kf_err *err);

/* trial_race.c: timing. */
kf_status kf_trial_open_race(kf_trial *trial, kf_err *err); /* starts the processes of both sides */
void kf_trial_close_race(kf_trial *trial);
kf_status kf_trial_first_blocks(kf_trial *trial, kf_err *err); /* stage 1 */
kf_status kf_trial_race(kf_trial *trial, kf_err *err);         /* stage 2: to the end of the rule */
kf_status kf_trial_alone(kf_trial *trial, kf_err *err);        /* no opponent */
/* A kernel whose checked calls each took over a second is not called again to be timed alone: true if those
 * were booked. */
bool kf_trial_timed_by_check(kf_trial *trial);
/* What the stages of timing share. `salt` 0: stages 1 and 2. */
kf_race_options kf_trial_race_options(const kf_trial *trial, int process, uint64_t salt);
kf_status kf_trial_book_report(kf_trial *trial, int stage, kf_err *err);
/* After the last block of a stage, while the processes still run: the candidate's times with their interval,
 * its warm time, and whether it is faster than memory allows. */
kf_status kf_trial_book_times(kf_trial *trial, int stage, kf_err *err);

/* trial_confirm.c */
kf_status kf_trial_confirm(kf_trial *trial, kf_err *err); /* stage 3: three fresh processes */

/* trial_floor.c: measured times against what memory allows (docs/internals/evaluator.md, T17). */
kf_status kf_trial_check_floor(kf_trial *trial, int stage, kf_err *err);

#endif
