/* precision.c - see precision.h. */
#include "verify/precision.h"

#include "base/alloc.h"
#include "verify/expected_int.h"

#include <math.h>
#include <string.h>

enum { ENOUGH_ELEMENTS = 256 };
static const double INITIAL_CAP = 16, OBSERVABLE_RATIO = 10;

/* Sums of squared errors by output. */
typedef struct {
  double reference[KF_ARGS_MAX], initial[KF_ARGS_MAX], low[KF_ARGS_MAX], want[KF_ARGS_MAX];
  int64_t count[KF_ARGS_MAX];
  bool has_initial;
} sums;

static bool is_gated(const kf_task *task, int arg) {
  const kf_arg_spec *spec = &task->args[arg];
  return (spec->role == KF_ROLE_OUT || spec->role == KF_ROLE_INOUT) && kf_type_is_float(spec->type) &&
         task->compare[arg] == KF_COMPARE_BOUND && task->error_kind != KF_ERROR_EXACT;
}

/* Sum over the finite differences of (value rounded to the type - want)^2. */
static double squares_of(kf_type type, const double *values, const double *want, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t element = 0;
    kf_type_put(type, &element, 0, values[i]);
    double error = kf_type_get(type, &element, 0) - want[i];
    if (isfinite(error)) sum += error * error;
  }
  return sum;
}

static void add_draw(const kf_inputs *inputs, double *const want[KF_ARGS_MAX],
                     double *const values[KF_ARGS_MAX], double ret_sums[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++)
    if (want[a] && values[a] && is_gated(inputs->task, a))
      ret_sums[a] += squares_of(inputs->task->args[a].type, values[a], want[a], inputs->elements[a]);
}

static kf_status add_run(const kf_expected_source *source, kf_inputs *inputs, int precision,
                         double *const want[KF_ARGS_MAX], double ret_sums[KF_ARGS_MAX], kf_err *err) {
  double *values[KF_ARGS_MAX] = {0};
  KF_TRY(kf__expected_run(source, inputs, precision, values, err));
  add_draw(inputs, want, values, ret_sums);
  kf__expected_free_arrays(values);
  return KF_OK;
}

static kf_status add_initial(const kf_expected_source *source, kf_inputs *inputs,
                             double *const want[KF_ARGS_MAX], sums *all, kf_err *err) {
  double *values[KF_ARGS_MAX] = {0};
  kf_err why = {.code = KF_OK};
  kf_status status = kf__expected_run_initial(source, inputs, values, &why);
  if (status == KF_ENOTFOUND) return KF_OK;
  if (status != KF_OK) return kf_fail(err, status, "%s", why.msg);
  all->has_initial = true;
  add_draw(inputs, want, values, all->initial);
  kf__expected_free_arrays(values);
  return KF_OK;
}

static kf_status one_draw(const kf_expected_source *source, kf_inputs *inputs, kf_precision *p, int draw,
                          sums *all, kf_err *err) {
  KF_TRY(kf_inputs_fill(inputs, p->seeds[draw], KF_FAMILY_NORMAL, err));
  KF_TRY(kf__expected_run(source, inputs, 64, p->want[draw], err));
  KF_TRY(add_run(source, inputs, 32, p->want[draw], all->reference, err));
  KF_TRY(add_initial(source, inputs, p->want[draw], all, err));
  kf_inputs_lower(inputs);
  KF_TRY(add_run(source, inputs, 64, p->want[draw], all->low, err));
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!p->want[draw][a] || !is_gated(inputs->task, a)) continue;
    for (int64_t i = 0; i < inputs->elements[a]; i++)
      if (isfinite(p->want[draw][a][i])) all->want[a] += p->want[draw][a][i] * p->want[draw][a][i];
    all->count[a] += inputs->elements[a];
    p->bytes += inputs->elements[a] * (int64_t)sizeof(double);
  }
  return kf_inputs_fill(inputs, p->seeds[draw], KF_FAMILY_NORMAL, err);
}

static double root_mean(double squares, int64_t count) {
  return count > 0 ? sqrt(squares / (double)count) : 0;
}

