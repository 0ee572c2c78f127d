/* schema.c - the keys of a task, in the order in which they depend on each other. */
#include "task/schema.h"

#include "base/alloc.h"
#include "base/text.h"
#include <string.h>

static const char *const language_names[] = {"opencl", "cuda", "hip", "sycl", "c", "triton", NULL};

const char *kf_language_name(kf_language language) {
  return language_names[language];
}

bool kf_language_parse(const char *name, kf_language *ret_language) {
  for (int i = 0; i < KF_LANG_COUNT; i++)
    if (strcmp(name, language_names[i]) == 0) {
      *ret_language = (kf_language)i;
      return true;
    }
  return false;
}

static const char *const language_endings[KF_LANG_COUNT] = {
    [KF_LANG_OPENCL] = "cl", [KF_LANG_CUDA] = "cu", [KF_LANG_HIP] = "hip", [KF_LANG_C] = "c"};

bool kf_language_of_file(const char *name, kf_language *ret_language) {
  const char *dot = strrchr(name, '.');
  for (int i = 0; dot != NULL && i < KF_LANG_COUNT; i++)
    if (language_endings[i] != NULL && strcmp(dot + 1, language_endings[i]) == 0) {
      *ret_language = (kf_language)i;
      return true;
    }
  return false;
}

const char *kf_language_ending(kf_language language) {
  return language_endings[language] != NULL ? language_endings[language] : "txt";
}

static kf_status read_name(kf__schema *s, const kf__node *root) {
  const kf__node *node;
  const char *text;
  KF_TRY(kf__schema_need(s, root, "name", &node));
  KF_TRY(kf__schema_text(s, node, "name", &text));
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (strlen(text) > 64 || text[strspn(text, allowed)] != '\0' || text[0] == '.' || text[0] == '-')
    return kf__schema_fail(s, node, "name \"%.64s\" must be 1 to 64 letters, digits, _, - and .", text);
  return kf__schema_copy(s, text, &s->task->name);
}

/* ---- languages, kernels, seeds ---- */

static kf_status add_language(kf__schema *s, const kf__node *node) {
  kf_task *task = s->task;
  int index = 0;
  KF_TRY(kf__schema_choice(s, node, "language", language_names, &index));
  if (kf_task_has_language(task, (kf_language)index))
    return kf__schema_fail(s, node, "language \"%s\" was given already", node->text);
  task->languages[task->nlanguages++] = (kf_language)index;
  return KF_OK;
}

static kf_status read_languages(kf__schema *s, const kf__node *root) {
  const kf__node *node;
  KF_TRY(kf__schema_need(s, root, "language", &node));
  if (node->kind != KF__NODE_LIST) return add_language(s, node);
  if (node->count == 0) return kf__schema_fail(s, node, "no language is given");
  for (const kf__node *item = node->first; item != NULL; item = item->next)
    KF_TRY(add_language(s, item));
  return KF_OK;
}

/* A key of `kernel` or `seeds`: a language of this task. */
static kf_status key_language(kf__schema *s, const kf__node *key, kf_language *ret_language) {
  const char *names[KF_LANG_COUNT + 1] = {NULL};
  int index = 0;
  for (int i = 0; i < s->task->nlanguages; i++)
    names[i] = kf_language_name(s->task->languages[i]);
  KF_TRY(kf__schema_choice(s, key, "language of this task", names, &index));
  *ret_language = s->task->languages[index];
  return KF_OK;
}

static kf_status read_path(kf__schema *s, const kf__node *node, const char *what,
                           const kf_task_file **ret_file) {
  const char *path;
  KF_TRY(kf__schema_text(s, node, what, &path));
  return kf__schema_file(s, node, path, true, ret_file);
}

/* A plain value instead of the map is for the task's only language. */
static kf_status only_language(kf__schema *s, const kf__node *node, const char *what) {
  if (s->task->nlanguages == 1) return KF_OK;
  return kf__schema_fail(s, node, "\"%s\" must say the language: {%s: ...}", what,
                         kf_language_name(s->task->languages[0]));
}

static kf_status read_kernels(kf__schema *s, const kf__node *node) {
  kf_language language;
  if (node == NULL) return KF_OK;
  if (node->kind != KF__NODE_MAP) {
    KF_TRY(only_language(s, node, "kernel"));
    return read_path(s, node, "kernel", &s->task->kernel[s->task->languages[0]]);
  }
  for (const kf__node *key = node->first; key != NULL; key = key->next) {
    KF_TRY(key_language(s, key, &language));
    KF_TRY(read_path(s, key->value, "kernel", &s->task->kernel[language]));
  }
  return KF_OK;
}

