/* conditions.c - /proc and sysfs; see conditions.h. */
#include "measure/conditions.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
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
    int i = watch->nthreads++;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", pid, entry->d_name);
    watch->sched_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", pid, entry->d_name);
    watch->status_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
  }
  closedir(dir);
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
