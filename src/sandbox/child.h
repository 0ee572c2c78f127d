/* child.h - every child process of the program: start, stop, kill with all it started, classify its end.
 *
 * Children are this same executable re-executed with `--role NAME` (or, for kf's proposers, a command). Each
 * gets its own process group, an empty environment plus what is listed, no file descriptor but those listed
 * (as 3, 4, ...), stdin from /dev/null, and stdout+stderr into a sealed memfd of fixed size (unless the
 * options place them elsewhere): output is captured and capped without anyone having to drain it. Threads:
 * one owner per child. */
#ifndef KF_SANDBOX_CHILD_H
#define KF_SANDBOX_CHILD_H

#include "base/buf.h"
#include "sandbox/sandbox.h"
#include <stdint.h>
#include <sys/types.h>

enum { KF_CHILD_FDS_MAX = 8, KF_CHILD_OUTPUT_MAX = 65536, KF_CHILD_PROCESSES_MAX = 32 };

typedef struct {
  const char *executable;    /* NULL: /proc/self/exe */
  const char *const *argv;   /* NULL-terminated, argv[0] included */
  const char *const *env;    /* NULL-terminated "NAME=value"; NULL: empty */
  const char *work_dir;      /* current folder of the child; NULL: / */
  int fds[KF_CHILD_FDS_MAX]; /* become 3, 4, ... in the child; still open here afterwards */
  int nfds;
  int stdin_fd, stdout_fd; /* > 0: becomes 0 / 1 in the child (a pipe's end); still open here afterwards */
  bool inherit_stderr;     /* stderr is ours, not captured: for our own programs */
  bool idle_priority;      /* SCHED_IDLE: builds give way to measurements (evaluator.md, T5) */
  int64_t memory_bytes;    /* RLIMIT_AS; 0: no limit (GPU runners) */
  int64_t file_bytes;      /* RLIMIT_FSIZE; 0: no limit */
  bool may_fork;           /* it may start processes: they count too, for rss_bytes and up to
                              KF_CHILD_PROCESSES_MAX; without it only the leader is looked at */
  bool foreign;            /* it will run foreign code: namespaces of its own where the machine has them */
  int64_t rss_bytes;       /* polled by the parent in kf_child_poll; 0: no limit */
} kf_child_options;

typedef struct kf_child kf_child;

kf_status kf_child_spawn(const kf_child_options *options, kf_child **ret_child, kf_err *err);
/* All that encloses it: what it `said` it has put on itself (kf_sandbox_enter) and what the parent put around
 * it: "seccomp landlock rlimits namespaces(user,net,ipc,uts)". */
void kf_child_enforced(const kf_child *child, const char *said, char ret_enforced[KF_SANDBOX_TEXT_MAX]);
pid_t kf_child_pid(const kf_child *child);
int kf_child_pidfd(const kf_child *child); /* readable when it ended; for poll loops */

/* SIGSTOP / SIGCONT to the whole group; stop returns once the group leader is seen stopped (or ended). Only
 * for children that start no processes: a leader inside vfork cannot report that it is stopped. */
kf_status kf_child_stop(kf_child *child, kf_err *err);
kf_status kf_child_continue(kf_child *child, kf_err *err);
/* SIGSTOP to the whole group without waiting for the report: it stops when it next leaves the kernel. */
kf_status kf_child_pause(kf_child *child, kf_err *err);
/* SIGKILL to the group and every descendant; returns once all are gone (bounded: 10 s, then KF_EIO). */
kf_status kf_child_kill(kf_child *child, kf_err *err);
/* Kills if needed, reaps, frees. Accepts NULL. */
void kf_child_free(kf_child *child);

typedef enum { KF_EXIT_RUNNING, KF_EXIT_CODE, KF_EXIT_SIGNAL } kf_exit_kind;
typedef struct {
  kf_exit_kind kind;
  int code;            /* exit code or signal number */
  bool killed_by_us;   /* kf_child_kill was called before it ended */
  bool over_memory;    /* ended or was killed for memory (rss_bytes, SIGKILL of the kernel's OOM killer under
                          cgroup) */
  bool over_processes; /* killed because it had started more than KF_CHILD_PROCESSES_MAX processes */
} kf_exit;

/* `work` is called whenever kf_child_poll looks at a child that runs on, thus also while some wait for an
 * answer lasts: the owner of several children keeps the limits of the others there. Not called again from
 * within itself. NULL: nothing. One per process. */
void kf_child_meanwhile(void (*work)(void *context), void *context);
/* Non-blocking look: reaps if it ended; kills it if it is over rss_bytes or has started too many processes.
 * (RLIMIT_NPROC would count all processes of the user, and does not bind root.) */
kf_status kf_child_poll(kf_child *child, kf_exit *ret_exit, kf_err *err);
/* Waits until the end or the deadline (kf_now_ns clock; 0 = only look). RUNNING when the deadline passed. */
kf_status kf_child_wait(kf_child *child, int64_t deadline_ns, kf_exit *ret_exit, kf_err *err);
/* What it printed so far, at most KF_CHILD_OUTPUT_MAX bytes, NULs replaced; appended to buf. */
kf_status kf_child_output(kf_child *child, kf_buf *buf, kf_err *err);
/* Longest time (ns) that a thread of the leader was ready to run and had no core, so far: on a busy machine
 * an idle-priority child waits, and its wall time says little. 0 where the kernel does not tell. */
int64_t kf_child_starved_ns(const kf_child *child);

/* It was killed, and neither by us nor for memory or number. */
bool kf_exit_from_outside(const kf_exit *exit);
/* "killed by signal 11 (segmentation fault)", "exited with code 3" */
void kf_exit_text(const kf_exit *exit, char *ret_text, size_t size);

#endif
