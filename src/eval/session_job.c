/* session_job.c - from a request to its result; see session.h. */
#include "eval/session.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "eval/admit.h"

#include <stdio.h>
#include <string.h>

enum { LOCK_WAIT_MS = 600000, LOCK_SLICE_MS = 100, STAGE_MAX = 3, INSPECT_NAME_MAX = 64 };

/* ---- blobs ---- */

/* The blob a hex hash names; NULL when it is not here: its hash is then added to `missing`. */
static kf_status find_blob(kf_session *session, const char *hex, json_t *missing, const kf_blob **ret_blob,
                           kf_err *err) {
  kf_hash hash;
  KF_TRY(kf_hash_parse(hex, &hash, err));
  *ret_blob = kf_blobs_find(&session->blobs, &hash);
  if (!*ret_blob && json_array_append_new(missing, json_string(hex)) != 0) return kf_nomem(err);
  return KF_OK;
}

static kf_status ask_for(kf_session *session, kf_job *job, json_t *missing, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *need = NULL;
  if (job->asked && json_equal(job->asked, missing)) return KF_OK;
  json_decref(job->asked);
  job->asked = json_incref(missing);
  KF_TRY(
      kf_json_pack(&need, err, "{s:s,s:I,s:O}", "op", "need", "id", (json_int_t)job->id, "sha256", missing));
  return kf_session_send(session, need, err);
}

/* ---- tasks ---- */

static bool find_for_task(void *context, const kf_hash *hash, const char **ret_bytes, size_t *ret_len) {
  const kf_session *session = context;
  const kf_blob *blob = kf_blobs_find(&session->blobs, hash);
  if (!blob) return false;
  *ret_bytes = blob->bytes;
  *ret_len = blob->len;
  return true;
}

/* Every file the task's JSON names must be here before it is parsed. */
static kf_status task_files(kf_session *session, const json_t *json, json_t *missing, kf_err *err) {
  json_t *files = NULL, *hash = NULL;
  const char *path = NULL;
  KF_TRY(kf_json_obj(json, "files", &files, err));
  json_object_foreach(files, path, hash) {
    const kf_blob *blob = NULL;
    if (!json_is_string(hash))
      return kf_fail(err, KF_EPROTO, "wire: the hash of task file %.80s is no string", path);
    KF_TRY(find_blob(session, json_string_value(hash), missing, &blob, err));
  }
  return KF_OK;
}

static kf_status new_task_state(kf_session *session, const kf_blob *blob, json_t *missing,
                                kf_task_state **ret_state, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *json = NULL;
  KF_TRY(kf_json_parse(blob->bytes, blob->len, KF_WIRE_BLOB_MAX, "task", &json, err));
  KF_TRY(task_files(session, json, missing, err));
  if (json_array_size(missing)) return KF_OK;
  kf_task *task = NULL;
  kf_task_state *state = NULL;
  KF_TRY(kf_task_from_json(json, find_for_task, session, &task, err));
  KF_TRY(kf_task_state_new(task, &blob->hash, &state, err));
  state->next = session->tasks;
  session->tasks = state;
  *ret_state = state;
  return KF_OK;
}

static kf_status find_task(kf_session *session, const char *hex, json_t *missing, kf_task_state **ret_state,
                           kf_err *err) {
  const kf_blob *blob = NULL;
  KF_TRY(find_blob(session, hex, missing, &blob, err));
  if (!blob) return KF_OK;
  for (kf_task_state *state = session->tasks; state; state = state->next)
    if (kf_hash_equal(&state->blob, &blob->hash)) {
      *ret_state = state;
      return KF_OK;
    }
  return new_task_state(session, blob, missing, ret_state, err);
}

/* ---- preparing ---- */

