/* sandbox_upper.c - the upper layer: namespaces of a child's own, made by the clone that makes the child.
 *
 * A user namespace without any mapped id needs no privileges and takes away what the caller has: after exec
 * the child owns no capability, of the machine's namespace or of its own, root's children included. Inside it
 * the kernel lets the same clone make the other namespaces. A child that may start processes is the first
 * process of a process-number namespace: when it ends, by whatever hand, the kernel ends all that it has
 * started (pid_namespaces(7)). Where the machine refuses, the child is made without, and says so. */
#include "sandbox/child_internal.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned long always = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
static bool allowed = true;

void kf_sandbox_upper_allow(bool on) {
  allowed = on;
}

/* The system call itself, since glibc's fork takes no flags: the child calls nothing but async-signal-safe
 * functions until it execs. */
static pid_t clone_with(unsigned long flags) {
  return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

pid_t kf__upper_clone(bool may_fork) {
  if (!allowed) {
    errno = EPERM;
    return -1;
  }
  return clone_with(always | (may_fork ? CLONE_NEWPID : 0UL));
}

const char *kf__upper_words(bool may_fork) {
  return may_fork ? "namespaces(user,net,ipc,uts,pid)" : "namespaces(user,net,ipc,uts)";
}

static const char *explain(int reason) {
  switch (reason) {
  case EPERM:
  case EACCES:
    return "this machine refuses user namespaces to this user";
  case ENOSPC:
  case EUSERS:
    return "the limit of user namespaces is reached";
  case EINVAL:
  case ENOSYS:
    return "this kernel lacks a kind of namespace";
  default:
    return strerror(reason);
  }
}

void kf_sandbox_upper_probe(char ret_text[KF_SANDBOX_TEXT_MAX]) {
  pid_t pid = allowed ? clone_with(always | CLONE_NEWPID) : -1;
  if (pid == 0) _exit(0);
  if (pid < 0) {
    snprintf(ret_text, KF_SANDBOX_TEXT_MAX, "none (%s)", allowed ? explain(errno) : "switched off");
    return;
  }
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  snprintf(ret_text, KF_SANDBOX_TEXT_MAX, "%s", kf__upper_words(true));
}
