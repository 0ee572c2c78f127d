/* sandbox_seccomp.c - the system call layer: allow-lists. What is not listed fails with EPERM, without side
 * effects.
 *
 * Nothing in the lists names another process (docs/internals/cheats.md, row 37): no kill, ptrace, process_vm,
 * pidfd, prlimit of others, priorities or affinity; also not through fcntl (F_SETOWN would send SIGIO to any
 * process) or ioctl (FIOSETOWN). clone3 answers ENOSYS because its flags lie in memory where a filter cannot
 * see them: glibc then uses clone. */
#include "sandbox/sandbox_internal.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* Linux 5.17; glibc and malloc name their mappings with it */
#endif

/* Memory, files, time, threads and signals of the process itself. Landlock decides which files are opened,
 * made, renamed and removed. It knows no right for modes and times, and truncation by path only from ABI 3
 * on: so nothing here changes the content, mode or times of a file that was not opened for writing (fchmod
 * and futimens work on descriptors that are only open for reading, hence are left out too). Compilers do
 * without them. */
static const char *const common_calls[] = {"read",
                                           "write",
                                           "readv",
                                           "writev",
                                           "pread64",
                                           "pwrite64",
                                           "preadv",
                                           "pwritev",
                                           "open",
                                           "openat",
                                           "close",
                                           "close_range",
                                           "lseek",
                                           "stat",
                                           "fstat",
                                           "lstat",
                                           "newfstatat",
                                           "statx",
                                           "statfs",
                                           "fstatfs",
                                           "access",
                                           "faccessat",
                                           "faccessat2",
                                           "readlink",
                                           "readlinkat",
                                           "getdents",
                                           "getdents64",
                                           "getcwd",
                                           "chdir",
                                           "fchdir",
                                           "mkdir",
                                           "mkdirat",
                                           "rmdir",
                                           "unlink",
                                           "unlinkat",
                                           "rename",
                                           "renameat",
                                           "renameat2",
                                           "link",
                                           "linkat",
                                           "symlink",
                                           "symlinkat",
                                           "ftruncate",
                                           "fallocate",
                                           "fadvise64",
                                           "fsync",
                                           "fdatasync",
                                           "sync_file_range",
                                           "flock",
                                           "umask",
                                           "copy_file_range",
                                           "sendfile",
                                           "dup",
                                           "dup2",
                                           "dup3",
                                           "pipe",
                                           "pipe2",
                                           "poll",
                                           "ppoll",
                                           "select",
                                           "pselect6",
                                           "epoll_create1",
                                           "epoll_ctl",
                                           "epoll_wait",
                                           "epoll_pwait",
                                           "eventfd2",
                                           "recvmsg",
                                           "recvfrom",
                                           "mmap",
                                           "mprotect",
                                           "munmap",
                                           "mremap",
                                           "madvise",
                                           "mincore",
                                           "msync",
                                           "brk",
                                           "rt_sigaction",
                                           "rt_sigprocmask",
                                           "rt_sigreturn",
                                           "rt_sigpending",
                                           "rt_sigsuspend",
                                           "rt_sigtimedwait",
                                           "sigaltstack",
                                           "alarm",
                                           "setitimer",
                                           "getitimer",
                                           "pause",
                                           "nanosleep",
                                           "clock_nanosleep",
                                           "clock_gettime",
                                           "clock_getres",
                                           "gettimeofday",
                                           "time",
                                           "times",
                                           "getrusage",
                                           "getpid",
                                           "gettid",
                                           "getuid",
                                           "geteuid",
                                           "getgid",
                                           "getegid",
                                           "getgroups",
                                           "getresuid",
                                           "getresgid",
                                           "uname",
                                           "sysinfo",
                                           "getcpu",
                                           "getrandom",
                                           "sched_yield",
                                           "futex",
                                           "set_robust_list",
                                           "set_tid_address",
                                           "rseq",
                                           "membarrier",
                                           "arch_prctl",
                                           "restart_syscall",
                                           "exit",
                                           "exit_group",
                                           "getrlimit",
                                           NULL};

/* Compilers start other programs and wait for them. */
static const char *const builder_calls[] = {"fork",    "vfork",   "execve",  "execveat", "wait4", "waitid",
                                            "getppid", "getpgrp", "getpgid", "getsid",   NULL};

static int allow(scmp_filter_ctx filter, int call, unsigned count, const struct scmp_arg_cmp *args) {
  return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, count, args);
}

/* Names that this architecture does not have are skipped: a negative number is libseccomp's pseudo call. */
static int allow_names(scmp_filter_ctx filter, const char *const *names) {
  for (int i = 0; names[i]; i++) {
    int call = seccomp_syscall_resolve_name(names[i]);
    if (call < 0) continue;
    int rc = allow(filter, call, 0, NULL);
    if (rc != 0) return rc;
  }
  return 0;
}

