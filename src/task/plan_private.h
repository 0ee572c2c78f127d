/* plan_private.h - what a parsed plan holds. Everything lies in the plan's arena; task names and arguments
 * are borrowed. */
#ifndef KF_TASK_PLAN_PRIVATE_H
#define KF_TASK_PLAN_PRIVATE_H

#include "task/csource.h"
#include "task/expr_private.h"
#include "task/plan.h"

enum { KF__RULES_MAX = 128, KF__ENTRY_MAX = 63 };

/* Values of all names an expression may use: slots of one array, filled for a binding, a case and a device.
 */
enum {
  KF__SLOT_PARAMS = 0,
  KF__SLOT_SYMBOLS = KF__SLOT_PARAMS + KF_PARAMS_MAX,
  KF__SLOT_DEV = KF__SLOT_SYMBOLS + KF_SYMBOLS_MAX,
  KF__DEV_NAMES = 5,
  KF__SLOT_LETS = KF__SLOT_DEV + KF__DEV_NAMES,
  KF__SLOTS = KF__SLOT_LETS + KF__RULES_MAX,
};
extern const char *const kf__dev_names[KF__DEV_NAMES + 1]; /* "dev.units", ...; NULL-terminated */

/* An expression and its place in the source, so that an error of its value has line and column. */
typedef struct {
  const kf_expr *expr;
  int line, column;
} kf__placed;

/* `let` and `where` in file order: a let is a rule with a name. */
typedef struct {
  const char *name;   /* NULL: where */
  const char *reason; /* where: "where EXPR (line N)" */
  kf__placed value;
} kf__rule;

typedef struct {
  const char *name;
  kf_type type;
  int rank;
  kf__placed shape[KF_RANK_MAX];
  int line;
} kf__temp;

typedef enum { KF__ARG_BUFFER, KF__ARG_VALUE, KF__ARG_SCALAR, KF__ARG_LOCAL } kf__arg_kind;

typedef struct {
  kf__arg_kind kind;
  int buffer;       /* BUFFER: index into kf_calls.buffers */
  kf_type type;     /* VALUE, SCALAR */
  double scalar;    /* SCALAR: of the task */
  kf__placed value; /* VALUE: the number; LOCAL: bytes */
} kf__launch_arg;

typedef struct {
  kf_step_kind kind;
  int line;
  char entry[KF__ENTRY_MAX + 1];
  int dims;
  kf__placed global[3], local[3];
  kf__placed condition;    /* expr NULL if not given */
  const char *unsupported; /* a clause that no backend of this version has; NULL if none */
  kf__launch_arg *args;
  int nargs;
  int buffer; /* FILL */
  uint8_t pattern[8];
  uint32_t npattern;
} kf__plan_step;

struct kf_plan {
  kf_arena arena;
  const kf_task *task;
  const char *name;
  kf_language language;
  const char *source;
  size_t len;
  kf_param params[KF_PARAMS_MAX];
  size_t param_begin[KF_PARAMS_MAX], param_end[KF_PARAMS_MAX]; /* of the directive's text, after "//kf:" */
  int nparams;
  kf__rule rules[KF__RULES_MAX];
  int nrules;
  kf__temp temps[KF_TEMPS_MAX];
  int ntemps;
  kf__plan_step steps[KF_STEPS_MAX];
  int nsteps;
  int arg_buffer[KF_ARGS_MAX]; /* argument of the task -> kf_calls.buffers, -1 */
  int narrays;
  kf_hasher tokens; /* of the code and of all directives but `param` */
};

/* The host form: kf_run instead of launches. */
static inline bool kf__plan_is_host(const kf_plan *plan) {
  return plan->language == KF_LANG_C;
}

/* ---- plan_cursor.c, plan_param.c, plan_launch.c ---- */

typedef struct {
  kf_plan *plan;
  const char *text; /* the directive */
  size_t len, pos;
  int line, column; /* of text[0] */
  kf_err *err;
} kf__cursor;

/* KF_EREFUSED "NAME:LINE:COL: ..." at text position `pos`. */
kf_status kf__plan_fail(const kf__cursor *c, size_t pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void kf__plan_skip(kf__cursor *c);
char kf__plan_peek(kf__cursor *c); /* after blanks; '\0' at the end */
bool kf__plan_take(kf__cursor *c, char sign);
kf_status kf__plan_expect(kf__cursor *c, const char *sign, const char *where);
/* An identifier, or "" (with *ret_begin set) where there is none. */
void kf__plan_word(kf__cursor *c, char ret_word[65], size_t *ret_begin);
kf_status kf__plan_expr(kf__cursor *c, kf__placed *ret_value);
kf_status kf__plan_type(kf__cursor *c, const char *word, size_t begin, kf_type *ret_type);
kf_status kf__plan_end(kf__cursor *c); /* nothing but blanks may follow */
bool kf__plan_is_name_char(char c, bool first);
/* Reads a name that is not in use; the copy lies in the plan's arena. */
kf_status kf__plan_new_name(kf__cursor *c, const char *what, const char **ret_name);
kf_status kf__plan_parse_param(kf__cursor *c);
kf_status kf__plan_parse_launch(kf__cursor *c);
int kf__plan_slot(void *plan, const char *name); /* a kf__expr_slot */
/* The hint for a name that is none of params, lets, temps, symbols, arguments and dev.*. */
kf_status kf__plan_unknown(const kf__cursor *c, size_t pos, const char *name);
int kf__plan_find_temp(const kf_plan *plan, const char *name);
int kf__plan_find_let(const kf_plan *plan, const char *name); /* index of the rule, -1 */
int kf__plan_find_param(const kf_plan *plan, const char *name);

/* ---- plan_resolve.c, for the drawing of bindings ---- */

/* Is this binding of this case launchable: every `where` true and every launch within the limits? `slots` is
 * scratch. */
kf_status kf__plan_check(const kf_plan *plan, const kf_binding *binding, const int64_t *symbols,
                         const kf_device_limits *limits, kf_value *slots, bool *ret_legal, kf_err *err);
/* A param's value, appended as text. */
kf_status kf__plan_value_text(const kf_value *value, kf_buf *buf, kf_err *err);

#endif
