/* builder.c - the judge's side of a build: starts the child, collects its frames, keeps its time, explains
 * its end. */
#include "build/build_protocol.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "build/build_log.h"
#include "device/calls_blob.h"
#include "device/fault.h"
#include "device/host_object.h"
#include "device/role_env.h"
#include "sandbox/channel.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  READY_LIMIT_MS = 60000, /* for opening the device and practising, on a loaded machine */
  PATIENCE_MS = 10000,    /* an unready spare older than this is not waited for */
  NS_PER_MS = 1000 * 1000,
};

struct kf_build {
  kf_child *child;
  int fd, fault_fd;
  int wire_fd; /* the request: it may have to be sent to another process */
  uint64_t wire_bytes;
  bool ready;    /* device open, sandbox on: from here on what happens is the candidate's */
  bool is_spare; /* not asked yet */
  bool replaced; /* the first process was lost through no fault of the candidate; this is the last */
  char device_id[64];
  int64_t memory_bytes, timeout_ns;
  kf_fault_page *fault;
  int64_t start_ns, paused_ns, pause_start_ns; /* pause_start_ns 0: running */
  int64_t limit_ns, launch_limit_ns;           /* of the phase under way; of the trial launches to come */
  int64_t late_ns;                    /* elapsed when bytes first came after the limit; 0: none did */
  int64_t phase_ns, phase_starved_ns; /* elapsed and starved when the phase began */
  bool done, taken, got_result, want_entries, is_host;
  int nplans;
  kf_buf incoming, log, artefact, entries, workspace;
  char work_dir[KF_PATH_MAX], source_name[64];
  kf_build_outcome outcome;
};

static kf_status pack_wire(const kf_build_request *request, kf_buf *wire, kf_err *err) {
  kf_build_wire *head = kf_calloc(1, sizeof *head);
  if (!head) return kf_nomem(err);
  kf_status status = KF_OK;
  if (request->nplans < 0 || request->nplans > KF_BUILD_PLANS_MAX) {
    status = kf_fail(err, KF_EBUG, "build: %d plans", request->nplans);
    goto out;
  }
  snprintf(head->source_name, sizeof head->source_name, "%.63s",
           request->source_name ? request->source_name : "kernel.cl");
  head->source_len = request->source_len;
  head->options_len = strlen(request->options);
  head->nplans = request->want_entries ? 0 : (uint32_t)request->nplans;
  head->want_entries = request->want_entries;
  KF_GO(kf_buf_append(wire, head, sizeof *head, err));
  KF_GO(kf_buf_append(wire, request->source, request->source_len, err));
  KF_GO(kf_buf_append(wire, request->options, head->options_len, err));
  for (uint32_t i = 0; i < head->nplans; i++)
    KF_GO(kf_calls_pack(request->plans[i], wire, err));
out:
  kf_free(head);
  return status;
}

static kf_status make_wire(kf_build *build, const kf_build_request *request, kf_err *err) {
  kf_buf wire;
  kf_buf_init(&wire, KF_BUILD_WIRE_MAX);
  kf_status status = pack_wire(request, &wire, err);
  if (status == KF_OK) status = kf_blob_new("kf-build", wire.data, wire.len, &build->wire_fd, err);
  build->wire_bytes = wire.len;
  kf_buf_done(&wire);
  return status;
}

static kf_status send_request(kf_build *build, kf_err *err) {
  kf_build_hello hello = {.wire_bytes = build->wire_bytes};
  return kf_channel_send(build->fd, &hello, sizeof hello, &build->wire_fd, 1, err);
}

