/* walk_call.c - walks calls: helpers of the source are inlined, built-in functions act by their effect. */
#include "behavior/opencl_table_int.h"
#include "behavior/walk_int.h"

enum { ARGS_MAX = 32 };

typedef struct {
  const kf_decl *function;
  int nodes[ARGS_MAX];
  kf_flow values[ARGS_MAX];
  int count;
  kf_flow joined; /* all values */
} call;

static const kf_node *at(const kf_walk *w, int node) {
  return &w->tree->nodes.items[node];
}

static void read_args(kf_walk *w, int node, call *c) {
  for (int arg = at(w, node)->child; arg; arg = at(w, arg)->next) {
    kf_flow value = kf__walk_expr(w, arg);
    c->joined = c->count ? kf__flow_join(c->joined, value) : value;
    if (c->count >= ARGS_MAX) continue;
    c->nodes[c->count] = arg;
    c->values[c->count++] = value;
  }
  c->joined.points = 0;
  c->joined.known = false;
  c->joined.form = kf__tree_mix(c->joined.form, (uint64_t)at(w, node)->decl);
}

/* ---- helpers of the source ---- */

static bool is_active(const kf_walk *w, int function) {
  for (int i = 0; i < w->ncalls; i++)
    if (w->calls[i] == function) return true;
  return false;
}

static kf_flow inline_helper(kf_walk *w, int function, const call *c) {
  const kf_decl *decl = &w->tree->decls.items[function];
  if (w->ncalls >= KF_WALK_CALLS_MAX || is_active(w, function))
    return c->joined; /* OpenCL has no recursion */
  for (int i = 0; i < decl->nparams && i < c->count; i++) {
    kf_variable *var = &w->vars[decl->first_param + i];
    *var = (kf_variable){.flow = c->values[i], .branch = w->branch};
    kf__walk_path(w, &var->reset);
  }
  kf_flow outer = w->returned;
  w->returned = (kf_flow){0};
  w->calls[w->ncalls++] = function;
  kf__walk_stmt(w, decl->body);
  w->ncalls--;
  kf_flow result = w->returned;
  w->returned = outer;
  return result;
}

/* ---- built-in functions ---- */

static kf_spot arg_spot(const kf_walk *w, const call *c, int arg, int lanes) {
  if (arg >= c->count) return (kf_spot){.lanes = lanes};
  kf_flow p = c->values[arg];
  return (kf_spot){.objects = p.points,
                   .form = kf__tree_mix(p.form, arg == 1 ? c->values[0].form : 0),
                   .flags = p.flags,
                   .lanes = lanes,
                   .space = (kf_space)at(w, c->nodes[arg])->type.target};
}

static bool is_global(const kf_walk *w, const kf_spot *spot) {
  return spot->objects ? (spot->objects & w->of_space[KF_SPACE_GLOBAL]) != 0 : spot->space == KF_SPACE_GLOBAL;
}

static kf_flow vector_load(kf_walk *w, const call *c, int arg, int lanes) {
  kf_spot spot = arg_spot(w, c, arg, lanes);
  if (arg == 1) spot.flags |= c->values[0].flags;
  return kf__walk_load(w, &spot);
}

static void vector_store(kf_walk *w, const call *c, int pointer, int value, int lanes) {
  kf_spot spot = arg_spot(w, c, pointer, lanes);
  if (pointer == 2) {
    spot.form = kf__tree_mix(spot.form, c->values[1].form);
    spot.flags |= c->values[1].flags;
  }
  if (value < c->count) kf__walk_store(w, &spot, c->values[value], false);
}

static void pass_barrier(kf_walk *w) {
  w->evidence->barrier = true;
  w->phase++;
}

/* Global atomics join groups; those that modify split a reduction between them. */
static kf_flow atomic(kf_walk *w, const call *c, kf_effect_kind kind) {
  kf_spot spot = arg_spot(w, c, 0, 1);
  if (is_global(w, &spot)) {
    w->evidence->global_atomic = true;
    if (kind == KF_EFFECT_ATOMIC) w->evidence->split_reduction = true;
  }
  kf_flow old = {0};
  if (kind != KF_EFFECT_ATOMIC_STORE) old = kf__walk_load(w, &spot);
  if (kind == KF_EFFECT_ATOMIC_LOAD) return old;
  kf_flow value = c->joined;
  value.flags |= KF_FLOW_ACC;
  kf__walk_store(w, &spot, value, kind == KF_EFFECT_ATOMIC);
  return old;
}

static void async_copy(kf_walk *w, const call *c) {
  w->evidence->async_or_prefetch = true;
  kf_spot to = arg_spot(w, c, 0, 1), from = arg_spot(w, c, 1, 1);
  to.form = kf__tree_mix(to.form, 'a'); /* filled by the whole group: no item has a part of its own */
  kf__walk_store(w, &to, kf__walk_load(w, &from), false);
}

