/* engine.c - life of an engine, and the order in which one input is dealt with: checked, folded, decided, and
 * what is due. */
#include "run/engine_int.h"

#include "base/alloc.h"
#include <math.h>
#include <string.h>

#include "base/banned.h"

enum { USUAL_BODY = 4096 }; /* no decision is longer, so that none needs memory to be written */

static kf_status check_config(const kf_engine_config *config, kf_err *err) {
  const kf_task *task = config->task;
  if (config->in_flight < 1)
    return kf_fail(err, KF_EINVAL, "in_flight: %d: must be at least 1", config->in_flight);
  if (config->evals_max < 0 || config->time_max_ms < 0)
    return kf_fail(err, KF_EINVAL, "the budget is negative");
  if ((unsigned)config->language >= KF_LANG_COUNT) return kf_fail(err, KF_EBUG, "no such language");
  switch (task->baseline_kind) {
  case KF_BASELINE_KERNEL:
    if (task->kernel[config->language] != NULL) return KF_OK;
    return kf_fail(err, KF_EREFUSED, "%s: baseline: kernel: the task has no kernel for %s", task->name,
                   kf_language_name(config->language));
  case KF_BASELINE_FILE:
    return KF_OK;
  case KF_BASELINE_REFERENCE:
  case KF_BASELINE_TORCH_EAGER:
  case KF_BASELINE_TORCH_COMPILE:
    break;
  }
  kf_fail(err, KF_EREFUSED, "%s: baseline: this kind cannot be raced by a run", task->name);
  return kf_err_hint(err, KF_EREFUSED, "use `baseline: kernel`, or name a kernel file");
}

static void count_seeds(kf_engine *engine) {
  const kf_task *task = engine->config.task;
  kf_language language = engine->config.language;
  if (task->kernel[language] != NULL) engine->initial = ++engine->nseeds;
  if (task->baseline_kind == KF_BASELINE_FILE)
    engine->baseline = ++engine->nseeds;
  else
    engine->baseline = engine->initial;
  engine->nseeds += task->nseeds[language];
}

kf_status kf_engine_new(const kf_engine_config *config, kf_engine **ret_engine, kf_err *err) {
  KF_TRY(check_config(config, err));
  kf_engine *engine = kf_calloc(1, sizeof *engine);
  if (engine == NULL) return kf_nomem(err);
  engine->config = *config;
  engine->anchor_ratio_nano = kf_ratio_nano(log(config->settings.search_anchor_ratio));
  engine->next_request = 1;
  kf_buf_init(&engine->body, KF_ENGINE_BODY_MAX);
  count_seeds(engine);
  kf_status status = KF_OK;
  KF_GO(kf_buf_reserve(&engine->body, USUAL_BODY, err));
  KF_GO(kf_archive_new(&engine->archive, err));
  engine->verdict = kf_calloc(1, sizeof *engine->verdict);
  if (engine->verdict == NULL) KF_GO(kf_nomem(err));
  *ret_engine = engine;
  return KF_OK;
out:
  kf_engine_free(engine);
  return status;
}

void kf_engine_free(kf_engine *engine) {
  if (engine == NULL) return;
  kf__engine_tables_done(engine);
  kf_archive_free(engine->archive);
  kf_buf_done(&engine->body);
  kf_free(engine->verdict);
  kf_free(engine);
}

kf_status kf__engine_decide(kf_engine *engine, kf_event_kind kind, int64_t proposal, json_t *take_body,
                            kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *body = take_body;
  kf_buf_clear(&engine->body);
  KF_TRY(kf_json_dump(body, &engine->body, err));
  kf_event decision = {
      .kind = kind,
      .proposal = proposal,
      .at_ms = engine->at_ms,
      .body = kf_buf_text(&engine->body),
      .body_len = engine->body.len,
  };
  if (engine->emit != NULL) KF_TRY(engine->emit(engine->emit_context, &decision, err));
  kf_status status = kf__engine_apply(engine, kind, body, err);
  if (status == KF_OK || status == KF_ENOMEM) return status;
  kf_err_context(err, KF_EBUG, "decision \"%s\" of proposal %lld", kf_event_name(kind), (long long)proposal);
  if (err != NULL) err->code = KF_EBUG;
  return KF_EBUG;
}

static kf_status decide_input(kf_engine *engine, const kf_event *input, const json_t *body, kf_err *err) {
  switch (input->kind) {
  case KF_EVENT_ANSWER:
    return kf__engine_answer(engine, input->proposal, body, err);
  case KF_EVENT_VERDICT:
    return kf__engine_verdict(engine, input->proposal, body, err);
  case KF_EVENT_INFRA:
    return kf__engine_infra(engine, input->proposal, body, err);
  default:
    return kf__engine_apply(engine, input->kind, body, err);
  }
}

kf_status kf_engine_input(kf_engine *engine, const kf_event *input, kf_engine_emit emit, void *context,
                          kf_err *err) {
  if (kf_event_is_decision(input->kind))
    return kf_fail(err, KF_EBUG, "a decision (%s) was given as an input", kf_event_name(input->kind));
  if (!engine->started && input->kind != KF_EVENT_START)
    return kf_fail(err, KF_EPROTO, "%s: before the run started", kf_event_name(input->kind));
  KF_CLEANUP(kf_json_freep) json_t *body = NULL;
  bool empty = input->body_len == 0;
  kf_status status = empty ? kf_json_pack(&body, err, "{}")
                           : kf_json_parse(input->body, input->body_len, KF_ENGINE_INPUT_MAX,
                                           kf_event_name(input->kind), &body, err);
  if (status == KF_OK && !json_is_object(body))
    status = kf_fail(err, KF_EPROTO, "%s: the body is not an object", kf_event_name(input->kind));
  if (status != KF_OK) return status == KF_ENOMEM ? status : KF_EPROTO;
  int64_t elapsed_before = engine->elapsed_ms;
  engine->emit = emit;
  engine->emit_context = context;
  engine->at_ms = input->at_ms;
  if (input->at_ms > engine->elapsed_ms) engine->elapsed_ms = input->at_ms;
  status = decide_input(engine, input, body, err);
  if (status == KF_EPROTO) engine->elapsed_ms = elapsed_before;
  KF_TRY(status);
  return kf__engine_advance(engine, err);
}
