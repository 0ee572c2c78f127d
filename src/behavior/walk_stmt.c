/* walk_stmt.c - walks statements: dead branches are skipped, loops counted, barriers bring a second look. */
#include "behavior/walk_int.h"

#include <string.h>

static const kf_node *at(const kf_walk *w, int node) {
  return &w->tree->nodes.items[node];
}

/* ---- branches ---- */

typedef struct {
  kf_objects loads;
  uint64_t vars;
  int one_item;
} guard;

static guard guard_enter(kf_walk *w, kf_flow condition, uint64_t vars, uint16_t one_item_flag) {
  guard saved = {w->guard_loads, w->guard_vars, w->one_item};
  w->guard_loads |= condition.loads;
  w->guard_vars |= vars;
  if (condition.flags & one_item_flag) w->one_item++;
  return saved;
}

static void guard_leave(kf_walk *w, guard saved) {
  w->guard_loads = saved.loads;
  w->guard_vars = saved.vars;
  w->one_item = saved.one_item;
}

/* Sweeps of two alternatives: the larger of both, not their sum. */
static void merge_sweeps(kf_loop *into, const kf_loop *other) {
  into->direct |= other->direct;
  for (int i = 0; i < KF_WALK_OBJECTS_MAX; i++)
    if (other->nested[i] > into->nested[i]) into->nested[i] = other->nested[i];
}

static kf_flow read_condition(kf_walk *w, int node, uint64_t *ret_vars) {
  uint64_t outer = w->seen_vars;
  w->seen_vars = 0;
  kf_flow value = kf__walk_expr(w, node);
  *ret_vars = w->seen_vars;
  w->seen_vars |= outer;
  if (at(w, node)->has_number) {
    value.known = true;
    value.number = at(w, node)->number;
  }
  return value;
}

/* The last statement always leaves the block. */
static bool leaves(const kf_walk *w, int node) {
  if (!node) return false;
  switch (at(w, node)->kind) {
  case KF_NODE_RETURN:
  case KF_NODE_BREAK:
  case KF_NODE_CONTINUE:
  case KF_NODE_GOTO:
    return true;
  case KF_NODE_BLOCK: {
    int last = 0;
    for (int child = at(w, node)->child; child; child = at(w, child)->next)
      last = child;
    return leaves(w, last);
  }
  default:
    return false;
  }
}

static void walk_list(kf_walk *w, int first);

/* `if (c) { ...; return; } rest`: the rest is the other branch. */
static void walk_alternatives(kf_walk *w, kf_flow c, uint64_t vars, int yes, int no, bool no_is_rest) {
  kf_loop *loop = &w->loops[w->nloops - 1];
  kf_loop before = *loop;
  w->branch++;
  guard saved = guard_enter(w, c, vars, KF_FLOW_ONE_ITEM);
  kf__walk_stmt(w, yes);
  guard_leave(w, saved);
  kf_loop after_yes = *loop;
  *loop = before;
  if (no_is_rest) w->branch--;
  saved = guard_enter(w, c, no_is_rest ? 0 : vars, KF_FLOW_NOT_ONE);
  if (no_is_rest)
    walk_list(w, no);
  else
    kf__walk_stmt(w, no);
  guard_leave(w, saved);
  if (!no_is_rest) w->branch--;
  merge_sweeps(loop, &after_yes);
  kf__walk_forget(w, yes);
  if (no && !no_is_rest) kf__walk_forget(w, no);
}

typedef enum { GOES_ON, ENDS, REST_IS_WALKED } after_if;

/* `rest`: the first statement behind it in its block, 0 if none. */
static after_if walk_if(kf_walk *w, int node, int rest) {
  int condition = at(w, node)->child, yes = at(w, condition)->next, no = at(w, yes)->next;
  uint64_t vars = 0;
  kf_flow c = read_condition(w, condition, &vars);
  if (c.known) {
    int live = c.number ? yes : no;
    kf__walk_stmt(w, live);
    return leaves(w, live) ? ENDS : GOES_ON;
  }
  bool splits_rest = !no && rest && leaves(w, yes);
  walk_alternatives(w, c, vars, yes, splits_rest ? rest : no, splits_rest);
  return splits_rest ? REST_IS_WALKED : GOES_ON;
}

