/* conditions.c - /proc and sysfs; see conditions.h. */
#include "measure/conditions.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

/* /proc writes a file anew at each read from its start. Returns false, and an empty text, when there is none.
 */
static bool read_again(int fd, char *text, size_t room) {
  ssize_t len = fd < 0 ? -1 : pread(fd, text, room - 1, 0);
  text[len > 0 ? len : 0] = '\0';
  return len > 0;
}

/* schedstat: time on a core, time ready but waiting, number of turns. */
static int64_t waited_so_far(int fd) {
  char text[128];
  long long ran = 0, waited = 0;
  if (!read_again(fd, text, sizeof text) || sscanf(text, "%lld %lld", &ran, &waited) != 2) return 0;
  return waited;
}

/* The process's own clock of time on cores; kept by the kernel, out of its reach. */
static int64_t ran_so_far(int pid) {
  clockid_t clock;
  struct timespec now;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &now) != 0) return 0;
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

void kf_watch_open(kf_watch *watch, int pid) {
  char path[96];
  watch->pid = pid;
  watch->ran_ns = 0;
  watch->nthreads = 0;
  watch->judge_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *dir = opendir(path);
  if (!dir) return;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    if (!isdigit((unsigned char)entry->d_name[0]) || watch->nthreads == KF_WATCH_THREADS_MAX) continue;
    watch->thread[watch->nthreads++] = (int)strtol(entry->d_name, NULL, 10);
  }
  closedir(dir);
  qsort(watch->thread, (size_t)watch->nthreads, sizeof *watch->thread, ascending);
  for (int i = 0; i < watch->nthreads; i++) {
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, watch->thread[i]);
    watch->sched_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, watch->thread[i]);
    watch->status_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
  }
}

static void put_on(int thread, int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(thread, sizeof one, &one);
}

static int first_core(const kf_cores *cores) {
  int core = 0;
  while (core < CPU_SETSIZE && !CPU_ISSET(core, &cores->allowed))
    core++;
  return core;
}

void kf_cores_hold(kf_cores *cores) {
  cores->held = sched_getaffinity(0, sizeof cores->allowed, &cores->allowed) == 0;
  if (cores->held) put_on(0, first_core(cores));
}

void kf_cores_release(kf_cores *cores) {
  if (cores->held) sched_setaffinity(0, sizeof cores->allowed, &cores->allowed);
  cores->held = false;
}

void kf_watch_spread(const kf_watch *watch, const kf_cores *cores) {
  int core[CPU_SETSIZE], ncores = 0, next = 0;
  for (int c = 0; c < CPU_SETSIZE && cores->held; c++)
    if (CPU_ISSET(c, &cores->allowed)) core[ncores++] = c;
  for (int i = 0; i < watch->nthreads && ncores > 0; i++)
    put_on(watch->thread[i], watch->thread[i] == watch->pid ? core[0] : core[next++ % ncores]);
}

void kf_watch_close(kf_watch *watch) {
  for (int i = 0; i < watch->nthreads; i++) {
    if (watch->sched_fd[i] >= 0) close(watch->sched_fd[i]);
    if (watch->status_fd[i] >= 0) close(watch->status_fd[i]);
  }
  if (watch->judge_fd >= 0) close(watch->judge_fd);
  watch->nthreads = 0;
  watch->judge_fd = -1;
}

void kf_watch_begin(kf_watch *watch) {
  for (int i = 0; i < watch->nthreads; i++)
    watch->waited_ns[i] = waited_so_far(watch->sched_fd[i]);
  watch->judge_waited_ns = waited_so_far(watch->judge_fd);
  watch->ran_ns = ran_so_far(watch->pid);
}

kf_waited kf_watch_end(const kf_watch *watch) {
  kf_waited waited = {.sum_ns = waited_so_far(watch->judge_fd) - watch->judge_waited_ns};
  int64_t ran = ran_so_far(watch->pid);
  waited.ran_ns = ran > watch->ran_ns ? ran - watch->ran_ns : 0;
  for (int i = 0; i < watch->nthreads; i++) {
    int64_t ns = waited_so_far(watch->sched_fd[i]) - watch->waited_ns[i];
    if (ns > waited.longest_ns) waited.longest_ns = ns;
    waited.sum_ns += ns > 0 ? ns : 0;
  }
  return waited;
}

int64_t kf_watch_switches(const kf_watch *watch) {
  static const char key[] = "nonvoluntary_ctxt_switches:";
  int64_t sum = 0;
  for (int i = 0; i < watch->nthreads; i++) {
    char text[4096];
    const char *line = read_again(watch->status_fd[i], text, sizeof text) ? strstr(text, key) : NULL;
    if (line) sum += strtoll(line + sizeof key - 1, NULL, 10);
  }
  return sum;
}

/* ---- the machine ---- */

static int64_t stolen_ns(void) {
  static int fd = -2; /* kept open: this is read twice a block */
  char text[256];
  long long ticks[8] = {0};
  if (fd == -2) fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (!read_again(fd, text, sizeof text)) return 0;
  /* cpu user nice system idle iowait irq softirq steal */
  if (sscanf(text, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &ticks[0], &ticks[1], &ticks[2], &ticks[3],
             &ticks[4], &ticks[5], &ticks[6], &ticks[7]) != 8)
    return 0;
  long hz = sysconf(_SC_CLK_TCK);
  return hz > 0 ? ticks[7] * (INT64_C(1000000000) / hz) : 0;
}

static int64_t mean_mhz(void) {
  enum { CORES_MAX = 64 };
  static bool absent; /* what the first core does not tell, none does */
  int64_t sum = 0, cores = 0;
  for (int core = 0; core < CORES_MAX && !absent; core++) {
    char path[96], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", core);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      absent = core == 0;
      break;
    }
    if (read_again(fd, text, sizeof text)) {
      sum += strtoll(text, NULL, 10) / 1000;
      cores++;
    }
    close(fd);
  }
  return cores ? sum / cores : 0;
}

void kf_machine_read(kf_machine_state *ret_state) {
  *ret_state = (kf_machine_state){.stolen_ns = stolen_ns(), .mhz = mean_mhz()};
}
