/* eval_local.c - kf-eval as a child of ours, JSON lines over two pipes.
 *
 * The child dies with us: the kernel kills it when this process ends (src/sandbox), and the end of its input
 * tells it as well. When it dies first, or breaks the protocol, every pending request completes with KF_EIO
 * and the owner is told once; nothing is sent any more. Its stderr is ours. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "dist/dist_int.h"
#include "sandbox/child.h"
#include "wire/proto.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/banned.h"

enum {
  READ_CHUNK = 65536,
  OUT_MAX = 2 * KF_WIRE_BLOB_MAX, /* one request: its blobs and lines */
  HELLO_MS = 30000,
  INSPECT_MS = 60000,
  END_WAIT_MS = 5000,
  /* Ids of inspections; requests of owners are below. */
  INSPECT_ID_FIRST = 1 << 30,
};

typedef struct {
  kf_evaluator base;
  kf_child *child;
  uv_pipe_t in, out; /* its stdin, its stdout */
  uv_timer_t timer;
  int handles;
  kf_wire_reader reader;
  kf__jobs jobs;
  kf_verdict *verdict; /* scratch: large */
  bool greeted, lost, closing, timed_out;
  kf_err lost_error;
  int64_t inspect_id;     /* of the one in flight; 0 none */
  json_t *inspect_result; /* its message */
  int64_t next_inspect_id;
  char chunk[READ_CHUNK];
} local;

/* ---- losing it ---- */

static void describe_end(local *self, kf_err *ret_error) {
  kf_exit end = {0};
  char text[128] = "it closed its output";
  if (kf_child_wait(self->child, kf_now_ns() + 1000000000, &end, NULL) == KF_OK &&
      end.kind != KF_EXIT_RUNNING)
    kf_exit_text(&end, text, sizeof text);
  kf_fail(ret_error, KF_EIO, "the evaluator is gone: kf-eval %s", text);
}

static void lose(local *self, const kf_err *error) {
  if (self->lost || self->closing) return;
  self->lost = true;
  self->lost_error = *error;
  self->lost_error.code = KF_EIO;
  uv_read_stop((uv_stream_t *)&self->out);
  for (kf__job *job; (job = kf__jobs_take_first(&self->jobs)) != NULL; kf__job_free(job))
    if (job->id != self->inspect_id) kf__result_fail(&self->base, job->id, &self->lost_error);
  if (self->greeted && self->base.callbacks.on_lost)
    self->base.callbacks.on_lost(self->base.callbacks.context, &self->lost_error);
}

/* ---- sending ---- */

typedef struct {
  uv_write_t write;
  local *owner;
  char *bytes;
} sending;

static void on_sent(uv_write_t *write, int status) {
  sending *sent = write->data;
  /* A closed pipe shows at the other one too, with the reason. */
  if (status < 0 && status != UV_ECANCELED && status != UV_EPIPE) {
    kf_err error = {0};
    kf_fail(&error, KF_EIO, "cannot write to kf-eval: %s", uv_strerror(status));
    lose(sent->owner, &error);
  }
  kf_free(sent->bytes);
  kf_free(sent);
}

static kf_status send_bytes(local *self, kf_buf *out, kf_err *err) {
  if (out->len == 0) return KF_OK;
  sending *sent = kf_calloc(1, sizeof *sent);
  if (!sent) return kf_nomem(err);
  size_t len = out->len;
  sent->owner = self;
  sent->write.data = sent;
  sent->bytes = kf_buf_take(out);
  if (!sent->bytes) {
    kf_free(sent);
    return kf_nomem(err);
  }
  uv_buf_t bytes = uv_buf_init(sent->bytes, (unsigned)len);
  int failed = uv_write(&sent->write, (uv_stream_t *)&self->in, &bytes, 1, on_sent);
  if (failed == 0) return KF_OK;
  kf_free(sent->bytes);
  kf_free(sent);
  return kf_fail(err, KF_EIO, "cannot write to kf-eval: %s", uv_strerror(failed));
}

/* ---- receiving ---- */

