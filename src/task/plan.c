/* plan.c - questions about a plan, and bindings as text. */
#include "task/plan_private.h"

#include "base/alloc.h"
#include "base/text.h"
#include <string.h>

int kf_plan_nparams(const kf_plan *plan) {
  return plan->nparams;
}

const kf_param *kf_plan_param(const kf_plan *plan, int index) {
  return &plan->params[index];
}

void kf_plan_default(const kf_plan *plan, kf_binding *ret_binding) {
  memset(ret_binding, 0, sizeof *ret_binding);
  for (int i = 0; i < plan->nparams; i++)
    ret_binding->choice[i] = (int16_t)plan->params[i].initial;
}

int64_t kf_plan_space(const kf_plan *plan) {
  int64_t points = 1;
  for (int i = 0; i < plan->nparams; i++)
    if (__builtin_mul_overflow(points, (int64_t)plan->params[i].nchoices, &points)) return INT64_MAX;
  return points;
}

kf_status kf__plan_value_text(const kf_value *value, kf_buf *buf, kf_err *err) {
  if (value->is_word) return kf_buf_puts(buf, value->word, err);
  return kf_buf_printf(buf, err, "%lld", (long long)value->number);
}

static const kf_value *bound_value(const kf_plan *plan, const kf_binding *binding, int index) {
  return &plan->params[index].choices[binding->choice[index]];
}

/* BEFORE NAME=value AFTER, for each param. */
static kf_status write_all(const kf_plan *plan, const kf_binding *binding, const char *before,
                           const char *between, kf_buf *buf, kf_err *err) {
  for (int i = 0; i < plan->nparams; i++) {
    KF_TRY(kf_buf_printf(buf, err, "%s%s%s=", i > 0 ? between : "", before, plan->params[i].name));
    KF_TRY(kf__plan_value_text(bound_value(plan, binding, i), buf, err));
  }
  return KF_OK;
}

kf_status kf_plan_binding_text(const kf_plan *plan, const kf_binding *binding, kf_buf *buf, kf_err *err) {
  return write_all(plan, binding, "", ",", buf, err);
}

kf_status kf_plan_defines(const kf_plan *plan, const kf_binding *binding, kf_buf *buf, kf_err *err) {
  return write_all(plan, binding, "-D", " ", buf, err);
}

/* ---- reading a binding ---- */

/* The choices as far as they fit in a hint. */
static void space_text(const kf_param *param, char *ret_text, size_t room) {
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, room - 1);
  for (int i = 0; i < param->nchoices; i++) {
    if (i > 0 && kf_buf_puts(&text, ", ", NULL) != KF_OK) break;
    if (kf__plan_value_text(&param->choices[i], &text, NULL) != KF_OK) break;
  }
  memcpy(ret_text, kf_buf_text(&text), text.len + 1);
}

static int find_value(const kf_param *param, const char *text) {
  int64_t number = 0;
  bool is_number = kf_text_int(text, INT64_MIN, INT64_MAX, "value", &number, NULL) == KF_OK;
  for (int i = 0; i < param->nchoices; i++) {
    const kf_value *choice = &param->choices[i];
    if (choice->is_word ? strcmp(choice->word, text) == 0 : is_number && choice->number == number) return i;
  }
  return -1;
}

static kf_status set_one(const kf_plan *plan, const char *name, const char *value, bool *seen,
                         kf_binding *binding, kf_err *err) {
  int index = kf__plan_find_param(plan, name);
  if (index < 0) {
    const char *names[KF_PARAMS_MAX + 1] = {NULL};
    for (int i = 0; i < plan->nparams; i++)
      names[i] = plan->params[i].name;
    const char *nearest = kf_text_nearest(name, names);
    kf_status status = kf_fail(err, KF_EINVAL, "%s has no param \"%.64s\"", plan->name, name);
    if (nearest != NULL) return kf_err_hint(err, status, "did you mean \"%s\"?", nearest);
    return status;
  }
  if (seen[index]) return kf_fail(err, KF_EINVAL, "param %s is given twice", name);
  seen[index] = true;
  int choice = find_value(&plan->params[index], value);
  if (choice < 0) {
    char space[160];
    space_text(&plan->params[index], space, sizeof space);
    kf_status status = kf_fail(err, KF_EINVAL, "param %s: \"%.64s\" is not in its space", name, value);
    return kf_err_hint(err, status, "one of %s", space);
  }
  binding->choice[index] = (int16_t)choice;
  return KF_OK;
}

static char *trim(char *text) {
  text += strspn(text, " \t");
  for (size_t len = strlen(text); len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'); len--)
    text[len - 1] = '\0';
  return text;
}

static kf_status read_pairs(const kf_plan *plan, char *text, kf_binding *binding, kf_err *err) {
  bool seen[KF_PARAMS_MAX] = {false};
  if (*trim(text) == '\0') return KF_OK;
  for (char *next = text; next != NULL;) {
    char *pair = next;
    next = strchr(pair, ',');
    if (next != NULL) *next++ = '\0';
    char *equals = strchr(pair, '=');
    if (equals == NULL) {
      kf_status status = kf_fail(err, KF_EINVAL, "\"%.64s\" is no NAME=VALUE", pair);
      return kf_err_hint(err, status, "write TILE=16,VEC=4");
    }
    *equals = '\0';
    KF_TRY(set_one(plan, trim(pair), trim(equals + 1), seen, binding, err));
  }
  return KF_OK;
}

kf_status kf_plan_binding_parse(const kf_plan *plan, const char *text, kf_binding *ret_binding, kf_err *err) {
  kf_binding binding;
  kf_plan_default(plan, &binding);
  char *copy = kf_strdup(text);
  if (copy == NULL) return kf_nomem(err);
  kf_status status = read_pairs(plan, copy, &binding, err);
  kf_free(copy);
  if (status == KF_OK) *ret_binding = binding;
  return status;
}

/* ---- the source ---- */

kf_status kf_plan_bind_source(const kf_plan *plan, const kf_binding *binding, kf_buf *buf, kf_err *err) {
  size_t done = 0;
  for (int i = 0; i < plan->nparams; i++) { /* params are in file order */
    KF_TRY(kf_buf_append(buf, plan->source + done, plan->param_begin[i] - done, err));
    KF_TRY(kf_buf_printf(buf, err, " param %s = ", plan->params[i].name));
    KF_TRY(kf__plan_value_text(bound_value(plan, binding, i), buf, err));
    done = plan->param_end[i];
  }
  return kf_buf_append(buf, plan->source + done, plan->len - done, err);
}

kf_status kf_plan_normalised_hash(const kf_plan *plan, const kf_binding *binding, kf_hash *ret_hash,
                                  kf_err *err) {
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, (size_t)KF_PARAMS_MAX * 160);
  KF_TRY(kf_plan_binding_text(plan, binding, &text, err));
  kf_hasher hasher = plan->tokens;
  kf_hasher_add_text(&hasher, kf_buf_text(&text));
  kf_hasher_final(&hasher, ret_hash);
  return KF_OK;
}
