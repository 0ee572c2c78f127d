/* walk.c - begins and ends the walk through one launched kernel. */
#include "behavior/walk_int.h"

#include "behavior/opencl_table_int.h"

enum { HELPER_ROUNDS = KF_WALK_CALLS_MAX };

static const kf_node *at(const kf_syntax_tree *tree, int node) {
  return &tree->nodes.items[node];
}

static bool is_barrier_call(const kf_syntax_tree *tree, const bool *barriers, int node) {
  if (at(tree, node)->kind != KF_NODE_CALL || !at(tree, node)->decl) return false;
  const kf_decl *function = &tree->decls.items[at(tree, node)->decl];
  if (function->body) return barriers[function->body];
  kf_effect_kind kind = kf__opencl_effect(function->name).kind;
  return kind == KF_EFFECT_BARRIER || kind == KF_EFFECT_ASYNC_WAIT || kind == KF_EFFECT_COLLECTIVE;
}

/* Children have higher indices than their parents, so one pass from the end is enough for what is in one
 * function; helpers that call helpers take as many passes as they are deep. */
static void find_barriers(const kf_syntax_tree *tree, bool *barriers) {
  bool changed = true;
  for (int round = 0; changed && round < HELPER_ROUNDS; round++) {
    changed = false;
    for (int node = (int)tree->nodes.count - 1; node > 0; node--) {
      bool holds = is_barrier_call(tree, barriers, node);
      for (int child = at(tree, node)->child; child && !holds; child = at(tree, child)->next)
        holds = barriers[child];
      changed = changed || holds != barriers[node];
      barriers[node] = holds;
    }
  }
}

kf_status kf__walk_new(const kf_syntax_tree *tree, kf_evidence *evidence, kf_walk **ret_walk, kf_err *err) {
  kf_walk *w = kf_calloc(1, sizeof *w);
  if (!w) return kf_nomem(err);
  w->tree = tree;
  w->evidence = evidence;
  w->counting = true;
  w->nloops = 1;
  w->vars = kf_calloc(tree->decls.count, sizeof *w->vars);
  w->barriers = kf_calloc(tree->nodes.count, sizeof *w->barriers);
  if (!w->vars || !w->barriers) {
    kf__walk_free(w);
    return kf_nomem(err);
  }
  find_barriers(tree, w->barriers);
  *ret_walk = w;
  return KF_OK;
}

void kf__walk_free(kf_walk *w) {
  if (!w) return;
  kf_vec_done(&w->accumulators);
  kf_free(w->vars);
  kf_free(w->barriers);
  kf_free(w);
}

void kf__walk_kernel(kf_walk *w, int function) {
  w->calls[w->ncalls++] = function;
  kf__walk_stmt(w, w->tree->decls.items[function].body);
  w->ncalls--;
}

static int64_t count_accumulator(const kf_accumulator *a) {
  int64_t seen = (int64_t)a->nforms * a->lanes;
  return a->dynamic && a->elements > seen ? a->elements : seen;
}

static int most_accumulators(const kf_walk *w) {
  int64_t most = 0;
  for (size_t i = 0; i < w->accumulators.count; i++) {
    int64_t sum = 0;
    for (size_t j = 0; j < w->accumulators.count; j++)
      if (w->accumulators.items[j].loop == w->accumulators.items[i].loop)
        sum += count_accumulator(&w->accumulators.items[j]);
    if (sum > most) most = sum;
  }
  return most > INT32_MAX ? INT32_MAX : (int)most;
}

static void conclude_local(kf_walk *w, const kf_object *object) {
  kf_evidence *e = w->evidence;
  if (object->combined && object->sources && !(object->sources & ~w->partial)) e->split_reduction = true;
  if (!object->direct || !object->reused || kf__object_is_scratch(object)) return;
  e->staged_local = true;
  if (object->through_registers) e->register_staging = true;
  if (object->doubled) e->async_or_prefetch = true;
}

void kf__walk_conclude(kf_walk *w) {
  for (int i = 0; i < KF_WALK_OBJECTS_MAX; i++) {
    const kf_object *object = &w->objects[i];
    if (object->space == KF_SPACE_LOCAL) conclude_local(w, object);
    bool is_tile = object->space == KF_SPACE_PRIVATE && object->elements * object->lanes >= 2;
    if (is_tile && object->filled && object->fed && !object->accumulated)
      w->evidence->register_staging = true;
  }
  int accumulators = most_accumulators(w);
  if (accumulators > w->evidence->accumulators) w->evidence->accumulators = accumulators;
}

int kf__walk_sweeps(const kf_walk *w, int object) {
  const kf_loop *kernel = &w->loops[0];
  return kernel->nested[object] ? kernel->nested[object] : (int)(kernel->direct >> object & 1);
}