static kf_status read_seed_list(kf__schema *s, const kf__node *node, kf_language language) {
  if (node->kind != KF__NODE_LIST) return kf__schema_fail(s, node, "seeds must be a list of files");
  for (const kf__node *item = node->first; item != NULL; item = item->next) {
    int *count = &s->task->nseeds[language];
    if (*count == KF_SEEDS_MAX) return kf__schema_fail(s, item, "more than %d seeds", KF_SEEDS_MAX);
    KF_TRY(read_path(s, item, "seed", &s->task->seeds[language][*count]));
    (*count)++;
  }
  return KF_OK;
}

static kf_status read_seeds(kf__schema *s, const kf__node *node) {
  kf_language language;
  if (node == NULL) return KF_OK;
  if (node->kind == KF__NODE_LIST) {
    KF_TRY(only_language(s, node, "seeds"));
    return read_seed_list(s, node, s->task->languages[0]);
  }
  KF_TRY(kf__schema_map(s, node, "\"seeds\""));
  for (const kf__node *key = node->first; key != NULL; key = key->next) {
    KF_TRY(key_language(s, key, &language));
    KF_TRY(read_seed_list(s, key->value, language));
  }
  return KF_OK;
}

/* ---- reference, baseline ---- */

static bool has_suffix(const char *text, const char *suffix) {
  size_t len = strlen(text), tail = strlen(suffix);
  return len > tail && strcmp(text + len - tail, suffix) == 0;
}

static kf_status need_kernels(kf__schema *s, const kf__node *node, const char *what) {
  for (int i = 0; i < s->task->nlanguages; i++)
    if (s->task->kernel[s->task->languages[i]] == NULL)
      return kf__schema_fail(s, node, "%s: kernel, but no kernel is given for %s", what,
                             kf_language_name(s->task->languages[i]));
  return KF_OK;
}

static kf_status read_reference(kf__schema *s, const kf__node *root) {
  static const char *const keys[] = {"file", "entry", NULL};
  kf_task *task = s->task;
  const kf__node *node, *file, *entry;
  KF_TRY(kf__schema_need(s, root, "reference", &node));
  if (node->kind == KF__NODE_SCALAR) {
    if (strcmp(node->text, "kernel") == 0) {
      task->reference_kind = KF_REFERENCE_KERNEL;
      return need_kernels(s, node, "reference");
    }
    kf_status status = kf__schema_fail(s, node, "unknown reference \"%.64s\"", node->text);
    return kf_err_hint(s->err, status, "write {file: reference.c, entry: NAME}, {file: model.py} or kernel");
  }
  KF_TRY(kf__schema_keys(s, node, "reference", keys));
  KF_TRY(kf__schema_need(s, node, "file", &file));
  KF_TRY(read_path(s, file, "reference", &task->reference));
  entry = kf__schema_get(node, "entry");
  if (has_suffix(file->text, ".py")) {
    task->reference_kind = KF_REFERENCE_TORCH;
    if (entry == NULL) return KF_OK;
  } else if (has_suffix(file->text, ".c")) {
    task->reference_kind = KF_REFERENCE_C;
    KF_TRY(kf__schema_need(s, node, "entry", &entry));
  } else {
    return kf__schema_fail(s, file, "reference \"%.100s\" is neither C (.c) nor PyTorch (.py)", file->text);
  }
  return kf__schema_name(s, entry, "entry", &task->reference_entry);
}

static kf_status read_baseline(kf__schema *s, const kf__node *node, const kf__node *root) {
  kf_task *task = s->task;
  const char *text;
  if (node == NULL) { /* the given kernel, where there is one */
    bool has_kernels = true;
    for (int i = 0; i < task->nlanguages; i++)
      has_kernels = has_kernels && task->kernel[task->languages[i]] != NULL;
    task->baseline_kind = has_kernels ? KF_BASELINE_KERNEL : KF_BASELINE_REFERENCE;
    return KF_OK;
  }
  KF_TRY(kf__schema_text(s, node, "baseline", &text));
  static const char *const names[] = {"kernel", "reference", "torch-eager", "torch-compile", "FILE", NULL};
  if (strcmp(text, "kernel") == 0) {
    task->baseline_kind = KF_BASELINE_KERNEL;
    return need_kernels(s, node, "baseline");
  }
  if (strcmp(text, "reference") == 0) {
    task->baseline_kind = KF_BASELINE_REFERENCE;
    return KF_OK;
  }
  bool eager = strcmp(text, "torch-eager") == 0;
  if (eager || strcmp(text, "torch-compile") == 0) {
    task->baseline_kind = eager ? KF_BASELINE_TORCH_EAGER : KF_BASELINE_TORCH_COMPILE;
    if (task->reference_kind == KF_REFERENCE_TORCH) return KF_OK;
    return kf__schema_fail(s, node, "baseline %s needs a PyTorch reference (line %d)", text,
                           kf__schema_get(root, "reference")->line);
  }
  if (strchr(text, '.') == NULL) return kf__schema_unknown(s, node, "baseline", text, names);
  task->baseline_kind = KF_BASELINE_FILE;
  return kf__schema_file(s, node, text, true, &task->baseline);
}

