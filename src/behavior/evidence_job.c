/* evidence_job.c - the judge's side: runs the child beside the build, takes any failure of it for "not
 * known". */
#include "behavior/behavior.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "behavior/evidence_wire_int.h"
#include "sandbox/channel.h"
#include "sandbox/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MEMORY_MIB = 2048, STRETCH = 3 };
static const int64_t limit_ns = 10000000000, end_wait_ns = 2000000000;

struct kf_evidence_job {
  kf_child *child;
  int fd;
  int64_t start_ns, paused_ns, pause_start_ns;
  bool done, got_screen;
  kf_screen screen;
  kf_evidence evidence;
};

/* Address space cannot be limited under a sanitizer, whose shadow is terabytes large. */
static int64_t address_limit(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  return (int64_t)2 * MEMORY_MIB << 20;
#endif
}

static kf_status spawn(kf_evidence_job *job, const kf_buf *request, const char *work_dir, kf_err *err) {
  static const char *const argv[] = {"kf-eval", "--role", "evidence", NULL};
  const char *library = getenv("KF_LIBCLANG"), *env[] = {NULL, NULL};
  kf_buf variable;
  int fds[2] = {-1, -1}, blob = -1;
  kf_status status = KF_OK;
  kf_buf_init(&variable, KF_PATH_MAX + 16);
  if (library && *library) {
    KF_GO(kf_buf_printf(&variable, err, "KF_LIBCLANG=%s", library));
    env[0] = variable.data;
  }
  KF_GO(kf_blob_new("kf-evidence", request->data, request->len, &blob, err));
  KF_GO(kf_channel_pair(SOCK_SEQPACKET, fds, err));
  KF_GO(kf_channel_send(fds[0], "e", 1, &blob, 1, err));
  kf_child_options options = {.argv = argv,
                              .env = env,
                              .work_dir = work_dir,
                              .fds = {fds[1]},
                              .nfds = 1,
                              .idle_priority = true,
                              .memory_bytes = address_limit(),
                              .file_bytes = 1 << 20,
                              .foreign = true,
                              .rss_bytes = (int64_t)MEMORY_MIB << 20};
  KF_GO(kf_child_spawn(&options, &job->child, err));
  job->fd = fds[0];
  fds[0] = -1;
out:
  if (blob >= 0) close(blob);
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  kf_buf_done(&variable);
  return status;
}

/* Something no child has to look at. */
static void note_unreadable(kf_evidence_job *job, const char *why) {
  kf_diagnosis *d = &job->screen.diagnosis;
  job->screen = (kf_screen){.state = KF_SCREEN_UNREADABLE};
  snprintf(d->kind, sizeof d->kind, "unreadable");
  snprintf(d->where, sizeof d->where, "kernel.cl");
  snprintf(d->text, sizeof d->text, "the source cannot be read before it runs: %s", why);
}

kf_status kf_evidence_start(const kf_evidence_request *request, const char *work_dir,
                            kf_evidence_job **ret_job, kf_err *err) {
  kf_evidence_job *job = kf_calloc(1, sizeof *job);
  if (!job) return kf_nomem(err);
  job->fd = -1;
  job->start_ns = kf_now_ns();
  kf_buf wire;
  kf_err why = {0};
  kf_buf_init(&wire, KF_EVIDENCE_REQUEST_MAX);
  kf_status status = kf__evidence_request_pack(request, &wire, &why);
  if (status == KF_OK) {
    status = spawn(job, &wire, work_dir, err);
  } else if (status == KF_EINVAL) { /* longer than any source, or with a NUL */
    note_unreadable(job, why.msg);
    job->done = true;
    status = KF_OK;
  } else if (err) {
    *err = why;
  }
  kf_buf_done(&wire);
  if (status == KF_OK)
    *ret_job = job;
  else
    kf_evidence_free(job);
  return status;
}

void kf_evidence_free(kf_evidence_job *job) {
  if (!job) return;
  kf_child_free(job->child);
  if (job->fd >= 0) close(job->fd);
  kf_free(job);
}

int kf_evidence_fd(const kf_evidence_job *job) {
  return job->done ? -1 : job->fd;
}

kf_status kf_evidence_pause(kf_evidence_job *job, kf_err *err) {
  if (job->done || job->pause_start_ns != 0) return KF_OK;
  job->pause_start_ns = kf_now_ns();
  return kf_child_pause(job->child, err);
}

