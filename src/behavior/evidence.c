/* evidence.c - source and launches -> evidence: parses twice (see normal_form_int.h), walks every launch,
 * joins what they show. */
#include "behavior/behavior.h"

#include "behavior/normal_form_int.h"
#include "behavior/opencl_table_int.h"
#include "behavior/screen_int.h"
#include "behavior/syntax_read_int.h"
#include "behavior/walk_int.h"

#include <string.h>

enum { BUFFERS_MAX = KF_ARGS_MAX + KF_TEMPS_MAX, OPTIONS_MAX = 1 << 20 };

static const char source_name[] = "kernel.cl", normal_name[] = "normal.cl";

/* What earlier launches left in a buffer. */
typedef struct {
  bool written, split, copied;
  int sweeps; /* over all launches */
} buffer_facts;

typedef struct {
  const kf_evidence_request *request;
  const kf_clang_api *api;
  CXIndex index;
  kf_buf text; /* prelude and normal form */
  kf_syntax_tree tree;
  kf_screen screen;
  bool request_told;
  buffer_facts buffers[BUFFERS_MAX];
  kf_evidence evidence;
} extraction;

/* ---- parsing ---- */

static kf_status parse(extraction *x, const char *name, const kf_buf *text, const char *options,
                       CXTranslationUnit *ret_unit, kf_err *err) {
  kf_buf words;
  kf_buf_init(&words, OPTIONS_MAX);
  const char *args[KF_OPENCL_ARGS_MAX];
  int nargs = 0;
  struct CXUnsavedFile file = {name, text->data, text->len};
  kf_status status = kf__opencl_arguments(options, &words, args, &nargs, err);
  if (status == KF_OK && x->api->parseTranslationUnit2(x->index, name, args, nargs, &file, 1,
                                                       CXTranslationUnit_KeepGoing, ret_unit) != 0)
    status = kf_fail(err, KF_EINVAL, "%s: libclang cannot parse it", name);
  kf_buf_done(&words);
  return status;
}

/* Only the version of the language matters once the macros are gone. */
static void only_version(const char *options, char ret_text[32]) {
  const char *at = options ? strstr(options, "-cl-std=") : NULL;
  size_t len = at ? strcspn(at, " \t") : 0;
  snprintf(ret_text, 32, "%.*s", len < 32 ? (int)len : 0, at ? at : "");
}

/* ---- the screen ---- */

/* The line of the source that the diagnosis names: a person sees at once what is meant. */
static void quote_line(extraction *x) {
  unsigned line = 0, at_line = 1;
  kf_diagnosis *d = &x->screen.diagnosis;
  if (sscanf(d->where, "kernel.cl:%u:", &line) != 1) return;
  const char *at = x->request->source, *end = at + x->request->source_len;
  while (at < end && at_line < line)
    at_line += *at++ == '\n';
  while (at < end && (*at == ' ' || *at == '\t'))
    at++;
  size_t len = 0, room = 160;
  while (at + len < end && at[len] != '\n' && at[len] != '\r' && len < room)
    len++;
  snprintf(d->evidence, sizeof d->evidence, "%.*s", (int)len, at);
}

static void screen_unit(extraction *x, CXTranslationUnit unit, const kf_buf *source, size_t prelude) {
  unsigned lines = 0;
  for (size_t i = 0; i < prelude; i++)
    lines += source->data[i] == '\n';
  kf__screen_tree(x->api, unit, source_name, (unsigned)prelude, lines, &x->screen);
}

static kf_status tell_screen(extraction *x, kf_err *err) {
  if (x->screen.state >= KF_SCREEN_REFUSED) quote_line(x);
  if (x->request->screened) x->request->screened(x->request->context, &x->screen);
  x->request_told = true;
  if (x->screen.state != KF_SCREEN_REFUSED) return KF_OK;
  return kf_fail(err, KF_EINVAL, "refused: %s", x->screen.diagnosis.text);
}

