/* settings.h - every number of the program that a user may change, in one typed table.
 * The table (settings.def) drives parsing, `--set NAME=VALUE`, ranges, documentation (docs/settings.md) and
 * what is recorded with a run. Names are dotted: "measure.blocks_max", "search.seed". Values are set before a
 * run and constant in it; the struct is plain data and may be copied. */
#ifndef KF_BASE_SETTINGS_H
#define KF_BASE_SETTINGS_H

#include "base/json.h"

typedef enum { KF_SETTING_INT, KF_SETTING_REAL, KF_SETTING_BOOL } kf_setting_type;

typedef struct {
  const char *name; /* "measure.delta" */
  kf_setting_type type;
  size_t offset; /* of the field in kf_settings */
  double min, max, initial;
  const char *unit, *help, *source; /* unit "" if none; source: paper and section, or "ours" */
} kf_setting_info;

typedef struct {
#define KF_SETTING_I(field, name, initial, min, max, unit, help, source) int64_t field;
#define KF_SETTING_R(field, name, initial, min, max, unit, help, source) double field;
#define KF_SETTING_B(field, name, initial, help, source) bool field;
#include "base/settings.def"
#undef KF_SETTING_I
#undef KF_SETTING_R
#undef KF_SETTING_B
} kf_settings;

void kf_settings_init(kf_settings *settings); /* every field at its default */
size_t kf_settings_count(void);
const kf_setting_info *kf_settings_info(size_t index); /* declaration order */
/* Sets one by name; unknown names are refused with the nearest one, values out of range with the range. */
kf_status kf_settings_set(kf_settings *settings, const char *name, const char *value, kf_err *err);
/* All values as one JSON object, and back (unknown keys refused). */
kf_status kf_settings_to_json(const kf_settings *settings, json_t **ret_object, kf_err *err);
kf_status kf_settings_from_json(kf_settings *settings, const json_t *object, kf_err *err);
/* Appends the table of docs/settings.md: Markdown, one row a setting, in declaration order. */
kf_status kf_settings_markdown(kf_buf *buf, kf_err *err);

#endif
