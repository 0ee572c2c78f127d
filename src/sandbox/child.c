/* child.c - starting children: descriptors, limits, priority and environment are in place before the program
 * runs. Between fork and exec only async-signal-safe calls are made, since the judge may have threads. */
#include "sandbox/child_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static kf_child *registry;

typedef struct {
  void (*visit)(pid_t pid, void *context);
  void *context;
  pid_t self, own_group;
} stray_search;

static bool is_known_group(pid_t group) {
  for (kf_child *child = registry; child; child = child->next)
    if (child->pid == group) return true;
  return false;
}

static void look_for_stray(pid_t pid, pid_t parent, pid_t group, void *context) {
  stray_search *search = context;
  if (parent != search->self || group == search->own_group || is_known_group(group)) return;
  search->visit(pid, search->context);
}

void kf__child_each_stray(void (*visit)(pid_t pid, void *context), void *context) {
  stray_search search = {.visit = visit, .context = context, .self = getpid(), .own_group = getpgrp()};
  pthread_mutex_lock(&registry_lock);
  kf__proc_each(look_for_stray, &search);
  pthread_mutex_unlock(&registry_lock);
}

static void registry_remove(kf_child *child) {
  pthread_mutex_lock(&registry_lock);
  kf_child **place = &registry;
  while (*place && *place != child)
    place = &(*place)->next;
  if (*place) *place = child->next;
  pthread_mutex_unlock(&registry_lock);
}

/* Output goes to a memfd that cannot grow: writes beyond its end fail and nobody has to drain it. */
static kf_status make_output(int *ret_fd, kf_err *err) {
  int fd = memfd_create("kf-output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return kf_fail(err, KF_EIO, "child output: memfd: %s", strerror(errno));
  if (ftruncate(fd, KF_CHILD_OUTPUT_MAX) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    close(fd);
    return kf_fail(err, KF_EIO, "child output: %s", strerror(errno));
  }
  *ret_fd = fd;
  return KF_OK;
}

static bool limit(__rlimit_resource_t resource, int64_t bytes) {
  struct rlimit value = {.rlim_cur = (rlim_t)bytes, .rlim_max = (rlim_t)bytes};
  return bytes <= 0 || setrlimit(resource, &value) == 0;
}

static bool close_from(int first) {
  if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0) return true;
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return false;
  for (int fd = first; (rlim_t)fd < files.rlim_cur; fd++)
    close(fd);
  return true;
}

/* Puts the descriptors at 0..2, 3.. and the report pipe behind them. Everything is first moved out of the
 * way, above any target. Returns the report pipe's new number, -1 on failure. */
static int place_fds(const kf_child_options *options, int null_fd, int output_fd, int report_fd) {
  enum { ABOVE = 3 + KF_CHILD_FDS_MAX + 1 };
  int moved[KF_CHILD_FDS_MAX];
  int input = fcntl(options->stdin_fd > 0 ? options->stdin_fd : null_fd, F_DUPFD, ABOVE);
  int output = fcntl(options->stdout_fd > 0 ? options->stdout_fd : output_fd, F_DUPFD, ABOVE);
  int errors = fcntl(options->inherit_stderr ? 2 : output_fd, F_DUPFD, ABOVE);
  int report = fcntl(report_fd, F_DUPFD, ABOVE);
  if (input < 0 || output < 0 || errors < 0 || report < 0) return -1;
  for (int i = 0; i < options->nfds; i++) {
    moved[i] = fcntl(options->fds[i], F_DUPFD, ABOVE);
    if (moved[i] < 0) return -1;
  }
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) return -1;
  for (int i = 0; i < options->nfds; i++)
    if (dup2(moved[i], 3 + i) < 0) return -1;
  int last = 3 + options->nfds;
  if (dup2(report, last) < 0 || fcntl(last, F_SETFD, FD_CLOEXEC) != 0 || !close_from(last + 1)) return -1;
  return last;
}