static kf_status find_device(kf_session *session, const char *id, const kf_device_info **ret_device,
                             kf_err *err) {
  for (int i = 0; i < session->ndevices; i++)
    if (strcmp(session->devices[i].id, id) == 0) {
      *ret_device = &session->devices[i];
      return KF_OK;
    }
  kf_status status = kf_fail(err, KF_ENODEV, "there is no device \"%.40s\" on this machine: %s", id,
                             session->ndevices ? "see `kf doctor`" : kf_buf_text(&session->device_note));
  return session->ndevices ? kf_err_hint(err, status, "the first one is %s", session->devices[0].id) : status;
}

/* Judging needs memory that the judge owns; on GPUs that is not there yet, and no verdict must come of it. */
static kf_status judgeable(const kf_device_info *device, kf_err *err) {
  if (kf_device_is_judged_on(device)) return KF_OK;
  kf_status status =
      kf_fail(err, KF_ENODEV, "device %s (%s) is a GPU: this version judges on CPU devices only", device->id,
              device->name);
  return kf_err_hint(err, status, "name a CPU device with --device; see `kf doctor`");
}

/* {"source":hash,"binding":text} -> artefact; NULL while the source is missing. */
static kf_status get_artefact(kf_session *session, kf_job *job, const json_t *side, json_t *missing,
                              kf_artefact **ret_artefact, kf_err *err) {
  const char *hex = NULL;
  const kf_blob *blob = NULL;
  KF_TRY(kf_json_str(side, "source", &hex, err));
  KF_TRY(find_blob(session, hex, missing, &blob, err));
  if (!blob) return KF_OK;
  kf_artefact_request request = {.task = job->state->task,
                                 .device = job->device,
                                 .source = blob->bytes,
                                 .source_len = blob->len,
                                 .binding = kf_json_str_or(side, "binding", ""),
                                 .salt = ""};
  return kf_artefact_get(&session->artefacts, &request, ret_artefact, err);
}

static kf_status get_initial(kf_session *session, kf_job *job, kf_err *err) {
  const kf_task_file *kernel = job->state->task->kernel[kf_device_language(job->device)];
  if (!kernel || kernel->len == 0) return KF_OK;
  kf_artefact_request request = {.task = job->state->task,
                                 .device = job->device,
                                 .source = kernel->bytes,
                                 .source_len = kernel->len,
                                 .binding = "",
                                 .salt = ""};
  return kf_artefact_get(&session->artefacts, &request, &job->initial, err);
}

/* The confirmation's own build knows the hidden shapes, so that its runner needs no compiler for them. */
static kf_status get_confirm(kf_session *session, kf_job *job, kf_err *err) {
  if (kf_json_int_or(job->request, "stage", 2) < 3) return KF_OK;
  uint64_t secret;
  kf_random_bytes(&secret, sizeof secret);
  job->nhidden = kf_shapes_hidden(job->state->task, secret, job->hidden);
  char salt[32];
  snprintf(salt, sizeof salt, "confirm-%016llx", (unsigned long long)secret);
  kf_artefact_request request = {.task = job->state->task,
                                 .device = job->device,
                                 .source = job->candidate->source,
                                 .source_len = job->candidate->source_len,
                                 .binding = job->candidate->binding_text,
                                 .salt = salt,
                                 .extra = job->hidden,
                                 .nextra = job->nhidden};
  return kf_artefact_get(&session->artefacts, &request, &job->confirm, err);
}

static kf_status in_range(const json_t *request, const char *key, int64_t fallback, int64_t max,
                          kf_err *err) {
  int64_t value = kf_json_int_or(request, key, fallback);
  if (value >= 0 && value <= max) return KF_OK;
  return kf_fail(err, KF_EPROTO, "wire: \"%s\" must be from 0 to %lld", key, (long long)max);
}

static kf_status check_request(const json_t *request, kf_err *err) {
  KF_TRY(in_range(request, "stage", 2, STAGE_MAX, err));
  KF_TRY(in_range(request, "blocks_min", 0, KF_RULE_BLOCKS_MAX, err));
  KF_TRY(in_range(request, "blocks_max", 0, KF_RULE_BLOCKS_MAX, err));
  if (kf_json_bool_or(request, "verified", false) && !json_is_object(json_object_get(request, "against")))
    return kf_fail(err, KF_EPROTO, "wire: \"verified\" is for races: \"against\" is missing");
  return KF_OK;
}

