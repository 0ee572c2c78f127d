/* walk_expr.c - walks expressions: what a value is made of, what is read and written on the way. */
#include "behavior/walk_int.h"

static const kf_node *at(const kf_walk *w, int node) {
  return &w->tree->nodes.items[node];
}

static uint64_t variable_bit(int decl) {
  return (uint64_t)1 << (decl & 63);
}

bool kf__walk_step(kf_walk *w) {
  if (++w->steps > KF_WALK_STEPS_MAX) w->exhausted = true;
  return !w->exhausted && !w->out_of_memory;
}

/* ---- places ---- */

void kf__walk_declare(kf_walk *w, int node) {
  int decl = at(w, node)->decl;
  const kf_node_type *type = &w->tree->decls.items[decl].type;
  kf_variable *var = &w->vars[decl];
  bool in_memory = type->is_array || type->space == KF_SPACE_LOCAL;
  kf_space space = type->space ? (kf_space)type->space : KF_SPACE_PRIVATE;
  if (in_memory && !var->object)
    var->object = 1 + kf__walk_add_object(w, space, decl, type->elements, type->lanes);
  var->branch = w->branch;
  var->flow = (kf_flow){.form = kf__tree_mix((uint64_t)decl, (uint64_t)node)};
  kf__walk_path(w, &var->reset);
  if (var->object) kf__walk_path(w, &w->objects[var->object - 1].reset);
}

kf_spot kf__walk_decl_spot(kf_walk *w, int decl) {
  if (!decl) return (kf_spot){.lanes = 1};
  const kf_decl *d = &w->tree->decls.items[decl];
  kf_variable *var = &w->vars[decl];
  bool is_outside = d->type.space == KF_SPACE_CONSTANT || d->type.space == KF_SPACE_GLOBAL;
  if (!var->object && d->kind == KF_DECL_VARIABLE && (d->type.is_array || is_outside))
    var->object = 1 + kf__walk_add_object(w, d->type.space ? (kf_space)d->type.space : KF_SPACE_PRIVATE, decl,
                                          d->type.elements, d->type.lanes);
  kf_spot spot = {.lanes = d->type.lanes, .fixed = true, .form = kf__tree_mix((uint64_t)decl, 'd')};
  if (!var->object) {
    spot.var = decl;
    return spot;
  }
  spot.objects = (kf_objects)1 << (var->object - 1);
  spot.space = w->objects[var->object - 1].space;
  return spot;
}

static kf_spot pointer_spot(const kf_walk *w, kf_flow pointer, kf_space space) {
  (void)w;
  return (kf_spot){.objects = pointer.points,
                   .form = pointer.form,
                   .fixed = pointer.known,
                   .flags = pointer.flags,
                   .space = space};
}

static kf_spot spot_of(kf_walk *w, int node);

/* base[index]: a base of array type is a place itself, else its value points to one. */
static kf_spot subscript_spot(kf_walk *w, int node) {
  int base = at(w, node)->child, index = at(w, base)->next;
  kf_spot spot;
  if (at(w, base)->type.is_array) {
    spot = spot_of(w, base);
  } else {
    kf_flow pointer = kf__walk_expr(w, base);
    spot = pointer_spot(w, pointer, (kf_space)at(w, base)->type.target);
    if (!pointer.points && at(w, index)->type.is_pointer) { /* index[base] */
      pointer = kf__walk_expr(w, index);
      spot = pointer_spot(w, pointer, (kf_space)at(w, index)->type.target);
      index = base;
    } else {
      spot.fixed = true; /* relative to the pointer */
    }
  }
  kf_flow value = kf__walk_expr(w, index);
  spot.form = kf__tree_mix(spot.form, value.form);
  spot.fixed = spot.fixed && value.known;
  spot.flags |= value.flags;
  return spot;
}

static kf_spot spot_of(kf_walk *w, int node) {
  const kf_node *n = at(w, node);
  kf_spot spot = {.lanes = 1};
  if (!kf__walk_step(w)) return spot;
  switch (n->kind) {
  case KF_NODE_REF:
    spot = kf__walk_decl_spot(w, n->decl);
    break;
  case KF_NODE_SUBSCRIPT:
    spot = subscript_spot(w, node);
    break;
  case KF_NODE_DEREF:
    spot = pointer_spot(w, kf__walk_expr(w, n->child), (kf_space)at(w, n->child)->type.target);
    break;
  case KF_NODE_ARROW:
    spot = pointer_spot(w, kf__walk_expr(w, n->child), (kf_space)at(w, n->child)->type.target);
    spot.form = kf__tree_mix(spot.form, (uint64_t)n->number);
    break;
  case KF_NODE_MEMBER:
    spot = spot_of(w, n->child);
    spot.form = kf__tree_mix(spot.form, (uint64_t)n->number);
    break;
  default:
    break;
  }
  spot.lanes = n->type.lanes;
  if (n->type.space) spot.space = (kf_space)n->type.space;
  return spot;
}

