/* schema_args.c - symbols with their domains, and arguments with shapes, fills and values. */
#include "task/schema.h"

#include "base/alloc.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

/* ---- symbols ---- */

static kf_status read_domain(kf__schema *s, const kf__node *node, kf_symbol *symbol) {
  static const char *const keys[] = {"default", "min", "max", "multiple_of", "name", NULL};
  const kf__node *value, *min, *max, *multiple;
  KF_TRY(kf__schema_keys(s, node, "symbol", keys));
  KF_TRY(kf__schema_need(s, node, "default", &value));
  KF_TRY(kf__schema_int(s, value, "default", 0, INT64_MAX, &symbol->initial));
  symbol->min = symbol->initial > 0 ? 1 : 0;
  symbol->max = symbol->initial;
  symbol->multiple_of = 1;
  if ((min = kf__schema_get(node, "min")) != NULL)
    KF_TRY(kf__schema_int(s, min, "min", 0, INT64_MAX, &symbol->min));
  if ((max = kf__schema_get(node, "max")) != NULL)
    KF_TRY(kf__schema_int(s, max, "max", 0, INT64_MAX, &symbol->max));
  if ((multiple = kf__schema_get(node, "multiple_of")) != NULL)
    KF_TRY(kf__schema_int(s, multiple, "multiple_of", 1, INT64_MAX, &symbol->multiple_of));
  if (symbol->min > symbol->max)
    return kf__schema_fail(s, min != NULL ? min : max, "symbol \"%s\": min %lld is above max %lld",
                           symbol->name, (long long)symbol->min, (long long)symbol->max);
  if (symbol->initial < symbol->min || symbol->initial > symbol->max ||
      symbol->initial % symbol->multiple_of != 0)
    return kf__schema_fail(s, value, "symbol \"%s\": default %lld is outside of its domain", symbol->name,
                           (long long)symbol->initial);
  symbol->fixed = symbol->min == symbol->max;
  return KF_OK;
}

static kf_status read_symbol(kf__schema *s, const kf__node *name, const kf__node *node) {
  kf_task *task = s->task;
  if (task->nsymbols == KF_SYMBOLS_MAX)
    return kf__schema_fail(s, name, "more than %d symbols", KF_SYMBOLS_MAX);
  kf_symbol symbol = {.multiple_of = 1, .fixed = true};
  KF_TRY(kf__schema_name(s, name, "symbol", &symbol.name));
  if (kf_task_symbol(task, symbol.name) >= 0)
    return kf__schema_fail(s, name, "symbol \"%s\" was given already", symbol.name);
  if (node->kind == KF__NODE_MAP) {
    KF_TRY(read_domain(s, node, &symbol));
  } else {
    KF_TRY(kf__schema_int(s, node, "symbol", 0, INT64_MAX, &symbol.initial));
    symbol.min = symbol.max = symbol.initial;
  }
  task->symbols[task->nsymbols++] = symbol;
  return KF_OK;
}

kf_status kf__schema_symbols(kf__schema *s, const kf__node *node) {
  if (node == NULL) return KF_OK;
  if (node->kind == KF__NODE_LIST) { /* the form that keeps an order on the wire */
    for (const kf__node *item = node->first; item != NULL; item = item->next) {
      const kf__node *name;
      KF_TRY(kf__schema_map(s, item, "symbol"));
      KF_TRY(kf__schema_need(s, item, "name", &name));
      KF_TRY(read_symbol(s, name, item));
    }
    return KF_OK;
  }
  KF_TRY(kf__schema_map(s, node, "\"symbols\""));
  for (const kf__node *key = node->first; key != NULL; key = key->next) {
    if (key->value->kind == KF__NODE_MAP && kf__schema_get(key->value, "name") != NULL)
      return kf__schema_fail(s, key->value, "key \"name\" belongs into a list of symbols");
    KF_TRY(read_symbol(s, key, key->value));
  }
  return KF_OK;
}

/* ---- fills ---- */

/* A number that the type holds. */
static kf_status read_number(kf__schema *s, const kf__node *node, const char *text, kf_type type,
                             double *ret_value) {
  kf_err detail = {0};
  double value;
  int64_t min, max;
  if (kf_text_real(text, -HUGE_VAL, HUGE_VAL, "value", &value, &detail) != KF_OK)
    return kf__schema_fail(s, node, "%s", detail.msg);
  if (kf_type_range(type, &min, &max)) {
    if (value != floor(value) || value < (double)min || value > (double)max)
      return kf__schema_fail(s, node, "value %.60s is no %s", text, kf_type_name(type));
  } else {
    double stored = 0.0;
    uint64_t bytes[1] = {0};
    kf_type_put(type, bytes, 0, value);
    stored = kf_type_get(type, bytes, 0);
    if (!isfinite(stored))
      return kf__schema_fail(s, node, "value %.60s is too large for %s", text, kf_type_name(type));
  }
  *ret_value = value;
  return KF_OK;
}