/* What `judge` and `admit` have in common: the device and the task. `state` is NULL while files are missing.
 */
static kf_status prepare_task(kf_session *session, kf_job *job, json_t *missing, kf_err *err) {
  const char *task = NULL, *device = NULL;
  KF_TRY(kf_json_str(job->request, "task", &task, err));
  KF_TRY(kf_json_str(job->request, "device", &device, err));
  KF_TRY(find_device(session, device, &job->device, err));
  KF_TRY(judgeable(job->device, err));
  KF_TRY(find_task(session, task, missing, &job->state, err));
  if (!job->state || kf_task_has_language(job->state->task, kf_device_language(job->device))) return KF_OK;
  return kf_fail(err, KF_EREFUSED, "the task \"%s\" has no %s kernels, which is what device %s runs",
                 job->state->task->name, job->device->api, job->device->id);
}

static kf_status prepare_judge(kf_session *session, kf_job *job, json_t *missing, kf_err *err) {
  json_t *candidate = NULL, *against = json_object_get(job->request, "against");
  KF_TRY(check_request(job->request, err));
  KF_TRY(kf_json_obj(job->request, "candidate", &candidate, err));
  KF_TRY(prepare_task(session, job, missing, err));
  if (!job->state) return KF_OK;
  if (!job->candidate) KF_TRY(get_artefact(session, job, candidate, missing, &job->candidate, err));
  if (!job->against && json_is_object(against))
    KF_TRY(get_artefact(session, job, against, missing, &job->against, err));
  if (!job->initial) KF_TRY(get_initial(session, job, err));
  if (!job->confirm && job->candidate && !job->candidate->failed) KF_TRY(get_confirm(session, job, err));
  return KF_OK;
}

/* Where the ceilings of a device are kept: at the first OpenCL device of the same hardware, since the probe
 * is written in OpenCL; NULL if there is none. */
static kf_ceiling_store *ceilings_of(kf_session *session, const kf_device_info *device,
                                     const kf_device_info **ret_probed) {
  for (int i = 0; i < session->ndevices; i++) {
    const kf_device_info *other = &session->devices[i];
    if (strcmp(other->api, "opencl") != 0 || strcmp(other->physical, device->physical) != 0) continue;
    *ret_probed = other;
    return &session->ceilings[i];
  }
  return NULL;
}

static kf_status add_kernel(kf_session *session, kf_job *job, const kf_task_file *file, kf_err *err) {
  if (!file || file->len == 0) return KF_OK;
  kf_artefact_request request = {.task = job->state->task,
                                 .device = job->device,
                                 .source = file->bytes,
                                 .source_len = file->len,
                                 .binding = "",
                                 .salt = ""};
  KF_TRY(kf_artefact_get(&session->artefacts, &request, &job->kernels[job->nkernels], err));
  job->names[job->nkernels++] = file->path;
  return KF_OK;
}

static kf_status prepare_admission(kf_session *session, kf_job *job, json_t *missing, kf_err *err) {
  if (job->nkernels > 0) return KF_OK;
  KF_TRY(prepare_task(session, job, missing, err));
  if (!job->state) return KF_OK;
  const kf_task *task = job->state->task;
  kf_language language = kf_device_language(job->device);
  if (!job->initial) KF_TRY(get_initial(session, job, err));
  KF_TRY(add_kernel(session, job, task->kernel[language], err));
  for (int i = 0; i < task->nseeds[language]; i++)
    KF_TRY(add_kernel(session, job, task->seeds[language][i], err));
  return KF_OK;
}

/* An admission has floors to tell, so it waits for the probe's build too. */
static bool probe_ready(kf_session *session, const kf_job *job) {
  const kf_device_info *probed = NULL;
  kf_ceiling_store *store = job->state ? ceilings_of(session, job->device, &probed) : NULL;
  if (!store) return true;
  kf_ceiling_store_prepare(store, &session->artefacts, probed);
  return kf_ceiling_store_ready(store);
}

