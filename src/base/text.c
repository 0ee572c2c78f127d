/* text.c - edit distance and strict number parsing. */
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { NEAREST_MAX = 80, NAME_MAX_CHARS = 64, DURATION_DIGITS_MAX = 32 };

static size_t min3(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

/* Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours cost 1.
 * Three rows of the table are enough. Both lengths are at most NEAREST_MAX. */
static size_t edit_distance(const char *a, size_t len_a, const char *b, size_t len_b) {
  size_t rows[3][NEAREST_MAX + 1];
  size_t *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= len_b; j++)
    above[j] = j;
  memset(rows[0], 0, sizeof rows[0]);
  for (size_t i = 1; i <= len_a; i++) {
    row[0] = i;
    for (size_t j = 1; j <= len_b; j++) {
      row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
    size_t *spare = before;
    before = above;
    above = row;
    row = spare;
  }
  return above[len_b];
}

const char *kf_text_nearest(const char *word, const char *const *names) {
  size_t len = strnlen(word, NEAREST_MAX + 1);
  if (len > NEAREST_MAX) return NULL;
  /* One slip per three characters is a likely typing error; more is another word. */
  size_t best = len / 3 > 0 ? len / 3 : 1;
  const char *nearest = NULL;
  for (; *names != NULL; names++) {
    size_t name_len = strnlen(*names, NEAREST_MAX + 1);
    if (name_len > NEAREST_MAX) continue;
    size_t distance = edit_distance(word, len, *names, name_len);
    if (distance >= len || distance > best || (distance == best && nearest != NULL)) continue;
    best = distance;
    nearest = *names;
  }
  return nearest;
}

kf_status kf_text_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *ret_value,
                      kf_err *err) {
  const char *digits = text[0] == '-' ? text + 1 : text;
  if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
    return kf_fail(err, KF_EINVAL, "%s: \"%.60s\" is not a whole number", what, text);
  errno = 0;
  long long value = strtoll(text, NULL, 10);
  if (errno == ERANGE || value < min || value > max)
    return kf_fail(err, KF_EINVAL, "%s: %.60s is out of range: %lld to %lld expected", what, text,
                   (long long)min, (long long)max);
  *ret_value = value;
  return KF_OK;
}

kf_status kf_text_real(const char *text, double min, double max, const char *what, double *ret_value,
                       kf_err *err) {
  /* The character set keeps out what strtod also takes: blanks, hexadecimal, "inf" and "nan". */
  char *end = NULL;
  double value = 0.0;
  bool good = text[0] != '\0' && text[0] != '+' && text[strspn(text, "0123456789.eE+-")] == '\0';
  if (good) value = strtod(text, &end);
  if (!good || end == text || *end != '\0')
    return kf_fail(err, KF_EINVAL, "%s: \"%.60s\" is not a number", what, text);
  if (!isfinite(value) || value < min || value > max)
    return kf_fail(err, KF_EINVAL, "%s: %.60s is out of range: %g to %g expected", what, text, min, max);
  *ret_value = value;
  return KF_OK;
}

kf_status kf_text_duration(const char *text, double *ret_seconds, kf_err *err) {
  const double longest_s = 1e9;
  char digits[DURATION_DIGITS_MAX];
  size_t len = strnlen(text, sizeof digits);
  double scale = 1.0;
  if (len > 0 && len < sizeof digits) {
    memcpy(digits, text, len + 1);
    char unit = digits[len - 1];
    if (unit == 'm') scale = 60.0;
    if (unit == 'h') scale = 3600.0;
    if (unit == 's' || unit == 'm' || unit == 'h') digits[len - 1] = '\0';
    double value;
    if (kf_text_real(digits, 0.0, longest_s / scale, "duration", &value, NULL) == KF_OK) {
      *ret_seconds = value * scale;
      return KF_OK;
    }
  }
  kf_status status = kf_fail(err, KF_EINVAL, "\"%.60s\" is not a duration", text);
  return kf_err_hint(err, status, "write a number of seconds, or one with s, m or h: 90, 90s, 5m, 2h");
}

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool kf_text_is_name(const char *text) {
  if (!is_name_start(text[0])) return false;
  size_t len = 1;
  while (is_name_start(text[len]) || (text[len] >= '0' && text[len] <= '9'))
    if (++len > NAME_MAX_CHARS) return false;
  return text[len] == '\0';
}

void kf_text_clean(char *text, size_t len) {
  for (size_t i = 0; i < len; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) text[i] = ' ';
}