/* "KEYWORD(inner)" or "KEYWORD[inner)": copies the inner text. */
static bool inside(const char *text, const char *keyword, char open, char ret_inner[128]) {
  size_t len = strlen(text), head = strlen(keyword);
  if (strncmp(text, keyword, head) != 0 || text[head] != open || len < head + 2 || text[len - 1] != ')')
    return false;
  size_t inner = len - head - 2;
  if (inner >= 128) return false;
  memcpy(ret_inner, text + head + 1, inner);
  ret_inner[inner] = '\0';
  return true;
}

static kf_status read_int_range(kf__schema *s, const kf__node *node, char *inner, const kf_arg_spec *arg,
                                kf_fill *fill) {
  char *comma = strchr(inner, ',');
  int64_t min = -(1LL << 53), max = 1LL << 53;
  kf_type_range(arg->type, &min, &max);
  if (comma != NULL) {
    *comma = '\0';
    char *hi = comma + 1 + strspn(comma + 1, " ");
    inner[strcspn(inner, " ")] = '\0';
    hi[strcspn(hi, " ")] = '\0';
    bool good = kf_text_int(inner, INT64_MIN, INT64_MAX, "low", &fill->lo, NULL) == KF_OK &&
                kf_text_int(hi, INT64_MIN, INT64_MAX, "high", &fill->hi, NULL) == KF_OK;
    if (good && fill->lo < fill->hi && fill->lo >= min && fill->hi - 1 <= max) return KF_OK;
  }
  return kf__schema_fail(s, node, "fill \"%.64s\": expected int[lo,hi) with lo < hi within %s", node->text,
                         kf_type_name(arg->type));
}

static kf_status need_type(kf__schema *s, const kf__node *node, const kf_arg_spec *arg, bool is_float) {
  if (kf_type_is_float(arg->type) == is_float) return KF_OK;
  return kf__schema_fail(s, node, "fill \"%.64s\" is for %s types, \"%s\" is %s", node->text,
                         is_float ? "float" : "integer", arg->name, kf_type_name(arg->type));
}

static kf_status read_structured_fill(kf__schema *s, const kf__node *node, const kf_arg_spec *arg,
                                      kf_fill *fill) {
  char inner[128];
  const char *text = node->text;
  if (inside(text, "int", '[', inner)) {
    fill->kind = KF_FILL_INT;
    return read_int_range(s, node, inner, arg, fill);
  }
  if (inside(text, "index", '(', inner)) {
    fill->kind = KF_FILL_INDEX;
    fill->symbol = kf_task_symbol(s->task, inner);
    if (fill->symbol < 0)
      return kf__schema_fail(s, node, "fill \"%.64s\": unknown symbol \"%s\"", text, inner);
    return need_type(s, node, arg, false);
  }
  if (inside(text, "constant", '(', inner)) {
    fill->kind = KF_FILL_CONSTANT;
    return read_number(s, node, inner, arg->type, &fill->value);
  }
  if (inside(text, "file", '(', inner)) {
    const kf_task_file *file;
    fill->kind = KF_FILL_FILE;
    KF_TRY(kf__schema_file(s, node, inner, false, &file));
    fill->file = file->path;
    return KF_OK;
  }
  static const char *const names[] = {"normal", "uniform", "int[lo,hi)",  "index(SYMBOL)", "permutation",
                                      "sorted", "spd",     "constant(V)", "file(PATH)",    NULL};
  return kf__schema_unknown(s, node, "fill", text, names);
}

static kf_status read_fill(kf__schema *s, const kf__node *node, const kf_arg_spec *arg, kf_fill *fill) {
  static const struct {
    const char *name;
    kf_fill_kind kind;
  } plain[] = {{"normal", KF_FILL_NORMAL},
               {"uniform", KF_FILL_UNIFORM},
               {"permutation", KF_FILL_PERMUTATION},
               {"sorted", KF_FILL_SORTED},
               {"spd", KF_FILL_SPD}};
  const char *text;
  KF_TRY(kf__schema_text(s, node, "fill", &text));
  size_t i = 0;
  while (i < KF_COUNTOF(plain) && strcmp(plain[i].name, text) != 0)
    i++;
  if (i == KF_COUNTOF(plain)) return read_structured_fill(s, node, arg, fill);
  fill->kind = plain[i].kind;
  if (fill->kind == KF_FILL_SORTED) return KF_OK;
  if (fill->kind == KF_FILL_SPD && arg->rank != 2)
    return kf__schema_fail(s, node, "fill \"spd\" is for square matrices, \"%s\" has rank %d", arg->name,
                           arg->rank);
  return need_type(s, node, arg, fill->kind != KF_FILL_PERMUTATION);
}