static kf_status print_normal_form(extraction *x, unsigned *ret_from, kf_err *err) {
  kf_buf source;
  kf_buf_init(&source, KF_NORMAL_FORM_MAX);
  kf_status status = kf__opencl_prelude(&source, err);
  size_t prelude = source.len;
  if (status == KF_OK) status = kf_buf_append(&source, x->request->source, x->request->source_len, err);
  CXTranslationUnit unit = NULL;
  if (status == KF_OK) status = parse(x, source_name, &source, x->request->options, &unit, err);
  if (status == KF_OK) screen_unit(x, unit, &source, prelude);
  if (status == KF_OK) status = tell_screen(x, err);
  if (status == KF_OK) status = kf_buf_append(&x->text, source.data, prelude, err);
  if (status == KF_OK) status = kf__normal_form(x->api, unit, source_name, (unsigned)prelude, &x->text, err);
  if (unit) x->api->disposeTranslationUnit(unit);
  kf_buf_done(&source);
  *ret_from = (unsigned)prelude;
  return status;
}

static kf_status read_tree(extraction *x, kf_err *err) {
  unsigned from = 0;
  char version[32];
  KF_TRY(print_normal_form(x, &from, err));
  only_version(x->request->options, version);
  CXTranslationUnit unit = NULL;
  KF_TRY(parse(x, normal_name, &x->text, version, &unit, err));
  kf_status status = kf__syntax_read(x->api, unit, normal_name, x->text.data, from, &x->tree, err);
  x->api->disposeTranslationUnit(unit);
  return status;
}

/* ---- launches ---- */

static kf_flow param_flow(int decl, bool is_pointer) {
  return (kf_flow){.form = kf__tree_mix((uint64_t)decl, 'p'), .flags = is_pointer ? 0 : KF_FLOW_PARAM};
}

/* An object for each pointer parameter; one for all parameters that get the same buffer. */
static void bind_params(kf_walk *w, int function, const kf_step *step) {
  int object_of[BUFFERS_MAX];
  memset(object_of, -1, sizeof object_of);
  const kf_decl *f = &w->tree->decls.items[function];
  for (int i = 0; i < f->nparams; i++) {
    int decl = f->first_param + i;
    const kf_node_type *type = &w->tree->decls.items[decl].type;
    w->vars[decl].flow = param_flow(decl, type->is_pointer);
    if (!type->is_pointer) continue;
    bool has_buffer = step && i < step->nargs && step->args[i].kind == KF_STEP_ARG_BUFFER;
    int buffer = has_buffer ? step->args[i].buffer : -1;
    if (buffer < 0 || buffer >= BUFFERS_MAX) buffer = -1;
    /* constant memory is filled from a buffer like any other */
    kf_space space = type->target == KF_SPACE_LOCAL ? KF_SPACE_LOCAL : KF_SPACE_GLOBAL;
    int object =
        buffer >= 0 && object_of[buffer] >= 0 ? object_of[buffer] : kf__walk_add_object(w, space, decl, 0, 1);
    w->objects[object].buffer = buffer;
    if (buffer >= 0) object_of[buffer] = object;
    w->vars[decl].flow.points = (kf_objects)1 << object;
  }
}

static void note_earlier(extraction *x, kf_walk *w) {
  for (int i = 0; i < KF_WALK_OBJECTS_MAX; i++) {
    int buffer = w->objects[i].space == KF_SPACE_GLOBAL ? w->objects[i].buffer : -1;
    if (buffer >= 0 && x->buffers[buffer].split) w->partial |= (kf_objects)1 << i;
  }
}

static bool is_temp(const extraction *x, int buffer) {
  return x->request->calls && buffer < x->request->calls->nbuffers &&
         x->request->calls->buffers[buffer].is_temp;
}

static bool is_output(const extraction *x, int buffer) {
  return x->request->calls && buffer < x->request->calls->nbuffers && !is_temp(x, buffer) &&
         x->request->calls->buffers[buffer].role == KF_ROLE_OUT;
}

/* Sweeps count for inputs, and for temps that are copies of inputs. */
static void note_sweeps(extraction *x, const kf_walk *w, int object) {
  const kf_object *o = &w->objects[object];
  int sweeps = kf__walk_sweeps(w, object);
  if (o->buffer >= 0) {
    buffer_facts *b = &x->buffers[o->buffer];
    if (is_output(x, o->buffer) || (is_temp(x, o->buffer) && !b->copied)) return;
    sweeps = b->sweeps += sweeps;
  } else if (o->written) {
    return;
  }
  if (sweeps > x->evidence.sweeps) x->evidence.sweeps = sweeps;
}

