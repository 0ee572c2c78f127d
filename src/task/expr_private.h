/* expr_private.h - what the plan and the task need of expressions beyond expr.h: parsing a prefix of a text,
 * and names resolved once to slots of an array, so that evaluation does no look-up. Messages of these calls
 * carry no column; it is returned beside them. */
#ifndef KF_TASK_EXPR_PRIVATE_H
#define KF_TASK_EXPR_PRIVATE_H

#include "task/expr.h"

/* Parses the longest expression that text[0..len) begins with; *ret_used is where it ends, blanks before it
 * included. *ret_column is set on failure. */
kf_status kf__expr_parse_prefix(kf_arena *arena, const char *text, size_t len, const kf_expr **ret_expr,
                                size_t *ret_used, int *ret_column, kf_err *err);

enum { KF__SLOT_UNKNOWN = -1, KF__SLOT_WORD = -2 };
/* Slot of a name, or KF__SLOT_WORD: the name stands for itself. */
typedef int (*kf__expr_slot)(void *context, const char *name);
/* Gives every name its slot, before the expression is shared. Returns the first name without one (*ret_column
 * says where), NULL if all have one. */
const char *kf__expr_bind(const kf_expr *expr, kf__expr_slot slot, void *context, int *ret_column);
/* Evaluates a bound expression. */
kf_status kf__expr_eval_slots(const kf_expr *expr, const kf_value *slots, kf_value *ret_value,
                              int *ret_column, kf_err *err);
/* Same, when a number is needed. */
kf_status kf__expr_int_slots(const kf_expr *expr, const kf_value *slots, int64_t *ret_value, int *ret_column,
                             kf_err *err);
bool kf__expr_is_function(const char *name); /* min, max, log2, ceil: names that nothing else may have */

/* ---- the tree, for expr.c and expr_eval.c ---- */

typedef enum {
  EXPR_NUMBER,
  EXPR_NAME,
  EXPR_NEGATE,
  EXPR_NOT,
  EXPR_MUL,
  EXPR_DIV,
  EXPR_MOD,
  EXPR_ADD,
  EXPR_SUB,
  EXPR_LT,
  EXPR_LE,
  EXPR_GT,
  EXPR_GE,
  EXPR_EQ,
  EXPR_NE,
  EXPR_AND,
  EXPR_OR,
  EXPR_CHOOSE, /* a ? b : c */
  EXPR_MIN,
  EXPR_MAX,
  EXPR_LOG2,
  EXPR_CEIL,
} kf__expr_op;

typedef struct kf__expr_node {
  kf__expr_op op;
  int column; /* of the operator, name or number */
  int slot;   /* NAME, once bound */
  int64_t number;
  const char *name;
  struct kf__expr_node *a, *b, *c;
} kf__expr_node;

struct kf_expr {
  const char *text;
  kf__expr_node *root;
};

#endif
