/* verdict.c - names, precedence and the JSON form of a verdict (docs/formats/verdict.md).
 *
 * Writing never meets text that JSON cannot hold: compiler logs and driver names come from outside, so bytes
 * that are no UTF-8 become U+FFFD. Reading is strict about types and lenient about presence: a field of
 * another version may be missing or unknown, but never of another kind. */
#include "wire/verdict.h"

#include "base/alloc.h"
#include "wire/verdict_int.h"
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"

static const char *const verdict_names[KF_VERDICT_COUNT] = {
    [KF_VERDICT_NO_CODE] = "no_code",
    [KF_VERDICT_REFUSED] = "refused",
    [KF_VERDICT_UNSUPPORTED] = "unsupported",
    [KF_VERDICT_BUILD_FAILED] = "build_failed",
    [KF_VERDICT_BUILD_TIMEOUT] = "build_timeout",
    [KF_VERDICT_LAUNCH_FAILED] = "launch_failed",
    [KF_VERDICT_CRASHED] = "crashed",
    [KF_VERDICT_TIMED_OUT] = "timed_out",
    [KF_VERDICT_OUT_OF_MEMORY] = "out_of_memory",
    [KF_VERDICT_WRONG_OUTPUT] = "wrong_output",
    [KF_VERDICT_WRONG_MEMORY] = "wrong_memory",
    [KF_VERDICT_NONDETERMINISTIC] = "nondeterministic",
    [KF_VERDICT_IMPRECISE] = "imprecise",
    [KF_VERDICT_SLOW] = "slow",
    [KF_VERDICT_IMPLAUSIBLE] = "implausible",
    [KF_VERDICT_UNSTABLE] = "unstable",
    [KF_VERDICT_CHEAT] = "cheat",
    [KF_VERDICT_CORRECT] = "correct",
};

/* Rank of docs/formats/verdict.md, highest first; verdicts of one rank do not outdo each other. What ends
 * before anything ran comes right after `cheat`: with it nothing else was seen. */
static const unsigned char precedence[KF_VERDICT_COUNT] = {
    [KF_VERDICT_CHEAT] = 12,           [KF_VERDICT_NO_CODE] = 11,      [KF_VERDICT_REFUSED] = 11,
    [KF_VERDICT_UNSUPPORTED] = 11,     [KF_VERDICT_BUILD_FAILED] = 11, [KF_VERDICT_BUILD_TIMEOUT] = 11,
    [KF_VERDICT_CRASHED] = 10,         [KF_VERDICT_TIMED_OUT] = 10,    [KF_VERDICT_OUT_OF_MEMORY] = 10,
    [KF_VERDICT_LAUNCH_FAILED] = 9,    [KF_VERDICT_WRONG_MEMORY] = 8,  [KF_VERDICT_WRONG_OUTPUT] = 7,
    [KF_VERDICT_NONDETERMINISTIC] = 6, [KF_VERDICT_IMPRECISE] = 5,     [KF_VERDICT_IMPLAUSIBLE] = 4,
    [KF_VERDICT_UNSTABLE] = 3,         [KF_VERDICT_SLOW] = 2,          [KF_VERDICT_CORRECT] = 1,
};

static const char *const outcome_names[] = {
    [KF_RACE_NONE] = "none", [KF_RACE_FASTER] = "faster",   [KF_RACE_SLOWER] = "slower",
    [KF_RACE_TIE] = "tie",   [KF_RACE_DROPPED] = "dropped",
};

static const char *const precision_names[] = {
    [KF_PRECISION_NONE] = "none",
    [KF_PRECISION_PASSED] = "passed",
    [KF_PRECISION_FAILED] = "failed",
    [KF_PRECISION_UNOBSERVABLE] = "unobservable",
};

const char *kf_verdict_name(kf_verdict_kind kind) {
  return (unsigned)kind < KF_VERDICT_COUNT ? verdict_names[kind] : "unknown";
}

