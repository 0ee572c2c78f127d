/* twins.c - which artefacts hold the same code, and the verdicts of those judged; see twins.h. */
#include "eval/twins.h"

#include "base/alloc.h"

#include <string.h>

/* ---- what of an artefact is code ---- */

/* PoCL's program binary, version 9 (PoCL 3.1), little-endian: magic, hash of the device, version, number of
 * kernels, flags, build hash as text; then a group of files, of which program.bc is the only one; then the
 * kernels with their metadata and machine code. The artefact comes from a process in which foreign code ran:
 * every length is checked, and whatever does not fit is hashed whole. */
enum {
  POCL_VERSION = 9,
  VERSION_AT = 16,
  HASH_AT = 36,
  HASH_BYTES = 41, /* "HL/CBAM...", NUL-terminated */
  GROUP_AT = HASH_AT + HASH_BYTES,
};
static const char pocl_magic[8] = "poclbin";
static const char ir_path[] = "/program.bc";

static bool read_u32(const unsigned char *bytes, size_t len, size_t at, uint32_t *ret_value) {
  if (at > len || len - at < sizeof *ret_value) return false;
  memcpy(ret_value, bytes + at, sizeof *ret_value);
  return true;
}

/* Where the kernels of a PoCL binary begin; 0 if it is none of the layout known. */
static size_t pocl_kernels_at(const unsigned char *bytes, size_t len) {
  uint32_t version = 0, path_len = 0, content_len = 0;
  uint64_t group_len = 0;
  size_t at = GROUP_AT;
  if (len < GROUP_AT + sizeof group_len || memcmp(bytes, pocl_magic, sizeof pocl_magic) != 0) return 0;
  if (!read_u32(bytes, len, VERSION_AT, &version) || version != POCL_VERSION) return 0;
  if (memchr(bytes + HASH_AT, '\0', HASH_BYTES) != bytes + GROUP_AT - 1) return 0;
  memcpy(&group_len, bytes + at, sizeof group_len);
  at += sizeof group_len;
  if (!read_u32(bytes, len, at, &path_len) || path_len != sizeof ir_path - 1) return 0;
  at += sizeof path_len;
  if (len - at < path_len || memcmp(bytes + at, ir_path, path_len) != 0) return 0;
  at += path_len;
  if (!read_u32(bytes, len, at, &content_len)) return 0;
  at += sizeof content_len;
  if (len - at < content_len) return 0;
  at += content_len;
  return group_len == at - GROUP_AT - sizeof group_len ? at : 0;
}

void kf_twin_hash_artefact(const void *bytes, size_t len, kf_hash *ret_hash) {
  kf_hasher hasher;
  kf_hasher_init(&hasher);
  const unsigned char *from = bytes;
  size_t kernels = pocl_kernels_at(from, len);
  kf_hasher_add_text(&hasher, kernels ? "pocl kernels" : "whole");
  if (kernels) kf_hasher_add(&hasher, from, HASH_AT);
  kf_hasher_add(&hasher, from + kernels, len - kernels);
  kf_hasher_final(&hasher, ret_hash);
}

/* ---- what of the plans is launched ---- */

static void add_arg(kf_hasher *hasher, const kf_step_arg *arg) {
  kf_hasher_add(hasher, &arg->kind, sizeof arg->kind);
  kf_hasher_add(hasher, &arg->buffer, sizeof arg->buffer);
  kf_hasher_add(hasher, &arg->nbytes, sizeof arg->nbytes);
  kf_hasher_add(hasher, arg->bytes, arg->nbytes);
  kf_hasher_add(hasher, &arg->local_bytes, sizeof arg->local_bytes);
}

/* All but the line of the directive. */
static void add_step(kf_hasher *hasher, const kf_step *step) {
  kf_hasher_add(hasher, &step->kind, sizeof step->kind);
  kf_hasher_add_text(hasher, step->entry);
  kf_hasher_add(hasher, step->global, sizeof step->global);
  kf_hasher_add(hasher, step->local, sizeof step->local);
  kf_hasher_add(hasher, &step->shared, sizeof step->shared);
  kf_hasher_add(hasher, &step->nargs, sizeof step->nargs);
  for (int i = 0; i < step->nargs; i++)
    add_arg(hasher, &step->args[i]);
  kf_hasher_add(hasher, &step->buffer, sizeof step->buffer);
  kf_hasher_add(hasher, &step->npattern, sizeof step->npattern);
  kf_hasher_add(hasher, step->pattern, sizeof step->pattern);
}

