/* expr_eval.c - evaluation in checked 64-bit arithmetic. The nesting of a tree is bounded by the length of
 * its text. */
#include "base/alloc.h"
#include "task/expr_private.h"

#include <string.h>

typedef struct {
  const kf_value *slots; /* bound expressions; NULL: by `lookup` */
  kf_expr_lookup lookup;
  void *context;
  int column; /* of the failure */
  kf_err *err;
} evaluator;

static kf_status eval(evaluator *e, const kf__expr_node *node, kf_value *ret_value);

static kf_status failed_at(evaluator *e, const kf__expr_node *node, const char *what) {
  e->column = node->column;
  kf_fail(e->err, KF_EINVAL, "%s", what);
  return KF_EINVAL; /* a constant, so that a static analyser follows it */
}

static kf_status eval_int(evaluator *e, const kf__expr_node *node, int64_t *ret_number) {
  kf_value value = {0};
  KF_TRY(eval(e, node, &value));
  if (value.is_word) {
    e->column = node->column;
    kf_fail(e->err, KF_EINVAL, "\"%.64s\" is a word where a number is needed", value.word);
    kf_err_hint(e->err, KF_EINVAL, "words can be compared with == and != only");
    return KF_EINVAL;
  }
  *ret_number = value.number;
  return KF_OK;
}

static kf_status eval_name(evaluator *e, const kf__expr_node *node, kf_value *ret_value) {
  if (e->slots != NULL && node->slot >= 0) {
    *ret_value = e->slots[node->slot];
    return KF_OK;
  }
  if (e->slots != NULL && node->slot == KF__SLOT_WORD) {
    *ret_value = (kf_value){.is_word = true, .word = node->name};
    return KF_OK;
  }
  if (e->lookup != NULL && e->lookup(e->context, node->name, ret_value)) return KF_OK;
  e->column = node->column;
  kf_fail(e->err, KF_EINVAL, "unknown name \"%s\"", node->name);
  return KF_EINVAL;
}

static kf_status eval_equal(evaluator *e, const kf__expr_node *node, int64_t *ret_number) {
  kf_value a = {0}, b = {0};
  KF_TRY(eval(e, node->a, &a));
  KF_TRY(eval(e, node->b, &b));
  if (a.is_word != b.is_word) return failed_at(e, node, "a word is compared with a number");
  bool equal = a.is_word ? strcmp(a.word, b.word) == 0 : a.number == b.number;
  *ret_number = equal == (node->op == EXPR_EQ);
  return KF_OK;
}

static kf_status eval_logic(evaluator *e, const kf__expr_node *node, int64_t *ret_number) {
  int64_t a = 0, b = 0;
  KF_TRY(eval_int(e, node->a, &a));
  bool decides = node->op == EXPR_AND ? a == 0 : a != 0;
  if (decides) {
    *ret_number = node->op == EXPR_OR;
    return KF_OK;
  }
  KF_TRY(eval_int(e, node->b, &b));
  *ret_number = b != 0;
  return KF_OK;
}

/* / % and ceil, whose operands must not be negative. */
static kf_status divide(evaluator *e, const kf__expr_node *node, int64_t a, int64_t b, int64_t *ret_number) {
  if (b == 0) return failed_at(e, node, "division by zero");
  if (a < 0 || b < 0) return failed_at(e, node, "negative operand of a division");
  if (node->op == EXPR_MOD)
    *ret_number = a % b;
  else
    *ret_number = a / b + (node->op == EXPR_CEIL && a % b != 0);
  return KF_OK;
}

static int64_t floor_log2(int64_t number) {
  return 63 - __builtin_clzll((unsigned long long)number);
}

static kf_status eval_unary(evaluator *e, const kf__expr_node *node, int64_t *ret_number) {
  int64_t a = 0;
  KF_TRY(eval_int(e, node->a, &a));
  if (node->op == EXPR_NOT) {
    *ret_number = a == 0;
  } else if (node->op == EXPR_LOG2) {
    if (a <= 0) return failed_at(e, node, "log2 of a number that is not positive");
    *ret_number = floor_log2(a);
  } else if (__builtin_sub_overflow((int64_t)0, a, ret_number)) {
    return failed_at(e, node, "result does not fit in 64 bits");
  }
  return KF_OK;
}

