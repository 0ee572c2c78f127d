/* race.h - paired, interleaved timing of two kernels on the judge's clock (docs/internals/evaluator.md,
 * T1 to T5, T11, T12, T15, T16).
 *
 * Block j: fresh inputs (one seed for both sides), then m rounds. A round: all of the inputs (beyond 8 MiB:
 * 1/256 of their cache lines) get new content; each side in turn, first one then the other, has its outputs
 * and temps poisoned, the case's lines flushed, and is asked for one call; then the two outputs are compared
 * within twice the tolerance (the opponent was verified, so a result kept from an earlier call shows). A side
 * is stopped unless it is being timed. Its value is the median of its m calls, less the empty request; m
 * comes from the warm-up and is the same for both sides: a side never learns it. d_j = mean over cases of
 * ln(t_opponent / t_candidate). Builds are stopped by the hooks. */
#ifndef KF_MEASURE_RACE_H
#define KF_MEASURE_RACE_H

#include "base/settings.h"
#include "measure/conditions.h"
#include "measure/disturb.h"
#include "measure/flush.h"
#include "measure/rule.h"
#include "measure/witness.h"
#include "verify/check.h"

enum { KF_RACE_CASES_MAX = KF_SAMPLE_CASES_MAX, KF_RACE_CALLS_MAX = 15, KF_RACE_EMPTIES_MAX = 64 };

/* One side on one case, attached and verified at least once. */
typedef struct {
  kf_runner *runner; /* stopped */
  kf_rig *rig;
  bool watched; /* false at first; whoever frees the runner closes the watch */
  kf_watch watch;
} kf_racer;

typedef struct {
  kf_inputs *inputs;            /* shared by both sides */
  const kf_expected *expected;  /* its tolerance serves for comparing timed outputs; NULL: not compared */
  kf_racer candidate, opponent; /* opponent.runner NULL: the candidate is timed alone */
  /* Filled by the race; zero at first; kept from one call to the next. */
  int64_t candidate_ns, opponent_ns; /* estimates of one call */
  int calls;                         /* m; 0: not warmed up yet */
} kf_race_case;

typedef struct {
  const kf_settings *settings;
  kf_flush flush;
  kf_verdict *verdict;    /* blocks are noted in its samples */
  int process;            /* for the samples */
  int cores;              /* of the machine */
  bool may_start_threads; /* a kernel has no business with threads of its process; the host form may start
                             some */
  int64_t limit_ms;       /* then a race of 6 blocks ends undecided; 0: none */
  uint64_t seed;          /* secret; block seeds come from it */
  void (*before_pair)(void *context); /* builds are stopped here */
  void (*after_pair)(void *context);  /* and continued; the protocol is served */
  bool (*canceled)(void *context);
  void *context;
} kf_race_options;

/* Zero-initialised before the first call for a pair of processes. */
typedef struct {
  bool failed; /* the candidate failed while timed: kind and diagnosis say how */
  kf_verdict_kind kind;
  kf_diagnosis diagnosis;
  bool opponent_failed; /* the opponent did: infrastructure, not the candidate's fault */
  kf_disturb disturb;
  kf_witness witness;                       /* of the candidate */
  int64_t empty_ns[2][KF_RACE_EMPTIES_MAX]; /* the last empty requests of candidate and opponent */
  int empties[2];                           /* so far; more than the maximum overwrite the oldest */
  bool looked_again;                        /* kf_check_second_look was made */
} kf_race_report;

/* Adds blocks to `rule` until it is finished or has `until` blocks (0: until finished). May be called again
 * to go on. KF_ECANCELED when canceled() said so. A first call longer than stop_ratio times the opponent's
 * ends with KF_VERDICT_SLOW in report->kind. */
kf_status kf_race_blocks(kf_race_case *cases, int ncases, const kf_race_options *options, kf_rule *rule,
                         int until, kf_race_report *report, kf_err *err);
/* Times the candidate alone: `blocks` values (fewer if one takes over a second); for choosing the anchor,
 * never for a claim. */
kf_status kf_race_alone(kf_race_case *cases, int ncases, const kf_race_options *options, int blocks,
                        kf_race_report *report, kf_err *err);
/* After either: the candidate's time without flushing, geometric mean over the cases of the median of five
 * calls each. 0 when it failed meanwhile (see report). */
kf_status kf_race_warm(kf_race_case *cases, int ncases, const kf_race_options *options,
                       kf_race_report *report, int64_t *ret_ns, kf_err *err);

#endif