/* ---- how outputs are judged ---- */

static kf_status read_compare(kf__schema *s, const kf__node *node) {
  static const char *const kinds[] = {"bound", "exact", "bitwise", "set", "argmax", NULL};
  kf_task *task = s->task;
  const char *outputs[KF_ARGS_MAX + 1] = {NULL};
  int noutputs = 0, index = 0;
  if (node == NULL) return KF_OK;
  for (int i = 0; i < task->nargs; i++)
    if (task->args[i].role == KF_ROLE_OUT || task->args[i].role == KF_ROLE_INOUT)
      outputs[noutputs++] = task->args[i].name;
  KF_TRY(kf__schema_map(s, node, "\"compare\""));
  for (const kf__node *key = node->first; key != NULL; key = key->next) {
    KF_TRY(kf__schema_choice(s, key, "output", outputs, &index));
    int arg = kf_task_arg(task, key->text);
    KF_TRY(kf__schema_choice(s, key->value, "comparison", kinds, &index));
    if (index == KF_COMPARE_ARGMAX && kf_type_is_float(task->args[arg].type))
      return kf__schema_fail(s, key->value, "argmax compares indices, \"%s\" is %s", key->text,
                             kf_type_name(task->args[arg].type));
    task->compare[arg] = (kf_compare)index;
  }
  return KF_OK;
}

static kf_status read_error(kf__schema *s, const kf__node *node) {
  static const char *const keys[] = {"kind", "depth", NULL};
  static const char *const kinds[] = {"calibrated", "linear", "exact", NULL};
  const kf__node *kind, *depth;
  int index = 0;
  if (node == NULL) return KF_OK;
  KF_TRY(kf__schema_keys(s, node, "error", keys));
  KF_TRY(kf__schema_need(s, node, "kind", &kind));
  KF_TRY(kf__schema_choice(s, kind, "kind of error", kinds, &index));
  s->task->error_kind = (kf_error_kind)index;
  depth = kf__schema_get(node, "depth");
  if (index == KF_ERROR_LINEAR) {
    if (depth != NULL) return kf__schema_expr(s, depth, &s->task->error_depth);
    kf_status status = kf__schema_fail(s, node, "key \"depth\" is missing");
    return kf_err_hint(s->err, status,
                       "the number of products that are summed into one output, over symbols: depth: K");
  }
  if (depth != NULL) return kf__schema_fail(s, depth, "\"depth\" belongs to kind linear");
  return KF_OK;
}

static kf_status read_determinism(kf__schema *s, const kf__node *node) {
  static const char *const kinds[] = {"bitwise", "tolerance", NULL};
  int index = 0;
  if (node == NULL) return KF_OK;
  KF_TRY(kf__schema_choice(s, node, "determinism", kinds, &index));
  s->task->determinism_tolerance = index == 1;
  return KF_OK;
}

/* ---- parameters ---- */

static kf_status read_params(kf__schema *s, const kf__node *node) {
  kf_task *task = s->task;
  if (node == NULL) return KF_OK;
  KF_TRY(kf__schema_map(s, node, "\"params\""));
  task->params = kf_arena_array(&task->arena, (size_t)node->count, sizeof *task->params);
  if (task->params == NULL) return kf_nomem(s->err);
  for (const kf__node *key = node->first; key != NULL; key = key->next) {
    kf_param_override *param = &task->params[task->nparams];
    const char *text;
    int64_t number;
    KF_TRY(kf__schema_name(s, key, "param", &param->name));
    KF_TRY(kf__schema_text(s, key->value, "param", &text));
    if (!kf_text_is_name(text) && kf_text_int(text, INT64_MIN, INT64_MAX, "param", &number, NULL) != KF_OK)
      return kf__schema_fail(s, key->value, "param %s: \"%.64s\" is neither a whole number nor a word",
                             param->name, text);
    KF_TRY(kf__schema_copy(s, text, &param->value));
    task->nparams++;
  }
  return KF_OK;
}

/* ---- cases ---- */

static void default_case(const kf_task *task, kf_case *ret_case) {
  *ret_case = (kf_case){0};
  for (int i = 0; i < task->nsymbols; i++)
    ret_case->values[i] = task->symbols[i].initial;
}