static void note_buffers(extraction *x, const kf_walk *w) {
  for (int i = 0; i < KF_WALK_OBJECTS_MAX; i++) {
    const kf_object *o = &w->objects[i];
    if (o->space != KF_SPACE_GLOBAL) continue;
    buffer_facts *b = o->buffer >= 0 ? &x->buffers[o->buffer] : NULL;
    if (b && o->read && b->written && is_temp(x, o->buffer)) {
      x->evidence.joined_launches = true;
      if (b->copied) x->evidence.staged_local = true; /* a packed buffer */
    }
    note_sweeps(x, w, i);
  }
  for (int i = 0; i < KF_WALK_OBJECTS_MAX; i++) {
    const kf_object *o = &w->objects[i];
    if (o->space != KF_SPACE_GLOBAL || o->buffer < 0 || !o->written) continue;
    x->buffers[o->buffer].written = true;
    x->buffers[o->buffer].split = o->split;
    x->buffers[o->buffer].copied = o->copied;
  }
}

static kf_status walk_launch(extraction *x, const char *entry, const kf_step *step, kf_err *err) {
  int function = kf__tree_function(&x->tree, entry);
  if (!function) return kf_fail(err, KF_EINVAL, "%s: no kernel named \"%s\"", source_name, entry);
  kf_walk *w = NULL;
  KF_TRY(kf__walk_new(&x->tree, &x->evidence, &w, err));
  bind_params(w, function, step);
  note_earlier(x, w);
  kf__walk_kernel(w, function);
  kf__walk_conclude(w);
  note_buffers(x, w);
  kf_status status = KF_OK;
  if (w->out_of_memory)
    status = kf_nomem(err);
  else if (w->exhausted)
    status = kf_fail(err, KF_EINVAL, "%s: too large or too deep to walk", source_name);
  kf__walk_free(w);
  x->evidence.launches++;
  return status;
}

static kf_status walk_launches(extraction *x, kf_err *err) {
  const kf_calls *calls = x->request->calls;
  if (!calls) {
    for (int i = 0; i < x->request->nentries; i++)
      KF_TRY(walk_launch(x, x->request->entries[i], NULL, err));
    return KF_OK;
  }
  for (int i = 0; i < calls->nsteps; i++)
    if (calls->steps[i].kind == KF_STEP_LAUNCH)
      KF_TRY(walk_launch(x, calls->steps[i].entry, &calls->steps[i], err));
  return KF_OK;
}

kf_status kf_evidence_parse(const kf_evidence_request *request, kf_evidence *ret_evidence, kf_buf *note,
                            kf_err *err) {
  kf_err why = {0};
  extraction x = {.request = request, .evidence = {.vector_width = 1}};
  kf_status status = kf__screen_text(request->source, request->source_len, request->options, &x.screen, &why);
  if (status == KF_OK && x.screen.state == KF_SCREEN_REFUSED) status = tell_screen(&x, &why);
  if (status == KF_OK) status = kf__clang_open(&x.api, &why);
  if (status == KF_OK) {
    kf_buf_init(&x.text, KF_NORMAL_FORM_MAX);
    x.index = x.api->createIndex(0, 0);
    status = read_tree(&x, &why);
    if (status == KF_OK) status = walk_launches(&x, &why);
    kf__tree_done(&x.tree);
    x.api->disposeIndex(x.index);
    kf_buf_done(&x.text);
  }
  /* no libclang, or it gave up: the text alone was screened */
  if (status != KF_ENOMEM && !x.request_told) tell_screen(&x, NULL);
  if (status == KF_ENOMEM) return kf_nomem(err);
  if (status != KF_OK) {
    *ret_evidence = (kf_evidence){0};
    kf_buf_clear(note);
    return kf_buf_puts(note, why.msg, err);
  }
  x.evidence.known = true;
  snprintf(x.evidence.source, sizeof x.evidence.source, "syntax");
  *ret_evidence = x.evidence;
  return KF_OK;
}
