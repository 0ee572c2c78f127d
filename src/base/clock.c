/* clock.c - clock_gettime in the units the program uses. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

#include "base/banned.h"

static int64_t read_ns(clockid_t id) {
  struct timespec t = {0};
  clock_gettime(id, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t kf_now_ns(void) {
  return read_ns(CLOCK_MONOTONIC);
}

int64_t kf_now_ms(void) {
  return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t kf_wall_ms(void) {
  return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t kf_cpu_ns(void) {
  return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void kf_sleep_ms(int64_t ms) {
  if (ms <= 0) return;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (time_t)(ms / 1000);
  until.tv_nsec += (long)(ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  /* An absolute end: signals do not lengthen the sleep. */
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
    continue;
}

void kf_utc_text(int64_t wall_ms, char ret_text[KF_UTC_TEXT]) {
  const int64_t year_9999_end_s = 253402300799;
  int64_t seconds = wall_ms / 1000 - (wall_ms % 1000 < 0);
  if (seconds < 0) seconds = 0; /* labels are never older than the epoch */
  if (seconds > year_9999_end_s) seconds = year_9999_end_s;
  time_t when = (time_t)seconds;
  struct tm utc;
  gmtime_r(&when, &utc);
  strftime(ret_text, KF_UTC_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc);
}
