/* driver_input.c - what the world says, in one transaction with what is decided from it. Effects only queue
 * up here and are carried out after the commit, one after the other, never from within one another: a crash
 * between the commit and an effect leaves the effect to the resumed run. */
#include "base/alloc.h"
#include "run/driver_int.h"

#include "base/banned.h"

static kf_status on_decision(void *context, const kf_event *decision, kf_err *err) {
  kf__driver *driver = context;
  kf_event stored = *decision;
  KF_TRY(kf_store_append(driver->store, &stored, err));
  kf__effect effect = {.proposal = decision->proposal};
  if (decision->kind == KF_EVENT_EVALUATE) {
    json_t *body KF_CLEANUP(kf_json_freep) = NULL;
    KF_TRY(kf_json_parse(decision->body, decision->body_len, KF_DRIVER_BODY_MAX, "decision", &body, err));
    KF_TRY(kf_json_int(body, "request", &effect.request, err));
  } else if (decision->kind != KF_EVENT_PROPOSE) {
    return KF_OK;
  }
  return kf_vec_push(&driver->effects, effect) == KF_OK ? KF_OK : kf_nomem(err);
}

/* Appends and decides; the caller commits. */
static kf_status decide(kf__driver *driver, kf_event_kind kind, int64_t proposal, const json_t *body,
                        kf_err *err) {
  kf_event input = {.kind = kind, .proposal = proposal, .at_ms = kf__driver_now_ms(driver)};
  kf_buf_clear(&driver->scratch);
  KF_TRY(kf_json_dump(body, &driver->scratch, err));
  input.body = kf_buf_text(&driver->scratch);
  input.body_len = driver->scratch.len;
  KF_TRY(kf_store_append(driver->store, &input, err));
  kf_status status = kf_engine_input(driver->engine, &input, on_decision, driver, err);
  if (status != KF_OK)
    kf_err_context(err, status, "%s of proposal %lld", kf_event_name(kind), (long long)proposal);
  return status;
}

kf_status kf__driver_input_joined(kf__driver *driver, kf_event_kind kind, int64_t proposal, json_t *take_body,
                                  kf_err *err) {
  json_t *body KF_CLEANUP(kf_json_freep) = take_body ? take_body : json_object();
  size_t before = driver->effects.count;
  kf_status status = body ? decide(driver, kind, proposal, body, err) : kf_nomem(err);
  if (status == KF_OK) status = kf_store_commit(driver->store, err);
  if (status != KF_OK) {
    kf_store_rollback(driver->store);
    driver->effects.count = before; /* what was not committed was not decided */
    return status;
  }
  driver->inputs++;
  return KF_OK;
}

void kf__driver_input(kf__driver *driver, kf_event_kind kind, int64_t proposal, json_t *take_body) {
  kf_err error = {0};
  kf_status status = driver->status;
  if (status != KF_OK) {
    json_decref(take_body);
    return;
  }
  status = kf_store_begin(driver->store, &error);
  if (status != KF_OK)
    json_decref(take_body);
  else
    status = kf__driver_input_joined(driver, kind, proposal, take_body, &error);
  if (status != KF_OK)
    kf__driver_fail(driver, status, &error);
  else
    kf__driver_show(driver, NULL);
}

/* While the run drains, what was decided stays decided and is left to the resumed run. */
static bool may_begin(const kf__driver *driver) {
  return driver->status == KF_OK && !driver->stopping;
}

void kf__driver_pump(kf__driver *driver) {
  while (driver->effects_done < driver->effects.count && may_begin(driver)) {
    kf__effect effect = driver->effects.items[driver->effects_done];
    if (effect.request == 0)
      kf__driver_ask(driver, effect.proposal);
    else if (!kf__driver_evaluate(driver, effect.request))
      return; /* the evaluator is gone; later ones keep their turn */
    driver->effects_done++;
    if (driver->effects_done < driver->effects.count) continue;
    driver->effects.count = driver->effects_done = 0;
  }
}