kf_status kf_evidence_resume(kf_evidence_job *job, kf_err *err) {
  if (job->pause_start_ns != 0) job->paused_ns += kf_now_ns() - job->pause_start_ns;
  job->pause_start_ns = 0;
  return job->done ? KF_OK : kf_child_continue(job->child, err);
}

/* As for builds: at idle priority, time without a core is not the source's; bounded all the same. */
static bool over_time(const kf_evidence_job *job) {
  int64_t until = job->pause_start_ns != 0 ? job->pause_start_ns : kf_now_ns();
  int64_t elapsed = until - job->start_ns - job->paused_ns;
  if (elapsed <= limit_ns) return false;
  return elapsed > STRETCH * limit_ns || elapsed - kf_child_starved_ns(job->child) > limit_ns;
}

/* A child that ends by the source's doing leaves it unread on purpose, perhaps; one that could not start, or
 * was killed from outside, says nothing of it. */
static kf_status conclude_end(kf_evidence_job *job, kf_err *err) {
  kf_exit end;
  char text[120];
  KF_TRY(kf_child_wait(job->child, kf_now_ns() + end_wait_ns, &end, err));
  if (end.kind == KF_EXIT_RUNNING) {
    KF_TRY(kf_child_kill(job->child, err));
    return KF_OK;
  }
  bool from_outside =
      end.kind == KF_EXIT_SIGNAL && end.code == SIGKILL && !end.killed_by_us && !end.over_memory;
  bool gave_up = end.kind == KF_EXIT_CODE && end.code == KF_EVIDENCE_FAILED; /* it says so itself */
  if (job->got_screen || gave_up || from_outside) return KF_OK;
  kf_exit_text(&end, text, sizeof text);
  note_unreadable(job, end.over_memory ? "its parser needs more than 2 GiB" : text);
  return KF_OK;
}

/* An answer that makes no sense is no answer: a parser that a source has taken over may send anything. */
static void take_message(kf_evidence_job *job, const char *text, size_t len) {
  kf_evidence evidence;
  kf_screen screen;
  kf_buf note;
  kf_buf_init(&note, KF_EVIDENCE_ANSWER_MAX);
  if (!job->got_screen && kf__screen_unpack(text, len, &screen, NULL) == KF_OK) {
    job->got_screen = true;
    job->screen = screen;
    job->done = screen.state == KF_SCREEN_REFUSED;
  } else {
    if (job->got_screen && kf__evidence_answer_unpack(text, len, &evidence, &note, NULL) == KF_OK)
      job->evidence = evidence;
    job->done = true;
  }
  kf_buf_done(&note);
}

kf_status kf_evidence_step(kf_evidence_job *job, bool *ret_done, kf_err *err) {
  char text[KF_EVIDENCE_ANSWER_MAX];
  kf_channel_event event = KF_CHANNEL_MESSAGE;
  while (!job->done && event == KF_CHANNEL_MESSAGE) {
    size_t len = 0;
    /* a message of a wrong form ends it like a closed channel */
    if (kf_channel_recv(job->fd, 0, text, sizeof text, &len, NULL, 0, NULL, &event, NULL) != KF_OK)
      event = KF_CHANNEL_CLOSED;
    if (event == KF_CHANNEL_MESSAGE) take_message(job, text, len);
  }
  if (!job->done && event == KF_CHANNEL_CLOSED) {
    KF_TRY(conclude_end(job, err));
    job->done = true;
  }
  kf_exit end = {.kind = KF_EXIT_RUNNING};
  if (!job->done) KF_TRY(kf_child_poll(job->child, &end, err)); /* its memory; its end closes the channel */
  if (!job->done && over_time(job)) {
    if (!job->got_screen) note_unreadable(job, "its parser took more than 10 s");
    job->done = true;
  }
  if (job->done && job->child) KF_TRY(kf_child_kill(job->child, err));
  *ret_done = job->done;
  return KF_OK;
}

kf_status kf_evidence_take(const kf_evidence_job *job, kf_screen *ret_screen, kf_evidence *ret_evidence,
                           kf_err *err) {
  if (!job->done) return kf_fail(err, KF_EBUG, "evidence: not read yet");
  *ret_screen = job->screen;
  *ret_evidence = job->evidence;
  return KF_OK;
}
