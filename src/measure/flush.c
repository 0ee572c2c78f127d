/* flush.c - cold caches; see flush.h. */
#include "measure/flush.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/banned.h"

enum { CACHE_LINE = 64 };

void kf_flush_read(const kf_flush *flush) {
  unsigned sum = 0;
  for (size_t i = 0; i < (size_t)flush->bytes; i += CACHE_LINE)
    sum += (unsigned char)flush->memory[i];
  __asm__ volatile("" : : "r"(sum) : "memory");
}

#if defined(__x86_64__)

static bool has_clflushopt(void) {
  static int known; /* 0: not asked yet; 1: no; 2: yes. Every thread would find the same. */
  if (known == 0) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 23 & 1) ? 2 : 1;
  }
  return known == 2;
}

__attribute__((target("clflushopt"))) static void evict_fast(const char *line, const char *end) {
  for (; line < end; line += CACHE_LINE)
    _mm_clflushopt((void *)(uintptr_t)line);
}

static void evict(const char *line, const char *end) {
  for (; line < end; line += CACHE_LINE)
    _mm_clflush(line);
}

bool kf_flush_lines(const void *data, size_t bytes) {
  const char *begin = (const char *)((uintptr_t)data & ~(uintptr_t)(CACHE_LINE - 1));
  const char *end = (const char *)data + bytes;
  if (has_clflushopt())
    evict_fast(begin, end);
  else
    evict(begin, end);
  _mm_mfence();
  return true;
}

static bool can_flush_lines(void) {
  return true;
}

#else

bool kf_flush_lines(const void *data, size_t bytes) {
  (void)data;
  (void)bytes;
  return false;
}

static bool can_flush_lines(void) {
  return false;
}

#endif

kf_flush_way kf_flush_choose(const kf_flush *flush, int64_t case_bytes) {
  return can_flush_lines() && case_bytes <= flush->bytes ? KF_FLUSH_LINES : KF_FLUSH_READ;
}

static int64_t region_bytes(const kf_region *region) {
  int64_t sum = 0;
  for (int slot = 0; region && slot < kf_region_nslots(region); slot++)
    sum += (int64_t)kf_region_bytes(region, slot);
  return sum;
}

static void flush_region(const kf_region *region) {
  for (int slot = 0; region && slot < kf_region_nslots(region); slot++)
    kf_flush_lines(kf_region_data(region, slot), kf_region_bytes(region, slot));
}

void kf_flush_case(const kf_flush *flush, const kf_rig *rig) {
  if (flush->bytes <= 0) return;
  int64_t bytes = region_bytes(rig->inputs->region) + region_bytes(rig->region);
  if (kf_flush_choose(flush, bytes) == KF_FLUSH_READ) {
    kf_flush_read(flush);
    return;
  }
  flush_region(rig->inputs->region);
  flush_region(rig->region);
}
