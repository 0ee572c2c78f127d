/* plan_resolve.c - a plan, a binding, a case and a device -> numbers. No allocation but the result; names
 * were resolved to slots when the plan was parsed. */
#include "task/plan_private.h"

#include "base/alloc.h"
#include <math.h>
#include <string.h>

typedef struct {
  const kf_plan *plan;
  const kf_binding *binding;
  const int64_t *symbols;
  const kf_device_limits *limits;
  kf_value *slots;
  kf_err *err;
} resolver;

/* The case and the binding, for messages; what does not fit is cut. */
static void describe(const resolver *r, char *ret_text, size_t room) {
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, room - 1);
  ret_text[0] = '\0';
  kf_status status = kf_task_case_text(r->plan->task, r->symbols, &text, NULL);
  if (status == KF_OK && r->plan->nparams > 0) {
    status = kf_buf_puts(&text, text.len > 0 ? "; " : "", NULL);
    if (status == KF_OK) kf_plan_binding_text(r->plan, r->binding, &text, NULL);
  }
  memcpy(ret_text, kf_buf_text(&text), text.len + 1);
}

static kf_status fail_at(const resolver *r, int line, int column, const char *what) {
  char where[200], of_case[240] = "";
  if (r->err == NULL) return KF_EREFUSED;
  describe(r, where, sizeof where);
  if (where[0] != '\0') snprintf(of_case, sizeof of_case, " (%s)", where);
  if (column > 0)
    return kf_fail(r->err, KF_EREFUSED, "%s:%d:%d: %s%s", r->plan->name, line, column, what, of_case);
  return kf_fail(r->err, KF_EREFUSED, "%s:%d: %s%s", r->plan->name, line, what, of_case);
}

static kf_status eval_failure(const resolver *r, const kf__placed *placed, int column, const kf_err *detail) {
  kf_status status = fail_at(r, placed->line, placed->column + column - 1, detail->msg);
  return detail->hint[0] != '\0' ? kf_err_hint(r->err, status, "%s", detail->hint) : status;
}

static kf_status eval(const resolver *r, const kf__placed *placed, int64_t *ret_number) {
  int column = 1;
  if (r->err == NULL)
    return kf__expr_int_slots(placed->expr, r->slots, ret_number, &column, NULL) == KF_OK ? KF_OK
                                                                                          : KF_EREFUSED;
  kf_err detail;
  detail.hint[0] = '\0';
  if (kf__expr_int_slots(placed->expr, r->slots, ret_number, &column, &detail) == KF_OK) return KF_OK;
  return eval_failure(r, placed, column, &detail);
}

static void fill_slots(const resolver *r) {
  const kf_plan *plan = r->plan;
  for (int i = 0; i < plan->nparams; i++)
    r->slots[KF__SLOT_PARAMS + i] = plan->params[i].choices[r->binding->choice[i]];
  for (int i = 0; i < plan->task->nsymbols; i++)
    r->slots[KF__SLOT_SYMBOLS + i] = (kf_value){.number = r->symbols[i]};
  const int64_t dev[KF__DEV_NAMES] = {r->limits->units, r->limits->local_bytes, r->limits->max_group,
                                      r->limits->simd_width, r->limits->is_cpu};
  for (int i = 0; i < KF__DEV_NAMES; i++)
    r->slots[KF__SLOT_DEV + i] = (kf_value){.number = dev[i]};
}

/* Evaluates lets and wheres in file order, up to the first where that is false. */
static kf_status apply_rules(const resolver *r, const kf__rule **ret_false) {
  const kf_plan *plan = r->plan;
  *ret_false = NULL;
  fill_slots(r);
  for (int i = 0; i < plan->nrules; i++) {
    const kf__rule *rule = &plan->rules[i];
    int64_t number;
    KF_TRY(eval(r, &rule->value, &number));
    if (rule->name != NULL) {
      r->slots[KF__SLOT_LETS + i] = (kf_value){.number = number};
    } else if (number == 0) {
      *ret_false = rule;
      return KF_OK;
    }
  }
  return KF_OK;
}