static void add_calls(kf_hasher *hasher, const kf_calls *calls) {
  kf_hasher_add(hasher, &calls->nbuffers, sizeof calls->nbuffers);
  for (int i = 0; i < calls->nbuffers; i++) {
    const kf_buffer_spec *spec = &calls->buffers[i];
    kf_hasher_add(hasher, &spec->role, sizeof spec->role);
    kf_hasher_add(hasher, &spec->is_temp, sizeof spec->is_temp);
    kf_hasher_add(hasher, &spec->type, sizeof spec->type);
    kf_hasher_add(hasher, &spec->bytes, sizeof spec->bytes);
    kf_hasher_add(hasher, &spec->arg, sizeof spec->arg);
  }
  kf_hasher_add(hasher, &calls->nsteps, sizeof calls->nsteps);
  for (int i = 0; i < calls->nsteps; i++)
    add_step(hasher, &calls->steps[i]);
}

/* False where there is no plan: what is launched is then not known. */
static bool add_cases(kf_hasher *hasher, kf_calls *const *calls, int count) {
  for (int i = 0; i < count; i++) {
    if (!calls[i]) return false;
    add_calls(hasher, calls[i]);
  }
  return true;
}

bool kf_twin_code(const kf_artefact *artefact, kf_hash *ret_code) {
  kf_hasher hasher;
  kf_hash content;
  if (artefact->state != KF_ARTEFACT_READY || artefact->failed || !artefact->outcome.artefact) return false;
  kf_twin_hash_artefact(artefact->outcome.artefact, artefact->outcome.artefact_len, &content);
  kf_hasher_init(&hasher);
  kf_hasher_add(&hasher, content.bytes, sizeof content.bytes);
  kf_hasher_add(&hasher, artefact->task->id.bytes, sizeof artefact->task->id.bytes);
  kf_hasher_add_text(&hasher, artefact->device->id);
  if (!add_cases(&hasher, artefact->check, artefact->task->ncheck) ||
      !add_cases(&hasher, artefact->measure, artefact->task->nmeasure))
    return false;
  kf_hasher_final(&hasher, ret_code);
  return true;
}

/* ---- verdicts ---- */

static bool is_own(const kf_twin *twin, const kf_artefact *artefact) {
  return strcmp(twin->source_sha256, artefact->source_sha256) == 0 &&
         strcmp(twin->binding, artefact->binding_text) == 0;
}

const kf_verdict *kf_twins_find(const kf_twins *twins, const kf_hash *key, const kf_artefact *artefact) {
  const kf_verdict *found = NULL;
  for (int i = 0; i < KF_TWINS_MAX; i++) {
    const kf_twin *twin = &twins->items[i];
    if (!twin->verdict || !kf_hash_equal(&twin->key, key)) continue;
    if (is_own(twin, artefact)) return NULL;
    found = twin->verdict;
  }
  return found;
}

static bool is_of_the_code(const kf_verdict *verdict) {
  return verdict->kind != KF_VERDICT_SLOW && verdict->kind != KF_VERDICT_UNSTABLE &&
         verdict->kind != KF_VERDICT_TIMED_OUT;
}

kf_status kf_twins_add(kf_twins *twins, const kf_hash *key, const kf_artefact *artefact,
                       const kf_verdict *verdict, kf_err *err) {
  if (!is_of_the_code(verdict)) return KF_OK;
  kf_verdict *copy = kf_memdup(verdict, sizeof *verdict);
  if (!copy) return kf_nomem(err);
  kf_twin *twin = &twins->items[twins->next];
  twins->next = (twins->next + 1) % KF_TWINS_MAX;
  kf_free(twin->verdict);
  twin->verdict = copy;
  twin->key = *key;
  snprintf(twin->source_sha256, sizeof twin->source_sha256, "%s", artefact->source_sha256);
  snprintf(twin->binding, sizeof twin->binding, "%s", artefact->binding_text);
  return KF_OK;
}

void kf_twins_done(kf_twins *twins) {
  for (int i = 0; i < KF_TWINS_MAX; i++)
    kf_free(twins->items[i].verdict);
  memset(twins, 0, sizeof *twins);
}
