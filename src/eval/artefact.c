/* artefact.c - the build cache; see artefact.h. */
#include "eval/artefact.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "build/compile_log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { IDLE_ARTEFACTS_MAX = 64, OPTIONS_MAX = 16384, LAZY_COMPILE_MS = 10000 };

static void free_calls(kf_calls **calls, int count) {
  for (int i = 0; i < count; i++)
    kf_calls_free(calls[i]);
}

static void artefact_free(kf_artefact *artefact) {
  kf_build_free(artefact->build);
  kf_evidence_free(artefact->reading);
  kf_build_outcome_done(&artefact->outcome);
  free_calls(artefact->check, KF_CASES_MAX);
  free_calls(artefact->measure, KF_CASES_MAX);
  free_calls(artefact->extra, KF_CASES_MAX);
  kf_plan_free(artefact->plan);
  if (artefact->work_dir[0]) kf_fs_remove_tree(artefact->work_dir, NULL);
  kf_free(artefact->source);
  kf_free(artefact);
}

static void key_of(const kf_artefact_request *request, kf_hash *ret_key) {
  kf_hasher hasher;
  kf_hasher_init(&hasher);
  kf_hasher_add(&hasher, request->task->id.bytes, sizeof request->task->id.bytes);
  kf_hasher_add_text(&hasher, request->device->id);
  /* What compiles: driver and program version; the flags follow from source and binding. */
  kf_hasher_add_text(&hasher, request->device->platform);
  kf_hasher_add_text(&hasher, request->device->name);
  kf_hasher_add_text(&hasher, request->device->driver);
  kf_hasher_add_text(&hasher, KF_VERSION);
  kf_hasher_add_text(&hasher, request->binding);
  kf_hasher_add_text(&hasher, request->salt);
  kf_hasher_add(&hasher, request->source, request->source_len);
  kf_hasher_final(&hasher, ret_key);
}

/* Makes the artefact a finished failure of the candidate. */
static void fail_candidate(kf_artefact *artefact, kf_verdict_kind kind, const char *what, const kf_err *why) {
  artefact->state = KF_ARTEFACT_READY;
  artefact->failed = true;
  artefact->kind = kind;
  snprintf(artefact->diagnosis.kind, sizeof artefact->diagnosis.kind, "%s", what);
  snprintf(artefact->diagnosis.text, sizeof artefact->diagnosis.text, "%.399s", why->msg);
  snprintf(artefact->diagnosis.evidence, sizeof artefact->diagnosis.evidence, "%s", why->hint);
}

static kf_status resolve_cases(kf_artefact *artefact, const kf_case *cases, int count, kf_calls **ret_calls,
                               kf_err *err) {
  for (int i = 0; i < count; i++)
    KF_TRY(kf_plan_resolve(artefact->plan, artefact->task, &artefact->binding, cases[i].values,
                           &artefact->device->limits, &ret_calls[i], err));
  return KF_OK;
}

static kf_status resolve_all(kf_artefact *artefact, const kf_artefact_request *request, kf_err *err) {
  KF_TRY(resolve_cases(artefact, artefact->task->check, artefact->task->ncheck, artefact->check, err));
  KF_TRY(resolve_cases(artefact, artefact->task->measure, artefact->task->nmeasure, artefact->measure, err));
  artefact->nextra = request->nextra;
  return resolve_cases(artefact, request->extra, request->nextra, artefact->extra, err);
}

static kf_status bind_artefact(kf_artefact *artefact, const char *binding, kf_err *err) {
  kf_status status = kf_plan_binding_parse(artefact->plan, binding, &artefact->binding, err);
  if (status == KF_EINVAL) return KF_EREFUSED; /* the candidate's own binding is no usage error of ours */
  KF_TRY(status);
  KF_CLEANUP(kf_buf_done) kf_buf text;
  kf_buf_init(&text, sizeof artefact->binding_text - 1);
  KF_TRY(kf_plan_binding_text(artefact->plan, &artefact->binding, &text, err));
  snprintf(artefact->binding_text, sizeof artefact->binding_text, "%s", kf_buf_text(&text));
  return KF_OK;
}

