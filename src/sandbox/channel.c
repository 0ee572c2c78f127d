/* channel.c - SOCK_SEQPACKET messages with descriptors, and sealed memfds. */
#include "sandbox/channel.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

kf_status kf_channel_pair(int type, int ret_fds[2], kf_err *err) {
  int fds[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0)
    return kf_fail(err, KF_EIO, "control socket: %s", strerror(errno));
  ret_fds[0] = fds[0];
  ret_fds[1] = fds[1];
  return KF_OK;
}

typedef union {
  struct cmsghdr header;
  char space[CMSG_SPACE(sizeof(int) * KF_CHANNEL_FDS_MAX)];
} fd_space;

kf_status kf_channel_send(int fd, const void *bytes, size_t len, const int *fds, int nfds, kf_err *err) {
  if (nfds < 0 || nfds > KF_CHANNEL_FDS_MAX)
    return kf_fail(err, KF_EBUG, "control socket: %d descriptors", nfds);
  fd_space control;
  memset(&control, 0, sizeof control);
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (nfds > 0) {
    message.msg_control = control.space;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
    memcpy(CMSG_DATA(head), fds, sizeof(int) * (size_t)nfds);
  }
  ssize_t sent;
  do {
    sent = sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
    return kf_fail(err, KF_EPROTO, "control socket: closed");
  if (sent < 0 || (size_t)sent != len)
    return kf_fail(err, KF_EIO, "control socket: send: %s", strerror(errno));
  return KF_OK;
}

/* Keeps the first `room` received descriptors and closes the rest. */
static int take_fds(struct msghdr *message, int *ret_fds, int room) {
  int count = 0;
  for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    size_t received = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < received; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
      if (count < room)
        ret_fds[count++] = fd;
      else
        close(fd);
    }
  }
  return count;
}

static kf_status wait_readable(int fd, int64_t deadline_ns, bool *ret_ready, kf_err *err) {
  for (;;) {
    int64_t left = deadline_ns < 0 ? 0 : deadline_ns - kf_now_ns();
    if (left < 0) left = 0;
    struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    int count = ppoll(&entry, 1, deadline_ns < 0 ? NULL : &timeout, NULL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return kf_fail(err, KF_EIO, "control socket: poll: %s", strerror(errno));
    *ret_ready = count > 0;
    return KF_OK;
  }
}

kf_status kf_channel_recv(int fd, int64_t deadline_ns, void *bytes, size_t room, size_t *ret_len,
                          int *ret_fds, int room_fds, int *ret_nfds, kf_channel_event *ret_event,
                          kf_err *err) {
  if (deadline_ns >= 0) {
    bool ready = false;
    KF_TRY(wait_readable(fd, deadline_ns, &ready, err));
    if (!ready) {
      *ret_event = KF_CHANNEL_TIMED_OUT;
      return KF_OK;
    }
  }
  fd_space control;
  struct iovec part = {.iov_base = bytes, .iov_len = room};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (room_fds > 0) {
    message.msg_control = control.space;
    message.msg_controllen = sizeof control.space;
  }
  ssize_t got;
  do {
    got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno != ECONNRESET)
    return kf_fail(err, KF_EIO, "control socket: receive: %s", strerror(errno));
  int nfds = got > 0 && room_fds > 0 ? take_fds(&message, ret_fds, room_fds) : 0;
  if (got <= 0) {
    *ret_event = KF_CHANNEL_CLOSED;
    return KF_OK;
  }
  if (message.msg_flags & MSG_TRUNC) {
    for (int i = 0; i < nfds; i++)
      close(ret_fds[i]);
    return kf_fail(err, KF_EPROTO, "control socket: a message of more than %zu bytes", room);
  }
  *ret_len = (size_t)got;
  if (ret_nfds) *ret_nfds = nfds;
  *ret_event = KF_CHANNEL_MESSAGE;
  return KF_OK;
}

kf_status kf_blob_new(const char *name, const void *bytes, size_t len, int *ret_fd, kf_err *err) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return kf_fail(err, KF_EIO, "%s: memfd: %s", name, strerror(errno));
  kf_status status = kf_fs_write_fd(fd, bytes, len, err);
  if (status == KF_OK &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    status = kf_fail(err, KF_EIO, "%s: seal: %s", name, strerror(errno));
  if (status != KF_OK) {
    close(fd);
    return status;
  }
  *ret_fd = fd;
  return KF_OK;
}

kf_status kf_blob_read(int fd, size_t max, char **ret_bytes, size_t *ret_len, kf_err *err) {
  struct stat info;
  if (fstat(fd, &info) != 0) return kf_fail(err, KF_EIO, "blob: %s", strerror(errno));
  if (info.st_size < 0 || (uint64_t)info.st_size > max)
    return kf_fail(err, KF_EPROTO, "blob: %lld bytes, at most %zu", (long long)info.st_size, max);
  size_t len = (size_t)info.st_size, done = 0;
  char *bytes = kf_alloc(len + 1);
  if (!bytes) return kf_nomem(err);
  while (done < len) {
    ssize_t got = pread(fd, bytes + done, len - done, (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      kf_free(bytes);
      return kf_fail(err, KF_EIO, "blob: read: %s", got < 0 ? strerror(errno) : "shorter than its size");
    }
    done += (size_t)got;
  }
  bytes[len] = '\0';
  *ret_bytes = bytes;
  *ret_len = len;
  return KF_OK;
}
