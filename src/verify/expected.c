/* expected.c - expected outputs and calibration; see expected.h. */
#include "verify/expected.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { PERTURBATIONS = 4, ULP_EXPONENT = 23, HALF_ULP_EXPONENT = 24 };
enum { INITIAL_ERROR_CAP = 16, SMALL_OUTPUT = 256, SMALL_OUTPUT_DRAWS = 8 };

static bool is_output(const kf_task *task, int arg) {
  return task->args[arg].role == KF_ROLE_OUT || task->args[arg].role == KF_ROLE_INOUT;
}

static void free_doubles(double *arrays[KF_ARGS_MAX]) {
  for (int a = 0; a < KF_ARGS_MAX; a++)
    kf_free(arrays[a]);
}

static void free_raw(void *arrays[KF_ARGS_MAX]) {
  for (int a = 0; a < KF_ARGS_MAX; a++)
    kf_free(arrays[a]);
}

/* Largest finite difference; positions where either is not finite are judged by class elsewhere. */
static double largest_error(const double *a, const double *b, int64_t count) {
  double worst = 0;
  for (int64_t i = 0; i < count; i++) {
    double error = fabs(a[i] - b[i]);
    if (isfinite(error) && error > worst) worst = error;
  }
  return worst;
}

static double *to_doubles(kf_type type, const void *raw, int64_t count) {
  double *values = kf_alloc(sizeof(double) * (size_t)(count ? count : 1));
  if (!values) return NULL;
  for (int64_t i = 0; i < count; i++)
    values[i] = kf_type_get(type, raw, (size_t)i);
  return values;
}

/* Outputs of the initial kernel as doubles; KF_ENOTFOUND passes through. */
static kf_status run_initial(const kf_expected_source *source, kf_inputs *inputs,
                             double *ret_values[KF_ARGS_MAX], kf_err *err) {
  void *raw[KF_ARGS_MAX] = {0};
  kf_status status = source->run_initial(source->context, inputs, raw, err);
  for (int a = 0; a < inputs->task->nargs && status == KF_OK; a++) {
    if (!raw[a]) continue;
    ret_values[a] = to_doubles(inputs->task->args[a].type, raw[a], inputs->elements[a]);
    if (!ret_values[a]) status = kf_nomem(err);
  }
  free_raw(raw);
  if (status != KF_OK) {
    free_doubles(ret_values);
    memset(ret_values, 0, sizeof(double *) * KF_ARGS_MAX);
  }
  return status;
}

static kf_status run_reference(const kf_expected_source *source, const kf_inputs *inputs, int precision,
                               double *ret_values[KF_ARGS_MAX], kf_err *err) {
  const void *pointers[KF_ARGS_MAX];
  int64_t ns = 0;
  kf_inputs_pointers(inputs, pointers);
  return kf_oracle_run(source->oracle, inputs->symbols, pointers, precision, source->timeout_ms, ret_values,
                       &ns, err);
}

static void raise_errors(const kf_inputs *inputs, kf_expected *expected, double *const honest[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->want[a] || !honest[a]) continue;
    double e = largest_error(honest[a], expected->want[a], inputs->elements[a]);
    if (e > expected->e_float[a]) expected->e_float[a] = e;
  }
}

static int64_t smallest_output(const kf_inputs *inputs, const kf_expected *expected) {
  int64_t smallest = INT64_MAX;
  for (int a = 0; a < inputs->task->nargs; a++)
    if (expected->want[a] && inputs->elements[a] < smallest) smallest = inputs->elements[a];
  return smallest;
}

/* The largest of a few rounding errors can be near zero by luck: one sum is one sample. Inputs moved by half
 * an ulp round differently, so each run of the float reference on them is another sample. */
static kf_status sample_small_outputs(const kf_expected_source *source, kf_inputs *inputs,
                                      kf_expected *expected, kf_err *err) {
  kf_status status = KF_OK;
  int draws = smallest_output(inputs, expected) < SMALL_OUTPUT ? SMALL_OUTPUT_DRAWS : 0;
  for (int p = 0; p < draws && status == KF_OK; p++) {
    double *honest[KF_ARGS_MAX] = {0};
    KF_TRY(kf_inputs_fill(inputs, expected->seed, expected->family, err));
    kf_inputs_perturb(inputs, expected->seed + (uint64_t)p, HALF_ULP_EXPONENT);
    status = run_reference(source, inputs, 32, honest, err);
    if (status == KF_OK) raise_errors(inputs, expected, honest);
    free_doubles(honest);
  }
  KF_TRY(status);
  return draws ? kf_inputs_fill(inputs, expected->seed, expected->family, err) : KF_OK;
}

/* The initial kernel's error counts up to a multiple of the float reference's: a wrong one must not widen the
 * net. */
