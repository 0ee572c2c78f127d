/* trivial.c - see trivial.h. */
#include "eval/trivial.h"

#include "base/alloc.h"
#include "task/review.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"

static const char area[] = "trivial answers";

/* ---- making an answer ---- */

static double mean_of(const double *values, int64_t count) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) continue;
    sum += values[i];
    finite++;
  }
  return finite ? sum / (double)finite : 0;
}

/* The index of the same place in the first slice along `axis`. */
static int64_t first_slice(const int64_t *shape, int rank, int axis, int64_t index) {
  int64_t inner = 1;
  for (int d = axis + 1; d < rank; d++)
    inner *= shape[d];
  return index / (inner * shape[axis]) * (inner * shape[axis]) + index % inner;
}

/* Writes answer `which` for output `arg`; false if there is no such answer for it. */
static bool make(int which, const kf_inputs *inputs, const kf_expected *expected, const double *other,
                 int arg, void *ret_got) {
  const kf_task *task = inputs->task;
  const kf_arg_spec *out = &task->args[arg];
  int64_t count = inputs->elements[arg];
  if (which <= KF_TRIVIAL_OTHER_SEED) {
    double mean = which == KF_TRIVIAL_MEAN ? mean_of(other, count) : 0;
    for (int64_t i = 0; i < count; i++)
      kf_type_put(out->type, ret_got, (size_t)i, which == KF_TRIVIAL_OTHER_SEED ? other[i] : mean);
    return true;
  }
  if (which < KF_TRIVIAL_SLICE) {
    int from = which - KF_TRIVIAL_COPY;
    const void *data = from < task->nargs ? kf_inputs_data(inputs, from) : NULL;
    if (!data || inputs->elements[from] != count) return false;
    for (int64_t i = 0; i < count; i++)
      kf_type_put(out->type, ret_got, (size_t)i, kf_type_get(task->args[from].type, data, (size_t)i));
    return true;
  }
  int axis = which - KF_TRIVIAL_SLICE;
  const int64_t *shape = inputs->shape[arg];
  if (axis >= out->rank || shape[axis] < 2) return false;
  for (int64_t i = 0; i < count; i++)
    kf_type_put(out->type, ret_got, (size_t)i, expected->want[arg][first_slice(shape, out->rank, axis, i)]);
  return true;
}

static void count_answer(kf_trivial_tally *tally, bool passed, bool measured, const char *where) {
  if (!measured) {
    tally->tried++;
    tally->passed += passed;
  }
  if (!passed || (tally->where[0] != '\0' && !measured)) return;
  tally->measured = tally->measured || measured;
  snprintf(tally->where, sizeof tally->where, "%s", where);
}

kf_status kf_trivial_try(kf_trivial *trivial, const kf_inputs *inputs, const kf_expected *expected,
                         double *const other[KF_ARGS_MAX], bool measured, kf_err *err) {
  const kf_task *task = inputs->task;
  if (measured)
    trivial->measure_cases++;
  else
    trivial->check_cases++;
  for (int a = 0; a < task->nargs; a++) {
    int64_t count = inputs->elements[a];
    if (!expected->want[a] || !other[a] || count == 0) continue;
    kf_tolerance tolerance = kf_expected_tolerance(expected, task, a);
    void *got = kf_alloc((size_t)count * kf_type_size(task->args[a].type));
    if (!got) return kf_nomem(err);
    kf_status status = KF_OK;
    for (int which = 0; which < KF_TRIVIAL_COUNT && status == KF_OK; which++) {
      kf_compare_result result = {0};
      if (!make(which, inputs, expected, other[a], a, got)) continue;
      status = kf_compare_array(&tolerance, got, expected->want[a], count, &result, err);
      count_answer(&trivial->tally[a][which], result.right, measured, inputs->case_text);
    }
    kf_free(got);
    KF_TRY(status);
  }
  return KF_OK;
}

/* ---- conclusions ---- */

static void describe(const kf_task *task, int which, char *ret_text, size_t room) {
  if (which == KF_TRIVIAL_ZEROS)
    snprintf(ret_text, room, "zeros");
  else if (which == KF_TRIVIAL_MEAN)
    snprintf(ret_text, room, "the mean of another seed's output, everywhere,");
  else if (which == KF_TRIVIAL_OTHER_SEED)
    snprintf(ret_text, room, "another seed's output");
  else
    snprintf(ret_text, room, "a copy of %.60s", task->args[which - KF_TRIVIAL_COPY].name);
}