static kf_status check_binding(const kf_plan *plan, const kf_binding *binding, kf_err *err) {
  for (int i = 0; i < plan->nparams; i++)
    if (binding->choice[i] < 0 || binding->choice[i] >= plan->params[i].nchoices)
      return kf_fail(err, KF_EBUG, "%s: binding of %s out of range", plan->name, plan->params[i].name);
  return KF_OK;
}

kf_status kf_plan_legal(const kf_plan *plan, const kf_binding *binding, const int64_t *symbols,
                        const kf_device_limits *limits, bool *ret_legal, const char **ret_reason,
                        kf_err *err) {
  kf_value slots[KF__SLOTS];
  resolver r = {plan, binding, symbols, limits, slots, err};
  const kf__rule *rule;
  KF_TRY(check_binding(plan, binding, err));
  KF_TRY(apply_rules(&r, &rule));
  *ret_legal = rule == NULL;
  if (rule != NULL && ret_reason != NULL) *ret_reason = rule->reason;
  return KF_OK;
}

/* ---- launches ---- */

static kf_status fail_number(const resolver *r, const kf__placed *placed, const char *what, int64_t number) {
  char text[160];
  if (r->err == NULL) return KF_EREFUSED;
  snprintf(text, sizeof text, "%s: %lld", what, (long long)number);
  return fail_at(r, placed->line, placed->column, text);
}

static kf_status fail_limit(const resolver *r, const kf__placed *placed, const char *what, int64_t number,
                            int64_t limit) {
  char text[160];
  if (r->err == NULL) return KF_EREFUSED;
  snprintf(text, sizeof text, "%s: %lld, over the device's limit of %lld", what, (long long)number,
           (long long)limit);
  return fail_at(r, placed->line, placed->column, text);
}

static kf_status fail_multiple(const resolver *r, const kf__placed *placed, int64_t global, int64_t local) {
  char text[160];
  if (r->err == NULL) return KF_EREFUSED;
  snprintf(text, sizeof text, "global size %lld is not a multiple of local size %lld", (long long)global,
           (long long)local);
  kf_status status = fail_at(r, placed->line, placed->column, text);
  return kf_err_hint(r->err, status, "round it up: ceil(n, %lld)*%lld", (long long)local, (long long)local);
}

static kf_status resolve_sizes(const resolver *r, const kf__plan_step *step, int64_t global[3],
                               int64_t local[3]) {
  const kf_device_limits *limits = r->limits;
  int64_t group = 1, items = 1;
  for (int d = 0; d < 3; d++)
    global[d] = local[d] = 1;
  for (int d = 0; d < step->dims; d++) {
    KF_TRY(eval(r, &step->global[d], &global[d]));
    KF_TRY(eval(r, &step->local[d], &local[d]));
    if (local[d] < 1) return fail_number(r, &step->local[d], "local size below 1", local[d]);
    if (global[d] < 1) {
      kf_status status = fail_number(r, &step->global[d], "global size below 1", global[d]);
      return kf_err_hint(r->err, status, "leave a launch out with if=EXPR");
    }
    if (global[d] % local[d] != 0) return fail_multiple(r, &step->global[d], global[d], local[d]);
    if (limits->max_local[d] > 0 && local[d] > limits->max_local[d])
      return fail_limit(r, &step->local[d], "local size", local[d], limits->max_local[d]);
    if (__builtin_mul_overflow(group, local[d], &group) || __builtin_mul_overflow(items, global[d], &items))
      return fail_at(r, step->global[d].line, step->global[d].column, "more work-items than 64 bits count");
  }
  if (limits->max_group > 0 && group > limits->max_group)
    return fail_limit(r, &step->local[0], "work-items of a group", group, limits->max_group);
  return KF_OK;
}

static void put_integer(uint8_t *bytes, size_t size, int64_t number) {
  for (size_t i = 0; i < size; i++)
    bytes[i] = (uint8_t)((uint64_t)number >> (8 * i));
}

