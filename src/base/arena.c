/* arena.c - a list of zeroed blocks; small requests share one, large ones get their own. */
#include "base/arena.h"

#include "base/alloc.h"
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/banned.h"

enum { BLOCK_SIZE = 4096 - 64, ALIGNMENT = 16 };

struct kf_arena_block {
  alignas(ALIGNMENT) struct kf_arena_block *next;
  size_t used, size; /* of bytes */
  alignas(ALIGNMENT) unsigned char bytes[];
};

static kf_arena_block *block_new(size_t size) {
  if (size > PTRDIFF_MAX - sizeof(kf_arena_block)) return NULL;
  kf_arena_block *block = kf_calloc(1, sizeof *block + size);
  if (block != NULL) block->size = size;
  return block;
}

void *kf_arena_alloc(kf_arena *arena, size_t size) {
  if (size > PTRDIFF_MAX - ALIGNMENT) return NULL;
  size = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  kf_arena_block *head = arena->head;
  if (head == NULL || head->size - head->used < size) {
    kf_arena_block *block = block_new(size > BLOCK_SIZE ? size : BLOCK_SIZE);
    if (block == NULL) return NULL;
    if (head != NULL && size > BLOCK_SIZE) {
      /* A full block goes behind the head, whose rest stays in use. */
      block->next = head->next;
      head->next = block;
    } else {
      block->next = head;
      arena->head = block;
    }
    head = block;
  }
  void *ptr = head->bytes + head->used;
  head->used += size;
  return ptr;
}

void *kf_arena_array(kf_arena *arena, size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) return NULL;
  return kf_arena_alloc(arena, total);
}

char *kf_arena_strdup(kf_arena *arena, const char *text) {
  return kf_arena_strndup(arena, text, strlen(text));
}

char *kf_arena_strndup(kf_arena *arena, const char *text, size_t len) {
  len = strnlen(text, len);
  char *copy = kf_arena_alloc(arena, len + 1);
  if (copy != NULL) memcpy(copy, text, len);
  return copy;
}

void kf_arena_done(kf_arena *arena) {
  kf_arena_block *next;
  for (kf_arena_block *block = arena->head; block != NULL; block = next) {
    next = block->next;
    kf_free(block);
  }
  arena->head = NULL;
}
