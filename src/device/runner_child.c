/* runner_child.c - the sandboxed process: opens the device, puts the filter on, runs what it is told,
 * answers. */
#include "device/runner_protocol.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/calls_blob.h"
#include "device/fault.h"
#include "device/role_env.h"
#include "sandbox/channel.h"
#include <errno.h>
#include <unistd.h>

typedef struct {
  int fd;
  kf_runner_start_data start;
  kf_role_policy policy;
  kf_backend *backend;
  kf_program *program;
  kf_fault_page *fault;
  kf_region_view views[KF_RUNNER_REGIONS_MAX];
  int nviews;
  bool planned;
} runner_state;

typedef struct {
  kf_runner_request request;
  int fds[KF_CHANNEL_FDS_MAX];
  int nfds;
} incoming;

static kf_status blob_of(const incoming *in, size_t max, char **ret_bytes, size_t *ret_len, kf_err *err) {
  if (in->nfds < 1) return kf_fail(err, KF_EPROTO, "runner: request without data");
  return kf_blob_read(in->fds[0], max, ret_bytes, ret_len, err);
}

/* Landlock goes on before the driver starts its threads, which would escape it; the filter follows with LOAD,
 * on all threads, because opening the device needs calls that a candidate must not have. */
static kf_status do_start(runner_state *state, const incoming *in, kf_err *err) {
  char *bytes = NULL;
  size_t len = 0;
  KF_TRY(blob_of(in, sizeof state->start, &bytes, &len, err));
  bool fits = len == sizeof state->start && in->nfds == 2;
  if (fits) memcpy(&state->start, bytes, sizeof state->start);
  kf_free(bytes);
  if (!fits) return kf_fail(err, KF_EPROTO, "runner: bad start request");
  state->start.device_id[sizeof state->start.device_id - 1] = '\0';
  state->start.work_dir[sizeof state->start.work_dir - 1] = '\0';
  setvbuf(stdout, NULL, _IONBF, 0);
  kf_role_policy_init(&state->policy, KF_PROFILE_RUNNER, state->start.work_dir);
  KF_TRY(kf_sandbox_enter_files(&state->policy.policy, err));
  KF_TRY(kf_backend_open(state->start.device_id, &state->backend, err));
  /* After the driver, which may have handlers of its own. */
  return kf_fault_install(in->fds[1], &state->fault, err);
}

/* PoCL's pthread device has started its workers when it is open, and starts none later: a thread that comes
 * after is the kernel's own, and would outlive the call (docs/internals/cheats.md, row 2). Other drivers may
 * start theirs at the first launch. */
static bool has_all_threads(const kf_device_info *device) {
  return strcmp(device->platform, "Portable Computing Language") == 0 &&
         strncmp(device->name, "pthread-", 8) == 0;
}

static kf_status do_load(runner_state *state, const incoming *in, kf_runner_reply *reply, kf_err *err) {
  char *bytes = NULL;
  size_t len = 0;
  if (!state->backend || state->program) return kf_fail(err, KF_EPROTO, "runner: load out of order");
  if (has_all_threads(kf_backend_info(state->backend)))
    state->policy.policy.profile = KF_PROFILE_RUNNER_FIXED;
  KF_TRY(kf_sandbox_enter(&state->policy.policy, reply->enforced, err));
  KF_TRY(blob_of(in, KF_RUNNER_ARTEFACT_MAX, &bytes, &len, err));
  kf_status status = kf_backend_load(state->backend, bytes, len, &state->program, &reply->result, err);
  kf_free(bytes);
  return status;
}

static void unmap_all(runner_state *state) {
  for (int i = 0; i < state->nviews; i++)
    kf_region_unmap(&state->views[i]);
  state->nviews = 0;
}

static kf_status bind_places(runner_state *state, const kf_runner_map_data *map, kf_runner_reply *reply,
                             kf_err *err) {
  void *data[KF_REGION_SLOTS_MAX];
  size_t bytes[KF_REGION_SLOTS_MAX];
  bool read_only[KF_REGION_SLOTS_MAX];
  for (int i = 0; i < map->nbuffers; i++) {
    kf_buffer_place place = map->places[i];
    if (place.region < 0 || place.region >= state->nviews || place.slot < 0 ||
        place.slot >= (int)state->views[place.region].layout.nslots)
      return kf_fail(err, KF_EPROTO, "runner: buffer %d has no place", i);
    const kf_region_view *view = &state->views[place.region];
    data[i] = view->data[place.slot];
    bytes[i] = view->layout.data_bytes[place.slot];
    read_only[i] = view->layout.read_only != 0;
  }
  kf_fault_set_slots(state->fault, data, bytes, read_only, map->nbuffers);
  return kf_backend_bind(state->backend, data, bytes, read_only, map->nbuffers, &reply->result, err);
}