/* The child and its first message. */
static kf_status spawn(kf_build *build, bool practise, kf_err *err) {
  static const char *const argv[] = {"kf-eval", "--role", "builder", NULL};
  enum { FILE_BYTES_MAX = 1 << 30 };
  int fds[2] = {-1, -1};
  kf_role_env *env = kf_alloc(sizeof *env);
  kf_build_open *open = kf_calloc(1, sizeof *open);
  kf_status status = env && open ? KF_OK : kf_nomem(err);
  if (status != KF_OK) goto out;
  KF_GO(kf_fault_page_new(&build->fault_fd, &build->fault, err));
  KF_GO(kf_role_env_init(env, build->work_dir, err));
  KF_GO(kf_channel_pair(SOCK_STREAM, fds, err));
  kf_child_options options = {.argv = argv,
                              .env = env->env,
                              .work_dir = build->work_dir,
                              .fds = {fds[1]},
                              .nfds = 1,
                              .idle_priority = true,
                              .memory_bytes = kf_role_address_limit(build->memory_bytes),
                              .file_bytes = FILE_BYTES_MAX,
                              .may_fork = true,
                              .foreign = true,
                              .rss_bytes = build->memory_bytes};
  KF_GO(kf_child_spawn(&options, &build->child, err));
  build->fd = fds[0];
  fds[0] = -1;
  snprintf(open->device_id, sizeof open->device_id, "%s", build->device_id);
  snprintf(open->work_dir, sizeof open->work_dir, "%s", build->work_dir);
  open->practise = practise;
  KF_GO(kf_channel_send(build->fd, open, sizeof *open, &build->fault_fd, 1, err));
out:
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  kf_free(env);
  kf_free(open);
  return status;
}

static void end_process(kf_build *build) {
  kf_child_free(build->child);
  build->child = NULL;
  if (build->fd >= 0) close(build->fd);
  kf_fault_page_free(build->fault_fd, build->fault);
  build->fd = build->fault_fd = -1;
  build->fault = NULL;
}

static kf_status new_build(const kf_build_request *request, kf_build **ret_build, kf_err *err) {
  kf_build *build = kf_calloc(1, sizeof *build);
  if (!build) return kf_nomem(err);
  build->fd = build->fault_fd = build->wire_fd = -1;
  build->is_host = kf_device_is_host(request->device_id);
  build->outcome.result.slot = -1;
  kf_buf_init(&build->incoming, 2 * (size_t)KF_BUILD_FRAME_MAX);
  kf_buf_init(&build->log, 2 * (size_t)KF_BUILD_LOG_MAX);
  kf_buf_init(&build->artefact, KF_BUILD_ARTEFACT_MAX);
  kf_buf_init(&build->entries, KF_BUILD_ENTRIES_MAX * sizeof(kf_entry_info));
  kf_buf_init(&build->workspace, KF_BUILD_PLANS_MAX * sizeof(int64_t));
  build->memory_bytes = request->memory_bytes;
  build->start_ns = kf_now_ns();
  build->limit_ns = (int64_t)READY_LIMIT_MS * NS_PER_MS;
  if (snprintf(build->device_id, sizeof build->device_id, "%s", request->device_id) >=
          (int)sizeof build->device_id ||
      snprintf(build->work_dir, sizeof build->work_dir, "%s", request->work_dir) >=
          (int)sizeof build->work_dir) {
    kf_build_free(build);
    return kf_fail(err, KF_EINVAL, "build: device id or work folder too long");
  }
  *ret_build = build;
  return KF_OK;
}

kf_status kf_build_spare(const kf_build_request *request, kf_build **ret_spare, kf_err *err) {
  kf_build *build = NULL;
  KF_TRY(new_build(request, &build, err));
  build->is_spare = true;
  kf_status status = spawn(build, true, err);
  if (status != KF_OK) {
    kf_build_free(build);
    return status;
  }
  *ret_spare = build;
  return KF_OK;
}

/* The candidate's time begins now, or when the builder is ready. */
static void begin_clock(kf_build *build, int unready_ms) {
  build->start_ns = kf_now_ns();
  build->paused_ns = build->pause_start_ns = build->late_ns = 0;
  build->phase_ns = 0;
  build->phase_starved_ns = build->child ? kf_child_starved_ns(build->child) : 0;
  build->limit_ns = build->ready ? build->timeout_ns : (int64_t)unready_ms * NS_PER_MS;
}