/* Names are printed. */
static void clean_device(kf_device_info *device) {
  char *const texts[] = {device->id,   device->api,    device->platform,
                         device->name, device->driver, device->extensions_note};
  for (size_t i = 0; i < KF_COUNTOF(texts); i++)
    kf_text_clean(texts[i], strlen(texts[i]));
}

static kf_status take_hello(local *self, json_t *message, kf_err *err) {
  json_t *version = NULL, *devices = NULL, *item = NULL;
  size_t index = 0;
  KF_TRY(kf_json_arr(message, "protocol", &version, err));
  long long major = json_integer_value(json_array_get(version, 0));
  if (major != KF_PROTOCOL_MAJOR) {
    kf_fail(err, KF_EPROTO, "kf-eval speaks protocol %lld, this kf speaks %d", major, (int)KF_PROTOCOL_MAJOR);
    return kf_err_hint(err, KF_EPROTO, "install kf and kf-eval of the same version");
  }
  KF_TRY(kf_json_arr(message, "devices", &devices, err));
  self->base.ndevices = 0;
  json_array_foreach(devices, index, item) {
    if (self->base.ndevices == KF_DEVICES_MAX) break;
    KF_TRY(kf_device_from_json(item, &self->base.devices[self->base.ndevices], err));
    clean_device(&self->base.devices[self->base.ndevices]);
    self->base.ndevices++;
  }
  json_decref(self->base.hello);
  self->base.hello = json_incref(message);
  self->greeted = true;
  return KF_OK;
}

/* Names travel (numbers may differ between versions); an unknown one is a failure of the machine. */
static kf_status status_of(const json_t *error) {
  const char *name = kf_json_str_or(error, "status", "");
  for (int status = KF_ENOMEM; status <= KF_EBUG; status++)
    if (strcmp(kf_status_name((kf_status)status), name) == 0) return (kf_status)status;
  return KF_EIO;
}

static kf_status complete(local *self, json_t *message, int64_t id, bool admit, kf_err *err) {
  const json_t *error = json_object_get(message, "error");
  if (json_is_object(error)) {
    kf_err why = {0};
    kf_fail(&why, status_of(error), "%s", kf_json_str_or(error, "message", "kf-eval gave no reason"));
    kf_err_hint(&why, why.code, "%s", kf_json_str_or(error, "hint", ""));
    kf__result_fail(&self->base, id, &why);
    return KF_OK;
  }
  json_t *verdict = NULL, *admission = NULL;
  if (admit) {
    KF_TRY(kf_json_obj(message, "admission", &admission, err));
    kf_eval_result found = {.id = id, .status = KF_OK, .admission = admission};
    self->base.callbacks.on_result(self->base.callbacks.context, &found);
    return KF_OK;
  }
  KF_TRY(kf_json_obj(message, "verdict", &verdict, err));
  KF_TRY(kf_verdict_from_json(verdict, self->verdict, err));
  kf_eval_result result = {.id = id, .status = KF_OK, .verdict = self->verdict};
  self->base.callbacks.on_result(self->base.callbacks.context, &result);
  return KF_OK;
}

static kf_status take_result(local *self, json_t *message, kf_err *err) {
  int64_t id = 0;
  KF_TRY(kf_json_int(message, "id", &id, err));
  kf__job *job = kf__jobs_find(&self->jobs, id);
  if (!job)
    return kf_fail(err, KF_EPROTO, "kf-eval: a result of request %lld, which is not in flight",
                   (long long)id);
  if (id == self->inspect_id) {
    json_decref(self->inspect_result);
    self->inspect_result = json_incref(message);
    kf__job_free(kf__jobs_take(&self->jobs, id));
    return KF_OK;
  }
  /* Taken out first, since the callback may ask for the same id again; given its failure if the message is
   * bad. */
  bool admit = job->admit;
  kf__job_free(kf__jobs_take(&self->jobs, id));
  kf_err bad = {0};
  if (complete(self, message, id, admit, &bad) == KF_OK) return KF_OK;
  kf_err_context(&bad, bad.code, "result of request %lld", (long long)id);
  kf__result_fail(&self->base, id, &bad);
  if (err) *err = bad;
  return bad.code;
}

