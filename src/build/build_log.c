/* build_log.c - cleans a compiler's log in place. */
#include "build/build_log.h"

#include <ctype.h>

/* A path of a diagnostic ends before ":LINE", a quote, a bracket or white space. */
static size_t path_len(const char *text, size_t len) {
  size_t end = 0;
  while (end < len && !isspace((unsigned char)text[end]) && !strchr(":'\"<>()", text[end]))
    end++;
  return end;
}

static bool is_text(char c) {
  return (unsigned char)c >= 0x80 || isprint((unsigned char)c) || c == '\n' || c == '\t';
}

void kf_build_log_clean(kf_buf *log, const char *work_dir, const char *source_name, size_t max) {
  size_t dir_len = strlen(work_dir), name_len = strlen(source_name), from = 0, to = 0;
  while (from < log->len) {
    if (dir_len > 1 && log->len - from >= dir_len && memcmp(log->data + from, work_dir, dir_len) == 0) {
      /* The folder's own name may hold what ends a path elsewhere: a space, a colon. */
      size_t path = dir_len + path_len(log->data + from + dir_len, log->len - from - dir_len);
      size_t kept = name_len < path ? name_len : path; /* never longer than what it replaces */
      memmove(log->data + to, source_name, kept);
      to += kept;
      from += path;
      continue;
    }
    char c = log->data[from++];
    log->data[to++] = is_text(c) ? c : '?';
  }
  if (to > max) {
    to = max;
    while (to > 0 && log->data[to - 1] != '\n')
      to--;
    if (to == 0) to = max;
  }
  if (log->data) {
    log->len = to;
    log->data[to] = '\0';
  }
}
