/* verdict_samples.c - the samples of a verdict as JSON: rows of numbers under named columns, since there may
 * be a hundred (docs/formats/verdict.md). */
#include "wire/verdict_int.h"

#include <limits.h>
#include <string.h>

#include "base/banned.h"

static const char *const drop_names[] = {[KF_DROP_NO] = "",
                                         [KF_DROP_WAITED] = "waited",
                                         [KF_DROP_STOLEN] = "stolen",
                                         [KF_DROP_FREQUENCY] = "frequency"};

const char *kf_sample_drop_name(kf_sample_drop drop) {
  return (unsigned)drop < KF_COUNTOF(drop_names) ? drop_names[drop] : "unknown";
}

/* Names of the columns of a sample's row, so that the rows can be short. */
static const char *const sample_columns[] = {
    "process", "block", "first",        "dropped",     "waited_ns",          "switches",         "stolen_ns",
    "span_ns", "mhz",   "candidate_ns", "opponent_ns", "candidate_child_ns", "opponent_child_ns"};

static json_t *values_json(const kf_sample *sample, int side, bool child) {
  json_t *list = json_array();
  for (int c = 0; list && c < sample->ncases; c++) {
    const kf_sample_value *value = &sample->value[side][c];
    if (json_array_append_new(list, json_integer(child ? value->child_ns : value->wall_ns)) == 0) continue;
    json_decref(list);
    return NULL;
  }
  return list;
}

static json_t *sample_json(const kf_sample *s) {
  return json_pack("[i,i,s,s,[I,I],[I,I],I,I,I,o,o,o,o]", s->process, s->block,
                   s->candidate_first ? "candidate" : "opponent", kf_sample_drop_name(s->drop),
                   (json_int_t)s->waited_ns[0], (json_int_t)s->waited_ns[1], (json_int_t)s->switches[0],
                   (json_int_t)s->switches[1], (json_int_t)s->stolen_ns, (json_int_t)s->span_ns,
                   (json_int_t)s->mhz, values_json(s, 0, false), values_json(s, 1, false),
                   values_json(s, 0, true), values_json(s, 1, true));
}

json_t *kf__samples_to_json(const kf_sample *samples, int count) {
  json_t *columns = json_array(), *rows = json_array();
  bool failed = columns == NULL || rows == NULL;
  for (size_t i = 0; i < KF_COUNTOF(sample_columns) && !failed; i++)
    failed = json_array_append_new(columns, json_string(sample_columns[i])) != 0;
  for (int i = 0; i < count && !failed; i++)
    failed = json_array_append_new(rows, sample_json(&samples[i])) != 0;
  json_t *json = failed ? NULL : json_pack("{s:O,s:O}", "columns", columns, "rows", rows);
  json_decref(columns);
  json_decref(rows);
  return json;
}

/* ---- reading ---- */

static kf_status bad_sample(kf_err *err) {
  return kf_fail(err, KF_EPROTO, "verdict: \"samples\": a row that is none");
}

static kf_status read_pair(const json_t *row, size_t at, int64_t ret_pair[2], kf_err *err) {
  const json_t *pair = json_array_get(row, at);
  for (size_t i = 0; i < 2; i++) {
    if (!json_is_integer(json_array_get(pair, i))) return bad_sample(err);
    ret_pair[i] = json_integer_value(json_array_get(pair, i));
  }
  return KF_OK;
}

/* The four lists have one value for each case. */
static kf_status read_values(const json_t *row, kf_sample *sample, kf_err *err) {
  enum { FIRST_LIST = 9, LISTS = 4 };
  size_t count = json_array_size(json_array_get(row, FIRST_LIST));
  if (count > KF_SAMPLE_CASES_MAX) return bad_sample(err);
  for (size_t list = 0; list < LISTS; list++) {
    const json_t *values = json_array_get(row, FIRST_LIST + list);
    if (!json_is_array(values) || json_array_size(values) != count) return bad_sample(err);
    for (size_t c = 0; c < count; c++) {
      if (!json_is_integer(json_array_get(values, c))) return bad_sample(err);
      kf_sample_value *value = &sample->value[list % 2][c];
      *(list < 2 ? &value->wall_ns : &value->child_ns) = json_integer_value(json_array_get(values, c));
    }
  }
  sample->ncases = (int)count;
  return KF_OK;
}

static kf_status read_sample(const json_t *row, kf_sample *ret_sample, kf_err *err) {
  kf_sample sample = {0};
  json_int_t process = 0, block = 0, stolen = 0, span = 0, mhz = 0;
  const char *first = NULL, *drop = NULL;
  if (json_unpack((json_t *)(uintptr_t)row, "[I,I,s,s,o,o,I,I,I,o,o,o,o]", &process, &block, &first, &drop,
                  &(json_t *){NULL}, &(json_t *){NULL}, &stolen, &span, &mhz, &(json_t *){NULL},
                  &(json_t *){NULL}, &(json_t *){NULL}, &(json_t *){NULL}) != 0)
    return bad_sample(err);
  size_t reason = 0;
  while (reason < KF_COUNTOF(drop_names) && strcmp(drop, drop_names[reason]) != 0)
    reason++;
  if (process < 0 || process > KF_SAMPLES_MAX || block < 0 || block > INT_MAX ||
      reason == KF_COUNTOF(drop_names))
    return bad_sample(err);
  sample.process = (int)process;
  sample.block = (int)block;
  sample.candidate_first = strcmp(first, "candidate") == 0;
  sample.drop = (kf_sample_drop)reason;
  sample.stolen_ns = stolen;
  sample.span_ns = span;
  sample.mhz = mhz;
  KF_TRY(read_pair(row, 4, sample.waited_ns, err));
  KF_TRY(read_pair(row, 5, sample.switches, err));
  KF_TRY(read_values(row, &sample, err));
  *ret_sample = sample;
  return KF_OK;
}

kf_status kf__samples_from_json(const json_t *json, kf_sample ret_samples[KF_SAMPLES_MAX], int *ret_count,
                                kf_err *err) {
  const json_t *rows = json_object_get(json, "rows");
  if (rows == NULL || json_is_null(rows)) return KF_OK;
  if (!json_is_array(rows) || json_array_size(rows) > KF_SAMPLES_MAX)
    return kf_fail(err, KF_EPROTO, "verdict: \"samples\": not a list of at most %d rows", KF_SAMPLES_MAX);
  for (size_t i = 0; i < json_array_size(rows); i++)
    KF_TRY(read_sample(json_array_get(rows, i), &ret_samples[i], err));
  *ret_count = (int)json_array_size(rows);
  return KF_OK;
}