static kf_status eval_binary(evaluator *e, const kf__expr_node *node, int64_t *ret_number) {
  int64_t a = 0, b = 0;
  bool over = false;
  KF_TRY(eval_int(e, node->a, &a));
  KF_TRY(eval_int(e, node->b, &b));
  switch (node->op) {
  case EXPR_MUL:
    over = __builtin_mul_overflow(a, b, ret_number);
    break;
  case EXPR_ADD:
    over = __builtin_add_overflow(a, b, ret_number);
    break;
  case EXPR_SUB:
    over = __builtin_sub_overflow(a, b, ret_number);
    break;
  case EXPR_LT:
    *ret_number = a < b;
    break;
  case EXPR_LE:
    *ret_number = a <= b;
    break;
  case EXPR_GT:
    *ret_number = a > b;
    break;
  case EXPR_GE:
    *ret_number = a >= b;
    break;
  case EXPR_MIN:
    *ret_number = a < b ? a : b;
    break;
  case EXPR_MAX:
    *ret_number = a > b ? a : b;
    break;
  default:
    return divide(e, node, a, b, ret_number);
  }
  return over ? failed_at(e, node, "result does not fit in 64 bits") : KF_OK;
}

static kf_status eval(evaluator *e, const kf__expr_node *node, kf_value *ret_value) {
  int64_t number = node->number;
  switch (node->op) {
  case EXPR_NUMBER:
    break;
  case EXPR_NAME:
    return eval_name(e, node, ret_value);
  case EXPR_CHOOSE:
    KF_TRY(eval_int(e, node->a, &number));
    return eval(e, number != 0 ? node->b : node->c, ret_value);
  case EXPR_EQ:
  case EXPR_NE:
    KF_TRY(eval_equal(e, node, &number));
    break;
  case EXPR_AND:
  case EXPR_OR:
    KF_TRY(eval_logic(e, node, &number));
    break;
  case EXPR_NEGATE:
  case EXPR_NOT:
  case EXPR_LOG2:
    KF_TRY(eval_unary(e, node, &number));
    break;
  default:
    KF_TRY(eval_binary(e, node, &number));
    break;
  }
  *ret_value = (kf_value){.number = number};
  return KF_OK;
}

static kf_status run(evaluator *e, const kf_expr *expr, kf_value *ret_value, int *ret_column) {
  kf_status status = eval(e, expr->root, ret_value);
  if (status != KF_OK && ret_column != NULL) *ret_column = e->column;
  return status;
}

kf_status kf__expr_eval_slots(const kf_expr *expr, const kf_value *slots, kf_value *ret_value,
                              int *ret_column, kf_err *err) {
  evaluator e = {.slots = slots, .column = 1, .err = err};
  kf_value value = {0};
  KF_TRY(run(&e, expr, &value, ret_column));
  *ret_value = value;
  return KF_OK;
}

kf_status kf__expr_int_slots(const kf_expr *expr, const kf_value *slots, int64_t *ret_value, int *ret_column,
                             kf_err *err) {
  evaluator e = {.slots = slots, .column = 1, .err = err};
  int64_t number = 0;
  kf_status status = eval_int(&e, expr->root, &number);
  if (status != KF_OK) {
    *ret_column = e.column;
    return status;
  }
  *ret_value = number;
  return KF_OK;
}

kf_status kf_expr_eval(const kf_expr *expr, kf_expr_lookup lookup, void *context, kf_value *ret_value,
                       int *ret_column, kf_err *err) {
  evaluator e = {.lookup = lookup, .context = context, .column = 1, .err = err};
  kf_value value = {0};
  kf_status status = run(&e, expr, &value, ret_column);
  if (status != KF_OK) return kf_err_context(err, status, "column %d", e.column);
  *ret_value = value;
  return KF_OK;
}

kf_status kf_expr_eval_int(const kf_expr *expr, kf_expr_lookup lookup, void *context, int64_t *ret_value,
                           kf_err *err) {
  evaluator e = {.lookup = lookup, .context = context, .column = 1, .err = err};
  int64_t number = 0;
  kf_status status = eval_int(&e, expr->root, &number);
  if (status != KF_OK) return kf_err_context(err, status, "column %d", e.column);
  *ret_value = number;
  return KF_OK;
}
