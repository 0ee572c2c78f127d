/* expected.c - expected outputs and calibration; see expected.h. */
#include "verify/expected.h"

#include "base/alloc.h"
#include "verify/expected_int.h"

#include <math.h>
#include <string.h>

enum { PERTURBATIONS = 4, ULP_EXPONENT = 23, HALF_ULP_EXPONENT = 24 };
enum { INITIAL_ERROR_CAP = 16, SMALL_OUTPUT = 256, SMALL_OUTPUT_DRAWS = 8 };

static bool is_output(const kf_task *task, int arg) {
  return task->args[arg].role == KF_ROLE_OUT || task->args[arg].role == KF_ROLE_INOUT;
}

void kf__expected_free_arrays(double *arrays[KF_ARGS_MAX]) {
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
kf_status kf__expected_run_initial(const kf_expected_source *source, kf_inputs *inputs,
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
    kf__expected_free_arrays(ret_values);
    memset(ret_values, 0, sizeof(double *) * KF_ARGS_MAX);
  }
  return status;
}

kf_status kf__expected_run(const kf_expected_source *source, kf_inputs *inputs, int precision,
                           double *ret_values[KF_ARGS_MAX], kf_err *err) {
  if (!source->oracle) return kf__expected_run_initial(source, inputs, ret_values, err);
  const void *pointers[KF_ARGS_MAX];
  int64_t ns = 0;
  kf_inputs_pointers(inputs, pointers);
  return kf_oracle_run(source->oracle, inputs->symbols, pointers, precision, source->timeout_ms, ret_values,
                       &ns, err);
}

static int64_t smallest_output(const kf_inputs *inputs, const kf_expected *expected) {
  int64_t smallest = INT64_MAX;
  for (int a = 0; a < inputs->task->nargs; a++)
    if (expected->want[a] && inputs->elements[a] < smallest) smallest = inputs->elements[a];
  return smallest;
}

/* The largest errors of an output so far, by argument. */
static void raise_errors(const kf_inputs *inputs, const kf_expected *expected,
                         double *const values[KF_ARGS_MAX], double errors[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->want[a] || !values[a]) continue;
    double e = largest_error(values[a], expected->want[a], inputs->elements[a]);
    if (e > errors[a]) errors[a] = e;
  }
}

/* One sample of both: the float reference and, where there is one, the initial kernel. */
static kf_status sample_errors(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                               kf_honest *honest, double e_initial[KF_ARGS_MAX], kf_err *err) {
  KF_TRY(kf__expected_run(source, inputs, 32, honest->reference, err));
  raise_errors(inputs, expected, honest->reference, expected->e_float);
  kf_err why = {.code = KF_OK};
  kf_status status = kf__expected_run_initial(source, inputs, honest->initial, &why);
  if (status == KF_OK) raise_errors(inputs, expected, honest->initial, e_initial);
  if (status == KF_OK || status == KF_ENOTFOUND) return KF_OK;
  return kf_fail(err, status, "%s", why.msg);
}

static void honest_done(kf_honest *honest) {
  kf__expected_free_arrays(honest->reference);
  kf__expected_free_arrays(honest->initial);
}

/* The largest of a few rounding errors can be near zero by luck: one sum is one sample. Inputs moved by half
 * an ulp round differently, so each run on them is another sample. */
static kf_status sample_small_outputs(const kf_expected_source *source, kf_inputs *inputs,
                                      kf_expected *expected, double e_initial[KF_ARGS_MAX], kf_err *err) {
  kf_status status = KF_OK;
  int draws = smallest_output(inputs, expected) < SMALL_OUTPUT ? SMALL_OUTPUT_DRAWS : 0;
  for (int p = 0; p < draws && status == KF_OK; p++) {
    kf_honest moved = {0};
    KF_TRY(kf_inputs_fill(inputs, expected->seed, expected->family, err));
    kf_inputs_perturb(inputs, expected->seed + (uint64_t)p, HALF_ULP_EXPONENT);
    status = sample_errors(source, inputs, expected, &moved, e_initial, err);
    honest_done(&moved);
  }
  KF_TRY(status);
  return draws ? kf_inputs_fill(inputs, expected->seed, expected->family, err) : KF_OK;
}