/* allow `call` when argument `index` is one of these values. */
static int allow_values(scmp_filter_ctx filter, int call, unsigned index, const uint64_t *values,
                        size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct scmp_arg_cmp match = {
        .arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = values[i]};
    int rc = allow(filter, call, 1, &match);
    if (rc != 0) return rc;
  }
  return 0;
}

/* raise and abort, and what glibc sends to threads (32 cancels, 33 changes ids); another process's threads
 * cannot be named. Not SIGKILL: who ends by that was ended by others. */
static int allow_own_signals(scmp_filter_ctx filter, uint64_t self) {
  static const uint64_t signals[] = {SIGABRT, SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                     SIGTRAP, SIGTERM, SIGUSR1, 32,     33};
  int rc = 0;
  for (size_t i = 0; i < KF_COUNTOF(signals) && rc == 0; i++) {
    struct scmp_arg_cmp match[] = {
        {.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = self},
        {.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = signals[i]}};
    rc = allow(filter, SCMP_SYS(tgkill), 2, match);
  }
  return rc;
}

static int allow_conditional(scmp_filter_ctx filter) {
  const uint64_t self = (uint64_t)getpid(), self_or_zero[] = {0, (uint64_t)getpid()};
  const uint64_t controls[] = {F_DUPFD,      F_GETFD,         F_SETFD,      F_GETFL,     F_SETFL,
                               F_GETLK,      F_SETLK,         F_SETLKW,     F_OFD_GETLK, F_OFD_SETLK,
                               F_OFD_SETLKW, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_GET_SEALS};
  const uint64_t ioctls[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
  const uint64_t prctls[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_GET_DUMPABLE};
  int rc = allow_own_signals(filter, self);
  if (rc == 0) rc = allow_values(filter, SCMP_SYS(fcntl), 1, controls, KF_COUNTOF(controls));
  if (rc == 0) rc = allow_values(filter, SCMP_SYS(ioctl), 1, ioctls, KF_COUNTOF(ioctls));
  if (rc == 0) rc = allow_values(filter, SCMP_SYS(prctl), 0, prctls, KF_COUNTOF(prctls));
  /* Only reads; glibc asks it of each thread by number (pthread_getattr_np), which no filter can tell from a
   * process. */
  if (rc == 0) rc = allow(filter, SCMP_SYS(sched_getaffinity), 0, NULL);
  if (rc == 0) rc = allow_values(filter, SCMP_SYS(sched_getparam), 0, self_or_zero, KF_COUNTOF(self_or_zero));
  if (rc == 0)
    rc = allow_values(filter, SCMP_SYS(sched_getscheduler), 0, self_or_zero, KF_COUNTOF(self_or_zero));
  return rc;
}

/* Threads are clones that share everything and are no new process. */
static int allow_threads(scmp_filter_ctx filter) {
  const uint64_t shared = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
  struct scmp_arg_cmp match[] = {{.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = shared, .datum_b = shared}};
  return allow(filter, SCMP_SYS(clone), 1, match);
}

/* Reading one's own limits, never setting any. */
static int allow_own_limits(scmp_filter_ctx filter) {
  struct scmp_arg_cmp own[] = {{.arg = 0, .op = SCMP_CMP_EQ, .datum_a = 0},
                               {.arg = 2, .op = SCMP_CMP_EQ, .datum_a = 0}};
  return allow(filter, SCMP_SYS(prlimit64), 2, own);
}

static int allow_processes(scmp_filter_ctx filter) {
  const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                              CLONE_NEWPID | CLONE_NEWNET | CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED;
  struct scmp_arg_cmp match[] = {{.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = namespaces, .datum_b = 0}};
  int rc = allow(filter, SCMP_SYS(clone), 1, match);
  if (rc != 0) return rc;
  struct scmp_arg_cmp own[] = {{.arg = 0, .op = SCMP_CMP_EQ, .datum_a = 0}};
  rc = allow(filter, SCMP_SYS(prlimit64), 1, own);
  return rc != 0 ? rc : allow_names(filter, builder_calls);
}

bool kf__seccomp_available(void) {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

kf_status kf__seccomp_enter(kf_sandbox_profile profile, bool *ret_on, kf_err *err) {
  if (!kf__seccomp_available()) {
    *ret_on = false;
    return KF_OK;
  }
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return kf_nomem(err);
  /* A call by another architecture's table is no mistake of a compiler. */
  int rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (rc == 0) rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  if (rc == 0)
    rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree instead of a chain */
  if (rc == 0) rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  if (rc == 0) rc = allow_names(filter, common_calls);
  if (rc == 0) rc = allow_conditional(filter);
  if (rc == 0) rc = profile == KF_PROFILE_BUILDER ? allow_processes(filter) : allow_own_limits(filter);
  if (rc == 0 && (profile == KF_PROFILE_RUNNER || profile == KF_PROFILE_ORACLE)) rc = allow_threads(filter);
  if (rc == 0) rc = seccomp_load(filter);
  seccomp_release(filter);
  if (rc != 0) return kf_fail(err, KF_EIO, "sandbox: seccomp: %s", strerror(-rc));
  *ret_on = true;
  return KF_OK;
}