static bool is_place(const kf_walk *w, int node) {
  switch (at(w, node)->kind) {
  case KF_NODE_REF:
  case KF_NODE_SUBSCRIPT:
  case KF_NODE_DEREF:
  case KF_NODE_ARROW:
    return true;
  case KF_NODE_MEMBER:
    return is_place(w, at(w, node)->child);
  default:
    return false;
  }
}

static bool same_spot(const kf_spot *a, const kf_spot *b) {
  if (a->var || b->var) return a->var == b->var && a->form == b->form;
  return a->objects && a->objects == b->objects && a->form == b->form;
}

/* Reads a place as a value: the address of an array, the contents of everything else. */
static kf_flow read_place(kf_walk *w, int node) {
  kf_spot spot = spot_of(w, node);
  if (at(w, node)->type.is_array && !spot.var)
    return (kf_flow){.points = spot.objects, .form = spot.form, .flags = spot.flags, .known = false};
  if (w->self_hits >= 0 && same_spot(&spot, &w->self)) {
    w->self_hits++; /* the old value of what is being assigned: its sources would only repeat */
    return (kf_flow){.form = spot.form};
  }
  if (!spot.var) return kf__walk_load(w, &spot);
  w->seen_vars |= variable_bit(spot.var);
  kf_flow value = w->vars[spot.var].flow;
  if (at(w, node)->kind == KF_NODE_MEMBER) {
    value.known = false;
    value.form = kf__tree_mix(value.form, spot.form);
  }
  return value;
}

/* ---- assignments ---- */

/* An operation that accumulates: +=, -=, v = v + e, v = fma(a, b, v), v = max(v, e). */
static bool is_additive(const kf_walk *w, kf_op op, int value) {
  if (op == KF_OP_ADD || op == KF_OP_SUB) return true;
  const kf_node *n = at(w, value);
  if (op != KF_OP_NONE) return false;
  if (n->kind == KF_NODE_BINARY) return n->op == KF_OP_ADD || n->op == KF_OP_SUB;
  return n->kind == KF_NODE_CALL && n->decl;
}

/* Partial results of an earlier launch, and nothing else, are being accumulated. */
static void note_partial(kf_walk *w, kf_flow added) {
  kf_objects global = added.loads & w->of_space[KF_SPACE_GLOBAL];
  if (global && !(global & ~w->partial)) w->evidence->split_reduction = true;
}

static void note_fed(kf_walk *w, kf_flow added, const kf_spot *spot) {
  for (kf_objects left = added.loads & w->of_space[KF_SPACE_PRIVATE] & ~spot->objects; left; left &= left - 1)
    w->objects[__builtin_ctzll(left)].fed = true;
}

/* The value keeps its old part over the loops from `first` on. */
static void note_accumulation(kf_walk *w, const kf_spot *spot, kf_flow added, bool additive, int first,
                              kf_flow *value) {
  value->flags |= KF_FLOW_ACC;
  for (int i = first; i < w->nloops; i++)
    if (w->loops[i].split) value->flags |= KF_FLOW_SPLIT;
  note_partial(w, added);
  bool is_private = spot->var || (spot->objects & w->of_space[KF_SPACE_PRIVATE]);
  if (!is_private || !additive) return;
  note_fed(w, added, spot);
  kf__walk_note_accumulator(w, spot, first);
}

static kf_flow old_value(kf_walk *w, const kf_spot *spot) {
  return spot->var ? w->vars[spot->var].flow : kf__walk_load(w, spot);
}

static kf_flow assign(kf_walk *w, int node) {
  int target = at(w, node)->child, value_node = at(w, target)->next;
  kf_op op = (kf_op)at(w, node)->op;
  kf_spot outer_self = w->self, spot = spot_of(w, target);
  int outer_hits = w->self_hits;
  w->self = spot;
  w->self_hits = 0;
  kf_flow added = kf__walk_expr(w, value_node), value = added;
  bool is_self = op != KF_OP_NONE || w->self_hits > 0;
  w->self = outer_self;
  w->self_hits = outer_hits;
  if (is_self) {
    kf_flow old = old_value(w, &spot);
    value = op ? kf__flow_binary(op, old, added) : kf__flow_join(added, old);
    if (!op) value.known = false;
    if (spot.objects & w->of_space[KF_SPACE_LOCAL])
      value.loads = added.loads, value.read_form = added.read_form;
  }
  bool is_data = added.loads || (!at(w, target)->type.is_integer && !at(w, target)->type.is_pointer);
  bool is_chosen = !is_self && spot.var && (w->guard_vars & variable_bit(spot.var)) && added.loads;
  int first = kf__walk_carried_from(w, &spot);
  bool is_in_memory = !spot.var && !(spot.objects & w->of_space[KF_SPACE_PRIVATE]);
  if (is_in_memory) first = w->nloops > 1 ? 1 : w->nloops;
  if (first < w->nloops && is_data && (is_self || is_chosen))
    note_accumulation(w, &spot, added, is_self && is_additive(w, op, value_node), first, &value);
  kf__walk_store(w, &spot, value, is_self || is_chosen);
  return value;
}