bool kf_verdict_parse(const char *name, kf_verdict_kind *ret_kind) {
  for (int i = 0; i < KF_VERDICT_COUNT; i++) {
    if (strcmp(name, verdict_names[i]) != 0) continue;
    *ret_kind = (kf_verdict_kind)i;
    return true;
  }
  return false;
}

bool kf_verdict_worse(kf_verdict_kind a, kf_verdict_kind b) {
  return precedence[a] > precedence[b];
}

const char *kf_race_outcome_name(kf_race_outcome outcome) {
  return (unsigned)outcome < KF_COUNTOF(outcome_names) ? outcome_names[outcome] : "unknown";
}

const char *kf_precision_state_name(kf_precision_state state) {
  return (unsigned)state < KF_COUNTOF(precision_names) ? precision_names[state] : "unknown";
}

void kf_verdict_init(kf_verdict *verdict) {
  memset(verdict, 0, sizeof *verdict);
  verdict->kind = KF_VERDICT_NO_CODE;
  memset(verdict->cell.level, -1, sizeof verdict->cell.level);
}

/* ---- cells and ratios ---- */

static const char axis_letters[KF_AXES] = {'m', 'a', 'c', 'x'};

void kf_cell_text(const kf_cell *cell, char ret_text[KF_CELL_TEXT]) {
  if (cell->level[0] < 0) {
    snprintf(ret_text, KF_CELL_TEXT, "unknown");
    return;
  }
  char *at = ret_text;
  for (int axis = 0; axis < KF_AXES; axis++) {
    if (axis > 0) *at++ = '.';
    *at++ = axis_letters[axis];
    *at++ = (char)('0' + (cell->level[axis] & 3));
  }
  *at = '\0';
}

bool kf_cell_parse(const char *text, kf_cell *ret_cell) {
  kf_cell cell = {{-1, -1, -1, -1}};
  if (strcmp(text, "unknown") == 0) {
    *ret_cell = cell;
    return true;
  }
  for (int axis = 0; axis < KF_AXES; axis++) {
    if (axis > 0 && *text++ != '.') return false;
    if (*text != axis_letters[axis]) return false;
    text++;
    if (*text < '0' || *text > '3') return false;
    cell.level[axis] = (int8_t)(*text++ - '0');
  }
  if (*text != '\0') return false;
  *ret_cell = cell;
  return true;
}

double kf_nano_ratio(int64_t nano) {
  return exp((double)nano * 1e-9);
}

int64_t kf_ratio_nano(double ln_ratio) {
  if (isnan(ln_ratio)) return 0;
  double nano = ln_ratio * 1e9;
  if (nano >= 0x1p63) return INT64_MAX;
  if (nano <= -0x1p63) return INT64_MIN;
  return llround(nano);
}

/* ---- text ---- */

/* Copies into a field, cut before the character that does not fit whole. */
static void copy_cut(char *field, size_t room, const char *text) {
  size_t len = strlen(text);
  if (len >= room) {
    len = room - 1;
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
      len--;
  }
  memcpy(field, text, len);
  memset(field + len, 0, room - len);
}

/* ---- writing ---- */

/* An object being built: the first failure sticks, so that the code above stays a list of fields. */
typedef struct {
  json_t *object;
  bool failed;
} writer;

static writer writer_new(void) {
  json_t *object = json_object();
  return (writer){object, object == NULL};
}

static void put(writer *w, const char *key, json_t *value) {
  if (w->object == NULL) {
    json_decref(value);
    w->failed = true;
  } else if (json_object_set_new(w->object, key, value) != 0) {
    w->failed = true;
  }
}

static void put_text(writer *w, const char *key, const char *text, size_t room) {
  put(w, key, kf_json_text(text, room));
}
#define PUT_TEXT(w, key, field) put_text((w), (key), (field), sizeof(field))

static void put_int(writer *w, const char *key, int64_t value) {
  put(w, key, json_integer(value));
}

static void put_bool(writer *w, const char *key, bool value) {
  put(w, key, json_boolean(value));
}

