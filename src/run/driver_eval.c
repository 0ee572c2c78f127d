/* driver_eval.c - judge requests out, verdicts in. kf-eval may die at any time: its requests then come back
 * as infrastructure failures, which the engine retries, and a new kf-eval is started from the loop. */
#include "base/alloc.h"
#include "base/log.h"
#include "run/driver_int.h"

#include "base/banned.h"

/* ---- requests ---- */

/* Cells for stage 1: what a newcomer has to come near to, as d over the same opponent. */
typedef struct {
  kf_eval_elite items[256];
  int count;
} thresholds;

static void gather(const kf__driver *driver, thresholds *ret) {
  const kf_archive *archive = kf_engine_archive(driver->engine);
  kf_engine_stats stats;
  kf_engine_get_stats(driver->engine, &stats);
  ret->count = 0;
  for (int i = 0; i < kf_archive_count(archive) && ret->count < (int)KF_COUNTOF(ret->items); i++) {
    const kf_archive_cell *cell = kf_archive_at(archive, i);
    ret->items[ret->count++] = (kf_eval_elite){cell->cell, cell->elite.score_nano - stats.anchor_link_nano};
  }
}

static kf_status source_of(kf__driver *driver, int64_t id, kf_eval_source *ret_source, kf_err *err) {
  kf_candidate candidate;
  if (!kf_engine_candidate(driver->engine, id, &candidate))
    return kf_fail(err, KF_EBUG, "candidate %lld is unknown", (long long)id);
  ret_source->binding = candidate.binding;
  return kf__source_get(driver, &candidate.source, &ret_source->source, &ret_source->source_len, err);
}

static kf_status submit(kf__driver *driver, const kf_evaluation *ask, kf_err *err) {
  kf_eval_source against = {0};
  thresholds elites = {.count = 0};
  kf_eval_request request = {
      .id = ask->request,
      .task = driver->task,
      .device = driver->device.id,
      .stage = ask->stage,
      .verified = ask->verified && !driver->other_device,
      .blocks_min = ask->blocks_min,
      .blocks_max = ask->blocks_max,
  };
  KF_TRY(source_of(driver, ask->candidate, &request.candidate, err));
  if (ask->against != 0) {
    KF_TRY(source_of(driver, ask->against, &against, err));
    request.against = &against;
  }
  kf_engine_stats stats;
  kf_engine_get_stats(driver->engine, &stats);
  if (ask->purpose == KF_PURPOSE_JUDGE && ask->against == stats.anchor) {
    gather(driver, &elites);
    request.elites = elites.items;
    request.nelites = elites.count;
  }
  return kf_evaluator_submit(driver->evaluator, &request, err);
}

static void give_infra(kf__driver *driver, int64_t proposal, int64_t request, const char *message) {
  json_t *body = json_pack("{s:I,s:s}", "request", (json_int_t)request, "error", message);
  if (!body)
    body = json_pack("{s:I,s:s}", "request", (json_int_t)request, "error", "(a message that is no UTF-8)");
  kf_err error = {0};
  if (body)
    kf__driver_input(driver, KF_EVENT_INFRA, proposal, body);
  else
    kf__driver_fail(driver, kf_nomem(&error), &error);
}

bool kf__driver_evaluate(kf__driver *driver, int64_t request) {
  if (driver->evaluator_lost) return false;
  kf_evaluation ask;
  kf_err error = {0};
  if (!kf_engine_evaluation(driver->engine, request, &ask)) {
    kf__driver_fail(driver, kf_fail(&error, KF_EBUG, "request %lld is not open", (long long)request), &error);
    return true;
  }
  kf_status status = submit(driver, &ask, &error);
  if (status == KF_EIO) {
    /* It is gone, whether we were told already or not: no fault of this request, which waits for the next
     * one. */
    driver->evaluator_lost = true;
    driver->lost_error = error;
    return false;
  }
  if (status == KF_OK && kf_vec_push(&driver->requests, request) != KF_OK) status = kf_nomem(&error);
  if (status != KF_OK) kf__driver_fail(driver, status, &error);
  return true;
}

/* ---- results ---- */

/* The samples are many and nothing is decided from them: they are stored beside the event, which names them.
 */
