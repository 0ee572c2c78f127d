/* eval_null.c - an evaluator without device and child: verdicts computed from the candidate's text, for
 * measuring the loop itself and for tests of it. Every (source, binding) has a fixed cell, time and kind of
 * failure; races are decided by the times. One result a turn of the loop. */
#include "base/alloc.h"
#include "dist/dist_int.h"
#include <math.h>

#include "base/banned.h"

typedef struct queued {
  struct queued *next;
  int64_t id;
  kf_hash candidate, against; /* over source and binding */
  bool has_against;
  int stage, blocks_min;
  bool verified, canceled;
  char source_hex[KF_HASH_HEX], against_hex[KF_HASH_HEX], binding[256];
} queued;

typedef struct {
  kf_evaluator base;
  uv_idle_t idle;
  queued *first, *last;
  kf_verdict *verdict; /* scratch: large */
} null_evaluator;

static void hash_source(const kf_eval_source *source, kf_hash *ret_hash, char ret_hex[KF_HASH_HEX]) {
  kf_hash plain;
  kf_hasher hasher;
  kf_hash_bytes(source->source, source->source_len, &plain);
  kf_hash_hex(&plain, ret_hex);
  kf_hasher_init(&hasher);
  kf_hasher_add(&hasher, plain.bytes, sizeof plain.bytes);
  kf_hasher_add_text(&hasher, source->binding ? source->binding : "");
  kf_hasher_final(&hasher, ret_hash);
}

/* 0.1 to 10 ms, log-uniform, by the hash. */
static int64_t time_of(const kf_hash *hash) {
  uint32_t bits = 0;
  memcpy(&bits, hash->bytes + 8, sizeof bits);
  return (int64_t)(1e5 * pow(10.0, 2.0 * (double)bits / 4294967296.0));
}

/* One in four fails unless it is known to be right; the kinds that a search meets most. */
static kf_verdict_kind kind_of(const queued *job) {
  static const kf_verdict_kind failures[] = {KF_VERDICT_BUILD_FAILED, KF_VERDICT_WRONG_OUTPUT,
                                             KF_VERDICT_CRASHED, KF_VERDICT_REFUSED};
  bool fails = !job->verified && job->has_against && job->candidate.bytes[0] < 64;
  return fails ? failures[job->candidate.bytes[1] % KF_COUNTOF(failures)] : KF_VERDICT_CORRECT;
}

static void fill_race(const queued *job, kf_verdict *verdict) {
  enum { HALF_NANO = 5000000, DELTA_NANO = 9950331 }; /* 0.5 %; ln 1.01 */
  kf_race_result *race = &verdict->race;
  int64_t d = kf_ratio_nano(log((double)time_of(&job->against) / (double)verdict->time_ns));
  snprintf(race->against, sizeof race->against, "%s", job->against_hex);
  race->median_nano = d;
  race->low_nano = d - HALF_NANO;
  race->high_nano = d + HALF_NANO;
  race->level = 0.95;
  race->blocks = job->blocks_min > 6 ? job->blocks_min : 6;
  race->outcome = race->low_nano > DELTA_NANO     ? KF_RACE_FASTER
                  : race->high_nano < -DELTA_NANO ? KF_RACE_SLOWER
                                                  : KF_RACE_TIE;
  snprintf(race->why, sizeof race->why, "computed from the text");
}

static void judge(const queued *job, kf_verdict *verdict) {
  kf_verdict_init(verdict);
  verdict->kind = kind_of(job);
  snprintf(verdict->oracle, sizeof verdict->oracle, "reference");
  snprintf(verdict->tier, sizeof verdict->tier, "B");
  snprintf(verdict->device, sizeof verdict->device, "null:0");
  snprintf(verdict->device_name, sizeof verdict->device_name, "no device");
  snprintf(verdict->source_sha256, sizeof verdict->source_sha256, "%s", job->source_hex);
  snprintf(verdict->binding, sizeof verdict->binding, "%s", job->binding);
  verdict->total_ms = 1;
  if (verdict->kind != KF_VERDICT_CORRECT) {
    snprintf(verdict->diagnosis.kind, sizeof verdict->diagnosis.kind, "computed");
    snprintf(verdict->diagnosis.text, sizeof verdict->diagnosis.text,
             "the null evaluator fails one text in four");
    return;
  }
  verdict->stage = job->stage;
  verdict->confirmed = job->stage >= 3;
  for (int axis = 0; axis < KF_AXES; axis++)
    verdict->cell.level[axis] = (int8_t)(job->candidate.bytes[2 + axis] & 3);
  verdict->cell.level[3] = 0;
  verdict->evidence.known = true;
  snprintf(verdict->evidence.source, sizeof verdict->evidence.source, "syntax");
  verdict->time_ns = time_of(&job->candidate);
  verdict->time_low_ns = verdict->time_ns * 99 / 100;
  verdict->time_high_ns = verdict->time_ns * 101 / 100;
  if (job->has_against) fill_race(job, verdict);
}

