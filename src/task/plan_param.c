/* plan_param.c - `param`: a name, its default and its space, expanded to a list of choices. */
#include "task/plan_private.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include <string.h>

/* Decimal, with an optional minus. */
static kf_status parse_int(kf__cursor *c, int64_t *ret_number) {
  char digits[24];
  size_t begin, len = 0;
  kf__plan_skip(c);
  begin = c->pos;
  if (begin < c->len && c->text[begin] == '-') digits[len++] = '-';
  while (begin + len < c->len && len < sizeof digits - 1 && c->text[begin + len] >= '0' &&
         c->text[begin + len] <= '9') {
    digits[len] = c->text[begin + len];
    len++;
  }
  digits[len] = '\0';
  if (len == 0 || kf_text_int(digits, INT64_MIN, INT64_MAX, "value", ret_number, NULL) != KF_OK)
    return kf__plan_fail(c, begin, "expected a whole number");
  c->pos = begin + len;
  return KF_OK;
}

static kf_status parse_value(kf__cursor *c, kf_value *ret_value) {
  char word[65];
  size_t begin;
  kf__plan_word(c, word, &begin);
  if (word[0] == '\0') {
    *ret_value = (kf_value){.word = ""};
    KF_TRY(parse_int(c, &ret_value->number));
    if (c->pos < c->len && kf__plan_is_name_char(c->text[c->pos], false))
      return kf__plan_fail(c, c->pos, "expected a whole number or a word");
    return KF_OK;
  }
  ret_value->is_word = true;
  ret_value->word = kf_arena_strdup(&c->plan->arena, word);
  if (ret_value->word != NULL) return KF_OK;
  kf_nomem(c->err);
  return KF_ENOMEM; /* a constant, so that a static analyser follows it */
}

static bool same_value(const kf_value *a, const kf_value *b) {
  if (a->is_word != b->is_word) return false;
  return a->is_word ? strcmp(a->word, b->word) == 0 : a->number == b->number;
}

static int find_choice(const kf_param *param, const kf_value *value) {
  for (int i = 0; i < param->nchoices; i++)
    if (same_value(&param->choices[i], value)) return i;
  return -1;
}

typedef KF_VEC(kf_value) value_vec;

static kf_status set_choices(kf__cursor *c, kf_param *param, const kf_value *values, size_t count) {
  param->choices = kf_arena_array(&c->plan->arena, count, sizeof *param->choices);
  if (param->choices == NULL) return kf_nomem(c->err);
  for (size_t i = 0; i < count; i++)
    param->choices[i] = values[i];
  param->nchoices = (int)count;
  return KF_OK;
}

/* {v, ...} */
static kf_status parse_set_into(kf__cursor *c, value_vec *values) {
  do {
    kf_value value = {.word = ""};
    size_t begin = c->pos + strspn(c->text + c->pos, " \t");
    KF_TRY(parse_value(c, &value));
    for (size_t i = 0; i < values->count; i++)
      if (same_value(&values->items[i], &value))
        return kf__plan_fail(c, begin, "the value stands in the set already");
    if (values->count > 0 && values->items[0].is_word != value.is_word)
      return kf__plan_fail(c, begin, "a set holds numbers or words, not both");
    if (values->count == KF_CHOICES_MAX)
      return kf__plan_fail(c, begin, "more than %d values", KF_CHOICES_MAX);
    if (kf_vec_push(values, value) != KF_OK) return kf_nomem(c->err);
  } while (kf__plan_take(c, ','));
  return kf__plan_expect(c, "}", "after the values");
}

