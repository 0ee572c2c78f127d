/* roofline.c - classes of performance; see roofline.h. */
#include "measure/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static const double LAUNCH_SHARE = 0.3, ROOF_SHARE = 0.6;
enum { GROUPS_PER_UNIT = 2 };

/* ---- work ---- */

typedef struct {
  const kf_task *task;
  const int64_t *symbols;
} scope;

static bool lookup(void *context, const char *name, kf_value *ret_value) {
  const scope *s = context;
  int index = kf_task_symbol(s->task, name);
  if (index < 0) return false;
  *ret_value = (kf_value){.number = s->symbols[index]};
  return true;
}

bool kf_task_is_indexed(const kf_task *task) {
  for (int a = 0; a < task->nargs; a++)
    if (task->args[a].role == KF_ROLE_IN &&
        (task->args[a].fill.kind == KF_FILL_INDEX || task->args[a].fill.kind == KF_FILL_PERMUTATION))
      return true;
  return false;
}

static bool is_integer_array(const kf_arg_spec *arg) {
  return !kf_type_is_float(arg->type);
}

kf_status kf_work_of_task(const kf_task *task, const int64_t *symbols, kf_work *ret_work, kf_err *err) {
  kf_work work = {0};
  scope s = {task, symbols};
  int64_t outputs = 0;
  bool indexed = kf_task_is_indexed(task);
  for (int a = 0; a < task->nargs; a++) {
    const kf_arg_spec *arg = &task->args[a];
    int64_t elements = 0, shape[KF_RANK_MAX];
    if (!kf_role_is_array(arg->role)) continue;
    KF_TRY(kf_task_elements(task, a, symbols, &elements, shape, err));
    int64_t bytes = elements * (int64_t)kf_type_size(arg->type);
    if (arg->role != KF_ROLE_OUT && (!indexed || is_integer_array(arg))) work.bytes_in += bytes;
    if (arg->role == KF_ROLE_IN) continue;
    work.bytes_out += bytes;
    outputs += elements;
  }
  int64_t value = 0;
  if (task->operations != NULL) {
    KF_TRY(kf_expr_eval_int(task->operations, lookup, &s, &value, err));
    work.operations = (double)value;
  } else if (task->error_kind == KF_ERROR_LINEAR && task->error_depth != NULL) {
    KF_TRY(kf_expr_eval_int(task->error_depth, lookup, &s, &value, err));
    work.operations = 2.0 * (double)value * (double)outputs;
  }
  *ret_work = work;
  return KF_OK;
}

void kf_work_add_calls(const kf_calls *calls, kf_work *work) {
  work->launches = calls->nsteps;
  for (int i = 0; i < calls->nsteps; i++) {
    const kf_step *step = &calls->steps[i];
    int64_t groups = 1;
    if (step->kind != KF_STEP_LAUNCH) continue;
    for (int d = 0; d < 3; d++)
      if (step->local[d] > 0) groups *= step->global[d] / step->local[d];
    if (groups > work->groups) work->groups = groups;
  }
}

/* ---- shares ---- */

int64_t kf_work_floor_ns(const kf_ceilings *ceilings, const kf_work *work, int64_t llc_bytes) {
  if (ceilings == NULL || !ceilings->known) return 0;
  /* A cache of unknown size may hold all of it. */
  int64_t written = llc_bytes > 0 && work->bytes_out > llc_bytes ? work->bytes_out - llc_bytes : 0;
  return (int64_t)((double)work->bytes_in / ceilings->read_gbs + (double)written / ceilings->write_gbs);
}

/* The least time for all compulsory bytes: pairs of a byte in and a byte out at the copy rate. */
static double bytes_ns(const kf_ceilings *ceilings, const kf_work *work) {
  int64_t paired = work->bytes_in < work->bytes_out ? work->bytes_in : work->bytes_out;
  return 2.0 * (double)paired / ceilings->copy_gbs + (double)(work->bytes_in - paired) / ceilings->read_gbs +
         (double)(work->bytes_out - paired) / ceilings->write_gbs;
}

