/* status.c - filling kf_err: bounded text, cut at a character boundary, no allocation. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

const char *kf_status_name(kf_status s) {
  switch (s) {
  case KF_OK:
    return "ok";
  case KF_ENOMEM:
    return "out of memory";
  case KF_EINVAL:
    return "invalid input";
  case KF_EREFUSED:
    return "refused";
  case KF_EIO:
    return "input or output failed";
  case KF_ENODEV:
    return "device, compiler or library missing";
  case KF_ETIMEOUT:
    return "timed out";
  case KF_EPROTO:
    return "protocol broken";
  case KF_ECANCELED:
    return "canceled";
  case KF_ENOTFOUND:
    return "not found";
  case KF_EBUG:
    return "bug in kf";
  }
  return "unknown status";
}

int kf_status_exit_code(kf_status s) {
  switch (s) {
  case KF_OK:
    return 0;
  case KF_EINVAL:
  case KF_ENOTFOUND:
    return 2;
  case KF_EREFUSED:
    return 3;
  case KF_ENOMEM:
  case KF_EIO:
  case KF_ENODEV:
  case KF_ETIMEOUT:
  case KF_EPROTO:
    return 4;
  case KF_ECANCELED:
    return 5;
  case KF_EBUG:
    return 70;
  }
  return 70;
}

/* Shortens text that was cut by snprintf so that it does not end inside a UTF-8 sequence: messages are also
 * written into JSON, which refuses half a character. */
static void drop_partial_character(char *text) {
  size_t len = strlen(text);
  size_t lead = len;
  while (lead > 0 && len - lead < 4 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
    lead--;
  if (lead == 0) return;
  unsigned char first = (unsigned char)text[lead - 1];
  size_t want = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  if (want > 1 && len - (lead - 1) < want) text[lead - 1] = '\0';
}

static void __attribute__((format(printf, 3, 0)))
format_cut(char *text, size_t room, const char *fmt, va_list args) {
  int len = vsnprintf(text, room, fmt, args);
  if (len < 0) text[0] = '\0';
  if (len >= 0 && (size_t)len >= room) drop_partial_character(text);
}

kf_status kf_err_set_at(kf_err *err, const char *file, int line, kf_status code, const char *fmt, ...) {
  if (err == NULL) return code;
  /* Formatted apart, because arguments may point into *err. */
  char msg[KF_ERR_MSG_MAX];
  va_list args;
  va_start(args, fmt);
  format_cut(msg, sizeof msg, fmt, args);
  va_end(args);
  memcpy(err->msg, msg, sizeof msg);
  err->code = code;
  err->hint[0] = '\0';
  err->file = file;
  err->line = line;
  return code;
}

kf_status kf_err_context(kf_err *err, kf_status code, const char *fmt, ...) {
  if (err == NULL) return code;
  char msg[KF_ERR_MSG_MAX];
  va_list args;
  va_start(args, fmt);
  format_cut(msg, sizeof msg, fmt, args);
  va_end(args);
  size_t len = strlen(msg);
  int added = snprintf(msg + len, sizeof msg - len, ": %s", err->msg);
  if (added >= 0 && (size_t)added >= sizeof msg - len) drop_partial_character(msg);
  memcpy(err->msg, msg, sizeof msg);
  return err->code != KF_OK ? err->code : code;
}

kf_status kf_err_hint(kf_err *err, kf_status code, const char *fmt, ...) {
  if (err == NULL) return code;
  char hint[KF_ERR_HINT_MAX];
  va_list args;
  va_start(args, fmt);
  format_cut(hint, sizeof hint, fmt, args);
  va_end(args);
  memcpy(err->hint, hint, sizeof hint);
  return code;
}