/* What to change: inputs that are not as random as they could be come first, then the tolerance. */
static kf_status propose_fix(const kf_task *task, int arg, int which, kf_buf *fix, kf_err *err) {
  for (int a = 0; a < task->nargs; a++) {
    const kf_arg_spec *input = &task->args[a];
    if (input->role != KF_ROLE_IN && input->role != KF_ROLE_INOUT) continue;
    if (kf_type_is_float(input->type) && input->fill.kind != KF_FILL_NORMAL)
      return kf_task_arg_line(task, a, "normal", fix, err);
    if (!kf_type_is_float(input->type) && input->fill.kind != KF_FILL_INT)
      return kf_task_arg_line(task, a, "\"int[-100,100)\"", fix, err);
  }
  if (which == KF_TRIVIAL_OTHER_SEED || which >= KF_TRIVIAL_COPY) return KF_OK; /* it is what is computed */
  if (task->compare[arg] == KF_COMPARE_SET)
    return kf_buf_printf(fix, err, "compare: {%s: bound}", task->args[arg].name);
  return task->error_kind == KF_ERROR_LINEAR ? kf_buf_puts(fix, "error: {kind: calibrated}", err) : KF_OK;
}

/* An answer that fits few of the check cases (a copy, where sizes happen to be equal) is none. */
static bool stands(const kf_trivial *trivial, const kf_trivial_tally *tally) {
  return tally->measured || (2 * tally->tried > trivial->check_cases && tally->passed == tally->tried);
}

/* The first answer that stands for an output, or -1. */
static int standing(const kf_trivial *trivial, int arg) {
  for (int which = 0; which < KF_TRIVIAL_SLICE; which++)
    if (stands(trivial, &trivial->tally[arg][which])) return which;
  return -1;
}

static kf_status say_standing(const kf_trivial *trivial, const kf_task *task, int arg, int which,
                              kf_admission_state state, kf_admission *admission, kf_err *err) {
  const kf_trivial_tally *tally = &trivial->tally[arg][which];
  char what[128];
  KF_CLEANUP(kf_buf_done) kf_buf fix;
  kf_buf_init(&fix, 1024);
  KF_TRY(propose_fix(task, arg, which, &fix, err));
  describe(task, which, what, sizeof what);
  const char *why = which == KF_TRIVIAL_OTHER_SEED ? "the output does not depend on its inputs"
                    : which >= KF_TRIVIAL_COPY     ? "nothing is computed"
                                                   : "inputs or tolerance make every value alike";
  kf_admission_add(admission, state, area, kf_buf_text(&fix),
                   "%s passes as %s (%s; %d of %d check cases): %s", what, task->args[arg].name, tally->where,
                   tally->passed, tally->tried, why);
  return KF_OK;
}

/* Answers that pass on many cases, and slices that are alike: not wrong, but they make the task easier than
 * it looks. */
static void say_doubts(const kf_trivial *trivial, const kf_task *task, int arg, kf_admission *admission) {
  for (int which = 0; which < KF_TRIVIAL_COUNT; which++) {
    const kf_trivial_tally *tally = &trivial->tally[arg][which];
    char what[128];
    if (which >= KF_TRIVIAL_SLICE && stands(trivial, tally)) {
      kf_admission_add(admission, KF_ADMISSION_DOUBTFUL, area, NULL,
                       "%s is the same all along axis %d (%s): computing one slice and copying it passes",
                       task->args[arg].name, which - KF_TRIVIAL_SLICE, tally->where);
    } else if (which < KF_TRIVIAL_SLICE && 2 * tally->passed > trivial->check_cases) {
      describe(task, which, what, sizeof what);
      kf_admission_add(admission, KF_ADMISSION_DOUBTFUL, area, NULL,
                       "%s passes as %s on %d of %d check cases (%s): add cases where it fails", what,
                       task->args[arg].name, tally->passed, trivial->check_cases, tally->where);
    }
  }
}

kf_status kf_trivial_conclude(const kf_trivial *trivial, const kf_task *task, kf_admission *admission,
                              kf_err *err) {
  int outputs = 0, answered = 0, before = admission->nlines;
  for (int a = 0; a < task->nargs; a++) {
    if (task->args[a].role != KF_ROLE_OUT && task->args[a].role != KF_ROLE_INOUT) continue;
    outputs++;
    answered += standing(trivial, a) >= 0;
  }
  kf_admission_state state = answered == outputs ? KF_ADMISSION_REFUSED : KF_ADMISSION_DOUBTFUL;
  for (int a = 0; a < task->nargs; a++) {
    if (task->args[a].role != KF_ROLE_OUT && task->args[a].role != KF_ROLE_INOUT) continue;
    int which = standing(trivial, a);
    if (which >= 0)
      KF_TRY(say_standing(trivial, task, a, which, state, admission, err));
    else
      say_doubts(trivial, task, a, admission);
  }
  if (admission->nlines == before)
    kf_admission_add(admission, KF_ADMISSION_OK, area, NULL,
                     "zeros, a constant, copies of inputs and another seed's output fail on %d check and %d "
                     "measure cases",
                     trivial->check_cases, trivial->measure_cases);
  return KF_OK;
}
