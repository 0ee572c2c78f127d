/* links: kf_measure kf_base */
/* bench_flush.c - the two ways to make a call start cold, side by side: is a streaming copy as slow after
 * evicting its lines as after reading more than the caches hold, and what does each way cost?
 *
 * The copy runs in a second process on shared memory, as a kernel does. */
#include "base/clock.h"
#include "measure/flush.h"
#include "measure/stats.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 41, READ_MIB = 64 };

typedef enum { STAY_WARM, BY_READING, BY_LINES, WAYS } way;
static const char *const way_names[WAYS] = {"warm", "read 64 MiB", "evict lines"};

/* The other process: copies once for each byte that comes, answers with the time. */
static void copy_when_asked(int in, int out, char *memory, size_t bytes) {
  char byte;
  while (read(in, &byte, 1) == 1) {
    int64_t begun = kf_now_ns();
    memcpy(memory + bytes, memory, bytes);
    int64_t ns = kf_now_ns() - begun;
    if (write(out, &ns, sizeof ns) != sizeof ns) break;
  }
  _exit(0);
}

static int64_t ask(int to, int from) {
  int64_t ns = 0;
  if (write(to, "k", 1) != 1 || read(from, &ns, sizeof ns) != sizeof ns) exit(1);
  return ns;
}

static void measure(size_t bytes, const kf_flush *flush) {
  int to[2], from[2];
  char *memory = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || pipe(to) != 0 || pipe(from) != 0) exit(1);
  memset(memory, 1, 2 * bytes);
  pid_t pid = fork();
  if (pid == 0) {
    close(to[1]); /* so that it ends with us */
    copy_when_asked(to[0], from[1], memory, bytes);
  }
  int64_t copies[WAYS][ROUNDS], costs[WAYS][ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    for (int w = 0; w < WAYS; w++) {
      ask(to[1], from[0]);              /* warm */
      memset(memory + bytes, i, bytes); /* what a poison leaves: dirty lines in another core */
      if (w == STAY_WARM) ask(to[1], from[0]);
      int64_t begun = kf_now_ns();
      if (w == BY_READING) kf_flush_read(flush);
      if (w == BY_LINES) kf_flush_lines(memory, 2 * bytes);
      costs[w][i] = kf_now_ns() - begun;
      copies[w][i] = ask(to[1], from[0]);
    }
  }
  int64_t warm = kf_median_i64(copies[STAY_WARM], ROUNDS);
  for (int w = 0; w < WAYS; w++) {
    int64_t ns = kf_median_i64(copies[w], ROUNDS);
    printf("%8zu  %-12s  %10.1f  %8.2f  %12.1f\n", bytes >> 10, way_names[w], (double)ns / 1e3,
           (double)ns / (double)warm, (double)kf_median_i64(costs[w], ROUNDS) / 1e3);
  }
  close(to[1]);
  waitpid(pid, NULL, 0);
  munmap(memory, 2 * bytes);
}

int main(void) {
  size_t room = (size_t)READ_MIB << 20;
  char *memory = malloc(room);
  if (!memory) return 1;
  memset(memory, 1, room);
  kf_flush flush = {.memory = memory, .bytes = (int64_t)room};
  printf("copied    before it      copy, us    / warm   flushing, us\n(KiB)\n");
  static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 8 << 20};
  for (size_t i = 0; i < KF_COUNTOF(sizes); i++)
    measure(sizes[i], &flush);
  free(memory);
  return 0;
}
