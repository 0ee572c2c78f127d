/* oracle.c - the judge's side: compiles the reference, keeps a process for it, lays out the memory of a call
 * and reads the results once the process is stopped. A process that failed is replaced at the next run. */
#include "verify/oracle.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "build/builder.h"
#include "device/role_env.h"
#include "sandbox/channel.h"
#include "verify/oracle_layout.h"
#include "verify/oracle_wire.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"

enum {
  SOURCE_MAX = 8 << 20,
  LOG_MAX = 1 << 16,
  COMPILE_MS = 60000,
  LOAD_MS = 20000,
  LOOK_MS = 50,
  END_MS = 2000
};
static const int64_t memory_max =
    (int64_t)16 << 30; /* of the process: inputs, outputs and what the reference allocates */
static const int64_t ms = 1000000;

struct kf_oracle {
  const kf_task *task;
  int objects[KF_ORACLE_PRECISIONS]; /* sealed blobs */
  kf_child *child;                   /* NULL: start one at the next run */
  int fd;                            /* control socket, -1 */
  bool stopped;
};

/* ---- compiling ---- */

static kf_status compile(kf_oracle *oracle, int precision, const char *work_dir, kf_err *err) {
  /* A warning that a wrong prototype gives must stop the build; everything else is the reference's own style.
   */
  static const char *const options[] = {"-D_GNU_SOURCE",
                                        "-Werror=implicit-function-declaration",
                                        "-Werror=incompatible-pointer-types",
                                        "-Werror=int-conversion",
                                        "-Wl,--no-as-needed",
                                        "-lm",
                                        NULL};
  kf_buf source, log;
  char *object = NULL;
  size_t len = 0;
  kf_buf_init(&source, SOURCE_MAX);
  kf_buf_init(&log, LOG_MAX);
  kf_status status = kf__oracle_source(oracle->task, precision, &source, err);
  kf_cc_request request = {.source = kf_buf_text(&source),
                           .source_len = source.len,
                           .options = options,
                           .work_dir = work_dir,
                           .timeout_ms = COMPILE_MS};
  if (status == KF_OK) status = kf_cc_compile(&request, &object, &len, &log, err);
  if (status == KF_OK && object == NULL) status = kf__oracle_explain(oracle->task, kf_buf_text(&log), err);
  if (status == KF_OK) status = kf_blob_new("kf-reference", object, len, &oracle->objects[precision], err);
  kf_free(object);
  kf_buf_done(&source);
  kf_buf_done(&log);
  return status;
}

/* ---- the process ---- */

static void drop_child(kf_oracle *oracle) {
  kf_child_free(oracle->child);
  if (oracle->fd >= 0) close(oracle->fd);
  oracle->child = NULL;
  oracle->fd = -1;
  oracle->stopped = false;
}

/* First line that the process printed, for the message. */
static void said(kf_oracle *oracle, char *ret_text, size_t room) {
  kf_buf output;
  kf_buf_init(&output, KF_CHILD_OUTPUT_MAX);
  ret_text[0] = '\0';
  if (kf_child_output(oracle->child, &output, NULL) == KF_OK && output.len > 0)
    snprintf(ret_text, room, "; it printed: %.*s", (int)strcspn(kf_buf_text(&output), "\n"),
             kf_buf_text(&output));
  kf_buf_done(&output);
}

/* The process closed its socket: the reference ended it, or it was killed. */
static kf_status explain_end(kf_oracle *oracle, const char *case_text, kf_err *err) {
  kf_exit end;
  char how[120], output[160];
  KF_TRY(kf_child_wait(oracle->child, kf_now_ns() + END_MS * ms, &end, err));
  kf_exit_text(&end, how, sizeof how);
  said(oracle, output, sizeof output);
  if (end.over_memory)
    return kf_fail(err, KF_EREFUSED, "reference: %s: needs more than %lld MiB", case_text,
                   (long long)(memory_max >> 20));
  if (end.kind == KF_EXIT_SIGNAL && end.code == SIGKILL)
    return kf_fail(err, KF_EIO, "reference: %s: killed from outside", case_text);
  return kf_fail(err, KF_EREFUSED, "reference: %s: %s%s", case_text, how, output);
}

/* Waits for the answer in short looks, so that the memory of the process is watched meanwhile. */
static kf_status wait_reply(kf_oracle *oracle, int64_t timeout_ms, const char *case_text,
                            kf_oracle_reply *ret_reply, kf_err *err) {
  int64_t deadline = kf_now_ns() + timeout_ms * ms;
  for (;;) {
    int64_t now = kf_now_ns(), look = now + LOOK_MS * ms;
    size_t len = 0;
    kf_channel_event event = KF_CHANNEL_TIMED_OUT;
    KF_TRY(kf_channel_recv(oracle->fd, look < deadline ? look : deadline, ret_reply, sizeof *ret_reply, &len,
                           NULL, 0, NULL, &event, err));
    if (event == KF_CHANNEL_CLOSED) return explain_end(oracle, case_text, err);
    if (event == KF_CHANNEL_MESSAGE) {
      if (len != sizeof *ret_reply)
        return kf_fail(err, KF_EREFUSED, "reference: %s: it wrote to the control socket", case_text);
      ret_reply->text[sizeof ret_reply->text - 1] = '\0';
      return KF_OK;
    }
    kf_exit end;
    KF_TRY(kf_child_poll(oracle->child, &end, err));
    if (end.kind != KF_EXIT_RUNNING) return explain_end(oracle, case_text, err);
    if (kf_now_ns() >= deadline)
      return kf_fail(err, KF_EREFUSED, "reference: %s: not done within %lld ms", case_text,
                     (long long)timeout_ms);
  }
}