static after_if walk_guarded_if(kf_walk *w, int node) {
  if (w->depth >= KF_WALK_DEPTH_MAX) {
    w->exhausted = true;
    return REST_IS_WALKED;
  }
  w->depth++;
  after_if after = walk_if(w, node, at(w, node)->next);
  w->depth--;
  return after;
}

/* Statements in order up to one that leaves; a label behind it is reached from elsewhere. */
static void walk_list(kf_walk *w, int first) {
  for (int child = first; child && kf__walk_step(w); child = at(w, child)->next) {
    bool ends = leaves(w, child);
    if (at(w, child)->kind == KF_NODE_IF) {
      after_if after = walk_guarded_if(w, child);
      if (after == REST_IS_WALKED) return;
      ends = after == ENDS;
    } else {
      kf__walk_stmt(w, child);
    }
    while (ends && at(w, child)->next && at(w, at(w, child)->next)->kind != KF_NODE_LABEL)
      child = at(w, child)->next;
  }
}

/* Does one of the labels in front of a statement stand for this value? A range might, so it counts. */
static bool is_labelled(const kf_walk *w, int node, kf_op op, int64_t number) {
  for (; at(w, node)->kind == KF_NODE_LABEL; node = at(w, node)->child)
    if (at(w, node)->op == op &&
        (op == KF_OP_NE || !at(w, node)->has_number || at(w, node)->number == number))
      return true;
  return false;
}

static bool has_inner_label(const kf_walk *w, int node, bool is_own, int depth) {
  if (depth > KF_WALK_DEPTH_MAX || (!is_own && at(w, node)->kind == KF_NODE_LABEL)) return true;
  bool passes = at(w, node)->kind == KF_NODE_LABEL && is_own;
  for (int child = at(w, node)->child; child; child = at(w, child)->next)
    if (has_inner_label(w, child, passes, depth + 1)) return true;
  return false;
}

/* Where a switch over a constant enters its block: the first statement, 0 if none. False if that cannot be
 * told. */
static bool find_case(const kf_walk *w, int body, int64_t number, int *ret_first) {
  if (!body || at(w, body)->kind != KF_NODE_BLOCK) return false;
  int first = 0, fallback = 0;
  for (int child = at(w, body)->child; child; child = at(w, child)->next) {
    if (has_inner_label(w, child, true, 0)) return false;
    if (!first && is_labelled(w, child, KF_OP_EQ, number)) first = child;
    if (!fallback && is_labelled(w, child, KF_OP_NE, number)) fallback = child;
  }
  *ret_first = first ? first : fallback;
  return true;
}

static int below_labels(const kf_walk *w, int node) {
  while (node && at(w, node)->kind == KF_NODE_LABEL)
    node = at(w, node)->child;
  return node;
}

static void walk_switch(kf_walk *w, int node) {
  int condition = at(w, node)->child, body = condition ? at(w, condition)->next : 0, first = 0;
  uint64_t vars = 0;
  kf_flow c = read_condition(w, condition, &vars);
  if (c.known && find_case(w, body, c.number, &first)) {
    for (int child = first; child; child = at(w, child)->next) {
      kf__walk_stmt(w, below_labels(w, child));
      if (leaves(w, below_labels(w, child))) return;
    }
    return;
  }
  guard saved = guard_enter(w, c, vars, 0);
  w->branch++;
  kf__walk_stmt(w, body);
  w->branch--;
  guard_leave(w, saved);
  kf__walk_forget(w, body);
}

/* ---- loops ---- */

/* Variable that an expression changes, 0 if none: `i++`, `i += 4`, the first of `i++, j++`. */
static int changed_variable(const kf_walk *w, int node) {
  while (node && at(w, node)->kind == KF_NODE_BINARY && at(w, node)->op == KF_OP_COMMA)
    node = at(w, node)->child;
  if (!node || (at(w, node)->kind != KF_NODE_STEP && at(w, node)->kind != KF_NODE_ASSIGN)) return 0;
  int target = at(w, node)->child;
  return target && at(w, target)->kind == KF_NODE_REF ? at(w, target)->decl : 0;
}

