/* expr.c - recursive descent over a text of bounded length and nesting; binary operators by precedence
 * climbing. */
#include "base/alloc.h"
#include "task/expr_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LEN_MAX = 64 };

typedef struct {
  kf_arena *arena;
  const char *text;
  size_t len, pos;
  int depth;
  int column; /* of the failure */
  kf_err *err;
} parser;

static kf_status parse_choice(parser *p, kf__expr_node **ret_node);

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_blanks(parser *p) {
  while (p->pos < p->len && is_blank(p->text[p->pos]))
    p->pos++;
}

static char peek(const parser *p, size_t ahead) {
  return p->pos + ahead < p->len ? p->text[p->pos + ahead] : '\0';
}

static int column_here(const parser *p) {
  return (int)p->pos + 1;
}

/* The status is a constant here and below, so that a static analyser follows it. */
static kf_status __attribute__((format(printf, 3, 4))) fail_at(parser *p, int column, const char *fmt, ...) {
  char what[160];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  p->column = column;
  kf_fail(p->err, KF_EINVAL, "%s", what);
  return KF_EINVAL;
}

static kf_status no_memory(const parser *p) {
  kf_nomem(p->err);
  return KF_ENOMEM;
}

/* "expected X, found Y" at the present position. */
static kf_status unexpected(parser *p, const char *expected) {
  int column = column_here(p);
  if (p->pos >= p->len) return fail_at(p, column, "expected %s, found the end", expected);
  unsigned char c = (unsigned char)peek(p, 0);
  if (c < 0x20 || c >= 0x7f) return fail_at(p, column, "expected %s, found the byte 0x%02x", expected, c);
  return fail_at(p, column, "expected %s, found \"%c\"", expected, c);
}

static kf_status new_node(parser *p, kf__expr_op op, int column, kf__expr_node **ret_node) {
  kf__expr_node *node = kf_arena_alloc(p->arena, sizeof *node);
  if (node == NULL) return no_memory(p);
  node->op = op;
  node->column = column;
  node->slot = KF__SLOT_UNKNOWN;
  *ret_node = node;
  return KF_OK;
}

static kf_status enter(parser *p) {
  if (++p->depth > KF_EXPR_DEPTH_MAX) {
    return fail_at(p, column_here(p), "expression nested deeper than %d levels", KF_EXPR_DEPTH_MAX);
  }
  return KF_OK;
}

static kf_status expect(parser *p, char c) {
  char wanted[4] = {'"', c, '"', '\0'};
  skip_blanks(p);
  if (peek(p, 0) != c) return unexpected(p, wanted);
  p->pos++;
  return KF_OK;
}

static int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

static kf_status parse_number(parser *p, kf__expr_node **ret_node) {
  kf__expr_node *node = NULL;
  int column = column_here(p);
  KF_TRY(new_node(p, EXPR_NUMBER, column, &node));
  int base = 10;
  if (peek(p, 0) == '0' && (peek(p, 1) == 'x' || peek(p, 1) == 'X') && digit_value(peek(p, 2)) < 16) {
    base = 16;
    p->pos += 2;
  }
  int64_t number = 0;
  for (; digit_value(peek(p, 0)) < base; p->pos++) {
    bool over = __builtin_mul_overflow(number, (int64_t)base, &number);
    if (over || __builtin_add_overflow(number, (int64_t)digit_value(peek(p, 0)), &number)) {
      return fail_at(p, column, "number does not fit in 64 bits");
    }
  }
  if (is_name_start(peek(p, 0)) || is_digit(peek(p, 0))) return unexpected(p, "an operator after the number");
  /* "1..4" is a range of a directive, "1.5" nothing that an expression can hold. */
  if (peek(p, 0) == '.' && is_digit(peek(p, 1))) {
    return fail_at(p, column, "expressions have whole numbers only");
  }
  node->number = number;
  *ret_node = node;
  return KF_OK;
}

static const struct {
  const char *name;
  kf__expr_op op;
  int nargs;
} functions[] = {{"min", EXPR_MIN, 2}, {"max", EXPR_MAX, 2}, {"log2", EXPR_LOG2, 1}, {"ceil", EXPR_CEIL, 2}};

bool kf__expr_is_function(const char *name) {
  for (size_t i = 0; i < KF_COUNTOF(functions); i++)
    if (strcmp(functions[i].name, name) == 0) return true;
  return false;
}