static void reset_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  struct sigaction standard = {.sa_handler = SIG_DFL};
  for (int sig = 1; sig < NSIG; sig++)
    if (sig != SIGKILL && sig != SIGSTOP) sigaction(sig, &standard, NULL); /* refuses libc's own: as wanted */
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Whether the parent still holds its end of the report pipe. Its number says nothing: in a namespace of
 * process numbers getppid is 0. */
static bool parent_lives(const int report[2]) {
  struct pollfd entry = {.fd = report[1], .events = POLLOUT};
  close(report[0]);
  return poll(&entry, 1, 0) > 0 && !(entry.revents & POLLERR);
}

/* In the child. What fails is told through the report pipe as errno. */
static _Noreturn void run_child(const kf_child_options *options, int null_fd, int output_fd,
                                const int report_pipe[2]) {
  static char *const no_env[] = {NULL};
  struct sched_param idle = {.sched_priority = 0};
  reset_signals();
  int report = report_pipe[1];
  bool ok = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  if (!parent_lives(report_pipe)) _exit(127); /* the judge died before the line above could take effect */
  if (ok) {
    int placed = place_fds(options, null_fd, output_fd, report);
    ok = placed >= 0;
    if (ok) report = placed;
  }
  ok = ok && (!options->idle_priority || sched_setscheduler(0, SCHED_IDLE, &idle) == 0);
  ok = ok && setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0;
  ok = ok && limit(RLIMIT_FSIZE, options->file_bytes) && limit(RLIMIT_AS, options->memory_bytes);
  ok = ok && chdir(options->work_dir ? options->work_dir : "/") == 0;
  if (ok) {
    /* exec takes the vectors as non-const for historical reasons and does not change them. */
    char *const *env = options->env ? (char *const *)(uintptr_t)options->env : no_env;
    execve(options->executable ? options->executable : "/proc/self/exe",
           (char *const *)(uintptr_t)options->argv, env);
  }
  int reason = errno;
  if (write(report, &reason, sizeof reason) < 0) _exit(126);
  _exit(127);
}

static int wait_for_exec(int report_fd) {
  int reason = 0;
  ssize_t got;
  do {
    got = read(report_fd, &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  return got == (ssize_t)sizeof reason ? reason : 0;
}

/* In namespaces of its own where it shall have them and the machine gives them, else plainly. */
static pid_t fork_child(const kf_child_options *options, bool enclose, kf_child *child) {
  pid_t pid = enclose ? kf__upper_clone(options->may_fork) : -1;
  child->enclosed = pid >= 0;
  return child->enclosed ? pid : fork();
}

/* One attempt to start it; a failure leaves no process. */
static kf_status start(const kf_child_options *options, bool enclose, kf_child *child, int null_fd,
                       const int report[2], kf_err *err) {
  sigset_t all, before;
  sigfillset(&all);
  /* Registered before another thread can look for strays: to it the new child would be one. */
  pthread_mutex_lock(&registry_lock);
  /* No handler of the judge may run in the child before its dispositions are reset. */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork_child(options, enclose, child);
  if (pid == 0) run_child(options, null_fd, child->output_fd, report);
  int fork_errno = errno;
  if (pid > 0) {
    child->pid = pid;
    child->next = registry;
    registry = child;
  }
  pthread_mutex_unlock(&registry_lock);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (pid < 0) return kf_fail(err, KF_EIO, "child: fork: %s", strerror(fork_errno));
  setpgid(pid, pid); /* both sides, so that no order of events leaves a moment without the group */
  child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);
  int pidfd_errno = errno;
  close(report[1]);
  int reason = wait_for_exec(report[0]);
  if (child->pidfd >= 0 && reason == 0) return KF_OK;
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  registry_remove(child);
  if (child->pidfd >= 0) close(child->pidfd);
  child->pidfd = -1;
  if (reason == 0) return kf_fail(err, KF_EIO, "child: pidfd: %s", strerror(pidfd_errno));
  return kf_fail(err, reason == ENOENT ? KF_ENOTFOUND : KF_EIO, "child: cannot start %s: %s",
                 options->executable ? options->executable : "this program", strerror(reason));
}

static kf_status start_reported(const kf_child_options *options, bool enclose, kf_child *child, int null_fd,
                                kf_err *err) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return kf_fail(err, KF_EIO, "child: pipe: %s", strerror(errno));
  kf_status status = start(options, enclose, child, null_fd, report, err);
  if (status != KF_OK && child->pid == 0) close(report[1]); /* there was no fork: else start has closed it */
  close(report[0]);
  return status;
}

