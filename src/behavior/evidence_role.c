/* evidence_role.c - the child `--role evidence`: enters the sandbox, reads one request, answers, ends.
 *
 * Two messages: what the screen found, then the evidence. The source is hostile and libclang large: the child
 * may crash, hang or eat memory; after the first message the judge then knows nothing of the structure, and
 * that is all. libclang is opened inside the sandbox, which lets the toolchain's folders be read. */
#include "behavior/behavior.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "behavior/evidence_wire_int.h"
#include "sandbox/channel.h"
#include "sandbox/sandbox.h"

#include <string.h>

/* The folder of $KF_LIBCLANG comes on top of the toolchain's. */
static kf_status enter(kf_err *err) {
  static char extra[KF_PATH_MAX];
  kf_sandbox_policy policy = {.profile = KF_PROFILE_BUILDER};
  char enforced[KF_SANDBOX_TEXT_MAX];
  const char *const *paths = kf_sandbox_toolchain_paths(), *library = getenv("KF_LIBCLANG");
  int count = 0;
  while (count < KF_SANDBOX_PATHS_MAX - 2 && paths[count]) {
    policy.read_exec[count] = paths[count];
    count++;
  }
  if (library && strrchr(library, '/')) {
    snprintf(extra, sizeof extra, "%.*s", (int)(strrchr(library, '/') - library), library);
    policy.read_exec[count] = extra;
  }
  return kf_sandbox_enter(&policy, enforced, err);
}

static kf_status receive(int fd, char **ret_text, size_t *ret_len, kf_err *err) {
  char byte;
  size_t len = 0;
  int blob = -1, nfds = 0;
  kf_channel_event event = KF_CHANNEL_CLOSED;
  KF_TRY(kf_channel_recv(fd, -1, &byte, 1, &len, &blob, 1, &nfds, &event, err));
  if (event != KF_CHANNEL_MESSAGE || nfds != 1) return kf_fail(err, KF_EPROTO, "evidence: no request");
  return kf_blob_read(blob, KF_EVIDENCE_REQUEST_MAX, ret_text, ret_len, err);
}

typedef struct {
  int fd;
  kf_status status;
  kf_err *err;
} sender;

static void send_screen(void *context, const kf_screen *screen) {
  sender *s = context;
  kf_buf out;
  kf_buf_init(&out, KF_EVIDENCE_ANSWER_MAX);
  s->status = kf__screen_pack(screen, &out, s->err);
  if (s->status == KF_OK) s->status = kf_fs_write_fd(s->fd, out.data, out.len, s->err);
  kf_buf_done(&out);
}

static kf_status answer(int fd, const char *text, size_t len, kf_err *err) {
  kf_arena arena = {0};
  kf_evidence_request request;
  kf_evidence evidence = {0};
  kf_buf note, out;
  kf_buf_init(&note, KF_ERR_MSG_MAX);
  kf_buf_init(&out, KF_EVIDENCE_ANSWER_MAX);
  kf_status status = kf__evidence_request_unpack(text, len, &arena, &request, err);
  sender to = {.fd = fd, .err = err};
  request.screened = send_screen;
  request.context = &to;
  if (status == KF_OK) status = kf_evidence_parse(&request, &evidence, &note, err);
  if (status == KF_OK) status = to.status;
  if (status == KF_OK) status = kf__evidence_answer_pack(&evidence, kf_buf_text(&note), &out, err);
  if (status == KF_OK) status = kf_fs_write_fd(fd, out.data, out.len, err); /* the filter has no sendmsg */
  kf_buf_done(&note);
  kf_buf_done(&out);
  kf_arena_done(&arena);
  return status;
}

int kf_evidence_main(int fd) {
  kf_err err = {0};
  char *text = NULL;
  size_t len = 0;
  kf_alloc_init();
  kf_status status = receive(fd, &text, &len, &err);
  if (status == KF_OK) status = enter(&err);
  if (status == KF_OK) status = answer(fd, text, len, &err);
  kf_free(text);
  if (status == KF_OK) return 0;
  fprintf(stderr, "%s\n", err.msg);
  return KF_EVIDENCE_FAILED;
}