/* Plan, binding, calls. What is wrong with the candidate makes it a finished failure; what is wrong with us
 * is returned. */
static kf_status plan_artefact(kf_artefact *artefact, const kf_artefact_request *request, kf_err *err) {
  kf_err why = {0};
  kf_status status = kf_plan_parse_as(artefact->task, kf_device_language(artefact->device), artefact->source,
                                      artefact->source_len, "kernel", &artefact->plan, &why);
  if (status == KF_OK) status = bind_artefact(artefact, request->binding, &why);
  if (status == KF_OK) status = resolve_all(artefact, request, &why);
  if (status == KF_EREFUSED) {
    fail_candidate(artefact, KF_VERDICT_REFUSED, "plan", &why);
    return KF_OK;
  }
  if (status != KF_OK && err) *err = why;
  return status;
}

/* Drops the longest unused ones beyond the limit; the list is newest first. */
static void evict(kf_artefacts *artefacts) {
  int idle = 0;
  kf_artefact **link = &artefacts->first;
  while (*link) {
    kf_artefact *artefact = *link;
    if (artefact->users == 0 && (++idle > IDLE_ARTEFACTS_MAX || artefact->state == KF_ARTEFACT_BROKEN)) {
      if (artefact->state == KF_ARTEFACT_BUILDING) artefacts->building--;
      *link = artefact->next;
      artefact_free(artefact);
    } else {
      link = &artefact->next;
    }
  }
}

static kf_artefact *find(kf_artefacts *artefacts, const kf_hash *key) {
  for (kf_artefact **link = &artefacts->first; *link; link = &(*link)->next) {
    kf_artefact *artefact = *link;
    if (!kf_hash_equal(&artefact->key, key) || artefact->state == KF_ARTEFACT_BROKEN) continue;
    *link = artefact->next; /* to the front: most recently used */
    artefact->next = artefacts->first;
    artefacts->first = artefact;
    return artefact;
  }
  return NULL;
}

static kf_status make(const kf_artefact_request *request, const kf_hash *key, kf_artefact **ret_artefact,
                      kf_err *err) {
  kf_artefact *artefact = kf_calloc(1, sizeof *artefact);
  if (!artefact) return kf_nomem(err);
  artefact->key = *key;
  artefact->task = request->task;
  artefact->device = request->device;
  artefact->reads = strcmp(request->device->api, "opencl") == 0 && !request->salt[0];
  artefact->source = kf_memdup(request->source, request->source_len);
  artefact->source_len = request->source_len;
  kf_hash hash;
  kf_hash_bytes(request->source, request->source_len, &hash);
  kf_hash_hex(&hash, artefact->source_sha256);
  kf_status status = artefact->source ? plan_artefact(artefact, request, err) : kf_nomem(err);
  if (status != KF_OK) {
    artefact_free(artefact);
    return status;
  }
  *ret_artefact = artefact;
  return KF_OK;
}

kf_status kf_artefact_get(kf_artefacts *artefacts, const kf_artefact_request *request,
                          kf_artefact **ret_artefact, kf_err *err) {
  kf_hash key;
  key_of(request, &key);
  kf_artefact *artefact = find(artefacts, &key);
  if (!artefact) {
    KF_TRY(make(request, &key, &artefact, err));
    artefact->next = artefacts->first;
    artefacts->first = artefact;
  }
  artefact->users++;
  *ret_artefact = artefact;
  return KF_OK;
}

void kf_artefact_release(kf_artefacts *artefacts, kf_artefact *artefact) {
  if (!artefact) return;
  artefact->users--;
  evict(artefacts);
}

