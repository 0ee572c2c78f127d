/* admission.c - the findings about a task and their JSON form; see admission.h. */
#include "wire/admission.h"

#include "base/alloc.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static const char *const names[] = {"ok", "doubtful", "refused"};

const char *kf_admission_state_name(kf_admission_state state) {
  return (unsigned)state < KF_COUNTOF(names) ? names[state] : "unknown";
}

/* A place for a line of this weight; NULL if there is none. */
static kf_admission_line *place(kf_admission *admission, kf_admission_state state) {
  if (admission->nlines < KF_ADMISSION_LINES_MAX) return &admission->lines[admission->nlines++];
  kf_admission_line *lightest = &admission->lines[0];
  for (int i = 1; i < admission->nlines; i++)
    if (admission->lines[i].state < lightest->state) lightest = &admission->lines[i];
  return lightest->state < state ? lightest : NULL;
}

void kf_admission_add(kf_admission *admission, kf_admission_state state, const char *area, const char *fix,
                      const char *fmt, ...) {
  kf_admission_line *line = place(admission, state);
  va_list args;
  if (line == NULL) return;
  memset(line, 0, sizeof *line);
  line->state = state;
  snprintf(line->area, sizeof line->area, "%s", area);
  snprintf(line->fix, sizeof line->fix, "%s", fix != NULL ? fix : "");
  va_start(args, fmt);
  vsnprintf(line->text, sizeof line->text, fmt, args);
  va_end(args);
}

kf_admission_state kf_admission_worst(const kf_admission *admission) {
  kf_admission_state worst = KF_ADMISSION_OK;
  for (int i = 0; i < admission->nlines; i++)
    if (admission->lines[i].state > worst) worst = admission->lines[i].state;
  return worst;
}

/* ---- JSON ---- */

static json_t *line_json(const kf_admission_line *line) {
  return json_pack("{s:s, s:o, s:o, s:o}", "state", kf_admission_state_name(line->state), "area",
                   kf_json_text(line->area, sizeof line->area), "text",
                   kf_json_text(line->text, sizeof line->text), "fix",
                   kf_json_text(line->fix, sizeof line->fix));
}

static json_t *floor_json(const kf_admission_floor *f) {
  return json_pack("{s:o, s:I, s:I, s:I, s:f}", "symbols", kf_json_text(f->symbols, sizeof f->symbols),
                   "bytes_in", (json_int_t)f->bytes_in, "bytes_out", (json_int_t)f->bytes_out, "floor_ns",
                   (json_int_t)f->floor_ns, "operations", f->operations);
}

kf_status kf_admission_to_json(const kf_admission *admission, json_t **ret_json, kf_err *err) {
  json_t *lines = json_array(), *floors = json_array();
  bool failed = lines == NULL || floors == NULL;
  for (int i = 0; i < admission->nlines && !failed; i++)
    failed = json_array_append_new(lines, line_json(&admission->lines[i])) != 0;
  for (int i = 0; i < admission->nfloors && !failed; i++)
    failed = json_array_append_new(floors, floor_json(&admission->floors[i])) != 0;
  if (failed) {
    json_decref(lines);
    json_decref(floors);
    return kf_nomem(err);
  }
  return kf_json_pack(ret_json, err, "{s:o, s:o, s:{s:f, s:f, s:f, s:f, s:I}}", "lines", lines, "floors",
                      floors, "ceilings", "read_gbs", admission->read_gbs, "write_gbs", admission->write_gbs,
                      "copy_gbs", admission->copy_gbs, "gflops", admission->gflops, "launch_ns",
                      (json_int_t)admission->launch_ns);
}

static kf_status get_text(const json_t *object, const char *key, char *field, size_t room, kf_err *err) {
  const json_t *value = json_object_get(object, key);
  if (value == NULL) return KF_OK;
  if (!json_is_string(value)) return kf_fail(err, KF_EPROTO, "admission: \"%s\": not a string", key);
  snprintf(field, room, "%s", json_string_value(value));
  return KF_OK;
}

static kf_status get_number(const json_t *object, const char *key, double *ret_value, kf_err *err) {
  const json_t *value = json_object_get(object, key);
  if (value == NULL) return KF_OK;
  if (!json_is_number(value)) return kf_fail(err, KF_EPROTO, "admission: \"%s\": not a number", key);
  *ret_value = json_number_value(value);
  return KF_OK;
}

static kf_status get_int(const json_t *object, const char *key, int64_t *ret_value, kf_err *err) {
  const json_t *value = json_object_get(object, key);
  if (value == NULL) return KF_OK;
  if (!json_is_integer(value)) return kf_fail(err, KF_EPROTO, "admission: \"%s\": not a whole number", key);
  *ret_value = json_integer_value(value);
  return KF_OK;
}

static kf_status read_line(const json_t *json, kf_admission_line *line, kf_err *err) {
  char state[16] = "ok";
  size_t i = 0;
  KF_TRY(get_text(json, "state", state, sizeof state, err));
  KF_TRY(get_text(json, "area", line->area, sizeof line->area, err));
  KF_TRY(get_text(json, "text", line->text, sizeof line->text, err));
  KF_TRY(get_text(json, "fix", line->fix, sizeof line->fix, err));
  while (i < KF_COUNTOF(names) && strcmp(names[i], state) != 0)
    i++;
  if (i == KF_COUNTOF(names)) return kf_fail(err, KF_EPROTO, "admission: no such state: %s", state);
  line->state = (kf_admission_state)i;
  return KF_OK;
}

static kf_status read_floor(const json_t *json, kf_admission_floor *f, kf_err *err) {
  KF_TRY(get_text(json, "symbols", f->symbols, sizeof f->symbols, err));
  KF_TRY(get_int(json, "bytes_in", &f->bytes_in, err));
  KF_TRY(get_int(json, "bytes_out", &f->bytes_out, err));
  KF_TRY(get_int(json, "floor_ns", &f->floor_ns, err));
  return get_number(json, "operations", &f->operations, err);
}

kf_status kf_admission_from_json(const json_t *json, kf_admission *ret_admission, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_admission *a = kf_calloc(1, sizeof *a); /* large: not for the stack */
  const json_t *lines = json_object_get(json, "lines"), *floors = json_object_get(json, "floors");
  const json_t *ceilings = json_object_get(json, "ceilings"), *item = NULL;
  size_t index = 0;
  if (a == NULL) return kf_nomem(err);
  if (!json_is_array(lines) || json_array_size(lines) > KF_ADMISSION_LINES_MAX)
    return kf_fail(err, KF_EPROTO, "admission: \"lines\" is no list of at most %d", KF_ADMISSION_LINES_MAX);
  if (floors != NULL && (!json_is_array(floors) || json_array_size(floors) > KF_ADMISSION_FLOORS_MAX))
    return kf_fail(err, KF_EPROTO, "admission: \"floors\" is no list of at most %d", KF_ADMISSION_FLOORS_MAX);
  json_array_foreach(lines, index, item) KF_TRY(read_line(item, &a->lines[a->nlines++], err));
  json_array_foreach(floors, index, item) KF_TRY(read_floor(item, &a->floors[a->nfloors++], err));
  KF_TRY(get_number(ceilings, "read_gbs", &a->read_gbs, err));
  KF_TRY(get_number(ceilings, "write_gbs", &a->write_gbs, err));
  KF_TRY(get_number(ceilings, "copy_gbs", &a->copy_gbs, err));
  KF_TRY(get_number(ceilings, "gflops", &a->gflops, err));
  KF_TRY(get_int(ceilings, "launch_ns", &a->launch_ns, err));
  *ret_admission = *a;
  return KF_OK;
}
