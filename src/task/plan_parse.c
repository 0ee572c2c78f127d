/* plan_parse.c - directives -> kf_plan. Params are read first, so that an expression may use a param declared
 * below it; a let is known to what follows it only, since lets and wheres are evaluated in file order; temps
 * and launches come last. */
#include "task/plan_private.h"

#include "base/alloc.h"
#include "base/text.h"
#include "task/markers.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- where, let, temp, fill ---- */

static kf_status parse_rule(kf__cursor *c, bool is_let) {
  kf_plan *plan = c->plan;
  kf__rule rule = {0};
  if (plan->nrules == KF__RULES_MAX)
    return kf__plan_fail(c, c->pos, "more than %d where and let lines", KF__RULES_MAX);
  if (is_let) {
    KF_TRY(kf__plan_new_name(c, "let", &rule.name));
    KF_TRY(kf__plan_expect(c, "=", "after the name"));
  }
  KF_TRY(kf__plan_expr(c, &rule.value));
  if (!is_let) {
    char *reason = kf_arena_alloc(&plan->arena, KF_EXPR_LEN_MAX + 64);
    if (reason == NULL) return kf_nomem(c->err);
    snprintf(reason, KF_EXPR_LEN_MAX + 64, "where %s (line %d)", kf_expr_text(rule.value.expr), c->line);
    rule.reason = reason;
  }
  KF_TRY(kf__plan_end(c));
  plan->rules[plan->nrules++] = rule;
  return KF_OK;
}

static kf_status parse_temp(kf__cursor *c) {
  kf_plan *plan = c->plan;
  char word[65];
  size_t begin;
  kf__temp temp = {.line = c->line};
  if (plan->ntemps == KF_TEMPS_MAX) return kf__plan_fail(c, c->pos, "more than %d temps", KF_TEMPS_MAX);
  KF_TRY(kf__plan_new_name(c, "temp", &temp.name));
  kf__plan_word(c, word, &begin);
  KF_TRY(kf__plan_type(c, word, begin, &temp.type));
  KF_TRY(kf__plan_expect(c, "[", "before the shape"));
  do {
    if (temp.rank == KF_RANK_MAX) return kf__plan_fail(c, c->pos, "more than %d dimensions", KF_RANK_MAX);
    KF_TRY(kf__plan_expr(c, &temp.shape[temp.rank]));
    temp.rank++;
  } while (kf__plan_take(c, ','));
  KF_TRY(kf__plan_expect(c, "]", "after the shape"));
  KF_TRY(kf__plan_end(c));
  plan->temps[plan->ntemps++] = temp;
  return KF_OK;
}

static kf_status fill_target(kf__cursor *c, int *ret_buffer, kf_type *ret_type) {
  const kf_plan *plan = c->plan;
  char word[65];
  size_t begin;
  kf__plan_word(c, word, &begin);
  int index = kf__plan_find_temp(plan, word);
  if (index >= 0) {
    *ret_buffer = plan->narrays + index;
    *ret_type = plan->temps[index].type;
    return KF_OK;
  }
  index = kf_task_arg(plan->task, word);
  if (index < 0) return kf__plan_unknown(c, begin, word);
  if (plan->task->args[index].role != KF_ROLE_OUT && plan->task->args[index].role != KF_ROLE_INOUT)
    return kf__plan_fail(c, begin, "\"%s\" is no output and no temp", word);
  *ret_buffer = plan->arg_buffer[index];
  *ret_type = plan->task->args[index].type;
  return KF_OK;
}

static void put_integer(uint8_t *bytes, size_t size, int64_t number) {
  for (size_t i = 0; i < size; i++)
    bytes[i] = (uint8_t)((uint64_t)number >> (8 * i));
}

/* A number of the type, or inf, -inf, nan. */
static kf_status parse_literal(kf__cursor *c, kf_type type, uint8_t ret_pattern[8]) {
  char text[65];
  int64_t min, max, number;
  double value = 0.0;
  kf__plan_skip(c);
  size_t begin = c->pos, len = 0;
  while (begin + len < c->len && strchr(" \t", c->text[begin + len]) == NULL)
    len++;
  if (len == 0 || len >= sizeof text) return kf__plan_fail(c, begin, "expected a number");
  memcpy(text, c->text + begin, len);
  text[len] = '\0';
  memset(ret_pattern, 0, 8);
  if (kf_type_range(type, &min, &max)) {
    kf_err detail = {0};
    if (kf_text_int(text, min, max, kf_type_name(type), &number, &detail) != KF_OK)
      return kf__plan_fail(c, begin, "%s", detail.msg);
    put_integer(ret_pattern, kf_type_size(type), number);
  } else {
    bool infinite = strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0;
    bool special = infinite || strcmp(text, "nan") == 0;
    if (infinite) value = text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    if (special && !infinite) value = (double)NAN;
    if (!special && kf_text_real(text, -HUGE_VAL, HUGE_VAL, "fill", &value, NULL) != KF_OK)
      return kf__plan_fail(c, begin, "\"%s\" is not a number", text);
    kf_type_put(type, ret_pattern, 0, value);
    if (!special && !isfinite(kf_type_get(type, ret_pattern, 0)))
      return kf__plan_fail(c, begin, "%s is too large for %s", text, kf_type_name(type));
    if (infinite && !isinf(kf_type_get(type, ret_pattern, 0)))
      return kf__plan_fail(c, begin, "%s has no infinity", kf_type_name(type));
  }
  c->pos = begin + len;
  return KF_OK;
}