/* Distinct kernels the plan launches; borrowed from the calls. */
static int launched_entries(const kf_calls *calls, const char **ret_entries) {
  int count = 0;
  for (int s = 0; s < calls->nsteps; s++) {
    if (calls->steps[s].kind != KF_STEP_LAUNCH) continue;
    bool known = false;
    for (int i = 0; i < count; i++)
      known = known || strcmp(ret_entries[i], calls->steps[s].entry) == 0;
    if (!known) ret_entries[count++] = calls->steps[s].entry;
  }
  return count;
}

/* The screen and the structural evidence, in a process of their own. */
static kf_status start_reading(kf_artefact *artefact, const char *options, kf_err *err) {
  const kf_calls *calls = artefact->task->nmeasure ? artefact->measure[0] : artefact->check[0];
  const char *entries[KF_STEPS_MAX];
  if (!artefact->reads || kf_device_is_host(artefact->device->id)) return KF_OK;
  kf_evidence_request request = {.source = artefact->source,
                                 .source_len = artefact->source_len,
                                 .options = options,
                                 .entries = entries,
                                 .nentries = calls ? launched_entries(calls, entries) : 0,
                                 .calls = calls};
  return kf_evidence_start(&request, artefact->work_dir, &artefact->reading, err);
}

static kf_status start_build(kf_artefacts *artefacts, kf_artefact *artefact, kf_err *err) {
  const kf_calls *plans[3 * KF_CASES_MAX];
  int nplans = 0;
  for (int i = 0; i < artefact->task->ncheck; i++)
    plans[nplans++] = artefact->check[i];
  for (int i = 0; i < artefact->task->nmeasure; i++)
    plans[nplans++] = artefact->measure[i];
  for (int i = 0; i < artefact->nextra; i++)
    plans[nplans++] = artefact->extra[i];
  KF_CLEANUP(kf_buf_done) kf_buf options;
  kf_buf_init(&options, OPTIONS_MAX);
  KF_TRY(kf_plan_defines(artefact->plan, &artefact->binding, &options, err));
  kf_build *spare = kf_spares_builder(artefacts->spares, artefact->device, artefact->work_dir);
  if (!spare) KF_TRY(kf_work_dir(artefacts->work, "build", artefact->work_dir, err));
  kf_build_request request = {.device_id = artefact->device->id,
                              .source = artefact->source,
                              .source_len = artefact->source_len,
                              .options = kf_buf_text(&options),
                              .source_name = "kernel",
                              .plans = plans,
                              .nplans = nplans,
                              .work_dir = artefact->work_dir,
                              .timeout_ms = artefacts->settings->build_timeout_ms,
                              .launch_timeout_ms =
                                  artefacts->settings->verify_call_timeout_ms + LAZY_COMPILE_MS,
                              .memory_bytes = artefacts->settings->sandbox_memory_mib << 20,
                              .spare = spare};
  KF_TRY(kf_build_start(&request, &artefact->build, err));
  KF_TRY(start_reading(artefact, request.options, err));
  artefact->state = KF_ARTEFACT_BUILDING;
  artefacts->building++;
  return KF_OK;
}

static void break_artefact(kf_artefact *artefact, const kf_err *err) {
  artefact->state = KF_ARTEFACT_BROKEN;
  artefact->error = *err;
}

/* A compiler over its limit is build_timeout; a failure while warming is the candidate's own at its first
 * launch. */
static kf_verdict_kind outcome_kind(const kf_build_outcome *outcome) {
  static const kf_verdict_kind kinds[] = {
      [KF_RUN_OK] = KF_VERDICT_CORRECT,
      [KF_RUN_BUILD_FAILED] = KF_VERDICT_BUILD_FAILED,
      [KF_RUN_UNSUPPORTED] = KF_VERDICT_UNSUPPORTED,
      [KF_RUN_REFUSED] = KF_VERDICT_REFUSED,
      [KF_RUN_LAUNCH_FAILED] = KF_VERDICT_LAUNCH_FAILED,
      [KF_RUN_OUT_OF_MEMORY] = KF_VERDICT_OUT_OF_MEMORY,
      [KF_RUN_CRASHED] = KF_VERDICT_BUILD_FAILED,
      [KF_RUN_WRONG_MEMORY] = KF_VERDICT_WRONG_MEMORY,
      [KF_RUN_TIMED_OUT] = KF_VERDICT_BUILD_TIMEOUT,
      [KF_RUN_FORGED] = KF_VERDICT_CHEAT,
  };
  if (outcome->in_launch && outcome->result.code == KF_RUN_CRASHED) return KF_VERDICT_CRASHED;
  if (outcome->in_launch && outcome->result.code == KF_RUN_TIMED_OUT) return KF_VERDICT_TIMED_OUT;
  return kinds[outcome->result.code];
}

