/* task_json.c - the canonical JSON of a task: every default spelled out, symbols as a list to keep their
 * order. Two task files that mean the same give the same bytes, hence the same id. */
#include "task/task.h"

#include "base/alloc.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Consumes `value`, also on failure; a NULL value is the memory failure of whoever made it. */
static kf_status put(json_t *object, const char *key, json_t *value, kf_err *err) {
  return json_object_set_new(object, key, value) == 0 ? KF_OK : kf_nomem(err);
}

static kf_status add(json_t *array, json_t *value, kf_err *err) {
  return json_array_append_new(array, value) == 0 ? KF_OK : kf_nomem(err);
}

/* A new empty member that `object` owns. */
static kf_status put_object(json_t *object, const char *key, json_t **ret_member, kf_err *err) {
  *ret_member = json_object();
  return put(object, key, *ret_member, err);
}

static kf_status put_array(json_t *object, const char *key, json_t **ret_member, kf_err *err) {
  *ret_member = json_array();
  return put(object, key, *ret_member, err);
}

static kf_status add_object(json_t *array, json_t **ret_member, kf_err *err) {
  *ret_member = json_object();
  return add(array, *ret_member, err);
}

static json_t *number(double value) {
  if (value == floor(value) && fabs(value) < 0x1p53) return json_integer((json_int_t)value);
  return json_real(value);
}

static kf_status put_symbols(const kf_task *task, json_t *body, kf_err *err) {
  json_t *list, *item;
  KF_TRY(put_array(body, "symbols", &list, err));
  for (int i = 0; i < task->nsymbols; i++) {
    const kf_symbol *symbol = &task->symbols[i];
    KF_TRY(add_object(list, &item, err));
    KF_TRY(put(item, "name", json_string(symbol->name), err));
    KF_TRY(put(item, "default", json_integer(symbol->initial), err));
    KF_TRY(put(item, "min", json_integer(symbol->min), err));
    KF_TRY(put(item, "max", json_integer(symbol->max), err));
    KF_TRY(put(item, "multiple_of", json_integer(symbol->multiple_of), err));
  }
  return KF_OK;
}

static kf_status fill_text(const kf_task *task, const kf_fill *fill, kf_buf *text, kf_err *err) {
  switch (fill->kind) {
  case KF_FILL_NORMAL:
    return kf_buf_puts(text, "normal", err);
  case KF_FILL_UNIFORM:
    return kf_buf_puts(text, "uniform", err);
  case KF_FILL_INT:
    return kf_buf_printf(text, err, "int[%lld,%lld)", (long long)fill->lo, (long long)fill->hi);
  case KF_FILL_INDEX:
    return kf_buf_printf(text, err, "index(%s)", task->symbols[fill->symbol].name);
  case KF_FILL_PERMUTATION:
    return kf_buf_puts(text, "permutation", err);
  case KF_FILL_SORTED:
    return kf_buf_puts(text, "sorted", err);
  case KF_FILL_SPD:
    return kf_buf_puts(text, "spd", err);
  case KF_FILL_CONSTANT:
    return kf_buf_printf(text, err, "constant(%.17g)", fill->value);
  case KF_FILL_FILE:
    return kf_buf_printf(text, err, "file(%s)", fill->file);
  }
  return kf_fail(err, KF_EBUG, "fill of kind %d", (int)fill->kind);
}

static kf_status put_fill(const kf_task *task, const kf_arg_spec *arg, json_t *item, kf_err *err) {
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, 8192);
  KF_TRY(fill_text(task, &arg->fill, &text, err));
  return put(item, "fill", json_string(kf_buf_text(&text)), err);
}

static kf_status put_args(const kf_task *task, json_t *body, kf_err *err) {
  json_t *list, *item, *shape;
  KF_TRY(put_array(body, "args", &list, err));
  for (int i = 0; i < task->nargs; i++) {
    const kf_arg_spec *arg = &task->args[i];
    KF_TRY(add_object(list, &item, err));
    KF_TRY(put(item, "name", json_string(arg->name), err));
    KF_TRY(put(item, "role", json_string(kf_role_name(arg->role)), err));
    KF_TRY(put(item, "type", json_string(kf_type_name(arg->type)), err));
    if (arg->role == KF_ROLE_SCALAR) KF_TRY(put(item, "value", number(arg->value), err));
    if (!kf_role_is_array(arg->role)) continue;
    KF_TRY(put_array(item, "shape", &shape, err));
    for (int d = 0; d < arg->rank; d++)
      KF_TRY(add(shape, json_string(kf_expr_text(arg->shape[d])), err));
    if (arg->role != KF_ROLE_OUT) KF_TRY(put_fill(task, arg, item, err));
  }
  return KF_OK;
}

