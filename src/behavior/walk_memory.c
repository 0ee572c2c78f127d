/* walk_memory.c - what loads and stores show: staging, scratch, double buffers, accumulators. */
#include "behavior/walk_int.h"

#include <string.h>

/* The last objects stand for all that find no place of their own. */
enum { OWN_OBJECTS = KF_WALK_OBJECTS_MAX - 4 };

int kf__walk_add_object(kf_walk *w, kf_space space, int decl, int64_t elements, int lanes) {
  int index = w->nobjects < OWN_OBJECTS ? w->nobjects++ : OWN_OBJECTS + (int)space - 1;
  kf_object *object = &w->objects[index];
  if (index >= OWN_OBJECTS && object->space) return index;
  *object = (kf_object){.space = space, .decl = decl, .buffer = -1, .elements = elements, .lanes = lanes};
  kf__walk_path(w, &object->reset);
  w->of_space[space] |= (kf_objects)1 << index;
  return index;
}

void kf__walk_path(const kf_walk *w, kf_loop_path *ret_path) {
  ret_path->count = w->nloops;
  for (int i = 0; i < w->nloops; i++)
    ret_path->serials[i] = w->loops[i].serial;
}

int kf__walk_carried_from(const kf_walk *w, const kf_spot *spot) {
  if (!spot->var && !spot->objects) return w->nloops;
  const kf_loop_path *reset =
      spot->var ? &w->vars[spot->var].reset : &w->objects[__builtin_ctzll(spot->objects)].reset;
  int i = 0;
  while (i < w->nloops && i < reset->count && w->loops[i].serial == reset->serials[i])
    i++;
  return i;
}

/* ---- accumulators ---- */

static kf_accumulator *find_accumulator(kf_walk *w, int loop, int decl) {
  for (size_t i = 0; i < w->accumulators.count; i++) {
    kf_accumulator *a = &w->accumulators.items[i];
    if (a->loop == loop && a->decl == decl) return a;
  }
  if (kf_vec_push(&w->accumulators, (kf_accumulator){.loop = loop, .decl = decl, .lanes = 1}) != KF_OK) {
    w->out_of_memory = true;
    return NULL;
  }
  return &w->accumulators.items[w->accumulators.count - 1];
}

void kf__walk_note_accumulator(kf_walk *w, const kf_spot *spot, int first_loop) {
  int at = w->nloops - 1;
  while (at > first_loop && w->loops[at].unrolled)
    at--;
  const kf_object *object = &w->objects[spot->var ? 0 : __builtin_ctzll(spot->objects)];
  kf_accumulator *a = find_accumulator(w, w->loops[at].node, spot->var ? spot->var : object->decl);
  if (!a) return;
  a->elements = spot->var ? w->tree->decls.items[spot->var].type.lanes : object->elements * object->lanes;
  a->lanes = spot->lanes;
  if (!spot->var && !spot->fixed) a->dynamic = true;
  for (int i = 0; i < a->nforms; i++)
    if (a->forms[i] == spot->form) return;
  if (a->nforms < KF_WALK_FORMS_MAX) a->forms[a->nforms++] = spot->form;
}

/* ---- local memory ---- */

bool kf__object_is_scratch(const kf_object *object) {
  return object->combined || object->nmoves == 1;
}

/* Adds a form to a set of at most two; true once there are two. */
static bool add_form(uint64_t forms[2], int *count, uint64_t form) {
  for (int i = 0; i < *count; i++)
    if (forms[i] == form) return *count > 1;
  if (*count < 2) forms[(*count)++] = form;
  return *count > 1;
}

/* Another part, or another array of the same loop, was filled since the last barrier: the next tile is
 * fetched while this one is read. */
static bool is_filled_meanwhile(const kf_walk *w, int index, uint64_t form) {
  const kf_object *object = &w->objects[index];
  for (int i = 0; i < KF_WALK_OBJECTS_MAX; i++) {
    const kf_object *other = &w->objects[i];
    if (other->space != KF_SPACE_LOCAL || !other->loop_store_moment || other->loop_store_phase != w->phase)
      continue;
    if (i == index ? other->loop_store_form != form : object->loop_store_moment != 0) return true;
  }
  return false;
}