static kf_status parse_fill(kf__cursor *c) {
  kf_plan *plan = c->plan;
  kf_type type = KF_TYPE_F32;
  kf__plan_step step = {.kind = KF_STEP_FILL, .line = c->line};
  if (plan->nsteps == KF_STEPS_MAX)
    return kf__plan_fail(c, c->pos, "more than %d launches and fills", KF_STEPS_MAX);
  KF_TRY(fill_target(c, &step.buffer, &type));
  KF_TRY(parse_literal(c, type, step.pattern));
  step.npattern = (uint32_t)kf_type_size(type);
  KF_TRY(kf__plan_end(c));
  plan->steps[plan->nsteps++] = step;
  return KF_OK;
}

/* ---- the whole ---- */

typedef enum { D_PARAM, D_WHERE, D_LET, D_TEMP, D_FILL, D_LAUNCH, D_COUNT } directive_kind;

static const char *const directive_names[D_COUNT + 1] = {"param", "where",  "let", "temp",
                                                         "fill",  "launch", NULL};

typedef struct {
  kf_plan *plan;
  kf__directive lines[KF__DIRECTIVES_MAX];
  directive_kind kinds[KF__DIRECTIVES_MAX];
  int count;
  kf_err *err;
} parse;

static kf__cursor cursor_of(const parse *p, int index) {
  const kf__directive *line = &p->lines[index];
  return (kf__cursor){.plan = p->plan,
                      .text = p->plan->source + line->begin,
                      .len = line->end - line->begin,
                      .line = line->line,
                      .column = line->column,
                      .err = p->err};
}

static kf_status find_kinds(parse *p) {
  for (int i = 0; i < p->count; i++) {
    kf__cursor c = cursor_of(p, i);
    char word[65];
    size_t begin;
    kf__plan_word(&c, word, &begin);
    int kind = 0;
    while (kind < D_COUNT && strcmp(directive_names[kind], word) != 0)
      kind++;
    if (kind == D_COUNT) {
      kf_status status = kf__plan_fail(&c, begin, "unknown directive \"%.32s\"", word);
      const char *nearest = kf_text_nearest(word, directive_names);
      if (nearest != NULL) return kf_err_hint(p->err, status, "did you mean \"%s\"?", nearest);
      return kf_err_hint(p->err, status, "there are param, where, let, temp, fill and launch");
    }
    p->kinds[i] = (directive_kind)kind;
  }
  return KF_OK;
}

/* In the host form the candidate's own code does what these directives say in the device form. */
static kf_status refuse_in_host_form(const kf__cursor *c, size_t begin, directive_kind kind) {
  static const char *const hints[D_COUNT] = {
      [D_TEMP] = "export kf_workspace: its bytes are call->workspace (docs/formats/host-form.md)",
      [D_FILL] = "kf_run fills what it needs filled",
      [D_LAUNCH] = "kf_run does the whole call; only param, where and let lines are used",
  };
  if (hints[kind] == NULL) return KF_OK;
  kf_status status = kf__plan_fail(c, begin, "a %s directive in a C kernel", directive_names[kind]);
  return kf_err_hint(c->err, status, "%s", hints[kind]);
}

static kf_status parse_line(parse *p, int index) {
  kf__cursor c = cursor_of(p, index);
  char word[65];
  size_t begin;
  kf__plan_word(&c, word, &begin);
  if (kf__plan_is_host(p->plan)) KF_TRY(refuse_in_host_form(&c, begin, p->kinds[index]));
  switch (p->kinds[index]) {
  case D_PARAM:
    return kf__plan_parse_param(&c);
  case D_WHERE:
    return parse_rule(&c, false);
  case D_LET:
    return parse_rule(&c, true);
  case D_TEMP:
    return parse_temp(&c);
  case D_FILL:
    return parse_fill(&c);
  default:
    KF_TRY(kf__plan_parse_launch(&c));
    return kf__plan_end(&c);
  }
}

/* Params, then lets and wheres in order, then temps, then steps: each sees the names it may use. */
static kf_status parse_all(parse *p) {
  static const directive_kind passes[][2] = {
      {D_PARAM, D_PARAM}, {D_WHERE, D_LET}, {D_TEMP, D_TEMP}, {D_FILL, D_LAUNCH}};
  for (size_t pass = 0; pass < KF_COUNTOF(passes); pass++)
    for (int i = 0; i < p->count; i++)
      if (p->kinds[i] == passes[pass][0] || p->kinds[i] == passes[pass][1]) KF_TRY(parse_line(p, i));
  if (kf__plan_is_host(p->plan)) return KF_OK;
  for (int i = 0; i < p->plan->nsteps; i++)
    if (p->plan->steps[i].kind == KF_STEP_LAUNCH) return KF_OK;
  kf_status status = kf_fail(p->err, KF_EREFUSED, "%s:1:1: no launch directive", p->plan->name);
  return kf_err_hint(p->err, status, "a line such as: //kf: launch NAME global=(n) local=(64) args=(x, y)");
}