/* JSON has no infinity: null. */
static void put_real(writer *w, const char *key, double value) {
  put(w, key, isfinite(value) ? json_real(value) : json_null());
}

static void put_writer(writer *w, const char *key, writer *part) {
  if (part->failed) w->failed = true;
  if (part->object == NULL) return;
  put(w, key, part->object);
  part->object = NULL;
}

static void put_diagnosis(writer *w, const kf_diagnosis *diagnosis) {
  writer part = writer_new();
  PUT_TEXT(&part, "kind", diagnosis->kind);
  PUT_TEXT(&part, "where", diagnosis->where);
  PUT_TEXT(&part, "text", diagnosis->text);
  PUT_TEXT(&part, "evidence", diagnosis->evidence);
  put_writer(w, "diagnosis", &part);
}

static void put_race(writer *w, const kf_race_result *race) {
  writer part = writer_new();
  put(&part, "outcome", json_string(kf_race_outcome_name(race->outcome)));
  PUT_TEXT(&part, "baseline", race->against);
  PUT_TEXT(&part, "baseline_binding", race->against_binding);
  put_real(&part, "median", kf_nano_ratio(race->median_nano));
  put_real(&part, "low", kf_nano_ratio(race->low_nano));
  put_real(&part, "high", kf_nano_ratio(race->high_nano));
  put_int(&part, "median_nano", race->median_nano);
  put_int(&part, "low_nano", race->low_nano);
  put_int(&part, "high_nano", race->high_nano);
  put_real(&part, "level", race->level);
  put_int(&part, "blocks", race->blocks);
  put_int(&part, "dropped", race->dropped);
  PUT_TEXT(&part, "why", race->why);
  put_writer(w, "speedup", &part);
}

static void put_cases(writer *w, const kf_verdict *verdict) {
  json_t *cases = json_array();
  if (cases == NULL) w->failed = true;
  for (int i = 0; i < verdict->ncases && cases != NULL; i++) {
    const kf_case_result *result = &verdict->cases[i];
    writer part = writer_new();
    PUT_TEXT(&part, "symbols", result->symbols);
    put_bool(&part, "measured", result->measured);
    put_bool(&part, "right", result->right);
    put_real(&part, "worst", result->worst);
    put_int(&part, "time_ns", result->time_ns);
    if (part.failed || json_array_append_new(cases, part.object) != 0) {
      if (part.failed) json_decref(part.object);
      w->failed = true;
    }
  }
  put(w, "cases", cases);
}

static void put_errors(writer *w, const kf_verdict *verdict) {
  json_t *errors = json_array();
  if (errors == NULL) w->failed = true;
  for (int i = 0; i < verdict->nerrors && errors != NULL; i++) {
    const kf_compile_error *error = &verdict->errors[i];
    writer part = writer_new();
    PUT_TEXT(&part, "file", error->file);
    put_int(&part, "line", error->line);
    put_int(&part, "col", error->col);
    PUT_TEXT(&part, "severity", error->severity);
    PUT_TEXT(&part, "category", error->category);
    PUT_TEXT(&part, "message", error->message);
    if (part.failed || json_array_append_new(errors, part.object) != 0) {
      if (part.failed) json_decref(part.object);
      w->failed = true;
    }
  }
  put(w, "errors", errors);
}

static void put_roofline(writer *w, const kf_roofline *roofline) {
  writer part = writer_new();
  PUT_TEXT(&part, "class", roofline->bound);
  put_real(&part, "bytes_share", roofline->bytes_share);
  put_real(&part, "operations_share", roofline->operations_share);
  put_real(&part, "launch_share", roofline->launch_share);
  put_int(&part, "floor_ns", roofline->floor_ns);
  put_writer(w, "roofline", &part);
}

static void put_precision(writer *w, const kf_precision_result *precision) {
  writer part = writer_new();
  put(&part, "state", json_string(kf_precision_state_name(precision->state)));
  if (precision->state != KF_PRECISION_UNOBSERVABLE) {
    put_real(&part, "rms", precision->rms);
    put_real(&part, "limit", precision->limit);
  }
  put_writer(w, "precision", &part);
}

