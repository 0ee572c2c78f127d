/* runner.c - the judge's side of a runner: requests, its own clock, limits, and what a child's end means. */
#include "device/runner_protocol.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "device/backend_internal.h"
#include "device/calls_blob.h"
#include "device/fault.h"
#include "device/role_env.h"
#include "sandbox/channel.h"
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  START_TIMEOUT_MS = 60000, /* opening a device on a loaded machine */
  LOOK_EVERY_MS = 50,       /* at the child's memory, while waiting */
};

struct kf_runner {
  kf_child *child;
  int fd, fault_fd;
  kf_fault_page *fault;
  int64_t call_timeout_ms;
  uint64_t nonce;     /* of the request being answered */
  int64_t replied_ns; /* when the last message came */
  bool opened;        /* the child has said that the device is open */
  bool loaded;        /* foreign code is in the child: from now on nothing it says is a failure of ours */
  bool finished;
  bool stopped;
  kf_calls names; /* buffers of the last plan, for messages; no steps */
  char name_text[KF_ARGS_MAX + KF_TEMPS_MAX][64];
};

static kf_status send_request(kf_runner *runner, kf_runner_op op, uint32_t k, const int *fds, int nfds,
                              kf_err *err) {
  kf_runner_request request = {.op = op, .k = k, .nonce = runner->nonce};
  return kf_channel_send(runner->fd, &request, sizeof request, fds, nfds, err);
}

/* Fresh for each request; not part of a timed window. */
static void new_nonce(kf_runner *runner) {
  kf_random_bytes(&runner->nonce, sizeof runner->nonce);
}

/* Sends bytes as a blob, then `more` descriptors. */
static kf_status send_blob(kf_runner *runner, kf_runner_op op, const void *bytes, size_t len, const int *more,
                           int nmore, kf_err *err) {
  int fds[1 + KF_RUNNER_REGIONS_MAX];
  KF_TRY(kf_blob_new("kf-request", bytes, len, &fds[0], err));
  for (int i = 0; i < nmore; i++)
    fds[i + 1] = more[i];
  new_nonce(runner);
  kf_status status = send_request(runner, op, 0, fds, nmore + 1, err);
  close(fds[0]);
  return status;
}

/* PoCL aborts when it cannot link work-group code; it only tries to when the artefact lacks it. */
static bool lacks_code(kf_runner *runner, const kf_exit *end) {
  if (end->kind != KF_EXIT_SIGNAL || end->code != SIGABRT) return false;
  kf_buf output;
  kf_buf_init(&output, KF_CHILD_OUTPUT_MAX);
  bool lacks = kf_child_output(runner->child, &output, NULL) == KF_OK &&
               (strstr(kf_buf_text(&output), "Final linking of kernel") ||
                strstr(kf_buf_text(&output), "linker command failed"));
  kf_buf_done(&output);
  return lacks;
}

/* The child's end, or its silence, as a result. Kills it if it still runs. */
static kf_status conclude_end(kf_runner *runner, bool timed_out, int64_t limit_ms, kf_run_result *ret_result,
                              kf_err *err) {
  enum { GRACE_NS = 2000000000 }; /* between the closed socket and the end of the process */
  kf_exit end;
  runner->finished = true;
  KF_TRY(kf_child_wait(runner->child, timed_out ? 0 : kf_now_ns() + GRACE_NS, &end, err));
  if (kf_exit_from_outside(&end) && kf_sandbox_has_filter())
    return kf_fail(err, KF_EIO, "runner: killed from outside");
  bool ran = end.kind == KF_EXIT_RUNNING;
  if (ran) {
    KF_TRY(kf_child_kill(runner->child, err));
    KF_TRY(kf_child_poll(runner->child, &end, err));
  }
  if (timed_out && (ran || end.killed_by_us) && !end.over_memory)
    kf__result_set(ret_result, KF_RUN_TIMED_OUT, 0, "no answer within %lld ms", (long long)limit_ms);
  else if (ran)
    kf__result_set(ret_result, KF_RUN_FORGED, 0, "the process closed its control socket and ran on");
  else if (lacks_code(runner, &end))
    kf__result_set(ret_result, KF_RUN_LAUNCH_FAILED, 0,
                   "the artefact has no code for this launch: its kernel, local size and size class were in "
                   "no plan of the build");
  else
    kf_fault_classify(runner->fault, &end, &runner->names, ret_result);
  return KF_OK;
}