static kf_status put_sources(const kf_task *task, json_t *body, kf_err *err) {
  json_t *languages, *kernels, *seeds, *list;
  KF_TRY(put_array(body, "language", &languages, err));
  KF_TRY(put_object(body, "kernel", &kernels, err));
  KF_TRY(put_object(body, "seeds", &seeds, err));
  for (int i = 0; i < task->nlanguages; i++) {
    kf_language language = task->languages[i];
    const char *name = kf_language_name(language);
    KF_TRY(add(languages, json_string(name), err));
    if (task->kernel[language] != NULL)
      KF_TRY(put(kernels, name, json_string(task->kernel[language]->path), err));
    if (task->nseeds[language] == 0) continue;
    KF_TRY(put_array(seeds, name, &list, err));
    for (int k = 0; k < task->nseeds[language]; k++)
      KF_TRY(add(list, json_string(task->seeds[language][k]->path), err));
  }
  return KF_OK;
}

static kf_status put_reference(const kf_task *task, json_t *body, kf_err *err) {
  static const char *const words[] = {[KF_BASELINE_KERNEL] = "kernel",
                                      [KF_BASELINE_REFERENCE] = "reference",
                                      [KF_BASELINE_FILE] = NULL,
                                      [KF_BASELINE_TORCH_EAGER] = "torch-eager",
                                      [KF_BASELINE_TORCH_COMPILE] = "torch-compile"};
  json_t *reference;
  const char *baseline = words[task->baseline_kind];
  if (baseline == NULL) baseline = task->baseline->path;
  KF_TRY(put(body, "baseline", json_string(baseline), err));
  if (task->reference_kind == KF_REFERENCE_KERNEL) return put(body, "reference", json_string("kernel"), err);
  KF_TRY(put_object(body, "reference", &reference, err));
  KF_TRY(put(reference, "file", json_string(task->reference->path), err));
  if (task->reference_entry == NULL) return KF_OK;
  return put(reference, "entry", json_string(task->reference_entry), err);
}

static kf_status put_judging(const kf_task *task, json_t *body, kf_err *err) {
  static const char *const compares[] = {"bound", "exact", "bitwise", "set", "argmax"};
  static const char *const kinds[] = {"calibrated", "linear", "exact"};
  json_t *compare, *error;
  KF_TRY(put_object(body, "compare", &compare, err));
  for (int i = 0; i < task->nargs; i++)
    if (task->args[i].role == KF_ROLE_OUT || task->args[i].role == KF_ROLE_INOUT)
      KF_TRY(put(compare, task->args[i].name, json_string(compares[task->compare[i]]), err));
  KF_TRY(put_object(body, "error", &error, err));
  KF_TRY(put(error, "kind", json_string(kinds[task->error_kind]), err));
  if (task->error_depth != NULL)
    KF_TRY(put(error, "depth", json_string(kf_expr_text(task->error_depth)), err));
  if (task->operations != NULL)
    KF_TRY(put(body, "operations", json_string(kf_expr_text(task->operations)), err));
  return put(body, "determinism", json_string(task->determinism_tolerance ? "tolerance" : "bitwise"), err);
}

static kf_status put_params(const kf_task *task, json_t *body, kf_err *err) {
  json_t *params;
  KF_TRY(put_object(body, "params", &params, err));
  for (int i = 0; i < task->nparams; i++)
    KF_TRY(put(params, task->params[i].name, json_string(task->params[i].value), err));
  return KF_OK;
}

static kf_status put_cases(const kf_task *task, json_t *body, const char *key, const kf_case *cases,
                           int count, kf_err *err) {
  json_t *stage, *list, *item;
  KF_TRY(put_object(body, key, &stage, err));
  KF_TRY(put_array(stage, "cases", &list, err));
  for (int c = 0; c < count; c++) {
    KF_TRY(add_object(list, &item, err));
    for (int i = 0; i < task->nsymbols; i++)
      KF_TRY(put(item, task->symbols[i].name, json_integer(cases[c].values[i]), err));
    if (cases[c].origin != NULL) KF_TRY(put(item, "origin", json_string(cases[c].origin), err));
  }
  return KF_OK;
}

static kf_status put_files(const kf_task *task, json_t *root, kf_err *err) {
  json_t *files;
  char hex[KF_HASH_HEX];
  KF_TRY(put_object(root, "files", &files, err));
  for (int i = 0; i < task->nfiles; i++) {
    kf_hash_hex(&task->files[i].hash, hex);
    KF_TRY(put(files, task->files[i].path, json_string(hex), err));
  }
  return KF_OK;
}

static kf_status fill_root(const kf_task *task, json_t *root, kf_err *err) {
  json_t *body;
  KF_TRY(put_object(root, "task", &body, err));
  KF_TRY(put(body, "name", json_string(task->name), err));
  KF_TRY(put_symbols(task, body, err));
  KF_TRY(put_args(task, body, err));
  KF_TRY(put_sources(task, body, err));
  KF_TRY(put_reference(task, body, err));
  KF_TRY(put_judging(task, body, err));
  KF_TRY(put_params(task, body, err));
  KF_TRY(put_cases(task, body, "check", task->check, task->ncheck, err));
  KF_TRY(put_cases(task, body, "measure", task->measure, task->nmeasure, err));
  return put_files(task, root, err);
}

kf_status kf_task_to_json(const kf_task *task, json_t **ret_json, kf_err *err) {
  json_t *root = json_object();
  if (root == NULL) return kf_nomem(err);
  kf_status status = fill_root(task, root, err);
  if (status == KF_OK)
    *ret_json = root;
  else
    json_decref(root);
  return status;
}
