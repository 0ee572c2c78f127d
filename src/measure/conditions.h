/* conditions.h - what disturbed a call, by the kernel's own books and never by the child's word
 * (docs/internals/evaluator.md, T12): how long threads were ready to run and had no core, how often one was
 * put off its core, time stolen by the host, the processors' frequency. Sampled outside the timed window,
 * while the runner is stopped. What a system does not tell reads as 0. Owner: the judge; one thread. */
#ifndef KF_MEASURE_CONDITIONS_H
#define KF_MEASURE_CONDITIONS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Threads of one runner that are looked at; more are not. A driver starts one for each core. */
enum { KF_WATCH_THREADS_MAX = 64 };

typedef struct {
  int nthreads;
  int thread[KF_WATCH_THREADS_MAX]; /* ascending */
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
/* The cores of this machine that the judge may use, and its own place among them while a race runs. */
typedef struct {
  cpu_set_t allowed;
  bool held;
} kf_cores;
/* Puts the calling thread on the first core until kf_cores_release; nothing may be started meanwhile, for it
 * would inherit that. The judge and a runner's first thread take turns, a request here, a call there: where
 * they sit is decided once by a scheduler, stays for the life of a process, and changed the time of a 0.1 ms
 * call by half (docs/internals/evaluator.md, T2). Best effort. */
void kf_cores_hold(kf_cores *cores);
void kf_cores_release(kf_cores *cores);
/* Gives every thread of the runner its core, in the order of their numbers: the first one the judge's, the
 * workers one each, counted from the first core. More threads than cores share them. `cores` is held. Best
 * effort. */
void kf_watch_spread(const kf_watch *watch, const kf_cores *cores);
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
