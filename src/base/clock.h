/* clock.h - monotonic time, and the wall clock for labels. */
#ifndef KF_BASE_CLOCK_H
#define KF_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t kf_now_ns(void);  /* CLOCK_MONOTONIC */
int64_t kf_now_ms(void);  /* CLOCK_MONOTONIC */
int64_t kf_wall_ms(void); /* since 1970, UTC */
int64_t kf_cpu_ns(void);  /* this process's CPU time */
void kf_sleep_ms(int64_t ms);
enum { KF_UTC_TEXT = 24 };
void kf_utc_text(int64_t wall_ms, char ret_text[KF_UTC_TEXT]); /* "2026-01-31T12:34:56Z" */

#endif
