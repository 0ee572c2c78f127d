/* blobs.c - bytes by hash; see blobs.h. */
#include "eval/blobs.h"

#include <string.h>

/* The hash is uniform already: its first bytes are the slot. */
static kf_blob *slot_of(const kf_blobs *blobs, const kf_hash *hash) {
  uint64_t start;
  memcpy(&start, hash->bytes, sizeof start);
  for (size_t i = 0;; i++) {
    kf_blob *slot = &blobs->slots[(start + i) & (blobs->room - 1)];
    if (!slot->bytes || kf_hash_equal(&slot->hash, hash)) return slot;
  }
}

static kf_status grow(kf_blobs *blobs, kf_err *err) {
  kf_blobs bigger = {
      .room = blobs->room ? blobs->room * 2 : 64, .count = blobs->count, .total = blobs->total};
  bigger.slots = kf_calloc(bigger.room, sizeof *bigger.slots);
  if (!bigger.slots) return kf_nomem(err);
  for (size_t i = 0; i < blobs->room; i++)
    if (blobs->slots[i].bytes) *slot_of(&bigger, &blobs->slots[i].hash) = blobs->slots[i];
  kf_free(blobs->slots);
  *blobs = bigger;
  return KF_OK;
}

kf_status kf_blobs_put(kf_blobs *blobs, const char *bytes, size_t len, kf_err *err) {
  kf_hash hash;
  kf_hash_bytes(bytes, len, &hash);
  if (blobs->room && slot_of(blobs, &hash)->bytes) return KF_OK;
  if (blobs->total + len > KF_BLOBS_TOTAL_MAX)
    return kf_fail(err, KF_EINVAL, "this session holds %zu bytes of blobs already", blobs->total);
  if (blobs->count * 2 >= blobs->room) KF_TRY(grow(blobs, err));
  char *copy = kf_alloc(len + 1);
  if (!copy) return kf_nomem(err);
  memcpy(copy, bytes, len);
  copy[len] = '\0';
  *slot_of(blobs, &hash) = (kf_blob){.hash = hash, .bytes = copy, .len = len};
  blobs->count++;
  blobs->total += len;
  return KF_OK;
}

const kf_blob *kf_blobs_find(const kf_blobs *blobs, const kf_hash *hash) {
  if (!blobs->room) return NULL;
  const kf_blob *slot = slot_of(blobs, hash);
  return slot->bytes ? slot : NULL;
}

void kf_blobs_done(kf_blobs *blobs) {
  for (size_t i = 0; i < blobs->room; i++)
    kf_free(blobs->slots[i].bytes);
  kf_free(blobs->slots);
  memset(blobs, 0, sizeof *blobs);
}