static void note_local_load(kf_walk *w, int index, const kf_spot *spot) {
  kf_object *object = &w->objects[index];
  bool after_barrier = object->direct && object->direct_phase < w->phase;
  if (!after_barrier || w->one_item) return;
  bool in_loop = w->nloops > 1;
  if (spot->fixed) {
    if (!add_form(object->fixed_forms, &object->nfixed, spot->form)) return;
  } else if (!in_loop && !object->direct_many && spot->form == object->direct_form) {
    return; /* the item reads back what it wrote */
  }
  object->reused = true;
  object->read_moment = w->moment;
  if (!in_loop) return;
  object->loop_read_phase = w->phase;
  object->loop_read_form = spot->form;
  if (is_filled_meanwhile(w, index, spot->form)) object->doubled = true;
}

static void note_direct(kf_walk *w, kf_object *object, const kf_spot *spot, kf_flow value) {
  if (object->direct && object->direct_form != spot->form) object->direct_many = true;
  if (!object->direct) object->direct_phase = w->phase;
  object->direct = true;
  object->direct_form = spot->form;
  object->sources |= value.loads & w->of_space[KF_SPACE_GLOBAL];
  if (value.phase < w->phase && object->read_moment > value.moment) object->through_registers = true;
  if (w->nloops <= 1) return;
  object->loop_store_phase = w->phase;
  object->loop_store_moment = w->moment;
  object->loop_store_form = spot->form;
  if (object->read_moment && object->loop_read_phase == w->phase && object->loop_read_form != spot->form)
    object->doubled = true;
}

static bool is_one_operation(uint16_t done) {
  return done == KF_DONE_ADD || done == KF_DONE_MUL || done == KF_DONE_EXTREME || done == KF_DONE_BITS;
}

/* `value` is without the old contents if it was combined with them. */
static void note_local_store(kf_walk *w, int index, const kf_spot *spot, kf_flow value, bool is_self) {
  kf_object *object = &w->objects[index];
  kf_objects own = spot->objects & w->of_space[KF_SPACE_LOCAL];
  if ((value.loads & own) && value.read_form != spot->form) {
    if (is_one_operation(value.done))
      object->combined = true;
    else if (!value.done && (w->guard_loads & own))
      add_form(object->move_forms, &object->nmoves, spot->form);
  } else if (is_self || (value.loads & own)) {
    return; /* an element changed in place */
  } else if (value.flags & KF_FLOW_ACC) {
    object->accumulated = true;
  } else if (value.loads & w->of_space[KF_SPACE_GLOBAL]) {
    note_direct(w, object, spot, value);
  }
}

/* ---- loads and stores ---- */

/* A vector's worth of global memory at once. */
static void note_width(kf_walk *w, const kf_spot *spot) {
  if (spot->lanes > w->evidence->vector_width) w->evidence->vector_width = spot->lanes;
}

static kf_spot with_shared_object(kf_walk *w, const kf_spot *spot) {
  kf_spot out = *spot;
  if (!out.objects && out.space != KF_SPACE_NONE) {
    int index = OWN_OBJECTS + (int)out.space - 1;
    if (!w->objects[index].space) {
      w->objects[index] = (kf_object){.space = out.space, .buffer = -1, .lanes = 1};
      w->of_space[out.space] |= (kf_objects)1 << index;
    }
    out.objects = (kf_objects)1 << index;
  }
  return out;
}

