/* plan_launch.c - `launch ENTRY[<..>] global=(..) local=(..) [shared=e] [cluster=(..)] [cooperative]
 * [if=EXPR] args=(..)`. Clauses come in any order, each once. What a language or a device backend does not
 * have is refused by name. */
#include "task/plan_private.h"

#include "base/alloc.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

typedef enum { C_GLOBAL, C_LOCAL, C_SHARED, C_CLUSTER, C_COOPERATIVE, C_IF, C_ARGS, C_COUNT } clause;

static const char *const clause_names[C_COUNT + 1] = {"global",      "local", "shared", "cluster",
                                                      "cooperative", "if",    "args",   NULL};

/* Something that only other languages have: refused for OpenCL here, by resolve for a language without a
 * backend. */
static kf_status other_language(kf__cursor *c, size_t pos, const char *what, const char *hint,
                                kf__plan_step *step) {
  step->unsupported = what;
  if (c->plan->language != KF_LANG_OPENCL) return KF_OK;
  kf_status status = kf__plan_fail(c, pos, "%s: not in OpenCL", what);
  return hint != NULL ? kf_err_hint(c->err, status, "%s", hint) : status;
}

/* "(e, ..)" of at most three. */
static kf_status parse_dims(kf__cursor *c, kf__placed ret_dims[3], int *ret_count) {
  int count = 0;
  KF_TRY(kf__plan_expect(c, "(", "before the sizes"));
  do {
    if (count == 3) return kf__plan_fail(c, c->pos, "more than 3 dimensions");
    KF_TRY(kf__plan_expr(c, &ret_dims[count++]));
  } while (kf__plan_take(c, ','));
  *ret_count = count;
  return kf__plan_expect(c, ")", "after the sizes");
}

/* ---- arguments ---- */

/* tensormap(...): skipped to its closing bracket and refused, or left to resolve. */
static kf_status parse_tensormap(kf__cursor *c, size_t begin, kf__plan_step *step) {
  int depth = 0;
  KF_TRY(other_language(c, begin, "tensormap", "pass the array itself", step));
  for (; c->pos < c->len; c->pos++) {
    if (c->text[c->pos] == '(') depth++;
    if (c->text[c->pos] == ')' && --depth == 0) {
      c->pos++;
      return KF_OK;
    }
  }
  return kf__plan_fail(c, c->pos, "expected \")\" after tensormap");
}

/* TYPE(EXPR) and local(BYTES); the word has been read. */
static kf_status parse_call_arg(kf__cursor *c, const char *word, size_t begin, kf__launch_arg *arg) {
  if (strcmp(word, "local") == 0) {
    arg->kind = KF__ARG_LOCAL;
  } else {
    arg->kind = KF__ARG_VALUE;
    KF_TRY(kf__plan_type(c, word, begin, &arg->type));
  }
  KF_TRY(kf__plan_expect(c, "(", "after the type"));
  KF_TRY(kf__plan_expr(c, &arg->value));
  return kf__plan_expect(c, ")", "after the expression");
}

/* The word itself as an expression: a symbol, param or let, whose value the argument takes. */
static kf_status parse_value_arg(kf__cursor *c, size_t begin, kf_type type, kf__launch_arg *arg) {
  arg->kind = KF__ARG_VALUE;
  arg->type = type;
  size_t end = c->pos, len = c->len;
  c->pos = begin;
  c->len = end;
  kf_status status = kf__plan_expr(c, &arg->value);
  c->len = len;
  c->pos = end;
  return status;
}

static kf_status parse_name_arg(kf__cursor *c, const char *word, size_t begin, kf__launch_arg *arg) {
  const kf_plan *plan = c->plan;
  int index = kf_task_arg(plan->task, word);
  if (index >= 0) {
    const kf_arg_spec *spec = &plan->task->args[index];
    if (spec->role == KF_ROLE_SIZE) return parse_value_arg(c, begin, spec->type, arg);
    if (spec->role == KF_ROLE_SCALAR)
      *arg = (kf__launch_arg){.kind = KF__ARG_SCALAR, .type = spec->type, .scalar = spec->value};
    else
      *arg = (kf__launch_arg){.kind = KF__ARG_BUFFER, .buffer = plan->arg_buffer[index]};
    return KF_OK;
  }
  index = kf__plan_find_temp(plan, word);
  if (index >= 0) {
    *arg = (kf__launch_arg){.kind = KF__ARG_BUFFER, .buffer = plan->narrays + index};
    return KF_OK;
  }
  index = kf__plan_find_param(plan, word);
  if (index >= 0 && plan->params[index].choices[0].is_word)
    return kf__plan_fail(c, begin, "param \"%s\" has words, which cannot be passed to a kernel", word);
  bool known = index >= 0 || kf_task_symbol(plan->task, word) >= 0 || kf__plan_find_let(plan, word) >= 0;
  if (!known) return kf__plan_unknown(c, begin, word);
  return parse_value_arg(c, begin, KF_TYPE_I32, arg);
}

static kf_status parse_arg(kf__cursor *c, kf__launch_arg *arg, kf__plan_step *step) {
  char word[65];
  size_t begin;
  kf__plan_word(c, word, &begin);
  if (word[0] == '\0') {
    kf_status status = kf__plan_fail(c, begin, "expected a name, TYPE(EXPR) or local(BYTES)");
    return kf_err_hint(c->err, status, "a number is passed with its type: i32(4)");
  }
  if (kf__plan_peek(c) != '(') return parse_name_arg(c, word, begin, arg);
  if (strcmp(word, "tensormap") == 0) return parse_tensormap(c, begin, step);
  return parse_call_arg(c, word, begin, arg);
}