static bool is_fit(kf_build *spare, const kf_build_request *request) {
  bool usable = false, ready = false;
  if (strcmp(spare->device_id, request->device_id) != 0 || strcmp(spare->work_dir, request->work_dir) != 0 ||
      spare->memory_bytes != request->memory_bytes)
    return false;
  if (kf_build_spare_look(spare, &usable, &ready, NULL) != KF_OK || !usable) return false;
  return ready || kf_now_ns() - spare->start_ns - spare->paused_ns < (int64_t)PATIENCE_MS * NS_PER_MS;
}

static kf_status take_or_new(const kf_build_request *request, kf_build **ret_build, kf_err *err) {
  if (request->spare && is_fit(request->spare, request)) {
    *ret_build = request->spare;
    return kf_build_resume(request->spare, err);
  }
  kf_build_free(request->spare);
  KF_TRY(new_build(request, ret_build, err));
  return spawn(*ret_build, false, err);
}

kf_status kf_build_start(const kf_build_request *request, kf_build **ret_build, kf_err *err) {
  kf_build *build = NULL;
  kf_status status = take_or_new(request, &build, err);
  if (status == KF_OK) {
    build->is_spare = false;
    build->want_entries = request->want_entries;
    build->nplans = request->nplans;
    snprintf(build->source_name, sizeof build->source_name, "%.63s",
             request->source_name ? request->source_name : "kernel.cl");
    build->timeout_ns = request->timeout_ms * NS_PER_MS;
    build->launch_limit_ns =
        request->launch_timeout_ms > 0 ? request->launch_timeout_ms * NS_PER_MS : build->timeout_ns;
    begin_clock(build, request->spare ? PATIENCE_MS : READY_LIMIT_MS);
    status = make_wire(build, request, err);
  }
  if (status == KF_OK) status = send_request(build, err);
  if (status == KF_EPROTO) status = KF_OK; /* it has died this moment: the next step replaces it */
  if (status != KF_OK) {
    kf_build_free(build);
    return status;
  }
  *ret_build = build;
  return KF_OK;
}

/* The process did not get ready, or was killed from outside: a failure of ours, and a second, plain one gets
 * a chance. */
static kf_status replace_process(kf_build *build, const kf_err *why, kf_err *err) {
  if (build->replaced) return kf_fail(err, why->code ? why->code : KF_EIO, "%s", why->msg);
  build->replaced = true;
  build->ready = false;
  end_process(build);
  kf_buf_drop(&build->incoming, build->incoming.len);
  kf_buf_drop(&build->log, build->log.len);
  build->got_result = false;
  KF_TRY(spawn(build, false, err));
  begin_clock(build, READY_LIMIT_MS);
  return send_request(build, err);
}

void kf_build_free(kf_build *build) {
  if (!build) return;
  end_process(build);
  if (build->wire_fd >= 0) close(build->wire_fd);
  kf_buf_done(&build->incoming);
  kf_buf_done(&build->log);
  kf_buf_done(&build->artefact);
  kf_buf_done(&build->entries);
  kf_buf_done(&build->workspace);
  kf_build_outcome_done(&build->outcome);
  kf_free(build);
}

int kf_build_fd(const kf_build *build) {
  return build->fd;
}

kf_status kf_build_pause(kf_build *build, kf_err *err) {
  if (build->done || build->pause_start_ns != 0) return KF_OK;
  build->pause_start_ns = kf_now_ns();
  return kf_child_pause(build->child, err);
}

kf_status kf_build_resume(kf_build *build, kf_err *err) {
  if (build->pause_start_ns != 0) build->paused_ns += kf_now_ns() - build->pause_start_ns;
  build->pause_start_ns = 0;
  return build->done ? KF_OK : kf_child_continue(build->child, err);
}

static int64_t elapsed_ns(const kf_build *build) {
  int64_t until = build->pause_start_ns != 0 ? build->pause_start_ns : kf_now_ns();
  return until - build->start_ns - build->paused_ns;
}

