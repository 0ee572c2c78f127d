/* evidence_wire.c - packs and unpacks what passes between the judge and the child that reads a source.
 *
 * JSON carries UTF-8 only and a source may hold any bytes: each byte travels as the character of that number
 * (U+0001 to U+00FF). A source with a NUL is refused: no compiler reads on behind it. */
#include "behavior/evidence_wire_int.h"

#include "base/alloc.h"

#include <limits.h>
#include <string.h>

/* ---- request ---- */

static kf_status bytes_to_text(const char *bytes, size_t len, kf_buf *text, kf_err *err) {
  for (size_t i = 0; i < len; i++) {
    unsigned char b = (unsigned char)bytes[i];
    char out[2] = {(char)(0xc0 | (b >> 6)), (char)(0x80 | (b & 0x3f))};
    if (b == 0) return kf_fail(err, KF_EINVAL, "source: byte %zu is NUL", i);
    KF_TRY(b < 0x80 ? kf_buf_append(text, &bytes[i], 1, err) : kf_buf_append(text, out, 2, err));
  }
  return KF_OK;
}

static char *text_to_bytes(kf_arena *arena, const char *text, size_t *ret_len) {
  char *bytes = kf_arena_alloc(arena, strlen(text) + 1), *to = bytes;
  if (!bytes) return NULL;
  for (const unsigned char *from = (const unsigned char *)text; *from; from++) {
    bool two = (from[0] & 0xe0) == 0xc0 && (from[1] & 0xc0) == 0x80;
    *to++ = (char)(two ? (from[0] << 6) | (from[1] & 0x3f) : from[0]);
    from += two;
  }
  *ret_len = (size_t)(to - bytes);
  return bytes;
}

static kf_status pack_step(const kf_step *step, json_t *list, kf_err *err) {
  json_t *args = json_array(), *row = NULL;
  if (!args) return kf_nomem(err);
  kf_status status = KF_OK;
  for (int i = 0; i < step->nargs && status == KF_OK; i++) {
    int buffer = step->args[i].kind == KF_STEP_ARG_BUFFER ? step->args[i].buffer : -1;
    if (json_array_append_new(args, json_integer(buffer)) != 0) status = kf_nomem(err);
  }
  if (status == KF_OK) status = kf_json_pack(&row, err, "{s:s, s:O}", "entry", step->entry, "args", args);
  json_decref(args);
  if (status == KF_OK && json_array_append_new(list, row) != 0) status = kf_nomem(err);
  return status;
}

static kf_status pack_calls(const kf_calls *calls, json_t *root, kf_err *err) {
  json_t *buffers = json_array(), *steps = json_array();
  kf_status status = buffers && steps ? KF_OK : kf_nomem(err);
  for (int i = 0; status == KF_OK && i < calls->nbuffers; i++) {
    int kind = calls->buffers[i].is_temp ? -1 : (int)calls->buffers[i].role;
    if (json_array_append_new(buffers, json_integer(kind)) != 0) status = kf_nomem(err);
  }
  for (int i = 0; status == KF_OK && i < calls->nsteps; i++)
    if (calls->steps[i].kind == KF_STEP_LAUNCH) status = pack_step(&calls->steps[i], steps, err);
  if (status == KF_OK &&
      (json_object_set(root, "buffers", buffers) != 0 || json_object_set(root, "steps", steps) != 0))
    status = kf_nomem(err);
  json_decref(buffers);
  json_decref(steps);
  return status;
}

static kf_status pack_entries(const kf_evidence_request *request, json_t *root, kf_err *err) {
  json_t *entries = json_array();
  if (!entries) return kf_nomem(err);
  for (int i = 0; i < request->nentries; i++)
    if (json_array_append_new(entries, json_string(request->entries[i])) != 0) {
      json_decref(entries);
      return kf_nomem(err);
    }
  return json_object_set_new(root, "entries", entries) == 0 ? KF_OK : kf_nomem(err);
}

kf_status kf__evidence_request_pack(const kf_evidence_request *request, kf_buf *buf, kf_err *err) {
  kf_buf source, options;
  kf_buf_init(&source, 2 * (size_t)KF_EVIDENCE_SOURCE_MAX);
  kf_buf_init(&options, 1 << 20);
  json_t *root = NULL;
  const char *plain = request->options ? request->options : "";
  kf_status status = KF_OK;
  if (request->source_len > KF_EVIDENCE_SOURCE_MAX)
    status = kf_fail(err, KF_EINVAL, "source: longer than %d bytes", KF_EVIDENCE_SOURCE_MAX);
  if (status == KF_OK) status = bytes_to_text(request->source, request->source_len, &source, err);
  if (status == KF_OK) status = bytes_to_text(plain, strlen(plain), &options, err);
  if (status == KF_OK)
    status = kf_json_pack(&root, err, "{s:s, s:s}", "source", kf_buf_text(&source), "options",
                          kf_buf_text(&options));
  if (status == KF_OK) status = pack_entries(request, root, err);
  if (status == KF_OK && request->calls) status = pack_calls(request->calls, root, err);
  if (status == KF_OK) status = kf_json_dump(root, buf, err);
  kf_json_freep(&root);
  kf_buf_done(&source);
  kf_buf_done(&options);
  return status;
}

