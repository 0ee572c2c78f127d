/* fs.c - whole-file reads with a limit, atomic writes, folders and paths. Removing trees is in fs_tree.c. */
#include "base/fs.h"

#include "base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { READ_CHUNK = 65536 };

static kf_status io_failure(kf_err *err, const char *action, const char *path, int error) {
  kf_status code = error == ENOENT ? KF_ENOTFOUND : error == ENOMEM ? KF_ENOMEM : KF_EIO;
  return kf_fail(err, code, "could not %s \"%s\": %s", action, path, strerror(error));
}

static ssize_t read_some(int fd, void *bytes, size_t len) {
  ssize_t n;
  do
    n = read(fd, bytes, len);
  while (n < 0 && errno == EINTR);
  return n;
}

static kf_status read_all(int fd, const char *path, kf_buf *buf, kf_err *err) {
  for (;;) {
    size_t chunk = buf->max - buf->len < READ_CHUNK ? buf->max - buf->len : READ_CHUNK;
    if (chunk == 0) break;
    KF_TRY(kf_buf_reserve(buf, chunk, err));
    ssize_t n = read_some(fd, buf->data + buf->len, chunk);
    if (n < 0) return io_failure(err, "read", path, errno);
    if (n == 0) return KF_OK;
    buf->len += (size_t)n;
  }
  char extra;
  ssize_t n = read_some(fd, &extra, 1);
  if (n < 0) return io_failure(err, "read", path, errno);
  if (n > 0) return kf_fail(err, KF_EINVAL, "\"%s\" is over the limit of %zu bytes", path, buf->max);
  return KF_OK;
}

static kf_status read_opened(int take_fd, const char *path, kf_buf *buf, kf_err *err) {
  size_t len_before = buf->len;
  kf_status status = read_all(take_fd, path, buf, err);
  close(take_fd);
  if (status != KF_OK && buf->data != NULL) {
    buf->len = len_before;
    buf->data[len_before] = '\0';
  }
  return status;
}

kf_status kf_fs_read(const char *path, kf_buf *buf, kf_err *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_failure(err, "open", path, errno);
  return read_opened(fd, path, buf, err);
}

kf_status kf_fs_read_regular(const char *path, kf_buf *buf, kf_err *err) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno != ELOOP) return io_failure(err, "open", path, errno);
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    if (fd >= 0) close(fd);
    return kf_fail(err, KF_EINVAL, "\"%s\" is no regular file", path);
  }
  return read_opened(fd, path, buf, err);
}