static kf_status parse_call(parser *p, const char *name, int column, kf__expr_node **ret_node) {
  size_t which = 0;
  while (which < KF_COUNTOF(functions) && strcmp(functions[which].name, name) != 0)
    which++;
  if (which == KF_COUNTOF(functions)) {
    kf_status status = fail_at(p, column, "unknown function \"%s\"", name);
    kf_err_hint(p->err, status, "there are min(a,b), max(a,b), log2(a) and ceil(a,b)");
    return status;
  }
  kf__expr_node *node = NULL;
  KF_TRY(new_node(p, functions[which].op, column, &node));
  p->pos++; /* the bracket */
  KF_TRY(enter(p));
  KF_TRY(parse_choice(p, &node->a));
  if (functions[which].nargs == 2) {
    KF_TRY(expect(p, ','));
    KF_TRY(parse_choice(p, &node->b));
  }
  KF_TRY(expect(p, ')'));
  p->depth--;
  *ret_node = node;
  return KF_OK;
}

/* A name, a dotted name or a call. */
static kf_status parse_name(parser *p, kf__expr_node **ret_node) {
  size_t begin = p->pos;
  int column = column_here(p);
  while (is_name_start(peek(p, 0)) || is_digit(peek(p, 0)) ||
         (peek(p, 0) == '.' && is_name_start(peek(p, 1))))
    p->pos++;
  if (p->pos - begin > NAME_LEN_MAX) {
    return fail_at(p, column, "name longer than %d characters", NAME_LEN_MAX);
  }
  char *name = kf_arena_strndup(p->arena, p->text + begin, p->pos - begin);
  if (name == NULL) return no_memory(p);
  size_t end = p->pos;
  skip_blanks(p);
  if (peek(p, 0) == '(') return parse_call(p, name, column, ret_node);
  p->pos = end;
  if (kf__expr_is_function(name)) {
    return fail_at(p, column, "\"%s\" is a function and needs its arguments in brackets", name);
  }
  KF_TRY(new_node(p, EXPR_NAME, column, ret_node));
  (*ret_node)->name = name;
  return KF_OK;
}

static kf_status parse_unary(parser *p, kf__expr_node **ret_node) {
  skip_blanks(p);
  char c = peek(p, 0);
  if (c == '-' || (c == '!' && peek(p, 1) != '=')) {
    kf__expr_node *node = NULL;
    KF_TRY(new_node(p, c == '-' ? EXPR_NEGATE : EXPR_NOT, column_here(p), &node));
    p->pos++;
    KF_TRY(enter(p));
    KF_TRY(parse_unary(p, &node->a));
    p->depth--;
    *ret_node = node;
    return KF_OK;
  }
  if (c == '(') {
    p->pos++;
    KF_TRY(enter(p));
    KF_TRY(parse_choice(p, ret_node));
    KF_TRY(expect(p, ')'));
    p->depth--;
    return KF_OK;
  }
  if (is_digit(c)) return parse_number(p, ret_node);
  if (is_name_start(c)) return parse_name(p, ret_node);
  return unexpected(p, "a number, a name or \"(\"");
}

typedef struct {
  const char *text;
  kf__expr_op op;
  int level; /* C precedence, larger binds tighter */
} binary_op;

/* Longer spellings come first. */
static const binary_op binary_ops[] = {
    {"||", EXPR_OR, 1}, {"&&", EXPR_AND, 2}, {"==", EXPR_EQ, 3}, {"!=", EXPR_NE, 3}, {"<=", EXPR_LE, 4},
    {">=", EXPR_GE, 4}, {"<", EXPR_LT, 4},   {">", EXPR_GT, 4},  {"+", EXPR_ADD, 5}, {"-", EXPR_SUB, 5},
    {"*", EXPR_MUL, 6}, {"/", EXPR_DIV, 6},  {"%", EXPR_MOD, 6},
};

static const binary_op *peek_binary(parser *p) {
  skip_blanks(p);
  for (size_t i = 0; i < KF_COUNTOF(binary_ops); i++) {
    const char *text = binary_ops[i].text;
    if (peek(p, 0) == text[0] && (text[1] == '\0' || peek(p, 1) == text[1])) return &binary_ops[i];
  }
  return NULL;
}

static kf_status parse_binary(parser *p, int level, kf__expr_node **ret_node) {
  kf__expr_node *left = NULL;
  KF_TRY(parse_unary(p, &left));
  for (;;) {
    size_t end = p->pos;
    const binary_op *op = peek_binary(p);
    if (op == NULL || op->level < level) {
      p->pos = end;
      *ret_node = left;
      return KF_OK;
    }
    kf__expr_node *node = NULL;
    KF_TRY(new_node(p, op->op, column_here(p), &node));
    p->pos += strlen(op->text);
    node->a = left;
    KF_TRY(parse_binary(p, op->level + 1, &node->b));
    left = node;
  }
}

