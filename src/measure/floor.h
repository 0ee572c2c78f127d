/* floor.h - the time that moving the compulsory bytes takes (docs/internals/evaluator.md, T17; cheats.md, row
 * 30): every in and inout array is read once, and what the last-level cache cannot hold of the outputs is
 * written once. Operations do not count: algebra may save them. Pure. */
#ifndef KF_MEASURE_FLOOR_H
#define KF_MEASURE_FLOOR_H

#include "measure/ceiling.h"
#include "verify/rig.h"

/* Nanoseconds; 0 where the ceilings are NULL or not known. `llc_bytes`: of the device, 0 = not known. */
int64_t kf_floor_ns(const kf_inputs *inputs, const kf_ceilings *ceilings, int64_t llc_bytes);

#endif