/* The initial kernel's error counts up to a multiple of the float reference's: a wrong one must not widen the
 * net. */
static void raise_by_initial(const kf_inputs *inputs, kf_expected *expected,
                             const double e_initial[KF_ARGS_MAX]) {
  for (int a = 0; a < inputs->task->nargs; a++)
    if (e_initial[a] > expected->e_float[a])
      expected->e_float[a] = fmin(e_initial[a], INITIAL_ERROR_CAP * expected->e_float[a]);
}

/* `honest` keeps what the float reference and the initial kernel gave on the inputs themselves. */
static kf_status calibrate_by_float(const kf_expected_source *source, kf_inputs *inputs,
                                    kf_expected *expected, kf_honest *honest, kf_err *err) {
  double e_initial[KF_ARGS_MAX] = {0};
  KF_TRY(sample_small_outputs(source, inputs, expected, e_initial, err));
  KF_TRY(sample_errors(source, inputs, expected, honest, e_initial, err));
  raise_by_initial(inputs, expected, e_initial);
  return KF_OK;
}

static kf_status calibrate_by_perturbation(const kf_expected_source *source, kf_inputs *inputs,
                                           kf_expected *expected, kf_err *err) {
  kf_status status = KF_OK;
  for (int p = 0; p < PERTURBATIONS && status == KF_OK; p++) {
    double *moved[KF_ARGS_MAX] = {0};
    KF_TRY(kf_inputs_fill(inputs, expected->seed, expected->family, err));
    kf_inputs_perturb(inputs, expected->seed + (uint64_t)p, ULP_EXPONENT);
    status = kf__expected_run_initial(source, inputs, moved, err);
    for (int a = 0; a < inputs->task->nargs && status == KF_OK; a++) {
      if (!moved[a]) continue;
      double e = largest_error(moved[a], expected->want[a], inputs->elements[a]);
      if (e > expected->e_float[a]) expected->e_float[a] = e;
    }
    kf__expected_free_arrays(moved);
  }
  if (status != KF_OK) return status;
  return kf_inputs_fill(inputs, expected->seed, expected->family, err);
}

static kf_status linear_scale(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                              kf_err *err) {
  kf_inputs_absolute(inputs);
  KF_TRY(kf__expected_run(source, inputs, 64, expected->scale, err));
  return kf_inputs_fill(inputs, expected->seed, expected->family, err);
}

static bool all_integers(const double *values, int64_t count, double below) {
  for (int64_t i = 0; i < count; i++)
    if (!(fabs(values[i]) < below) || values[i] != nearbyint(values[i])) return false;
  return true;
}

/* Every partial sum in every order is an integer of at most s, so it is exact. */
static void exact_gate(const kf_inputs *inputs, kf_expected *expected) {
  for (int a = 0; a < inputs->task->nargs && expected->family == KF_FAMILY_INTEGERS; a++) {
    kf_type type = inputs->task->args[a].type;
    if (!expected->want[a] || !expected->scale[a] || !kf_type_is_float(type)) continue;
    double below = 1 / kf_type_roundoff(type);
    expected->exact[a] = all_integers(expected->want[a], inputs->elements[a], below) &&
                         all_integers(expected->scale[a], inputs->elements[a], below);
  }
}

static bool lookup_symbol(void *context, const char *name, kf_value *ret_value) {
  const kf_inputs *inputs = context;
  int index = kf_task_symbol(inputs->task, name);
  if (index < 0) return false;
  *ret_value = (kf_value){.number = inputs->symbols[index]};
  return true;
}

/* The first input array whose shape begins with that of the output: what an argmax of it chose from. */
static int chosen_from(const kf_inputs *inputs, int arg) {
  const kf_task *task = inputs->task;
  int rank = task->args[arg].rank;
  for (int a = 0; a < task->nargs; a++) {
    if (task->args[a].role != KF_ROLE_IN || task->args[a].rank <= rank) continue;
    if (memcmp(inputs->shape[a], inputs->shape[arg], sizeof(int64_t) * (size_t)rank) == 0) return a;
  }
  return -1;
}

