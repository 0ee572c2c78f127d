/* rule.h - when may a race stop, and what may then be said (docs/internals/evaluator.md, T6 to T8). An
 * object: init, add, finished, why.
 *
 * d_j = ln(t_opponent / t_candidate) of block j: positive = the candidate is faster.
 *
 * - After 3 blocks: median ratio worse than slow_ratio -> DROPPED (only if allowed); a median beyond
 *   1.3 either way -> the rule becomes "6 blocks, ranks 1 and 6" (95 %).
 * - Else looks at 8, 12, 24, 48 with the four-look Pocock level 0.0182, ranks (1,8) (2,11) (6,19) (16,33):
 *   FASTER when low > ln(1+delta); not faster when high < ln(1+delta): SLOWER if also high < -ln(1+delta),
 *   else TIE. Undecided at 48: TIE.
 *   Six blocks decide only if all of them are beyond the root of 1.3; else they are looked at again at 8 and
 *   later.
 * - A blocks_max that is no look is the last look. Where min and max leave one look only, its level is 95 %.
 * - More than 20 % dropped blocks (3 or more): why begins with "unstable conditions", kf_rule_unstable holds.
 *   A race that cannot come below that share any more stops as an undecided TIE.
 *
 * Plain data; no clock, no randomness. Threads: pure. */
#ifndef KF_MEASURE_RULE_H
#define KF_MEASURE_RULE_H

#include "measure/stats.h"
#include "wire/verdict.h"

enum { KF_RULE_BLOCKS_MAX = 48 };

typedef struct {
  double delta;      /* 0.01 */
  double slow_ratio; /* 1.3; 0: never drop */
  int blocks_min;    /* at least this many whatever happens (links: 6; stage 3: 24), 0 */
  int blocks_max;    /* at most this many, 48 */
  double d[KF_RULE_BLOCKS_MAX];
  int count, dropped;
  bool six;      /* the 6-block rule is in force */
  bool unstable; /* set when finished: see kf_rule_unstable */
  bool done;
  kf_race_outcome outcome;
  kf_interval interval;
  char why[160];
} kf_rule;

void kf_rule_init(kf_rule *rule, double delta, double slow_ratio, int blocks_min, int blocks_max);
void kf_rule_add(kf_rule *rule, double d);
void kf_rule_drop_block(kf_rule *rule); /* a disturbed block: counted, not used */
/* Time is up: ends the race as an undecided tie if at least 6 blocks (and blocks_min) are there. */
void kf_rule_time_up(kf_rule *rule);
bool kf_rule_finished(const kf_rule *rule);
/* More than 20 % of the blocks (3 or more) were dropped: the verdict `unstable`
 * (docs/internals/evaluator.md, T12). True only once finished. */
bool kf_rule_unstable(const kf_rule *rule);
/* Fills outcome, median, interval, level, blocks, dropped, why. Before it finished: outcome NONE and the 95 %
 * interval so far. Leaves `against` and `against_binding` alone. */
void kf_rule_result(const kf_rule *rule, kf_race_result *ret_result);

#endif