/* Builds run at idle priority: time in which they were ready but got no core is not theirs, else a busy
 * machine would make build_timeout verdicts. Bounded, so that a build always ends. */
static bool over_time(const kf_build *build) {
  enum { STRETCH = 3 };
  int64_t elapsed = elapsed_ns(build) - build->phase_ns;
  if (elapsed <= build->limit_ns) return false;
  int64_t starved = kf_child_starved_ns(build->child) - build->phase_starved_ns;
  return elapsed > STRETCH * build->limit_ns || elapsed - starved > build->limit_ns;
}

/* A builder blocked in writing a large artefact because nobody read it has not lost that time itself: while
 * bytes come it gets another step. Bounded, since the candidate's code can send bytes for ever. */
static bool may_go_on(kf_build *build, bool had_bytes) {
  const int64_t grace_ns = 5000000000;
  if (!had_bytes) return false;
  int64_t now = elapsed_ns(build);
  if (build->late_ns == 0) build->late_ns = now;
  return now - build->late_ns < grace_ns;
}

/* What is to come is the candidate's, its clock included. Once only. */
static void begin_candidate(kf_build *build) {
  if (build->ready) return;
  build->ready = true;
  build->late_ns = 0;
  if (build->is_spare) return;
  build->phase_ns = elapsed_ns(build);
  build->phase_starved_ns = kf_child_starved_ns(build->child);
  build->limit_ns = build->timeout_ns;
}

/* The compiler is done, the candidate's code runs: another clock. Once only, whatever that code sends. */
static void begin_launches(kf_build *build) {
  if (build->outcome.in_launch) return;
  build->outcome.in_launch = true;
  build->late_ns = 0;
  build->phase_ns = elapsed_ns(build);
  build->phase_starved_ns = kf_child_starved_ns(build->child);
  build->limit_ns = build->launch_limit_ns;
}

/* ---- frames ---- */

static kf_status take_result(kf_build *build, const char *bytes, size_t len, kf_err *err) {
  kf_build_result answer;
  if (len != sizeof answer) return kf_fail(err, KF_EPROTO, "builder: a result of %zu bytes", len);
  memcpy(&answer, bytes, sizeof answer);
  answer.error[sizeof answer.error - 1] = answer.result.text[sizeof answer.result.text - 1] = '\0';
  if (answer.status != KF_OK && !build->outcome.in_launch) {
    bool known = answer.status > KF_OK && answer.status <= KF_EBUG;
    return kf_fail(err, known ? (kf_status)answer.status : KF_EPROTO, "builder: %s", answer.error);
  }
  if (answer.status != KF_OK) {
    answer.result = (kf_run_result){.code = KF_RUN_CRASHED, .slot = -1};
    snprintf(answer.result.text, sizeof answer.result.text, "the builder failed: %s", answer.error);
  }
  if (answer.result.code > KF_RUN_FORGED) answer.result.code = KF_RUN_CRASHED;
  build->outcome.result = answer.result;
  build->got_result = true;
  return KF_OK;
}

static kf_status take_enforced(kf_build *build, const char *bytes, size_t len) {
  char said[KF_SANDBOX_TEXT_MAX];
  snprintf(said, sizeof said, "%.*s", (int)(len < sizeof said ? len : sizeof said - 1), bytes);
  kf_child_enforced(build->child, said, build->outcome.enforced);
  return KF_OK;
}

/* A frame that is too much or makes no sense is KF_EPROTO or KF_EINVAL: the caller turns it into the
 * candidate's crash. */
