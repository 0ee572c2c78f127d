/* eval_jobs.c - requests in flight: what is sent for one, and what can be asked for again by hash. */
#include "base/alloc.h"
#include "dist/dist_int.h"
#include "wire/proto.h"

#include "base/banned.h"

/* ---- tasks ---- */

static kf_status task_text(kf__jobs *jobs, const kf_task *task, const kf__task_text **ret_text, kf_err *err) {
  for (kf__task_text *known = jobs->tasks; known; known = known->next)
    if (kf_hash_equal(&known->task_id, &task->id)) {
      *ret_text = known;
      return KF_OK;
    }
  json_t *json KF_CLEANUP(kf_json_freep) = NULL;
  KF_TRY(kf_task_to_json(task, &json, err));
  kf__task_text *made = kf_calloc(1, sizeof *made);
  if (!made) return kf_nomem(err);
  kf_buf_init(&made->text, KF_WIRE_BLOB_MAX);
  kf_status status = kf_json_dump(json, &made->text, err);
  if (status != KF_OK) {
    kf_buf_done(&made->text);
    kf_free(made);
    return status;
  }
  made->task_id = task->id;
  kf_hash_bytes(kf_buf_text(&made->text), made->text.len, &made->hash);
  made->next = jobs->tasks;
  jobs->tasks = made;
  *ret_text = made;
  return KF_OK;
}

/* ---- blobs ---- */

static kf_status send_once(kf__jobs *jobs, const kf_hash *hash, const char *bytes, size_t len, kf_buf *out,
                           kf_err *err) {
  if (kf__hash_set_has(&jobs->sent, hash)) return KF_OK;
  KF_TRY(kf_wire_write_put(out, bytes, len, err));
  return kf__hash_set_add(&jobs->sent, hash, err);
}

static kf_status send_task(kf__jobs *jobs, const kf_task *task, kf_hash *ret_hash, kf_buf *out, kf_err *err) {
  const kf__task_text *text = NULL;
  KF_TRY(task_text(jobs, task, &text, err));
  *ret_hash = text->hash;
  if (kf__hash_set_has(&jobs->sent, &text->hash)) return KF_OK;
  for (int i = 0; i < task->nfiles; i++)
    KF_TRY(send_once(jobs, &task->files[i].hash, task->files[i].bytes, task->files[i].len, out, err));
  return send_once(jobs, &text->hash, kf_buf_text(&text->text), text->text.len, out, err);
}

/* The bytes that a hash names, among a job's and its task's; false if none. */
static bool find_bytes(const kf__jobs *jobs, const kf__job *job, const kf_hash *hash, const char **ret_bytes,
                       size_t *ret_len) {
  if (kf_hash_equal(hash, &job->source_hash)) {
    *ret_bytes = job->source;
    *ret_len = job->source_len;
    return true;
  }
  if (job->against && kf_hash_equal(hash, &job->against_hash)) {
    *ret_bytes = job->against;
    *ret_len = job->against_len;
    return true;
  }
  for (int i = 0; job->task && i < job->task->nfiles; i++)
    if (kf_hash_equal(hash, &job->task->files[i].hash)) {
      *ret_bytes = job->task->files[i].bytes;
      *ret_len = job->task->files[i].len;
      return true;
    }
  for (const kf__task_text *text = jobs->tasks; text; text = text->next)
    if (kf_hash_equal(hash, &text->hash)) {
      *ret_bytes = kf_buf_text(&text->text);
      *ret_len = text->text.len;
      return true;
    }
  return false;
}

kf_status kf__jobs_need(kf__jobs *jobs, int64_t id, const json_t *hashes, kf_buf *out, kf_err *err) {
  const kf__job *job = kf__jobs_find(jobs, id);
  if (!job) return KF_OK; /* it ended meanwhile */
  size_t index = 0;
  json_t *item = NULL;
  json_array_foreach(hashes, index, item) {
    kf_hash hash;
    const char *bytes = NULL, *hex = json_string_value(item);
    size_t len = 0;
    if (!hex || kf_hash_parse(hex, &hash, NULL) != KF_OK || !find_bytes(jobs, job, &hash, &bytes, &len))
      return kf_fail(err, KF_EPROTO, "kf-eval: needs %.64s, which request %lld does not name",
                     hex ? hex : "no hash", (long long)id);
    KF_TRY(kf_wire_write_put(out, bytes, len, err));
  }
  return KF_OK;
}

/* ---- jobs ---- */

static kf_status job_new(int64_t id, const kf_task *task, const kf_eval_source *source,
                         const kf_eval_source *against, kf__job **ret_job, kf_err *err) {
  kf__job *job = kf_calloc(1, sizeof *job);
  if (!job) return kf_nomem(err);
  job->id = id;
  job->task = task;
  job->source = kf_memdup(source->source, source->source_len);
  job->source_len = source->source_len;
  if (against) {
    job->against = kf_memdup(against->source, against->source_len);
    job->against_len = against->source_len;
  }
  if (!job->source || (against && !job->against)) {
    kf__job_free(job);
    return kf_nomem(err);
  }
  kf_hash_bytes(job->source, job->source_len, &job->source_hash);
  if (against) kf_hash_bytes(job->against, job->against_len, &job->against_hash);
  *ret_job = job;
  return KF_OK;
}

static json_t *source_json(const kf_hash *hash, const char *binding) {
  char hex[KF_HASH_HEX];
  kf_hash_hex(hash, hex);
  return json_pack("{s:s,s:s}", "source", hex, "binding", binding ? binding : "");
}

