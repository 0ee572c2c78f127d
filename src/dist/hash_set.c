/* hash_set.c - open addressing over hashes, which are uniform already. */
#include "base/alloc.h"
#include "dist/dist_int.h"

#include "base/banned.h"

enum { ROOM_FIRST = 256, ROOM_MAX = 1 << 17 };

static size_t slot_of(const kf__hash_set *set, const kf_hash *hash) {
  size_t at = 0;
  memcpy(&at, hash->bytes, sizeof at);
  for (at &= set->room - 1; set->used[at] && !kf_hash_equal(&set->slots[at], hash);
       at = (at + 1) & (set->room - 1)) {
  }
  return at;
}

bool kf__hash_set_has(const kf__hash_set *set, const kf_hash *hash) {
  return set->room > 0 && set->used[slot_of(set, hash)];
}

static void put(kf__hash_set *set, const kf_hash *hash) {
  size_t at = slot_of(set, hash);
  if (!set->used[at]) set->count++;
  set->used[at] = true;
  set->slots[at] = *hash;
}

static kf_status grow(kf__hash_set *set, kf_err *err) {
  kf__hash_set bigger = {.room = set->room ? set->room * 2 : ROOM_FIRST};
  bigger.slots = kf_calloc(bigger.room, sizeof *bigger.slots);
  bigger.used = kf_calloc(bigger.room, sizeof *bigger.used);
  if (!bigger.slots || !bigger.used) {
    kf__hash_set_done(&bigger);
    return kf_nomem(err);
  }
  for (size_t i = 0; i < set->room; i++)
    if (set->used[i]) put(&bigger, &set->slots[i]);
  kf__hash_set_done(set);
  *set = bigger;
  return KF_OK;
}

kf_status kf__hash_set_add(kf__hash_set *set, const kf_hash *hash, kf_err *err) {
  if (set->count * 2 >= set->room) {
    if (set->room >= ROOM_MAX) {
      memset(set->used, 0, set->room * sizeof *set->used);
      set->count = 0;
    } else {
      KF_TRY(grow(set, err));
    }
  }
  put(set, hash);
  return KF_OK;
}

void kf__hash_set_done(kf__hash_set *set) {
  kf_free(set->slots);
  kf_free(set->used);
  *set = (kf__hash_set){0};
}
