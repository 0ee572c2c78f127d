/* json_alloc.c - jansson's allocator hooks; see json_alloc.h for the reserve. */
#include "base/json_alloc.h"

#include "base/alloc.h"
#include <jansson.h>

#include "base/banned.h"

static _Thread_local unsigned long failures;
static _Thread_local char *reserve; /* NULL outside a parse */
static _Thread_local size_t reserve_size;
static _Thread_local bool reserve_used;

static void *json_malloc_hook(size_t size) {
  void *ptr = kf_alloc(size);
  if (ptr != NULL) return ptr;
  failures++;
  if (reserve == NULL || reserve_used || size > reserve_size) return NULL;
  reserve_used = true;
  return reserve;
}

static void json_free_hook(void *ptr) {
  if (reserve != NULL && ptr == reserve) return;
  kf_free(ptr);
}

void kf__json_route_alloc(void) {
  json_set_alloc_funcs(json_malloc_hook, json_free_hook);
  /* Now, so that no sandboxed or threaded part has to open the system's generator later. */
  json_object_seed(0);
}

unsigned long kf__json_failures(void) {
  return failures;
}

void kf__json_reserve_begin(void *memory, size_t size) {
  reserve = memory;
  reserve_size = size;
  reserve_used = false;
}

void kf__json_reserve_end(void) {
  reserve = NULL;
}
