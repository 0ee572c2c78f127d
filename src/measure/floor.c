/* floor.c - the least time of a case; see floor.h. */
#include "measure/floor.h"

#include "measure/roofline.h"

#include "base/banned.h"

int64_t kf_floor_ns(const kf_inputs *inputs, const kf_ceilings *ceilings, int64_t llc_bytes) {
  if (!ceilings || !ceilings->known || ceilings->read_gbs <= 0 || ceilings->write_gbs <= 0) return 0;
  const kf_task *task = inputs->task;
  double read = 0, written = 0;
  bool indexed = kf_task_is_indexed(task);
  for (int a = 0; a < task->nargs; a++) {
    kf_role role = task->args[a].role;
    double bytes = (double)inputs->elements[a] * (double)kf_type_size(task->args[a].type);
    bool needed = !indexed || !kf_type_is_float(task->args[a].type);
    if ((role == KF_ROLE_IN || role == KF_ROLE_INOUT) && needed) read += bytes;
    if (role == KF_ROLE_OUT || role == KF_ROLE_INOUT) written += bytes;
  }
  written -= (double)llc_bytes;
  if (written < 0 || llc_bytes <= 0) written = 0; /* an unknown cache may hold it all */
  double ns = read / ceilings->read_gbs + written / ceilings->write_gbs; /* 1 GB/s is 1 byte a nanosecond */
  return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}
