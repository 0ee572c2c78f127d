/* log.c - one line, one write(2), so that lines of several processes do not mix. */
#include "base/log.h"

#include "base/text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum { LINE_MAX_BYTES = 4096 };

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static atomic_int max_level = KF_LOG_WARNING;
static char program_name[32] = "kf"; /* written by kf_log_init only, before threads start */

static void write_line(const char *line, size_t len) {
  int saved = errno;
  while (len > 0) {
    ssize_t n = write(STDERR_FILENO, line, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break; /* stderr is gone; there is nowhere to say so */
    line += n;
    len -= (size_t)n;
  }
  errno = saved;
}

static void __attribute__((format(printf, 2, 0))) emit(const char *label, const char *fmt, va_list args) {
  char line[LINE_MAX_BYTES];
  int head = snprintf(line, sizeof line, "%s: %s: ", program_name, label);
  int body = vsnprintf(line + head, sizeof line - (size_t)head, fmt, args);
  if (body < 0) return;
  size_t len = strlen(line);
  kf_text_clean(line, len);
  line[len] = '\n'; /* in place of the NUL */
  write_line(line, len + 1);
}

static void __attribute__((format(printf, 2, 3))) emit_text(const char *label, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  emit(label, fmt, args);
  va_end(args);
}

void kf_log_init(const char *program) {
  snprintf(program_name, sizeof program_name, "%s", program);
  atomic_store(&max_level, KF_LOG_WARNING);
  const char *wanted = getenv("KF_LOG");
  if (wanted == NULL || wanted[0] == '\0') return;
  for (int level = 0; level < (int)KF_COUNTOF(level_names); level++)
    if (strcmp(wanted, level_names[level]) == 0) {
      atomic_store(&max_level, level);
      return;
    }
  kf_warning("KF_LOG: \"%s\" is not a level: error, warning, info or debug expected", wanted);
}

void kf_log_at(kf_log_level level, const char *fmt, ...) {
  if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed)) return;
  va_list args;
  va_start(args, fmt);
  emit(level_names[level], fmt, args);
  va_end(args);
}

void kf_log_err(const kf_err *err) {
  emit_text("error", "%s", err->msg[0] != '\0' ? err->msg : kf_status_name(err->code));
  if (err->hint[0] != '\0') emit_text("hint", "%s", err->hint);
  if (err->file != NULL) kf_debug("reported at %s:%d", err->file, err->line);
}
