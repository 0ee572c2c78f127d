/* trial_int.h - what the stages of one judgement share; private to eval/. */
#ifndef KF_EVAL_TRIAL_INT_H
#define KF_EVAL_TRIAL_INT_H

#include "eval/judge.h"

/* A case with the memory of one candidate on it. */
typedef struct {
  kf_inputs *inputs;
  kf_rig *rig;
} kf_trial_case;

typedef struct {
  const kf_judgement *judgement;
  kf_verdict *verdict;
  kf_task_means means;
  uint64_t seed;      /* secret of this judgement: block seeds, order */
  kf_runner *checker; /* the candidate's process for verification */
  char checker_dir[KF_PATH_MAX];
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
/* The candidate on a measure case with `seeds` seeds never used before, every output compared with the oracle's.
 * A failure decides the verdict. */
kf_status kf_trial_recheck(kf_trial *trial, int measure_case, int seeds, kf_err *err);
/* Stage 3: hidden seeds on the measure cases and hidden shapes; new process. */
kf_status kf_trial_hidden(kf_trial *trial, kf_err *err);
void kf_trial_free_checks(kf_trial *trial);

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