static kf_status resolve_value(const resolver *r, const kf__launch_arg *arg, kf_step_arg *out) {
  int64_t number, min, max;
  KF_TRY(eval(r, &arg->value, &number));
  out->kind = KF_STEP_ARG_BYTES;
  out->nbytes = (uint32_t)kf_type_size(arg->type);
  bool fits = true;
  if (kf_type_range(arg->type, &min, &max)) {
    fits = number >= min && number <= max;
    put_integer(out->bytes, out->nbytes, number);
  } else {
    _Alignas(8) uint8_t element[8] = {0};
    kf_type_put(arg->type, element, 0, (double)number);
    double stored = kf_type_get(arg->type, element, 0);
    fits = fabs(stored - (double)number) <=
           fabs((double)number) * kf_type_roundoff(arg->type); /* else infinite or saturated */
    memcpy(out->bytes, element, out->nbytes);
  }
  if (fits) return KF_OK;
  if (r->err == NULL) return KF_EREFUSED;
  char what[160];
  snprintf(what, sizeof what, "%.80s is %lld, which does not fit in %s", kf_expr_text(arg->value.expr),
           (long long)number, kf_type_name(arg->type));
  return fail_at(r, arg->value.line, arg->value.column, what);
}

static kf_status resolve_arg(const resolver *r, const kf__launch_arg *arg, kf_step_arg *out,
                             int64_t *local_total) {
  _Alignas(8) uint8_t element[8] = {0};
  switch (arg->kind) {
  case KF__ARG_BUFFER:
    out->kind = KF_STEP_ARG_BUFFER;
    out->buffer = arg->buffer;
    return KF_OK;
  case KF__ARG_VALUE:
    return resolve_value(r, arg, out);
  case KF__ARG_SCALAR:
    out->kind = KF_STEP_ARG_BYTES;
    out->nbytes = (uint32_t)kf_type_size(arg->type);
    kf_type_put(arg->type, element, 0, arg->scalar);
    memcpy(out->bytes, element, out->nbytes);
    return KF_OK;
  case KF__ARG_LOCAL:
    break;
  }
  out->kind = KF_STEP_ARG_LOCAL;
  KF_TRY(eval(r, &arg->value, &out->local_bytes));
  if (out->local_bytes < 1)
    return fail_number(r, &arg->value, "bytes of local memory below 1", out->local_bytes);
  if (__builtin_add_overflow(*local_total, out->local_bytes, local_total)) *local_total = INT64_MAX;
  if (r->limits->local_bytes > 0 && *local_total > r->limits->local_bytes)
    return fail_limit(r, &arg->value, "bytes of local memory", *local_total, r->limits->local_bytes);
  return KF_OK;
}

/* `out` may be NULL: then the launch is only checked. */
static kf_status resolve_launch(const resolver *r, const kf__plan_step *step, kf_step *out) {
  int64_t global[3], local[3], local_total = 0;
  if (step->unsupported != NULL) {
    char what[96];
    snprintf(what, sizeof what, "%s: no device backend of this version has it", step->unsupported);
    return fail_at(r, step->line, 0, what);
  }
  KF_TRY(resolve_sizes(r, step, global, local));
  for (int i = 0; i < step->nargs; i++) {
    kf_step_arg scratch = {0};
    KF_TRY(resolve_arg(r, &step->args[i], out != NULL ? &out->args[i] : &scratch, &local_total));
  }
  if (out == NULL) return KF_OK;
  memcpy(out->entry, step->entry, sizeof step->entry);
  memcpy(out->global, global, sizeof global);
  memcpy(out->local, local, sizeof local);
  out->nargs = step->nargs;
  return KF_OK;
}

/* ---- buffers ---- */

