/* engine_table.c - candidates by id, interned sources and bindings, and the set of normalised hashes. Open
 * addressing over item numbers: no key is stored twice, nothing is ever taken out. */
#include "run/engine_int.h"

#include "base/alloc.h"
#include <string.h>

#include "base/banned.h"

typedef struct {
  uint64_t (*hash_of)(const kf_engine *engine, uint32_t item);
  bool (*is)(const kf_engine *engine, uint32_t item, const void *key);
} index_kind;

static uint64_t first_bytes(const kf_hash *hash) {
  uint64_t value;
  memcpy(&value, hash->bytes, sizeof value);
  return value;
}

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t text_hash(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; text++)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

static uint64_t norm_hash(const kf_engine *engine, uint32_t item) {
  return first_bytes(&engine->candidates.items[item].norm);
}

static bool norm_is(const kf_engine *engine, uint32_t item, const void *key) {
  return kf_hash_equal(&engine->candidates.items[item].norm, key);
}

static uint64_t source_hash(const kf_engine *engine, uint32_t item) {
  return first_bytes(&engine->sources.items[item]);
}

static bool source_is(const kf_engine *engine, uint32_t item, const void *key) {
  return kf_hash_equal(&engine->sources.items[item], key);
}

static uint64_t binding_hash(const kf_engine *engine, uint32_t item) {
  return text_hash(engine->bindings.items[item]);
}

static bool binding_is(const kf_engine *engine, uint32_t item, const void *key) {
  return strcmp(engine->bindings.items[item], key) == 0;
}

static const index_kind norm_kind = {norm_hash, norm_is};
static const index_kind source_kind = {source_hash, source_is};
static const index_kind binding_kind = {binding_hash, binding_is};

/* The slot that holds the key, or the free one where it belongs; NULL only for an index without memory. */
static uint32_t *find_slot(const kf_engine *engine, const kf_index *index, const index_kind *kind,
                           uint64_t hash, const void *key) {
  if (index->room == 0) return NULL;
  size_t at = hash & (index->room - 1);
  while (index->slots[at] != 0 && !kind->is(engine, index->slots[at] - 1, key))
    at = (at + 1) & (index->room - 1);
  return &index->slots[at];
}

static kf_status make_room(const kf_engine *engine, kf_index *index, const index_kind *kind, kf_err *err) {
  if (3 * (index->used + 1) < 2 * index->room) return KF_OK;
  size_t room = index->room == 0 ? 64 : 2 * index->room;
  uint32_t *slots = kf_calloc(room, sizeof *slots);
  if (slots == NULL) return kf_nomem(err);
  for (size_t i = 0; i < index->room; i++) {
    if (index->slots[i] == 0) continue;
    size_t at = kind->hash_of(engine, index->slots[i] - 1) & (room - 1);
    while (slots[at] != 0)
      at = (at + 1) & (room - 1);
    slots[at] = index->slots[i];
  }
  kf_free(index->slots);
  index->slots = slots;
  index->room = room;
  return KF_OK;
}

kf_record *kf__engine_record(const kf_engine *engine, int64_t id) {
  if (id < 1 || (uint64_t)id > engine->candidates.count) return NULL;
  return &engine->candidates.items[id - 1];
}

int64_t kf__engine_known(const kf_engine *engine, const kf_hash *norm) {
  const uint32_t *slot = find_slot(engine, &engine->by_norm, &norm_kind, first_bytes(norm), norm);
  if (slot == NULL || *slot == 0) return 0;
  if (engine->candidates.items[*slot - 1].flags & KF_FLAG_ABANDONED) return 0;
  return *slot;
}

kf_status kf__engine_learn_norm(kf_engine *engine, int64_t id, kf_err *err) {
  KF_TRY(make_room(engine, &engine->by_norm, &norm_kind, err));
  const kf_hash *norm = &engine->candidates.items[id - 1].norm;
  uint32_t *slot = find_slot(engine, &engine->by_norm, &norm_kind, first_bytes(norm), norm);
  if (*slot == 0) engine->by_norm.used++;
  *slot = (uint32_t)id; /* in place of an abandoned one */
  return KF_OK;
}

/* Interned texts are numbered from 1; 0 means none. */
kf_status kf__engine_intern_source(kf_engine *engine, const kf_hash *hash, uint32_t *ret_index, kf_err *err) {
  KF_TRY(make_room(engine, &engine->by_source, &source_kind, err));
  uint32_t *slot = find_slot(engine, &engine->by_source, &source_kind, first_bytes(hash), hash);
  if (*slot == 0) {
    if (kf_vec_push(&engine->sources, *hash) != KF_OK) return kf_nomem(err);
    *slot = (uint32_t)engine->sources.count;
    engine->by_source.used++;
  }
  *ret_index = *slot;
  return KF_OK;
}

kf_status kf__engine_intern_binding(kf_engine *engine, const char *text, uint32_t *ret_index, kf_err *err) {
  if (text[0] == '\0') {
    *ret_index = 0;
    return KF_OK;
  }
  KF_TRY(make_room(engine, &engine->by_binding, &binding_kind, err));
  uint32_t *slot = find_slot(engine, &engine->by_binding, &binding_kind, text_hash(text), text);
  if (*slot == 0) {
    const char *copy = kf_arena_strdup(&engine->texts, text);
    if (copy == NULL || kf_vec_push(&engine->bindings, copy) != KF_OK) return kf_nomem(err);
    *slot = (uint32_t)engine->bindings.count;
    engine->by_binding.used++;
  }
  *ret_index = *slot;
  return KF_OK;
}

const kf_hash *kf__engine_source(const kf_engine *engine, const kf_record *record) {
  return record->source == 0 ? NULL : &engine->sources.items[record->source - 1];
}

const char *kf__engine_binding(const kf_engine *engine, const kf_record *record) {
  return record->binding == 0 ? "" : engine->bindings.items[record->binding - 1];
}

void kf__engine_tables_done(kf_engine *engine) {
  kf_vec_done(&engine->candidates);
  kf_vec_done(&engine->sources);
  kf_vec_done(&engine->bindings);
  kf_vec_done(&engine->correct);
  kf_vec_done(&engine->asks);
  kf_vec_done(&engine->open);
  kf_vec_done(&engine->anchors);
  kf_free(engine->by_norm.slots);
  kf_free(engine->by_source.slots);
  kf_free(engine->by_binding.slots);
  kf_arena_done(&engine->texts);
}