/* Compiled evidence in the words of the syntax tree's (docs/formats/host-form.md, Place in the archive). */
static kf_evidence host_evidence(const kf_artefact *artefact) {
  const kf_host_facts *facts = &artefact->outcome.facts;
  kf_evidence evidence = {.known = true,
                          .launches = 1,
                          .vector_width = facts->vector_width,
                          .accumulators = facts->accumulators,
                          .async_or_prefetch = facts->prefetches,
                          .staged_local = artefact->outcome.workspace != NULL,
                          .barrier = facts->threads,
                          .subgroup = facts->barriers,
                          .global_atomic = facts->atomics};
  snprintf(evidence.source, sizeof evidence.source, "assembly");
  return evidence;
}

/* The line of the candidate's own source, without its indentation. */
static void source_line(const kf_artefact *artefact, int line, char *ret_text, size_t room) {
  const char *at = artefact->source, *end = at + artefact->source_len;
  for (int i = 1; i < line && at; i++) {
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  ret_text[0] = '\0';
  if (line < 1 || !at || at >= end) return;
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  int len = (int)((stop ? stop : end) - at), blank = 0;
  while (blank < len && (at[blank] == ' ' || at[blank] == '\t'))
    blank++;
  snprintf(ret_text, room, "%.*s", len - blank, at + blank);
}

/* The compiler's first complaint is the diagnosis: the ones after it may follow from it. */
static void explain_compile(kf_artefact *artefact) {
  const kf_build_outcome *outcome = &artefact->outcome;
  kf_diagnosis *diagnosis = &artefact->diagnosis;
  const char *ending = strcmp(artefact->device->api, "opencl") == 0 ? "cl" : artefact->device->api;
  artefact->nerrors =
      kf_compile_log_errors(outcome->log, strlen(outcome->log), artefact->errors, KF_VERDICT_ERRORS_MAX);
  for (int i = 0; i < artefact->nerrors; i++) /* the name that was given to the builder */
    if (strcmp(artefact->errors[i].file, "kernel") == 0)
      snprintf(artefact->errors[i].file, sizeof artefact->errors[i].file, "kernel.%s", ending);
  if (artefact->nerrors == 0) return;
  const kf_compile_error *first = &artefact->errors[0];
  char line[200];
  bool own = strncmp(first->file, "kernel.", strlen("kernel.")) == 0;
  source_line(artefact, own ? first->line : 0, line, sizeof line);
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "compile_%.15s", first->category);
  snprintf(diagnosis->text, sizeof diagnosis->text, "%.239s", first->message);
  if (first->line > 0)
    snprintf(diagnosis->where, sizeof diagnosis->where, "%.63s:%d:%d", first->file, first->line, first->col);
  snprintf(diagnosis->evidence, sizeof diagnosis->evidence, "%s%s(%d error%s)", line, line[0] ? "  " : "",
           artefact->nerrors, artefact->nerrors == 1 ? "" : "s");
}

/* What kf_workspace said of each plan, in the order of start_build. */
static void add_workspaces(kf_artefact *artefact) {
  const int64_t *bytes = artefact->outcome.workspace;
  for (int i = 0; bytes && i < artefact->task->ncheck; i++)
    kf_calls_add_workspace(artefact->check[i], *bytes++);
  for (int i = 0; bytes && i < artefact->task->nmeasure; i++)
    kf_calls_add_workspace(artefact->measure[i], *bytes++);
  for (int i = 0; bytes && i < artefact->nextra; i++)
    kf_calls_add_workspace(artefact->extra[i], *bytes++);
}