static kf_status start_inspection(kf_session *session, kf_job *job, json_t *missing, kf_err *err) {
  const char *device = NULL, *hex = NULL;
  const kf_blob *blob = NULL;
  KF_TRY(kf_json_str(job->request, "device", &device, err));
  KF_TRY(kf_json_str(job->request, "source", &hex, err));
  KF_TRY(find_device(session, device, &job->device, err));
  KF_TRY(find_blob(session, hex, missing, &blob, err));
  if (!blob) return KF_OK;
  KF_TRY(kf_work_dir(&session->work, "inspect", job->work_dir, err));
  kf_build_request request = {.device_id = job->device->id,
                              .source = blob->bytes,
                              .source_len = blob->len,
                              .options = "",
                              .source_name = "kernel",
                              .work_dir = job->work_dir,
                              .timeout_ms = session->settings.build_timeout_ms,
                              .memory_bytes = session->settings.sandbox_memory_mib << 20,
                              .want_entries = true};
  return kf_build_start(&request, &job->build, err);
}

/* Ready, or still being built; an infrastructure failure of the build is the job's. */
static kf_status is_built(const kf_artefact *artefact, bool *ready, kf_err *err) {
  if (!artefact) return KF_OK;
  if (artefact->state == KF_ARTEFACT_BROKEN) {
    if (err) *err = artefact->error;
    return artefact->error.code;
  }
  *ready = *ready && artefact->state == KF_ARTEFACT_READY;
  return KF_OK;
}

kf_status kf_job_prepare(kf_session *session, kf_job *job, bool *ret_ready, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *missing = json_array();
  bool ready = true;
  if (!missing) return kf_nomem(err);
  if (job->kind == KF_JOB_INSPECT) {
    if (!job->build) KF_TRY(start_inspection(session, job, missing, err));
    if (job->build) KF_TRY(kf_build_step(job->build, &ready, err));
  } else if (job->kind == KF_JOB_ADMIT) {
    KF_TRY(prepare_admission(session, job, missing, err));
    ready = ready && probe_ready(session, job);
    for (int i = 0; i < job->nkernels; i++)
      KF_TRY(is_built(job->kernels[i], &ready, err));
  } else {
    KF_TRY(prepare_judge(session, job, missing, err));
    KF_TRY(is_built(job->candidate, &ready, err));
    KF_TRY(is_built(job->against, &ready, err));
    KF_TRY(is_built(job->initial, &ready, err));
    KF_TRY(is_built(job->confirm, &ready, err));
  }
  if (json_array_size(missing)) {
    *ret_ready = false;
    return ask_for(session, job, missing, err);
  }
  *ret_ready = ready;
  return KF_OK;
}

/* ---- running ---- */

static kf_status parse_elites(const json_t *request, kf_judge_elite *ret_elites, int *ret_count,
                              kf_err *err) {
  const json_t *list = json_object_get(request, "elites"), *item = NULL;
  size_t index = 0;
  int count = 0;
  json_array_foreach(list, index, item) {
    const char *text = json_string_value(json_array_get(item, 0));
    if (count == KF_ELITES_MAX || !text || !kf_cell_parse(text, &ret_elites[count].cell) ||
        !json_is_integer(json_array_get(item, 1)))
      return kf_fail(err, KF_EPROTO, "wire: \"elites\" must be pairs of a cell and nano units, at most %d",
                     KF_ELITES_MAX);
    ret_elites[count++].elite_nano = json_integer_value(json_array_get(item, 1));
  }
  *ret_count = count;
  return KF_OK;
}

static void send_progress(void *context, const char *what) {
  kf_session *session = context;
  json_t *message = NULL;
  if (!session->running) return;
  if (kf_json_pack(&message, NULL, "{s:s,s:I,s:s}", "op", "progress", "id", (json_int_t)session->running->id,
                   "what", what) == KF_OK)
    kf_session_send(session, message, NULL); /* progress that cannot be sent shows at the result */
  json_decref(message);
}