static void put_evidence(writer *w, const kf_evidence *evidence) {
  writer part = writer_new();
  PUT_TEXT(&part, "source", evidence->source);
  put_int(&part, "vector_width", evidence->vector_width);
  put_bool(&part, "staged_local", evidence->staged_local);
  put_int(&part, "accumulators", evidence->accumulators);
  put_bool(&part, "register_staging", evidence->register_staging);
  put_bool(&part, "async_or_prefetch", evidence->async_or_prefetch);
  put_int(&part, "launches", evidence->launches);
  put_int(&part, "sweeps", evidence->sweeps);
  put_bool(&part, "split_reduction", evidence->split_reduction);
  put_bool(&part, "barrier", evidence->barrier);
  put_bool(&part, "subgroup", evidence->subgroup);
  put_bool(&part, "global_atomic", evidence->global_atomic);
  put_bool(&part, "joined_launches", evidence->joined_launches);
  put_int(&part, "matrix", evidence->matrix);
  put_writer(w, "evidence", &part);
}

static void put_times(writer *w, const kf_verdict *verdict) {
  writer times = writer_new();
  put_int(&times, "median", verdict->time_ns);
  put_int(&times, "low", verdict->time_low_ns);
  put_int(&times, "high", verdict->time_high_ns);
  put_int(&times, "cold", verdict->time_ns);
  put_int(&times, "warm", verdict->warm_ns);
  put_writer(w, "time_ns", &times);
  writer stages = writer_new();
  put_int(&stages, "build", verdict->build_ms);
  put_int(&stages, "verify", verdict->verify_ms);
  put_int(&stages, "measure", verdict->measure_ms);
  put_int(&stages, "total", verdict->total_ms);
  put_writer(w, "stages_ms", &stages);
}

static void put_samples(writer *w, const kf_verdict *verdict) {
  if (verdict->nsamples == 0) return;
  put(w, "samples", kf__samples_to_json(verdict->samples, verdict->nsamples));
}

static void put_origin(writer *w, const kf_verdict *verdict) {
  writer trust = writer_new();
  PUT_TEXT(&trust, "tier", verdict->tier);
  PUT_TEXT(&trust, "enforced", verdict->enforced);
  put_writer(w, "trust", &trust);
  PUT_TEXT(w, "device", verdict->device);
  PUT_TEXT(w, "device_name", verdict->device_name);
  PUT_TEXT(w, "driver", verdict->driver);
  PUT_TEXT(w, "source_sha256", verdict->source_sha256);
  PUT_TEXT(w, "artefact_sha256", verdict->artefact_sha256);
  if (verdict->shared_with[0]) PUT_TEXT(w, "shared_with", verdict->shared_with);
  PUT_TEXT(w, "binding", verdict->binding);
}