static json_t *elites_json(const kf_eval_request *request) {
  json_t *list = json_array();
  for (int i = 0; list && i < request->nelites; i++) {
    char cell[KF_CELL_TEXT];
    kf_cell_text(&request->elites[i].cell, cell);
    if (json_array_append_new(list, json_pack("[s,I]", cell, (json_int_t)request->elites[i].elite_nano)) == 0)
      continue;
    json_decref(list);
    return NULL;
  }
  return list;
}

static kf_status write_judge(const kf__job *job, const kf_eval_request *request, kf_buf *out, kf_err *err) {
  char task[KF_HASH_HEX];
  kf_hash_hex(&job->task_hash, task);
  json_t *message KF_CLEANUP(kf_json_freep) = NULL;
  json_t *against =
      request->against ? source_json(&job->against_hash, request->against->binding) : json_null();
  /* The packer takes the parts whether it succeeds or not. */
  KF_TRY(kf_json_pack(&message, err, "{s:s,s:I,s:s,s:s,s:i,s:o,s:o,s:b,s:i,s:i,s:o,s:I}", "op", "judge", "id",
                      (json_int_t)request->id, "task", task, "device", request->device, "stage",
                      request->stage, "candidate", source_json(&job->source_hash, request->candidate.binding),
                      "against", against, "verified", (int)request->verified, "blocks_min",
                      request->blocks_min, "blocks_max", request->blocks_max, "elites", elites_json(request),
                      "deadline_ms", (json_int_t)request->deadline_ms));
  return kf_wire_write(out, message, err);
}

static kf_status write_admit(const kf__job *job, const kf_eval_request *request, kf_buf *out, kf_err *err) {
  char task[KF_HASH_HEX];
  kf_hash_hex(&job->task_hash, task);
  json_t *message KF_CLEANUP(kf_json_freep) = NULL;
  KF_TRY(kf_json_pack(&message, err, "{s:s,s:I,s:s,s:s,s:I}", "op", "admit", "id", (json_int_t)request->id,
                      "task", task, "device", request->device, "deadline_ms",
                      (json_int_t)request->deadline_ms));
  return kf_wire_write(out, message, err);
}

static void append(kf__jobs *jobs, kf__job *job) {
  kf__job **end = &jobs->jobs;
  while (*end)
    end = &(*end)->next;
  *end = job;
}

static kf_status write_request(kf__jobs *jobs, kf__job *job, const kf_eval_request *request, kf_buf *out,
                               kf_err *err) {
  KF_TRY(send_task(jobs, request->task, &job->task_hash, out, err));
  if (request->admit) return write_admit(job, request, out, err);
  KF_TRY(send_once(jobs, &job->source_hash, job->source, job->source_len, out, err));
  if (job->against) KF_TRY(send_once(jobs, &job->against_hash, job->against, job->against_len, out, err));
  return write_judge(job, request, out, err);
}

kf_status kf__jobs_add(kf__jobs *jobs, const kf_eval_request *request, kf_buf *out, kf_err *err) {
  if (kf__jobs_find(jobs, request->id))
    return kf_fail(err, KF_EBUG, "evaluator: request %lld is in flight already", (long long)request->id);
  kf__job *job = NULL;
  static const kf_eval_source none = {.source = "", .source_len = 0};
  KF_TRY(job_new(request->id, request->task, request->admit ? &none : &request->candidate,
                 request->admit ? NULL : request->against, &job, err));
  job->admit = request->admit;
  kf_status status = write_request(jobs, job, request, out, err);
  if (status != KF_OK) {
    kf__job_free(job);
    return status;
  }
  append(jobs, job);
  return KF_OK;
}

kf_status kf__jobs_add_inspect(kf__jobs *jobs, int64_t id, const char *device, const char *source, size_t len,
                               kf_buf *out, kf_err *err) {
  kf_eval_source text = {.source = source, .source_len = len};
  kf__job *job = NULL;
  json_t *message KF_CLEANUP(kf_json_freep) = NULL;
  char hex[KF_HASH_HEX];
  KF_TRY(job_new(id, NULL, &text, NULL, &job, err));
  kf_hash_hex(&job->source_hash, hex);
  kf_status status = send_once(jobs, &job->source_hash, job->source, len, out, err);
  if (status == KF_OK)
    status = kf_json_pack(&message, err, "{s:s,s:I,s:s,s:s}", "op", "inspect", "id", (json_int_t)id, "device",
                          device, "source", hex);
  if (status == KF_OK) status = kf_wire_write(out, message, err);
  if (status != KF_OK) {
    kf__job_free(job);
    return status;
  }
  append(jobs, job);
  return KF_OK;
}

kf__job *kf__jobs_find(kf__jobs *jobs, int64_t id) {
  for (kf__job *job = jobs->jobs; job; job = job->next)
    if (job->id == id) return job;
  return NULL;
}

kf__job *kf__jobs_take(kf__jobs *jobs, int64_t id) {
  for (kf__job **place = &jobs->jobs; *place; place = &(*place)->next) {
    kf__job *job = *place;
    if (job->id != id) continue;
    *place = job->next;
    return job;
  }
  return NULL;
}

kf__job *kf__jobs_take_first(kf__jobs *jobs) {
  return jobs->jobs ? kf__jobs_take(jobs, jobs->jobs->id) : NULL;
}

void kf__job_free(kf__job *job) {
  if (!job) return;
  kf_free(job->source);
  kf_free(job->against);
  kf_free(job);
}

void kf__jobs_done(kf__jobs *jobs) {
  for (kf__job *job; (job = kf__jobs_take_first(jobs)) != NULL;)
    kf__job_free(job);
  for (kf__task_text *text; (text = jobs->tasks) != NULL;) {
    jobs->tasks = text->next;
    kf_buf_done(&text->text);
    kf_free(text);
  }
  kf__hash_set_done(&jobs->sent);
}