kf_status kf_child_spawn(const kf_child_options *options, kf_child **ret_child, kf_err *err) {
  if (options->nfds < 0 || options->nfds > KF_CHILD_FDS_MAX || !options->argv || !options->argv[0])
    return kf_fail(err, KF_EBUG, "child: no program or too many descriptors");
  int null_fd = -1;
  kf_child *child = kf_calloc(1, sizeof *child);
  if (!child) return kf_nomem(err);
  child->pidfd = child->output_fd = -1;
  child->rss_bytes = options->rss_bytes;
  child->may_fork = options->may_fork;
  child->idle_priority = options->idle_priority;
  child->oom_kills = kf__proc_oom_kills();
  kf_status status = make_output(&child->output_fd, err);
  if (status == KF_OK && (null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
    status = kf_fail(err, KF_EIO, "child: /dev/null: %s", strerror(errno));
  /* Orphans of a child come to this process instead of init, so that they can be found and reaped. */
  if (status == KF_OK && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    status = kf_fail(err, KF_EIO, "child: prctl: %s", strerror(errno));
  if (status == KF_OK) {
    status = start_reported(options, options->foreign, child, null_fd, err);
    /* Root's children have no privileges in there: a folder that only privileges open fails them. */
    if (status != KF_OK && child->enclosed) {
      child->pid = 0;
      status = start_reported(options, false, child, null_fd, err);
    }
  }
  if (null_fd >= 0) close(null_fd);
  if (status != KF_OK) {
    if (child->output_fd >= 0) close(child->output_fd);
    kf_free(child);
    return status;
  }
  *ret_child = child;
  return KF_OK;
}

void kf_child_enforced(const kf_child *child, const char *said, char ret_enforced[KF_SANDBOX_TEXT_MAX]) {
  enum { SAID_MAX = 80 };
  snprintf(ret_enforced, KF_SANDBOX_TEXT_MAX, "%.*s%s%s", SAID_MAX, said,
           said[0] && child->enclosed ? " " : "", child->enclosed ? kf__upper_words(child->may_fork) : "");
}

pid_t kf_child_pid(const kf_child *child) {
  return child->pid;
}

int kf_child_pidfd(const kf_child *child) {
  return child->pidfd;
}

void kf_child_free(kf_child *child) {
  if (!child) return;
  if (!child->ended) kf_child_kill(child, NULL);
  registry_remove(child);
  close(child->pidfd);
  close(child->output_fd);
  kf_free(child);
}

kf_status kf_child_output(kf_child *child, kf_buf *buf, kf_err *err) {
  char *text = kf_calloc(1, KF_CHILD_OUTPUT_MAX);
  if (!text) return kf_nomem(err);
  size_t len = 0;
  for (size_t done = 0; done < KF_CHILD_OUTPUT_MAX;) {
    ssize_t got = pread(child->output_fd, text + done, KF_CHILD_OUTPUT_MAX - done, (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += (size_t)got;
  }
  /* The file's size says nothing and its offset is the child's to move: the text ends at the last byte that
   * is not NUL. */
  for (len = KF_CHILD_OUTPUT_MAX; len > 0 && text[len - 1] == '\0'; len--) {
  }
  for (size_t i = 0; i < len; i++)
    if (text[i] == '\0') text[i] = '?';
  kf_status status = kf_buf_append(buf, text, len, err);
  kf_free(text);
  return status;
}