static const char *class_of(const kf_roofline *r, bool underfilled) {
  if (r->launch_share > LAUNCH_SHARE) return "launch_bound";
  if (r->bytes_share >= ROOF_SHARE && r->bytes_share >= r->operations_share) return "memory_bound";
  if (r->operations_share >= ROOF_SHARE) return "compute_bound";
  return underfilled ? "underfilled" : "latency_bound";
}

static void describe(const kf_ceilings *c, const kf_roofline *r, const kf_work *first, int64_t units,
                     kf_diagnosis *ret_diagnosis) {
  kf_diagnosis *d = ret_diagnosis;
  memset(d, 0, sizeof *d);
  snprintf(d->kind, sizeof d->kind, "%s", r->bound);
  double attained = fmax(r->bytes_share, r->operations_share);
  const char *roof = r->operations_share > r->bytes_share ? "arithmetic" : "memory bandwidth";
  if (strcmp(r->bound, "launch_bound") == 0)
    snprintf(d->text, sizeof d->text, "%.0f %% of the time is that of %d empty launches",
             r->launch_share * 100, first->launches);
  else if (strcmp(r->bound, "underfilled") == 0)
    snprintf(d->text, sizeof d->text, "%lld groups for %lld units, at %.0f %% of the %s that was measured",
             (long long)first->groups, (long long)units, attained * 100, roof);
  else
    snprintf(d->text, sizeof d->text, "at %.0f %% of the %s that was measured%s", attained * 100, roof,
             r->operations_share > 0 ? "" : "; its operations are not known");
  snprintf(
      d->evidence, sizeof d->evidence,
      "bytes %.2f, operations %.2f, launches %.2f of the ceilings: read %.3g, write %.3g, copy %.3g GB/s, "
      "%.3g GFLOP/s, %lld ns a launch",
      r->bytes_share, r->operations_share, r->launch_share, c->read_gbs, c->write_gbs, c->copy_gbs, c->gflops,
      (long long)c->launch_ns);
}

void kf_roofline_classify(const kf_ceilings *ceilings, const kf_device_info *device, const kf_work *cases,
                          int ncases, kf_roofline *ret_roofline, kf_diagnosis *ret_diagnosis) {
  double bytes = 0, operations = 0, launches = 0, floors = 0; /* sums of logs */
  bool underfilled = true, counted = true, launched = true;
  memset(ret_roofline, 0, sizeof *ret_roofline);
  memset(ret_diagnosis, 0, sizeof *ret_diagnosis);
  if (ceilings == NULL || !ceilings->known || ncases < 1) return;
  for (int i = 0; i < ncases; i++) {
    const kf_work *w = &cases[i];
    if (w->time_ns <= 0) return;
    double t = (double)w->time_ns;
    bytes += log(fmax(bytes_ns(ceilings, w) / t, 1e-9));
    floors += log(fmax((double)kf_work_floor_ns(ceilings, w, device->llc_bytes), 1));
    counted = counted && w->operations > 0;
    if (counted) operations += log(w->operations / ceilings->gflops / t);
    launched = launched && w->launches > 0;
    if (launched) launches += log((double)w->launches * (double)ceilings->launch_ns / t);
    underfilled = underfilled && w->groups > 0 && w->groups < GROUPS_PER_UNIT * device->limits.units;
  }
  kf_roofline r = {.bytes_share = exp(bytes / ncases),
                   .operations_share = counted ? exp(operations / ncases) : 0,
                   .launch_share = launched ? exp(launches / ncases) : 0,
                   .floor_ns = llround(exp(floors / ncases))};
  snprintf(r.bound, sizeof r.bound, "%s", class_of(&r, underfilled));
  *ret_roofline = r;
  describe(ceilings, &r, &cases[0], device->limits.units, ret_diagnosis);
}