static kf_status read_case(kf__schema *s, const kf__node *node, kf_case *ret_case) {
  kf_task *task = s->task;
  const char *names[KF_SYMBOLS_MAX + 2] = {NULL};
  int index = 0;
  for (int i = 0; i < task->nsymbols; i++)
    names[i] = task->symbols[i].name;
  names[task->nsymbols] = "origin";
  KF_TRY(kf__schema_map(s, node, "a case"));
  default_case(task, ret_case);
  for (const kf__node *key = node->first; key != NULL; key = key->next) {
    KF_TRY(kf__schema_choice(s, key, "symbol", names, &index));
    if (index == task->nsymbols) {
      const char *text;
      KF_TRY(kf__schema_text(s, key->value, "origin", &text));
      KF_TRY(kf__schema_copy(s, text, &ret_case->origin));
      continue;
    }
    KF_TRY(kf__schema_int(s, key->value, key->text, INT64_MIN, INT64_MAX, &ret_case->values[index]));
    kf_err detail = {0};
    kf_status status = kf_task_check_case(task, ret_case->values, &detail);
    if (status != KF_OK) return kf__schema_fail(s, key->value, "%s", detail.msg);
  }
  return KF_OK;
}

static kf_status read_cases(kf__schema *s, const kf__node *node, kf_case *cases, int *ret_count) {
  static const char *const keys[] = {"cases", NULL};
  const kf__node *list;
  *ret_count = 1;
  default_case(s->task, &cases[0]);
  if (node == NULL) return KF_OK;
  KF_TRY(kf__schema_keys(s, node, "cases", keys));
  KF_TRY(kf__schema_need(s, node, "cases", &list));
  if (list->kind != KF__NODE_LIST || list->count == 0)
    return kf__schema_fail(s, list, "\"cases\" must be a list of at least one case");
  if (list->count > KF_CASES_MAX) return kf__schema_fail(s, list, "more than %d cases", KF_CASES_MAX);
  *ret_count = 0;
  for (const kf__node *item = list->first; item != NULL; item = item->next)
    KF_TRY(read_case(s, item, &cases[(*ret_count)++]));
  return KF_OK;
}

/* An expression of every case must have a value, and none below zero. */
static kf_status check_count(kf__schema *s, const kf__node *node, const char *key, const kf_expr *expr) {
  const kf_task *task = s->task;
  if (expr == NULL) return KF_OK;
  for (int c = 0; c < task->ncheck + task->nmeasure; c++) {
    const kf_case *one = c < task->ncheck ? &task->check[c] : &task->measure[c - task->ncheck];
    kf_value slots[KF_SYMBOLS_MAX] = {0};
    for (int i = 0; i < task->nsymbols; i++)
      slots[i].number = one->values[i];
    kf_err detail = {0};
    int64_t depth;
    int column;
    if (kf__expr_int_slots(expr, slots, &depth, &column, &detail) != KF_OK)
      return kf__schema_fail(s, node, "%s: column %d: %s", key, column, detail.msg);
    if (depth < 0) return kf__schema_fail(s, node, "%s is negative for a case", key);
  }
  return KF_OK;
}

kf_status kf__schema_read(kf__schema *s, const kf__node *root) {
  static const char *const keys[] = {
      "name",  "language",    "symbols",  "args",  "kernel",  "seeds",  "reference",  "compare",
      "error", "determinism", "baseline", "check", "measure", "params", "operations", NULL};
  const kf__node *args, *operations;
  KF_TRY(kf__schema_keys(s, root, "a task", keys));
  operations = kf__schema_get(root, "operations");
  KF_TRY(read_name(s, root));
  KF_TRY(read_languages(s, root));
  KF_TRY(kf__schema_symbols(s, kf__schema_get(root, "symbols")));
  KF_TRY(kf__schema_need(s, root, "args", &args));
  KF_TRY(kf__schema_args(s, args));
  KF_TRY(read_kernels(s, kf__schema_get(root, "kernel")));
  KF_TRY(read_seeds(s, kf__schema_get(root, "seeds")));
  KF_TRY(read_reference(s, root));
  KF_TRY(read_baseline(s, kf__schema_get(root, "baseline"), root));
  KF_TRY(read_compare(s, kf__schema_get(root, "compare")));
  KF_TRY(read_error(s, kf__schema_get(root, "error")));
  if (operations != NULL) KF_TRY(kf__schema_expr(s, operations, &s->task->operations));
  KF_TRY(read_determinism(s, kf__schema_get(root, "determinism")));
  KF_TRY(read_params(s, kf__schema_get(root, "params")));
  KF_TRY(read_cases(s, kf__schema_get(root, "check"), s->task->check, &s->task->ncheck));
  s->task->measure_defaulted = kf__schema_get(root, "measure") == NULL;
  KF_TRY(read_cases(s, kf__schema_get(root, "measure"), s->task->measure, &s->task->nmeasure));
  if (s->task->error_depth != NULL)
    KF_TRY(check_count(s, kf__schema_get(kf__schema_get(root, "error"), "depth"), "depth",
                       s->task->error_depth));
  KF_TRY(check_count(s, operations, "operations", s->task->operations));
  return kf__schema_check_shapes(s, args);
}
