/* csource.h - private to src/task: reads C-like source as far as a launch plan needs it: what is comment,
 * string, directive and code. It does not preprocess, so a directive inside #if 0 counts. */
#ifndef KF_TASK_CSOURCE_H
#define KF_TASK_CSOURCE_H

#include "base/buf.h"

enum { KF__DIRECTIVES_MAX = 512, KF__DIRECTIVE_LEN_MAX = 8192, KF__SOURCE_BYTES_MAX = 4 << 20 };

typedef struct {
  size_t begin, end; /* bytes after "//kf:", up to the line's end (a \r left out) */
  int line, column;  /* of `begin`, 1-based */
} kf__directive;

/* Finds the directives: ret_directives holds KF__DIRECTIVES_MAX. Appends the code to `tokens` with one
 * separator between tokens and a line feed around preprocessor lines, so that sources which differ in layout
 * and comments alone give equal text. Directives that share their line with something else are KF_EREFUSED
 * "NAME:LINE:COL: ...". */
kf_status kf__csource_scan(const char *text, size_t len, const char *name, kf__directive *ret_directives,
                           int *ret_count, kf_buf *tokens, kf_err *err);

#endif
