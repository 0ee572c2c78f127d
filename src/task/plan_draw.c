/* plan_draw.c - drawing bindings: uniform by rejection, and neighbours. Nothing enumerates a space. A binding
 * counts as legal when it can be launched on every check and measure case. */
#include "task/plan_private.h"

#include <string.h>

enum { SAMPLE_DRAWS = 10000, MUTATE_DRAWS = 2000 };

typedef struct {
  const kf_plan *plan;
  const kf_task *task;
  const kf_device_limits *limits;
  kf_value slots[KF__SLOTS];
} drawer;

static bool launchable(drawer *d, const kf_binding *binding, const int64_t *symbols) {
  bool legal = false;
  kf_status status = kf__plan_check(d->plan, binding, symbols, d->limits, d->slots, &legal, NULL);
  return status == KF_OK && legal;
}

static bool legal_everywhere(drawer *d, const kf_binding *binding) {
  for (int i = 0; i < d->task->ncheck; i++)
    if (!launchable(d, binding, d->task->check[i].values)) return false;
  for (int i = 0; i < d->task->nmeasure; i++)
    if (!launchable(d, binding, d->task->measure[i].values)) return false;
  return true;
}

static kf_status none_found(const kf_plan *plan, int draws, kf_err *err) {
  kf_status status = kf_fail(err, KF_ENOTFOUND, "%s: no legal binding in %d draws", plan->name, draws);
  return kf_err_hint(err, status,
                     "the where lines, or the limits of the device, leave too little of the space");
}

kf_status kf_plan_sample(const kf_plan *plan, const kf_task *task, const kf_device_limits *limits,
                         kf_rng *rng, kf_binding *ret_binding, kf_err *err) {
  drawer d = {.plan = plan, .task = task, .limits = limits};
  kf_binding binding;
  kf_plan_default(plan, &binding);
  int draws = kf_plan_space(plan) > 1 ? SAMPLE_DRAWS : 1;
  for (int i = 0; i < draws; i++) {
    for (int p = 0; p < plan->nparams; p++)
      binding.choice[p] = (int16_t)kf_rng_below(rng, (uint64_t)plan->params[p].nchoices);
    if (!legal_everywhere(&d, &binding)) continue;
    *ret_binding = binding;
    return KF_OK;
  }
  return none_found(plan, draws, err);
}

/* A step of 1 with probability 1/2, 2 with 1/4, ... in either direction; words have no order, so any other
 * one. */
static int moved(const kf_param *param, int from, kf_rng *rng) {
  int count = param->nchoices;
  if (param->choices[0].is_word) {
    int to = (int)kf_rng_below(rng, (uint64_t)count - 1);
    return to >= from ? to + 1 : to;
  }
  int step = 1;
  while (step < count - 1 && (kf_rng_u32(rng) & 1) != 0)
    step++;
  bool up = (kf_rng_u32(rng) & 1) != 0;
  int to = up ? from + step : from - step;
  if (to < 0 || to >= count) to = up ? from - step : from + step;
  if (to < 0) return from > 0 ? 0 : count - 1;
  if (to >= count) return from < count - 1 ? count - 1 : 0;
  return to;
}

kf_status kf_plan_mutate(const kf_plan *plan, const kf_task *task, const kf_device_limits *limits,
                         kf_rng *rng, const kf_binding *from, kf_binding *ret_binding, kf_err *err) {
  drawer d = {.plan = plan, .task = task, .limits = limits};
  int movable[KF_PARAMS_MAX], count = 0;
  for (int i = 0; i < plan->nparams; i++) {
    if (from->choice[i] < 0 || from->choice[i] >= plan->params[i].nchoices)
      return kf_fail(err, KF_EBUG, "%s: binding of %s out of range", plan->name, plan->params[i].name);
    if (plan->params[i].nchoices > 1) movable[count++] = i;
  }
  if (count == 0) return kf_fail(err, KF_ENOTFOUND, "%s: no param has a second value", plan->name);
  for (int i = 0; i < MUTATE_DRAWS; i++) {
    kf_binding binding = *from;
    int first = movable[kf_rng_below(rng, (uint64_t)count)];
    binding.choice[first] = (int16_t)moved(&plan->params[first], from->choice[first], rng);
    if (count > 1 &&
        kf_rng_below(rng, 4) == 0) { /* a second one a quarter of the time: ridges of the space */
      int second = movable[kf_rng_below(rng, (uint64_t)count)];
      if (second != first)
        binding.choice[second] = (int16_t)moved(&plan->params[second], from->choice[second], rng);
    }
    if (!legal_everywhere(&d, &binding)) continue;
    *ret_binding = binding;
    return KF_OK;
  }
  return none_found(plan, MUTATE_DRAWS, err);
}
