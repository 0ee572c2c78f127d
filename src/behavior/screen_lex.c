/* screen_lex.c - source -> tokens, as clang's lexer cuts them: lines joined at a backslash, comments dropped,
 * strings kept whole. */
#include "behavior/screen_int.h"

#include <ctype.h>
#include <string.h>

typedef struct {
  const char *at, *end;
  unsigned line, column;
  kf_tokens *tokens;
  bool first;
  kf_err *err;
} lexer;

/* Length of a backslash and the end of line it joins, blanks between allowed as clang does; 0 if none. */
static size_t splice_at(const char *at, const char *end) {
  if (at >= end || *at != '\\') return 0;
  const char *c = at + 1;
  while (c < end && (*c == ' ' || *c == '\t' || *c == '\v' || *c == '\f'))
    c++;
  if (c < end && *c == '\r') {
    c++;
    if (c < end && *c == '\n') c++;
    return (size_t)(c - at);
  }
  return c < end && *c == '\n' ? (size_t)(c + 1 - at) : 0;
}

static void skip_splices(lexer *l) {
  for (size_t n = splice_at(l->at, l->end); n; n = splice_at(l->at, l->end)) {
    l->at += n;
    l->line++;
    l->column = 1;
  }
}

/* The character at hand, 0 at the end; NUL itself reads as one that is no ASCII. */
static int peek(lexer *l) {
  skip_splices(l);
  if (l->at >= l->end) return 0;
  return *l->at ? (unsigned char)*l->at : 0x80;
}

static bool is_line_end(int c) {
  return c == '\n' || c == '\r';
}

static int take(lexer *l) {
  int c = peek(l);
  if (!c) return 0;
  bool crlf = c == '\r' && l->at + 1 < l->end && l->at[1] == '\n';
  l->at += crlf ? 2 : 1;
  if (is_line_end(c)) {
    l->line++;
    l->column = 1;
    return '\n';
  }
  l->column++;
  return c;
}

/* The character after the one at hand. */
static int peek_second(const lexer *l) {
  lexer copy = *l;
  take(&copy);
  return peek(&copy);
}

static bool is_word(int c) {
  return isalnum(c) || c == '_' || c == '$';
}

typedef struct {
  char text[KF_TOKEN_MAX];
  size_t len;
} spelling;

static void spell(spelling *s, int c) {
  if (s->len + 1 < sizeof s->text) s->text[s->len++] = (char)c;
  s->text[s->len] = '\0';
}

static kf_status add(lexer *l, kf_token_kind kind, const spelling *s, unsigned line, unsigned column) {
  kf_token token = {.text = kf_arena_strndup(&l->tokens->arena, s->text, s->len),
                    .line = line,
                    .column = column,
                    .kind = (uint8_t)kind,
                    .first = l->first};
  l->first = false;
  if (!token.text || kf_vec_push(&l->tokens->list, token) != KF_OK) return kf_nomem(l->err);
  return KF_OK;
}

/* "??/" joins lines even inside a comment: what comes after it is not what it seems. */
static kf_status strange(lexer *l, const char *what) {
  spelling s = {.len = 0};
  for (; *what; what++)
    spell(&s, *what);
  return add(l, KF_TOKEN_STRANGE, &s, l->line, l->column);
}

static bool ends_in_trigraph_splice(const int last[2], int c) {
  return last[0] == '?' && last[1] == '?' && c == '/';
}

static kf_status skip_comment(lexer *l) {
  bool is_block = peek_second(l) == '*';
  int last[2] = {0, 0};
  take(l);
  take(l);
  for (int c = peek(l); c; c = peek(l)) {
    if (!is_block && is_line_end(c)) return KF_OK;
    take(l);
    if (ends_in_trigraph_splice(last, c)) KF_TRY(strange(l, "\?\?/"));
    if (is_block && last[1] == '*' && c == '/') return KF_OK;
    last[0] = last[1];
    last[1] = c;
  }
  return KF_OK;
}

