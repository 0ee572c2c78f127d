/* admit.c - the reference and the kernels of a task, run against each other; see admit.h. */
#include "eval/admit.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "eval/trivial.h"
#include "task/review.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"

enum { CROSS_CASES = 3 };
static const int64_t ELEMENTS_MAX = INT64_C(1) << 26;

typedef struct {
  const kf_admit_request *request;
  kf_admission *admission;
  kf_trivial *trivial;
  uint64_t seed; /* of the second set of inputs */
  int skipped;
  int repeated;       /* cases on which the reference gave the same bits twice */
  double float_error; /* largest rms error of the float reference, relative to the rms output */
  char float_where[160];
  int agreed[1 + KF_SEEDS_MAX]; /* cases on which kernel i agrees with the reference */
  int disagreed[1 + KF_SEEDS_MAX];
  int crossed;                /* cases that were compared */
  char first_difference[240]; /* of the first kernel that disagrees */
  int allied, opposed;        /* pairs of disagreeing kernels that agree with each other, or not */
} admission_run;

/* ---- small helpers ---- */

static void free_outputs(double *outputs[KF_ARGS_MAX]) {
  for (int a = 0; a < KF_ARGS_MAX; a++) {
    kf_free(outputs[a]);
    outputs[a] = NULL;
  }
}

static void free_raw(void *outputs[KF_ARGS_MAX]) {
  for (int a = 0; a < KF_ARGS_MAX; a++) {
    kf_free(outputs[a]);
    outputs[a] = NULL;
  }
}

static kf_status breathe(const admission_run *run, const char *what, kf_err *err) {
  const kf_admit_request *r = run->request;
  if (r->progress) r->progress(r->context, what);
  if (r->serve) r->serve(r->context);
  if (r->canceled && r->canceled(r->context)) return kf_fail(err, KF_ECANCELED, "canceled");
  return KF_OK;
}

static kf_status oracle(admission_run *run, kf_inputs *inputs, int precision,
                        double *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  return kf_task_oracle_run(run->request->state, &run->request->means, inputs, precision, ret_outputs, err);
}

/* First element whose bits differ; -1 if none does. */
static int64_t first_change(const double *a, const double *b, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits[2];
    memcpy(&bits[0], &a[i], sizeof bits[0]);
    memcpy(&bits[1], &b[i], sizeof bits[1]);
    if (bits[0] != bits[1]) return i;
  }
  return -1;
}

static int64_t case_elements(const kf_inputs *inputs) {
  int64_t total = 0;
  for (int a = 0; a < inputs->task->nargs; a++)
    total += inputs->elements[a];
  return total;
}

/* ---- the reference against itself ---- */

/* The same inputs again, after others: memory that nobody wrote and state kept from call to call show. */
static kf_status check_repeat(admission_run *run, kf_inputs *inputs, const kf_expected *expected,
                              kf_err *err) {
  double *again[KF_ARGS_MAX] = {0};
  bool same = true;
  KF_TRY(oracle(run, inputs, 64, again, err));
  for (int a = 0; a < inputs->task->nargs && same; a++) {
    if (!again[a] || !expected->want[a]) continue;
    int64_t at = first_change(again[a], expected->want[a], inputs->elements[a]);
    if (at < 0) continue;
    same = false;
    kf_admission_add(run->admission, KF_ADMISSION_REFUSED, "reference", NULL,
                     "the reference gives other values for the same inputs (%s: %s[%" PRId64
                     "] was %.9g, then %.9g): it reads memory that it did not write, or keeps state",
                     inputs->case_text, inputs->task->args[a].name, at, expected->want[a][at], again[a][at]);
  }
  run->repeated += same;
  free_outputs(again);
  return KF_OK;
}

static double rms(const double *a, const double *b, int64_t count) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; i++) {
    double value = b ? a[i] - b[i] : a[i];
    if (!isfinite(value)) continue;
    sum += value * value;
    finite++;
  }
  return finite ? sqrt(sum / (double)finite) : 0;
}