/* Rounding to the type moves a value by up to u|y|: 1/sqrt(12) of the spacing in the mean. */
static void set_limit(const kf_task *task, kf_precision *p, const sums *all, int arg) {
  kf_type type = task->args[arg].type;
  double initial = all->has_initial ? root_mean(all->initial[arg], all->count[arg]) : 0;
  double reference = root_mean(all->reference[arg], all->count[arg]);
  double floor = kf_type_roundoff(type) * root_mean(all->want[arg], all->count[arg]) / sqrt(12.0);
  double high = type == KF_TYPE_F64 ? initial : fmax(reference, fmin(initial, INITIAL_CAP * reference));
  p->high[arg] = fmax(high, floor);
  p->low[arg] = root_mean(all->low[arg], all->count[arg]);
  if (!(p->low[arg] >= OBSERVABLE_RATIO * p->high[arg]) || p->high[arg] <= 0) return;
  p->limit[arg] = sqrt(p->high[arg] * p->low[arg]);
  p->observable = true;
}

static kf_status make(const kf_expected_source *source, kf_inputs *inputs, uint64_t seed, kf_precision *p,
                      kf_err *err) {
  sums all = {.has_initial = false};
  int64_t least = INT64_MAX;
  for (int a = 0; a < inputs->task->nargs; a++)
    if (is_gated(inputs->task, a) && inputs->elements[a] > 0 && inputs->elements[a] < least)
      least = inputs->elements[a];
  p->applies = least != INT64_MAX;
  if (!p->applies || !source->oracle) return KF_OK;
  int ndraws = (int)((ENOUGH_ELEMENTS + least - 1) / least);
  p->ndraws = ndraws > KF_PRECISION_DRAWS ? KF_PRECISION_DRAWS : ndraws;
  for (int d = 0; d < p->ndraws; d++) {
    p->seeds[d] = seed + (uint64_t)d;
    KF_TRY(one_draw(source, inputs, p, d, &all, err));
  }
  for (int a = 0; a < inputs->task->nargs; a++)
    if (is_gated(inputs->task, a)) set_limit(inputs->task, p, &all, a);
  return KF_OK;
}

kf_status kf_precision_make(const kf_expected_source *source, kf_inputs *inputs, uint64_t seed,
                            kf_precision **ret_precision, kf_err *err) {
  kf_precision *p = kf_calloc(1, sizeof *p);
  if (!p) return kf_nomem(err);
  p->bytes = (int64_t)sizeof *p;
  kf_status status = make(source, inputs, seed, p, err);
  if (status != KF_OK) {
    kf_precision_free(p);
    return kf_err_context(err, status, "precision gate on %s", inputs->case_text);
  }
  *ret_precision = p;
  return KF_OK;
}

void kf_precision_free(kf_precision *precision) {
  if (!precision) return;
  for (int d = 0; d < KF_PRECISION_DRAWS; d++)
    kf__expected_free_arrays(precision->want[d]);
  kf_free(precision);
}

void kf_precision_add(const kf_precision *precision, int draw, int arg, kf_type type, const void *got,
                      int64_t elements, kf_precision_sum *sum) {
  const double *want = precision->want[draw][arg];
  if (!want || precision->limit[arg] <= 0) return;
  for (int64_t i = 0; i < elements; i++) {
    double error = kf_type_get(type, got, (size_t)i) - want[i];
    if (isfinite(error))
      sum->squares[arg] += error * error;
    else if (isfinite(want[i]))
      sum->squares[arg] = HUGE_VAL; /* a number was due */
  }
  sum->count[arg] += elements;
}

kf_precision_result kf_precision_judge(const kf_precision *precision, const kf_precision_sum *sum,
                                       int *ret_arg) {
  kf_precision_result result = {.state = KF_PRECISION_UNOBSERVABLE};
  double furthest = -1;
  *ret_arg = -1;
  for (int a = 0; a < KF_ARGS_MAX; a++) {
    if (precision->limit[a] <= 0 || sum->count[a] == 0) continue;
    double rms = root_mean(sum->squares[a], sum->count[a]), ratio = rms / precision->limit[a];
    if (!(ratio > furthest)) continue;
    furthest = ratio;
    *ret_arg = a;
    result = (kf_precision_result){.state = ratio <= 1 ? KF_PRECISION_PASSED : KF_PRECISION_FAILED,
                                   .rms = rms,
                                   .limit = precision->limit[a]};
  }
  return result;
}