static kf_status take_frame(kf_build *build, uint32_t kind, const char *bytes, size_t len, kf_err *err) {
  switch (kind) {
  case KF_BUILD_ENFORCED:
    return take_enforced(build, bytes, len);
  case KF_BUILD_READY:
    begin_candidate(build);
    return KF_OK;
  case KF_BUILD_IN_LAUNCH:
    begin_launches(build);
    return KF_OK;
  case KF_BUILD_LOG:
    return kf_buf_append(&build->log, bytes, len, err);
  case KF_BUILD_ENTRIES:
    return kf_buf_append(&build->entries, bytes, len, err);
  case KF_BUILD_ARTEFACT:
    return kf_buf_append(&build->artefact, bytes, len, err);
  case KF_BUILD_FACTS:
    if (len != sizeof build->outcome.facts || build->outcome.in_launch)
      return kf_fail(err, KF_EPROTO, "builder: facts of %zu bytes, or late", len);
    memcpy(&build->outcome.facts, bytes, len);
    return KF_OK;
  case KF_BUILD_WORKSPACE:
    return kf_buf_append(&build->workspace, bytes, len, err);
  case KF_BUILD_RESULT:
    return take_result(build, bytes, len, err);
  default:
    return kf_fail(err, KF_EPROTO, "builder: unknown frame %u", kind);
  }
}

static kf_status parse_frames(kf_build *build, kf_err *err) {
  kf_build_frame frame;
  while (!build->got_result && build->incoming.len >= sizeof frame) {
    memcpy(&frame, build->incoming.data, sizeof frame);
    if (frame.len > KF_BUILD_FRAME_MAX)
      return kf_fail(err, KF_EPROTO, "builder: a frame of %u bytes", frame.len);
    if (build->incoming.len - sizeof frame < frame.len) return KF_OK;
    KF_TRY(take_frame(build, frame.kind, build->incoming.data + sizeof frame, frame.len, err));
    kf_buf_drop(&build->incoming, sizeof frame + frame.len);
  }
  return KF_OK;
}