static kf_status check_float(admission_run *run, kf_inputs *inputs, const kf_expected *expected,
                             kf_err *err) {
  double *narrow[KF_ARGS_MAX] = {0};
  if (run->request->state->task->reference_kind != KF_REFERENCE_C) return KF_OK;
  KF_TRY(oracle(run, inputs, 32, narrow, err));
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!narrow[a] || !expected->want[a] || !kf_type_is_float(inputs->task->args[a].type)) continue;
    double size = rms(expected->want[a], NULL, inputs->elements[a]);
    double error = size > 0 ? rms(narrow[a], expected->want[a], inputs->elements[a]) / size : 0;
    if (error <= run->float_error) continue;
    run->float_error = error;
    snprintf(run->float_where, sizeof run->float_where, "%.60s of %.90s", inputs->task->args[a].name,
             inputs->case_text);
  }
  free_outputs(narrow);
  return KF_OK;
}

/* ---- the reference against the kernels ---- */

static bool agree(const kf_expected *expected, const kf_inputs *inputs, void *const got[KF_ARGS_MAX],
                  kf_compare_result *ret_result, int *ret_arg) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->want[a] || !got[a]) continue;
    kf_tolerance tolerance = kf_expected_tolerance(expected, inputs->task, a);
    if (kf_compare_array(&tolerance, got[a], expected->want[a], inputs->elements[a], ret_result, NULL) !=
            KF_OK ||
        !ret_result->right) {
      *ret_arg = a;
      return false;
    }
  }
  return true;
}

/* Do two kernels that differ from the reference agree with each other? Then it is the reference that is
 * wrong. */
static void compare_rebels(admission_run *run, const kf_expected *expected, const kf_inputs *inputs,
                           void *const a[KF_ARGS_MAX], void *const b[KF_ARGS_MAX]) {
  for (int arg = 0; arg < inputs->task->nargs; arg++) {
    kf_compare_result result = {0};
    if (!a[arg] || !b[arg] || !expected->want[arg]) continue;
    kf_tolerance tolerance = kf_expected_tolerance(expected, inputs->task, arg);
    if (kf_compare_outputs(&tolerance, a[arg], b[arg], inputs->elements[arg], &result, NULL) == KF_OK &&
        result.right)
      continue;
    run->opposed++;
    return;
  }
  run->allied++;
}

static kf_status cross_case(admission_run *run, kf_inputs *inputs, const kf_expected *expected, kf_err *err) {
  const kf_admit_request *r = run->request;
  void *rebel[KF_ARGS_MAX] = {0}, *got[KF_ARGS_MAX] = {0};
  kf_status status = KF_OK;
  bool has_rebel = false;
  run->crossed++;
  for (int k = 0; k < r->nkernels && status == KF_OK; k++) {
    kf_compare_result result = {0};
    int arg = 0;
    if (r->kernels[k]->failed) continue;
    status = kf_task_kernel_run(&r->means, r->kernels[k], inputs, got, err);
    if (status == KF_ENOTFOUND) { /* that it does not run here is its own verdict */
      status = KF_OK;
    } else if (status == KF_OK && agree(expected, inputs, got, &result, &arg)) {
      run->agreed[k]++;
    } else if (status == KF_OK) {
      run->disagreed[k]++;
      if (run->first_difference[0] == '\0')
        snprintf(run->first_difference, sizeof run->first_difference,
                 "%.40s: %.40s[%" PRId64 "] is %.9g in the reference, %.9g in %.60s", inputs->case_text,
                 inputs->task->args[arg].name, result.first, result.first_want, result.first_got,
                 r->names[k]);
      if (has_rebel) compare_rebels(run, expected, inputs, rebel, got);
      if (!has_rebel) memcpy(rebel, got, sizeof rebel);
      if (!has_rebel) memset(got, 0, sizeof got);
      has_rebel = true;
    }
    free_raw(got);
  }
  free_raw(rebel);
  return status;
}

