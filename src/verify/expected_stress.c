/* expected_stress.c - the slack of stress inputs: what a class means, sensitivity, flushed subnormals; see
 * expected.h. Meant for small cases: about twenty runs of the reference. */
#include "verify/expected_int.h"

#include "base/alloc.h"
#include "verify/compare_limit.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 16, NEIGHBOURS = 16, STEP_EXPONENT = 20, STEP_MARGIN = 3, STEP_LEAST = 2 };

/* ---- classes ---- */

typedef enum { CLASS_NUMBER, CLASS_NAN, CLASS_PLUS, CLASS_MINUS } value_class;

static value_class class_of(kf_type type, double value) {
  if (isnan(value)) return CLASS_NAN;
  if (fabs(value) <= kf__float_range(type)->largest) return CLASS_NUMBER;
  return value > 0 ? CLASS_PLUS : CLASS_MINUS;
}

static bool agree(kf_type type, double want, double other) {
  if (!kf_type_is_float(type)) return want == other;
  return class_of(type, want) == class_of(type, other);
}

static void mask_classes(const kf_inputs *inputs, const kf_expected *expected,
                         double *const other[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->slack[a] || !expected->want[a] || !other[a]) continue;
    for (int64_t i = 0; i < inputs->elements[a]; i++)
      if (!agree(inputs->task->args[a].type, expected->want[a][i], other[a][i]))
        expected->slack[a][i] = HUGE_VAL;
  }
}

/* Where an honest computation overflows on the way its result is a number, but any; others may get NaN. An
 * output with an element that is off by more than 2^-10 of the largest expected value tells nothing. */
static void mask_overflowed(const kf_inputs *inputs, const kf_expected *expected,
                            double *const honest[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    double largest = 0, off = 0;
    if (!expected->slack[a] || !honest[a]) continue;
    for (int64_t i = 0; i < inputs->elements[a]; i++) {
      double error = fabs(honest[a][i] - expected->want[a][i]);
      if (isfinite(expected->want[a][i])) largest = fmax(largest, fabs(expected->want[a][i]));
      if (isfinite(error)) off = fmax(off, error);
    }
    for (int64_t i = 0; i < inputs->elements[a] && off > largest * 0x1p-10; i++)
      expected->slack[a][i] = HUGE_VAL;
  }
}

static void raise(double *slack, double least) {
  if (least > *slack) *slack = least; /* false for NaN */
}

/* ---- subnormals ---- */

static kf_status allow_flush(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                             kf_err *err) {
  double *flushed[KF_ARGS_MAX] = {0};
  kf_inputs_flush(inputs);
  KF_TRY(kf__expected_run(source, inputs, 64, flushed, err));
  mask_classes(inputs, expected, flushed);
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->slack[a] || !expected->want[a] || !flushed[a]) continue;
    for (int64_t i = 0; i < inputs->elements[a]; i++)
      raise(&expected->slack[a][i], 2 * fabs(flushed[a][i] - expected->want[a][i]));
  }
  kf__expected_free_arrays(flushed);
  return kf_inputs_fill(inputs, expected->seed, expected->family, err);
}

/* ---- sensitivity ---- */

/* h must be some units of the narrowest float input, or nothing moves. */
static int step_exponent(const kf_inputs *inputs) {
  int exponent = STEP_EXPONENT;
  for (int a = 0; a < inputs->task->nargs; a++) {
    kf_type type = inputs->task->args[a].type;
    if (!kf_type_is_float(type) || !kf_role_is_array(inputs->task->args[a].role)) continue;
    int digits = -ilogb(kf_type_roundoff(type)) - STEP_MARGIN;
    if (digits < exponent) exponent = digits;
  }
  return exponent < STEP_LEAST ? STEP_LEAST : exponent;
}

/* How many inputs may meet in one output, where the task does not say. */
static double depth_of(const kf_inputs *inputs, const kf_expected *expected, int arg) {
  const kf_task *task = inputs->task;
  if (task->error_depth) return (double)expected->depth;
  double depth = 1;
  for (int a = 0; a < task->nargs; a++) {
    if (task->args[a].role != KF_ROLE_IN && task->args[a].role != KF_ROLE_INOUT) continue;
    for (int axis = 0; axis < task->args[a].rank; axis++)
      depth = fmax(depth, (double)inputs->shape[a][axis]);
    if (inputs->elements[arg] > 0)
      depth = fmax(depth, (double)inputs->elements[a] / (double)inputs->elements[arg]);
  }
  return depth;
}