/* ---- request, child's side ---- */

static kf_status unpack_bytes(const json_t *root, const char *key, kf_arena *arena, const char **ret_bytes,
                              size_t *ret_len, kf_err *err) {
  const char *text = NULL;
  KF_TRY(kf_json_str(root, key, &text, err));
  *ret_bytes = text_to_bytes(arena, text, ret_len);
  return *ret_bytes ? KF_OK : kf_nomem(err);
}

static kf_status unpack_entries(const json_t *root, kf_arena *arena, kf_evidence_request *request,
                                kf_err *err) {
  json_t *entries = NULL;
  KF_TRY(kf_json_arr(root, "entries", &entries, err));
  size_t count = json_array_size(entries);
  if (count > KF_EVIDENCE_STEPS_MAX) return kf_fail(err, KF_EPROTO, "evidence: %zu entries", count);
  const char **names = kf_arena_array(arena, count + 1, sizeof *names);
  if (!names) return kf_nomem(err);
  for (size_t i = 0; i < count; i++) {
    const char *name = json_string_value(json_array_get(entries, i));
    if (!name) return kf_fail(err, KF_EPROTO, "evidence: entry %zu is no string", i);
    names[i] = kf_arena_strdup(arena, name);
    if (!names[i]) return kf_nomem(err);
  }
  request->entries = names;
  request->nentries = (int)count;
  return KF_OK;
}

static kf_status unpack_step(const json_t *row, kf_step *step, kf_err *err) {
  const char *entry = NULL;
  json_t *args = NULL;
  KF_TRY(kf_json_str(row, "entry", &entry, err));
  KF_TRY(kf_json_arr(row, "args", &args, err));
  size_t count = json_array_size(args);
  if (count > KF_STEP_ARGS_MAX || strlen(entry) >= sizeof step->entry)
    return kf_fail(err, KF_EPROTO, "evidence: a launch is too long");
  step->kind = KF_STEP_LAUNCH;
  snprintf(step->entry, sizeof step->entry, "%s", entry);
  step->nargs = (int)count;
  for (size_t i = 0; i < count; i++) {
    json_int_t buffer = json_integer_value(json_array_get(args, i));
    bool is_buffer = buffer >= 0 && buffer < KF_ARGS_MAX + KF_TEMPS_MAX;
    step->args[i].kind = is_buffer ? KF_STEP_ARG_BUFFER : KF_STEP_ARG_BYTES;
    step->args[i].buffer = is_buffer ? (int)buffer : -1;
  }
  return KF_OK;
}

static kf_status unpack_calls(const json_t *root, kf_arena *arena, kf_evidence_request *request,
                              kf_err *err) {
  json_t *buffers = NULL, *steps = NULL;
  if (!json_object_get(root, "steps")) return KF_OK;
  KF_TRY(kf_json_arr(root, "buffers", &buffers, err));
  KF_TRY(kf_json_arr(root, "steps", &steps, err));
  size_t nbuffers = json_array_size(buffers), nsteps = json_array_size(steps);
  if (nbuffers > KF_ARGS_MAX + KF_TEMPS_MAX || nsteps > KF_EVIDENCE_STEPS_MAX)
    return kf_fail(err, KF_EPROTO, "evidence: %zu buffers, %zu launches", nbuffers, nsteps);
  kf_calls *calls = kf_arena_alloc(arena, sizeof *calls);
  if (!calls) return kf_nomem(err);
  calls->steps = kf_arena_array(arena, nsteps + 1, sizeof *calls->steps);
  if (!calls->steps) return kf_nomem(err);
  for (size_t i = 0; i < nbuffers; i++) {
    json_int_t kind = json_integer_value(json_array_get(buffers, i));
    calls->buffers[i].is_temp = kind < 0;
    calls->buffers[i].role = kind == KF_ROLE_IN || kind == KF_ROLE_INOUT ? (kf_role)kind : KF_ROLE_OUT;
  }
  for (size_t i = 0; i < nsteps; i++)
    KF_TRY(unpack_step(json_array_get(steps, i), &calls->steps[i], err));
  calls->nbuffers = (int)nbuffers;
  calls->nsteps = (int)nsteps;
  request->calls = calls;
  return KF_OK;
}

kf_status kf__evidence_request_unpack(const char *text, size_t len, kf_arena *arena,
                                      kf_evidence_request *ret_request, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *root = NULL;
  kf_evidence_request request = {0};
  size_t options_len = 0;
  KF_TRY(kf_json_parse(text, len, KF_EVIDENCE_REQUEST_MAX, "evidence request", &root, err));
  KF_TRY(unpack_bytes(root, "source", arena, &request.source, &request.source_len, err));
  KF_TRY(unpack_bytes(root, "options", arena, &request.options, &options_len, err));
  KF_TRY(unpack_entries(root, arena, &request, err));
  KF_TRY(unpack_calls(root, arena, &request, err));
  *ret_request = request;
  return KF_OK;
}

