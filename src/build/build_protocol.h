/* build_protocol.h - private to src/build: what travels between the judge and a builder.
 *
 * judge -> child: one kf_build_open with the fault page, at the start; one kf_build_hello with a blob
 * (kf_build_wire, source, options, packed plans), at once or, to a spare, when there is a candidate.
 * child -> judge: frames on a stream, {kind, len} and len bytes; RESULT is the last. The builder runs the
 * candidate's code while it warms, so the judge treats every frame as foreign. */
#ifndef KF_BUILD_PROTOCOL_H
#define KF_BUILD_PROTOCOL_H

#include "base/fs.h"
#include "build/builder.h"

enum {
  KF_BUILD_PLANS_MAX = 256,
  KF_BUILD_WIRE_MAX = 64 << 20,
  KF_BUILD_FRAME_MAX = 1 << 20,
  KF_BUILD_ARTEFACT_MAX = 256 << 20,
  KF_BUILD_LOG_MAX = 65536,
  KF_BUILD_ENTRIES_MAX = 64,
};

typedef struct {
  char device_id[64], work_dir[KF_PATH_MAX];
  uint32_t practise; /* build a kernel of ours first, unless a candidate is waiting already */
} kf_build_open;

typedef struct {
  uint64_t wire_bytes;
} kf_build_hello;

typedef struct {
  char source_name[64];
  uint64_t source_len, options_len;
  uint32_t nplans, want_entries;
} kf_build_wire;

typedef enum {
  KF_BUILD_ENFORCED = 1, /* text */
  KF_BUILD_READY,        /* no bytes: the device is open, all that is to come is the candidate's */
  KF_BUILD_IN_LAUNCH,    /* no bytes: the candidate's code runs from now on */
  KF_BUILD_LOG,          /* text */
  KF_BUILD_ENTRIES,      /* kf_entry_info array */
  KF_BUILD_ARTEFACT,     /* bytes; several frames are one artefact */
  KF_BUILD_FACTS,        /* host form: kf_host_facts, before any of the candidate's code has run */
  KF_BUILD_WORKSPACE,    /* host form: int64_t for each plan, after IN_LAUNCH */
  KF_BUILD_RESULT,       /* kf_build_result */
} kf_build_frame_kind;

typedef struct {
  uint32_t kind, len;
} kf_build_frame;

typedef struct {
  int32_t status; /* kf_status of the child itself */
  kf_run_result result;
  char error[240];
} kf_build_result;

/* Launches each distinct (kernel, local size, size class) of the plans once, each in the plan with the fewest
 * work-items, on memory of its own. *ret_result tells what the candidate did; KF_RUN_OK when all went
 * through. */
kf_status kf__build_warm(kf_backend *backend, kf_program *program, kf_calls *const *plans, int nplans,
                         void *fault_page, kf_run_result *ret_result, kf_err *err);

/* builder_practise.c: builds and launches a kernel of ours, so that the compiler, its libraries and the
 * linker are loaded and what the driver keeps in its process is made. `must_stop` is asked between the steps.
 */
kf_status kf__build_practise(kf_backend *backend, void *fault_page, bool (*must_stop)(void *context),
                             void *context, kf_err *err);

#endif