static kf_status parse_choice(parser *p, kf__expr_node **ret_node) {
  kf__expr_node *condition = NULL;
  KF_TRY(parse_binary(p, 1, &condition));
  size_t end = p->pos;
  skip_blanks(p);
  if (peek(p, 0) != '?') {
    p->pos = end;
    *ret_node = condition;
    return KF_OK;
  }
  kf__expr_node *node = NULL;
  KF_TRY(new_node(p, EXPR_CHOOSE, column_here(p), &node));
  p->pos++;
  node->a = condition;
  KF_TRY(enter(p));
  KF_TRY(parse_choice(p, &node->b));
  KF_TRY(expect(p, ':'));
  KF_TRY(parse_choice(p, &node->c));
  p->depth--;
  *ret_node = node;
  return KF_OK;
}

kf_status kf__expr_parse_prefix(kf_arena *arena, const char *text, size_t len, const kf_expr **ret_expr,
                                size_t *ret_used, int *ret_column, kf_err *err) {
  parser p = {.arena = arena, .text = text, .len = len, .err = err, .column = 1};
  /* One byte more than is allowed is looked at, so that a longer expression is an error and not cut. */
  if (p.len > KF_EXPR_LEN_MAX + 1) p.len = KF_EXPR_LEN_MAX + 1;
  kf__expr_node *root = NULL;
  kf_status status = parse_choice(&p, &root);
  if (status != KF_ENOMEM && p.pos > KF_EXPR_LEN_MAX) {
    p.column = KF_EXPR_LEN_MAX + 1;
    status = kf_fail(err, KF_EINVAL, "expression longer than %d bytes", KF_EXPR_LEN_MAX);
  }
  if (status != KF_OK) {
    if (ret_column != NULL) *ret_column = p.column;
    return status;
  }
  size_t begin = 0;
  while (begin < p.pos && is_blank(text[begin]))
    begin++;
  kf_expr *expr = kf_arena_alloc(arena, sizeof *expr);
  if (expr == NULL) return kf_nomem(err);
  expr->text = kf_arena_strndup(arena, text + begin, p.pos - begin);
  if (expr->text == NULL) return kf_nomem(err);
  expr->root = root;
  *ret_expr = expr;
  *ret_used = p.pos;
  return KF_OK;
}

kf_status kf_expr_parse(kf_arena *arena, const char *text, size_t len, const kf_expr **ret_expr,
                        int *ret_column, kf_err *err) {
  const kf_expr *expr = NULL;
  size_t used = 0;
  int column = 1;
  kf_status status = kf__expr_parse_prefix(arena, text, len, &expr, &used, &column, err);
  if (status == KF_ENOMEM) return status;
  if (status == KF_OK) {
    parser rest = {.text = text, .len = len, .pos = used, .err = err};
    skip_blanks(&rest);
    if (rest.pos == len) {
      *ret_expr = expr;
      return KF_OK;
    }
    status = unexpected(&rest, "an operator or the end");
    column = rest.column;
  }
  if (ret_column != NULL) *ret_column = column;
  return kf_err_context(err, status, "column %d", column);
}

static bool visit_names(const kf__expr_node *node, bool (*visit)(void *, const char *, int), void *context) {
  if (node == NULL) return true;
  if (node->op == EXPR_NAME) return visit(context, node->name, node->column);
  return visit_names(node->a, visit, context) && visit_names(node->b, visit, context) &&
         visit_names(node->c, visit, context);
}

void kf_expr_names(const kf_expr *expr, bool (*visit)(void *context, const char *name, int column),
                   void *context) {
  visit_names(expr->root, visit, context);
}

const char *kf_expr_text(const kf_expr *expr) {
  return expr->text;
}

static const char *bind_node(kf__expr_node *node, kf__expr_slot slot, void *context, int *ret_column) {
  if (node == NULL) return NULL;
  if (node->op == EXPR_NAME) {
    node->slot = slot(context, node->name);
    if (node->slot != KF__SLOT_UNKNOWN) return NULL;
    *ret_column = node->column;
    return node->name;
  }
  kf__expr_node *parts[3] = {node->a, node->b, node->c};
  for (size_t i = 0; i < KF_COUNTOF(parts); i++) {
    const char *unknown = bind_node(parts[i], slot, context, ret_column);
    if (unknown != NULL) return unknown;
  }
  return NULL;
}

const char *kf__expr_bind(const kf_expr *expr, kf__expr_slot slot, void *context, int *ret_column) {
  return bind_node(expr->root, slot, context, ret_column);
}
