/* plan_cursor.c - reading one directive from left to right, and the names it may use. Every message has line
 * and column. */
#include "task/plan_private.h"

#include "base/alloc.h"
#include "base/text.h"
#include "task/schema.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const kf__dev_names[KF__DEV_NAMES + 1] = {"dev.units", "dev.local_bytes", "dev.max_group",
                                                      "dev.simd",  "dev.cpu",         NULL};

/* ---- the cursor ---- */

kf_status kf__plan_fail(const kf__cursor *c, size_t pos, const char *fmt, ...) {
  char what[KF_ERR_MSG_MAX];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  return kf_fail(c->err, KF_EREFUSED, "%s:%d:%d: %s", c->plan->name, c->line, c->column + (int)pos, what);
}

void kf__plan_skip(kf__cursor *c) {
  while (c->pos < c->len && (c->text[c->pos] == ' ' || c->text[c->pos] == '\t'))
    c->pos++;
}

char kf__plan_peek(kf__cursor *c) {
  kf__plan_skip(c);
  return c->pos < c->len ? c->text[c->pos] : '\0';
}

bool kf__plan_take(kf__cursor *c, char sign) {
  if (kf__plan_peek(c) != sign) return false;
  c->pos++;
  return true;
}

kf_status kf__plan_expect(kf__cursor *c, const char *sign, const char *where) {
  kf__plan_skip(c);
  size_t len = strlen(sign);
  if (c->len - c->pos >= len && memcmp(c->text + c->pos, sign, len) == 0) {
    c->pos += len;
    return KF_OK;
  }
  if (c->pos >= c->len)
    return kf__plan_fail(c, c->pos, "expected \"%s\" %s, found the end of the line", sign, where);
  return kf__plan_fail(c, c->pos, "expected \"%s\" %s, found \"%.1s\"", sign, where, c->text + c->pos);
}