static void load_object(kf_walk *w, int index, const kf_spot *spot, kf_flow *value) {
  kf_object *object = &w->objects[index];
  kf_objects bit = (kf_objects)1 << index;
  value->loads |= bit;
  switch (object->space) {
  case KF_SPACE_GLOBAL:
    note_width(w, spot);
    object->read = true;
    if (w->counting) w->loops[w->nloops - 1].direct |= bit;
    value->phase = w->phase;
    value->moment = w->moment;
    if (spot->flags & KF_FLOW_LINEAR) value->flags |= KF_FLOW_LINEAR_LOAD;
    break;
  case KF_SPACE_LOCAL:
    note_local_load(w, index, spot);
    value->read_form = value->read_form ? KF_FLOW_SEVERAL : spot->form;
    value->flags |= object->content.flags & (KF_FLOW_ACC | KF_FLOW_SPLIT | KF_FLOW_LINEAR_LOAD);
    if (object->combined) value->flags |= KF_FLOW_ACC;
    break;
  case KF_SPACE_PRIVATE: {
    uint64_t form = value->form;
    *value = kf__flow_join(*value, object->content);
    value->form = form;
    value->known = false;
    break;
  }
  default:
    break;
  }
}

kf_flow kf__walk_load(kf_walk *w, const kf_spot *at) {
  w->moment++;
  kf_spot spot = with_shared_object(w, at);
  kf_flow value = {.form = kf__tree_mix(spot.form, 'l')};
  for (kf_objects left = spot.objects; left; left &= left - 1)
    load_object(w, __builtin_ctzll(left), &spot, &value);
  return value;
}

static void store_global(kf_walk *w, kf_object *object, const kf_spot *spot, kf_flow value) {
  note_width(w, spot);
  object->written = true;
  for (kf_objects left = value.loads & w->of_space[KF_SPACE_LOCAL]; left; left &= left - 1) {
    const kf_object *from = &w->objects[__builtin_ctzll(left)];
    if (from->combined && (from->content.flags & KF_FLOW_LINEAR_LOAD)) value.flags |= KF_FLOW_SPLIT;
  }
  if (value.flags & KF_FLOW_SPLIT)
    object->split = true;
  else if ((value.loads & w->of_space[KF_SPACE_GLOBAL]) && !value.done && !(value.flags & KF_FLOW_ACC))
    object->copied = true;
}

static void store_private(kf_walk *w, kf_object *object, kf_flow value, bool is_self) {
  if (is_self) {
    object->accumulated = object->accumulated || (value.flags & KF_FLOW_ACC);
    return;
  }
  kf__walk_path(w, &object->reset);
  kf_objects memory =
      w->of_space[KF_SPACE_GLOBAL] | w->of_space[KF_SPACE_LOCAL] | w->of_space[KF_SPACE_CONSTANT];
  if ((value.loads & memory) && !(value.flags & KF_FLOW_ACC)) object->filled = true;
}

static void store_object(kf_walk *w, int index, const kf_spot *spot, kf_flow value, bool is_self) {
  kf_object *object = &w->objects[index];
  switch (object->space) {
  case KF_SPACE_GLOBAL:
    store_global(w, object, spot, value);
    break;
  case KF_SPACE_LOCAL:
    note_local_store(w, index, spot, value, is_self);
    break;
  case KF_SPACE_PRIVATE:
    store_private(w, object, value, is_self);
    break;
  default:
    break;
  }
  object->content = kf__flow_join(object->content, value);
}

/* A variable assigned in a branch that its declaration is not in may keep its old value. */
static void store_variable(kf_walk *w, const kf_spot *spot, kf_flow value, bool is_self) {
  kf_variable *var = &w->vars[spot->var];
  bool is_whole = spot->lanes == w->tree->decls.items[spot->var].type.lanes;
  bool replaces = is_whole && w->branch <= var->branch;
  var->flow = replaces ? value : kf__flow_join(var->flow, value);
  if (!is_whole) var->flow.known = false;
  if (!is_self) kf__walk_path(w, &var->reset);
}

void kf__walk_store(kf_walk *w, const kf_spot *at, kf_flow value, bool is_self) {
  w->moment++;
  if (at->var) {
    store_variable(w, at, value, is_self);
    return;
  }
  kf_spot spot = with_shared_object(w, at);
  for (kf_objects left = spot.objects; left; left &= left - 1)
    store_object(w, __builtin_ctzll(left), &spot, value, is_self);
}
