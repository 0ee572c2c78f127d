/* expected_pool.c - see expected_pool.h. */
#include "eval/expected_pool.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

static const int64_t GROW_NS = 60 * 1000 * 1000, SAVED_MAX_NS = INT64_C(10) * 1000 * 1000 * 1000,
                     BYTES_MAX = INT64_C(1) << 30;

struct kf_pool_line {
  int64_t symbols[KF_SYMBOLS_MAX];
  int family;
  int count; /* seeds in use so far; an item of them may have been dropped */
  kf_pool_item items[KF_POOL_SEEDS];
  int64_t bytes[KF_POOL_SEEDS];
  uint64_t round; /* of the last use */
  int index;      /* of the last use */
  int64_t make_ns;
  struct kf_pool_line *next;
};

void kf_pool_init(kf_pool *pool) {
  *pool = (kf_pool){.bytes_max = BYTES_MAX};
}

static void drop(kf_pool *pool, kf_pool_line *line, int index) {
  kf_expected_free(line->items[index].expected);
  kf_precision_free(line->items[index].precision);
  line->items[index] = (kf_pool_item){NULL, NULL};
  pool->bytes -= line->bytes[index];
  line->bytes[index] = 0;
}

void kf_pool_done(kf_pool *pool) {
  while (pool->lines) {
    kf_pool_line *line = pool->lines;
    for (int i = 0; i < line->count; i++)
      drop(pool, line, i);
    pool->lines = line->next;
    kf_free(line);
  }
}

void kf_pool_begin(kf_pool *pool) {
  pool->round++;
  pool->saved_ns += GROW_NS;
  if (pool->saved_ns > SAVED_MAX_NS) pool->saved_ns = SAVED_MAX_NS;
}

static kf_status find_line(kf_pool *pool, const kf_pool_key *key, kf_pool_line **ret_line, kf_err *err) {
  size_t bytes = sizeof(int64_t) * (size_t)key->nsymbols;
  for (kf_pool_line *line = pool->lines; line; line = line->next)
    if (line->family == key->family && memcmp(line->symbols, key->symbols, bytes) == 0) {
      *ret_line = line;
      return KF_OK;
    }
  kf_pool_line *line = kf_calloc(1, sizeof *line);
  if (!line) return kf_nomem(err);
  memcpy(line->symbols, key->symbols, bytes);
  line->family = key->family;
  line->next = pool->lines;
  pool->lines = line;
  *ret_line = line;
  return KF_OK;
}

static bool is_made(const kf_pool_line *line, int index) {
  return line->items[index].expected || line->items[index].precision;
}

static int64_t item_bytes(const kf_pool_item *item) {
  return item->expected ? item->expected->bytes : item->precision ? item->precision->bytes : 0;
}

/* Which seed this judgement gets. A new one where its making is paid for and there is room. */
static int choose(kf_pool *pool, kf_pool_line *line) {
  if (line->count == 0) return 0;
  if (line->round == pool->round) return line->index;
  bool room = pool->bytes + line->bytes[line->index] <= pool->bytes_max;
  if (line->count < KF_POOL_SEEDS && room && line->make_ns <= pool->saved_ns) {
    pool->saved_ns -= line->make_ns;
    return line->count;
  }
  return (int)(pool->round % (uint64_t)line->count);
}

/* Drops what the present judgement does not hold, the largest first, until the limit is kept. */
static void make_room(kf_pool *pool) {
  while (pool->bytes > pool->bytes_max) {
    kf_pool_line *largest = NULL;
    int at = 0;
    for (kf_pool_line *line = pool->lines; line; line = line->next)
      for (int i = 0; i < line->count; i++) {
        bool in_use = line->round == pool->round && line->index == i;
        if (in_use || !is_made(line, i)) continue;
        if (largest && line->bytes[i] <= largest->bytes[at]) continue;
        largest = line;
        at = i;
      }
    if (!largest) return;
    drop(pool, largest, at);
  }
}

kf_status kf_pool_get(kf_pool *pool, const kf_pool_key *key, kf_pool_make make, void *context,
                      const kf_pool_item **ret_item, bool *ret_made, kf_err *err) {
  kf_pool_line *line = NULL;
  KF_TRY(find_line(pool, key, &line, err));
  int index = choose(pool, line);
  *ret_made = !is_made(line, index);
  if (*ret_made) {
    int64_t begun = kf_now_ns();
    KF_TRY(make(context, key, index, &line->items[index], err));
    line->make_ns = kf_now_ns() - begun;
    line->bytes[index] = item_bytes(&line->items[index]);
    pool->bytes += line->bytes[index];
    if (index == line->count) line->count++;
  }
  line->round = pool->round;
  line->index = index;
  if (*ret_made) make_room(pool);
  *ret_item = &line->items[index];
  return KF_OK;
}