static bool changes(const kf_walk *w, int node, int decl, int depth) {
  if (depth > KF_WALK_DEPTH_MAX) return true;
  if (changed_variable(w, node) == decl) return true;
  for (int child = at(w, node)->child; child; child = at(w, child)->next)
    if (changes(w, child, decl, depth + 1)) return true;
  return false;
}

/* First variable named below `node` that the body changes, 0 if none. */
static int named_and_changed(const kf_walk *w, int node, int body, int depth) {
  if (!node || depth > KF_WALK_DEPTH_MAX) return 0;
  int decl = at(w, node)->kind == KF_NODE_REF ? at(w, node)->decl : 0;
  if (decl && changes(w, body, decl, 0)) return decl;
  for (int child = at(w, node)->child; child; child = at(w, child)->next) {
    decl = named_and_changed(w, child, body, depth + 1);
    if (decl) return decl;
  }
  return 0;
}

/* Without a step expression the loop's variable is the one in the condition that the body changes. */
static int loop_variable(const kf_walk *w, int condition, int step, int body) {
  int decl = changed_variable(w, step);
  return decl ? decl : named_and_changed(w, condition, body, 0);
}

/* By how much a step expression moves the variable; 0 if that is not constant. */
static int64_t step_size(kf_walk *w, int step) {
  if (at(w, step)->kind == KF_NODE_STEP) return at(w, step)->op == KF_OP_ADD ? 1 : -1;
  if (at(w, step)->kind != KF_NODE_ASSIGN || at(w, step)->op != KF_OP_ADD) return 0;
  kf_flow by = kf__walk_expr(w, at(w, at(w, step)->child)->next);
  return by.known ? by.number : 0;
}

/* A constant trip count that a compiler would unroll? */
static bool is_unrolled(kf_walk *w, int condition, int step, int variable, kf_flow start) {
  if (!variable || !start.known || at(w, condition)->kind != KF_NODE_BINARY) return false;
  int left = at(w, condition)->child, right = at(w, left)->next;
  if (at(w, left)->kind != KF_NODE_REF || at(w, left)->decl != variable) return false;
  kf_flow bound = kf__walk_expr(w, right);
  int64_t by = step_size(w, step), span = 0;
  if (!bound.known || !by || __builtin_sub_overflow(bound.number, start.number, &span)) return false;
  return span / by >= 0 && span / by <= KF_WALK_UNROLLED_MAX;
}

/* The rest that a loop over whole vectors or tiles left over: it continues a sweep. */
static bool is_tail(kf_flow start) {
  if (start.flags & KF_FLOW_CONTINUED) return true;
  if (start.known) return start.number > 1;
  return (start.flags & KF_FLOW_ROUNDED) && !(start.flags & KF_FLOW_GROUP_ID);
}

static bool push_loop(kf_walk *w, int node) {
  if (w->nloops >= KF_WALK_LOOPS_MAX) {
    w->exhausted = true;
    return false;
  }
  w->loops[w->nloops++] = (kf_loop){.node = node, .serial = ++w->serial};
  return true;
}

static void pop_loop(kf_walk *w) {
  const kf_loop *loop = &w->loops[--w->nloops];
  kf_loop *around = &w->loops[w->nloops - 1];
  for (int i = 0; i < KF_WALK_OBJECTS_MAX; i++) {
    int sweeps = loop->nested[i] ? loop->nested[i] : (int)(loop->direct >> i & 1);
    bool counted = loop->tail && around->nested[i];
    int sum = around->nested[i] + (counted ? 0 : sweeps);
    around->nested[i] = (uint8_t)(sum > 255 ? 255 : sum);
  }
}

static void walk_body(kf_walk *w, int condition, int step, int body) {
  uint64_t vars = 0;
  kf_flow c = read_condition(w, condition, &vars);
  guard saved = guard_enter(w, c, 0, KF_FLOW_ONE_ITEM);
  kf__walk_stmt(w, body);
  guard_leave(w, saved);
  kf__walk_expr(w, step);
}

static void walk_iterations(kf_walk *w, int node, int condition, int step, int body) {
  walk_body(w, condition, step, body);
  if (!w->barriers[node]) return;
  bool counting = w->counting;
  w->counting = false;
  kf_loop counted = w->loops[w->nloops - 1];
  walk_body(w, condition, step, body);
  w->loops[w->nloops - 1] = counted;
  w->counting = counting;
}