/* ---- answer ---- */

typedef struct {
  const char *key;
  size_t offset;
  int max; /* 0: boolean */
} field;

#define NUMBER(name, max)                                                                                    \
  { #name, offsetof(kf_evidence, name), max }
#define FLAG(name)                                                                                           \
  { #name, offsetof(kf_evidence, name), 0 }
static const field fields[] = {
    FLAG(known),
    NUMBER(vector_width, 16),
    FLAG(staged_local),
    NUMBER(accumulators, INT_MAX),
    FLAG(register_staging),
    FLAG(async_or_prefetch),
    NUMBER(launches, KF_EVIDENCE_STEPS_MAX),
    NUMBER(sweeps, INT_MAX),
    FLAG(split_reduction),
    FLAG(barrier),
    FLAG(subgroup),
    FLAG(global_atomic),
    FLAG(joined_launches),
    NUMBER(matrix, 3),
};

kf_status kf__evidence_answer_pack(const kf_evidence *evidence, const char *note, kf_buf *buf, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *root = json_object();
  if (!root) return kf_nomem(err);
  for (size_t i = 0; i < KF_COUNTOF(fields); i++) {
    const char *at = (const char *)evidence + fields[i].offset;
    int value = fields[i].max ? *(const int *)(const void *)at : *(const bool *)(const void *)at;
    if (json_object_set_new(root, fields[i].key, json_integer(value)) != 0) return kf_nomem(err);
  }
  /* a note that is no UTF-8 (a name from the source) is left out */
  json_t *text = json_string(note);
  if (text && json_object_set_new(root, "note", text) != 0) return kf_nomem(err);
  return kf_json_dump(root, buf, err);
}

kf_status kf__evidence_answer_unpack(const char *text, size_t len, kf_evidence *ret_evidence, kf_buf *note,
                                     kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *root = NULL;
  kf_evidence evidence = {0};
  KF_TRY(kf_json_parse(text, len, KF_EVIDENCE_ANSWER_MAX, "evidence", &root, err));
  for (size_t i = 0; i < KF_COUNTOF(fields); i++) {
    int64_t value = 0;
    KF_TRY(kf_json_int(root, fields[i].key, &value, err));
    if (value < 0 || value > (fields[i].max ? fields[i].max : 1))
      return kf_fail(err, KF_EPROTO, "evidence: %s is %lld", fields[i].key, (long long)value);
    char *at = (char *)&evidence + fields[i].offset;
    if (fields[i].max)
      *(int *)(void *)at = (int)value;
    else
      *(bool *)(void *)at = value != 0;
  }
  if (evidence.known) snprintf(evidence.source, sizeof evidence.source, "syntax");
  KF_TRY(kf_buf_puts(note, kf_json_str_or(root, "note", ""), err));
  *ret_evidence = evidence;
  return KF_OK;
}

/* ---- screen ---- */

static json_t *text_of(const char *text) {
  return kf_json_text(text, strlen(text));
}

kf_status kf__screen_pack(const kf_screen *screen, kf_buf *buf, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *root = NULL;
  const kf_diagnosis *d = &screen->diagnosis;
  KF_TRY(kf_json_pack(&root, err, "{s:i, s:o, s:o, s:o, s:o}", "screen", (int)screen->state, "kind",
                      text_of(d->kind), "where", text_of(d->where), "text", text_of(d->text), "line",
                      text_of(d->evidence)));
  return kf_json_dump(root, buf, err);
}

kf_status kf__screen_unpack(const char *text, size_t len, kf_screen *ret_screen, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *root = NULL;
  int64_t state = 0;
  KF_TRY(kf_json_parse(text, len, KF_EVIDENCE_ANSWER_MAX, "screen", &root, err));
  KF_TRY(kf_json_int(root, "screen", &state, err));
  if (state < KF_SCREEN_UNREAD || state > KF_SCREEN_UNREADABLE)
    return kf_fail(err, KF_EPROTO, "screen: state %lld", (long long)state);
  kf_screen screen = {.state = (kf_screen_state)state};
  kf_diagnosis *d = &screen.diagnosis;
  snprintf(d->kind, sizeof d->kind, "%s", kf_json_str_or(root, "kind", ""));
  snprintf(d->where, sizeof d->where, "%s", kf_json_str_or(root, "where", ""));
  snprintf(d->text, sizeof d->text, "%s", kf_json_str_or(root, "text", ""));
  snprintf(d->evidence, sizeof d->evidence, "%s", kf_json_str_or(root, "line", ""));
  bool says_why = d->kind[0] && d->text[0];
  if (screen.state >= KF_SCREEN_REFUSED && !says_why)
    return kf_fail(err, KF_EPROTO, "screen: refused without a reason");
  *ret_screen = screen;
  return KF_OK;
}