static kf_status take_need(local *self, const json_t *message, kf_err *err) {
  int64_t id = 0;
  json_t *hashes = NULL;
  kf_buf out KF_CLEANUP(kf_buf_done);
  kf_buf_init(&out, OUT_MAX);
  KF_TRY(kf_json_int(message, "id", &id, err));
  KF_TRY(kf_json_arr(message, "sha256", &hashes, err));
  KF_TRY(kf__jobs_need(&self->jobs, id, hashes, &out, err));
  return send_bytes(self, &out, err);
}

static kf_status on_message(void *context, json_t *message, const char *blob, size_t blob_len, kf_err *err) {
  local *self = context;
  const char *op = kf_json_str_or(message, "op", "");
  (void)blob_len;
  if (self->lost || self->closing) return KF_OK;
  if (blob) return kf_fail(err, KF_EPROTO, "kf-eval: sent a blob");
  if (strcmp(op, "hello") == 0) return take_hello(self, message, err);
  if (strcmp(op, "result") == 0) return take_result(self, message, err);
  if (strcmp(op, "need") == 0) return take_need(self, message, err);
  if (strcmp(op, "progress") == 0) {
    char what[160]; /* for one line on a terminal */
    snprintf(what, sizeof what, "%s", kf_json_str_or(message, "what", ""));
    kf_text_clean(what, strlen(what));
    if (self->base.callbacks.on_progress)
      self->base.callbacks.on_progress(self->base.callbacks.context, kf_json_int_or(message, "id", 0), what);
    return KF_OK;
  }
  if (strcmp(op, "error") == 0)
    return kf_fail(err, KF_EPROTO, "kf-eval: %s",
                   kf_json_str_or(message, "message", "an error without a reason"));
  return KF_OK; /* of a later minor version */
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf) {
  (void)suggested;
  local *self = handle->data;
  *ret_buf = uv_buf_init(self->chunk, sizeof self->chunk);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes) {
  local *self = stream->data;
  kf_err error = {0};
  if (got == 0) return;
  if (got < 0)
    describe_end(self, &error);
  else if (kf_wire_feed(&self->reader, bytes->base, (size_t)got, on_message, self, &error) == KF_OK)
    return;
  lose(self, &error);
}

/* ---- waiting on the loop ---- */

static void on_timer(uv_timer_t *timer) {
  ((local *)timer->data)->timed_out = true;
}

/* Runs the loop until `done` is true, the evaluator is lost or the time is over. */
static kf_status wait_for(local *self, bool (*done)(const local *self), int timeout_ms, const char *what,
                          kf_err *err) {
  self->timed_out = false;
  uv_timer_start(&self->timer, on_timer, (uint64_t)timeout_ms, 0);
  while (!done(self) && !self->lost && !self->timed_out)
    uv_run(self->base.loop, UV_RUN_ONCE);
  uv_timer_stop(&self->timer);
  if (done(self)) return KF_OK;
  if (self->lost) {
    if (err) *err = self->lost_error;
    return self->lost_error.code;
  }
  return kf_fail(err, KF_ETIMEOUT, "kf-eval: no %s within %d s", what, timeout_ms / 1000);
}

static bool is_greeted(const local *self) {
  return self->greeted;
}

static bool is_inspected(const local *self) {
  return self->inspect_result != NULL;
}

/* ---- the interface ---- */

static kf_status check_alive(const local *self, kf_err *err) {
  if (!self->lost) return KF_OK;
  if (err) *err = self->lost_error;
  return self->lost_error.code;
}

static kf_status local_submit(kf_evaluator *evaluator, const kf_eval_request *request, kf_err *err) {
  local *self = (local *)evaluator;
  KF_TRY(check_alive(self, err));
  if (request->id <= 0 || request->id >= INSPECT_ID_FIRST)
    return kf_fail(err, KF_EBUG, "evaluator: request id %lld", (long long)request->id);
  kf_buf out KF_CLEANUP(kf_buf_done);
  kf_buf_init(&out, OUT_MAX);
  KF_TRY(kf__jobs_add(&self->jobs, request, &out, err));
  kf_status status = send_bytes(self, &out, err);
  if (status != KF_OK) kf__job_free(kf__jobs_take(&self->jobs, request->id));
  return status;
}

