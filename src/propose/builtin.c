/* builtin.c - the proposer that needs no network and no model: draws bindings of the launch plan in the shown
 * kernel. sample: a uniform legal binding; every other emitter: a neighbour of the shown binding. Draws are
 * Philox(seed, proposal id, purpose), so equal asks give equal answers. */
#include "base/alloc.h"
#include "propose/plan_cache.h"
#include "propose/propose_int.h"

#include "base/banned.h"

typedef struct {
  kf_proposer base;
  kf__answer_queue queue;
  kf_plan_cache plans;
} builtin;

static const kf_device_limits no_limits = {
    .units = 1,
    .local_bytes = INT64_MAX,
    .max_group = INT64_MAX,
    .max_local = {INT64_MAX, INT64_MAX, INT64_MAX},
    .simd_width = 1,
};

static kf_status nothing(builtin *self, int64_t id, const char *note, kf_err *err) {
  kf_answer answer = {.id = id, .status = KF_ENOTFOUND, .binding = "", .note = note};
  return kf__answer_queue_push(&self->queue, &answer, err);
}

/* Draws a binding; KF_ENOTFOUND or KF_EREFUSED is the candidate's fault and becomes the answer. */
static kf_status draw(const kf_ask *ask, const kf_plan *plan, kf_binding *ret_binding, kf_err *err) {
  const kf_device_limits *limits = ask->limits ? ask->limits : &no_limits;
  kf_rng rng;
  if (ask->emitter == KF_EMIT_SAMPLE) {
    kf_rng_init(&rng, ask->seed, (uint64_t)ask->id, KF_DRAW_SAMPLE);
    return kf_plan_sample(plan, ask->task, limits, &rng, ret_binding, err);
  }
  kf_binding from;
  kf_rng_init(&rng, ask->seed, (uint64_t)ask->id, KF_DRAW_TUNE);
  KF_TRY(kf_plan_binding_parse(plan, ask->parent->binding, &from, err));
  return kf_plan_mutate(plan, ask->task, limits, &rng, &from, ret_binding, err);
}

static kf_status builtin_ask(kf_proposer *proposer, const kf_ask *ask, kf_err *err) {
  builtin *self = (builtin *)proposer;
  if (!ask->parent) return nothing(self, ask->id, "builtin needs a kernel to start from", err);
  kf_err why = {0};
  const kf_plan *plan = NULL;
  kf_status status = kf_plan_cache_get(&self->plans, ask->task, ask->language, ask->parent->source,
                                       ask->parent->source_len, &plan, &why);
  if (status == KF_OK && kf_plan_nparams(plan) == 0)
    return nothing(self, ask->id, "the kernel has no //kf: param to vary", err);
  kf_binding binding;
  if (status == KF_OK) status = draw(ask, plan, &binding, &why);
  if (status == KF_ENOTFOUND || status == KF_EREFUSED || status == KF_EINVAL)
    return nothing(self, ask->id, why.msg, err);
  if (status != KF_OK) {
    if (err) *err = why;
    return status;
  }
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, 1 << 16);
  KF_TRY(kf_plan_binding_text(plan, &binding, &text, err));
  kf_answer answer = {.id = ask->id,
                      .status = KF_OK,
                      .source = ask->parent->source,
                      .source_len = ask->parent->source_len,
                      .binding = kf_buf_text(&text),
                      .note = ""};
  return kf__answer_queue_push(&self->queue, &answer, err);
}

static void on_closed(kf_proposer *proposer) {
  builtin *self = (builtin *)proposer;
  kf_plan_cache_done(&self->plans);
  kf_free(self);
}

static void builtin_close(kf_proposer *proposer) {
  kf__answer_queue_close(&((builtin *)proposer)->queue, on_closed);
}

static const kf__proposer_ops builtin_ops = {"builtin", false, false, builtin_ask, builtin_close};

kf_status kf__builtin_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                           kf_err *err) {
  if (*rest != '\0') return kf_fail(err, KF_EINVAL, "proposer \"builtin:%s\": builtin takes nothing", rest);
  builtin *self = kf_calloc(1, sizeof *self);
  if (!self) return kf_nomem(err);
  self->base = *base;
  self->base.ops = &builtin_ops;
  snprintf(self->base.discloses, sizeof self->base.discloses, "nothing");
  kf__answer_queue_init(&self->queue, &self->base);
  *ret_proposer = &self->base;
  return KF_OK;
}