kf_status kf_verdict_to_json(const kf_verdict *verdict, json_t **ret_json, kf_err *err) {
  if ((unsigned)verdict->kind >= KF_VERDICT_COUNT ||
      (unsigned)verdict->race.outcome >= KF_COUNTOF(outcome_names) ||
      (unsigned)verdict->precision.state >= KF_COUNTOF(precision_names) || verdict->ncases < 0 ||
      verdict->ncases > KF_VERDICT_CASES_MAX || verdict->nsamples < 0 || verdict->nsamples > KF_SAMPLES_MAX ||
      verdict->nerrors < 0 || verdict->nerrors > KF_VERDICT_ERRORS_MAX)
    return kf_fail(
        err, KF_EBUG, "verdict: kind %d, outcome %d, %d cases, %d samples or %d errors out of range",
        (int)verdict->kind, (int)verdict->race.outcome, verdict->ncases, verdict->nsamples, verdict->nerrors);
  writer w = writer_new();
  put(&w, "verdict", json_string(kf_verdict_name(verdict->kind)));
  put_int(&w, "stage", verdict->stage);
  put_bool(&w, "confirmed", verdict->confirmed);
  PUT_TEXT(&w, "oracle", verdict->oracle);
  put_origin(&w, verdict);
  if (verdict->diagnosis.kind[0] != '\0') put_diagnosis(&w, &verdict->diagnosis);
  if (verdict->nerrors > 0) put_errors(&w, verdict);
  if (verdict->race.outcome != KF_RACE_NONE) put_race(&w, &verdict->race);
  if (verdict->precision.state != KF_PRECISION_NONE) put_precision(&w, &verdict->precision);
  put_cases(&w, verdict);
  put_times(&w, verdict);
  if (verdict->roofline.bound[0] != '\0') put_roofline(&w, &verdict->roofline);
  put_samples(&w, verdict);
  if (verdict->evidence.known) put_evidence(&w, &verdict->evidence);
  char cell[KF_CELL_TEXT];
  kf_cell_text(&verdict->cell, cell);
  put(&w, "cell", json_string(cell));
  PUT_TEXT(&w, "log", verdict->log);
  writer next = writer_new();
  PUT_TEXT(&next, "why", verdict->next_why);
  PUT_TEXT(&next, "command", verdict->next_command);
  put_writer(&w, "next", &next);
  if (w.failed) {
    json_decref(w.object);
    return kf_nomem(err);
  }
  *ret_json = w.object;
  return KF_OK;
}

/* ---- reading ---- */

/* The value of an optional field: NULL when it is missing or null. */
static json_t *optional(const json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  return json_is_null(value) ? NULL : value;
}

static kf_status get_text(const json_t *object, const char *key, char *field, size_t room, kf_err *err) {
  json_t *value = optional(object, key);
  if (value == NULL) return KF_OK;
  if (!json_is_string(value)) return kf_fail(err, KF_EPROTO, "verdict: \"%s\": not a string", key);
  copy_cut(field, room, json_string_value(value));
  return KF_OK;
}
#define GET_TEXT(object, key, field) KF_TRY(get_text((object), (key), (field), sizeof(field), err))

static kf_status get_i64(const json_t *object, const char *key, int64_t *ret_value, kf_err *err) {
  json_t *value = optional(object, key);
  if (value == NULL) return KF_OK;
  if (!json_is_integer(value)) return kf_fail(err, KF_EPROTO, "verdict: \"%s\": not a whole number", key);
  *ret_value = json_integer_value(value);
  return KF_OK;
}

static kf_status get_count(const json_t *object, const char *key, int max, int *ret_value, kf_err *err) {
  int64_t value = *ret_value;
  KF_TRY(get_i64(object, key, &value, err));
  if (value < 0 || value > max)
    return kf_fail(err, KF_EPROTO, "verdict: \"%s\": %lld is not in 0..%d", key, (long long)value, max);
  *ret_value = (int)value;
  return KF_OK;
}

static kf_status get_bool(const json_t *object, const char *key, bool *ret_value, kf_err *err) {
  json_t *value = optional(object, key);
  if (value == NULL) return KF_OK;
  if (!json_is_boolean(value)) return kf_fail(err, KF_EPROTO, "verdict: \"%s\": not true or false", key);
  *ret_value = json_is_true(value);
  return KF_OK;
}

static kf_status get_real(const json_t *object, const char *key, double *ret_value, kf_err *err) {
  json_t *value = optional(object, key);
  if (value == NULL) return KF_OK;
  if (!json_is_number(value)) return kf_fail(err, KF_EPROTO, "verdict: \"%s\": not a number", key);
  *ret_value = json_number_value(value);
  return KF_OK;
}

/* An optional part: *ret_part is NULL when it is missing. */
static kf_status get_part(const json_t *object, const char *key, json_t **ret_part, kf_err *err) {
  json_t *value = optional(object, key);
  if (value != NULL && !json_is_object(value))
    return kf_fail(err, KF_EPROTO, "verdict: \"%s\": not an object", key);
  *ret_part = value;
  return KF_OK;
}

