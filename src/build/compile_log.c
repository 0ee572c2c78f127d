/* compile_log.c - reads a compiler's log line by line; see compile_log.h. */
#include "build/compile_log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { NUMBER_MAX = 1000000000 };

/* A piece of the log, never beyond its line. */
typedef struct {
  const char *text;
  size_t len;
} span;

static bool starts(span s, const char *word) {
  size_t len = strlen(word);
  return s.len >= len && memcmp(s.text, word, len) == 0;
}

static span after(span s, size_t count) {
  return (span){s.text + count, s.len - count};
}

static span trimmed(span s) {
  while (s.len > 0 && isspace((unsigned char)s.text[0]))
    s = after(s, 1);
  while (s.len > 0 && isspace((unsigned char)s.text[s.len - 1]))
    s.len--;
  return s;
}

static void copy(span s, char *field, size_t room) {
  size_t len = s.len < room ? s.len : room - 1;
  while (len < s.len && len > 0 && ((unsigned char)s.text[len] & 0xC0) == 0x80)
    len--; /* not within a character */
  memcpy(field, s.text, len);
  field[len] = '\0';
}

/* ":12" at the front; false if there is none. Saturates. */
static bool take_number(span *s, int *ret_number) {
  size_t at = 1;
  int number = 0;
  if (s->len < 2 || s->text[0] != ':' || !isdigit((unsigned char)s->text[1])) return false;
  for (; at < s->len && isdigit((unsigned char)s->text[at]); at++)
    number = number < NUMBER_MAX / 10 ? number * 10 + (s->text[at] - '0') : NUMBER_MAX;
  *s = after(*s, at);
  *ret_number = number;
  return true;
}

/* "FILE:LINE[:COL]" at the front of *s, which then begins after it. The name is what stands before the first
 * ":NUMBER" that a ':' or a blank follows. */
static bool take_place(span *s, kf_compile_error *error) {
  for (size_t i = 1; i < s->len; i++) {
    if (s->text[i] != ':') continue;
    span rest = after(*s, i);
    int line = 0, col = 0;
    if (!take_number(&rest, &line)) continue;
    (void)take_number(&rest, &col);
    if (rest.len == 0 || (rest.text[0] != ':' && rest.text[0] != ' ')) continue;
    copy((span){s->text, i}, error->file, sizeof error->file);
    error->line = line;
    error->col = col;
    *s = rest;
    return true;
  }
  return false;
}

/* "error:" or "fatal error:" at the front. */
static bool take_severity(span *s, kf_compile_error *error) {
  bool fatal = starts(*s, "fatal error:");
  if (!fatal && !starts(*s, "error:")) return false;
  snprintf(error->severity, sizeof error->severity, "%s", fatal ? "fatal" : "error");
  *s = trimmed(after(*s, strlen(fatal ? "fatal error:" : "error:")));
  return true;
}

/* PoCL says where inside of a macro the complaint arose: " <Spelling=FILE:LINE:COL>:" */
static void skip_spelling(span *s) {
  const char *end = memchr(s->text, '>', s->len);
  if (starts(*s, " <Spelling=") && end != NULL) *s = after(*s, (size_t)(end - s->text) + 1);
}

/* Linkers name no place; the symbol is what matters. */
static bool is_linker_line(span s) {
  static const char *const signs[] = {"Cannot find symbol ", "undefined reference to ", "undefined symbol: "};
  char text[512];
  copy(s, text, sizeof text);
  for (size_t i = 0; i < KF_COUNTOF(signs); i++)
    if (strstr(text, signs[i]) != NULL) return true;
  return false;
}

static bool read_line(span s, kf_compile_error *ret_error) {
  kf_compile_error error = {0};
  span line = trimmed(s), message = line;
  if (take_severity(&message, &error)) { /* PoCL's order, or no place at all */
    span rest = message;
    if (take_place(&rest, &error)) {
      skip_spelling(&rest);
      message = trimmed(rest.len > 0 && rest.text[0] == ':' ? after(rest, 1) : rest);
    }
  } else if (take_place(&message, &error)) {
    if (message.text[0] != ':') return false;
    message = trimmed(after(message, 1));
    if (!take_severity(&message, &error)) return false;
  } else if (is_linker_line(line)) {
    snprintf(error.severity, sizeof error.severity, "error");
  } else {
    return false;
  }
  if (message.len == 0) return false;
  copy(message, error.message, sizeof error.message);
  if (error.message[0] == '\0') return false;
  snprintf(error.category, sizeof error.category, "%s", kf_compile_log_category(error.message));
  *ret_error = error;
  return true;
}

static bool is_known(const kf_compile_error *errors, int count, const kf_compile_error *error) {
  for (int i = 0; i < count; i++)
    if (errors[i].line == error->line && errors[i].col == error->col &&
        strcmp(errors[i].message, error->message) == 0)
      return true;
  return false;
}

int kf_compile_log_errors(const char *log, size_t len, kf_compile_error *ret_errors, int max) {
  int count = 0;
  for (size_t at = 0; at < len && count < max;) {
    const char *end = memchr(log + at, '\n', len - at);
    size_t line_len = end != NULL ? (size_t)(end - (log + at)) : len - at;
    kf_compile_error error;
    if (read_line((span){log + at, line_len}, &error) && !is_known(ret_errors, count, &error))
      ret_errors[count++] = error;
    at += line_len + 1;
  }
  return count;
}

const char *kf_compile_log_category(const char *message) {
  /* First match: what names a cause comes before what merely names a place in the grammar. */
  static const struct {
    const char *sign, *category;
  } signs[] = {
      {"file not found", "preprocessor"},
      {"No such file", "preprocessor"},
      {"#error", "preprocessor"},
      {"#include", "preprocessor"},
      {"#if", "preprocessor"},
      {"#endif", "preprocessor"},
      {"macro", "preprocessor"},
      {"preprocessing", "preprocessor"},
      {"address space", "address_space"},
      {"cannot be declared as a pointer to", "address_space"},
      {"requires cl_khr", "builtin"},
      {"is not allowed", "builtin"},
      {"requires OpenCL", "builtin"},
      {"requires target feature", "builtin"},
      {"no matching function", "builtin"},
      {"no matching builtin", "builtin"},
      {"is ambiguous", "builtin"},
      {"too few arguments", "builtin"},
      {"too many arguments", "builtin"},
      {"undeclared", "undeclared"},
      {"unknown type name", "undeclared"},
      {"implicit declaration", "undeclared"},
      {"undefined reference", "undeclared"},
      {"undefined symbol", "undeclared"},
      {"Cannot find symbol", "undeclared"},
      {"no member named", "undeclared"},
      {"exceeds", "limit"},
      {"too large", "limit"},
      {"too many", "limit"},
      {"negative size", "limit"},
      {"size of array", "limit"},
      {"out of range", "limit"},
      {"incompatible", "type"},
      {"convert", "type"},
      {"conversion", "type"},
      {"invalid operands", "type"},
      {"initializ", "type"},
      {"assign", "type"},
      {"subscripted", "type"},
      {"indirection", "type"},
      {"conflicting types", "type"},
      {"redefinition", "type"},
      {"incomplete type", "type"},
      {"is not a function", "type"},
      {"passing", "type"},
      {"returning", "type"},
      {"expected", "syntax"},
      {"unterminated", "syntax"},
      {"missing", "syntax"},
      {"extraneous", "syntax"},
      {"stray", "syntax"},
      {"parse", "syntax"},
  };
  for (size_t i = 0; i < KF_COUNTOF(signs); i++)
    if (strstr(message, signs[i].sign) != NULL) return signs[i].category;
  return "other";
}
