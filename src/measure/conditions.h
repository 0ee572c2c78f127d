/* conditions.h - what disturbed a call, by the kernel's own books and never by the child's word
 * (docs/internals/evaluator.md, T12): how long threads were ready to run and had no core, how often one was
 * put off its core, time stolen by the host, the processors' frequency. Sampled outside the timed window,
 * while the runner is stopped. What a system does not tell reads as 0. Owner: the judge; one thread. */
#ifndef KF_MEASURE_CONDITIONS_H
#define KF_MEASURE_CONDITIONS_H

#include <stdint.h>

/* Threads of one runner that are looked at; more are not. A driver starts one for each core. */
enum { KF_WATCH_THREADS_MAX = 64 };

typedef struct {
  int nthreads;
  int sched_fd[KF_WATCH_THREADS_MAX], status_fd[KF_WATCH_THREADS_MAX];
  int64_t waited_ns[KF_WATCH_THREADS_MAX]; /* at the last kf_watch_begin */
  int pid;
  int64_t ran_ns; /* at the last kf_watch_begin */
  int judge_fd;
  int64_t judge_waited_ns;
} kf_watch;

typedef struct {
  int64_t longest_ns; /* a thread of the runner waited this long for a core, the longest of them */
  int64_t sum_ns;     /* all its threads and the judge's together: no call was delayed by more */
  int64_t ran_ns;     /* time on cores of the whole runner, threads of any age included */
} kf_waited;

/* Threads that exist now. Never fails: files that cannot be opened are not read. */
void kf_watch_open(kf_watch *watch, int pid);
void kf_watch_close(kf_watch *watch);
void kf_watch_begin(kf_watch *watch);
kf_waited kf_watch_end(const kf_watch *watch);
/* Involuntary context switches of all threads so far. */
int64_t kf_watch_switches(const kf_watch *watch);

/* The machine's. */
typedef struct {
  int64_t stolen_ns; /* by the host, all cores, so far; in steps of a clock tick */
  int64_t mhz;       /* mean of the cores that tell */
} kf_machine_state;
void kf_machine_read(kf_machine_state *ret_state);

#endif
