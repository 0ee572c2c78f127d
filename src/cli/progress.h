/* progress.h - how a run is going, on stderr: one line that is written over on a terminal, else a plain line
 * now and then. */
#ifndef KF_CLI_PROGRESS_H
#define KF_CLI_PROGRESS_H

#include "run/run.h"

typedef struct {
  bool terminal, line_open, drain_told;
  int64_t shown_ms; /* kf_now_ns clock in ms */
  int64_t shown_evaluated;
} kf_progress;

void kf_progress_init(kf_progress *progress);
/* The on_view of a run; `context` is a kf_progress. */
void kf_progress_view(void *context, const kf_run_view *view);
/* Leaves the cursor at the beginning of an empty line. */
void kf_progress_done(kf_progress *progress);
/* "12 of 60 evaluated; correct 9, slow 3; best 23.1x (22.0x to 24.2x); 5 cells; 1 min 20 s left" */
kf_status kf_progress_text(const kf_run_view *view, kf_buf *buf, kf_err *err);

#endif