kf_status kf_fs_write_fd(int fd, const void *bytes, size_t len, kf_err *err) {
  const char *next = bytes;
  while (len > 0) {
    ssize_t n = write(fd, next, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return kf_fail(err, KF_EIO, "could not write: %s", strerror(errno));
    next += n;
    len -= (size_t)n;
  }
  return KF_OK;
}

/* The rename is durable once the folder is; some file systems cannot sync one, and then nothing is lost but
 * the promise, so the result is not judged. */
static void sync_folder_of(const char *path) {
  char dir[KF_PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL)
    snprintf(dir, sizeof dir, ".");
  else
    snprintf(dir, sizeof dir, "%.*s", (int)(slash - path + 1), path);
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

static kf_status fill_and_rename(int fd, const char *temporary, const char *path, const void *bytes,
                                 size_t len, kf_err *err) {
  kf_status status = kf_fs_write_fd(fd, bytes, len, err);
  if (status != KF_OK) kf_err_context(err, status, "\"%s\"", path);
  if (status == KF_OK && fsync(fd) != 0) status = io_failure(err, "sync", path, errno);
  if (close(fd) != 0 && status == KF_OK) status = io_failure(err, "close", path, errno);
  if (status == KF_OK && rename(temporary, path) != 0) status = io_failure(err, "replace", path, errno);
  if (status != KF_OK) unlink(temporary);
  return status;
}

kf_status kf_fs_write(const char *path, const void *bytes, size_t len, kf_err *err) {
  /* The number keeps two threads that write the same file apart. */
  static atomic_uint writes;
  char temporary[KF_PATH_MAX];
  unsigned number = atomic_fetch_add(&writes, 1);
  int n = snprintf(temporary, sizeof temporary, "%s.tmp-%ld-%u", path, (long)getpid(), number);
  if (n < 0 || (size_t)n >= sizeof temporary)
    return kf_fail(err, KF_EINVAL, "path of %zu characters is too long", strlen(path));
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int fd = open(temporary, flags, 0666);
  if (fd < 0 && errno == EEXIST) {
    /* Left by a dead process that had our number. */
    unlink(temporary);
    fd = open(temporary, flags, 0666);
  }
  if (fd < 0) return io_failure(err, "create", temporary, errno);
  KF_TRY(fill_and_rename(fd, temporary, path, bytes, len, err));
  sync_folder_of(path);
  return KF_OK;
}

kf_status kf_fs_mkdirs(const char *path, kf_err *err) {
  char part[KF_PATH_MAX];
  size_t len = strlen(path);
  if (len == 0) return kf_fail(err, KF_EINVAL, "empty path of a folder");
  if (len >= sizeof part) return kf_fail(err, KF_EINVAL, "path of %zu characters is too long", len);
  memcpy(part, path, len + 1);
  for (size_t i = 1; i <= len; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    part[i] = '\0';
    if (mkdir(part, 0777) != 0 && errno != EEXIST && !kf_fs_is_dir(part))
      return io_failure(err, "create folder", part, errno);
    part[i] = path[i];
  }
  if (!kf_fs_is_dir(path)) return io_failure(err, "create folder", path, ENOTDIR);
  return KF_OK;
}

void kf_fs_keep_standard_fds(void) {
  /* From 0 up: open gives the lowest free number. Inherited by children, like the ones that were there. */
  for (int fd = 0; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    int filled = open("/dev/null", O_RDWR); /* stays open for good */
    if (filled < 0) return;
  }
}

void kf_fs_close_pair(const int fds[2]) {
  for (int i = 0; i < 2; i++)
    if (fds[i] >= 0) close(fds[i]);
}

bool kf_fs_exists(const char *path) {
  return access(path, F_OK) == 0;
}

bool kf_fs_is_dir(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

kf_status kf_fs_join(char ret_path[KF_PATH_MAX], const char *dir, const char *name, kf_err *err) {
  char path[KF_PATH_MAX]; /* apart, because ret_path may be `dir` */
  size_t len = strlen(dir);
  const char *slash = len > 0 && dir[len - 1] == '/' ? "" : "/";
  int n = snprintf(path, sizeof path, "%s%s%s", dir, slash, name);
  if (n < 0 || (size_t)n >= sizeof path)
    return kf_fail(err, KF_EINVAL, "path \"%.60s...\" is longer than %d characters", dir, KF_PATH_MAX - 1);
  memcpy(ret_path, path, (size_t)n + 1);
  return KF_OK;
}

bool kf_fs_is_plain_relative(const char *path) {
  if (strnlen(path, KF_PATH_MAX) >= KF_PATH_MAX) return false;
  for (const char *part = path;;) {
    size_t len = strcspn(part, "/");
    /* An empty part is a leading, doubled or trailing slash, or an empty path. */
    if (len == 0 || (len == 2 && part[0] == '.' && part[1] == '.')) return false;
    if (part[len] == '\0') return true;
    part += len + 1;
  }
}

kf_status kf_fs_mkdtemp(char ret_path[KF_PATH_MAX], const char *prefix, kf_err *err) {
  const char *base = getenv("TMPDIR");
  if (base == NULL || base[0] == '\0') base = "/tmp";
  char path[KF_PATH_MAX];
  int n = snprintf(path, sizeof path, "%s/%s-XXXXXX", base, prefix);
  if (n < 0 || (size_t)n >= sizeof path || strchr(prefix, '/') != NULL)
    return kf_fail(err, KF_EINVAL, "no temporary folder can be named after \"%.60s\"", prefix);
  if (mkdtemp(path) == NULL) {
    kf_status status = kf_fail(err, KF_EIO, "could not create a folder in \"%s\": %s", base, strerror(errno));
    return kf_err_hint(err, status, "set TMPDIR to a folder that can be written");
  }
  memcpy(ret_path, path, (size_t)n + 1);
  return KF_OK;
}

kf_status kf_fs_self_dir(char ret_path[KF_PATH_MAX], kf_err *err) {
  char path[KF_PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n < 0) return kf_fail(err, KF_EIO, "could not find the running program: %s", strerror(errno));
  path[n] = '\0';
  char *slash = strrchr(path, '/');
  if (slash == NULL) return kf_fail(err, KF_EIO, "could not find the running program: \"%s\"", path);
  slash[slash == path ? 1 : 0] = '\0';
  memcpy(ret_path, path, strlen(path) + 1);
  return KF_OK;
}
