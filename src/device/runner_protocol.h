/* runner_protocol.h - private to runner.c and runner_child.c: fixed messages over a SOCK_SEQPACKET pair.
 *
 * judge -> child: one request; larger data in a sealed memfd (first descriptor), regions as further
 * descriptors. child -> judge: one reply each; to RUN when the queue is drained, and the judge's clock stops
 * there. Every reply repeats the request's nonce; anything else on the socket is a forgery. */
#ifndef KF_DEVICE_RUNNER_PROTOCOL_H
#define KF_DEVICE_RUNNER_PROTOCOL_H

#include "base/fs.h"
#include "device/runner.h"
#include "sandbox/sandbox.h"

typedef enum {
  KF_RUNNER_START = 1, /* blob: kf_runner_start_data; descriptors: blob, fault page */
  KF_RUNNER_LOAD,      /* blob: the artefact */
  KF_RUNNER_MAP,       /* blob: kf_runner_map_data; descriptors: blob, regions */
  KF_RUNNER_PLAN,      /* blob: packed calls */
  KF_RUNNER_RUN,       /* k: 1, or 0 for nothing */
} kf_runner_op;

enum { KF_RUNNER_ARTEFACT_MAX = 256 << 20 };

typedef struct {
  uint32_t op, k;
  uint64_t nonce;
} kf_runner_request;

typedef struct {
  uint32_t op;
  int32_t status; /* kf_status of the child itself; `error` says why */
  uint64_t nonce;
  int64_t child_ns; /* RUN */
  kf_run_result result;
  char enforced[KF_SANDBOX_TEXT_MAX]; /* LOAD */
  char error[240];
} kf_runner_reply;

typedef struct {
  char device_id[64], work_dir[KF_PATH_MAX];
} kf_runner_start_data;

typedef struct {
  int32_t nregions, nbuffers;
  kf_region_layout layouts[KF_RUNNER_REGIONS_MAX];
  kf_buffer_place places[KF_REGION_SLOTS_MAX];
} kf_runner_map_data;

#endif