static kf_status do_map(runner_state *state, const incoming *in, kf_runner_reply *reply, kf_err *err) {
  char *bytes = NULL;
  size_t len = 0;
  if (!state->program) return kf_fail(err, KF_EPROTO, "runner: map out of order");
  KF_TRY(blob_of(in, sizeof(kf_runner_map_data), &bytes, &len, err));
  kf_runner_map_data *map = (kf_runner_map_data *)(void *)bytes;
  kf_status status = KF_OK;
  void *none[1] = {NULL};
  if (len != sizeof *map || map->nregions < 0 || map->nregions > KF_RUNNER_REGIONS_MAX ||
      in->nfds != map->nregions + 1 || map->nbuffers < 0 || map->nbuffers > KF_REGION_SLOTS_MAX) {
    status = kf_fail(err, KF_EPROTO, "runner: bad map request");
    goto out;
  }
  state->planned = false;
  /* The driver lets go of the old memory before it is unmapped. */
  KF_GO(kf_backend_bind(state->backend, none, NULL, NULL, 0, &reply->result, err));
  unmap_all(state);
  for (int i = 0; i < map->nregions; i++) {
    KF_GO(kf_region_map(&map->layouts[i], in->fds[i + 1], &state->views[i], err));
    state->nviews = i + 1;
  }
  KF_GO(bind_places(state, map, reply, err));
out:
  kf_free(bytes);
  return status;
}

static kf_status do_plan(runner_state *state, const incoming *in, kf_runner_reply *reply, kf_err *err) {
  char *bytes = NULL;
  size_t len = 0, used = 0;
  kf_calls *calls = NULL;
  if (!state->program) return kf_fail(err, KF_EPROTO, "runner: plan out of order");
  state->planned = false;
  KF_TRY(blob_of(in, KF_CALLS_BLOB_MAX, &bytes, &len, err));
  kf_status status = kf_calls_unpack(bytes, len, &used, &calls, err);
  kf_free(bytes);
  if (status != KF_OK) return status;
  status = kf_backend_prepare(state->backend, state->program, calls, &reply->result, err);
  state->planned = status == KF_OK && reply->result.code == KF_RUN_OK;
  kf_calls_unpacked_free(calls);
  return status;
}

static kf_status do_run(const runner_state *state, const incoming *in, kf_runner_reply *reply, kf_err *err) {
  if (!state->planned) return kf_fail(err, KF_EPROTO, "runner: run out of order");
  if (in->request.k > 1) return kf_fail(err, KF_EPROTO, "runner: %u calls in one request", in->request.k);
  return kf_backend_run(state->backend, in->request.k, &reply->child_ns, &reply->result, err);
}

static kf_status serve(runner_state *state, const incoming *in, kf_runner_reply *reply, kf_err *err) {
  switch (in->request.op) {
  case KF_RUNNER_START:
    return do_start(state, in, err);
  case KF_RUNNER_LOAD:
    return do_load(state, in, reply, err);
  case KF_RUNNER_MAP:
    return do_map(state, in, reply, err);
  case KF_RUNNER_PLAN:
    return do_plan(state, in, reply, err);
  case KF_RUNNER_RUN:
    return do_run(state, in, reply, err);
  default:
    return kf_fail(err, KF_EPROTO, "runner: unknown request %u", in->request.op);
  }
}

int kf_runner_main(int fd) {
  static runner_state state;
  static kf_runner_reply reply;
  state.fd = fd;
  for (;;) {
    incoming in = {.nfds = 0};
    size_t len = 0;
    kf_channel_event event = KF_CHANNEL_CLOSED;
    kf_err err = {.code = KF_OK};
    kf_status status = kf_channel_recv(fd, -1, &in.request, sizeof in.request, &len, in.fds,
                                       KF_CHANNEL_FDS_MAX, &in.nfds, &event, &err);
    if (status != KF_OK || event != KF_CHANNEL_MESSAGE || len != sizeof in.request)
      return status == KF_OK ? 0 : 1;
    memset(&reply, 0, sizeof reply);
    reply.op = in.request.op;
    reply.nonce = in.request.nonce;
    reply.result.slot = -1;
    reply.status = (int32_t)serve(&state, &in, &reply, &err);
    snprintf(reply.error, sizeof reply.error, "%.200s", reply.status == KF_OK ? "" : err.msg);
    for (int i = 0; i < in.nfds; i++)
      close(in.fds[i]);
    if (write(fd, &reply, sizeof reply) != (ssize_t)sizeof reply) return 1;
  }
}
