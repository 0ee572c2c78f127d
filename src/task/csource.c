/* csource.c - a scanner for comments, literals, line continuations and tokens of C (ISO C17 5.1.1.2, phases 2
 * and 3). */
#include "task/csource.h"

#include <string.h>

enum { SEPARATOR = '\x1f', CALL_BRACKET = '\x02' };

typedef struct {
  const char *text;
  size_t len, pos;
  int line;
  size_t line_begin;
  bool fresh;        /* nothing but blanks yet on this physical line, which continues no other */
  bool first_token;  /* of the logical line */
  bool in_directive; /* a preprocessor line */
  int words;         /* tokens of the preprocessor line so far, "#" included */
  bool defining;     /* #define */
  size_t token_end;  /* of the last token */
  const char *name;
  kf_buf *tokens;
  kf_err *err;
} scanner;

/* Length of a backslash and line feed at `pos`, else 0. */
static size_t splice_len(const scanner *s, size_t pos) {
  if (pos + 1 >= s->len || s->text[pos] != '\\') return 0;
  if (s->text[pos + 1] == '\n') return 2;
  return pos + 2 < s->len && s->text[pos + 1] == '\r' && s->text[pos + 2] == '\n' ? 3 : 0;
}

static void next_line(scanner *s, bool continues) {
  s->line++;
  s->line_begin = s->pos;
  s->fresh = !continues;
}

/* Skips continuations at the present position. */
static void skip_splices(scanner *s) {
  size_t len;
  while ((len = splice_len(s, s->pos)) > 0) {
    s->pos += len;
    next_line(s, true);
  }
}

static char peek(scanner *s) {
  skip_splices(s);
  return s->pos < s->len ? s->text[s->pos] : '\0';
}

/* The character after the present one, continuations skipped. */
static char peek_second(const scanner *s) {
  size_t pos = s->pos + 1, len;
  while ((len = splice_len(s, pos)) > 0)
    pos += len;
  return pos < s->len ? s->text[pos] : '\0';
}

static bool at_end(scanner *s) {
  skip_splices(s);
  return s->pos >= s->len;
}

static kf_status fail(const scanner *s, size_t pos, const char *what) {
  return kf_fail(s->err, KF_EREFUSED, "%s:%d:%zu: %s", s->name, s->line, pos - s->line_begin + 1, what);
}

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (unsigned char)c >= 0x80;
}

static kf_status emit(scanner *s, char c) {
  return kf_buf_append(s->tokens, &c, 1, s->err);
}

static void end_logical_line(scanner *s) {
  s->first_token = true;
  s->in_directive = s->defining = false;
  s->words = 0;
}

/* ---- comments ---- */

static void skip_line_comment(scanner *s) {
  while (!at_end(s) && s->text[s->pos] != '\n')
    s->pos++;
}

static void skip_block_comment(scanner *s) {
  s->pos++;
  skip_splices(s);
  s->pos++;
  while (!at_end(s)) {
    char c = s->text[s->pos];
    if (c == '*' && peek_second(s) == '/') {
      s->pos++;
      skip_splices(s);
      s->pos++;
      return;
    }
    s->pos++;
    if (c == '\n') next_line(s, true);
  }
}

static kf_status take_directive(scanner *s, kf__directive *directives, int *count) {
  size_t begin = s->pos + strlen("//kf:");
  const char *newline = memchr(s->text + begin, '\n', s->len - begin);
  size_t end = newline != NULL ? (size_t)(newline - s->text) : s->len;
  if (!s->fresh) {
    kf_status status = fail(s, s->pos, "a directive must stand on a line of its own");
    return kf_err_hint(s->err, status, "begin a new line before //kf:");
  }
  if (end > begin && s->text[end - 1] == '\r') end--;
  if (end > begin && s->text[end - 1] == '\\')
    return fail(s, end - 1, "a directive cannot be continued on the next line");
  if (end - begin > KF__DIRECTIVE_LEN_MAX) return fail(s, s->pos, "the directive is too long");
  if (*count == KF__DIRECTIVES_MAX) return fail(s, s->pos, "too many directives");
  directives[(*count)++] = (kf__directive){
      .begin = begin, .end = end, .line = s->line, .column = (int)(begin - s->line_begin) + 1};
  s->pos = end;
  return KF_OK;
}