static bool inside_evolve(const kf_region_span *spans, int count, size_t pos, bool *ret_any) {
  bool inside = false;
  *ret_any = false;
  for (int i = 0; i < count; i++) {
    if (spans[i].kind != KF_MARKER_EVOLVE) continue;
    *ret_any = true;
    inside = inside || (pos >= spans[i].begin && pos < spans[i].end);
  }
  return inside;
}

static kf_status check_places(const parse *p) {
  kf_region_span spans[KF_MARKER_SPANS_MAX];
  int count = 0;
  bool any;
  KF_TRY(kf_markers_find(p->plan->source, p->plan->len, p->plan->name, spans, &count, p->err));
  for (int i = 0; i < p->count; i++) {
    kf__cursor c = cursor_of(p, i);
    if (!inside_evolve(spans, count, p->lines[i].begin, &any) && any)
      return kf__plan_fail(&c, 0, "a directive outside of the [EVOLVE_START] block");
  }
  return KF_OK;
}

/* Everything a kernel's identity depends on but the values of params. */
static kf_status hash_tokens(const parse *p, const kf_buf *code, kf_err *err) {
  kf_buf line KF_CLEANUP(kf_buf_done);
  kf_buf_init(&line, (size_t)4 * KF__DIRECTIVE_LEN_MAX + 64);
  kf_hasher_init(&p->plan->tokens);
  kf_hasher_add_text(&p->plan->tokens, kf_buf_text(code));
  for (int i = 0; i < p->count; i++) {
    kf__directive none[1];
    int count = 0;
    if (p->kinds[i] == D_PARAM) continue;
    kf_buf_clear(&line);
    KF_TRY(kf__csource_scan(p->plan->source + p->lines[i].begin, p->lines[i].end - p->lines[i].begin,
                            p->plan->name, none, &count, &line, err));
    kf_hasher_add_text(&p->plan->tokens, kf_buf_text(&line));
  }
  return KF_OK;
}

static kf_status parse_source(parse *p, const char *source, size_t len) {
  kf_plan *plan = p->plan;
  kf_buf code KF_CLEANUP(kf_buf_done);
  kf_buf_init(&code, 4 * len + 64);
  if (len > KF__SOURCE_BYTES_MAX)
    return kf_fail(p->err, KF_EREFUSED, "%s: %zu bytes, the limit is %d", plan->name, len,
                   KF__SOURCE_BYTES_MAX);
  if (memchr(source, '\0', len) != NULL)
    return kf_fail(p->err, KF_EREFUSED, "%s: a NUL byte in the source", plan->name);
  plan->source = kf_arena_strndup(&plan->arena, source, len);
  if (plan->source == NULL) return kf_nomem(p->err);
  plan->len = len;
  KF_TRY(kf__csource_scan(plan->source, len, plan->name, p->lines, &p->count, &code, p->err));
  KF_TRY(check_places(p));
  KF_TRY(find_kinds(p));
  KF_TRY(parse_all(p));
  return hash_tokens(p, &code, p->err);
}

kf_status kf_plan_parse(const kf_task *task, const char *source, size_t len, const char *name,
                        kf_plan **ret_plan, kf_err *err) {
  kf_language language = task->languages[0];
  kf_language_of_file(name, &language);
  return kf_plan_parse_as(task, language, source, len, name, ret_plan, err);
}

kf_status kf_plan_parse_as(const kf_task *task, kf_language language, const char *source, size_t len,
                           const char *name, kf_plan **ret_plan, kf_err *err) {
  kf_plan *plan = kf_calloc(1, sizeof *plan);
  parse *p = kf_calloc(1, sizeof *p);
  kf_status status = KF_OK;
  if (plan == NULL || p == NULL) {
    status = kf_nomem(err);
    goto out;
  }
  p->plan = plan;
  p->err = err;
  plan->task = task;
  for (int i = 0; i < task->nargs; i++)
    plan->arg_buffer[i] = kf_role_is_array(task->args[i].role) ? plan->narrays++ : -1;
  plan->language = language;
  plan->name = kf_arena_strdup(&plan->arena, name);
  if (plan->name == NULL)
    status = kf_nomem(err);
  else
    status = parse_source(p, source, len);
out:
  kf_free(p);
  if (status == KF_OK)
    *ret_plan = plan;
  else
    kf_plan_free(plan);
  return status;
}

void kf_plan_free(kf_plan *plan) {
  if (plan == NULL) return;
  kf_arena_done(&plan->arena);
  kf_free(plan);
}