/* Adds the squares of (moved - want) / h. */
static void add_squares(const kf_inputs *inputs, const kf_expected *expected,
                        double *const moved[KF_ARGS_MAX], double step, double *const squares[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++)
    for (int64_t i = 0; squares[a] && i < inputs->elements[a]; i++) {
      double slope = (moved[a][i] - expected->want[a][i]) / step;
      if (isfinite(slope)) squares[a][i] += slope * slope;
    }
}

static void raise_by_sensitivity(const kf_inputs *inputs, const kf_expected *expected, int arg,
                                 const double *squares) {
  int64_t count = inputs->elements[arg];
  double depth = depth_of(inputs, expected, arg);
  double u = inputs->task->args[arg].type == KF_TYPE_F64 ? 0x1p-53 : 0x1p-24;
  for (int64_t i = 0; i < count; i++) {
    double largest = 0;
    int64_t first = i < NEIGHBOURS / 2 ? 0 : i - NEIGHBOURS / 2;
    for (int64_t j = first; j < count && j < first + NEIGHBOURS; j++)
      largest = fmax(largest, squares[j]);
    /* sqrt(K) twice: once in the tolerance, once in S. */
    raise(&expected->slack[arg][i], 12 * depth * u * sqrt(largest / DRAWS));
  }
}

static kf_status measure(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                         double *const squares[KF_ARGS_MAX], kf_err *err) {
  int exponent = step_exponent(inputs);
  kf_status status = KF_OK;
  for (int r = 0; r < DRAWS && status == KF_OK; r++) {
    double *moved[KF_ARGS_MAX] = {0};
    KF_TRY(kf_inputs_fill(inputs, expected->seed, expected->family, err));
    kf_inputs_perturb(inputs, expected->seed + (uint64_t)r, exponent);
    status = kf__expected_run(source, inputs, 64, moved, err);
    if (status == KF_OK) add_squares(inputs, expected, moved, ldexp(1.0, -exponent), squares);
    kf__expected_free_arrays(moved);
  }
  KF_TRY(status);
  return kf_inputs_fill(inputs, expected->seed, expected->family, err);
}

static kf_status add_sensitivity(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                                 kf_err *err) {
  double *squares[KF_ARGS_MAX] = {0};
  kf_status status = KF_OK;
  for (int a = 0; a < inputs->task->nargs && status == KF_OK; a++) {
    if (!expected->slack[a]) continue;
    squares[a] = kf_calloc((size_t)inputs->elements[a] + 1, sizeof(double));
    if (!squares[a]) status = kf_nomem(err);
  }
  if (status == KF_OK) status = measure(source, inputs, expected, squares, err);
  for (int a = 0; a < inputs->task->nargs && status == KF_OK; a++)
    if (squares[a]) raise_by_sensitivity(inputs, expected, a, squares[a]);
  kf__expected_free_arrays(squares);
  return status;
}

/* ---- both ---- */

static kf_status run_honest(const kf_expected_source *source, kf_inputs *inputs, kf_honest *honest,
                            kf_err *err) {
  bool have_reference = false, have_initial = false;
  for (int a = 0; a < inputs->task->nargs; a++) {
    have_reference |= honest->reference[a] != NULL;
    have_initial |= honest->initial[a] != NULL;
  }
  if (source->oracle && !have_reference) KF_TRY(kf__expected_run(source, inputs, 32, honest->reference, err));
  if (have_initial) return KF_OK;
  kf_err why = {.code = KF_OK};
  kf_status status = kf__expected_run_initial(source, inputs, honest->initial, &why);
  if (status == KF_OK || status == KF_ENOTFOUND) return KF_OK;
  return kf_fail(err, status, "%s", why.msg);
}

kf_status kf__expected_slack(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                             kf_honest *honest, kf_err *err) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->want[a]) continue;
    expected->slack[a] = kf_calloc((size_t)inputs->elements[a] + 1, sizeof(double));
    if (!expected->slack[a]) return kf_nomem(err);
  }
  KF_TRY(run_honest(source, inputs, honest, err));
  mask_classes(inputs, expected, honest->reference);
  mask_classes(inputs, expected, honest->initial);
  if (expected->family == KF_FAMILY_HUGE || expected->family == KF_FAMILY_LARGE) {
    mask_overflowed(inputs, expected, honest->reference);
    mask_overflowed(inputs, expected, honest->initial);
  }
  if (expected->family == KF_FAMILY_SUBNORMAL) KF_TRY(allow_flush(source, inputs, expected, err));
  /* With OFFSET the sensitivity would allow what it is there to find: a difference of two large squares. */
  if (inputs->task->error_kind != KF_ERROR_CALIBRATED || expected->family == KF_FAMILY_OFFSET) return KF_OK;
  return add_sensitivity(source, inputs, expected, err);
}
