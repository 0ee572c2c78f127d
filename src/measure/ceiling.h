/* ceiling.h - what a device can do at most, measured with small kernels of our own: the floor and the roof
 * that a candidate's time is held against (docs/internals/evaluator.md, Ceilings and diagnosis).
 *
 * The probe is an ordinary task with an ordinary OpenCL source, so that it takes the way of every candidate:
 * plan, build, runner, the judge's memory and the judge's clock. Its symbol `what` picks the kernel of a
 * case. Each kernel is called a few times and its fastest call counts: a ceiling is what the device reached
 * once.
 *
 * On a CPU device the kernels are written for cores: one work-item walks one contiguous piece. */
#ifndef KF_MEASURE_CEILING_H
#define KF_MEASURE_CEILING_H

#include "device/runner.h"
#include "task/plan.h"

typedef struct {
  double read_gbs, write_gbs; /* 1e9 bytes a second, of memory beyond the caches (64 MiB at most) */
  double copy_gbs;            /* bytes read plus bytes written */
  double gflops;              /* fp32, a multiply-add counts as two */
  int64_t launch_ns;          /* one empty launch of one group per unit, over an empty request */
  bool known;
} kf_ceilings;

/* The probe as a task with its source as the kernel; its check cases are the kernels. The caller frees. */
kf_status kf_ceiling_task(const kf_device_info *device, kf_task **ret_task, kf_err *err);

typedef struct {
  const kf_task *task;
  const kf_device_info *device;
  const kf_calls *const *calls; /* resolved, one for each check case */
  const void *artefact;         /* as built */
  size_t artefact_len;
  const char *work_dir; /* private folder of the runner */
  int64_t memory_bytes; /* of the runner */
  int64_t call_timeout_ms;
  int64_t limit_ms; /* no second round after this */
} kf_ceiling_request;

/* About half a second. Failures are ours: the kernels are. known is set only if every number was measured. */
kf_status kf_ceilings_measure(const kf_ceiling_request *request, kf_ceilings *ret_ceilings, kf_err *err);

#endif