static kf_status local_cancel(kf_evaluator *evaluator, int64_t id, kf_err *err) {
  local *self = (local *)evaluator;
  KF_TRY(check_alive(self, err));
  if (!kf__jobs_find(&self->jobs, id)) return KF_OK;
  json_t *message KF_CLEANUP(kf_json_freep) = NULL;
  kf_buf out KF_CLEANUP(kf_buf_done);
  kf_buf_init(&out, KF_WIRE_LINE_MAX);
  KF_TRY(kf_json_pack(&message, err, "{s:s,s:I}", "op", "cancel", "id", (json_int_t)id));
  KF_TRY(kf_wire_write(&out, message, err));
  return send_bytes(self, &out, err);
}

static kf_status read_inspection(const json_t *message, json_t **ret_kernels, kf_err *err) {
  const json_t *error = json_object_get(message, "error");
  if (json_is_object(error)) {
    kf_fail(err, status_of(error), "%s", kf_json_str_or(error, "message", "kf-eval gave no reason"));
    return kf_err_hint(err, status_of(error), "%s", kf_json_str_or(error, "hint", ""));
  }
  json_t *kernels = json_object_get(message, "kernels");
  const char *log = kf_json_str_or(message, "log", "");
  if (!kf_json_bool_or(message, "compiles", json_is_array(kernels)))
    return kf_fail(err, KF_EREFUSED, "the kernel does not compile: %.400s",
                   log[0] ? log : kf_json_str_or(message, "text", "no log"));
  if (!json_is_array(kernels)) return kf_fail(err, KF_EPROTO, "kf-eval: an inspection without kernels");
  *ret_kernels = json_incref(kernels);
  return KF_OK;
}

static kf_status local_inspect(kf_evaluator *evaluator, const char *device, const char *source, size_t len,
                               json_t **ret_kernels, kf_err *err) {
  local *self = (local *)evaluator;
  KF_TRY(check_alive(self, err));
  kf_buf out KF_CLEANUP(kf_buf_done);
  kf_buf_init(&out, OUT_MAX);
  self->inspect_id = INSPECT_ID_FIRST + self->next_inspect_id++;
  kf_status status = kf__jobs_add_inspect(&self->jobs, self->inspect_id, device, source, len, &out, err);
  if (status == KF_OK) status = send_bytes(self, &out, err);
  if (status == KF_OK) status = wait_for(self, is_inspected, INSPECT_MS, "inspection", err);
  if (status == KF_OK) status = read_inspection(self->inspect_result, ret_kernels, err);
  kf__job_free(kf__jobs_take(&self->jobs, self->inspect_id));
  json_decref(self->inspect_result);
  self->inspect_result = NULL;
  self->inspect_id = 0;
  return status;
}

static void on_closed(uv_handle_t *handle) {
  local *self = handle->data;
  if (--self->handles > 0) return;
  kf_wire_reader_done(&self->reader);
  kf__jobs_done(&self->jobs);
  json_decref(self->base.hello);
  json_decref(self->inspect_result);
  kf_free(self->verdict);
  kf_free(self);
}

static void local_close(kf_evaluator *evaluator) {
  local *self = (local *)evaluator;
  kf_err canceled = {0};
  kf_exit end = {0};
  kf_fail(&canceled, KF_ECANCELED, "the evaluator was closed");
  self->closing = true;
  for (kf__job *job; (job = kf__jobs_take_first(&self->jobs)) != NULL; kf__job_free(job))
    kf__result_fail(evaluator, job->id, &canceled);
  uv_close((uv_handle_t *)&self->in, on_closed); /* closes the descriptor at once: the end of its input */
  uv_close((uv_handle_t *)&self->out, on_closed);
  uv_close((uv_handle_t *)&self->timer, on_closed);
  if (self->child) kf_child_wait(self->child, kf_now_ns() + (int64_t)END_WAIT_MS * 1000000, &end, NULL);
  kf_child_free(self->child);
  self->child = NULL;
}

static const kf__evaluator_ops local_ops = {local_submit, local_cancel, local_inspect, local_close};

/* ---- starting it ---- */

