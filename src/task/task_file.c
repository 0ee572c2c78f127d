/* task_file.c - opens component by component with O_NOFOLLOW, so that no link leads out of the package. */
#include "task/task_file.h"

#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kf_status open_failure(const char *path, int error, kf_err *err) {
  if (error == ENOENT) return kf_fail(err, KF_EREFUSED, "file \"%.200s\" is not in the package", path);
  if (error == ELOOP || error == ENOTDIR)
    return kf_fail(err, KF_EREFUSED, "file \"%.200s\" is, or lies behind, a symbolic link or is no folder",
                   path);
  return kf_fail(err, KF_EREFUSED, "file \"%.200s\" could not be opened: %s", path, strerror(error));
}

kf_status kf__task_fd_read(int fd, const char *path, kf_buf *buf, kf_err *err) {
  struct stat info;
  kf_status status = KF_OK;
  if (fstat(fd, &info) != 0)
    status = kf_fail(err, KF_EIO, "file \"%.200s\": %s", path, strerror(errno));
  else if (!S_ISREG(info.st_mode))
    status = kf_fail(err, KF_EREFUSED, "\"%.200s\" is not a regular file", path);
  while (status == KF_OK) {
    /* One byte beyond the limit is asked for, so that a file that grew is noticed. */
    char chunk[16384];
    ssize_t got = read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = kf_fail(err, KF_EIO, "file \"%.200s\": %s", path, strerror(errno));
    if (got <= 0) break;
    if ((size_t)got > buf->max - buf->len)
      status = kf_fail(err, KF_EREFUSED, "file \"%.200s\" is larger than %zu bytes", path, buf->max);
    else
      status = kf_buf_append(buf, chunk, (size_t)got, err);
  }
  close(fd);
  return status;
}

kf_status kf__task_file_read(int dir_fd, const char *path, kf_buf *buf, kf_err *err) {
  if (strlen(path) >= KF_PATH_MAX || !kf_fs_is_plain_relative(path)) {
    kf_status status = kf_fail(err, KF_EREFUSED, "\"%.200s\" is not a plain path inside the package", path);
    return kf_err_hint(err, status, "copy the file into the folder and name it relative to task.yaml");
  }
  int parent = dir_fd;
  const char *rest = path;
  for (;;) {
    char component[KF_PATH_MAX];
    size_t len = strcspn(rest, "/");
    memcpy(component, rest, len);
    component[len] = '\0';
    rest += len;
    rest += strspn(rest, "/");
    bool is_last = *rest == '\0';
    /* O_NONBLOCK: a FIFO must not hold the program. */
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (is_last ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY);
    int fd = openat(parent, component, flags);
    int error = errno;
    if (parent != dir_fd) close(parent);
    if (fd < 0) return open_failure(path, error, err);
    if (is_last) return kf__task_fd_read(fd, path, buf, err);
    parent = fd;
  }
}
