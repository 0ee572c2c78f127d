/* expr.h - the expression language of directives and shapes (docs/formats/task.md, Expressions): checked
 * int64, C precedence.
 *
 *   + - * / % == != < <= > >= && || ! ?: ( ) and min(a,b) max(a,b) log2(a) ceil(a,b) = a/b rounded up
 *
 * Operands of / and % must be >= 0 (and the right one > 0); log2 takes a positive number and rounds down.
 * Words (names of word-valued params, or literals such as float4) take part in == and != only. && || and ?:
 * do not evaluate what they skip. An error has a column (1-based, in bytes, within the text given to
 * kf_expr_parse). An expression is immutable after parsing, lives in the arena it was parsed into, and may be
 * shared by threads. */
#ifndef KF_TASK_EXPR_H
#define KF_TASK_EXPR_H

#include "base/arena.h"
#include "base/status.h"
#include <stdint.h>

typedef struct kf_expr kf_expr;

typedef struct {
  bool is_word;
  int64_t number;   /* when !is_word */
  const char *word; /* when is_word; borrowed */
} kf_value;

/* Looks a name up; returns false if unknown. `name` is NUL-terminated; dotted names ("dev.units") come whole.
 */
typedef bool (*kf_expr_lookup)(void *context, const char *name, kf_value *ret_value);

enum { KF_EXPR_DEPTH_MAX = 64, KF_EXPR_LEN_MAX = 1024 };

/* Parses all of text[0..len). Errors: KF_EINVAL, message "column N: ...". *ret_column (may be NULL) is set on
 * failure. */
kf_status kf_expr_parse(kf_arena *arena, const char *text, size_t len, const kf_expr **ret_expr,
                        int *ret_column, kf_err *err);
/* Evaluates. Unknown name, overflow, division by zero, negative operand of / or %, type mixing: KF_EINVAL
 * with the column. */
kf_status kf_expr_eval(const kf_expr *expr, kf_expr_lookup lookup, void *context, kf_value *ret_value,
                       int *ret_column, kf_err *err);
kf_status kf_expr_eval_int(const kf_expr *expr, kf_expr_lookup lookup, void *context, int64_t *ret_value,
                           kf_err *err);
/* Calls `visit` for each name used; stops early when it returns false. */
void kf_expr_names(const kf_expr *expr, bool (*visit)(void *context, const char *name, int column),
                   void *context);
const char *kf_expr_text(const kf_expr *expr); /* as written */

#endif