static void serve_meanwhile(void *context) {
  kf_session *session = context;
  if (kf_session_poll(session, 0, &session->broken) != KF_OK) session->closed = true;
}

static bool job_canceled(void *context) {
  const kf_session *session = context;
  const kf_job *job = session->running;
  return session->closed || job->canceled || (job->deadline_ns && kf_now_ns() > job->deadline_ns);
}

/* Waits for the physical device in slices, so that requests and builds go on meanwhile and a cancel is heard.
 */
static kf_status lock_device(kf_session *session, const kf_job *job, kf_device_lock **ret_lock, kf_err *err) {
  int64_t until = kf_now_ms() + LOCK_WAIT_MS;
  for (bool said = false;; said = true) {
    kf_err why = {0};
    kf_status status = kf_device_lock_take(job->device->physical, LOCK_SLICE_MS, ret_lock, &why);
    if (status != KF_ETIMEOUT || kf_now_ms() > until) {
      if (status != KF_OK && err) *err = why;
      return status;
    }
    if (!said) send_progress(session, why.msg);
    serve_meanwhile(session);
    if (job_canceled(session)) return kf_fail(err, KF_ECANCELED, "canceled while waiting for the device");
  }
}

static bool need_ceilings(void *context, const kf_device_info *device) {
  kf_session *session = context;
  const kf_device_info *probed = NULL;
  kf_ceiling_store *store = ceilings_of(session, device, &probed);
  if (!store || store->broken) return false;
  send_progress(session, "measuring what the device can do");
  return kf_ceiling_store_measure(store, &session->artefacts, probed);
}

static kf_status need_flush_memory(kf_session *session, kf_err *err) {
  size_t bytes = (size_t)session->settings.measure_flush_max_mib << 20;
  if (session->flush_bytes == bytes) return KF_OK;
  kf_free(session->flush);
  session->flush_bytes = 0;
  session->flush = kf_alloc(bytes);
  if (!session->flush) return kf_nomem(err);
  memset(session->flush, 1, bytes); /* real pages: untouched ones are all the same page */
  session->flush_bytes = bytes;
  return KF_OK;
}

static bool is_same_request(const kf_artefact *a, const kf_artefact *b) {
  return strcmp(a->source_sha256, b->source_sha256) == 0 && strcmp(a->binding_text, b->binding_text) == 0;
}

/* Whether another source with the same code may answer for this one, and under which key: all that the
 * judgement depends on. Asked for a race with its own source, for a given number of blocks or for a
 * confirmation the client wants a measurement, whatever the code. */
static bool can_share(const kf_job *job, const kf_judgement *judgement, kf_hash *ret_key,
                      bool *ret_same_code) {
  kf_hash code, opponent = {{0}};
  kf_hasher hasher;
  *ret_same_code = false;
  if (judgement->verified || judgement->blocks_min || judgement->stage >= 3) return false;
  if (!kf_twin_code(job->candidate, &code)) return false;
  if (job->against &&
      (is_same_request(job->candidate, job->against) || !kf_twin_code(job->against, &opponent)))
    return false;
  *ret_same_code = job->against && kf_hash_equal(&code, &opponent);
  kf_hasher_init(&hasher);
  kf_hasher_add(&hasher, code.bytes, sizeof code.bytes);
  kf_hasher_add(&hasher, opponent.bytes, sizeof opponent.bytes);
  kf_hasher_add(&hasher, &judgement->stage, sizeof judgement->stage);
  kf_hasher_add(&hasher, &judgement->blocks_max, sizeof judgement->blocks_max);
  kf_hasher_final(&hasher, ret_key);
  return true;
}