/* ---- tokens ---- */

static kf_status take_literal(scanner *s, char quote) {
  KF_TRY(emit(s, quote));
  s->pos++;
  while (!at_end(s) && s->text[s->pos] != '\n') {
    char c = s->text[s->pos++];
    KF_TRY(emit(s, c));
    if (c == quote) return KF_OK;
    if (c == '\\' && !at_end(s) && s->text[s->pos] != '\n') KF_TRY(emit(s, s->text[s->pos++]));
  }
  return KF_OK; /* unterminated: the compiler will say so */
}

/* Identifiers and preprocessing numbers. */
static kf_status take_word(scanner *s) {
  char first = peek(s), before = '\0';
  bool is_number = (first >= '0' && first <= '9') || first == '.';
  for (;;) {
    char c = peek(s);
    bool exponent = is_number && strchr("eEpP", before) != NULL && before != '\0' && (c == '+' || c == '-');
    if (!is_word_char(c) && !(is_number && c == '.') && !exponent) return KF_OK;
    KF_TRY(emit(s, c));
    s->pos++;
    before = c;
  }
}

static kf_status take_punctuator(scanner *s) {
  static const char *const longer[] = {"<<=", ">>=", "...", "++", "--", "->", "<<", ">>",
                                       "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
                                       "*=",  "/=",  "%=",  "&=", "|=", "^=", "##"};
  size_t pos = s->pos;
  for (size_t i = 0; i < KF_COUNTOF(longer); i++) {
    size_t len = strlen(longer[i]);
    if (s->len - pos < len || memcmp(s->text + pos, longer[i], len) != 0) continue;
    s->pos += len;
    return kf_buf_append(s->tokens, longer[i], len, s->err);
  }
  s->pos++;
  return emit(s, s->text[pos]);
}

static kf_status take_token(scanner *s) {
  char c = peek(s);
  size_t begin = s->tokens->len;
  if (s->first_token && c == '#') {
    s->in_directive = true;
    KF_TRY(emit(s, '\n'));
    begin = s->tokens->len;
  }
  /* "#define F(x)" and "#define F (x)" differ by a blank only. */
  bool call = s->defining && s->words == 3 && c == '(' && s->pos == s->token_end;
  s->first_token = s->fresh = false;
  if (c == '"' || c == '\'') {
    KF_TRY(take_literal(s, c));
  } else if (is_word_char(c) || (c == '.' && peek_second(s) >= '0' && peek_second(s) <= '9')) {
    KF_TRY(take_word(s));
  } else {
    KF_TRY(take_punctuator(s));
  }
  s->token_end = s->pos;
  if (s->in_directive) {
    size_t len = s->tokens->len - begin;
    s->words++;
    if (s->words == 2) s->defining = len == 6 && memcmp(s->tokens->data + begin, "define", 6) == 0;
  }
  if (call) KF_TRY(emit(s, CALL_BRACKET));
  return emit(s, SEPARATOR);
}

kf_status kf__csource_scan(const char *text, size_t len, const char *name, kf__directive *ret_directives,
                           int *ret_count, kf_buf *tokens, kf_err *err) {
  scanner s = {
      .text = text, .len = len, .line = 1, .fresh = true, .name = name, .tokens = tokens, .err = err};
  int count = 0;
  end_logical_line(&s);
  while (!at_end(&s)) {
    char c = s.text[s.pos];
    char second = peek_second(&s);
    if (c == '\n') {
      s.pos++;
      if (s.in_directive) KF_TRY(emit(&s, '\n'));
      end_logical_line(&s);
      next_line(&s, false);
    } else if (c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r') {
      s.pos++;
    } else if (c == '/' && second == '/') {
      if (s.len - s.pos >= 5 && memcmp(s.text + s.pos, "//kf:", 5) == 0)
        KF_TRY(take_directive(&s, ret_directives, &count));
      else
        skip_line_comment(&s);
    } else if (c == '/' && second == '*') {
      s.fresh = false;
      skip_block_comment(&s);
    } else {
      KF_TRY(take_token(&s));
    }
  }
  *ret_count = count;
  return KF_OK;
}