/* [lo..hi step s] or [lo..hi pow2] */
static kf_status parse_range_into(kf__cursor *c, value_vec *values) {
  int64_t lo = 0, hi = 0, step = 0;
  char word[65];
  size_t begin = c->pos, word_begin;
  KF_TRY(parse_int(c, &lo));
  KF_TRY(kf__plan_expect(c, "..", "in the range"));
  KF_TRY(parse_int(c, &hi));
  kf__plan_word(c, word, &word_begin);
  bool pow2 = strcmp(word, "pow2") == 0;
  if (!pow2 && strcmp(word, "step") != 0)
    return kf__plan_fail(c, word_begin, "expected \"step\" or \"pow2\" after the range");
  if (!pow2) {
    KF_TRY(parse_int(c, &step));
    if (step <= 0) return kf__plan_fail(c, begin, "the step must be positive");
  }
  KF_TRY(kf__plan_expect(c, "]", "after the range"));
  if (lo > hi)
    return kf__plan_fail(c, begin, "the range is empty: %lld is above %lld", (long long)lo, (long long)hi);
  if (pow2 && lo <= 0) return kf__plan_fail(c, begin, "powers of two begin at 1");
  int64_t value = lo;
  if (pow2)
    for (value = 1; value < lo && value <= INT64_MAX / 2;)
      value *= 2;
  for (bool over = value < lo; !over && value <= hi;) {
    if (values->count == KF_CHOICES_MAX)
      return kf__plan_fail(c, begin, "more than %d values", KF_CHOICES_MAX);
    if (kf_vec_push(values, (kf_value){.number = value}) != KF_OK) return kf_nomem(c->err);
    over = __builtin_add_overflow(value, pow2 ? value : step, &value);
  }
  return values->count > 0 ? KF_OK : kf__plan_fail(c, begin, "no power of two lies in the range");
}

/* The value that task.yaml gives a param. */
static kf_status apply_override(const kf__cursor *c, kf_param *param, bool has_space, size_t begin) {
  const kf_task *task = c->plan->task;
  for (int i = 0; i < task->nparams; i++) {
    if (strcmp(task->params[i].name, param->name) != 0) continue;
    kf_value value = {.word = task->params[i].value};
    value.is_word = kf_text_int(value.word, INT64_MIN, INT64_MAX, "param", &value.number, NULL) != KF_OK;
    int choice = find_choice(param, &value);
    if (choice < 0 && has_space)
      return kf__plan_fail(c, begin, "the task sets %s to %s, which is not in this space", param->name,
                           task->params[i].value);
    if (choice < 0)
      param->choices[0] = value;
    else
      param->initial = choice;
  }
  return KF_OK;
}

kf_status kf__plan_parse_param(kf__cursor *c) {
  kf_plan *plan = c->plan;
  kf_value value = {.word = ""};
  char word[65];
  size_t name_begin, begin;
  value_vec values = {0};
  if (plan->nparams == KF_PARAMS_MAX) return kf__plan_fail(c, c->pos, "more than %d params", KF_PARAMS_MAX);
  kf_param param = {.line = c->line};
  kf__plan_skip(c);
  name_begin = c->pos;
  KF_TRY(kf__plan_new_name(c, "param", &param.name));
  KF_TRY(kf__plan_expect(c, "=", "after the name"));
  kf__plan_skip(c);
  begin = c->pos;
  KF_TRY(parse_value(c, &value));
  kf__plan_word(c, word, &(size_t){0});
  bool has_space = strcmp(word, "in") == 0;
  if (!has_space) {
    c->pos -= strlen(word);
    KF_TRY(set_choices(c, &param, &value, 1));
  } else {
    bool is_set = kf__plan_take(c, '{');
    kf_status status = is_set ? parse_set_into(c, &values)
                       : kf__plan_take(c, '[')
                           ? parse_range_into(c, &values)
                           : kf__plan_fail(c, c->pos, "expected \"{\" or \"[\" after \"in\"");
    if (status == KF_OK) status = set_choices(c, &param, values.items, values.count);
    kf_vec_done(&values);
    KF_TRY(status);
    param.initial = find_choice(&param, &value);
    if (param.initial < 0) return kf__plan_fail(c, begin, "the default is not in the space");
  }
  KF_TRY(apply_override(c, &param, has_space, name_begin));
  plan->param_begin[plan->nparams] = (size_t)(c->text - plan->source);
  plan->param_end[plan->nparams] = plan->param_begin[plan->nparams] + c->len;
  plan->params[plan->nparams++] = param;
  return kf__plan_end(c);
}