static kf_status judge(kf_session *session, kf_job *job, kf_verdict *verdict, kf_err *err) {
  KF_TRY(need_flush_memory(session, err));
  kf_judge_elite elites[KF_ELITES_MAX];
  const kf_device_info *probed = NULL;
  kf_ceiling_store *store = ceilings_of(session, job->device, &probed);
  if (store && !job->candidate->failed) kf_ceiling_store_prepare(store, &session->artefacts, probed);
  kf_judgement judgement = {.settings = &session->settings,
                            .device = job->device,
                            .artefacts = &session->artefacts,
                            .spares = &session->spares,
                            .work = &session->work,
                            .flush = session->flush,
                            .state = job->state,
                            .candidate = job->candidate,
                            .against = job->against,
                            .initial = job->initial,
                            .confirm = job->confirm,
                            .hidden = job->hidden,
                            .nhidden = job->nhidden,
                            .stage = (int)kf_json_int_or(job->request, "stage", 2),
                            .verified = kf_json_bool_or(job->request, "verified", false),
                            .blocks_min = (int)kf_json_int_or(job->request, "blocks_min", 0),
                            .blocks_max = (int)kf_json_int_or(job->request, "blocks_max", 0),
                            .elites = elites,
                            .ceilings = store ? &store->ceilings : NULL,
                            .need_ceilings = need_ceilings,
                            .progress = send_progress,
                            .serve = serve_meanwhile,
                            .canceled = job_canceled,
                            .context = session};
  KF_TRY(parse_elites(job->request, elites, &judgement.nelites, err));
  kf_hash code;
  bool shares = can_share(job, &judgement, &code, &judgement.same_code);
  const kf_verdict *twin = shares ? kf_twins_find(&session->twins, &code, job->candidate) : NULL;
  if (twin) {
    kf_judge_shared(&judgement, twin, verdict);
    return KF_OK;
  }
  kf_device_lock *lock = NULL;
  KF_TRY(lock_device(session, job, &lock, err));
  kf_status status = kf_judge(&judgement, verdict, err);
  kf_device_lock_free(lock);
  if (status == KF_OK && shares) status = kf_twins_add(&session->twins, &code, job->candidate, verdict, err);
  return status;
}

/* What failed while the disk was full (what the candidate itself has written is removed by now) may have
 * failed for that: no verdict, and nothing of it is kept. */
static kf_status blame_disk(kf_session *session, kf_job *job, kf_err *err) {
  kf_status status = kf_work_usable(&session->work, err);
  if (status == KF_OK || !job->candidate->failed) return status;
  job->candidate->state = KF_ARTEFACT_BROKEN;
  job->candidate->error = (kf_err){.code = status};
  return status;
}

static kf_status run_judge(kf_session *session, kf_job *job, json_t **ret_result, kf_err *err) {
  json_t *json = NULL;
  kf_verdict *verdict = kf_calloc(1, sizeof *verdict); /* large: not for the stack */
  if (!verdict) return kf_nomem(err);
  kf_status status = judge(session, job, verdict, err);
  if (status == KF_OK && verdict->kind != KF_VERDICT_CORRECT) status = blame_disk(session, job, err);
  if (status == KF_OK) status = kf_verdict_to_json(verdict, &json, err);
  kf_free(verdict);
  KF_TRY(status);
  return kf_json_pack(ret_result, err, "{s:s,s:I,s:o}", "op", "result", "id", (json_int_t)job->id, "verdict",
                      json);
}

static json_t *entry_json(const kf_entry_info *entry) {
  json_t *args = json_array();
  for (int a = 0; args && a < entry->nargs; a++) {
    json_t *arg =
        json_pack("{s:o,s:o,s:b,s:b,s:b,s:b}", "name", kf_json_text(entry->args[a].name, INSPECT_NAME_MAX),
                  "type", kf_json_text(entry->args[a].type_name, INSPECT_NAME_MAX), "global",
                  entry->args[a].is_global, "constant", entry->args[a].is_constant, "local",
                  entry->args[a].is_local, "const", entry->args[a].is_const);
    if (json_array_append_new(args, arg) == 0) continue;
    json_decref(args);
    return NULL;
  }
  return json_pack("{s:o,s:o}", "entry", kf_json_text(entry->entry, sizeof entry->entry), "args", args);
}

