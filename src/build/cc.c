/* cc.c - plain C references: the system's compiler inside the compiler sandbox. */
#include "build/build_protocol.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "build/build_log.h"
#include "device/host_cc.h"
#include "device/role_env.h"
#include "sandbox/channel.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTIONS_MAX = 64, OBJECT_MAX = 64 << 20, WORDS_MAX = 1 << 16 };
#define SOURCE_FILE "reference.c"
#define OBJECT_FILE "reference.so"

static const char *const fixed_options[] = {"-std=c17", "-O2", "-ffp-contract=off", "-fPIC",
                                            "-shared",  "-o",  OBJECT_FILE,         SOURCE_FILE};

/* ---- the child: words are NUL-terminated: work folder, compiler, then its arguments ---- */

/* A compiler outside the usual folders comes with its own tree: PREFIX/bin/cc needs PREFIX. */
static void prefix_of(const char *compiler, char ret_prefix[KF_PATH_MAX]) {
  snprintf(ret_prefix, KF_PATH_MAX, "%s", compiler);
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(ret_prefix, '/');
    if (slash) *slash = '\0';
  }
}

int kf_cc_main(int fd) {
  static kf_role_policy policy;
  static char prefix[KF_PATH_MAX];
  char *argv[OPTIONS_MAX + KF_COUNTOF(fixed_options) + 2] = {NULL};
  char *words = NULL, byte = 0, enforced[KF_SANDBOX_TEXT_MAX];
  size_t len = 0, got = 0;
  int blob = -1, nfds = 0, count = 0;
  kf_channel_event event = KF_CHANNEL_CLOSED;
  kf_err err = {.code = KF_OK};
  if (kf_channel_recv(fd, -1, &byte, 1, &got, &blob, 1, &nfds, &event, &err) != KF_OK || nfds != 1 ||
      kf_blob_read(blob, WORDS_MAX, &words, &len, &err) != KF_OK)
    return 125;
  const char *work_dir = words, *end = words + len;
  for (char *word = words + strlen(words) + 1; word < end && count < (int)KF_COUNTOF(argv) - 1;
       word += strlen(word) + 1)
    argv[count++] = word;
  if (count < 2) return 125;
  kf_role_policy_init(&policy, KF_PROFILE_BUILDER, work_dir);
  prefix_of(argv[0], prefix);
  for (int i = 0; prefix[0] && i < KF_SANDBOX_PATHS_MAX - 1; i++) {
    if (policy.policy.read_exec[i]) continue;
    policy.policy.read_exec[i] = prefix;
    break;
  }
  if (kf_sandbox_enter(&policy.policy, enforced, &err) != KF_OK) {
    fprintf(stderr, "%s\n", err.msg);
    return 125;
  }
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return 125;
  execv(argv[0], argv);
  fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
  return 126;
}

/* ---- the judge's side ---- */

static kf_status pack_words(const kf_cc_request *request, const char *compiler, kf_buf *words, kf_err *err) {
  KF_TRY(kf_buf_append(words, request->work_dir, strlen(request->work_dir) + 1, err));
  KF_TRY(kf_buf_append(words, compiler, strlen(compiler) + 1, err));
  for (size_t i = 0; i < KF_COUNTOF(fixed_options); i++)
    KF_TRY(kf_buf_append(words, fixed_options[i], strlen(fixed_options[i]) + 1, err));
  for (int i = 0; request->options && request->options[i]; i++) {
    if (i == OPTIONS_MAX) return kf_fail(err, KF_EINVAL, "cc: more than %d options", OPTIONS_MAX);
    KF_TRY(kf_buf_append(words, request->options[i], strlen(request->options[i]) + 1, err));
  }
  return KF_OK;
}

