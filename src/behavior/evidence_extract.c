/* evidence_extract.c - the judge's side: runs the child, waits at most 10 s, takes any failure of it for "not
 * known". */
#include "behavior/behavior.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "behavior/evidence_wire_int.h"
#include "sandbox/channel.h"
#include "sandbox/child.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_MS = 10000, LOOK_MS = 50, MEMORY_MIB = 2048 };

/* Address space cannot be limited under a sanitizer, whose shadow is terabytes large. */
static int64_t address_limit(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  return (int64_t)2 * MEMORY_MIB << 20;
#endif
}

static kf_status spawn(const kf_buf *request, const char *work_dir, kf_child **ret_child, int *ret_fd,
                       kf_err *err) {
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
                              .memory_bytes = address_limit(),
                              .file_bytes = 1 << 20,
                              .foreign = true,
                              .rss_bytes = (int64_t)MEMORY_MIB << 20};
  KF_GO(kf_child_spawn(&options, ret_child, err));
  *ret_fd = fds[0];
  fds[0] = -1;
out:
  if (blob >= 0) close(blob);
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  kf_buf_done(&variable);
  return status;
}

/* Waits for the answer in short looks, between which the child's memory is checked. *ret_len 0: there is
 * none. */
static kf_status receive(kf_child *child, int fd, char *text, size_t room, size_t *ret_len, kf_err *err) {
  int64_t end_ms = kf_now_ms() + LIMIT_MS;
  kf_channel_event event = KF_CHANNEL_TIMED_OUT;
  *ret_len = 0;
  while (event == KF_CHANNEL_TIMED_OUT && kf_now_ms() < end_ms) {
    kf_exit state;
    int64_t look_ns = kf_now_ns() + (int64_t)LOOK_MS * 1000000;
    KF_TRY(kf_channel_recv(fd, look_ns, text, room, ret_len, NULL, 0, NULL, &event, err));
    if (event == KF_CHANNEL_TIMED_OUT) KF_TRY(kf_child_poll(child, &state, err));
  }
  if (event != KF_CHANNEL_MESSAGE) *ret_len = 0;
  return KF_OK;
}

kf_status kf_evidence_extract(const kf_evidence_request *request, const char *work_dir,
                              kf_evidence *ret_evidence, kf_err *err) {
  kf_evidence evidence = {0};
  kf_child *child = NULL;
  kf_buf wire, note;
  char text[KF_EVIDENCE_ANSWER_MAX];
  size_t len = 0;
  int fd = -1;
  kf_buf_init(&wire, KF_EVIDENCE_REQUEST_MAX);
  kf_buf_init(&note, KF_EVIDENCE_ANSWER_MAX);
  kf_status status = kf__evidence_request_pack(request, &wire, NULL);
  bool is_source = status != KF_EINVAL; /* longer than any source, or with a NUL: not known */
  if (status == KF_ENOMEM) status = kf_nomem(err);
  if (status == KF_OK) status = spawn(&wire, work_dir, &child, &fd, err);
  if (status == KF_OK) status = receive(child, fd, text, sizeof text, &len, NULL);
  bool unreadable = len && kf__evidence_answer_unpack(text, len, &evidence, &note, NULL) != KF_OK;
  if (unreadable) evidence = (kf_evidence){0};
  kf_child_free(child);
  if (fd >= 0) close(fd);
  kf_buf_done(&wire);
  kf_buf_done(&note);
  if (!is_source || status == KF_EPROTO || status == KF_ETIMEOUT) status = KF_OK;
  if (status == KF_OK) *ret_evidence = evidence;
  return status;
}