static kf_status resolve_temp(const resolver *r, const kf__temp *temp, kf_buffer_spec *out) {
  int64_t elements = 1, dim, bytes = 0;
  for (int d = 0; d < temp->rank; d++) {
    KF_TRY(eval(r, &temp->shape[d], &dim));
    if (dim < 1) return fail_number(r, &temp->shape[d], "dimension of a temp below 1", dim);
    if (__builtin_mul_overflow(elements, dim, &elements) ||
        __builtin_mul_overflow(elements, (int64_t)kf_type_size(temp->type), &bytes))
      return fail_at(r, temp->shape[d].line, temp->shape[d].column,
                     "the temp has more bytes than 64 bits count");
  }
  if (out == NULL) return KF_OK;
  *out = (kf_buffer_spec){.name = temp->name,
                          .role = KF_ROLE_OUT,
                          .is_temp = true,
                          .type = temp->type,
                          .elements = elements,
                          .bytes = bytes,
                          .arg = -1};
  return KF_OK;
}

static kf_status resolve_buffers(const resolver *r, kf_calls *calls) {
  const kf_plan *plan = r->plan;
  const kf_task *task = plan->task;
  for (int i = 0; i < task->nargs; i++) {
    if (plan->arg_buffer[i] < 0) continue;
    kf_buffer_spec *out = &calls->buffers[calls->nbuffers++];
    *out = (kf_buffer_spec){
        .name = task->args[i].name, .role = task->args[i].role, .type = task->args[i].type, .arg = i};
    KF_TRY(kf_task_elements(task, i, r->symbols, &out->elements, NULL, r->err));
    out->bytes = out->elements * (int64_t)kf_type_size(out->type);
  }
  for (int i = 0; i < plan->ntemps; i++)
    KF_TRY(resolve_temp(r, &plan->temps[i], &calls->buffers[calls->nbuffers++]));
  return KF_OK;
}

/* ---- the host form ---- */

/* The one step of the host form: every argument of the task in order. Sizes and scalars travel as bytes. */
static kf_status resolve_host_arg(const resolver *r, int index, struct kf_host_arg *arg, kf_step_arg *out) {
  const kf_arg_spec *spec = &r->plan->task->args[index];
  _Alignas(8) uint8_t element[8] = {0};
  int64_t elements;
  arg->type = spec->type;
  arg->role = spec->role;
  arg->rank = spec->rank;
  if (kf_role_is_array(spec->role)) {
    *out = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = r->plan->arg_buffer[index]};
    return kf_task_elements(r->plan->task, index, r->symbols, &elements, arg->shape, r->err);
  }
  out->kind = KF_STEP_ARG_BYTES;
  out->nbytes = (uint32_t)kf_type_size(spec->type);
  if (spec->role == KF_ROLE_SIZE && !kf_type_is_float(spec->type)) {
    put_integer(out->bytes, out->nbytes, r->symbols[spec->symbol]);
    return KF_OK;
  }
  kf_type_put(spec->type, element, 0,
              spec->role == KF_ROLE_SIZE ? (double)r->symbols[spec->symbol] : spec->value);
  memcpy(out->bytes, element, out->nbytes);
  return KF_OK;
}

static kf_status resolve_host(const resolver *r, kf_calls *calls) {
  const kf_task *task = r->plan->task;
  calls->host = kf_calloc(1, sizeof *calls->host);
  if (calls->host == NULL) return kf_nomem(r->err);
  calls->host->nargs = task->nargs;
  calls->host->nsymbols = task->nsymbols;
  memcpy(calls->host->symbols, r->symbols, (size_t)task->nsymbols * sizeof *r->symbols);
  kf_step *step = &calls->steps[calls->nsteps++];
  step->kind = KF_STEP_HOST_RUN;
  step->line = 1;
  step->nargs = task->nargs;
  memcpy(step->entry, "kf_run", sizeof "kf_run");
  for (int i = 0; i < task->nargs; i++)
    KF_TRY(resolve_host_arg(r, i, &calls->host->args[i], &step->args[i]));
  return KF_OK;
}

void kf_calls_add_workspace(kf_calls *calls, int64_t bytes) {
  if (bytes <= 0 || calls->nbuffers == (int)KF_COUNTOF(calls->buffers)) return;
  calls->buffers[calls->nbuffers++] = (kf_buffer_spec){.name = "workspace",
                                                       .role = KF_ROLE_OUT,
                                                       .is_temp = true,
                                                       .type = KF_TYPE_U8,
                                                       .elements = bytes,
                                                       .bytes = bytes,
                                                       .arg = -1};
}