static kf_status run_inspect(kf_job *job, json_t **ret_result, kf_err *err) {
  kf_build_outcome outcome = {0};
  KF_TRY(kf_build_outcome_take(job->build, &outcome, err));
  json_t *kernels = json_array();
  for (int i = 0; kernels && i < outcome.nentries; i++) {
    if (json_array_append_new(kernels, entry_json(&outcome.entries[i])) == 0) continue;
    json_decref(kernels);
    kernels = NULL; /* out of memory: packing NULL below says so */
  }
  const char *log = outcome.log ? outcome.log : "";
  kf_status status = kf_json_pack(
      ret_result, err, "{s:s,s:I,s:b,s:o,s:o,s:o}", "op", "result", "id", (json_int_t)job->id, "compiles",
      outcome.result.code == KF_RUN_OK, "kernels", kernels, "text",
      kf_json_text(outcome.result.text, sizeof outcome.result.text), "log", kf_json_text(log, strlen(log)));
  kf_build_outcome_done(&outcome);
  return status;
}

static kf_status admit(kf_session *session, kf_job *job, kf_admission *ret_admission, kf_err *err) {
  const kf_device_info *probed = NULL;
  kf_ceiling_store *store = ceilings_of(session, job->device, &probed);
  kf_device_lock *lock = NULL;
  KF_TRY(lock_device(session, job, &lock, err));
  if (store && !store->ceilings.known) need_ceilings(session, job->device);
  kf_admit_request request = {.state = job->state,
                              .means = {.settings = &session->settings,
                                        .device = job->device,
                                        .work = &session->work,
                                        .initial = job->initial},
                              .kernels = job->kernels,
                              .names = job->names,
                              .nkernels = job->nkernels,
                              .ceilings = store ? &store->ceilings : NULL,
                              .progress = send_progress,
                              .serve = serve_meanwhile,
                              .canceled = job_canceled,
                              .context = session};
  kf_status status = kf_admit(&request, ret_admission, err);
  kf_device_lock_free(lock);
  return status;
}

static kf_status run_admit(kf_session *session, kf_job *job, json_t **ret_result, kf_err *err) {
  json_t *json = NULL;
  kf_admission *admission = kf_calloc(1, sizeof *admission); /* large: not for the stack */
  if (!admission) return kf_nomem(err);
  kf_status status = admit(session, job, admission, err);
  if (status == KF_OK) status = kf_admission_to_json(admission, &json, err);
  kf_free(admission);
  KF_TRY(status);
  return kf_json_pack(ret_result, err, "{s:s,s:I,s:o}", "op", "result", "id", (json_int_t)job->id,
                      "admission", json);
}

kf_status kf_job_run(kf_session *session, kf_job *job, json_t **ret_result, kf_err *err) {
  switch (job->kind) {
  case KF_JOB_JUDGE:
    return run_judge(session, job, ret_result, err);
  case KF_JOB_INSPECT:
    return run_inspect(job, ret_result, err);
  case KF_JOB_ADMIT:
    return run_admit(session, job, ret_result, err);
  }
  return kf_fail(err, KF_EBUG, "job of kind %d", (int)job->kind);
}

void kf_job_free(kf_session *session, kf_job *job) {
  kf_artefact_release(&session->artefacts, job->candidate);
  kf_artefact_release(&session->artefacts, job->against);
  kf_artefact_release(&session->artefacts, job->initial);
  kf_artefact_release(&session->artefacts, job->confirm);
  for (int i = 0; i < job->nkernels; i++)
    kf_artefact_release(&session->artefacts, job->kernels[i]);
  kf_build_free(job->build);
  if (job->work_dir[0]) kf_fs_remove_tree(job->work_dir, NULL);
  json_decref(job->asked);
  json_decref(job->request);
  kf_free(job);
}
