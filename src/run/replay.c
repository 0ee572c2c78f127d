/* replay.c - does the same engine decide the same from the same inputs? Decisions are compared as bytes with
 * the stored ones, in order; what they were decided from (answers, verdicts, the clock) is in the log. */
#include "base/alloc.h"
#include "run/driver_int.h"

#include "base/banned.h"

/* A decision of the fresh engine that was not compared yet. */
typedef struct {
  kf_event event; /* body owned */
} fresh;

typedef struct {
  kf_engine *engine;
  KF_VEC(fresh) queue; /* of one input; from `next` on */
  size_t next;
  int64_t input_seq;
  kf_run_comparison *result;
} replay;

static void clear_queue(replay *self) {
  for (size_t i = 0; i < self->queue.count; i++)
    kf_free((void *)(uintptr_t)self->queue.items[i].event.body);
  self->queue.count = self->next = 0;
}

static kf_status on_decision(void *context, const kf_event *decision, kf_err *err) {
  replay *self = context;
  fresh kept = {*decision};
  kept.event.body = kf_memdup(decision->body, decision->body_len);
  if (!kept.event.body) return kf_nomem(err);
  if (kf_vec_push(&self->queue, kept) == KF_OK) return KF_OK;
  kf_free((void *)(uintptr_t)kept.event.body);
  return kf_nomem(err);
}

/* ---- differences ---- */

static void differ(replay *self, int64_t seq, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void differ(replay *self, int64_t seq, const char *fmt, ...) {
  if (!self->result->same) return; /* the first one counts */
  va_list args;
  va_start(args, fmt);
  vsnprintf(self->result->what, sizeof self->result->what, fmt, args);
  va_end(args);
  self->result->same = false;
  self->result->seq = seq;
}

static void compare(replay *self, const kf_event *stored) {
  if (self->next == self->queue.count) {
    differ(self, stored->seq, "stored: %s of proposal %lld; now nothing is decided there",
           kf_event_name(stored->kind), (long long)stored->proposal);
    return;
  }
  const kf_event *now = &self->queue.items[self->next++].event;
  self->result->decisions++;
  if (now->kind != stored->kind || now->proposal != stored->proposal) {
    differ(self, stored->seq, "stored: %s of proposal %lld; now: %s of proposal %lld",
           kf_event_name(stored->kind), (long long)stored->proposal, kf_event_name(now->kind),
           (long long)now->proposal);
    return;
  }
  size_t at = 0, shorter = now->body_len < stored->body_len ? now->body_len : stored->body_len;
  while (at < shorter && now->body[at] == stored->body[at])
    at++;
  if (at == now->body_len && at == stored->body_len) return;
  size_t from = at > 24 ? at - 24 : 0;
  differ(self, stored->seq, "%s of proposal %lld, byte %zu: stored \"%.120s\"; now \"%.120s\"",
         kf_event_name(stored->kind), (long long)stored->proposal, at, stored->body + from, now->body + from);
}

/* What the last input led to has to be in the log before the next input. */
static void check_rest(replay *self, int64_t seq) {
  if (self->next >= self->queue.count) return;
  const kf_event *now = &self->queue.items[self->next].event;
  differ(self, seq, "now: %s of proposal %lld; nothing like it is stored there", kf_event_name(now->kind),
         (long long)now->proposal);
}

static kf_status on_event(void *context, const kf_event *event, kf_err *err) {
  replay *self = context;
  if (!self->result->same) return KF_OK;
  if (kf_event_is_decision(event->kind)) {
    compare(self, event);
    return KF_OK;
  }
  check_rest(self, self->input_seq);
  clear_queue(self);
  self->input_seq = event->seq;
  self->result->inputs++;
  kf_err refused = {0};
  kf_status status = kf_engine_input(self->engine, event, on_decision, self, &refused);
  if (status == KF_EPROTO || status == KF_EBUG)
    differ(self, event->seq, "the engine does not take %s: %s", kf_event_name(event->kind), refused.msg);
  else if (status != KF_OK && err)
    *err = refused;
  return status == KF_EPROTO || status == KF_EBUG ? KF_OK : status;
}

/* ---- setting up ---- */

/* The version is what the comparison is about: it must not keep the engine from trying. */
static kf_status read_config(json_t *start, kf_engine_config *config, kf_run_comparison *result,
                             kf_err *err) {
  result->this_version = KF_ENGINE_VERSION;
  result->stored_version = kf_json_int_or(start, "engine", 0);
  if (json_object_set_new(start, "engine", json_integer(KF_ENGINE_VERSION)) != 0) return kf_nomem(err);
  return kf_engine_config_from_json(start, config, err);
}

static kf_status run_replay(kf_store *store, const kf_engine_config *config, kf_run_comparison *result,
                            kf_err *err) {
  replay self = {.result = result};
  KF_TRY(kf_engine_new(config, &self.engine, err));
  result->same = true;
  kf_status status = kf_store_scan(store, 1, 0, on_event, &self, err);
  if (status == KF_OK && result->same) check_rest(&self, self.input_seq);
  clear_queue(&self);
  kf_vec_done(&self.queue);
  kf_engine_free(self.engine);
  return status;
}

kf_status kf_run_replay(const char *db_path, kf_run_comparison *ret_comparison, kf_err *err) {
  kf_store *store = NULL;
  kf_task *task = NULL;
  json_t *start KF_CLEANUP(kf_json_freep) = NULL;
  kf_engine_config config = {0};
  kf_run_comparison result = {0};
  KF_TRY(kf_store_open(db_path, KF_STORE_READ, &store, err));
  kf_status status = kf_run_read_start(store, &start, err);
  if (status == KF_OK) status = kf_run_read_task(store, start, &task, err);
  config.task = task;
  if (status == KF_OK) status = read_config(start, &config, &result, err);
  if (status == KF_OK) status = run_replay(store, &config, &result, err);
  if (status == KF_OK) *ret_comparison = result;
  kf_task_free(task);
  kf_store_close(store);
  return status;
}
