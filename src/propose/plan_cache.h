/* plan_cache.h - the launch plans parsed last. A search shows the same few kernels
 * again and again, and parsing one costs more than drawing a binding of it. */
#ifndef KF_PROPOSE_PLAN_CACHE_H
#define KF_PROPOSE_PLAN_CACHE_H

#include "task/plan.h"

enum { KF_PLAN_CACHE_SIZE = 16 };

typedef struct {
  struct {
    kf_hash hash;
    const kf_task *task;
    kf_language language;
    kf_plan *plan; /* NULL: free place */
    uint64_t used;
  } slots[KF_PLAN_CACHE_SIZE];
  uint64_t clock;
} kf_plan_cache; /* zeroed is valid and empty */

/* The plan is borrowed until the next get. The task must outlive the cache. Errors are those of
 * kf_plan_parse. */
kf_status kf_plan_cache_get(kf_plan_cache *cache, const kf_task *task, kf_language language,
                            const char *source, size_t len, const kf_plan **ret_plan, kf_err *err);
void kf_plan_cache_done(kf_plan_cache *cache);

#endif
