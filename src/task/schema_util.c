/* schema_util.c - the schema's small readers: each turns a node into a value or into one message with its
 * place. */
#include "task/schema.h"

#include "base/alloc.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kf_status kf__schema_fail(const kf__schema *s, const kf__node *node, const char *fmt, ...) {
  char what[KF_ERR_MSG_MAX];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  return kf__tree_fail(s->err, s->name, node->line, node->column, "%s", what);
}

kf_status kf__schema_unknown(const kf__schema *s, const kf__node *node, const char *what, const char *word,
                             const char *const *names) {
  kf_status status = kf__schema_fail(s, node, "unknown %s \"%.64s\"", what, word);
  const char *nearest = kf_text_nearest(word, names);
  if (nearest != NULL) return kf_err_hint(s->err, status, "did you mean \"%s\"?", nearest);
  char list[KF_ERR_HINT_MAX - 32];
  size_t len = 0;
  list[0] = '\0';
  for (size_t i = 0; names[i] != NULL && len < sizeof list; i++)
    len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? ", " : "", names[i]);
  if (len == 0) return status;
  return kf_err_hint(s->err, status, "known: %s%s", list, len < sizeof list ? "" : "...");
}

kf_status kf__schema_map(const kf__schema *s, const kf__node *node, const char *what) {
  if (node->kind == KF__NODE_MAP) return KF_OK;
  return kf__schema_fail(s, node, "%s must be a map of keys and values", what);
}

kf_status kf__schema_keys(const kf__schema *s, const kf__node *node, const char *what,
                          const char *const *names) {
  KF_TRY(kf__schema_map(s, node, what));
  for (const kf__node *key = node->first; key != NULL; key = key->next) {
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], key->text) != 0)
      i++;
    if (names[i] == NULL) return kf__schema_unknown(s, key, "key", key->text, names);
  }
  return KF_OK;
}

const kf__node *kf__schema_get(const kf__node *map, const char *key) {
  for (const kf__node *node = map->first; node != NULL; node = node->next)
    if (strcmp(node->text, key) == 0) return node->value;
  return NULL;
}

kf_status kf__schema_need(const kf__schema *s, const kf__node *map, const char *key,
                          const kf__node **ret_value) {
  *ret_value = kf__schema_get(map, key);
  return *ret_value != NULL ? KF_OK : kf__schema_fail(s, map, "key \"%s\" is missing", key);
}

kf_status kf__schema_text(const kf__schema *s, const kf__node *node, const char *what,
                          const char **ret_text) {
  if (node->kind != KF__NODE_SCALAR) return kf__schema_fail(s, node, "%s must be a single value", what);
  if (node->text[0] == '\0') return kf__schema_fail(s, node, "%s has no value", what);
  *ret_text = node->text;
  return KF_OK;
}

kf_status kf__schema_int(const kf__schema *s, const kf__node *node, const char *what, int64_t min,
                         int64_t max, int64_t *ret_value) {
  const char *text = "";
  kf_err detail = {0};
  KF_TRY(kf__schema_text(s, node, what, &text));
  if (kf_text_int(text, min, max, what, ret_value, &detail) != KF_OK)
    return kf__schema_fail(s, node, "%s", detail.msg);
  return KF_OK;
}

kf_status kf__schema_choice(const kf__schema *s, const kf__node *node, const char *what,
                            const char *const *names, int *ret_index) {
  const char *text = "";
  KF_TRY(kf__schema_text(s, node, what, &text));
  for (int i = 0; names[i] != NULL; i++)
    if (strcmp(names[i], text) == 0) {
      *ret_index = i;
      return KF_OK;
    }
  return kf__schema_unknown(s, node, what, text, names);
}

bool kf__task_is_reserved(const char *name) {
  static const char *const words[] = {"dev", "local", "tensormap", "origin"};
  kf_type type;
  if (kf_type_parse(name, &type) || kf__expr_is_function(name)) return true;
  for (size_t i = 0; i < KF_COUNTOF(words); i++)
    if (strcmp(words[i], name) == 0) return true;
  return false;
}

kf_status kf__schema_name(const kf__schema *s, const kf__node *node, const char *what,
                          const char **ret_name) {
  const char *text = "";
  KF_TRY(kf__schema_text(s, node, what, &text));
  if (!kf_text_is_name(text))
    return kf__schema_fail(s, node, "%s \"%.64s\" is not a name (letters, digits and _, at most 64)", what,
                           text);
  if (kf__task_is_reserved(text)) return kf__schema_fail(s, node, "%s \"%s\" is a reserved word", what, text);
  return kf__schema_copy(s, text, ret_name);
}

kf_status kf__schema_copy(const kf__schema *s, const char *text, const char **ret_copy) {
  *ret_copy = kf_arena_strdup(&s->task->arena, text);
  return *ret_copy != NULL ? KF_OK : kf_nomem(s->err);
}

static int symbol_slot(void *context, const char *name) {
  int index = kf_task_symbol(context, name);
  return index >= 0 ? index : KF__SLOT_UNKNOWN;
}

kf_status kf__schema_expr(const kf__schema *s, const kf__node *node, const kf_expr **ret_expr) {
  const char *text = "";
  const kf_expr *expr = NULL;
  kf_err detail = {0};
  KF_TRY(kf__schema_text(s, node, "expression", &text));
  kf_status status = kf_expr_parse(&s->task->arena, text, strlen(text), &expr, NULL, &detail);
  if (status == KF_ENOMEM) return kf_nomem(s->err);
  if (status != KF_OK) {
    status = kf__schema_fail(s, node, "expression \"%.100s\": %s", text, detail.msg);
    if (strchr(text, '(') != NULL && strchr(text, ')') == NULL)
      return kf_err_hint(s->err, status, "inside [ ] and { } write an expression with a comma in quotes");
    return detail.hint[0] != '\0' ? kf_err_hint(s->err, status, "%s", detail.hint) : status;
  }
  int column = 1;
  const char *unknown = kf__expr_bind(expr, symbol_slot, s->task, &column);
  if (unknown != NULL) {
    const char *names[KF_SYMBOLS_MAX + 1] = {NULL};
    for (int i = 0; i < s->task->nsymbols; i++)
      names[i] = s->task->symbols[i].name;
    status = kf__schema_fail(s, node, "expression \"%.100s\": column %d: unknown symbol \"%s\"", text, column,
                             unknown);
    const char *nearest = kf_text_nearest(unknown, names);
    if (nearest != NULL) return kf_err_hint(s->err, status, "did you mean \"%s\"?", nearest);
    return kf_err_hint(s->err, status, "add it to \"symbols\"");
  }
  *ret_expr = expr;
  return KF_OK;
}