static void walk_loop(kf_walk *w, int node) {
  int init = at(w, node)->child, condition = at(w, init)->next, step = at(w, condition)->next,
      body = at(w, step)->next;
  kf__walk_stmt(w, init);
  uint64_t vars = 0;
  kf_flow entered = {.known = false};
  bool has_condition = at(w, condition)->kind != KF_NODE_NONE;
  if (has_condition) entered = read_condition(w, condition, &vars);
  bool is_do = at(w, node)->kind == KF_NODE_DO;
  if (entered.known && !entered.number && (!is_do || at(w, condition)->has_number)) {
    if (is_do) kf__walk_stmt(w, body); /* do { } while (0) */
    return;
  }
  int variable = loop_variable(w, condition, step, body);
  kf_flow start = variable ? w->vars[variable].flow : (kf_flow){0};
  bool unrolled = is_unrolled(w, condition, step, variable, start);
  kf__walk_forget(w, condition);
  kf__walk_forget(w, step);
  kf__walk_forget(w, body);
  if (variable) {
    w->vars[variable].flow.form = kf__tree_mix(kf__tree_mix(start.form, at(w, step)->kind), at(w, step)->op);
    w->vars[variable].flow.flags &= (uint16_t)~KF_FLOW_CONTINUED;
  }
  if (!push_loop(w, node)) return;
  kf_loop *loop = &w->loops[w->nloops - 1];
  loop->unrolled = unrolled;
  loop->split = variable && (start.flags & KF_FLOW_GROUP_ID);
  loop->tail = variable && is_tail(start);
  walk_iterations(w, node, condition, step, body);
  pop_loop(w);
  kf__walk_forget(w, step);
  kf__walk_forget(w, body);
  if (variable) w->vars[variable].flow.flags |= KF_FLOW_CONTINUED;
}

/* ---- statements ---- */

static void forget(kf_walk *w, int node, int depth) {
  if (!node || depth > KF_WALK_DEPTH_MAX || !kf__walk_step(w)) return;
  int decl = changed_variable(w, node);
  if (decl) {
    kf_flow *flow = &w->vars[decl].flow;
    flow->known = false;
    flow->form = kf__tree_mix((uint64_t)decl, (uint64_t)node);
  }
  for (int child = at(w, node)->child; child; child = at(w, child)->next)
    forget(w, child, depth + 1);
}

void kf__walk_forget(kf_walk *w, int node) {
  forget(w, node, 0);
}

static void walk_var(kf_walk *w, int node) {
  kf__walk_declare(w, node);
  int value = at(w, node)->child;
  if (!value) return;
  kf_flow flow = kf__walk_expr(w, value);
  kf_spot spot = kf__walk_decl_spot(w, at(w, node)->decl);
  spot.fixed = spot.var != 0;
  kf__walk_store(w, &spot, flow, false);
}

static void statement(kf_walk *w, int node) {
  switch (at(w, node)->kind) {
  case KF_NODE_BLOCK:
    walk_list(w, at(w, node)->child);
    break;
  case KF_NODE_VAR:
    walk_var(w, node);
    break;
  case KF_NODE_IF:
    walk_if(w, node, 0);
    break;
  case KF_NODE_FOR:
  case KF_NODE_WHILE:
  case KF_NODE_DO:
    walk_loop(w, node);
    break;
  case KF_NODE_SWITCH:
    walk_switch(w, node);
    break;
  case KF_NODE_LABEL:
    kf__walk_stmt(w, at(w, node)->child);
    break;
  case KF_NODE_RETURN:
    if (at(w, node)->child) w->returned = kf__flow_join(w->returned, kf__walk_expr(w, at(w, node)->child));
    break;
  case KF_NODE_NONE:
  case KF_NODE_BREAK:
  case KF_NODE_CONTINUE:
  case KF_NODE_GOTO:
    break;
  default:
    kf__walk_expr(w, node);
    break;
  }
}

void kf__walk_stmt(kf_walk *w, int node) {
  if (!node || !kf__walk_step(w)) return;
  if (w->depth >= KF_WALK_DEPTH_MAX) {
    w->exhausted = true;
    return;
  }
  w->depth++;
  statement(w, node);
  w->depth--;
}