static kf_status read_kind(const json_t *json, kf_verdict *verdict, kf_err *err) {
  const char *name = NULL;
  KF_TRY(kf_json_str(json, "verdict", &name, err));
  if (!kf_verdict_parse(name, &verdict->kind))
    return kf_fail(err, KF_EPROTO, "verdict: \"verdict\": no such verdict: %.40s", name);
  return KF_OK;
}

static kf_status read_diagnosis(const json_t *json, kf_diagnosis *diagnosis, kf_err *err) {
  json_t *part = NULL;
  KF_TRY(get_part(json, "diagnosis", &part, err));
  if (part == NULL) return KF_OK;
  GET_TEXT(part, "kind", diagnosis->kind);
  GET_TEXT(part, "where", diagnosis->where);
  GET_TEXT(part, "text", diagnosis->text);
  GET_TEXT(part, "evidence", diagnosis->evidence);
  return KF_OK;
}

static kf_status read_precision(const json_t *json, kf_precision_result *precision, kf_err *err) {
  json_t *part = NULL;
  char name[16] = "none";
  KF_TRY(get_part(json, "precision", &part, err));
  if (part == NULL) return KF_OK;
  GET_TEXT(part, "state", name);
  for (size_t i = 0; i < KF_COUNTOF(precision_names); i++) {
    if (strcmp(name, precision_names[i]) != 0) continue;
    precision->state = (kf_precision_state)i;
    KF_TRY(get_real(part, "rms", &precision->rms, err));
    return get_real(part, "limit", &precision->limit, err);
  }
  return kf_fail(err, KF_EPROTO, "verdict: \"precision\": no such state: %s", name);
}

static kf_status read_outcome(const json_t *part, kf_race_outcome *ret_outcome, kf_err *err) {
  char name[16] = "";
  GET_TEXT(part, "outcome", name);
  if (name[0] == '\0') return KF_OK;
  for (size_t i = 0; i < KF_COUNTOF(outcome_names); i++) {
    if (strcmp(name, outcome_names[i]) != 0) continue;
    *ret_outcome = (kf_race_outcome)i;
    return KF_OK;
  }
  return kf_fail(err, KF_EPROTO, "verdict: \"outcome\": no such outcome: %s", name);
}

static kf_status read_race(const json_t *json, kf_race_result *race, kf_err *err) {
  json_t *part = NULL;
  KF_TRY(get_part(json, "speedup", &part, err));
  if (part == NULL) return KF_OK;
  KF_TRY(read_outcome(part, &race->outcome, err));
  GET_TEXT(part, "baseline", race->against);
  GET_TEXT(part, "baseline_binding", race->against_binding);
  KF_TRY(get_i64(part, "median_nano", &race->median_nano, err));
  KF_TRY(get_i64(part, "low_nano", &race->low_nano, err));
  KF_TRY(get_i64(part, "high_nano", &race->high_nano, err));
  KF_TRY(get_real(part, "level", &race->level, err));
  KF_TRY(get_count(part, "blocks", INT_MAX, &race->blocks, err));
  KF_TRY(get_count(part, "dropped", INT_MAX, &race->dropped, err));
  GET_TEXT(part, "why", race->why);
  return KF_OK;
}

static kf_status read_case(const json_t *json, kf_case_result *result, kf_err *err) {
  if (!json_is_object(json)) return kf_fail(err, KF_EPROTO, "verdict: \"cases\": an entry is not an object");
  GET_TEXT(json, "symbols", result->symbols);
  KF_TRY(get_bool(json, "measured", &result->measured, err));
  KF_TRY(get_bool(json, "right", &result->right, err));
  KF_TRY(get_i64(json, "time_ns", &result->time_ns, err));
  if (json_is_null(json_object_get(json, "worst"))) {
    result->worst = HUGE_VAL;
    return KF_OK;
  }
  return get_real(json, "worst", &result->worst, err);
}

