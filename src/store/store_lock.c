/* store_lock.c - what must hold before a database is opened: SQLite's memory, the disk below it, the one
 * writer. */
#include "store/store_int.h"

#include "base/alloc.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/banned.h"

/* ---- memory: SQLite asks for the size of a block, so each carries its own in front ---- */

enum { HEADER = 16 };

static void *sqlite_malloc(int size) {
  if (size <= 0) return NULL;
  char *block = kf_alloc((size_t)size + HEADER);
  if (block == NULL) return NULL;
  memcpy(block, &size, sizeof size);
  return block + HEADER;
}

static void sqlite_free(void *ptr) {
  if (ptr != NULL) kf_free((char *)ptr - HEADER);
}

static int sqlite_size(void *ptr) {
  int size = 0;
  if (ptr != NULL) memcpy(&size, (char *)ptr - HEADER, sizeof size);
  return size;
}

static void *sqlite_realloc(void *ptr, int size) {
  char *block = kf_realloc((char *)ptr - HEADER, (size_t)size + HEADER);
  if (block == NULL) return NULL;
  memcpy(block, &size, sizeof size);
  return block + HEADER;
}

static int sqlite_roundup(int size) {
  return (size + 7) & ~7;
}

static int sqlite_memory_begin(void *context) {
  (void)context;
  return SQLITE_OK;
}

static void sqlite_memory_end(void *context) {
  (void)context;
}

static int memory_code = SQLITE_OK; /* written under the once below, constant afterwards */

static void memory_once(void) {
  static const sqlite3_mem_methods methods = {
      sqlite_malloc,  sqlite_free,         sqlite_realloc,    sqlite_size,
      sqlite_roundup, sqlite_memory_begin, sqlite_memory_end, NULL,
  };
  memory_code = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

kf_status kf__store_memory_init(kf_err *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, memory_once);
  if (memory_code != SQLITE_OK) return kf_fail(err, KF_EBUG, "SQLite was used before the store");
  /* Repeated until it succeeds: a first try may have met a failing allocation. */
  int code = sqlite3_initialize();
  if (code == SQLITE_NOMEM) return kf_nomem(err);
  return code == SQLITE_OK ? KF_OK : kf_fail(err, KF_EIO, "SQLite: %s", sqlite3_errstr(code));
}

/* ---- the disk: WAL shares memory between processes, which no network file system does ---- */

static const struct {
  uint32_t type; /* statfs.f_type: linux/magic.h and the file systems' own sources */
  const char *name;
} network_file_systems[] = {
    {0x6969, "nfs"},      {0x517b, "smb"},        {0xfe534d42, "smb2"},   {0xff534d42, "cifs"},
    {0x01021997, "9p"},   {0x65735546, "fuse"},   {0x00c36400, "ceph"},   {0x5346414f, "afs"},
    {0x73757245, "coda"}, {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"},   {0x7461636f, "ocfs2"},
    {0x01161970, "gfs2"}, {0x564c, "ncp"},        {0x19830326, "beegfs"}, {0xaad7aaea, "panfs"},
};

static const char *network_name(uint64_t type) {
  for (size_t i = 0; i < KF_COUNTOF(network_file_systems); i++)
    if (network_file_systems[i].type == (uint32_t)type) return network_file_systems[i].name;
  return NULL;
}

bool kf__store_is_network(uint64_t file_system_type) {
  return network_name(file_system_type) != NULL;
}

kf_status kf__store_check_disk(const char *path, kf_err *err) {
  char folder[KF_PATH_MAX];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s",
           slash == NULL   ? 1
           : slash == path ? 1
                           : (int)(slash - path),
           slash == NULL ? "." : path);
  struct statfs disk;
  if (statfs(path, &disk) != 0 && statfs(folder, &disk) != 0)
    return kf_fail(err, errno == ENOENT ? KF_ENOTFOUND : KF_EIO, "%s: %s", folder, strerror(errno));
  const char *name = network_name((uint64_t)disk.f_type);
  if (name == NULL) return KF_OK;
  kf_fail(err, KF_EINVAL, "%s: lies on a network file system (%s), where a run database is not safe", path,
          name);
  return kf_err_hint(err, KF_EINVAL, "name a path on a local disk with --db PATH");
}

/* ---- one writer a run ---- */

static kf_status lock_held(const char *path, int fd, kf_err *err) {
  char pid[24] = "";
  ssize_t len = pread(fd, pid, sizeof pid - 1, 0);
  while (len > 0 && (pid[len - 1] < '0' || pid[len - 1] > '9'))
    len--;
  pid[len > 0 ? len : 0] = '\0';
  kf_fail(err, KF_EINVAL, "%s: is being written by process %s", path, pid[0] != '\0' ? pid : "(unknown)");
  return kf_err_hint(err, KF_EINVAL, "wait for it to end, or stop it with Ctrl-C");
}

kf_status kf__store_lock(const char *path, int *ret_fd, kf_err *err) {
  char name[KF_PATH_MAX];
  snprintf(name, sizeof name, "%s-lock", path);
  int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return kf_fail(err, KF_EIO, "%s: %s", name, strerror(errno));
  kf_status status = KF_OK;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    status = errno == EWOULDBLOCK ? lock_held(path, fd, err)
                                  : kf_fail(err, KF_EIO, "%s: %s", name, strerror(errno));
    close(fd);
    return status;
  }
  /* The pid is for people; the lock itself is the kernel's and dies with us. */
  char pid[24];
  int len = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)len, 0) != len) {
    status = kf_fail(err, KF_EIO, "%s: %s", name, strerror(errno));
    close(fd);
    return status;
  }
  *ret_fd = fd;
  return KF_OK;
}
