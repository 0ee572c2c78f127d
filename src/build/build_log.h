/* build_log.h - private to src/build: a compiler's log made fit for a model's eyes. */
#ifndef KF_BUILD_LOG_H
#define KF_BUILD_LOG_H

#include "base/buf.h"

/* Replaces every path below `work_dir` by `source_name` (PoCL compiles temporary files with random names),
 * bytes that are no text by '?', and cuts the log to `max` bytes at a line's end. Shrinks in place, so it
 * cannot fail. */
void kf_build_log_clean(kf_buf *log, const char *work_dir, const char *source_name, size_t max);

#endif