static kf_status read_cases(const json_t *json, kf_verdict *verdict, kf_err *err) {
  json_t *cases = optional(json, "cases");
  if (cases == NULL) return KF_OK;
  if (!json_is_array(cases)) return kf_fail(err, KF_EPROTO, "verdict: \"cases\": not an array");
  size_t count = json_array_size(cases);
  if (count > KF_VERDICT_CASES_MAX)
    return kf_fail(err, KF_EPROTO, "verdict: \"cases\": %zu entries, at most %d", count,
                   KF_VERDICT_CASES_MAX);
  for (size_t i = 0; i < count; i++)
    KF_TRY(read_case(json_array_get(cases, i), &verdict->cases[i], err));
  verdict->ncases = (int)count;
  return KF_OK;
}

static kf_status read_error(const json_t *json, kf_compile_error *error, kf_err *err) {
  if (!json_is_object(json)) return kf_fail(err, KF_EPROTO, "verdict: \"errors\": an entry is not an object");
  GET_TEXT(json, "file", error->file);
  KF_TRY(get_count(json, "line", INT_MAX, &error->line, err));
  KF_TRY(get_count(json, "col", INT_MAX, &error->col, err));
  GET_TEXT(json, "severity", error->severity);
  GET_TEXT(json, "category", error->category);
  GET_TEXT(json, "message", error->message);
  return KF_OK;
}

/* More than fit are those after the first, which say less. */
static kf_status read_errors(const json_t *json, kf_verdict *verdict, kf_err *err) {
  json_t *errors = optional(json, "errors");
  if (errors == NULL) return KF_OK;
  if (!json_is_array(errors)) return kf_fail(err, KF_EPROTO, "verdict: \"errors\": not an array");
  for (size_t i = 0; i < json_array_size(errors) && verdict->nerrors < KF_VERDICT_ERRORS_MAX; i++)
    KF_TRY(read_error(json_array_get(errors, i), &verdict->errors[verdict->nerrors++], err));
  return KF_OK;
}

static kf_status read_roofline(const json_t *json, kf_roofline *roofline, kf_err *err) {
  json_t *part = NULL;
  KF_TRY(get_part(json, "roofline", &part, err));
  if (part == NULL) return KF_OK;
  GET_TEXT(part, "class", roofline->bound);
  KF_TRY(get_real(part, "bytes_share", &roofline->bytes_share, err));
  KF_TRY(get_real(part, "operations_share", &roofline->operations_share, err));
  KF_TRY(get_real(part, "launch_share", &roofline->launch_share, err));
  return get_i64(part, "floor_ns", &roofline->floor_ns, err);
}

static kf_status read_samples(const json_t *json, kf_verdict *verdict, kf_err *err) {
  json_t *part = NULL;
  KF_TRY(get_part(json, "samples", &part, err));
  return part ? kf__samples_from_json(part, verdict->samples, &verdict->nsamples, err) : KF_OK;
}

static kf_status read_evidence(const json_t *json, kf_evidence *evidence, kf_err *err) {
  json_t *part = NULL;
  KF_TRY(get_part(json, "evidence", &part, err));
  if (part == NULL) return KF_OK;
  evidence->known = true;
  GET_TEXT(part, "source", evidence->source);
  KF_TRY(get_count(part, "vector_width", INT_MAX, &evidence->vector_width, err));
  KF_TRY(get_bool(part, "staged_local", &evidence->staged_local, err));
  KF_TRY(get_count(part, "accumulators", INT_MAX, &evidence->accumulators, err));
  KF_TRY(get_bool(part, "register_staging", &evidence->register_staging, err));
  KF_TRY(get_bool(part, "async_or_prefetch", &evidence->async_or_prefetch, err));
  KF_TRY(get_count(part, "launches", INT_MAX, &evidence->launches, err));
  KF_TRY(get_count(part, "sweeps", INT_MAX, &evidence->sweeps, err));
  KF_TRY(get_bool(part, "split_reduction", &evidence->split_reduction, err));
  KF_TRY(get_bool(part, "barrier", &evidence->barrier, err));
  KF_TRY(get_bool(part, "subgroup", &evidence->subgroup, err));
  KF_TRY(get_bool(part, "global_atomic", &evidence->global_atomic, err));
  KF_TRY(get_bool(part, "joined_launches", &evidence->joined_launches, err));
  return get_count(part, "matrix", 3, &evidence->matrix, err);
}