static void conclude_cross(const admission_run *run) {
  const kf_admit_request *r = run->request;
  int loyal = 0, rebels = 0;
  for (int k = 0; k < r->nkernels; k++) {
    rebels += run->disagreed[k] > 0;
    loyal += run->agreed[k] > 0 && run->disagreed[k] == 0;
  }
  kf_admission *admission = run->admission;
  if (rebels > 0 && loyal == 0 && run->allied > 0 && run->opposed == 0)
    kf_admission_add(admission, KF_ADMISSION_REFUSED, "reference", NULL,
                     "%d kernels agree with each other and none with the reference, which is wrong then; %s",
                     rebels, run->first_difference);
  else if (rebels > 0)
    kf_admission_add(admission, KF_ADMISSION_DOUBTFUL, "reference", NULL,
                     "%d of %d kernels disagree with the reference: one of the two is wrong; %s", rebels,
                     r->nkernels, run->first_difference);
  else if (loyal > 0)
    kf_admission_add(admission, KF_ADMISSION_OK, "reference", NULL,
                     "agrees with %d kernel%s on %d cases, and with itself when called again", loyal,
                     loyal == 1 ? "" : "s", run->crossed);
}

/* ---- what the reference makes of its inputs ---- */

/* Runs the reference with argument `arg` changed: from another seed, or doubled. Leaves the first seed's
 * bytes. */
static kf_status run_changed(admission_run *run, kf_inputs *inputs, const kf_expected *expected, int arg,
                             bool doubled, double *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  const kf_task *task = inputs->task;
  void *data = kf_inputs_data(inputs, arg);
  if (doubled)
    for (int64_t i = 0; i < inputs->elements[arg]; i++)
      kf_type_put(task->args[arg].type, data, (size_t)i,
                  2 * kf_type_get(task->args[arg].type, data, (size_t)i));
  else
    KF_TRY(kf_fill_arg(task, arg, inputs->symbols, run->seed, KF_FAMILY_DECLARED, data, inputs->elements[arg],
                       err));
  KF_TRY(oracle(run, inputs, 64, ret_outputs, err));
  kf_status status = kf_inputs_fill(inputs, expected->seed, expected->family, err);
  if (status != KF_OK) free_outputs(ret_outputs);
  return status;
}

static bool all_equal(const kf_inputs *inputs, double *const a[KF_ARGS_MAX], double *const b[KF_ARGS_MAX],
                      double factor) {
  for (int arg = 0; arg < inputs->task->nargs; arg++) {
    if (!a[arg] || !b[arg]) continue;
    for (int64_t i = 0; i < inputs->elements[arg]; i++) {
      double want = factor * b[arg][i];
      if (!(fabs(a[arg][i] - want) <= 1e-12 * fabs(want)) && !(isnan(a[arg][i]) && isnan(want))) return false;
    }
  }
  return true;
}

/* Symbols that are in two float inputs and in no output: what a product sums over. "" if there is none. */
static void summed_symbols(const kf_inputs *inputs, char *ret_text, size_t room) {
  const kf_task *task = inputs->task;
  int64_t moved[KF_SYMBOLS_MAX];
  ret_text[0] = '\0';
  for (int s = 0; s < task->nsymbols; s++) {
    int in = 0, out = 0;
    memcpy(moved, inputs->symbols, sizeof(int64_t) * (size_t)task->nsymbols);
    moved[s] += 1;
    for (int a = 0; a < task->nargs; a++) {
      int64_t elements = 0, shape[KF_RANK_MAX];
      if (!kf_role_is_array(task->args[a].role) ||
          kf_task_elements(task, a, moved, &elements, shape, NULL) != KF_OK ||
          elements == inputs->elements[a])
        continue;
      in += task->args[a].role == KF_ROLE_IN && kf_type_is_float(task->args[a].type);
      out += task->args[a].role != KF_ROLE_IN;
    }
    if (in < 2 || out > 0) continue;
    size_t used = strlen(ret_text);
    snprintf(ret_text + used, room - used, "%s%.64s", used ? " * " : "", task->symbols[s].name);
  }
}

/* A product of its inputs has a bound that needs no calibration. */
static void suggest_linear(admission_run *run, const kf_inputs *inputs, int linear_inputs) {
  char depth[160], fix[240];
  if (inputs->task->error_kind != KF_ERROR_CALIBRATED || linear_inputs < 2) return;
  summed_symbols(inputs, depth, sizeof depth);
  if (depth[0] == '\0') return;
  snprintf(fix, sizeof fix, "error: {kind: linear, depth: %s}", depth);
  kf_admission_add(
      run->admission, KF_ADMISSION_DOUBTFUL, "error", fix,
      "the reference multiplies and adds only (doubling any input doubles the output): the bound of "
      "kind linear needs no calibration and holds for every order of summation");
}