static kf_status forged(kf_runner *runner, const char *what, kf_run_result *ret_result, kf_err *err) {
  runner->finished = true;
  kf__result_set(ret_result, KF_RUN_FORGED, 0, "the process sent %s on its control socket", what);
  return kf_child_kill(runner->child, err);
}

typedef enum { GOT_MESSAGE, GOT_END } wait_outcome;

/* Waits for one message and meanwhile looks at the child's memory. GOT_END: *ret_result is set and the runner
 * finished. */
static kf_status wait_message(kf_runner *runner, int64_t deadline_ns, int64_t limit_ms, void *bytes,
                              size_t room, size_t *ret_len, wait_outcome *ret_outcome,
                              kf_run_result *ret_result, kf_err *err) {
  *ret_outcome = GOT_END;
  for (;;) {
    int64_t now = kf_now_ns(), look = now + (int64_t)LOOK_EVERY_MS * 1000000;
    kf_channel_event event = KF_CHANNEL_CLOSED;
    kf_err broken = {.code = KF_OK};
    kf_status status = kf_channel_recv(runner->fd, look < deadline_ns ? look : deadline_ns, bytes, room,
                                       ret_len, NULL, 0, NULL, &event, &broken);
    if (status == KF_EPROTO) return forged(runner, "too long a message", ret_result, err);
    if (status != KF_OK) return kf_fail(err, status, "runner: %s", broken.msg);
    if (event == KF_CHANNEL_MESSAGE) {
      runner->replied_ns = kf_now_ns();
      *ret_outcome = GOT_MESSAGE;
      return KF_OK;
    }
    if (event == KF_CHANNEL_CLOSED) return conclude_end(runner, false, limit_ms, ret_result, err);
    kf_exit end;
    KF_TRY(kf_child_poll(runner->child, &end, err));
    if (end.kind != KF_EXIT_RUNNING) return conclude_end(runner, false, limit_ms, ret_result, err);
    if (kf_now_ns() >= deadline_ns) return conclude_end(runner, true, limit_ms, ret_result, err);
  }
}

/* One reply struct. Before foreign code is loaded a failure of the child is one of ours. */
static kf_status wait_reply(kf_runner *runner, kf_runner_op op, int64_t deadline_ns, int64_t limit_ms,
                            kf_runner_reply *reply, kf_run_result *ret_result, kf_err *err) {
  size_t len = 0;
  wait_outcome outcome;
  kf_run_result result;
  KF_TRY(wait_message(runner, deadline_ns, limit_ms, reply, sizeof *reply, &len, &outcome, &result, err));
  if (outcome == GOT_END) {
    if (!runner->loaded && op == KF_RUNNER_START)
      return kf_fail(err, result.code == KF_RUN_TIMED_OUT ? KF_ETIMEOUT : KF_ENODEV,
                     "runner: opening the device: %s", result.text);
    *ret_result = result;
    return KF_OK;
  }
  if (len != sizeof *reply || reply->op != (uint32_t)op || reply->nonce != runner->nonce)
    return forged(runner, "a message nobody asked for", ret_result, err);
  reply->error[sizeof reply->error - 1] = reply->enforced[sizeof reply->enforced - 1] = '\0';
  reply->result.text[sizeof reply->result.text - 1] = '\0';
  if (reply->result.code > KF_RUN_OUT_OF_MEMORY)
    reply->result.code = KF_RUN_LAUNCH_FAILED; /* judge-side codes */
  if (reply->status != KF_OK) {
    runner->finished = true;
    if (!runner->loaded) {
      bool known = reply->status > KF_OK && reply->status <= KF_EBUG;
      return kf_fail(err, known ? (kf_status)reply->status : KF_EPROTO, "runner: %s", reply->error);
    }
    bool memory = reply->status == KF_ENOMEM;
    kf__result_set(&reply->result, memory ? KF_RUN_OUT_OF_MEMORY : KF_RUN_CRASHED, 0, "the runner failed: %s",
                   reply->error);
  }
  if (reply->result.code != KF_RUN_OK) {
    runner->finished = true;
    KF_TRY(kf_child_kill(runner->child, err));
  }
  *ret_result = reply->result;
  return KF_OK;
}

