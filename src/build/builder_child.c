/* builder_child.c - the compiler sandbox: compile, warm, save, send. As untrusted as a runner once the
 * candidate's code has run. */
#include "build/build_protocol.h"

#include "base/alloc.h"
#include "device/calls_blob.h"
#include "device/fault.h"
#include "device/host_object.h"
#include "device/role_env.h"
#include "sandbox/channel.h"
#include <poll.h>
#include <unistd.h>

typedef struct {
  int fd, fault_fd;
  kf_build_open open;
  char *blob;
  const kf_build_wire *wire;
  const char *source;
  char *options;
  kf_calls *plans[KF_BUILD_PLANS_MAX];
  int nplans;
  kf_fault_page *fault;
} builder_state;

static kf_status send_frame(int fd, kf_build_frame_kind kind, const void *bytes, size_t len, kf_err *err) {
  const char *from = bytes;
  do {
    size_t part = len < KF_BUILD_FRAME_MAX ? len : KF_BUILD_FRAME_MAX;
    kf_build_frame frame = {kind, (uint32_t)part};
    KF_TRY(kf_fs_write_fd(fd, &frame, sizeof frame, err));
    if (part > 0) KF_TRY(kf_fs_write_fd(fd, from, part, err));
    from += part;
    len -= part;
  } while (len > 0);
  return KF_OK;
}

/* One message with `nfds` descriptors. *ret_closed: the judge has gone, or has no use for this process. */
static kf_status receive_message(const builder_state *state, void *message, size_t size, int *ret_fd,
                                 bool *ret_closed, kf_err *err) {
  int nfds = 0;
  size_t len = 0;
  kf_channel_event event = KF_CHANNEL_CLOSED;
  KF_TRY(kf_channel_recv(state->fd, -1, message, size, &len, ret_fd, 1, &nfds, &event, err));
  *ret_closed = event == KF_CHANNEL_CLOSED;
  if (*ret_closed) return KF_OK;
  if (event != KF_CHANNEL_MESSAGE || len != size || nfds != 1)
    return kf_fail(err, KF_EPROTO, "builder: no request");
  return KF_OK;
}

static kf_status receive(builder_state *state, const kf_build_hello *hello, int blob_fd, kf_err *err) {
  size_t len = 0;
  KF_TRY(kf_blob_read(blob_fd, KF_BUILD_WIRE_MAX, &state->blob, &len, err));
  close(blob_fd);
  if (len != hello->wire_bytes) return kf_fail(err, KF_EPROTO, "builder: bad request");
  const kf_build_wire *wire = (const kf_build_wire *)(const void *)state->blob;
  if (len < sizeof *wire || wire->source_len > len || wire->options_len > len ||
      sizeof *wire + wire->source_len + wire->options_len > len || wire->nplans > KF_BUILD_PLANS_MAX)
    return kf_fail(err, KF_EPROTO, "builder: bad request");
  state->wire = wire;
  state->source = state->blob + sizeof *wire;
  state->options = kf_strndup(state->source + wire->source_len, wire->options_len);
  if (!state->options) return kf_nomem(err);
  size_t at = sizeof *wire + wire->source_len + wire->options_len;
  for (uint32_t i = 0; i < wire->nplans; i++) {
    size_t used = 0;
    KF_TRY(kf_calls_unpack(state->blob + at, len - at, &used, &state->plans[i], err));
    state->nplans++;
    at += used;
  }
  return KF_OK;
}

static kf_status send_entries(builder_state *state, kf_program *program, kf_err *err) {
  kf_entry_info *entries = kf_calloc(KF_BUILD_ENTRIES_MAX, sizeof *entries);
  int count = 0;
  if (!entries) return kf_nomem(err);
  kf_status status = kf_program_entries(program, entries, KF_BUILD_ENTRIES_MAX, &count, err);
  for (int i = 0; i < count && status == KF_OK; i++)
    status = send_frame(state->fd, KF_BUILD_ENTRIES, &entries[i], sizeof entries[i], err);
  kf_free(entries);
  return status;
}

static kf_status warm_and_save(builder_state *state, kf_backend *backend, kf_program *program,
                               kf_run_result *result, kf_err *err) {
  kf_buf binary;
  KF_TRY(send_frame(state->fd, KF_BUILD_IN_LAUNCH, NULL, 0, err));
  KF_TRY(kf__build_warm(backend, program, state->plans, state->nplans, state->fault, result, err));
  if (result->code != KF_RUN_OK) return KF_OK;
  kf_buf_init(&binary, KF_BUILD_ARTEFACT_MAX);
  kf_status status = kf_backend_save(backend, program, &binary, err);
  if (status == KF_OK) status = send_frame(state->fd, KF_BUILD_ARTEFACT, binary.data, binary.len, err);
  kf_buf_done(&binary);
  return status;
}