/* ---- the whole ---- */

/* Is the step part of this call? */
static kf_status step_runs(const resolver *r, const kf__plan_step *step, bool *ret_runs) {
  int64_t condition = 1;
  if (step->condition.expr != NULL) KF_TRY(eval(r, &step->condition, &condition));
  *ret_runs = condition != 0;
  return KF_OK;
}

static kf_status resolve_steps(const resolver *r, kf_calls *calls) {
  const kf_plan *plan = r->plan;
  for (int i = 0; i < plan->nsteps; i++) {
    const kf__plan_step *step = &plan->steps[i];
    bool runs;
    KF_TRY(step_runs(r, step, &runs));
    if (!runs) continue;
    kf_step *out = &calls->steps[calls->nsteps++];
    out->kind = step->kind;
    out->line = step->line;
    if (step->kind == KF_STEP_LAUNCH) {
      KF_TRY(resolve_launch(r, step, out));
    } else {
      out->buffer = step->buffer;
      out->npattern = step->npattern;
      memcpy(out->pattern, step->pattern, sizeof out->pattern);
    }
  }
  return KF_OK;
}

kf_status kf__plan_check(const kf_plan *plan, const kf_binding *binding, const int64_t *symbols,
                         const kf_device_limits *limits, kf_value *slots, bool *ret_legal, kf_err *err) {
  resolver r = {plan, binding, symbols, limits, slots, err};
  const kf__rule *rule;
  KF_TRY(apply_rules(&r, &rule));
  *ret_legal = rule == NULL;
  if (rule != NULL) return KF_OK;
  for (int i = 0; i < plan->ntemps; i++)
    KF_TRY(resolve_temp(&r, &plan->temps[i], NULL));
  for (int i = 0; i < plan->nsteps; i++) {
    bool runs;
    KF_TRY(step_runs(&r, &plan->steps[i], &runs));
    if (runs && plan->steps[i].kind == KF_STEP_LAUNCH) KF_TRY(resolve_launch(&r, &plan->steps[i], NULL));
  }
  return KF_OK;
}

kf_status kf_plan_resolve(const kf_plan *plan, const kf_task *task, const kf_binding *binding,
                          const int64_t *symbols, const kf_device_limits *limits, kf_calls **ret_calls,
                          kf_err *err) {
  kf_value slots[KF__SLOTS];
  resolver r = {plan, binding, symbols, limits, slots, err};
  const kf__rule *rule;
  if (task != plan->task)
    return kf_fail(err, KF_EBUG, "%s: the plan was parsed for another task", plan->name);
  KF_TRY(check_binding(plan, binding, err));
  KF_TRY(apply_rules(&r, &rule));
  if (rule != NULL) {
    char what[KF_EXPR_LEN_MAX + 96];
    snprintf(what, sizeof what, "where %s is false", kf_expr_text(rule->value.expr));
    kf_status status = fail_at(&r, rule->value.line, 0, what);
    return kf_err_hint(err, status, "this binding is not for this shape; the launch plan must cover it");
  }
  kf_calls *calls = kf_calloc(1, sizeof *calls);
  if (calls == NULL) return kf_nomem(err);
  calls->steps = kf_calloc(kf__plan_is_host(plan) ? 1 : (size_t)plan->nsteps, sizeof *calls->steps);
  if (calls->steps == NULL) {
    kf_calls_free(calls);
    return kf_nomem(err);
  }
  kf_status status = resolve_buffers(&r, calls);
  if (status == KF_OK) status = kf__plan_is_host(plan) ? resolve_host(&r, calls) : resolve_steps(&r, calls);
  if (status == KF_OK)
    *ret_calls = calls;
  else
    kf_calls_free(calls);
  return status;
}

void kf_calls_free(kf_calls *calls) {
  if (calls == NULL) return;
  kf_free(calls->host);
  kf_free(calls->steps);
  kf_free(calls);
}
