/* load.c - see load.h. */
#include "verify/load.h"

#include "base/alloc.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS_MAX = 16, SPINS = 1000 };

struct kf_load {
  atomic_bool stop;
  pthread_t threads[THREADS_MAX];
  int count;
};

static void *spin(void *context) {
  kf_load *load = context;
  unsigned state = 1;
  while (!atomic_load_explicit(&load->stop, memory_order_relaxed)) {
    for (int i = 0; i < SPINS; i++)
      state = state * 1664525u + 1013904223u;
    __asm__ volatile("" : : "r"(state));
  }
  return NULL;
}

static int cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count < THREADS_MAX ? count : THREADS_MAX;
}

kf_load *kf_load_start(void) {
  kf_load *load = kf_calloc(1, sizeof *load);
  if (!load) return NULL;
  atomic_init(&load->stop, false);
  for (int want = cores(); load->count < want; load->count++)
    if (pthread_create(&load->threads[load->count], NULL, spin, load) != 0) break;
  return load;
}

void kf_load_stop(kf_load *load) {
  if (!load) return;
  atomic_store(&load->stop, true);
  for (int i = 0; i < load->count; i++)
    pthread_join(load->threads[i], NULL);
  kf_free(load);
}