/* Of the calls of a built shape: the temp, if there is one. */
static bool find_workspace(const kf_artefact *artefact, const kf_case *cases, int count,
                           kf_calls *const *calls, const int64_t *symbols, int64_t *ret_bytes) {
  for (int i = 0; i < count; i++) {
    size_t size = sizeof *symbols * (size_t)artefact->task->nsymbols;
    if (memcmp(cases[i].values, symbols, size) != 0) continue;
    const kf_buffer_spec *last = calls[i]->nbuffers > 0 ? &calls[i]->buffers[calls[i]->nbuffers - 1] : NULL;
    *ret_bytes = last && last->is_temp ? last->bytes : 0;
    return true;
  }
  return false;
}

kf_status kf_artefact_workspace(const kf_artefact *artefact, const int64_t *symbols, int64_t *ret_bytes,
                                kf_err *err) {
  const kf_task *task = artefact->task;
  *ret_bytes = 0;
  if (!artefact->outcome.workspace ||
      find_workspace(artefact, task->check, task->ncheck, artefact->check, symbols, ret_bytes) ||
      find_workspace(artefact, task->measure, task->nmeasure, artefact->measure, symbols, ret_bytes))
    return KF_OK;
  return kf_fail(err, KF_ENOTFOUND,
                 "how much workspace the initial kernel wants for this shape is not known");
}

static void judge_outcome(kf_artefact *artefact) {
  const kf_build_outcome *outcome = &artefact->outcome;
  kf_diagnosis *diagnosis = &artefact->diagnosis;
  artefact->state = KF_ARTEFACT_READY;
  if (outcome->result.code == KF_RUN_OK) {
    add_workspaces(artefact);
    if (kf_device_is_host(artefact->device->id)) artefact->evidence = host_evidence(artefact);
    return;
  }
  artefact->failed = true;
  artefact->kind = outcome_kind(outcome);
  const char *what = outcome->in_launch                            ? "first_launch"
                     : outcome->result.code == KF_RUN_BUILD_FAILED ? "compile"
                     : outcome->result.code == KF_RUN_REFUSED      ? "object"
                                                                   : "build";
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "%s", what);
  snprintf(diagnosis->text, sizeof diagnosis->text, "%s", outcome->result.text);
  if (artefact->kind == KF_VERDICT_BUILD_FAILED && outcome->log) explain_compile(artefact);
}

/* What the screen found comes before whatever the compiler says of the same source. What it could not read
 * matters only where the compiler could: it may have been shown another program. */
static void judge_screen(kf_artefact *artefact) {
  bool unreadable = artefact->screen.state == KF_SCREEN_UNREADABLE && !artefact->failed;
  if (artefact->screen.state != KF_SCREEN_REFUSED && !unreadable) return;
  artefact->state = KF_ARTEFACT_READY;
  artefact->failed = true;
  artefact->kind = KF_VERDICT_REFUSED;
  artefact->diagnosis = artefact->screen.diagnosis;
}

/* Ends when there is a result, or a failure of ours. */
static kf_status step_build(kf_artefact *artefact, kf_err *err) {
  bool done = false;
  if (!artefact->build) return KF_OK;
  KF_TRY(kf_build_step(artefact->build, &done, err));
  if (!done) return KF_OK;
  KF_TRY(kf_build_outcome_take(artefact->build, &artefact->outcome, err));
  kf_build_free(artefact->build);
  artefact->build = NULL;
  return KF_OK;
}

static kf_status step_reading(kf_artefact *artefact, kf_err *err) {
  bool done = false;
  if (!artefact->reading) return KF_OK;
  KF_TRY(kf_evidence_step(artefact->reading, &done, err));
  if (!done) return KF_OK;
  KF_TRY(kf_evidence_take(artefact->reading, &artefact->screen, &artefact->evidence, err));
  kf_evidence_free(artefact->reading);
  artefact->reading = NULL;
  return KF_OK;
}

