/* plan_cache.c - least recently used of a few places, found by the source's hash. */
#include "propose/plan_cache.h"

#include "base/banned.h"

kf_status kf_plan_cache_get(kf_plan_cache *cache, const kf_task *task, kf_language language,
                            const char *source, size_t len, const kf_plan **ret_plan, kf_err *err) {
  kf_hash hash;
  kf_hash_bytes(source, len, &hash);
  int oldest = 0;
  for (int i = 0; i < KF_PLAN_CACHE_SIZE; i++) {
    if (cache->slots[i].plan && cache->slots[i].task == task && cache->slots[i].language == language &&
        kf_hash_equal(&cache->slots[i].hash, &hash)) {
      cache->slots[i].used = ++cache->clock;
      *ret_plan = cache->slots[i].plan;
      return KF_OK;
    }
    if (cache->slots[i].used < cache->slots[oldest].used) oldest = i;
  }
  kf_plan *plan = NULL;
  KF_TRY(kf_plan_parse_as(task, language, source, len, "candidate", &plan, err));
  kf_plan_free(cache->slots[oldest].plan);
  cache->slots[oldest].hash = hash;
  cache->slots[oldest].task = task;
  cache->slots[oldest].language = language;
  cache->slots[oldest].plan = plan;
  cache->slots[oldest].used = ++cache->clock;
  *ret_plan = plan;
  return KF_OK;
}

void kf_plan_cache_done(kf_plan_cache *cache) {
  for (int i = 0; i < KF_PLAN_CACHE_SIZE; i++)
    kf_plan_free(cache->slots[i].plan);
  *cache = (kf_plan_cache){0};
}
