/* device_lock.c - one measurement at a time on a physical device, across all processes and users of the
 * machine.
 *
 * The folder is shared and world-writable (sticky), so nothing in it is trusted: links are not followed, the
 * file must be a plain one with one name, and after locking it must still be the file of that name. Files are
 * opened before they are created, because Linux (fs.protected_regular) refuses O_CREAT on another user's file
 * in such a folder. */
#include "device/device.h"

#include "base/alloc.h"
#include "base/clock.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct kf_device_lock {
  int fd;
};

enum { RETRY_MS = 10 };

static const char *lock_dir(void) {
  const char *dir = getenv("KF_LOCK_DIR");
  return dir && *dir ? dir : "/tmp/kf-locks";
}

static kf_status open_dir(int *ret_fd, kf_err *err) {
  const char *dir = lock_dir();
  if (mkdir(dir, 0700) == 0) {
    /* Not through umask. Another user's process that comes before this line finds the folder closed and fails
     * with KF_EIO: once in the life of a folder. */
    if (chmod(dir, 01777) != 0) return kf_fail(err, KF_EIO, "%s: chmod: %s", dir, strerror(errno));
  } else if (errno != EEXIST) {
    return kf_err_hint(err, kf_fail(err, KF_EIO, "%s: %s", dir, strerror(errno)),
                       "set KF_LOCK_DIR to a folder all users share");
  }
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return kf_fail(err, KF_EIO, "lock folder %s: %s", dir, strerror(errno));
  *ret_fd = fd;
  return KF_OK;
}

/* "gpu-0000:01:00.0" -> "gpu-0000_01_00.0.lock" */
static void file_name(const char *physical, char *ret_name, size_t size) {
  snprintf(ret_name, size, "%.100s.lock", physical);
  for (char *c = ret_name; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-' && *c != '_') *c = '_';
  if (ret_name[0] == '.') ret_name[0] = '_';
}

static kf_status open_file(int dir, const char *name, int *ret_fd, kf_err *err) {
  enum { FLAGS = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK };
  int fd = openat(dir, name, FLAGS);
  if (fd < 0 && errno == ENOENT) {
    fd = openat(dir, name, FLAGS | O_CREAT | O_EXCL, 0666);
    if (fd >= 0 && fchmod(fd, 0666) != 0) {
      int reason = errno;
      close(fd);
      return kf_fail(err, KF_EIO, "lock %s: chmod: %s", name, strerror(reason));
    }
    if (fd < 0 && errno == EEXIST) fd = openat(dir, name, FLAGS);
  }
  struct stat info;
  if (fd < 0) return kf_fail(err, KF_EIO, "lock %s in %s: %s", name, lock_dir(), strerror(errno));
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink > 1) {
    close(fd);
    return kf_fail(err, KF_EIO, "lock %s in %s: not a plain file", name, lock_dir());
  }
  *ret_fd = fd;
  return KF_OK;
}

/* Is this descriptor still what the name stands for? Someone may have removed the file meanwhile. */
static bool is_current(int dir, const char *name, int fd) {
  struct stat mine, named;
  return fstat(fd, &mine) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

static void write_holder(int fd) {
  char text[32];
  int len = snprintf(text, sizeof text, "%d\n", (int)getpid());
  /* Only for the message of those who wait: the lock holds without it. */
  if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)len, 0) != len) (void)!ftruncate(fd, 0);
}

static kf_status busy(int fd, const char *physical, int64_t timeout_ms, kf_err *err) {
  char text[32] = "";
  ssize_t len = pread(fd, text, sizeof text - 1, 0);
  long holder = len > 0 ? strtol(text, NULL, 10) : 0;
  kf_status status = kf_fail(err, KF_ETIMEOUT, "device %s: in use by process %ld for more than %lld ms",
                             physical, holder, (long long)timeout_ms);
  return kf_err_hint(err, status, "one measurement at a time: wait for it, or stop that process");
}

static kf_status try_lock(int dir, const char *name, bool *ret_locked, int *ret_fd, kf_err *err) {
  int fd = -1;
  KF_TRY(open_file(dir, name, &fd, err));
  *ret_locked = false;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    *ret_locked = is_current(dir, name, fd);
  } else if (errno != EWOULDBLOCK && errno != EINTR) {
    kf_status status = kf_fail(err, KF_EIO, "lock %s: %s", name, strerror(errno));
    close(fd);
    return status;
  }
  *ret_fd = fd;
  return KF_OK;
}

kf_status kf_device_lock_take(const char *physical, int64_t timeout_ms, kf_device_lock **ret_lock,
                              kf_err *err) {
  char name[128];
  int dir = -1, fd = -1;
  int64_t deadline_ms = kf_now_ms() + timeout_ms;
  bool locked = false;
  file_name(physical, name, sizeof name);
  kf_device_lock *lock = kf_alloc(sizeof *lock);
  if (!lock) return kf_nomem(err);
  kf_status status = KF_OK;
  KF_GO(open_dir(&dir, err));
  for (;;) {
    KF_GO(try_lock(dir, name, &locked, &fd, err));
    if (locked) break;
    if (kf_now_ms() >= deadline_ms) {
      status = busy(fd, physical, timeout_ms, err);
      close(fd);
      goto out;
    }
    close(fd);
    kf_sleep_ms(RETRY_MS);
  }
  write_holder(fd);
  lock->fd = fd;
  *ret_lock = lock;
out:
  if (dir >= 0) close(dir);
  if (status != KF_OK) kf_free(lock);
  return status;
}

void kf_device_lock_free(kf_device_lock *lock) {
  if (!lock) return;
  close(lock->fd);
  kf_free(lock);
}