/* A request that could not be sent because the child has gone: once foreign code is in it, its end is the
 * candidate's. */
static kf_status send_failed(kf_runner *runner, kf_status sent, int64_t limit_ms, kf_run_result *ret_result,
                             kf_err *err) {
  if (sent != KF_EPROTO || !runner->loaded) return sent;
  return conclude_end(runner, false, limit_ms, ret_result, err);
}

/* Sends a blob with `more` descriptors and waits for the reply. */
static kf_status exchange(kf_runner *runner, kf_runner_op op, const void *bytes, size_t len, const int *more,
                          int nmore, kf_runner_reply *reply, kf_run_result *ret_result, kf_err *err) {
  int64_t limit_ms = runner->call_timeout_ms;
  kf_status sent = send_blob(runner, op, bytes, len, more, nmore, err);
  if (sent != KF_OK) return send_failed(runner, sent, limit_ms, ret_result, err);
  if (op == KF_RUNNER_LOAD) runner->loaded = true;
  return wait_reply(runner, op, kf_now_ns() + limit_ms * 1000000, limit_ms, reply, ret_result, err);
}

static kf_status check_usable(const kf_runner *runner, kf_err *err) {
  if (runner->finished) return kf_fail(err, KF_EBUG, "runner: used after it was finished");
  if (runner->stopped) return kf_fail(err, KF_EBUG, "runner: used while it is stopped");
  return KF_OK;
}

static int64_t ms_from_now(int64_t ms) {
  return kf_now_ns() + ms * 1000000;
}

/* ---- life ---- */

static kf_status spawn(const kf_runner_options *options, kf_runner *runner, kf_err *err) {
  static const char *const argv[] = {"kf-eval", "--role", "runner", NULL};
  enum { FILE_BYTES_MAX = 1 << 30 };
  int fds[2] = {-1, -1};
  kf_runner_start_data *start = kf_calloc(1, sizeof *start);
  kf_role_env *env = kf_alloc(sizeof *env);
  kf_status status = start && env ? KF_OK : kf_nomem(err);
  if (status != KF_OK) goto out;
  if (snprintf(start->device_id, sizeof start->device_id, "%s", options->device_id) >=
          (int)sizeof start->device_id ||
      snprintf(start->work_dir, sizeof start->work_dir, "%s", options->work_dir) >=
          (int)sizeof start->work_dir) {
    status = kf_fail(err, KF_EINVAL, "runner: device id or work folder too long");
    goto out;
  }
  KF_GO(kf_role_env_init(env, options->work_dir, err));
  KF_GO(kf_channel_pair(SOCK_SEQPACKET, fds, err));
  kf_child_options child = {.argv = argv,
                            .env = env->env,
                            .work_dir = options->work_dir,
                            .fds = {fds[1]},
                            .nfds = 1,
                            .memory_bytes = kf_role_address_limit(options->memory_bytes),
                            .file_bytes = FILE_BYTES_MAX,
                            .foreign = true,
                            .rss_bytes = options->memory_bytes};
  KF_GO(kf_child_spawn(&child, &runner->child, err));
  runner->fd = fds[0];
  fds[0] = -1;
  KF_GO(send_blob(runner, KF_RUNNER_START, start, sizeof *start, &runner->fault_fd, 1, err));
out:
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  kf_free(start);
  kf_free(env);
  return status;
}

