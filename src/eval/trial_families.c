/* trial_families.c - input families, stress inputs and the precision gate of stage 2; see trial_int.h and
 * docs/internals/evaluator.md, Inputs. All families of a case share one attached rig: a family costs one fill
 * and one call. */
#include "eval/trial_int.h"

#include <stdio.h>
#include <string.h>

enum { SMALL_INPUT = 64, GATE_ELEMENTS = 1 << 17 };

static bool is_real_input(const kf_arg_spec *arg) {
  return (arg->role == KF_ROLE_IN || arg->role == KF_ROLE_INOUT) && kf_type_is_float(arg->type) &&
         (arg->fill.kind == KF_FILL_NORMAL || arg->fill.kind == KF_FILL_UNIFORM);
}

/* The first argument that families change; -1: none, so that families change nothing. */
static int first_real(const kf_task *task) {
  for (int a = 0; a < task->nargs; a++)
    if (is_real_input(&task->args[a])) return a;
  return -1;
}

/* Largest check case; with a limit (0: none) the largest within it, else the smallest of all. */
static int largest_case(const kf_task *task, int64_t limit) {
  int best = -1, smallest = 0;
  for (int i = 0; i < task->ncheck; i++) {
    int64_t size = kf__trial_elements(task, &task->check[i]);
    if (size < kf__trial_elements(task, &task->check[smallest])) smallest = i;
    if (limit > 0 && size > limit) continue;
    if (best < 0 || size > kf__trial_elements(task, &task->check[best])) best = i;
  }
  return best < 0 ? smallest : best;
}

/* Smallest check case that still has something to cancel, tie or place a NaN in. */
static int small_case(const kf_task *task, int arg) {
  int best = -1;
  for (int i = 0; i < task->ncheck; i++) {
    int64_t elements = 0, shape[KF_RANK_MAX];
    if (kf_task_elements(task, arg, task->check[i].values, &elements, shape, NULL) != KF_OK) continue;
    if (elements < SMALL_INPUT) continue;
    if (best < 0 || kf__trial_elements(task, &task->check[i]) < kf__trial_elements(task, &task->check[best]))
      best = i;
  }
  return best < 0 ? largest_case(task, 0) : best;
}

static void name_inputs(kf_diagnosis *diagnosis, kf_family family) {
  size_t used = strlen(diagnosis->where);
  snprintf(diagnosis->where + used, sizeof diagnosis->where - used, ", inputs %s", kf_family_name(family));
}

static kf_status check_family(kf_trial *trial, int index, kf_family family, kf_err *err) {
  const kf_expected *expected = NULL;
  kf_check_result result;
  const kf_check_options options = {.pattern = (int)family & 1};
  KF_TRY(kf__trial_ready(trial, index, family, &expected, err));
  kf_trial_case *c = &trial->check[index];
  KF_TRY(kf__trial_check(trial, c, expected, &options, 2, kf__trial_line(trial, c->inputs, false), &result,
                         err));
  if (kf_trial_decided(trial)) name_inputs(&trial->verdict->diagnosis, family);
  return KF_OK;
}

kf_status kf__trial_families(kf_trial *trial, kf_err *err) {
  const kf_task *task = trial->judgement->state->task;
  int arg = first_real(task);
  if (task->ncheck == 0 || arg < 0) return KF_OK;
  int small = small_case(task, arg), largest = largest_case(task, 0);
  for (int f = KF_FAMILY_STRESS; f < KF_FAMILY_COUNT && !kf_trial_decided(trial); f++)
    KF_TRY(check_family(trial, small, (kf_family)f, err));
  for (int f = KF_FAMILY_UNIFORM_SYMMETRIC; f < KF_FAMILY_STRESS && !kf_trial_decided(trial); f++)
    KF_TRY(check_family(trial, largest, (kf_family)f, err));
  return KF_OK;
}

static void fail_precision(kf_trial *trial, const kf_trial_case *c, const kf_precision *precision, int arg) {
  kf_diagnosis diagnosis = {.kind = "precision"};
  const kf_precision_result *result = &trial->verdict->precision;
  const char *name = c->inputs->task->args[arg].name;
  snprintf(diagnosis.where, sizeof diagnosis.where, "%.40s of %.90s", name, c->inputs->case_text);
  name_inputs(&diagnosis, KF_FAMILY_NORMAL);
  snprintf(diagnosis.text, sizeof diagnosis.text,
           "the errors of %.40s are those of a computation in a lower precision than %s", name,
           kf_type_name(c->inputs->task->args[arg].type));
  snprintf(
      diagnosis.evidence, sizeof diagnosis.evidence,
      "rms error %.3g, at most %.3g; an honest computation has %.3g, inputs rounded one step lower give %.3g",
      result->rms, result->limit, precision->high[arg], precision->low[arg]);
  kf_trial_fail(trial, KF_VERDICT_IMPRECISE, &diagnosis, 2);
}

/* The worse of two results counts; what can be seen on one case only is seen. */
static void book_precision(kf_verdict *verdict, const kf_precision_result *result) {
  kf_precision_result *booked = &verdict->precision;
  bool seen = booked->state == KF_PRECISION_PASSED || booked->state == KF_PRECISION_FAILED;
  if (seen && result->state == KF_PRECISION_UNOBSERVABLE) return;
  if (seen && result->rms * booked->limit <= booked->rms * result->limit) return;
  *booked = *result;
}

kf_status kf__trial_precision(kf_trial *trial, kf_trial_case *c, kf_err *err) {
  const kf_precision *precision = NULL;
  kf_precision_sum sum = {0};
  int arg = -1;
  KF_TRY(kf_task_precision(trial->judgement->state, &trial->means, c->inputs, &precision, err));
  if (!precision->applies) return KF_OK;
  for (int d = 0; d < precision->ndraws && precision->observable && !kf_trial_decided(trial); d++) {
    kf_check_result result;
    const kf_check_options options = {
        .pattern = d & 1, .precision = precision, .draw = d, .precision_sum = &sum};
    KF_TRY(kf_inputs_fill(c->inputs, precision->seeds[d], KF_FAMILY_NORMAL, err));
    KF_TRY(kf__trial_check(trial, c, NULL, &options, 2, NULL, &result, err));
  }
  if (kf_trial_decided(trial)) return KF_OK;
  kf_precision_result result = kf_precision_judge(precision, &sum, &arg);
  book_precision(trial->verdict, &result);
  if (result.state == KF_PRECISION_FAILED) fail_precision(trial, c, precision, arg);
  return KF_OK;
}

kf_status kf__trial_precision_check(kf_trial *trial, kf_err *err) {
  const kf_task *task = trial->judgement->state->task;
  if (task->ncheck == 0) return KF_OK;
  int index = largest_case(task, GATE_ELEMENTS);
  KF_TRY(kf__trial_open(trial, index, err));
  return kf__trial_precision(trial, &trial->check[index], err);
}