static kf_status lex_string(lexer *l) {
  spelling s = {.len = 0};
  unsigned line = l->line, column = l->column;
  int quote = take(l);
  spell(&s, quote);
  for (int c = peek(l); c && !is_line_end(c); c = peek(l)) {
    spell(&s, take(l));
    if (c == quote) break;
    if (c == '\\' && peek(l) && !is_line_end(peek(l))) spell(&s, take(l));
  }
  return add(l, KF_TOKEN_STRING, &s, line, column);
}

static kf_status lex_word(lexer *l) {
  spelling s = {.len = 0};
  unsigned line = l->line, column = l->column;
  while (is_word(peek(l)))
    spell(&s, take(l));
  return add(l, KF_TOKEN_WORD, &s, line, column);
}

/* A preprocessing number: digits, letters, dots, and signs after an exponent. */
static kf_status lex_number(lexer *l) {
  spelling s = {.len = 0};
  unsigned line = l->line, column = l->column;
  for (int c = peek(l); is_word(c) || c == '.'; c = peek(l)) {
    spell(&s, take(l));
    bool exponent = strchr("eEpP", c) != NULL;
    if (exponent && (peek(l) == '+' || peek(l) == '-')) spell(&s, take(l));
  }
  return add(l, KF_TOKEN_NUMBER, &s, line, column);
}

static bool is_trigraph(lexer *l) {
  lexer copy = *l;
  for (int i = 0; i < 2; i++)
    if (take(&copy) != '?') return false;
  int third = take(&copy);
  return third && strchr("=/'()!<>-", third);
}

/* Pairs that mean something here are one token: "##", "[[" and their other spellings. */
static kf_status lex_sign(lexer *l) {
  static const struct {
    char first, second;
    const char *as;
  } pairs[] = {{'#', '#', "##"}, {'%', ':', "#"}, {'<', ':', "["}, {':', '>', "]"}};
  spelling s = {.len = 0};
  unsigned line = l->line, column = l->column;
  if (is_trigraph(l)) {
    KF_TRY(strange(l, "a trigraph"));
    take(l);
    return KF_OK;
  }
  int c = take(l);
  for (size_t i = 0; i < KF_COUNTOF(pairs); i++) {
    if (c != pairs[i].first || peek(l) != pairs[i].second) continue;
    take(l);
    spell(&s, pairs[i].as[0]);
    if (pairs[i].as[1]) spell(&s, pairs[i].as[1]);
    /* "%:%:" is "##" */
    if (c == '%' && peek(l) == '%' && peek_second(l) == ':') {
      take(l);
      take(l);
      spell(&s, '#');
    }
    return add(l, KF_TOKEN_SIGN, &s, line, column);
  }
  spell(&s, c);
  return add(l, KF_TOKEN_SIGN, &s, line, column);
}

static kf_status lex_one(lexer *l, int c) {
  if (is_line_end(c)) {
    take(l);
    l->first = true;
    return KF_OK;
  }
  if (c == ' ' || c == '\t' || c == '\v' || c == '\f') {
    take(l);
    return KF_OK;
  }
  int second = peek_second(l);
  if (c == '/' && (second == '/' || second == '*')) return skip_comment(l);
  if (c == '"' || c == '\'') return lex_string(l);
  if (isdigit(c) || (c == '.' && isdigit(second))) return lex_number(l);
  if (is_word(c)) return lex_word(l);
  if (c < 0x20 || c > 0x7e) {
    char text[32];
    snprintf(text, sizeof text, "the byte 0x%02x", (unsigned)(unsigned char)*l->at);
    KF_TRY(strange(l, text));
    take(l);
    return KF_OK;
  }
  return lex_sign(l);
}

kf_status kf__screen_tokens(const char *text, size_t len, kf_tokens *tokens, kf_err *err) {
  lexer l = {
      .at = text, .end = text + len, .line = 1, .column = 1, .tokens = tokens, .first = true, .err = err};
  for (int c = peek(&l); c; c = peek(&l))
    KF_TRY(lex_one(&l, c));
  return KF_OK;
}

void kf__screen_tokens_done(kf_tokens *tokens) {
  kf_vec_done(&tokens->list);
  kf_arena_done(&tokens->arena);
}