static void end_build(kf_artefacts *artefacts, kf_artefact *artefact) {
  kf_build_free(artefact->build);
  kf_evidence_free(artefact->reading);
  artefact->build = NULL;
  artefact->reading = NULL;
  artefacts->building--;
  kf_fs_remove_tree(artefact->work_dir, NULL);
  artefact->work_dir[0] = '\0';
}

static void step_artefact(kf_artefacts *artefacts, kf_artefact *artefact) {
  kf_err err = {0};
  kf_status status = step_reading(artefact, &err);
  if (!artefacts->settings->sandbox_screen) artefact->screen.state = KF_SCREEN_UNREAD;
  if (status == KF_OK) status = step_build(artefact, &err);
  bool refused = artefact->screen.state == KF_SCREEN_REFUSED; /* what it builds is of no interest */
  if (status == KF_OK && !refused && (artefact->build || artefact->reading)) return;
  if (status != KF_OK)
    break_artefact(artefact, &err);
  else if (!artefact->build)
    judge_outcome(artefact);
  if (status == KF_OK) judge_screen(artefact);
  end_build(artefacts, artefact);
}

static int jobs_max(const kf_artefacts *artefacts) {
  if (artefacts->settings->build_jobs > 0) return (int)artefacts->settings->build_jobs;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}

/* The oldest queued one: requests are served in the order they came. */
static kf_artefact *oldest_queued(kf_artefacts *artefacts) {
  kf_artefact *oldest = NULL;
  for (kf_artefact *a = artefacts->first; a; a = a->next)
    if (a->state == KF_ARTEFACT_QUEUED && a->users > 0) oldest = a;
  return oldest;
}

void kf_artefacts_pump(kf_artefacts *artefacts) {
  if (artefacts->paused || artefacts->pumping) return;
  artefacts->pumping = true;
  for (kf_artefact *a = artefacts->first; a; a = a->next)
    if (a->state == KF_ARTEFACT_BUILDING) step_artefact(artefacts, a);
  while (artefacts->building < jobs_max(artefacts)) {
    kf_artefact *next = oldest_queued(artefacts);
    kf_err err = {0};
    if (!next) break;
    if (start_build(artefacts, next, &err) == KF_OK) continue;
    kf_build_free(next->build);
    next->build = NULL;
    break_artefact(next, &err);
  }
  kf_spares_pump(artefacts->spares, artefacts->building == 0);
  artefacts->pumping = false;
}

int kf_artefacts_fds(const kf_artefacts *artefacts, struct pollfd *fds, int max) {
  int count = 0;
  for (const kf_artefact *a = artefacts->first; a; a = a->next) {
    if (a->state != KF_ARTEFACT_BUILDING) continue;
    if (a->build && count < max)
      fds[count++] = (struct pollfd){.fd = kf_build_fd(a->build), .events = POLLIN};
    if (a->reading && count < max)
      fds[count++] = (struct pollfd){.fd = kf_evidence_fd(a->reading), .events = POLLIN};
  }
  return count;
}

void kf_artefacts_pause(kf_artefacts *artefacts) {
  artefacts->paused = true;
  kf_spares_pause(artefacts->spares);
  for (kf_artefact *a = artefacts->first; a; a = a->next) {
    if (a->build) kf_build_pause(a->build, NULL);
    if (a->reading) kf_evidence_pause(a->reading, NULL);
  }
}

void kf_artefacts_resume(kf_artefacts *artefacts) {
  artefacts->paused = false;
  kf_spares_resume(artefacts->spares);
  for (kf_artefact *a = artefacts->first; a; a = a->next) {
    if (a->build) kf_build_resume(a->build, NULL);
    if (a->reading) kf_evidence_resume(a->reading, NULL);
  }
}

void kf_artefacts_done(kf_artefacts *artefacts) {
  while (artefacts->first) {
    kf_artefact *next = artefacts->first->next;
    artefact_free(artefacts->first);
    artefacts->first = next;
  }
}
