/* roofline.h - what a task must move and compute in one call, and what bounds a kernel that does it in a
 * given time (docs/internals/evaluator.md, Ceilings and diagnosis). Pure.
 *
 * The roofline model: Williams, Waterman, Patterson, CACM 52(4), 2009. */
#ifndef KF_MEASURE_ROOFLINE_H
#define KF_MEASURE_ROOFLINE_H

#include "measure/ceiling.h"
#include "wire/verdict.h"

/* Below this the data of a call may still lie in caches from its making or from the call before, and neither
 * floor nor bandwidth binds. */
enum { KF_CACHED_BYTES = 8 << 20 };

/* One call on one measure case. */
typedef struct {
  int64_t bytes_in, bytes_out; /* compulsory: each array once; an inout array in both */
  double operations;           /* as the task says, or 2 * depth * outputs if linear; 0: not known */
  int launches;                /* of the kernel's plan, fills included; 0: it has none (host form) */
  int64_t groups;              /* most of any launch; 0: not known */
  int64_t time_ns;             /* of the kernel on this case */
} kf_work;

/* bytes and operations of a case; the rest is 0. In a task with index inputs an element of the other inputs
 * may never be needed: those count nothing. KF_EREFUSED: an expression fails on these symbols. */
kf_status kf_work_of_task(const kf_task *task, const int64_t *symbols, kf_work *ret_work, kf_err *err);
/* Has it index or permutation inputs, so that which elements of the others are needed depends on them? */
bool kf_task_is_indexed(const kf_task *task);
/* launches and groups of a resolved plan. */
void kf_work_add_calls(const kf_calls *calls, kf_work *work);

/* No correct kernel can be faster: bytes_in / read + max(0, bytes_out - llc) / write. Never from operations,
 * which algebra may save. 0 without ceilings. Holds where the inputs are not in a cache: a call that was
 * timed after a flush. */
int64_t kf_work_floor_ns(const kf_ceilings *ceilings, const kf_work *work, int64_t llc_bytes);

/* Shares as geometric means over the cases, and the first class that fits:
 *   launch_bound   launches * launch_ns / t > 0.3
 *   memory_bound   bytes share >= 0.6 and >= operations share; bytes read and written in equal parts are held
 *                  against the copy ceiling, the rest against that of its direction
 *   compute_bound  operations share >= 0.6
 *   underfilled    fewer groups than two for each unit, on every case
 *   latency_bound  none of these
 * bound "" without ceilings or times. The diagnosis gets kind, text and evidence. */
void kf_roofline_classify(const kf_ceilings *ceilings, const kf_device_info *device, const kf_work *cases,
                          int ncases, kf_roofline *ret_roofline, kf_diagnosis *ret_diagnosis);

#endif
