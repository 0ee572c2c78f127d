/* output.c - results on stdout, notes on stderr. */
#include "cli/cli.h"

#include "base/text.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* A reader that went away (`kf list | head -1`) is no failure of ours: we end as other filters do. SIGPIPE
 * itself is ignored, because a pipe to an evaluator that died must not end us. */
static void end_quietly(void) {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
}

kf_status kf_out_text(const char *text, size_t len, kf_err *err) {
  while (len > 0) {
    ssize_t n = write(STDOUT_FILENO, text, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) end_quietly();
    if (n < 0) return kf_fail(err, KF_EIO, "stdout: %s", strerror(errno));
    text += n;
    len -= (size_t)n;
  }
  return KF_OK;
}

kf_status kf_out_buf(const kf_buf *buf, kf_err *err) {
  return kf_out_text(kf_buf_text(buf), buf->len, err);
}

kf_status kf_out_json(json_t *take_object, kf_err *err) {
  if (take_object == NULL) return kf_fail(err, KF_ENOMEM, "out of memory");
  KF_CLEANUP(kf_buf_done) kf_buf line;
  kf_buf_init(&line, KF_OUTPUT_MAX);
  kf_status status = kf_json_dump(take_object, &line, err);
  json_decref(take_object);
  if (status != KF_OK) return status;
  KF_TRY(kf_buf_puts(&line, "\n", err));
  return kf_out_buf(&line, err);
}

void kf_note(const char *fmt, ...) {
  char line[1024];
  va_list args;
  va_start(args, fmt);
  int len = vsnprintf(line, sizeof line - 1, fmt, args);
  va_end(args);
  if (len < 0) return;
  if (len > (int)sizeof line - 2) len = (int)sizeof line - 2;
  kf_text_clean(line, (size_t)len);
  line[len++] = '\n';
  ssize_t written = write(STDERR_FILENO, line, (size_t)len);
  (void)written; /* stderr is gone: there is nowhere to say so */
}