static kf_status start(const kf_cc_request *request, const kf_buf *words, kf_child **ret_child, kf_err *err) {
  static const char *const argv[] = {"kf-eval", "--role", "cc", NULL};
  enum { MEMORY_BYTES_SHIFT = 32 }; /* 4 GiB: gcc at -O2 needs some hundred MB for large files */
  int fds[2] = {-1, -1}, blob = -1;
  kf_role_env *env = kf_alloc(sizeof *env);
  if (!env) return kf_nomem(err);
  kf_status status = KF_OK;
  KF_GO(kf_role_env_init(env, request->work_dir, err));
  KF_GO(kf_blob_new("kf-cc", words->data, words->len, &blob, err));
  KF_GO(kf_channel_pair(SOCK_SEQPACKET, fds, err));
  KF_GO(kf_channel_send(fds[0], "c", 1, &blob, 1, err));
  kf_child_options options = {.argv = argv,
                              .env = env->env,
                              .work_dir = request->work_dir,
                              .fds = {fds[1]},
                              .nfds = 1,
                              .memory_bytes = kf_role_address_limit((int64_t)1 << MEMORY_BYTES_SHIFT),
                              .file_bytes = OBJECT_MAX,
                              .may_fork = true,
                              .foreign = true,
                              .rss_bytes = (int64_t)1 << MEMORY_BYTES_SHIFT};
  KF_GO(kf_child_spawn(&options, ret_child, err));
out:
  if (blob >= 0) close(blob);
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  kf_free(env);
  return status;
}

/* The compiler's output lies in a folder that foreign code could write: no links, plain files only. */
static kf_status read_object(const char *work_dir, char **ret_object, size_t *ret_len, kf_err *err) {
  char path[KF_PATH_MAX];
  struct stat info;
  KF_TRY(kf_fs_join(path, work_dir, OBJECT_FILE, err));
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return kf_fail(err, KF_EIO, "cc: no object: %s", strerror(errno));
  kf_status status = fstat(fd, &info) == 0 && S_ISREG(info.st_mode)
                         ? KF_OK
                         : kf_fail(err, KF_EIO, "cc: the object is no file");
  if (status == KF_OK) status = kf_blob_read(fd, OBJECT_MAX, ret_object, ret_len, err);
  close(fd);
  return status;
}

static kf_status add_log(kf_child *child, const kf_cc_request *request, const char *more, kf_buf *log,
                         kf_err *err) {
  kf_buf own;
  kf_buf_init(&own, KF_CHILD_OUTPUT_MAX + 256);
  kf_status status = kf_child_output(child, &own, err);
  if (status == KF_OK && more[0]) status = kf_buf_printf(&own, err, "%s\n", more);
  if (status == KF_OK) {
    kf_build_log_clean(&own, request->work_dir, SOURCE_FILE, KF_BUILD_LOG_MAX);
    size_t room = log->max - log->len;
    status = kf_buf_append(log, kf_buf_text(&own), own.len < room ? own.len : room, err);
  }
  kf_buf_done(&own);
  return status;
}

static kf_status wait_and_read(kf_child *child, const kf_cc_request *request, char **ret_object,
                               size_t *ret_len, kf_buf *log, kf_err *err) {
  kf_exit end;
  char text[120];
  KF_TRY(kf_child_wait(child, kf_now_ns() + request->timeout_ms * 1000000, &end, err));
  if (end.kind == KF_EXIT_RUNNING) {
    KF_TRY(kf_child_kill(child, err));
    return kf_fail(err, KF_ETIMEOUT, "cc: not done within %lld ms", (long long)request->timeout_ms);
  }
  kf_exit_text(&end, text, sizeof text);
  bool exited = end.kind == KF_EXIT_CODE;
  KF_TRY(add_log(child, request, exited ? "" : text, log, err));
  if (exited && end.code >= 125 && end.code <= 127)
    return kf_fail(err, KF_EIO, "cc: cannot be run: %.200s", kf_buf_text(log));
  if (kf_exit_from_outside(&end)) return kf_fail(err, KF_EIO, "cc: killed from outside");
  if (!exited || end.code != 0) {
    *ret_object = NULL;
    *ret_len = 0;
    return KF_OK;
  }
  return read_object(request->work_dir, ret_object, ret_len, err);
}

kf_status kf_cc_compile(const kf_cc_request *request, char **ret_object, size_t *ret_len, kf_buf *log,
                        kf_err *err) {
  char compiler[KF_PATH_MAX], path[KF_PATH_MAX];
  kf_child *child = NULL;
  kf_buf words;
  KF_TRY(kf_host_cc_find(compiler, err));
  KF_TRY(kf_fs_join(path, request->work_dir, SOURCE_FILE, err));
  KF_TRY(kf_fs_write(path, request->source, request->source_len, err));
  kf_buf_init(&words, WORDS_MAX);
  kf_status status = pack_words(request, compiler, &words, err);
  if (status == KF_OK) status = start(request, &words, &child, err);
  if (status == KF_OK) status = wait_and_read(child, request, ret_object, ret_len, log, err);
  kf_child_free(child);
  kf_buf_done(&words);
  return status;
}