static kf_status parse_args(kf__cursor *c, kf__plan_step *step) {
  kf__launch_arg args[KF_STEP_ARGS_MAX] = {0};
  KF_TRY(kf__plan_expect(c, "(", "before the arguments"));
  if (kf__plan_take(c, ')')) return KF_OK;
  do {
    if (step->nargs == KF_STEP_ARGS_MAX)
      return kf__plan_fail(c, c->pos, "more than %d arguments", KF_STEP_ARGS_MAX);
    KF_TRY(parse_arg(c, &args[step->nargs], step));
    step->nargs++;
  } while (kf__plan_take(c, ','));
  KF_TRY(kf__plan_expect(c, ")", "after the arguments"));
  step->args = kf_arena_array(&c->plan->arena, (size_t)step->nargs, sizeof *step->args);
  if (step->args == NULL) return kf_nomem(c->err);
  memcpy(step->args, args, (size_t)step->nargs * sizeof *args);
  return KF_OK;
}

/* ---- the directive ---- */

static kf_status parse_entry(kf__cursor *c, kf__plan_step *step) {
  char word[65];
  size_t begin;
  kf__plan_word(c, word, &begin);
  if (word[0] == '\0') return kf__plan_fail(c, begin, "expected the name of a kernel");
  if (strlen(word) > KF__ENTRY_MAX)
    return kf__plan_fail(c, begin, "kernel name longer than %d characters", KF__ENTRY_MAX);
  memcpy(step->entry, word, strlen(word) + 1);
  if (c->pos >= c->len || c->text[c->pos] != '<') return KF_OK;
  size_t open = c->pos;
  const char *close = memchr(c->text + open, '>', c->len - open);
  if (close == NULL) return kf__plan_fail(c, open, "expected \">\" after the template arguments");
  c->pos = (size_t)(close - c->text) + 1;
  return other_language(c, open, "template arguments", "use a param: the value reaches the code as a macro",
                        step);
}

static kf_status parse_clause(kf__cursor *c, clause which, size_t begin, kf__plan_step *step,
                              int *local_dims) {
  kf__placed unused[3];
  int count;
  switch (which) {
  case C_GLOBAL:
    return parse_dims(c, step->global, &step->dims);
  case C_LOCAL:
    return parse_dims(c, step->local, local_dims);
  case C_SHARED:
    KF_TRY(
        other_language(c, begin, "shared=", "OpenCL passes local memory as an argument: local(BYTES)", step));
    return kf__plan_expr(c, &unused[0]);
  case C_CLUSTER:
    KF_TRY(other_language(c, begin, "cluster=", NULL, step));
    return parse_dims(c, unused, &count);
  case C_COOPERATIVE:
    return other_language(c, begin, "cooperative", "use two launches: one queue runs them in order", step);
  case C_IF:
    return kf__plan_expr(c, &step->condition);
  default:
    return parse_args(c, step);
  }
}

static kf_status find_clause(kf__cursor *c, unsigned seen, clause *ret_which, size_t *ret_begin) {
  char word[65];
  int which = 0;
  kf__plan_word(c, word, ret_begin);
  while (which < C_COUNT && strcmp(clause_names[which], word) != 0)
    which++;
  if (which == C_COUNT) {
    kf_status status = kf__plan_fail(c, *ret_begin, "expected a clause of launch, found \"%.32s\"",
                                     word[0] != '\0' ? word : (char[2]){c->text[*ret_begin], '\0'});
    const char *nearest = kf_text_nearest(word, clause_names);
    if (nearest != NULL) return kf_err_hint(c->err, status, "did you mean \"%s\"?", nearest);
    return kf_err_hint(c->err, status,
                       "there are global= local= if= args= and, for CUDA, shared= cluster= cooperative");
  }
  if ((seen & (1u << which)) != 0) return kf__plan_fail(c, *ret_begin, "\"%s\" is given twice", word);
  *ret_which = (clause)which;
  return which == C_COOPERATIVE ? KF_OK : kf__plan_expect(c, "=", "after the clause");
}

kf_status kf__plan_parse_launch(kf__cursor *c) {
  kf_plan *plan = c->plan;
  kf__plan_step step = {.kind = KF_STEP_LAUNCH, .line = c->line};
  unsigned seen = 0;
  int local_dims = 0;
  if (plan->nsteps == KF_STEPS_MAX)
    return kf__plan_fail(c, c->pos, "more than %d launches and fills", KF_STEPS_MAX);
  KF_TRY(parse_entry(c, &step));
  while (kf__plan_peek(c) != '\0') {
    clause which = C_ARGS;
    size_t begin;
    KF_TRY(find_clause(c, seen, &which, &begin));
    KF_TRY(parse_clause(c, which, begin, &step, &local_dims));
    seen |= 1u << which;
  }
  static const clause required[] = {C_GLOBAL, C_LOCAL, C_ARGS};
  for (size_t i = 0; i < KF_COUNTOF(required); i++)
    if ((seen & (1u << required[i])) == 0)
      return kf__plan_fail(c, c->len, "launch has no %s=(...)", clause_names[required[i]]);
  if (step.dims != local_dims)
    return kf__plan_fail(c, c->len, "global has %d dimensions, local has %d", step.dims, local_dims);
  plan->steps[plan->nsteps++] = step;
  return KF_OK;
}