kf_status kf_runner_start(const kf_runner_options *options, kf_runner **ret_runner, kf_err *err) {
  kf_runner *runner = kf_calloc(1, sizeof *runner);
  if (!runner) return kf_nomem(err);
  runner->fd = runner->fault_fd = -1;
  runner->call_timeout_ms = options->call_timeout_ms;
  kf_status status = kf_fault_page_new(&runner->fault_fd, &runner->fault, err);
  if (status == KF_OK) status = spawn(options, runner, err);
  if (status != KF_OK) {
    kf_runner_free(runner);
    return status;
  }
  *ret_runner = runner;
  return KF_OK;
}

void kf_runner_free(kf_runner *runner) {
  if (!runner) return;
  kf_child_free(runner->child);
  if (runner->fd >= 0) close(runner->fd);
  kf_fault_page_free(runner->fault_fd, runner->fault);
  kf_free(runner);
}

/* The answer to START. */
static kf_status wait_open(kf_runner *runner, int64_t limit_ms, kf_err *err) {
  kf_runner_reply reply;
  kf_run_result result = {.code = KF_RUN_OK};
  if (runner->opened) return KF_OK;
  KF_TRY(wait_reply(runner, KF_RUNNER_START, ms_from_now(limit_ms), limit_ms, &reply, &result, err));
  runner->opened = true;
  if (result.code != KF_RUN_OK) return kf_fail(err, KF_EPROTO, "runner: %s", result.text);
  return KF_OK;
}

kf_status kf_runner_look(kf_runner *runner, bool *ret_open, kf_err *err) {
  kf_exit end;
  struct pollfd entry = {.fd = runner->fd, .events = POLLIN};
  *ret_open = false;
  KF_TRY(check_usable(runner, err));
  if (runner->loaded) return kf_fail(err, KF_EBUG, "runner: a look at one that is loaded");
  if (!runner->opened && poll(&entry, 1, 0) > 0) KF_TRY(wait_open(runner, START_TIMEOUT_MS, err));
  KF_TRY(kf_child_poll(runner->child, &end, err));
  if (end.kind != KF_EXIT_RUNNING) {
    runner->finished = true;
    return kf_fail(err, KF_EIO, "runner: it ended before anything was loaded");
  }
  *ret_open = runner->opened;
  return KF_OK;
}

kf_status kf_runner_pause(kf_runner *runner, kf_err *err) {
  return runner->finished ? KF_OK : kf_child_pause(runner->child, err);
}

kf_status kf_runner_load(kf_runner *runner, const void *artefact, size_t len, char *ret_enforced,
                         kf_run_result *ret_result, kf_err *err) {
  kf_runner_reply reply;
  KF_TRY(check_usable(runner, err));
  if (runner->loaded) return kf_fail(err, KF_EBUG, "runner: loaded twice");
  KF_TRY(wait_open(runner, START_TIMEOUT_MS, err));
  KF_TRY(exchange(runner, KF_RUNNER_LOAD, artefact, len, NULL, 0, &reply, ret_result, err));
  if (ret_enforced)
    kf_child_enforced(runner->child, ret_result->code == KF_RUN_OK ? reply.enforced : "", ret_enforced);
  return KF_OK;
}

kf_status kf_runner_map(kf_runner *runner, kf_region *const *regions, int nregions,
                        const kf_buffer_place *places, int nbuffers, kf_run_result *ret_result, kf_err *err) {
  KF_TRY(check_usable(runner, err));
  if (nregions < 0 || nregions > KF_RUNNER_REGIONS_MAX || nbuffers < 0 || nbuffers > KF_REGION_SLOTS_MAX)
    return kf_fail(err, KF_EBUG, "runner: %d regions, %d buffers", nregions, nbuffers);
  kf_runner_map_data *map = kf_calloc(1, sizeof *map);
  if (!map) return kf_nomem(err);
  int fds[KF_RUNNER_REGIONS_MAX];
  map->nregions = nregions;
  map->nbuffers = nbuffers;
  for (int i = 0; i < nregions; i++) {
    kf_region_get_layout(regions[i], &map->layouts[i]);
    fds[i] = kf_region_fd(regions[i]);
  }
  for (int i = 0; i < nbuffers; i++)
    map->places[i] = places[i];
  kf_runner_reply reply;
  kf_status status =
      exchange(runner, KF_RUNNER_MAP, map, sizeof *map, fds, nregions, &reply, ret_result, err);
  kf_free(map);
  return status;
}

