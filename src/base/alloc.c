/* alloc.c - malloc behind one counter, so that a test can make any single allocation fail. */
#include "base/alloc.h"

#include "base/json_alloc.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static atomic_ulong alloc_count;
static atomic_ulong fail_nth; /* 0: off */
static atomic_bool fail_forever;

void kf_alloc_init(void) {
  kf__json_route_alloc();
}

/* Counts one allocation; false when it has to fail. */
static bool admit(size_t size) {
  unsigned long number = atomic_fetch_add_explicit(&alloc_count, 1, memory_order_relaxed) + 1;
  unsigned long nth = atomic_load_explicit(&fail_nth, memory_order_relaxed);
  if (nth != 0 && (number == nth || (number > nth && atomic_load(&fail_forever)))) return false;
  return size <= PTRDIFF_MAX;
}

void *kf_alloc(size_t size) {
  if (!admit(size)) return NULL;
  return malloc(size != 0 ? size : 1);
}

void *kf_calloc(size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total) || !admit(total)) return NULL;
  return calloc(1, total != 0 ? total : 1);
}

void *kf_realloc(void *ptr, size_t size) {
  if (!admit(size)) return NULL;
  return realloc(ptr, size != 0 ? size : 1);
}

void *kf_reallocarray(void *ptr, size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) return NULL;
  return kf_realloc(ptr, total);
}

char *kf_strdup(const char *text) {
  return kf_strndup(text, strlen(text));
}

char *kf_strndup(const char *text, size_t len) {
  return kf_memdup(text, strnlen(text, len));
}

void *kf_memdup(const void *bytes, size_t len) {
  char *copy = len < SIZE_MAX ? kf_alloc(len + 1) : NULL;
  if (copy == NULL) return NULL;
  if (len > 0) memcpy(copy, bytes, len);
  copy[len] = '\0';
  return copy;
}

void kf_free(void *ptr) {
  free(ptr);
}

void kf_freep(void *ptr_to_ptr) {
  /* Copied as bytes: the variable has some other pointer type than void *. */
  void *ptr;
  memcpy(&ptr, ptr_to_ptr, sizeof ptr);
  kf_free(ptr);
  memset(ptr_to_ptr, 0, sizeof ptr);
}

void kf_alloc_fail_at(unsigned long nth, bool forever) {
  atomic_store(&fail_nth, 0);
  atomic_store(&alloc_count, 0);
  atomic_store(&fail_forever, forever);
  atomic_store(&fail_nth, nth);
}

unsigned long kf_alloc_count(void) {
  return atomic_load(&alloc_count);
}
