/* race_int.h - private to race*.c. */
#ifndef KF_MEASURE_RACE_INT_H
#define KF_MEASURE_RACE_INT_H

#include "base/philox.h"
#include "measure/race.h"

typedef struct {
  const kf_race_options *options;
  kf_race_report *report;
  uint64_t block_seed;
  kf_rng rng;     /* of the block: poisons, sampled elements */
  kf_cores cores; /* held while calls are made */
} kf__race;

typedef struct {
  int64_t wall_ns, child_ns; /* wall without the empty request, > 0 */
  kf_waited waited;
} kf__call;

static inline bool kf__race_over(const kf__race *race) {
  return race->report->failed || race->report->opponent_failed;
}

/* Watches a racer's threads; call before the first use of its runner. */
void kf__race_watch(const kf__race *race, kf_racer *racer);
/* One call, cold or as it comes: poison, flush, run, stop, guards. The runner is stopped before and after.
 * `deadline_ns` 0: the runner's own limit. On a failure the report says whose it is and *ret_call is not set.
 */
kf_status kf__race_call(kf__race *race, const kf_race_case *c, kf_racer *racer, bool cold,
                        int64_t deadline_ns, kf__call *ret_call, kf_err *err);
/* One empty request, added to the report's. */
kf_status kf__race_empty(kf__race *race, const kf_race_case *c, kf_racer *racer, kf_err *err);
/* The candidate's outputs against the opponent's after calls on the same inputs: all elements, or some 4096
 * spread over the array, drawn anew each time. */
kf_status kf__race_compare(kf__race *race, const kf_race_case *c, bool all, kf_err *err);

#endif