static void remember_names(kf_runner *runner, const kf_calls *calls) {
  runner->names.nbuffers = calls->nbuffers;
  for (int i = 0; i < calls->nbuffers; i++) {
    runner->names.buffers[i] = calls->buffers[i];
    snprintf(runner->name_text[i], sizeof runner->name_text[i], "%.63s",
             calls->buffers[i].name ? calls->buffers[i].name : "?");
    runner->names.buffers[i].name = runner->name_text[i];
  }
}

kf_status kf_runner_plan(kf_runner *runner, const kf_calls *calls, kf_run_result *ret_result, kf_err *err) {
  kf_buf blob;
  kf_runner_reply reply;
  KF_TRY(check_usable(runner, err));
  kf_buf_init(&blob, KF_CALLS_BLOB_MAX);
  kf_status status = kf_calls_pack(calls, &blob, err);
  if (status == KF_OK) {
    remember_names(runner, calls);
    status = exchange(runner, KF_RUNNER_PLAN, blob.data, blob.len, NULL, 0, &reply, ret_result, err);
  }
  kf_buf_done(&blob);
  return status;
}

/* ---- the timed request ---- */

/* A byte that is there before anything was asked. */
static bool has_unasked(const kf_runner *runner) {
  char byte;
  return recv(runner->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* A stopped child gets the request first and is continued then, when the clock has begun: nothing in it can
 * run ahead of its clock. The clock ends at the whole reply, for which the child has to have drained its
 * queue; a child that answers early has only taken time from itself. */
kf_status kf_runner_run(kf_runner *runner, unsigned k, int64_t deadline_ns, kf_run_times *ret_times,
                        kf_run_result *ret_result, kf_err *err) {
  kf_runner_reply reply;
  if (runner->finished) return kf_fail(err, KF_EBUG, "runner: used after it was finished");
  if (k > 1) return kf_fail(err, KF_EBUG, "runner: %u calls in one request", k);
  if (has_unasked(runner)) return forged(runner, "a message nobody asked for", ret_result, err);
  new_nonce(runner);
  int64_t start_ns = kf_now_ns(), limit_ns = start_ns + runner->call_timeout_ms * 1000000;
  if (deadline_ns > 0 && deadline_ns < limit_ns) limit_ns = deadline_ns;
  int64_t limit_ms = (limit_ns - start_ns) / 1000000;
  kf_status sent = send_request(runner, KF_RUNNER_RUN, k, NULL, 0, err);
  if (sent != KF_OK) return send_failed(runner, sent, limit_ms, ret_result, err);
  if (runner->stopped) {
    start_ns = kf_now_ns();
    KF_TRY(kf_runner_resume(runner, err));
  }
  KF_TRY(wait_reply(runner, KF_RUNNER_RUN, limit_ns, limit_ms, &reply, ret_result, err));
  if (ret_result->code != KF_RUN_OK) return KF_OK;
  *ret_times = (kf_run_times){.wall_ns = runner->replied_ns - start_ns, .child_ns = reply.child_ns};
  return KF_OK;
}

int kf_runner_pid(const kf_runner *runner) {
  return (int)kf_child_pid(runner->child);
}

kf_status kf_runner_stop(kf_runner *runner, kf_err *err) {
  if (runner->finished) return KF_OK;
  KF_TRY(kf_child_stop(runner->child, err));
  runner->stopped = true;
  return KF_OK;
}

kf_status kf_runner_resume(kf_runner *runner, kf_err *err) {
  if (runner->finished) return KF_OK;
  KF_TRY(kf_child_continue(runner->child, err));
  runner->stopped = false;
  return KF_OK;
}

int kf_runner_threads(const kf_runner *runner) {
  char path[40];
  int count = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)kf_child_pid(runner->child));
  DIR *dir = opendir(path);
  if (!dir) return 0;
  for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

kf_status kf_runner_output(kf_runner *runner, kf_buf *buf, kf_err *err) {
  return kf_child_output(runner->child, buf, err);
}