/* ---- arguments ---- */

static kf_status read_type(kf__schema *s, const kf__node *node, kf_type *ret_type) {
  const char *names[KF_TYPE_COUNT + 1] = {NULL};
  for (int i = 0; i < KF_TYPE_COUNT; i++)
    names[i] = kf_type_name((kf_type)i);
  int index = 0;
  KF_TRY(kf__schema_choice(s, node, "type", names, &index));
  *ret_type = (kf_type)index;
  return KF_OK;
}

static kf_status read_shape(kf__schema *s, const kf__node *node, kf_arg_spec *arg) {
  if (node->kind != KF__NODE_LIST || node->count == 0)
    return kf__schema_fail(s, node, "shape of \"%s\" must be a list of dimensions: [rows, cols]", arg->name);
  if (node->count > KF_RANK_MAX)
    return kf__schema_fail(s, node, "shape of \"%s\" has more than %d dimensions", arg->name, KF_RANK_MAX);
  for (const kf__node *dim = node->first; dim != NULL; dim = dim->next)
    KF_TRY(kf__schema_expr(s, dim, &arg->shape[arg->rank++]));
  return KF_OK;
}

/* Keys that the role does not take are mistakes. */
static kf_status refuse_key(kf__schema *s, const kf__node *node, const kf_arg_spec *arg, const char *key) {
  const kf__node *value = kf__schema_get(node, key);
  if (value == NULL) return KF_OK;
  return kf__schema_fail(s, value, "\"%s\" of \"%s\": role %s takes no %s", key, arg->name,
                         kf_role_name(arg->role), key);
}

static kf_status read_size(kf__schema *s, const kf__node *node, kf_arg_spec *arg) {
  int64_t min, max;
  arg->symbol = kf_task_symbol(s->task, arg->name);
  if (arg->symbol < 0) {
    kf_status status = kf__schema_fail(s, node, "size \"%s\" is no symbol", arg->name);
    return kf_err_hint(s->err, status,
                       "a size argument is the value of the symbol of the same name; use role scalar "
                       "with a value for anything else");
  }
  if (!kf_type_range(arg->type, &min, &max))
    return kf__schema_fail(s, node, "size \"%s\" must have an integer type", arg->name);
  if (s->task->symbols[arg->symbol].max > max)
    return kf__schema_fail(s, node, "size \"%s\": symbols go up to %lld, which is no %s", arg->name,
                           (long long)s->task->symbols[arg->symbol].max, kf_type_name(arg->type));
  return KF_OK;
}

static kf_status read_array(kf__schema *s, const kf__node *node, kf_arg_spec *arg) {
  const kf__node *value;
  if (kf_task_symbol(s->task, arg->name) >= 0)
    return kf__schema_fail(s, node, "\"%s\" is the name of a symbol and of an array", arg->name);
  KF_TRY(refuse_key(s, node, arg, "value"));
  KF_TRY(kf__schema_need(s, node, "shape", &value));
  KF_TRY(read_shape(s, value, arg));
  if (arg->role == KF_ROLE_OUT) return refuse_key(s, node, arg, "fill");
  value = kf__schema_get(node, "fill");
  if (value != NULL) return read_fill(s, value, arg, &arg->fill);
  if (kf_type_is_float(arg->type)) return KF_OK; /* KF_FILL_NORMAL */
  kf_status status =
      kf__schema_fail(s, node, "\"%s\" is %s and needs a fill", arg->name, kf_type_name(arg->type));
  return kf_err_hint(s->err, status, "for example fill: \"int[0,100)\"");
}

static kf_status read_role_keys(kf__schema *s, const kf__node *node, kf_arg_spec *arg) {
  const kf__node *value;
  const char *text;
  if (kf_role_is_array(arg->role)) return read_array(s, node, arg);
  KF_TRY(refuse_key(s, node, arg, "shape"));
  KF_TRY(refuse_key(s, node, arg, "fill"));
  if (arg->role == KF_ROLE_SIZE) {
    KF_TRY(refuse_key(s, node, arg, "value"));
    return read_size(s, node, arg);
  }
  if (kf_task_symbol(s->task, arg->name) >= 0)
    return kf__schema_fail(s, node, "scalar \"%s\" has the name of a symbol; use role size", arg->name);
  KF_TRY(kf__schema_need(s, node, "value", &value));
  KF_TRY(kf__schema_text(s, value, "value", &text));
  return read_number(s, value, text, arg->type, &arg->value);
}