/* ++ and --: an index moves on, a counter in memory is read and written. */
static kf_flow step(kf_walk *w, int node) {
  kf_spot spot = spot_of(w, at(w, node)->child);
  kf_flow one = {.known = true, .number = 1, .form = kf__tree_mix(0, 1)};
  kf_flow value = kf__flow_binary((kf_op)at(w, node)->op, old_value(w, &spot), one);
  kf__walk_store(w, &spot, value, true);
  return value;
}

/* ---- other expressions ---- */

/* Both sides of && and || count unless the left one decides for good. */
static kf_flow logical(kf_walk *w, kf_op op, int left, int right) {
  kf_flow a = kf__walk_expr(w, left);
  if (a.known && (a.number != 0) == (op == KF_OP_EITHER)) {
    a.number = op == KF_OP_EITHER;
    return a;
  }
  return kf__flow_binary(op, a, kf__walk_expr(w, right));
}

static kf_flow binary(kf_walk *w, int node) {
  int left = at(w, node)->child, right = at(w, left)->next;
  kf_op op = (kf_op)at(w, node)->op;
  if (op == KF_OP_BOTH || op == KF_OP_EITHER) return logical(w, op, left, right);
  kf_flow a = kf__walk_expr(w, left);
  return kf__flow_binary(op, a, kf__walk_expr(w, right));
}

static kf_flow choice(kf_walk *w, int node) {
  int condition = at(w, node)->child, yes = at(w, condition)->next, no = at(w, yes)->next;
  kf_flow c = kf__walk_expr(w, condition);
  if (at(w, condition)->has_number) c.known = true, c.number = at(w, condition)->number;
  if (c.known) return kf__walk_expr(w, c.number ? yes : no);
  w->branch++;
  kf_flow a = kf__walk_expr(w, yes), b = kf__walk_expr(w, no);
  w->branch--;
  kf_flow out = kf__flow_join(a, b);
  if (c.loads & out.loads) out.done |= KF_DONE_EXTREME; /* chosen by comparing what is chosen from */
  out.form = kf__tree_mix(out.form, c.form);
  return out;
}

static kf_flow group(kf_walk *w, int node) {
  kf_flow out = {0};
  bool first = true;
  for (int child = at(w, node)->child; child; child = at(w, child)->next) {
    kf_flow value = kf__walk_expr(w, child);
    out = first ? value : kf__flow_join(out, value);
    first = false;
  }
  if (at(w, node)->type.lanes > 1 || at(w, node)->type.is_array) out.known = false;
  return out;
}

/* The address of a variable in registers says only that it may change from now on. */
static kf_flow address(kf_walk *w, int node) {
  kf_spot spot = spot_of(w, at(w, node)->child);
  if (spot.var) w->vars[spot.var].flow.known = false;
  return (kf_flow){.points = spot.objects, .form = spot.form, .flags = spot.flags};
}

static kf_flow constant(const kf_node *n, int node) {
  kf_flow value = {.known = n->has_number, .number = n->number};
  value.form = n->has_number ? kf__tree_mix(0, (uint64_t)n->number) : kf__tree_mix((uint64_t)node, 'c');
  return value;
}

static kf_flow expression(kf_walk *w, int node) {
  const kf_node *n = at(w, node);
  switch (n->kind) {
  case KF_NODE_CONSTANT:
    return constant(n, node);
  case KF_NODE_REF:
  case KF_NODE_SUBSCRIPT:
  case KF_NODE_DEREF:
  case KF_NODE_ARROW:
    return read_place(w, node);
  case KF_NODE_MEMBER:
    return is_place(w, node) ? read_place(w, node) : kf__walk_expr(w, n->child);
  case KF_NODE_ADDRESS:
    return address(w, node);
  case KF_NODE_UNARY:
    return kf__flow_unary((kf_op)n->op, kf__walk_expr(w, n->child));
  case KF_NODE_STEP:
    return step(w, node);
  case KF_NODE_BINARY:
    return binary(w, node);
  case KF_NODE_ASSIGN:
    return assign(w, node);
  case KF_NODE_CHOICE:
    return choice(w, node);
  case KF_NODE_CALL:
    return kf__walk_call(w, node);
  default:
    return group(w, node);
  }
}

kf_flow kf__walk_expr(kf_walk *w, int node) {
  if (!node || !kf__walk_step(w)) return (kf_flow){0};
  if (w->depth >= KF_WALK_DEPTH_MAX) {
    w->exhausted = true;
    return (kf_flow){0};
  }
  w->depth++;
  kf_flow value = expression(w, node);
  w->depth--;
  return value;
}