static kf_status put_samples(kf__driver *driver, json_t *verdict, json_t *body, kf_err *err) {
  json_t *samples = json_object_get(verdict, "samples");
  kf_hash hash;
  char hex[KF_HASH_HEX];
  if (samples == NULL) return KF_OK;
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, KF_DRIVER_BODY_MAX);
  KF_TRY(kf_json_dump(samples, &text, err));
  KF_TRY(kf_store_put(driver->store, kf_buf_text(&text), text.len, &hash, err));
  kf_hash_hex(&hash, hex);
  if (json_object_set_new(body, "samples", json_string(hex)) != 0) return kf_nomem(err);
  json_object_del(verdict, "samples");
  return KF_OK;
}

static kf_status record_verdict(kf__driver *driver, const kf_eval_result *result, int64_t proposal,
                                kf_err *err) {
  json_t *verdict = NULL, *body KF_CLEANUP(kf_json_freep) = NULL;
  KF_TRY(kf_verdict_to_json(result->verdict, &verdict, err));
  KF_TRY(kf_json_pack(&body, err, "{s:I,s:o}", "request", (json_int_t)result->id, "verdict", verdict));
  KF_TRY(kf_store_begin(driver->store, err));
  kf_status status = put_samples(driver, verdict, body, err);
  if (status != KF_OK) {
    kf_store_rollback(driver->store);
    return status;
  }
  driver->restarts_in_a_row = 0;
  return kf__driver_input_joined(driver, KF_EVENT_VERDICT, proposal, json_incref(body), err);
}

static void give_verdict(kf__driver *driver, const kf_eval_result *result, int64_t proposal) {
  kf_err error = {0};
  kf_status status = record_verdict(driver, result, proposal, &error);
  if (status == KF_OK)
    kf__driver_show(driver, NULL);
  else
    kf__driver_fail(driver, status, &error);
}

static void on_result(void *context, const kf_eval_result *result) {
  kf__driver *driver = context;
  kf_evaluation ask;
  if (!kf__driver_forget(driver->requests.items, &driver->requests.count, result->id)) return;
  if (driver->status != KF_OK || !kf_engine_evaluation(driver->engine, result->id, &ask)) return;
  if (result->status == KF_ECANCELED) {
    /* By us. At the end it stays open in the log and is asked for again; when kf-eval is replaced, the next
     * one gets it. */
    kf_err error = {0};
    kf__effect again = {ask.candidate, ask.request};
    if (driver->evaluator_lost && kf_vec_push(&driver->effects, again) != KF_OK)
      kf__driver_fail(driver, kf_nomem(&error), &error);
    return;
  }
  driver->activity[0] = '\0';
  if (result->status == KF_OK)
    give_verdict(driver, result, ask.candidate);
  else
    give_infra(driver, ask.candidate, result->id, result->error->msg);
  kf__driver_pump(driver);
}

static void on_progress(void *context, int64_t id, const char *what) {
  kf__driver *driver = context;
  kf_evaluation ask;
  if (kf_engine_evaluation(driver->engine, id, &ask))
    snprintf(driver->activity, sizeof driver->activity, "%.64s candidate %lld", what,
             (long long)ask.candidate);
  else
    snprintf(driver->activity, sizeof driver->activity, "%.90s", what);
  kf__driver_show(driver, NULL);
}

static void on_lost(void *context, const kf_err *error) {
  kf__driver *driver = context;
  driver->evaluator_lost = true;
  driver->lost_error = *error;
}

const kf_eval_callbacks kf__driver_eval_callbacks = {on_result, on_progress, on_lost, NULL};

void kf__driver_restart_evaluator(kf__driver *driver) {
  if (!driver->evaluator_lost || driver->status != KF_OK || driver->stopping) return;
  kf_err error = driver->lost_error;
  if (++driver->restarts_in_a_row > KF_DRIVER_RESTARTS) {
    kf_err_context(&error, error.code, "gave up after %d restarts in a row", KF_DRIVER_RESTARTS);
    kf__driver_fail(driver, error.code, &error);
    return;
  }
  char notice[KF_ERR_MSG_MAX + 64];
  snprintf(notice, sizeof notice, "kf-eval is started again: %s", error.msg);
  kf_evaluator_close(driver->evaluator);
  driver->evaluator = NULL;
  driver->restarts++;
  /* Still marked as lost: answers may come in while the new one says hello. */
  kf_status status = kf__driver_open_evaluator(driver, &error);
  if (status != KF_OK) {
    kf__driver_fail(driver, status, &error);
    return;
  }
  driver->evaluator_lost = false;
  kf__driver_show(driver, notice);
  kf__driver_pump(driver);
}