static kf_status read_arg(kf__schema *s, const kf__node *node) {
  static const char *const keys[] = {"name", "role", "type", "shape", "fill", "value", NULL};
  static const char *const roles[] = {"in", "out", "inout", "size", "scalar", NULL};
  kf_task *task = s->task;
  kf_arg_spec arg = {.symbol = -1};
  const kf__node *value;
  int role = 0;
  KF_TRY(kf__schema_keys(s, node, "argument", keys));
  KF_TRY(kf__schema_need(s, node, "name", &value));
  KF_TRY(kf__schema_name(s, value, "argument", &arg.name));
  if (kf_task_arg(task, arg.name) >= 0)
    return kf__schema_fail(s, value, "argument \"%s\" was given already", arg.name);
  if (task->nargs == KF_ARGS_MAX) return kf__schema_fail(s, node, "more than %d arguments", KF_ARGS_MAX);
  KF_TRY(kf__schema_need(s, node, "role", &value));
  KF_TRY(kf__schema_choice(s, value, "role", roles, &role));
  arg.role = (kf_role)role;
  KF_TRY(kf__schema_need(s, node, "type", &value));
  KF_TRY(read_type(s, value, &arg.type));
  KF_TRY(read_role_keys(s, node, &arg));
  bool exact = arg.role != KF_ROLE_IN && !kf_type_is_float(arg.type);
  task->compare[task->nargs] = exact ? KF_COMPARE_EXACT : KF_COMPARE_BOUND;
  task->args[task->nargs++] = arg;
  return KF_OK;
}

kf_status kf__schema_args(kf__schema *s, const kf__node *node) {
  bool has_output = false;
  if (node->kind != KF__NODE_LIST) return kf__schema_fail(s, node, "\"args\" must be a list");
  for (const kf__node *item = node->first; item != NULL; item = item->next) {
    KF_TRY(read_arg(s, item));
    kf_role role = s->task->args[s->task->nargs - 1].role;
    has_output = has_output || role == KF_ROLE_OUT || role == KF_ROLE_INOUT;
  }
  return has_output ? KF_OK
                    : kf__schema_fail(s, node, "no argument has role out or inout: nothing is computed");
}

/* ---- shapes of all cases ---- */

static kf_status check_case_arg(kf__schema *s, const kf__node *node, int index, const int64_t *symbols) {
  const kf_task *task = s->task;
  const kf_arg_spec *arg = &task->args[index];
  kf_err detail = {0};
  int64_t elements, shape[KF_RANK_MAX];
  kf_status status = kf_task_elements(task, index, symbols, &elements, shape, &detail);
  if (status == KF_ENOMEM) return kf_nomem(s->err);
  if (status != KF_OK) return kf__schema_fail(s, node, "%s", detail.msg);
  bool filled = arg->role == KF_ROLE_IN || arg->role == KF_ROLE_INOUT;
  if (filled && arg->fill.kind == KF_FILL_SPD && shape[0] != shape[1])
    return kf__schema_fail(s, node, "fill \"spd\" needs a square matrix, \"%s\" is %lld x %lld", arg->name,
                           (long long)shape[0], (long long)shape[1]);
  if (!filled || arg->fill.kind != KF_FILL_FILE) return KF_OK;
  for (int i = 0; i < task->nfiles; i++) {
    if (strcmp(task->files[i].path, arg->fill.file) != 0) continue;
    size_t want = (size_t)elements * kf_type_size(arg->type);
    if (task->files[i].len != want)
      return kf__schema_fail(s, node, "file \"%.100s\" has %zu bytes, \"%s\" needs %zu", arg->fill.file,
                             task->files[i].len, arg->name, want);
  }
  return KF_OK;
}

kf_status kf__schema_check_shapes(kf__schema *s, const kf__node *args_node) {
  const kf_task *task = s->task;
  const kf__node *node = args_node->first;
  for (int i = 0; i < task->nargs; i++, node = node->next) {
    if (!kf_role_is_array(task->args[i].role)) continue;
    for (int c = 0; c < task->ncheck; c++)
      KF_TRY(check_case_arg(s, node, i, task->check[c].values));
    for (int c = 0; c < task->nmeasure; c++)
      KF_TRY(check_case_arg(s, node, i, task->measure[c].values));
  }
  return KF_OK;
}
