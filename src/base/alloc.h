/* alloc.h - the one door for memory. Tests make the Nth allocation fail through it (tests/fault/).
 * jansson and SQLite are pointed at the same door by kf_alloc_init(). Threads: safe, except the fault
 * settings. */
#ifndef KF_BASE_ALLOC_H
#define KF_BASE_ALLOC_H

#include "base/status.h"
#include <stddef.h>

/* Routes jansson through this door; call once, first thing in main and in tests. */
void kf_alloc_init(void);

/* All return NULL when memory is gone (or a test says so); size 0 gives a unique pointer. Memory is zeroed
 * by kf_calloc only. Count * size overflow gives NULL. */
void *kf_alloc(size_t size) __attribute__((malloc, warn_unused_result));
void *kf_calloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
void *kf_realloc(void *ptr, size_t size) __attribute__((warn_unused_result));
void *kf_reallocarray(void *ptr, size_t count, size_t size) __attribute__((warn_unused_result));
char *kf_strdup(const char *text) __attribute__((malloc, warn_unused_result));
/* At most `len` bytes, up to the first NUL. */
char *kf_strndup(const char *text, size_t len) __attribute__((malloc, warn_unused_result));
/* Those bytes whatever they are, NULs too, with a NUL one past the last. */
void *kf_memdup(const void *bytes, size_t len) __attribute__((malloc, warn_unused_result));
void kf_free(void *ptr);
void kf_freep(void *ptr_to_ptr); /* for KF_CLEANUP(kf_freep) on any pointer variable */

/* The failure every caller reports for a NULL from above. */
#define kf_nomem(err) kf_fail((err), KF_ENOMEM, "out of memory")

/* Fault injection. The allocation number `nth` (1-based, counted from this call) fails; with `forever` all
 * after it fail too. nth 0 switches it off. kf_alloc_count() is the number since the last kf_alloc_fail_at.
 */
void kf_alloc_fail_at(unsigned long nth, bool forever);
unsigned long kf_alloc_count(void);

#endif