static void raise_by_initial(const kf_inputs *inputs, kf_expected *expected,
                             double *const initial[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->want[a] || !initial[a]) continue;
    double e = largest_error(initial[a], expected->want[a], inputs->elements[a]);
    if (e > expected->e_float[a]) expected->e_float[a] = fmin(e, INITIAL_ERROR_CAP * expected->e_float[a]);
  }
}

static kf_status calibrate_by_float(const kf_expected_source *source, kf_inputs *inputs,
                                    kf_expected *expected, kf_err *err) {
  double *honest[KF_ARGS_MAX] = {0}, *initial[KF_ARGS_MAX] = {0};
  KF_TRY(sample_small_outputs(source, inputs, expected, err));
  kf_status status = run_reference(source, inputs, 32, honest, err);
  if (status == KF_OK) raise_errors(inputs, expected, honest);
  if (status == KF_OK) {
    status = run_initial(source, inputs, initial, err);
    if (status == KF_OK) raise_by_initial(inputs, expected, initial);
    if (status == KF_ENOTFOUND) status = KF_OK;
  }
  free_doubles(honest);
  free_doubles(initial);
  return status;
}

static kf_status calibrate_by_perturbation(const kf_expected_source *source, kf_inputs *inputs,
                                           kf_expected *expected, kf_err *err) {
  kf_status status = KF_OK;
  for (int p = 0; p < PERTURBATIONS && status == KF_OK; p++) {
    double *moved[KF_ARGS_MAX] = {0};
    KF_TRY(kf_inputs_fill(inputs, expected->seed, expected->family, err));
    kf_inputs_perturb(inputs, expected->seed + (uint64_t)p, ULP_EXPONENT);
    status = run_initial(source, inputs, moved, err);
    for (int a = 0; a < inputs->task->nargs && status == KF_OK; a++) {
      if (!moved[a]) continue;
      double e = largest_error(moved[a], expected->want[a], inputs->elements[a]);
      if (e > expected->e_float[a]) expected->e_float[a] = e;
    }
    free_doubles(moved);
  }
  if (status != KF_OK) return status;
  return kf_inputs_fill(inputs, expected->seed, expected->family, err);
}

static kf_status linear_scale(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                              kf_err *err) {
  kf_inputs_absolute(inputs);
  if (source->oracle)
    KF_TRY(run_reference(source, inputs, 64, expected->scale, err));
  else
    KF_TRY(run_initial(source, inputs, expected->scale, err));
  return kf_inputs_fill(inputs, expected->seed, expected->family, err);
}

static bool lookup_symbol(void *context, const char *name, kf_value *ret_value) {
  const kf_inputs *inputs = context;
  int index = kf_task_symbol(inputs->task, name);
  if (index < 0) return false;
  *ret_value = (kf_value){.number = inputs->symbols[index]};
  return true;
}

static kf_status fill_expected(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                               kf_err *err) {
  const kf_task *task = inputs->task;
  KF_TRY(kf_inputs_fill(inputs, expected->seed, expected->family, err));
  if (source->oracle)
    KF_TRY(run_reference(source, inputs, 64, expected->want, err));
  else
    KF_TRY(run_initial(source, inputs, expected->want, err));
  switch (task->error_kind) {
  case KF_ERROR_EXACT:
    return KF_OK;
  case KF_ERROR_LINEAR:
    expected->depth = 1;
    if (task->error_depth)
      KF_TRY(kf_expr_eval_int(task->error_depth, lookup_symbol, inputs, &expected->depth, err));
    return linear_scale(source, inputs, expected, err);
  case KF_ERROR_CALIBRATED:
    return source->oracle ? calibrate_by_float(source, inputs, expected, err)
                          : calibrate_by_perturbation(source, inputs, expected, err);
  }
  return kf_fail(err, KF_EBUG, "unknown error kind %d", (int)task->error_kind);
}

kf_status kf_expected_make(const kf_expected_source *source, kf_inputs *inputs, uint64_t seed,
                           kf_family family, kf_expected **ret_expected, kf_err *err) {
  kf_expected *expected = kf_calloc(1, sizeof *expected);
  if (!expected) return kf_nomem(err);
  expected->seed = seed;
  expected->family = family;
  kf_status status = fill_expected(source, inputs, expected, err);
  if (status != KF_OK) {
    kf_expected_free(expected);
    return kf_err_context(err, status, "expected output of %s", inputs->case_text);
  }
  *ret_expected = expected;
  return KF_OK;
}

void kf_expected_free(kf_expected *expected) {
  if (!expected) return;
  free_doubles(expected->want);
  free_doubles(expected->scale);
  kf_free(expected);
}

kf_tolerance kf_expected_tolerance(const kf_expected *expected, const kf_task *task, int arg) {
  return (kf_tolerance){.compare = is_output(task, arg) ? task->compare[arg] : KF_COMPARE_EXACT,
                        .kind = task->error_kind,
                        .type = task->args[arg].type,
                        .e_float = expected->e_float[arg],
                        .depth = expected->depth,
                        .scale = expected->scale[arg]};
}
