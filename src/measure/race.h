/* race.h - paired, interleaved timing of two kernels on the judge's clock (docs/internals/evaluator.md,
 * T1 to T5 and T11).
 *
 * Block j: fresh inputs (one seed for both sides), candidate and opponent in random order; each value is the
 * median of m = 3 requests below 20 ms, else one; a request is k calls so that it lasts at least
 * measure.min_wall_us, minus the median empty request; the caches are flushed before each request. d_j = mean
 * over cases of ln(t_opponent / t_candidate). After each pair the two outputs are compared within twice the
 * tolerance: the opponent was verified, so a result kept from an earlier call shows. Between requests the
 * other side is stopped; builds are stopped by the hooks. */
#ifndef KF_MEASURE_RACE_H
#define KF_MEASURE_RACE_H

#include "base/settings.h"
#include "measure/rule.h"
#include "verify/check.h"

enum { KF_RACE_CASES_MAX = 16, KF_RACE_SAMPLES_MAX = 64 };

/* One side on one case, attached and verified at least once. */
typedef struct {
  kf_runner *runner;
  kf_rig *rig;
} kf_racer;

/* What the warm-up learned about one side of a case. */
typedef struct {
  int64_t empty_ns; /* median empty request */
  int64_t call_ns;  /* estimate of one call */
  unsigned calls;   /* k: calls of one request; 0: not warmed up yet */
} kf_race_pace;

typedef struct {
  kf_inputs *inputs;            /* shared by both sides */
  const kf_expected *expected;  /* its tolerance serves for comparing timed outputs; NULL: not compared */
  kf_racer candidate, opponent; /* opponent.runner NULL: the candidate is timed alone */
  kf_race_pace candidate_pace, opponent_pace; /* zero at first; kept from one call to the next */
} kf_race_case;

typedef struct {
  const kf_settings *settings;
  const char *flush;   /* memory that is read to evict what the caches hold; touched before, borrowed */
  int64_t flush_bytes; /* min(2 LLC, measure.flush_max_mib); 0: no flush */
  int64_t limit_ms;    /* then a race of 6 blocks ends undecided; 0: none */
  uint64_t seed;       /* secret; block seeds come from it */
  void (*before_pair)(void *context); /* builds are stopped here */
  void (*after_pair)(void *context);  /* and continued; the protocol is served */
  bool (*canceled)(void *context);
  void *context;
} kf_race_options;

typedef struct {
  bool failed; /* the candidate failed while timed: kind and diagnosis say how */
  kf_verdict_kind kind;
  kf_diagnosis diagnosis;
  bool opponent_failed; /* the opponent did: infrastructure, not the candidate's fault */
  int samples;
  int64_t candidate_ns[KF_RACE_SAMPLES_MAX];               /* geometric mean over cases, one a block */
  int64_t case_ns[KF_RACE_CASES_MAX][KF_RACE_SAMPLES_MAX]; /* the same by case */
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

#endif