static kf_flow reduced(kf_flow value) {
  if (value.loads) value.flags |= KF_FLOW_ACC;
  if (value.flags & KF_FLOW_LINEAR_LOAD) value.flags |= KF_FLOW_SPLIT;
  return value;
}

static void at_least_matrix(kf_walk *w, int level) {
  if (w->evidence->matrix < level) w->evidence->matrix = level;
}

static kf_flow dot(kf_walk *w, const call *c) {
  if (c->count && at(w, c->nodes[0])->type.is_integer) at_least_matrix(w, 1);
  kf_flow value = c->joined;
  if (value.loads) value.done |= KF_DONE_MUL | KF_DONE_ADD;
  return value;
}

static kf_flow of_launch(const call *c, uint16_t flags) {
  return (kf_flow){.form = c->joined.form, .flags = flags};
}

static kf_flow computed(const call *c, uint16_t done) {
  kf_flow value = c->joined;
  if (value.loads) value.done |= done;
  return value;
}

static kf_flow communicate(kf_walk *w, const call *c, kf_effect_kind kind) {
  switch (kind) {
  case KF_EFFECT_COLLECTIVE:
    pass_barrier(w);
    return reduced(c->joined);
  case KF_EFFECT_SUBGROUP_REDUCE:
    w->evidence->subgroup = true;
    return reduced(c->joined);
  case KF_EFFECT_MATRIX:
    at_least_matrix(w, 2);
    w->evidence->subgroup = true;
    return computed(c, KF_DONE_MUL | KF_DONE_ADD);
  default:
    w->evidence->subgroup = true;
    return c->joined;
  }
}

static kf_flow built_in(kf_walk *w, const call *c, kf_effect effect) {
  switch (effect.kind) {
  case KF_EFFECT_LOCAL_ID:
    return of_launch(c, KF_FLOW_LOCAL_ID);
  case KF_EFFECT_GROUP_ID:
    return of_launch(c, KF_FLOW_GROUP_ID);
  case KF_EFFECT_GLOBAL_ID:
    return of_launch(c, KF_FLOW_LOCAL_ID | KF_FLOW_GROUP_ID | KF_FLOW_LINEAR);
  case KF_EFFECT_SIZE:
    return of_launch(c, KF_FLOW_SIZE);
  case KF_EFFECT_CONVERT:
    return c->joined;
  case KF_EFFECT_FMA:
    return computed(c, KF_DONE_MUL | KF_DONE_ADD);
  case KF_EFFECT_EXTREME:
    return computed(c, KF_DONE_EXTREME);
  case KF_EFFECT_DOT:
    return dot(w, c);
  case KF_EFFECT_BARRIER:
  case KF_EFFECT_ASYNC_WAIT:
    pass_barrier(w);
    return (kf_flow){0};
  case KF_EFFECT_LOAD:
    return vector_load(w, c, 1, effect.lanes);
  case KF_EFFECT_STORE:
    vector_store(w, c, 2, 0, effect.lanes);
    return (kf_flow){0};
  case KF_EFFECT_SUBGROUP_LOAD:
    w->evidence->subgroup = true;
    return vector_load(w, c, 0, effect.lanes);
  case KF_EFFECT_SUBGROUP_STORE:
    w->evidence->subgroup = true;
    vector_store(w, c, 0, 1, effect.lanes);
    return (kf_flow){0};
  case KF_EFFECT_ATOMIC:
  case KF_EFFECT_ATOMIC_LOAD:
  case KF_EFFECT_ATOMIC_STORE:
    return atomic(w, c, effect.kind);
  case KF_EFFECT_ASYNC_COPY:
    async_copy(w, c);
    return (kf_flow){0};
  case KF_EFFECT_PREFETCH:
    w->evidence->async_or_prefetch = true;
    return (kf_flow){0};
  case KF_EFFECT_COLLECTIVE:
  case KF_EFFECT_SUBGROUP:
  case KF_EFFECT_SUBGROUP_REDUCE:
  case KF_EFFECT_MATRIX:
    return communicate(w, c, effect.kind);
  case KF_EFFECT_NONE:
    break;
  }
  return computed(c, KF_DONE_OTHER);
}

kf_flow kf__walk_call(kf_walk *w, int node) {
  call c = {0};
  read_args(w, node, &c);
  int function = at(w, node)->decl;
  if (!function) return computed(&c, KF_DONE_OTHER);
  c.function = &w->tree->decls.items[function];
  if (c.function->body) return inline_helper(w, function, &c);
  return built_in(w, &c, kf__opencl_effect(c.function->name));
}