static kf_status send_and_wait(kf_oracle *oracle, const kf_oracle_message *message, const int *fds, int nfds,
                               int64_t timeout_ms, const char *case_text, kf_err *err) {
  kf_oracle_reply answer;
  kf_status status = kf_channel_send(oracle->fd, message, sizeof *message, fds, nfds, err);
  if (status == KF_EPROTO) return explain_end(oracle, case_text, err);
  if (status != KF_OK) return status;
  KF_TRY(wait_reply(oracle, timeout_ms, case_text, &answer, err));
  if (!answer.ok) return kf_fail(err, KF_EREFUSED, "reference: %s: %s", case_text, answer.text);
  return KF_OK;
}

static kf_status spawn(kf_oracle *oracle, kf_err *err) {
  static const char *const argv[] = {"kf-eval", "--role", "oracle", NULL};
  static const char *const env[] = {"LC_ALL=C.UTF-8", NULL};
  int fds[2];
  KF_TRY(kf_channel_pair(SOCK_SEQPACKET, fds, err));
  kf_child_options options = {.argv = argv,
                              .env = env,
                              .fds = {fds[1]},
                              .nfds = 1,
                              .memory_bytes = kf_role_address_limit(memory_max),
                              .foreign = true,
                              .rss_bytes = memory_max};
  kf_status status = kf_child_spawn(&options, &oracle->child, err);
  close(fds[1]);
  oracle->fd = fds[0];
  if (status != KF_OK) return status;
  const kf_oracle_message load = {.op = KF_ORACLE_OP_LOAD};
  return send_and_wait(oracle, &load, oracle->objects, KF_ORACLE_PRECISIONS, LOAD_MS, "start", err);
}

/* A process that runs and waits for a message. */
static kf_status wake(kf_oracle *oracle, kf_err *err) {
  kf_status status = KF_OK;
  if (oracle->child == NULL)
    status = spawn(oracle, err);
  else if (oracle->stopped)
    status = kf_child_continue(oracle->child, err);
  oracle->stopped = false;
  if (status != KF_OK) drop_child(oracle);
  return status;
}

kf_status kf_oracle_new(const kf_task *task, const char *work_dir, kf_oracle **ret_oracle, kf_err *err) {
  if (task->reference_kind != KF_REFERENCE_C || task->reference == NULL)
    return kf_fail(err, KF_EREFUSED, "reference: only references in C can be run here");
  kf_oracle *oracle = kf_alloc(sizeof *oracle);
  if (oracle == NULL) return kf_nomem(err);
  *oracle = (kf_oracle){.task = task, .objects = {-1, -1}, .fd = -1};
  kf_status status = KF_OK;
  for (int precision = 0; precision < KF_ORACLE_PRECISIONS && status == KF_OK; precision++)
    status = compile(oracle, precision, work_dir, err);
  if (status == KF_OK) status = wake(oracle, err);
  if (status != KF_OK) {
    kf_oracle_free(oracle);
    return status;
  }
  *ret_oracle = oracle;
  return KF_OK;
}

void kf_oracle_free(kf_oracle *oracle) {
  if (oracle == NULL) return;
  drop_child(oracle);
  for (int i = 0; i < KF_ORACLE_PRECISIONS; i++)
    if (oracle->objects[i] >= 0) close(oracle->objects[i]);
  kf_free(oracle);
}

/* ---- one run ---- */

/* Results are read only while the process cannot write them any more. */
static kf_status call(kf_oracle *oracle, const kf_oracle_layout *layout, int64_t timeout_ms,
                      const char *case_text, int64_t *ret_ns, kf_err *err) {
  KF_TRY(wake(oracle, err));
  int64_t start = kf_now_ns();
  kf_status status = send_and_wait(oracle, &layout->message, &layout->fd, 1, timeout_ms, case_text, err);
  int64_t ns = kf_now_ns() - start;
  if (status == KF_OK) status = kf_child_stop(oracle->child, err);
  if (status != KF_OK) {
    drop_child(oracle);
    return status;
  }
  oracle->stopped = true;
  *ret_ns = ns;
  return KF_OK;
}

kf_status kf_oracle_run(kf_oracle *oracle, const int64_t *symbols, const void *const *inputs, int precision,
                        int64_t timeout_ms, double *ret_outputs[KF_ARGS_MAX], int64_t *ret_ns, kf_err *err) {
  if (precision != 64 && precision != 32) return kf_fail(err, KF_EBUG, "reference: precision %d", precision);
  kf_oracle_layout layout;
  kf_buf case_text;
  double *outputs[KF_ARGS_MAX] = {NULL};
  int64_t ns = 0;
  kf_buf_init(&case_text, 256);
  kf_status status = kf__oracle_layout_init(&layout, oracle->task, symbols, precision == 64 ? 0 : 1, err);
  if (status != KF_OK) return status;
  KF_GO(kf_task_case_text(oracle->task, symbols, &case_text, err));
  KF_GO(kf__oracle_layout_write(&layout, symbols, inputs, err));
  KF_GO(call(oracle, &layout, timeout_ms, kf_buf_text(&case_text), &ns, err));
  KF_GO(kf__oracle_layout_read(&layout, kf_buf_text(&case_text), outputs, err));
  memcpy(ret_outputs, outputs, sizeof outputs);
  *ret_ns = ns;
out:
  kf__oracle_layout_done(&layout);
  kf_buf_done(&case_text);
  return status;
}
