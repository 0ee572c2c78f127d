/* sandbox_landlock.c - the file layer: what is not listed cannot be opened, and nothing outside this domain
 * can be signalled or reached through TCP or an abstract socket. Raw system calls, since glibc has no
 * wrappers. Degrades by ABI version as Documentation/userspace-api/landlock.rst of Linux describes: rights
 * unknown to the kernel are not asked for. */
#include "sandbox/sandbox_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Later than the headers of Debian 12; values from include/uapi/linux/landlock.h. */
enum {
  ACCESS_REFER = 1 << 13,    /* ABI 2 */
  ACCESS_TRUNCATE = 1 << 14, /* ABI 3 */
  NET_BIND_TCP = 1 << 0,     /* ABI 4 */
  NET_CONNECT_TCP = 1 << 1,
  ACCESS_IOCTL_DEV = 1 << 15,     /* ABI 5 */
  SCOPE_ABSTRACT_SOCKET = 1 << 0, /* ABI 6 */
  SCOPE_SIGNAL = 1 << 1,
};

typedef struct {
  uint64_t access_fs, access_net, scoped;
} ruleset_attr;

static const uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t file_rights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                    LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_TRUNCATE;

int kf__landlock_abi(void) {
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0UL, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? (int)abi : 0;
}

static uint64_t all_rights(int abi) {
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; /* all of ABI 1 */
  if (abi >= 2) rights |= ACCESS_REFER;
  if (abi >= 3) rights |= ACCESS_TRUNCATE;
  if (abi >= 5) rights |= ACCESS_IOCTL_DEV;
  return rights;
}

static kf_status allow(int ruleset, const char *path, uint64_t rights, kf_err *err) {
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) return KF_OK;
  if (fd < 0) return kf_fail(err, KF_EIO, "sandbox: %s: %s", path, strerror(errno));
  struct stat info;
  if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) rights &= file_rights;
  struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
  long rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U);
  int reason = errno;
  close(fd);
  return rc == 0 ? KF_OK : kf_fail(err, KF_EIO, "sandbox: landlock rule for %s: %s", path, strerror(reason));
}

static kf_status allow_list(int ruleset, const char *const *paths, uint64_t rights, kf_err *err) {
  for (int i = 0; i < KF_SANDBOX_PATHS_MAX && paths[i]; i++)
    KF_TRY(allow(ruleset, paths[i], rights, err));
  return KF_OK;
}

static kf_status allow_all(int ruleset, const kf_sandbox_policy *policy, uint64_t handled, kf_err *err) {
  static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/urandom", NULL};
  uint64_t device_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
  uint64_t read_write =
      handled & ~(uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK | ACCESS_IOCTL_DEV);
  for (int i = 0; devices[i]; i++)
    KF_TRY(allow(ruleset, devices[i], device_rights, err));
  KF_TRY(allow_list(ruleset, policy->read_exec, read_rights | LANDLOCK_ACCESS_FS_EXECUTE, err));
  KF_TRY(allow_list(ruleset, policy->read_only, read_rights, err));
  return allow_list(ruleset, policy->read_write, read_write, err);
}

kf_status kf__landlock_enter(const kf_sandbox_policy *policy, bool *ret_on, kf_err *err) {
  int abi = kf__landlock_abi();
  if (abi == 0) {
    *ret_on = false;
    return KF_OK;
  }
  ruleset_attr attr = {.access_fs = all_rights(abi)};
  size_t size = sizeof attr.access_fs;
  if (abi >= 4) {
    attr.access_net = NET_BIND_TCP | NET_CONNECT_TCP;
    size = sizeof attr.access_fs + sizeof attr.access_net;
  }
  if (abi >= 6) {
    attr.scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
    size = sizeof attr;
  }
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0U);
  if (ruleset < 0) return kf_fail(err, KF_EIO, "sandbox: landlock: %s", strerror(errno));
  kf_status status = allow_all(ruleset, policy, attr.access_fs, err);
  if (status == KF_OK && syscall(SYS_landlock_restrict_self, ruleset, 0U) != 0)
    status = kf_fail(err, KF_EIO, "sandbox: landlock: %s", strerror(errno));
  close(ruleset);
  if (status == KF_OK) *ret_on = true;
  return status;
}