/* Host form. The object is sent before any of its code has run, so it is the compiler's. */
static kf_status save_and_ask(builder_state *state, kf_backend *backend, kf_program *program,
                              kf_run_result *result, kf_err *err) {
  int64_t bytes[KF_BUILD_PLANS_MAX] = {0};
  kf_host_object found = {0};
  kf_buf binary;
  kf_buf_init(&binary, KF_BUILD_ARTEFACT_MAX);
  kf_status status = kf_backend_save(backend, program, &binary, err);
  if (status == KF_OK) kf_host_object_check(binary.data, binary.len, &found);
  if (status == KF_OK) status = send_frame(state->fd, KF_BUILD_ARTEFACT, binary.data, binary.len, err);
  if (status == KF_OK)
    status = send_frame(state->fd, KF_BUILD_FACTS, kf_program_facts(program), sizeof(kf_host_facts), err);
  kf_buf_done(&binary);
  if (status != KF_OK || !found.has_workspace)
    return status; /* what may not be loaded is the judge's to say */
  KF_TRY(send_frame(state->fd, KF_BUILD_IN_LAUNCH, NULL, 0, err));
  for (int i = 0; i < state->nplans && result->code == KF_RUN_OK; i++)
    KF_TRY(kf_backend_workspace(backend, program, state->plans[i], &bytes[i], result, err));
  return send_frame(state->fd, KF_BUILD_WORKSPACE, bytes, (size_t)state->nplans * sizeof bytes[0], err);
}

static bool has_request(void *context) {
  const builder_state *state = context;
  struct pollfd entry = {.fd = state->fd, .events = POLLIN};
  return poll(&entry, 1, 0) > 0;
}

/* Everything that needs no candidate. The sandbox is complete before one is read. */
static kf_status get_ready(builder_state *state, kf_backend **ret_backend, kf_err *err) {
  static kf_role_policy policy;
  char enforced[KF_SANDBOX_TEXT_MAX];
  kf_build_open *open = &state->open;
  open->device_id[sizeof open->device_id - 1] = open->work_dir[sizeof open->work_dir - 1] = '\0';
  kf_role_policy_init(&policy, KF_PROFILE_BUILDER, open->work_dir);
  KF_TRY(kf_sandbox_enter_files(&policy.policy, err));
  KF_TRY(kf_backend_open(open->device_id, ret_backend, err));
  KF_TRY(kf_sandbox_enter(&policy.policy, enforced, err));
  KF_TRY(send_frame(state->fd, KF_BUILD_ENFORCED, enforced, strlen(enforced), err));
  KF_TRY(kf_fault_install(state->fault_fd, &state->fault, err));
  if (open->practise) KF_TRY(kf__build_practise(*ret_backend, state->fault, has_request, state, err));
  return send_frame(state->fd, KF_BUILD_READY, NULL, 0, err);
}

static kf_status build(builder_state *state, kf_backend *backend, kf_run_result *result, kf_err *err) {
  kf_program *program = NULL;
  kf_buf log;
  kf_buf_init(&log, KF_BUILD_LOG_MAX);
  KF_TRY(kf_backend_compile(backend, state->source, state->wire->source_len, state->options, &log, &program,
                            result, err));
  KF_TRY(send_frame(state->fd, KF_BUILD_LOG, kf_buf_text(&log), log.len, err));
  kf_buf_done(&log);
  if (result->code != KF_RUN_OK) return KF_OK;
  if (state->wire->want_entries) return send_entries(state, program, err);
  return kf_backend_is_host(backend) ? save_and_ask(state, backend, program, result, err)
                                     : warm_and_save(state, backend, program, result, err);
}

static kf_status serve(builder_state *state, kf_run_result *result, bool *ret_unused, kf_err *err) {
  kf_backend *backend = NULL;
  kf_build_hello hello;
  int blob_fd = -1;
  KF_TRY(receive_message(state, &state->open, sizeof state->open, &state->fault_fd, ret_unused, err));
  if (*ret_unused) return KF_OK;
  KF_TRY(get_ready(state, &backend, err));
  KF_TRY(receive_message(state, &hello, sizeof hello, &blob_fd, ret_unused, err));
  if (*ret_unused) return KF_OK;
  KF_TRY(receive(state, &hello, blob_fd, err));
  return build(state, backend, result, err);
}

/* Ends with what it has: the process dies next, and so do its objects. */
int kf_builder_main(int fd) {
  static builder_state state;
  static kf_build_result answer;
  kf_err err = {.code = KF_OK};
  state.fd = fd;
  answer.result.slot = -1;
  bool unused = false;
  answer.status = (int32_t)serve(&state, &answer.result, &unused, &err);
  if (unused) return 0;
  if (answer.status != KF_OK) snprintf(answer.error, sizeof answer.error, "%.200s", err.msg);
  return send_frame(fd, KF_BUILD_RESULT, &answer, sizeof answer, &err) == KF_OK ? 0 : 1;
}