bool kf__plan_is_name_char(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

void kf__plan_word(kf__cursor *c, char ret_word[65], size_t *ret_begin) {
  kf__plan_skip(c);
  size_t begin = c->pos, len = 0;
  while (begin + len < c->len && kf__plan_is_name_char(c->text[begin + len], len == 0))
    len++;
  *ret_begin = begin;
  ret_word[0] = '\0';
  if (len > 64) return;
  memcpy(ret_word, c->text + begin, len);
  ret_word[len] = '\0';
  c->pos = begin + len;
}

kf_status kf__plan_end(kf__cursor *c) {
  kf__plan_skip(c);
  if (c->pos >= c->len) return KF_OK;
  int rest = (int)(c->len - c->pos);
  return kf__plan_fail(c, c->pos, "unexpected text \"%.*s\"", rest < 40 ? rest : 40, c->text + c->pos);
}

/* ---- names ---- */

int kf__plan_find_param(const kf_plan *plan, const char *name) {
  for (int i = 0; i < plan->nparams; i++)
    if (strcmp(plan->params[i].name, name) == 0) return i;
  return -1;
}

int kf__plan_find_temp(const kf_plan *plan, const char *name) {
  for (int i = 0; i < plan->ntemps; i++)
    if (strcmp(plan->temps[i].name, name) == 0) return i;
  return -1;
}

int kf__plan_find_let(const kf_plan *plan, const char *name) {
  for (int i = 0; i < plan->nrules; i++)
    if (plan->rules[i].name != NULL && strcmp(plan->rules[i].name, name) == 0) return i;
  return -1;
}

/* Does some param take this word as a value? Then it may stand in an expression. */
static bool is_choice_word(const kf_plan *plan, const char *name) {
  for (int i = 0; i < plan->nparams; i++)
    for (int k = 0; k < plan->params[i].nchoices; k++)
      if (plan->params[i].choices[k].is_word && strcmp(plan->params[i].choices[k].word, name) == 0)
        return true;
  return false;
}

int kf__plan_slot(void *context, const char *name) {
  const kf_plan *plan = context;
  int index = kf__plan_find_param(plan, name);
  if (index >= 0) return KF__SLOT_PARAMS + index;
  if ((index = kf_task_symbol(plan->task, name)) >= 0) return KF__SLOT_SYMBOLS + index;
  if ((index = kf__plan_find_let(plan, name)) >= 0) return KF__SLOT_LETS + index;
  for (int i = 0; i < KF__DEV_NAMES; i++)
    if (strcmp(kf__dev_names[i], name) == 0) return KF__SLOT_DEV + i;
  return is_choice_word(plan, name) ? KF__SLOT_WORD : KF__SLOT_UNKNOWN;
}

enum {
  KNOWN_MAX = KF_PARAMS_MAX + KF__RULES_MAX + KF_TEMPS_MAX + KF_SYMBOLS_MAX + KF_ARGS_MAX + KF__DEV_NAMES + 1
};

kf_status kf__plan_unknown(const kf__cursor *c, size_t pos, const char *name) {
  const kf_plan *plan = c->plan;
  const char *known[KNOWN_MAX] = {NULL};
  int count = 0;
  for (int i = 0; i < plan->nparams; i++)
    known[count++] = plan->params[i].name;
  for (int i = 0; i < plan->nrules; i++)
    if (plan->rules[i].name != NULL) known[count++] = plan->rules[i].name;
  for (int i = 0; i < plan->ntemps; i++)
    known[count++] = plan->temps[i].name;
  for (int i = 0; i < plan->task->nsymbols; i++)
    known[count++] = plan->task->symbols[i].name;
  for (int i = 0; i < plan->task->nargs; i++)
    known[count++] = plan->task->args[i].name;
  for (int i = 0; i < KF__DEV_NAMES; i++)
    known[count++] = kf__dev_names[i];
  kf_status status = kf__plan_fail(c, pos, "unknown name \"%s\"", name);
  const char *nearest = kf_text_nearest(name, known);
  if (nearest != NULL) return kf_err_hint(c->err, status, "did you mean \"%s\"?", nearest);
  return kf_err_hint(c->err, status, "names are those of the task and of param, let and temp lines");
}

/* A new name must not be one of the task, of the plan, or reserved. */
static kf_status check_new_name(const kf__cursor *c, const char *what, const char *word, size_t begin) {
  const kf_plan *plan = c->plan;
  if (word[0] == '\0') return kf__plan_fail(c, begin, "expected the name of a %s", what);
  if (kf__task_is_reserved(word)) return kf__plan_fail(c, begin, "\"%s\" is a reserved word", word);
  if (kf_task_symbol(plan->task, word) >= 0)
    return kf__plan_fail(c, begin, "\"%s\" is a symbol of the task", word);
  if (kf_task_arg(plan->task, word) >= 0)
    return kf__plan_fail(c, begin, "\"%s\" is an argument of the task", word);
  int line = 0, index = kf__plan_find_param(plan, word);
  if (index >= 0) line = plan->params[index].line;
  if ((index = kf__plan_find_let(plan, word)) >= 0) line = plan->rules[index].value.line;
  if ((index = kf__plan_find_temp(plan, word)) >= 0) line = plan->temps[index].line;
  if (line > 0) return kf__plan_fail(c, begin, "\"%s\" is declared in line %d already", word, line);
  return KF_OK;
}

kf_status kf__plan_new_name(kf__cursor *c, const char *what, const char **ret_name) {
  char word[65];
  size_t begin;
  kf__plan_word(c, word, &begin);
  KF_TRY(check_new_name(c, what, word, begin));
  *ret_name = kf_arena_strdup(&c->plan->arena, word);
  return *ret_name != NULL ? KF_OK : kf_nomem(c->err);
}

kf_status kf__plan_expr(kf__cursor *c, kf__placed *ret_value) {
  kf__plan_skip(c);
  kf_err detail = {0};
  const kf_expr *expr = NULL;
  size_t used = 0;
  int column = 1;
  kf_status status = kf__expr_parse_prefix(&c->plan->arena, c->text + c->pos, c->len - c->pos, &expr, &used,
                                           &column, &detail);
  if (status == KF_ENOMEM) return kf_nomem(c->err);
  if (status != KF_OK) {
    status = kf__plan_fail(c, c->pos + (size_t)column - 1, "%s", detail.msg);
    return detail.hint[0] != '\0' ? kf_err_hint(c->err, status, "%s", detail.hint) : status;
  }
  const char *unknown = kf__expr_bind(expr, kf__plan_slot, c->plan, &column);
  if (unknown != NULL) return kf__plan_unknown(c, c->pos + (size_t)column - 1, unknown);
  *ret_value = (kf__placed){expr, c->line, c->column + (int)c->pos};
  c->pos += used;
  return KF_OK;
}

kf_status kf__plan_type(kf__cursor *c, const char *word, size_t begin, kf_type *ret_type) {
  static const char *const spellings[][2] = {
      {"float", "f32"}, {"double", "f64"}, {"half", "f16"},   {"char", "i8"},
      {"uchar", "u8"},  {"short", "i16"},  {"ushort", "u16"}, {"int", "i32"},
      {"uint", "u32"},  {"long", "i64"},   {"ulong", "u64"},
  };
  if (kf_type_parse(word, ret_type)) return KF_OK;
  kf_status status = kf__plan_fail(c, begin, "unknown type \"%s\"", word);
  for (size_t i = 0; i < KF_COUNTOF(spellings); i++)
    if (strcmp(spellings[i][0], word) == 0)
      return kf_err_hint(c->err, status, "did you mean \"%s\"?", spellings[i][1]);
  return kf_err_hint(c->err, status, "f64 f32 f16 bf16 e4m3 e5m2 i8 i16 i32 i64 u8 u16 u32 u64 bool");
}
