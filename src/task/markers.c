/* markers.c - finds marker lines: nothing on the line but a marker and the signs of a comment around it. */
#include "task/markers.h"

#include <string.h>

typedef struct {
  const char *start, *end;
} marker_words;

static const marker_words words[] = {
    [KF_MARKER_EVOLVE] = {"[EVOLVE_START]", "[EVOLVE_END]"},
    [KF_MARKER_REFERENCE] = {"[REFERENCE_START]", "[REFERENCE_END]"},
    [KF_MARKER_USER_INSTRUCTIONS] = {"[USER_INSTRUCTIONS_START]", "[USER_INSTRUCTIONS_END]"},
};

typedef struct {
  const char *begin, *end;
} span;

static span trim(span s) {
  while (s.begin < s.end && strchr(" \t\r", *s.begin) != NULL && *s.begin != '\0')
    s.begin++;
  while (s.begin < s.end && strchr(" \t\r", s.end[-1]) != NULL && s.end[-1] != '\0')
    s.end--;
  return s;
}

static bool skip_word(span *s, const char *word) {
  size_t len = strlen(word);
  if ((size_t)(s->end - s->begin) < len || memcmp(s->begin, word, len) != 0) return false;
  s->begin += len;
  *s = trim(*s);
  return true;
}

/* Is this line a marker? An EVOLVE marker needs its comment sign; the others may lie within a longer comment.
 */
static bool read_marker(span line, kf_marker *ret_kind, bool *ret_is_start) {
  static const char *const leaders[] = {"//", "/*", "#", "--", ";", "<!--", "\"\"\""};
  static const char *const trailers[] = {"*/", "-->", "\"\"\""};
  span rest = trim(line);
  bool led = false;
  for (size_t i = 0; i < KF_COUNTOF(leaders) && !led; i++)
    led = skip_word(&rest, leaders[i]);
  for (size_t kind = 0; kind < KF_COUNTOF(words); kind++) {
    bool is_start = skip_word(&rest, words[kind].start);
    if (!is_start && !skip_word(&rest, words[kind].end)) continue;
    for (size_t i = 0; i < KF_COUNTOF(trailers); i++)
      if (skip_word(&rest, trailers[i])) break;
    if (rest.begin != rest.end || (kind == KF_MARKER_EVOLVE && !led)) return false;
    *ret_kind = (kf_marker)kind;
    *ret_is_start = is_start;
    return true;
  }
  return false;
}

typedef struct {
  kf_region_span *spans;
  int count;
  bool open; /* spans[count] has begun */
  const char *name;
  kf_err *err;
} finder;

static kf_status take_start(finder *f, kf_marker kind, size_t next, int line) {
  if (f->open) {
    const kf_region_span *outer = &f->spans[f->count];
    return kf_fail(f->err, KF_EREFUSED, "%s:%d: %s inside the %s of line %d", f->name, line,
                   words[kind].start, words[outer->kind].start, outer->line - 1);
  }
  if (f->count == KF_MARKER_SPANS_MAX)
    return kf_fail(f->err, KF_EREFUSED, "%s:%d: more than %d marked regions", f->name, line,
                   KF_MARKER_SPANS_MAX);
  f->spans[f->count] = (kf_region_span){.kind = kind, .begin = next, .end = next, .line = line + 1};
  f->open = true;
  return KF_OK;
}

static kf_status take_end(finder *f, kf_marker kind, size_t begin, int line) {
  if (!f->open || f->spans[f->count].kind != kind)
    return kf_fail(f->err, KF_EREFUSED, "%s:%d: %s without its %s", f->name, line, words[kind].end,
                   words[kind].start);
  f->spans[f->count++].end = begin;
  f->open = false;
  return KF_OK;
}

kf_status kf_markers_find(const char *text, size_t len, const char *name,
                          kf_region_span ret_spans[KF_MARKER_SPANS_MAX], int *ret_count, kf_err *err) {
  kf_region_span spans[KF_MARKER_SPANS_MAX + 1];
  finder f = {.spans = spans, .name = name, .err = err};
  int line = 1;
  for (size_t begin = 0; begin < len; line++) {
    const char *newline = memchr(text + begin, '\n', len - begin);
    size_t end = newline != NULL ? (size_t)(newline - text) : len;
    size_t next = newline != NULL ? end + 1 : len;
    kf_marker kind = KF_MARKER_EVOLVE;
    bool is_start = false;
    if (read_marker((span){text + begin, text + end}, &kind, &is_start))
      KF_TRY(is_start ? take_start(&f, kind, next, line) : take_end(&f, kind, begin, line));
    begin = next;
  }
  if (f.open)
    return kf_fail(err, KF_EREFUSED, "%s:%d: %s without its %s", name, spans[f.count].line - 1,
                   words[spans[f.count].kind].start, words[spans[f.count].kind].end);
  memcpy(ret_spans, spans, (size_t)f.count * sizeof *spans);
  *ret_count = f.count;
  return KF_OK;
}
