/* arena.h - memory with one lifetime: everything of a task, plan or candidate, freed together. */
#ifndef KF_BASE_ARENA_H
#define KF_BASE_ARENA_H

#include <stddef.h>

typedef struct kf_arena_block kf_arena_block;
typedef struct {
  kf_arena_block *head;
} kf_arena; /* zero-initialised is valid and empty */

void *kf_arena_alloc(kf_arena *arena, size_t size); /* zeroed, 16-byte aligned; NULL when memory is gone */
void *kf_arena_array(kf_arena *arena, size_t count, size_t size); /* overflow-checked */
char *kf_arena_strdup(kf_arena *arena, const char *text);
char *kf_arena_strndup(kf_arena *arena, const char *text, size_t len);
void kf_arena_done(kf_arena *arena);

#endif