static kf_status check_inputs(admission_run *run, kf_inputs *inputs, const kf_expected *expected,
                              kf_err *err) {
  const kf_task *task = inputs->task;
  int used = 0, linear = 0, floats = 0;
  for (int a = 0; a < task->nargs; a++) {
    double *out[KF_ARGS_MAX] = {0};
    if (!kf_inputs_data(inputs, a) || inputs->elements[a] == 0) continue;
    KF_TRY(breathe(run, "admission: what depends on what", err));
    KF_TRY(run_changed(run, inputs, expected, a, false, out, err));
    bool same = all_equal(inputs, out, expected->want, 1);
    free_outputs(out);
    bool constant = task->args[a].fill.kind == KF_FILL_CONSTANT || task->args[a].fill.kind == KF_FILL_FILE;
    used += !same;
    if (same && !constant)
      kf_admission_add(run->admission, KF_ADMISSION_DOUBTFUL, "inputs", NULL,
                       "no output depends on %s (%s): a kernel need not read it", task->args[a].name,
                       inputs->case_text);
    if (!kf_type_is_float(task->args[a].type)) continue;
    floats++;
    KF_TRY(run_changed(run, inputs, expected, a, true, out, err));
    linear += all_equal(inputs, out, expected->want, 2);
    free_outputs(out);
  }
  if (linear == floats) suggest_linear(run, inputs, linear);
  if (used > 0)
    kf_admission_add(run->admission, KF_ADMISSION_OK, "dependence", NULL, "the output depends on %d input%s",
                     used, used == 1 ? "" : "s");
  return KF_OK;
}

/* ---- cases ---- */

static kf_status admit_inputs(admission_run *run, kf_inputs *inputs, bool measured, bool cross, bool deep,
                              kf_err *err) {
  const kf_admit_request *r = run->request;
  const kf_expected *expected = NULL;
  double *other[KF_ARGS_MAX] = {0};
  KF_TRY(kf_task_expected(r->state, &r->means, inputs, KF_FAMILY_DECLARED, &expected, err));
  KF_TRY(kf_inputs_fill(inputs, run->seed, KF_FAMILY_DECLARED, err));
  KF_TRY(oracle(run, inputs, 64, other, err));
  kf_status status = kf_inputs_fill(inputs, expected->seed, expected->family, err);
  if (status == KF_OK) status = kf_trivial_try(run->trivial, inputs, expected, other, measured, err);
  free_outputs(other);
  KF_TRY(status);
  if (measured) return KF_OK;
  KF_TRY(check_repeat(run, inputs, expected, err));
  KF_TRY(check_float(run, inputs, expected, err));
  if (cross) KF_TRY(cross_case(run, inputs, expected, err));
  return deep ? check_inputs(run, inputs, expected, err) : KF_OK;
}

static kf_status admit_case(admission_run *run, const int64_t *symbols, bool measured, bool cross, bool deep,
                            kf_err *err) {
  const kf_admit_request *r = run->request;
  kf_inputs *inputs = NULL;
  char what[200];
  KF_TRY(kf_inputs_new(r->state->task, symbols, r->means.device->base_align, &inputs, err));
  kf_status status = KF_OK;
  snprintf(what, sizeof what, "admission: %s", inputs->case_text);
  if (case_elements(inputs) > ELEMENTS_MAX)
    run->skipped++;
  else
    status = breathe(run, what, err);
  if (status == KF_OK && case_elements(inputs) <= ELEMENTS_MAX)
    status = admit_inputs(run, inputs, measured, cross, deep, err);
  kf_inputs_free(inputs);
  return status;
}

static int64_t size_of(const kf_task *task, const int64_t *symbols) {
  int64_t total = 0;
  for (int a = 0; a < task->nargs; a++) {
    int64_t elements = 0, shape[KF_RANK_MAX];
    if (kf_role_is_array(task->args[a].role) &&
        kf_task_elements(task, a, symbols, &elements, shape, NULL) == KF_OK)
      total += elements;
  }
  return total;
}

