/* command_line_int.h - private to src/propose: the program of a `command:` spec, its arguments and its
 * environment. */
#ifndef KF_PROPOSE_COMMAND_LINE_INT_H
#define KF_PROPOSE_COMMAND_LINE_INT_H

#include "base/status.h"

enum { KF_COMMAND_WORDS_MAX = 64, KF_COMMAND_ENV_MAX = 16 };

typedef struct {
  char *program;                         /* absolute or with a slash */
  char *argv[KF_COMMAND_WORDS_MAX + 1];  /* NULL-terminated */
  char *env[KF_COMMAND_ENV_MAX + 2 + 1]; /* PATH, HOME and the +NAMEs that are set */
} kf__command_line;                      /* zeroed is empty */

/* "+NAME +NAME PROGRAM ARG 'ARG WITH SPACES' \"...\"": words as a shell splits them, nothing expanded. Looks
 * PROGRAM up in PATH. KF_EINVAL for a line that cannot be read, KF_ENOTFOUND for a program that is not there.
 * On failure `line` is still to be given to _done. */
kf_status kf__command_line_parse(kf__command_line *line, const char *text, kf_err *err);
void kf__command_line_done(kf__command_line *line);

#endif