static queued *pop(null_evaluator *self) {
  queued *job = self->first;
  if (!job) return NULL;
  self->first = job->next;
  if (!self->first) self->last = NULL;
  return job;
}

static void on_idle(uv_idle_t *idle) {
  null_evaluator *self = idle->data;
  queued *job = pop(self);
  if (!self->first) uv_idle_stop(idle);
  if (!job) return;
  if (job->canceled) {
    kf_err canceled = {0};
    kf_fail(&canceled, KF_ECANCELED, "canceled");
    kf__result_fail(&self->base, job->id, &canceled);
  } else {
    judge(job, self->verdict);
    kf_eval_result result = {.id = job->id, .status = KF_OK, .verdict = self->verdict};
    self->base.callbacks.on_result(self->base.callbacks.context, &result);
  }
  kf_free(job);
}

static kf_status null_submit(kf_evaluator *evaluator, const kf_eval_request *request, kf_err *err) {
  null_evaluator *self = (null_evaluator *)evaluator;
  if (request->admit) return kf_fail(err, KF_ENODEV, "the null evaluator runs no reference");
  queued *job = kf_calloc(1, sizeof *job);
  if (!job) return kf_nomem(err);
  job->id = request->id;
  job->stage = request->stage;
  job->blocks_min = request->blocks_min;
  job->verified = request->verified;
  hash_source(&request->candidate, &job->candidate, job->source_hex);
  snprintf(job->binding, sizeof job->binding, "%s",
           request->candidate.binding ? request->candidate.binding : "");
  if (request->against) {
    job->has_against = true;
    hash_source(request->against, &job->against, job->against_hex);
  }
  if (self->last)
    self->last->next = job;
  else
    self->first = job;
  self->last = job;
  uv_idle_start(&self->idle, on_idle);
  return KF_OK;
}

static kf_status null_cancel(kf_evaluator *evaluator, int64_t id, kf_err *err) {
  (void)err;
  for (queued *job = ((null_evaluator *)evaluator)->first; job; job = job->next)
    if (job->id == id) job->canceled = true;
  return KF_OK;
}

static kf_status null_inspect(kf_evaluator *evaluator, const char *device, const char *source, size_t len,
                              json_t **ret_kernels, kf_err *err) {
  (void)evaluator, (void)device, (void)source, (void)len, (void)ret_kernels;
  return kf_fail(err, KF_ENODEV, "the null evaluator has no compiler");
}

static void on_closed(uv_handle_t *handle) {
  null_evaluator *self = handle->data;
  json_decref(self->base.hello);
  kf_free(self->verdict);
  kf_free(self);
}

static void null_close(kf_evaluator *evaluator) {
  null_evaluator *self = (null_evaluator *)evaluator;
  kf_err canceled = {0};
  kf_fail(&canceled, KF_ECANCELED, "the evaluator was closed");
  for (queued *job; (job = pop(self)) != NULL; kf_free(job))
    kf__result_fail(evaluator, job->id, &canceled);
  uv_close((uv_handle_t *)&self->idle, on_closed);
}

static const kf__evaluator_ops null_ops = {null_submit, null_cancel, null_inspect, null_close};

kf_status kf_evaluator_open_null(uv_loop_t *loop, const kf_eval_callbacks *callbacks,
                                 kf_evaluator **ret_evaluator, kf_err *err) {
  null_evaluator *self = kf_calloc(1, sizeof *self);
  if (!self) return kf_nomem(err);
  self->verdict = kf_calloc(1, sizeof *self->verdict);
  self->base.hello = json_pack("{s:s,s:s}", "version", "null", "sandbox", "no candidate runs");
  if (!self->verdict || !self->base.hello) {
    json_decref(self->base.hello);
    kf_free(self->verdict);
    kf_free(self);
    return kf_nomem(err);
  }
  self->base.ops = &null_ops;
  self->base.loop = loop;
  self->base.callbacks = *callbacks;
  kf_device_info *device = &self->base.devices[self->base.ndevices++];
  snprintf(device->id, sizeof device->id, "null:0");
  snprintf(device->api, sizeof device->api, "opencl"); /* so that every task with OpenCL kernels can be run */
  snprintf(device->name, sizeof device->name, "no device");
  snprintf(device->physical, sizeof device->physical, "null");
  device->limits = (kf_device_limits){.units = 4,
                                      .local_bytes = 1 << 16,
                                      .max_group = 4096,
                                      .max_local = {4096, 4096, 4096},
                                      .simd_width = 8,
                                      .is_cpu = 1};
  uv_idle_init(loop, &self->idle);
  self->idle.data = self;
  *ret_evaluator = &self->base;
  return KF_OK;
}
