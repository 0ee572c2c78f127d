/* settings.c - the table made from settings.def, and everything that walks it. No setting is named here. */
#include "base/settings.h"

#include "base/alloc.h"
#include "base/text.h"
#include <string.h>

#include "base/banned.h"

static const kf_setting_info table[] = {
#define KF_SETTING_I(field, name, initial, min, max, unit, help, source)                                     \
  {name, KF_SETTING_INT, offsetof(kf_settings, field), min, max, initial, unit, help, source},
#define KF_SETTING_R(field, name, initial, min, max, unit, help, source)                                     \
  {name, KF_SETTING_REAL, offsetof(kf_settings, field), min, max, initial, unit, help, source},
#define KF_SETTING_B(field, name, initial, help, source)                                                     \
  {name, KF_SETTING_BOOL, offsetof(kf_settings, field), 0, 1, initial, "", help, source},
#include "base/settings.def"
#undef KF_SETTING_I
#undef KF_SETTING_R
#undef KF_SETTING_B
};

static const char *const names[] = {
#define KF_SETTING_I(field, name, initial, min, max, unit, help, source) name,
#define KF_SETTING_R(field, name, initial, min, max, unit, help, source) name,
#define KF_SETTING_B(field, name, initial, help, source) name,
#include "base/settings.def"
#undef KF_SETTING_I
#undef KF_SETTING_R
#undef KF_SETTING_B
    NULL,
};

static void *field_of(kf_settings *settings, const kf_setting_info *info) {
  return (char *)settings + info->offset;
}

static const void *const_field_of(const kf_settings *settings, const kf_setting_info *info) {
  return (const char *)settings + info->offset;
}

void kf_settings_init(kf_settings *settings) {
  memset(settings, 0, sizeof *settings); /* equal settings are equal bytes */
  for (size_t i = 0; i < KF_COUNTOF(table); i++) {
    void *field = field_of(settings, &table[i]);
    switch (table[i].type) {
    case KF_SETTING_INT:
      *(int64_t *)field = (int64_t)table[i].initial;
      break;
    case KF_SETTING_REAL:
      *(double *)field = table[i].initial;
      break;
    case KF_SETTING_BOOL:
      *(bool *)field = table[i].initial != 0;
      break;
    }
  }
}

size_t kf_settings_count(void) {
  return KF_COUNTOF(table);
}

const kf_setting_info *kf_settings_info(size_t index) {
  return index < KF_COUNTOF(table) ? &table[index] : NULL;
}

static kf_status find(const char *name, const kf_setting_info **ret_info, kf_err *err) {
  for (size_t i = 0; i < KF_COUNTOF(table); i++)
    if (strcmp(table[i].name, name) == 0) {
      *ret_info = &table[i];
      return KF_OK;
    }
  kf_status status = kf_fail(err, KF_EINVAL, "unknown setting \"%.60s\"", name);
  const char *nearest = kf_text_nearest(name, names);
  return nearest != NULL ? kf_err_hint(err, status, "did you mean \"%s\"?", nearest) : status;
}

static kf_status parse_bool(const char *text, const char *what, bool *ret_value, kf_err *err) {
  static const char *const words[] = {"false", "true", "off", "on", "no", "yes", "0", "1"};
  for (size_t i = 0; i < KF_COUNTOF(words); i++)
    if (strcmp(text, words[i]) == 0) {
      *ret_value = i % 2 == 1;
      return KF_OK;
    }
  return kf_fail(err, KF_EINVAL, "%s: \"%.60s\" is neither true nor false", what, text);
}

kf_status kf_settings_set(kf_settings *settings, const char *name, const char *value, kf_err *err) {
  const kf_setting_info *info = NULL;
  KF_TRY(find(name, &info, err));
  void *field = field_of(settings, info);
  switch (info->type) {
  case KF_SETTING_INT:
    return kf_text_int(value, (int64_t)info->min, (int64_t)info->max, info->name, field, err);
  case KF_SETTING_REAL:
    return kf_text_real(value, info->min, info->max, info->name, field, err);
  case KF_SETTING_BOOL:
    return parse_bool(value, info->name, field, err);
  }
  return kf_fail(err, KF_EBUG, "setting \"%s\" has no type", info->name);
}