static kf_status keep_choices(const kf_inputs *inputs, kf_expected *expected, kf_err *err) {
  const void *pointers[KF_ARGS_MAX];
  kf_inputs_pointers(inputs, pointers);
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->want[a] || inputs->task->compare[a] != KF_COMPARE_ARGMAX || inputs->elements[a] < 1)
      continue;
    int from = chosen_from(inputs, a);
    if (from < 0) continue;
    expected->choices[a] = to_doubles(inputs->task->args[from].type, pointers[from], inputs->elements[from]);
    if (!expected->choices[a]) return kf_nomem(err);
    expected->nchoices[a] = inputs->elements[from] / inputs->elements[a];
  }
  return KF_OK;
}

/* linear: K; 1 for other kinds. */
static kf_status find_depth(const kf_inputs *inputs, int64_t *ret_depth, kf_err *err) {
  *ret_depth = 1;
  if (!inputs->task->error_depth) return KF_OK;
  return kf_expr_eval_int(inputs->task->error_depth, lookup_symbol, (void *)(uintptr_t)inputs, ret_depth,
                          err);
}

static kf_status calibrate(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                           kf_honest *honest, kf_err *err) {
  switch (inputs->task->error_kind) {
  case KF_ERROR_EXACT:
    return KF_OK;
  case KF_ERROR_LINEAR:
    KF_TRY(find_depth(inputs, &expected->depth, err));
    KF_TRY(linear_scale(source, inputs, expected, err));
    exact_gate(inputs, expected);
    return KF_OK;
  case KF_ERROR_CALIBRATED:
    return source->oracle ? calibrate_by_float(source, inputs, expected, honest, err)
                          : calibrate_by_perturbation(source, inputs, expected, err);
  }
  return kf_fail(err, KF_EBUG, "unknown error kind %d", (int)inputs->task->error_kind);
}

static kf_status fill_expected(const kf_expected_source *source, kf_inputs *inputs, kf_expected *expected,
                               kf_err *err) {
  kf_honest honest = {0};
  KF_TRY(kf_inputs_fill(inputs, expected->seed, expected->family, err));
  KF_TRY(kf__expected_run(source, inputs, 64, expected->want, err));
  kf_status status = calibrate(source, inputs, expected, &honest, err);
  if (status == KF_OK && kf_family_is_stress(expected->family))
    status = kf__expected_slack(source, inputs, expected, &honest, err);
  honest_done(&honest);
  return status == KF_OK ? keep_choices(inputs, expected, err) : status;
}

static void count_bytes(const kf_inputs *inputs, kf_expected *expected) {
  expected->bytes = (int64_t)sizeof *expected;
  for (int a = 0; a < inputs->task->nargs; a++) {
    int arrays = (expected->want[a] != NULL) + (expected->scale[a] != NULL) + (expected->slack[a] != NULL);
    int64_t elements = arrays * inputs->elements[a];
    if (expected->choices[a]) elements += inputs->elements[a] * expected->nchoices[a];
    expected->bytes += elements * (int64_t)sizeof(double);
  }
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
  count_bytes(inputs, expected);
  *ret_expected = expected;
  return KF_OK;
}

void kf_expected_free(kf_expected *expected) {
  if (!expected) return;
  kf__expected_free_arrays(expected->want);
  kf__expected_free_arrays(expected->scale);
  kf__expected_free_arrays(expected->slack);
  kf__expected_free_arrays(expected->choices);
  kf_free(expected);
}

kf_tolerance kf_expected_tolerance(const kf_expected *expected, const kf_task *task, int arg) {
  kf_compare compare = is_output(task, arg) ? task->compare[arg] : KF_COMPARE_EXACT;
  if (expected->exact[arg] && compare == KF_COMPARE_BOUND) compare = KF_COMPARE_EXACT;
  return (kf_tolerance){.compare = compare,
                        .kind = task->error_kind,
                        .type = task->args[arg].type,
                        .e_float = expected->e_float[arg],
                        .depth = expected->depth,
                        .scale = expected->scale[arg],
                        .slack = expected->slack[arg],
                        .choices = expected->choices[arg],
                        .nchoices = expected->nchoices[arg]};
}