static kf_status read_times(const json_t *json, kf_verdict *verdict, kf_err *err) {
  json_t *times = NULL, *stages = NULL;
  KF_TRY(get_part(json, "time_ns", &times, err));
  KF_TRY(get_part(json, "stages_ms", &stages, err));
  KF_TRY(get_i64(times, "median", &verdict->time_ns, err));
  KF_TRY(get_i64(times, "low", &verdict->time_low_ns, err));
  KF_TRY(get_i64(times, "high", &verdict->time_high_ns, err));
  KF_TRY(get_i64(times, "warm", &verdict->warm_ns, err));
  KF_TRY(get_i64(stages, "build", &verdict->build_ms, err));
  KF_TRY(get_i64(stages, "verify", &verdict->verify_ms, err));
  KF_TRY(get_i64(stages, "measure", &verdict->measure_ms, err));
  return get_i64(stages, "total", &verdict->total_ms, err);
}

static kf_status read_origin(const json_t *json, kf_verdict *verdict, kf_err *err) {
  json_t *trust = NULL;
  KF_TRY(get_part(json, "trust", &trust, err));
  GET_TEXT(trust, "tier", verdict->tier);
  GET_TEXT(trust, "enforced", verdict->enforced);
  GET_TEXT(json, "device", verdict->device);
  GET_TEXT(json, "device_name", verdict->device_name);
  GET_TEXT(json, "driver", verdict->driver);
  GET_TEXT(json, "source_sha256", verdict->source_sha256);
  GET_TEXT(json, "artefact_sha256", verdict->artefact_sha256);
  GET_TEXT(json, "shared_with", verdict->shared_with);
  GET_TEXT(json, "binding", verdict->binding);
  return KF_OK;
}

static kf_status read_rest(const json_t *json, kf_verdict *verdict, kf_err *err) {
  KF_TRY(get_count(json, "stage", 3, &verdict->stage, err));
  KF_TRY(get_bool(json, "confirmed", &verdict->confirmed, err));
  GET_TEXT(json, "oracle", verdict->oracle);
  GET_TEXT(json, "log", verdict->log);
  char cell[KF_CELL_TEXT + 1] =
      "unknown"; /* one more than fits: a longer text must not be cut into a valid one */
  GET_TEXT(json, "cell", cell);
  if (!kf_cell_parse(cell, &verdict->cell))
    return kf_fail(err, KF_EPROTO, "verdict: \"cell\": no cell: %s", cell);
  json_t *next = NULL;
  KF_TRY(get_part(json, "next", &next, err));
  GET_TEXT(next, "why", verdict->next_why);
  GET_TEXT(next, "command", verdict->next_command);
  return KF_OK;
}

kf_status kf_verdict_from_json(const json_t *json, kf_verdict *ret_verdict, kf_err *err) {
  if (!json_is_object(json)) return kf_fail(err, KF_EPROTO, "verdict: not an object");
  /* Too large for the stack of a small thread, and outputs must not change on failure. */
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  kf_verdict_init(verdict);
  KF_TRY(read_kind(json, verdict, err));
  KF_TRY(read_rest(json, verdict, err));
  KF_TRY(read_origin(json, verdict, err));
  KF_TRY(read_diagnosis(json, &verdict->diagnosis, err));
  KF_TRY(read_errors(json, verdict, err));
  KF_TRY(read_race(json, &verdict->race, err));
  KF_TRY(read_roofline(json, &verdict->roofline, err));
  KF_TRY(read_precision(json, &verdict->precision, err));
  KF_TRY(read_cases(json, verdict, err));
  KF_TRY(read_times(json, verdict, err));
  KF_TRY(read_samples(json, verdict, err));
  KF_TRY(read_evidence(json, &verdict->evidence, err));
  *ret_verdict = *verdict;
  return KF_OK;
}