static kf_status spawn_with(local *self, char *const *env, const int in[2], const int out[2], kf_err *err) {
  char program[KF_PATH_MAX], cwd[KF_PATH_MAX];
  KF_TRY(kf_evaluator_path(program, err));
  const char *const argv[] = {"kf-eval", NULL};
  kf_child_options options = {
      .executable = program,
      .argv = argv,
      .env = (const char *const *)env,
      .work_dir = getcwd(cwd, sizeof cwd),
      .stdin_fd = in[0],
      .stdout_fd = out[1],
      .inherit_stderr = true,
  };
  return kf_child_spawn(&options, &self->child, err);
}

/* Starts the process; our ends of its pipes go to *ret_in and *ret_out. */
static kf_status spawn(local *self, int *ret_in, int *ret_out, kf_err *err) {
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  char **env = NULL;
  kf_status status = kf__eval_env_new(&env, err);
  if (status == KF_OK && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0))
    status = kf_fail(err, KF_EIO, "kf-eval: pipe: %s", strerror(errno));
  if (status == KF_OK) status = spawn_with(self, env, in, out, err);
  kf__eval_env_free(env);
  if (status != KF_OK) {
    kf_fs_close_pair(in);
    kf_fs_close_pair(out);
    return status;
  }
  close(in[0]);
  close(out[1]);
  *ret_in = in[1];
  *ret_out = out[0];
  return KF_OK;
}

static kf_status greet(local *self, const kf_settings *settings, kf_err *err) {
  json_t *values = NULL, *hello KF_CLEANUP(kf_json_freep) = NULL;
  kf_buf out KF_CLEANUP(kf_buf_done);
  kf_buf_init(&out, KF_WIRE_LINE_MAX);
  KF_TRY(kf_settings_to_json(settings, &values, err));
  KF_TRY(kf_json_pack(&hello, err, "{s:s,s:[i,i],s:o}", "op", "hello", "protocol", (int)KF_PROTOCOL_MAJOR,
                      (int)KF_PROTOCOL_MINOR, "settings", values));
  KF_TRY(kf_wire_write(&out, hello, err));
  return send_bytes(self, &out, err);
}

static kf_status connect_pipes(local *self, int in, int out, kf_err *err) {
  int failed = uv_pipe_open(&self->in, in);
  if (failed != 0) close(in);
  int opened = uv_pipe_open(&self->out, out);
  if (opened != 0) close(out);
  if (failed == 0) failed = opened;
  if (failed == 0) failed = uv_read_start((uv_stream_t *)&self->out, on_room, on_read);
  return failed == 0 ? KF_OK : kf_fail(err, KF_EIO, "kf-eval: %s", uv_strerror(failed));
}

static local *local_new(uv_loop_t *loop, const kf_eval_callbacks *callbacks) {
  local *self = kf_calloc(1, sizeof *self);
  if (!self) return NULL;
  self->verdict = kf_calloc(1, sizeof *self->verdict);
  if (!self->verdict) {
    kf_free(self);
    return NULL;
  }
  self->base.ops = &local_ops;
  self->base.loop = loop;
  self->base.callbacks = *callbacks;
  kf_wire_reader_init(&self->reader);
  uv_pipe_init(loop, &self->in, 0);
  uv_pipe_init(loop, &self->out, 0);
  uv_timer_init(loop, &self->timer);
  self->in.data = self->out.data = self->timer.data = self;
  self->handles = 3;
  return self;
}

kf_status kf_evaluator_open_local(uv_loop_t *loop, const kf_settings *settings,
                                  const kf_eval_callbacks *callbacks, kf_evaluator **ret_evaluator,
                                  kf_err *err) {
  int in = -1, out = -1;
  signal(SIGPIPE, SIG_IGN); /* a write to a kf-eval that is gone is a failure of that write */
  local *self = local_new(loop, callbacks);
  if (!self) return kf_nomem(err);
  kf_status status = spawn(self, &in, &out, err);
  if (status == KF_OK) status = connect_pipes(self, in, out, err);
  if (status == KF_OK) status = wait_for(self, is_greeted, HELLO_MS, "hello", err);
  if (status == KF_OK) status = greet(self, settings, err);
  if (status != KF_OK) {
    local_close(&self->base);
    return status;
  }
  self->base.pid = kf_child_pid(self->child);
  *ret_evaluator = &self->base;
  return KF_OK;
}
