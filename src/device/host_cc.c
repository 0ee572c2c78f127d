/* host_cc.c - finding and running the system's C compiler. */
#include "device/host_cc.h"

#include "base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

kf_status kf_host_cc_find(char ret_path[KF_PATH_MAX], kf_err *err) {
  static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
  const char *name = getenv("KF_CC");
  if (!name || !*name) name = "cc";
  if (name[0] == '/') {
    snprintf(ret_path, KF_PATH_MAX, "%s", name);
    if (access(ret_path, X_OK) == 0) return KF_OK;
  }
  for (size_t i = 0; name[0] != '/' && i < KF_COUNTOF(folders); i++) {
    if (kf_fs_join(ret_path, folders[i], name, err) == KF_OK && access(ret_path, X_OK) == 0) return KF_OK;
  }
  return kf_err_hint(err, kf_fail(err, KF_ENODEV, "no C compiler: %s is not there", name),
                     "install gcc (Debian, Ubuntu), or set KF_CC to a compiler");
}

static kf_status spawn_into(char *const *argv, int write_end, pid_t *ret_pid, kf_err *err) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return kf_nomem(err);
  int rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (rc == 0) rc = posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
  if (rc == 0) rc = posix_spawn_file_actions_adddup2(&actions, write_end, STDERR_FILENO);
  if (rc == 0) rc = posix_spawn(ret_pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return rc == 0 ? KF_OK : kf_fail(err, KF_EIO, "%s: %s", argv[0], strerror(rc));
}

/* To the end of the stream, so that the program is never blocked; what the buffer does not take is dropped.
 */
static kf_status drain(int fd, kf_buf *output, kf_err *err) {
  for (;;) {
    char part[4096];
    ssize_t got = read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return KF_OK;
    size_t room = output->max - output->len;
    KF_TRY(kf_buf_append(output, part, (size_t)got < room ? (size_t)got : room, err));
  }
}

kf_status kf_host_cc_run(char *const *argv, kf_buf *output, int *ret_code, kf_err *err) {
  int fds[2], state = 0;
  pid_t pid = -1;
  if (pipe2(fds, O_CLOEXEC) != 0) return kf_fail(err, KF_EIO, "pipe: %s", strerror(errno));
  kf_status status = spawn_into(argv, fds[1], &pid, err);
  close(fds[1]);
  if (status == KF_OK) status = drain(fds[0], output, err);
  close(fds[0]);
  while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR)
    continue;
  if (status == KF_OK) *ret_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return status;
}

void kf_host_cc_version(const char *compiler, char *ret_text, size_t size) {
  char path[KF_PATH_MAX], option[] = "--version";
  char *argv[] = {path, option, NULL};
  int code = 0;
  kf_buf output KF_CLEANUP(kf_buf_done);
  kf_buf_init(&output, 4096);
  snprintf(path, sizeof path, "%s", compiler);
  ret_text[0] = '\0';
  if (kf_host_cc_run(argv, &output, &code, NULL) != KF_OK || code != 0) return;
  snprintf(ret_text, size, "%.*s", (int)strcspn(kf_buf_text(&output), "\n"), kf_buf_text(&output));
}