/* Reads what is there. *ret_had_bytes: that was something; *ret_closed: the child has closed its end. */
static kf_status read_frames(kf_build *build, bool *ret_had_bytes, bool *ret_closed, kf_err *err) {
  enum { PART = 65536 };
  while (!build->got_result) {
    KF_TRY(kf_buf_reserve(&build->incoming, PART, err));
    ssize_t got = recv(build->fd, build->incoming.data + build->incoming.len, PART, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return KF_OK;
    if (got <= 0) {
      *ret_closed = true;
      return KF_OK;
    }
    *ret_had_bytes = true;
    build->incoming.len += (size_t)got;
    KF_TRY(parse_frames(build, err));
  }
  return KF_OK;
}

/* ---- the end ---- */

static bool says_out_of_memory(const char *output) {
  return strstr(output, "out of memory") || strstr(output, "bad_alloc") ||
         strstr(output, "Cannot allocate memory");
}

/* What the process printed belongs to the log when there is no other explanation. */
static kf_status add_output(kf_build *build, kf_err *err) {
  kf_buf output;
  kf_buf_init(&output, KF_CHILD_OUTPUT_MAX);
  kf_status status = kf_child_output(build->child, &output, err);
  kf_run_result *result = &build->outcome.result;
  if (status == KF_OK && result->code == KF_RUN_CRASHED && says_out_of_memory(kf_buf_text(&output)))
    result->code = KF_RUN_OUT_OF_MEMORY;
  if (status == KF_OK) {
    size_t room = build->log.max - build->log.len, len = output.len < room ? output.len : room;
    status = kf_buf_append(&build->log, kf_buf_text(&output), len, err);
  }
  kf_buf_done(&output);
  return status;
}

static kf_status conclude_crash(kf_build *build, kf_err *err) {
  kf_exit end;
  KF_TRY(kf_child_wait(build->child, kf_now_ns() + 2000000000, &end, err));
  if (end.kind == KF_EXIT_RUNNING) {
    KF_TRY(kf_child_kill(build->child, err));
    KF_TRY(kf_child_poll(build->child, &end, err));
  }
  /* Nobody but the system's administrator sends SIGKILL to a compiler: no verdict on the candidate. Without a
   * filter its own code can send it to itself. */
  if (kf_exit_from_outside(&end) && (!build->outcome.in_launch || kf_sandbox_has_filter())) {
    kf_err why = {.code = KF_OK};
    kf_fail(&why, KF_EIO, "builder: killed from outside");
    return replace_process(build, &why, err);
  }
  kf_fault_classify(build->fault, &end, NULL, &build->outcome.result);
  return add_output(build, err);
}

static kf_status conclude_timeout(kf_build *build, kf_err *err) {
  KF_TRY(kf_child_kill(build->child, err));
  build->outcome.result = (kf_run_result){.code = KF_RUN_TIMED_OUT, .slot = -1};
  snprintf(build->outcome.result.text, sizeof build->outcome.result.text, "%s did not end within %lld ms",
           !build->outcome.in_launch ? "the compiler"
           : build->is_host          ? "kf_workspace"
                                     : "a trial launch",
           (long long)(build->limit_ns / 1000000));
  return KF_OK;
}

/* What kf_workspace said, if that can be given. */
static kf_status fill_workspace(kf_build *build, kf_run_result *result, kf_err *err) {
  if (build->workspace.len != (size_t)build->nplans * sizeof(int64_t)) {
    *result = (kf_run_result){.code = KF_RUN_FORGED, .slot = -1};
    snprintf(result->text, sizeof result->text, "the builder's answer about the workspace is malformed");
    return KF_OK;
  }
  int64_t *bytes = kf_memdup(kf_buf_text(&build->workspace), build->workspace.len + 1);
  if (!bytes) return kf_nomem(err);
  build->outcome.workspace = bytes;
  for (int i = 0; i < build->nplans; i++) {
    if (bytes[i] >= 0 && (build->memory_bytes <= 0 || bytes[i] <= build->memory_bytes)) continue;
    *result = (kf_run_result){.code = KF_RUN_OUT_OF_MEMORY, .slot = -1};
    snprintf(result->text, sizeof result->text, "kf_workspace asks for %lld bytes, of %lld that there are",
             (long long)bytes[i], (long long)build->memory_bytes);
    return KF_OK;
  }
  return KF_OK;
}

/* The judge's own look at an object before anything loads it where it counts. */
static kf_status check_object(kf_build *build, kf_err *err) {
  kf_run_result *result = &build->outcome.result;
  kf_host_object found;
  kf_host_object_check(build->artefact.data, build->artefact.len, &found);
  if (found.why[0]) {
    *result = (kf_run_result){.code = KF_RUN_REFUSED, .slot = -1};
    snprintf(result->text, sizeof result->text, "%s", found.why);
    return KF_OK;
  }
  return found.has_workspace ? fill_workspace(build, result, err) : KF_OK;
}

static kf_status fill_outcome(kf_build *build, kf_err *err) {
  kf_build_outcome *outcome = &build->outcome;
  outcome->wall_ms = elapsed_ns(build) / 1000000;
  if (build->is_host && outcome->result.code == KF_RUN_OK) KF_TRY(check_object(build, err));
  kf_build_log_clean(&build->log, build->work_dir, build->source_name, KF_BUILD_LOG_MAX);
  outcome->log = kf_buf_take(&build->log);
  if (!outcome->log) return kf_nomem(err);
  if (outcome->result.code != KF_RUN_OK) return KF_OK;
  outcome->in_launch = false; /* it is about failures */
  if (build->want_entries) {
    outcome->nentries = (int)(build->entries.len / sizeof *outcome->entries);
    outcome->entries = (kf_entry_info *)(void *)kf_buf_take(&build->entries);
    return outcome->entries ? KF_OK : kf_nomem(err);
  }
  outcome->artefact_len = build->artefact.len;
  outcome->artefact = kf_buf_take(&build->artefact);
  return outcome->artefact ? KF_OK : kf_nomem(err);
}

/* Ours, or the candidate's doing? Before its code has run, what the builder sends is believed. */
static kf_status frame_failure(kf_build *build, kf_status status, const kf_err *why, kf_err *err) {
  if (!build->outcome.in_launch || status == KF_ENOMEM) return kf_fail(err, status, "%s", why->msg);
  build->outcome.result = (kf_run_result){.code = KF_RUN_FORGED, .slot = -1};
  snprintf(build->outcome.result.text, sizeof build->outcome.result.text,
           "the builder's answer is malformed: %.200s", why->msg);
  build->got_result = true;
  return KF_OK;
}

/* Reads what came and looks at the process. *ret_ended: nothing more will come. */
static kf_status look(kf_build *build, bool *ret_had_bytes, bool *ret_ended, kf_err *err) {
  bool closed = false;
  KF_TRY(read_frames(build, ret_had_bytes, &closed, err));
  kf_exit end = {.kind = KF_EXIT_RUNNING};
  if (!build->got_result && !closed) {
    KF_TRY(kf_child_poll(build->child, &end, err));
    /* It may have sent its last words between the two looks. */
    if (end.kind != KF_EXIT_RUNNING) KF_TRY(read_frames(build, ret_had_bytes, &closed, err));
  }
  *ret_ended = closed || end.kind != KF_EXIT_RUNNING;
  return KF_OK;
}

/* Before the builder is ready no candidate is in it: whatever goes wrong is ours. */
static kf_status step_unready(kf_build *build, kf_err *err) {
  bool had_bytes = false, ended = false;
  kf_err why = {.code = KF_OK};
  kf_status status = look(build, &had_bytes, &ended, &why);
  if (build->ready) return KF_OK;
  if (status == KF_OK && ended)
    status = kf_fail(&why, KF_EIO, "builder: it ended before it had opened the device");
  if (status == KF_OK && over_time(build) && !may_go_on(build, had_bytes))
    status =
        kf_fail(&why, KF_ETIMEOUT, "builder: the device was not open within %d s", READY_LIMIT_MS / 1000);
  return status == KF_OK ? KF_OK : replace_process(build, &why, err);
}

kf_status kf_build_spare_look(kf_build *spare, bool *ret_usable, bool *ret_ready, kf_err *err) {
  bool had_bytes = false, ended = false;
  kf_err why = {.code = KF_OK};
  if (!spare->is_spare) return kf_fail(err, KF_EBUG, "build: no spare");
  /* A ready one waits for its request: its end shows at the socket. */
  kf_status status =
      spare->ready ? read_frames(spare, &had_bytes, &ended, &why) : look(spare, &had_bytes, &ended, &why);
  *ret_usable = status == KF_OK && !ended && !spare->got_result && (spare->ready || !over_time(spare));
  *ret_ready = *ret_usable && spare->ready;
  return KF_OK;
}

kf_status kf_build_step(kf_build *build, bool *ret_done, kf_err *err) {
  bool ended = false, had_bytes = false;
  kf_err why = {.code = KF_OK};
  *ret_done = build->done;
  if (build->done) return KF_OK;
  if (!build->ready) KF_TRY(step_unready(build, err));
  if (!build->ready) return KF_OK;
  kf_status status = look(build, &had_bytes, &ended, &why);
  if (status != KF_OK) KF_TRY(frame_failure(build, status, &why, err));
  if (build->got_result)
    KF_TRY(kf_child_kill(build->child, err));
  else if (ended)
    KF_TRY(conclude_crash(build, err));
  else if (over_time(build) && !may_go_on(build, had_bytes))
    KF_TRY(conclude_timeout(build, err));
  else
    return KF_OK;
  if (!build->ready) return KF_OK; /* begun again with another process */
  KF_TRY(fill_outcome(build, err));
  build->done = true;
  *ret_done = true;
  return KF_OK;
}

kf_status kf_build_outcome_take(kf_build *build, kf_build_outcome *ret_outcome, kf_err *err) {
  if (!build->done || build->taken) return kf_fail(err, KF_EBUG, "build: no outcome to take");
  build->taken = true;
  *ret_outcome = build->outcome;
  memset(&build->outcome, 0, sizeof build->outcome);
  return KF_OK;
}

void kf_build_outcome_done(kf_build_outcome *outcome) {
  kf_free(outcome->artefact);
  kf_free(outcome->log);
  kf_free(outcome->entries);
  kf_free(outcome->workspace);
  memset(outcome, 0, sizeof *outcome);
}
