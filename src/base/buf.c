/* buf.c - growth by doubling up to the stated maximum; a failing call leaves the content alone. */
#include "base/buf.h"

#include "base/alloc.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { FIRST_ROOM = 64 };

void kf_buf_init(kf_buf *buf, size_t max) {
  /* Below PTRDIFF_MAX, so that len + extra + 1 cannot wrap. */
  *buf = (kf_buf){.max = max < PTRDIFF_MAX ? max : PTRDIFF_MAX - 1};
}

void kf_buf_done(kf_buf *buf) {
  kf_free(buf->data);
  *buf = (kf_buf){0};
}

void kf_buf_clear(kf_buf *buf) {
  buf->len = 0;
  if (buf->data != NULL) buf->data[0] = '\0';
}

/* Room for `extra` bytes and the NUL after them. */
static kf_status grow(kf_buf *buf, size_t extra, kf_err *err) {
  if (extra > buf->max - buf->len)
    return kf_fail(err, KF_EINVAL, "text over the limit of %zu bytes", buf->max);
  size_t need = buf->len + extra + 1;
  if (need <= buf->room) return KF_OK;
  size_t room = buf->room < FIRST_ROOM ? FIRST_ROOM : buf->room;
  while (room < need)
    room = room > (buf->max + 1) / 2 ? buf->max + 1 : room * 2;
  if (room > buf->max + 1) room = buf->max + 1;
  char *data = kf_realloc(buf->data, room);
  if (data == NULL) return kf_nomem(err);
  buf->data = data;
  buf->room = room;
  data[buf->len] = '\0';
  return KF_OK;
}

kf_status kf_buf_append(kf_buf *buf, const void *bytes, size_t len, kf_err *err) {
  KF_TRY(grow(buf, len, err));
  if (len != 0) memcpy(buf->data + buf->len, bytes, len);
  buf->len += len;
  buf->data[buf->len] = '\0';
  return KF_OK;
}

kf_status kf_buf_puts(kf_buf *buf, const char *text, kf_err *err) {
  return kf_buf_append(buf, text, strlen(text), err);
}

kf_status kf_buf_printf(kf_buf *buf, kf_err *err, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int len = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (len < 0) return kf_fail(err, KF_EBUG, "text could not be formatted: \"%s\"", fmt);
  KF_TRY(grow(buf, (size_t)len, err));
  va_start(args, fmt);
  vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, args);
  va_end(args);
  buf->len += (size_t)len;
  return KF_OK;
}

kf_status kf_buf_reserve(kf_buf *buf, size_t extra, kf_err *err) {
  KF_TRY(grow(buf, extra, err));
  /* Zeroed, so that the content ends with a NUL however much the caller writes. */
  memset(buf->data + buf->len, 0, extra + 1);
  return KF_OK;
}

void kf_buf_drop(kf_buf *buf, size_t count) {
  if (buf->data == NULL) return;
  if (count > buf->len) count = buf->len;
  memmove(buf->data, buf->data + count, buf->len - count + 1);
  buf->len -= count;
}

const char *kf_buf_text(const kf_buf *buf) {
  return buf->data != NULL ? buf->data : "";
}

char *kf_buf_take(kf_buf *buf) {
  char *data = buf->data != NULL ? buf->data : kf_strdup("");
  if (data != NULL) *buf = (kf_buf){.max = buf->max};
  return data;
}