static json_t *value_to_json(const kf_settings *settings, const kf_setting_info *info) {
  const void *field = const_field_of(settings, info);
  switch (info->type) {
  case KF_SETTING_INT:
    return json_integer(*(const int64_t *)field);
  case KF_SETTING_REAL:
    return json_real(*(const double *)field);
  case KF_SETTING_BOOL:
    return json_boolean(*(const bool *)field);
  }
  return NULL;
}

kf_status kf_settings_to_json(const kf_settings *settings, json_t **ret_object, kf_err *err) {
  json_t *object = json_object();
  if (object == NULL) return kf_nomem(err);
  for (size_t i = 0; i < KF_COUNTOF(table); i++)
    if (json_object_set_new(object, table[i].name, value_to_json(settings, &table[i])) != 0) {
      json_decref(object);
      return kf_nomem(err);
    }
  *ret_object = object;
  return KF_OK;
}

static kf_status value_from_json(kf_settings *settings, const kf_setting_info *info, const json_t *value,
                                 kf_err *err) {
  void *field = field_of(settings, info);
  if (info->type == KF_SETTING_BOOL && json_is_boolean(value)) {
    *(bool *)field = json_is_true(value);
    return KF_OK;
  }
  bool whole = info->type == KF_SETTING_INT && json_is_integer(value);
  bool real = info->type == KF_SETTING_REAL && json_is_number(value);
  if (!whole && !real)
    return kf_fail(err, KF_EINVAL, "%s: %s expected", info->name,
                   info->type == KF_SETTING_INT    ? "a whole number"
                   : info->type == KF_SETTING_REAL ? "a number"
                                                   : "true or false");
  double number = json_number_value(value);
  if (number < info->min || number > info->max)
    return kf_fail(err, KF_EINVAL, "%s: %.15g is out of range: %.15g to %.15g expected", info->name, number,
                   info->min, info->max);
  if (whole)
    *(int64_t *)field = json_integer_value(value);
  else
    *(double *)field = number;
  return KF_OK;
}

kf_status kf_settings_from_json(kf_settings *settings, const json_t *object, kf_err *err) {
  if (!json_is_object(object)) return kf_fail(err, KF_EINVAL, "settings: an object expected");
  kf_settings copy = *settings; /* all of the object, or nothing */
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    const kf_setting_info *info = NULL;
    KF_TRY(find(key, &info, err));
    KF_TRY(value_from_json(&copy, info, value, err));
  }
  *settings = copy;
  return KF_OK;
}

kf_status kf_settings_markdown(kf_buf *buf, kf_err *err) {
  static const char *const types[] = {"whole number", "number", "true or false"};
  KF_TRY(kf_buf_puts(buf,
                     "| Name | Type | Default | Range | Unit | Meaning | Source |\n"
                     "|-|-|-|-|-|-|-|\n",
                     err));
  for (size_t i = 0; i < KF_COUNTOF(table); i++) {
    const kf_setting_info *info = &table[i];
    KF_TRY(kf_buf_printf(buf, err, "| `%s` | %s | ", info->name, types[info->type]));
    if (info->type == KF_SETTING_BOOL)
      KF_TRY(kf_buf_printf(buf, err, "%s | ", info->initial != 0 ? "true" : "false"));
    else
      KF_TRY(kf_buf_printf(buf, err, "%.15g | %.15g to %.15g", info->initial, info->min, info->max));
    KF_TRY(kf_buf_printf(buf, err, " | %s | %s | %s |\n", info->unit, info->help, info->source));
  }
  return KF_OK;
}
