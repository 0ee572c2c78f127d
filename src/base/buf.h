/* buf.h - a growing byte buffer that must state its maximum. Always NUL-terminated one past `len`.
 * Invariant: len <= cap_max. An append that would exceed the maximum fails with KF_EINVAL and leaves the
 * content as it was. Everything from outside (model answers, compiler logs, frames) is read into one of
 * these. */
#ifndef KF_BASE_BUF_H
#define KF_BASE_BUF_H

#include "base/status.h"
#include <stdarg.h>
#include <stddef.h>

typedef struct {
  char *data; /* NULL until the first append */
  size_t len;
  size_t room; /* allocated, including the NUL */
  size_t max;  /* largest len allowed */
} kf_buf;

void kf_buf_init(kf_buf *buf, size_t max);
void kf_buf_done(kf_buf *buf);  /* frees; accepts a zeroed or finished buffer */
void kf_buf_clear(kf_buf *buf); /* len = 0, keeps the memory */
kf_status kf_buf_append(kf_buf *buf, const void *bytes, size_t len, kf_err *err);
kf_status kf_buf_puts(kf_buf *buf, const char *text, kf_err *err);
kf_status kf_buf_printf(kf_buf *buf, kf_err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Makes room for `extra` bytes to be written at data+len by the caller, who then adds to len. */
kf_status kf_buf_reserve(kf_buf *buf, size_t extra, kf_err *err);
/* Drops the first `count` bytes (count <= len). */
void kf_buf_drop(kf_buf *buf, size_t count);
const char *kf_buf_text(const kf_buf *buf); /* "" when empty, never NULL */
/* Hands the bytes to the caller (free with kf_free), leaving an empty buffer. NULL only if out of memory. */
char *kf_buf_take(kf_buf *buf);

#endif