/* How many check cases are larger than this one. */
static int rank_of(const kf_task *task, int index) {
  int rank = 0;
  int64_t size = size_of(task, task->check[index].values);
  for (int i = 0; i < task->ncheck; i++) {
    int64_t other = size_of(task, task->check[i].values);
    rank += other > size || (other == size && i < index);
  }
  return rank;
}

static kf_status admit_cases(admission_run *run, kf_err *err) {
  const kf_task *task = run->request->state->task;
  for (int i = 0; i < task->ncheck; i++) {
    int rank = rank_of(task, i);
    KF_TRY(admit_case(run, task->check[i].values, false, rank < CROSS_CASES, rank == 0, err));
  }
  for (int i = 0; i < task->nmeasure; i++)
    KF_TRY(admit_case(run, task->measure[i].values, true, false, false, err));
  return KF_OK;
}

/* ---- floors ---- */

static kf_status add_floors(const admission_run *run, kf_err *err) {
  const kf_admit_request *r = run->request;
  const kf_task *task = r->state->task;
  kf_admission *admission = run->admission;
  if (r->ceilings && r->ceilings->known) {
    admission->read_gbs = r->ceilings->read_gbs;
    admission->write_gbs = r->ceilings->write_gbs;
    admission->copy_gbs = r->ceilings->copy_gbs;
    admission->gflops = r->ceilings->gflops;
    admission->launch_ns = r->ceilings->launch_ns;
  }
  for (int i = 0; i < task->nmeasure && i < KF_ADMISSION_FLOORS_MAX; i++) {
    kf_admission_floor *f = &admission->floors[admission->nfloors++];
    kf_work work;
    KF_CLEANUP(kf_buf_done) kf_buf text;
    kf_buf_init(&text, sizeof f->symbols - 1);
    KF_TRY(kf_work_of_task(task, task->measure[i].values, &work, err));
    if (kf_task_case_text(task, task->measure[i].values, &text, NULL) == KF_OK)
      snprintf(f->symbols, sizeof f->symbols, "%s", kf_buf_text(&text));
    f->bytes_in = work.bytes_in;
    f->bytes_out = work.bytes_out;
    f->operations = work.operations;
    f->floor_ns = kf_work_floor_ns(r->ceilings, &work, r->means.device->llc_bytes);
  }
  return KF_OK;
}

static void conclude_float(const admission_run *run) {
  /* A float kernel cannot be held to less than its own reference strays, so the tolerance grows with this. */
  static const double LARGE = 1e-3;
  if (run->float_where[0] == '\0') return;
  if (run->float_error > LARGE)
    kf_admission_add(run->admission, KF_ADMISSION_DOUBTFUL, "precision", NULL,
                     "in float the reference is %.1e off (rms, relative; %s), and tolerances grow with it: "
                     "literals in float (0.1f), overflow, or cancellation",
                     run->float_error, run->float_where);
  else
    kf_admission_add(run->admission, KF_ADMISSION_OK, "precision", NULL,
                     "in float the reference is at most %.1e off (rms, relative; %s)", run->float_error,
                     run->float_where);
}

static kf_status run_all(admission_run *run, kf_err *err) {
  KF_TRY(admit_cases(run, err));
  KF_TRY(kf_trivial_conclude(run->trivial, run->request->state->task, run->admission, err));
  conclude_cross(run);
  conclude_float(run);
  if (run->skipped > 0)
    kf_admission_add(run->admission, KF_ADMISSION_DOUBTFUL, "size", NULL,
                     "%d case%s of over %lld elements: too large to try trivial answers on", run->skipped,
                     run->skipped == 1 ? "" : "s", (long long)ELEMENTS_MAX);
  return add_floors(run, err);
}

kf_status kf_admit(const kf_admit_request *request, kf_admission *ret_admission, kf_err *err) {
  admission_run run = {.request = request, .admission = kf_calloc(1, sizeof *run.admission)};
  run.trivial = kf_calloc(1, sizeof *run.trivial);
  kf_random_bytes(&run.seed, sizeof run.seed);
  kf_task_state_begin(request->state);
  kf_status status = run.admission && run.trivial ? run_all(&run, err) : kf_nomem(err);
  if (status == KF_OK) *ret_admission = *run.admission;
  kf_free(run.trivial);
  kf_free(run.admission);
  return status;
}
