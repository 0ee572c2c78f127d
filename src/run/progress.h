/* progress.h - a run as it goes on, for people: one line that is redrawn on a terminal (at most 10 times a
 * second), plain lines elsewhere (on a new best, a notice, and every few seconds while something moves).
 * Writes to a descriptor, usually stderr; a failed write is ignored. */
#ifndef KF_RUN_PROGRESS_H
#define KF_RUN_PROGRESS_H

#include "run/run.h"

typedef struct {
  int fd;
  bool redraw; /* a terminal */
  int columns;
  int64_t interval_ms; /* between lines */
  int64_t last_ms;     /* kf_now_ms of the last one; 0 none yet */
  int64_t last_evaluated, last_best_nano, last_elapsed_ms;
  bool open_line; /* a line without its end stands on the terminal */
} kf_progress;

/* Terminal or not is found out from `fd`; NO_COLOR and TERM=dumb make it plain. */
void kf_progress_init(kf_progress *progress, int fd);
/* Fits kf_run_options.on_view with the kf_progress as context. */
void kf_progress_show(void *progress, const kf_run_view *view);
/* Ends an open line; the last state is drawn first. */
void kf_progress_done(kf_progress *progress, const kf_run_view *last);

/* The text of a line, without its end: "12/60 evaluated, 9 correct 2 wrong_output 1 slow, best 41.2x
 * (40.1..42.3), 5 cells, 1m40s left". */
enum { KF_PROGRESS_TEXT = 512 };
void kf_progress_text(const kf_run_view *view, char ret_text[KF_PROGRESS_TEXT]);
/* "45s", "1m40s", "2h05m" */
void kf_progress_duration(int64_t ms, char *ret_text, size_t size);

#endif
