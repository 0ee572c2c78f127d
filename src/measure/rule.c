/* rule.c - the stopping rule of a race. Each added block can only end the race at a look; between looks
 * nothing is read, so the intervals keep their level (docs/internals/evaluator.md, T6). */
#include "measure/rule.h"

#include <math.h>
#include <stdarg.h>

#include "base/banned.h"

/* Pocock's constant level for four looks at 5 % in all: docs/internals/evaluator.md, T6. */
static const double pocock_level = 1 - 0.0182;
static const double single_level = 0.95;
static const double clear_ratio = 1.3; /* a median ratio beyond this either way: 6 blocks are enough (T7) */
static const int looks[] = {8, 12, 24, 48};
enum { FIRST_BLOCKS = 3, SIX_BLOCKS = 6, DROPPED_MIN = 3 };

void kf_rule_init(kf_rule *rule, double delta, double slow_ratio, int blocks_min, int blocks_max) {
  if (blocks_max < 1 || blocks_max > KF_RULE_BLOCKS_MAX) blocks_max = KF_RULE_BLOCKS_MAX;
  if (blocks_min < 0) blocks_min = 0;
  if (blocks_min > blocks_max) blocks_min = blocks_max;
  *rule = (kf_rule){
      .delta = delta,
      .slow_ratio = slow_ratio,
      .blocks_min = blocks_min,
      .blocks_max = blocks_max,
      .interval = {.low = -HUGE_VAL, .high = HUGE_VAL, .level = single_level},
  };
}

static bool is_look(const kf_rule *rule, int count) {
  if (count < rule->blocks_min) return false;
  if (count == rule->blocks_max) return true;
  for (size_t i = 0; i < KF_COUNTOF(looks); i++)
    if (count == looks[i]) return count < rule->blocks_max;
  return false;
}

static double look_level(const kf_rule *rule) {
  int possible = 0;
  for (int count = 1; count <= rule->blocks_max; count++)
    possible += is_look(rule, count);
  return possible > 1 ? pocock_level : single_level;
}

static bool too_many_dropped(int used, int dropped) {
  return dropped >= DROPPED_MIN && dropped * 5 > used + dropped;
}

__attribute__((format(printf, 3, 4))) static void finish(kf_rule *rule, kf_race_outcome outcome,
                                                         const char *fmt, ...) {
  rule->done = true;
  rule->outcome = outcome;
  rule->unstable = too_many_dropped(rule->count, rule->dropped);
  int used = 0;
  if (rule->unstable)
    used = snprintf(rule->why, sizeof rule->why, "unstable conditions: %d of %d blocks dropped; ",
                    rule->dropped, rule->count + rule->dropped);
  va_list args;
  va_start(args, fmt);
  vsnprintf(rule->why + used, sizeof rule->why - (size_t)used, fmt, args);
  va_end(args);
}

/* What the interval of a look lets one say; NONE: not decided. `gain`: the least that counts. */
static kf_race_outcome decide(const kf_interval *interval, double gain) {
  if (interval->low > gain) return KF_RACE_FASTER;
  if (interval->high < -gain) return KF_RACE_SLOWER;
  if (interval->high < gain) return KF_RACE_TIE;
  return KF_RACE_NONE;
}

/* Looks at what is there with the given level; true if that ended the race. */
static bool look(kf_rule *rule, double level, double gain) {
  rule->interval = kf_interval_median(rule->d, rule->count, level);
  kf_race_outcome outcome = decide(&rule->interval, gain);
  double percent = rule->delta * 100;
  switch (outcome) {
  case KF_RACE_FASTER:
    finish(rule, outcome, "more than %.3g %% faster after %d blocks", percent, rule->count);
    return true;
  case KF_RACE_SLOWER:
    finish(rule, outcome, "more than %.3g %% slower after %d blocks", percent, rule->count);
    return true;
  case KF_RACE_TIE:
    finish(rule, outcome, "no gain of %.3g %% after %d blocks", percent, rule->count);
    return true;
  default:
    return false;
  }
}

/* The short race is for clear ratios: where blocks scatter by a third, three of them exceed 1.3 by chance,
 * and three more on the same side follow often. So all six have to show half of that ratio. */
static bool look_at_six(kf_rule *rule) {
  double half = log(clear_ratio) / 2, gain = log1p(rule->delta);
  kf_interval interval = kf_interval_median(rule->d, rule->count, single_level);
  if (interval.low < half && interval.high > -half) return false;
  return look(rule, single_level, gain);
}

/* After the third block: drop a slow candidate, or shorten a clear race. */
static void judge_first_blocks(kf_rule *rule) {
  double median = kf_median(rule->d, rule->count);
  if (rule->slow_ratio > 0 && rule->blocks_min <= rule->count && -median > log(rule->slow_ratio)) {
    rule->interval = kf_interval_median(rule->d, rule->count, single_level);
    finish(rule, KF_RACE_DROPPED, "%.3g times slower in the first %d blocks, dropped at %.3g", exp(-median),
           rule->count, rule->slow_ratio);
    return;
  }
  rule->six = fabs(median) > log(clear_ratio);
}

void kf_rule_add(kf_rule *rule, double d) {
  if (rule->done || rule->count >= rule->blocks_max) return;
  rule->d[rule->count++] = d;
  if (rule->count == FIRST_BLOCKS) judge_first_blocks(rule);
  if (rule->done) return;
  int six_at = rule->blocks_min > SIX_BLOCKS ? rule->blocks_min : SIX_BLOCKS;
  if (rule->six && rule->count == six_at && look_at_six(rule)) return;
  if (is_look(rule, rule->count) && look(rule, look_level(rule), log1p(rule->delta))) return;
  if (rule->count == rule->blocks_max) finish(rule, KF_RACE_TIE, "undecided after %d blocks", rule->count);
}

void kf_rule_drop_block(kf_rule *rule) {
  if (rule->done) return;
  rule->dropped++;
  if (!too_many_dropped(rule->blocks_max, rule->dropped)) return;
  rule->interval = kf_interval_median(rule->d, rule->count, single_level);
  finish(rule, KF_RACE_TIE, "undecided");
}

void kf_rule_time_up(kf_rule *rule) {
  if (rule->done || rule->count < SIX_BLOCKS || rule->count < rule->blocks_min) return;
  rule->interval = kf_interval_median(rule->d, rule->count, single_level);
  finish(rule, KF_RACE_TIE, "undecided after %d blocks, the time of a race was up", rule->count);
}

bool kf_rule_finished(const kf_rule *rule) {
  return rule->done;
}

bool kf_rule_unstable(const kf_rule *rule) {
  return rule->unstable;
}

void kf_rule_result(const kf_rule *rule, kf_race_result *ret_result) {
  kf_interval interval = rule->interval;
  if (!rule->done) interval = kf_interval_median(rule->d, rule->count, single_level);
  ret_result->outcome = rule->done ? rule->outcome : KF_RACE_NONE;
  ret_result->median_nano = kf_ratio_nano(interval.median);
  ret_result->low_nano = kf_ratio_nano(interval.low);
  ret_result->high_nano = kf_ratio_nano(interval.high);
  ret_result->level = interval.level;
  ret_result->blocks = rule->count;
  ret_result->dropped = rule->dropped;
  snprintf(ret_result->why, sizeof ret_result->why, "%s", rule->why);
}
