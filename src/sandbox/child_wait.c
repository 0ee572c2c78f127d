/* child_wait.c - the life of a child after its start: stop, continue, look, wait, kill with all it started.
 *
 * The leader is not reaped before its group is dead: a zombie keeps the number from being used again, so a
 * signal to the group can never hit strangers. A group that cannot be left (the filters deny setsid and
 * setpgid) dies with one signal, fork bombs included: the kernel delivers it under the lock that fork takes.
 * The search in /proc is for children without a filter. */
#include "sandbox/child_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILL_LIMIT_MS = 10000, STOP_LIMIT_MS = 5000 };

static bool leader_ended(const kf_child *child, siginfo_t *ret_info) {
  memset(ret_info, 0, sizeof *ret_info);
  return waitid(P_PID, (id_t)child->pid, ret_info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ret_info->si_pid == child->pid;
}

static void kill_one(pid_t pid, void *context) {
  (void)context;
  kill(pid, SIGKILL);
  waitpid(pid, NULL, WNOHANG);
}

static void count_one(pid_t pid, void *context) {
  kill_one(pid, NULL);
  ++*(int *)context;
}

/* After the group was killed and the leader reaped: reaps the orphans handed to us, until none is left. */
static kf_status reap_rest(pid_t group, int64_t deadline_ms, kf_err *err) {
  for (;;) {
    pid_t got;
    do {
      got = waitpid(-group, NULL, WNOHANG);
    } while (got > 0);
    bool group_gone = kill(-group, SIGKILL) != 0 && errno == ESRCH;
    int strays = 0;
    kf__child_each_stray(count_one, &strays);
    if (group_gone && strays == 0) return KF_OK;
    if (kf_now_ms() > deadline_ms)
      return kf_fail(err, KF_EIO, "child %d: processes it started do not end", (int)group);
    kf_sleep_ms(1);
  }
}

static void classify(kf_child *child, const siginfo_t *info) {
  kf_exit *end = &child->exit;
  end->kind = info->si_code == CLD_EXITED ? KF_EXIT_CODE : KF_EXIT_SIGNAL;
  end->code = info->si_status;
  end->killed_by_us = child->kill_asked;
  end->over_memory = child->over_memory;
  end->over_processes = child->over_processes;
  if (end->kind == KF_EXIT_SIGNAL && end->code == SIGKILL && !child->kill_asked)
    end->over_memory = end->over_memory || kf__proc_oom_kills() > child->oom_kills;
}

/* The leader has ended: ends what is left of its group, reaps all, remembers how it ended. */
static kf_status finish(kf_child *child, const siginfo_t *info, kf_err *err) {
  int64_t deadline_ms = kf_now_ms() + KILL_LIMIT_MS;
  kill(-child->pid, SIGKILL);
  classify(child, info);
  while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  child->ended = true;
  return reap_rest(child->pid, deadline_ms, err);
}

/* What the leader and all below it hold. Resident pages are cheap to ask for, but a forked child counts its
 * parent's again; only where that sum is over the limit the proportional share decides, which takes longer.
 * Where it is not to be had (another user's process) the resident pages stand. */
static int64_t tree_bytes(pid_t leader, const kf__pid_list *below, int64_t limit_bytes) {
  int64_t resident = 0, shared_out = 0;
  for (int i = -1; i < below->count; i++) {
    int64_t bytes = kf__proc_rss_bytes(i < 0 ? leader : below->pids[i]);
    resident += bytes > 0 ? bytes : 0;
  }
  if (resident <= limit_bytes || below->count == 0) return resident;
  for (int i = -1; i < below->count; i++) {
    pid_t pid = i < 0 ? leader : below->pids[i];
    int64_t bytes = kf__proc_pss_bytes(pid);
    if (bytes < 0) bytes = kf__proc_rss_bytes(pid);
    shared_out += bytes > 0 ? bytes : 0;
  }
  return shared_out;
}

/* Memory and number of all that the child has started. Without may_fork the leader is all there is: no walk
 * through /proc, since runners are looked at during timed calls. */
static void look_at_limits(kf_child *child) {
  if (child->rss_bytes <= 0 && !child->may_fork) return;
  kf__pid_list below = {0};
  if (child->may_fork && kf__proc_descendants(child->pid, &below, NULL) == KF_OK)
    child->over_processes = below.count > KF_CHILD_PROCESSES_MAX;
  int64_t limit = child->rss_bytes;
  child->over_memory = limit > 0 && !child->over_processes && tree_bytes(child->pid, &below, limit) > limit;
  kf_free(below.pids);
}

static struct {
  void (*work)(void *context);
  void *context;
} meanwhile;

void kf_child_meanwhile(void (*work)(void *context), void *context) {
  meanwhile.work = work;
  meanwhile.context = context;
}

static void work_meanwhile(void) {
  static bool busy;
  if (busy || !meanwhile.work) return;
  busy = true;
  meanwhile.work(meanwhile.context);
  busy = false;
}

kf_status kf_child_poll(kf_child *child, kf_exit *ret_exit, kf_err *err) {
  siginfo_t info;
  if (!child->ended && leader_ended(child, &info)) KF_TRY(finish(child, &info, err));
  if (!child->ended) {
    look_at_limits(child);
    if (child->over_memory || child->over_processes) KF_TRY(kf_child_kill(child, err));
  }
  if (!child->ended) work_meanwhile();
  *ret_exit = child->ended ? child->exit : (kf_exit){.kind = KF_EXIT_RUNNING};
  return KF_OK;
}

/* True when the leader has ended before the deadline (ms). */
static bool wait_end(const kf_child *child, int64_t deadline_ns) {
  for (;;) {
    int64_t left = deadline_ns - kf_now_ns();
    if (left < 0) left = 0;
    struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    struct pollfd entry = {.fd = child->pidfd, .events = POLLIN};
    int count = ppoll(&entry, 1, &timeout, NULL);
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

kf_status kf_child_wait(kf_child *child, int64_t deadline_ns, kf_exit *ret_exit, kf_err *err) {
  enum { LOOK_EVERY_NS = 20000000 }; /* for the limits */
  for (;;) {
    KF_TRY(kf_child_poll(child, ret_exit, err));
    if (ret_exit->kind != KF_EXIT_RUNNING) return KF_OK;
    int64_t now = kf_now_ns();
    if (now >= deadline_ns) return KF_OK;
    int64_t until = (child->rss_bytes > 0 || child->may_fork) && deadline_ns > now + LOOK_EVERY_NS
                        ? now + LOOK_EVERY_NS
                        : deadline_ns;
    wait_end(child, until);
  }
}

kf_status kf_child_pause(kf_child *child, kf_err *err) {
  if (child->ended) return KF_OK;
  if (kill(-child->pid, SIGSTOP) != 0 && errno != ESRCH)
    return kf_fail(err, KF_EIO, "child %d: stop: %s", (int)child->pid, strerror(errno));
  return KF_OK;
}

kf_status kf_child_stop(kf_child *child, kf_err *err) {
  if (child->ended) return KF_OK;
  KF_TRY(kf_child_pause(child, err));
  int64_t deadline_ms = kf_now_ms() + STOP_LIMIT_MS;
  /* The state is reported once every thread of the leader has stopped. Yields first: it takes some ten
   * microseconds, and a timer's slack alone is 50. */
  for (int round = 0;; round++) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int rc = waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT);
    if (rc == 0 && info.si_pid == child->pid) return KF_OK;
    if (rc != 0 && errno != EINTR)
      return kf_fail(err, KF_EIO, "child %d: wait: %s", (int)child->pid, strerror(errno));
    if (kf_now_ms() > deadline_ms) return kf_fail(err, KF_EIO, "child %d: does not stop", (int)child->pid);
    struct timespec pause = {.tv_nsec = round < 100 ? 10000 : 1000000};
    if (round < 50)
      sched_yield();
    else
      nanosleep(&pause, NULL);
  }
}

kf_status kf_child_continue(kf_child *child, kf_err *err) {
  if (child->ended) return KF_OK;
  if (kill(-child->pid, SIGCONT) != 0 && errno != ESRCH)
    return kf_fail(err, KF_EIO, "child %d: continue: %s", (int)child->pid, strerror(errno));
  return KF_OK;
}

static void raise_thread(pid_t tid) {
  const struct sched_param normal = {.sched_priority = 0};
  sched_setscheduler(tid, SCHED_OTHER, &normal); /* where it is not allowed, the end only takes longer */
}

/* At idle priority a process also dies at that priority: giving back gigabytes would wait for an idle core.
 */
static void hurry(const kf_child *child, const kf__pid_list *below) {
  if (!child->idle_priority) return;
  kf__proc_each_thread(child->pid, raise_thread);
  for (int i = 0; i < below->count; i++)
    kf__proc_each_thread(below->pids[i], raise_thread);
}

kf_status kf_child_kill(kf_child *child, kf_err *err) {
  siginfo_t info;
  if (child->ended) return KF_OK;
  if (!leader_ended(child, &info)) {
    child->kill_asked = true;
    /* Stopped first, so that the family tree holds still while it is read. */
    kill(-child->pid, SIGSTOP);
    kf__pid_list below = {0};
    kf_status listed = kf__proc_descendants(child->pid, &below, NULL);
    hurry(child, &below);
    kill(-child->pid, SIGKILL);
    for (int i = 0; listed == KF_OK && i < below.count; i++)
      kill_one(below.pids[i], NULL);
    if (listed == KF_OK) kf_free(below.pids);
    if (!wait_end(child, kf_now_ns() + (int64_t)KILL_LIMIT_MS * 1000000) || !leader_ended(child, &info))
      return kf_fail(err, KF_EIO, "child %d: does not end after SIGKILL", (int)child->pid);
  }
  return finish(child, &info, err);
}

bool kf_exit_from_outside(const kf_exit *end) {
  return end->kind == KF_EXIT_SIGNAL && end->code == SIGKILL && !end->killed_by_us && !end->over_memory &&
         !end->over_processes;
}

void kf_exit_text(const kf_exit *end, char *ret_text, size_t size) {
  if (end->kind == KF_EXIT_CODE) {
    snprintf(ret_text, size, "exited with code %d", end->code);
  } else if (end->kind == KF_EXIT_SIGNAL) {
    const char *words = sigdescr_np(end->code);
    snprintf(ret_text, size, "killed by signal %d (%s)%s", end->code, words ? words : "unknown",
             end->over_memory      ? ", out of memory"
             : end->over_processes ? ", too many processes"
             : end->killed_by_us   ? " sent by the evaluator"
                                   : "");
    for (char *c = strchr(ret_text, '('); c && *c && *c != ')'; c++)
      if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  } else {
    snprintf(ret_text, size, "still running");
  }
}
