/* child_internal.h - private to child*.c: the handle, and what is read from /proc. */
#ifndef KF_SANDBOX_CHILD_INTERNAL_H
#define KF_SANDBOX_CHILD_INTERNAL_H

#include "sandbox/child.h"

struct kf_child {
  pid_t pid; /* of the group leader, and the group's number; pinned by the unreaped leader until `ended` */
  int pidfd, output_fd;
  int64_t rss_bytes;
  uint64_t oom_kills; /* the system's counter at the start */
  bool idle_priority;
  bool enclosed; /* has namespaces of its own */
  bool may_fork, kill_asked, over_memory, over_processes, ended;
  kf_exit exit;   /* valid when ended */
  kf_child *next; /* registry of live children of this process */
};

/* Calls `visit` for each child of this process that has left every known group: not a registered leader, in
 * neither our own group nor that of a registered child. Such a process escaped from one of our children and
 * was handed to us as subreaper. */
void kf__child_each_stray(void (*visit)(pid_t pid, void *context), void *context);

/* As fork, into namespaces of the child's own; -1 with errno where the machine (or the settings) refuses. */
pid_t kf__upper_clone(bool may_fork);
const char *kf__upper_words(bool may_fork); /* for "enforced" */

typedef struct {
  pid_t *pids;
  int count;
} kf__pid_list;
/* All members of the group that `root` leads and all descendants of these and of root by parent links,
 * without root; empty if /proc cannot be read. Freed with kf_free(pids). */
kf_status kf__proc_descendants(pid_t root, kf__pid_list *ret_list, kf_err *err);
/* Calls `visit` for every process: pid, parent, group. */
void kf__proc_each(void (*visit)(pid_t pid, pid_t parent, pid_t group, void *context), void *context);
/* Calls `visit` for every thread of a process. */
void kf__proc_each_thread(pid_t pid, void (*visit)(pid_t tid));
int64_t kf__proc_rss_bytes(pid_t pid); /* -1 unknown */
/* Proportional share: pages that n processes share count 1/n in each. -1 where it may not be read. */
int64_t kf__proc_pss_bytes(pid_t pid);
uint64_t kf__proc_oom_kills(void); /* of the whole system; 0 unknown */

#endif
