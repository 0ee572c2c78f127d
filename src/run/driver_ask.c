/* driver_ask.c - proposals: the task's own kernels are answered here, everything else is asked of a proposer;
 * an answer becomes an input together with its source. */
#include "base/alloc.h"
#include "run/driver_int.h"

#include "base/banned.h"

bool kf__driver_forget(int64_t *items, size_t *count, int64_t value) {
  for (size_t i = 0; i < *count; i++) {
    if (items[i] != value) continue;
    items[i] = items[--*count];
    return true;
  }
  return false;
}

/* ---- answers ---- */

/* The canonical binding and the hash of the normalised text; without a plan the binding stays as it was
 * given. */
static kf_status describe(kf__driver *driver, const kf_answer *answer, kf_buf *binding,
                          char ret_norm[KF_HASH_HEX], kf_err *err) {
  const kf_plan *plan = NULL;
  kf_binding values;
  kf_hash norm;
  kf_err why = {0};
  ret_norm[0] = '\0';
  kf_status status = kf_plan_cache_get(&driver->plans, driver->task, driver->config.language, answer->source,
                                       answer->source_len, &plan, &why);
  if (status == KF_OK) status = kf_plan_binding_parse(plan, answer->binding, &values, &why);
  if (status == KF_EREFUSED || status == KF_EINVAL) /* the judge will say what is wrong with it */
    return kf_buf_puts(binding, answer->binding, err);
  if (status != KF_OK) {
    if (err) *err = why;
    return status;
  }
  KF_TRY(kf_plan_binding_text(plan, &values, binding, err));
  KF_TRY(kf_plan_normalised_hash(plan, &values, &norm, err));
  kf_hash_hex(&norm, ret_norm);
  return KF_OK;
}

static kf_status set_text(json_t *body, const char *key, const char *text, kf_err *err) {
  json_t *value = json_string(text);
  /* A note of a foreign program may be no UTF-8; it is there for people only. */
  if (!value) value = json_string("(not UTF-8)");
  return json_object_set_new(body, key, value) == 0 ? KF_OK : kf_nomem(err);
}

static kf_status put_bytes(kf__driver *driver, json_t *body, const char *key, const char *bytes, size_t len,
                           kf_err *err) {
  kf_hash hash;
  char hex[KF_HASH_HEX];
  KF_TRY(kf_store_put(driver->store, bytes, len, &hash, err));
  kf_hash_hex(&hash, hex);
  if (strcmp(key, "source") == 0) kf__source_remember(driver, &hash, bytes, len);
  return set_text(body, key, hex, err);
}

static kf_status write_answer(kf__driver *driver, const kf_answer *answer, const char *proposer, json_t *body,
                              kf_err *err) {
  KF_TRY(set_text(body, "status", kf_answer_word(answer), err));
  KF_TRY(set_text(body, "proposer", proposer, err));
  if (answer->note[0]) KF_TRY(set_text(body, "note", answer->note, err));
  if (answer->raw && answer->raw_len > 0)
    KF_TRY(put_bytes(driver, body, "raw", answer->raw, answer->raw_len, err));
  if (answer->status != KF_OK || !answer->source) return KF_OK;
  char norm[KF_HASH_HEX];
  kf_buf binding KF_CLEANUP(kf_buf_done);
  kf_buf_init(&binding, 1 << 16);
  KF_TRY(describe(driver, answer, &binding, norm, err));
  KF_TRY(put_bytes(driver, body, "source", answer->source, answer->source_len, err));
  KF_TRY(set_text(body, "binding", kf_buf_text(&binding), err));
  return norm[0] ? set_text(body, "norm", norm, err) : KF_OK;
}

static kf_status record_answer(kf__driver *driver, const kf_answer *answer, const char *proposer,
                               kf_err *err) {
  KF_TRY(kf_store_begin(driver->store, err));
  json_t *body = json_object();
  kf_status status = body ? write_answer(driver, answer, proposer, body, err) : kf_nomem(err);
  if (status != KF_OK) {
    json_decref(body);
    kf_store_rollback(driver->store);
    return status;
  }
  return kf__driver_input_joined(driver, KF_EVENT_ANSWER, answer->id, body, err);
}

static void give_answer(kf__driver *driver, const kf_answer *answer, const char *proposer) {
  kf_err error = {0};
  if (driver->status != KF_OK) return;
  kf_status status = record_answer(driver, answer, proposer, &error);
  if (status != KF_OK)
    kf__driver_fail(driver, status, &error);
  else
    kf__driver_show(driver, NULL);
}

static void give_failure(kf__driver *driver, int64_t proposal, kf_status status, const char *note) {
  kf_answer answer = {.id = proposal, .status = status, .binding = "", .note = note};
  give_answer(driver, &answer, "kf");
}

static const kf_proposer *proposer_of(const kf__driver *driver, int64_t proposal) {
  return driver->proposers[(uint64_t)proposal % (uint64_t)driver->nproposers];
}

void kf__driver_on_answer(void *context, const kf_answer *answer) {
  kf__driver *driver = context;
  if (!kf__driver_forget(driver->asks.items, &driver->asks.count, answer->id)) return; /* given up on */
  /* Canceled is what closing says: the resumed run asks again. An answer that comes while it drains is kept.
   */
  if (answer->status == KF_ECANCELED) return;
  give_answer(driver, answer, kf_proposer_kind(proposer_of(driver, answer->id)));
  kf__driver_pump(driver);
}

void kf__driver_expire_asks(kf__driver *driver) {
  while (driver->asks.count > 0 && driver->status == KF_OK) {
    int64_t proposal = driver->asks.items[--driver->asks.count];
    give_failure(driver, proposal, KF_ETIMEOUT, "the time of the run is over");
  }
}

/* ---- asking ---- */

static const kf_task_file *find_file(const kf_task *task, const char *path) {
  for (int i = 0; i < task->nfiles; i++)
    if (strcmp(task->files[i].path, path) == 0) return &task->files[i];
  return NULL;
}

static kf_status answer_seed(kf__driver *driver, const kf__proposal *proposal, kf_err *err) {
  const kf_task_file *file = find_file(driver->task, proposal->file);
  if (!file)
    return kf_fail(err, KF_EBUG, "proposal %lld: the task has no file \"%s\"", (long long)proposal->id,
                   proposal->file);
  kf_answer answer = {.id = proposal->id,
                      .status = KF_OK,
                      .source = file->bytes,
                      .source_len = file->len,
                      .binding = "",
                      .note = file->path};
  give_answer(driver, &answer, "task");
  return KF_OK;
}

/* Room for what an ask shows; the verdicts are large. */
typedef struct {
  kf_shown shown[KF_DRIVER_SHOWN_MAX + 2];
  kf_verdict verdicts[KF_DRIVER_SHOWN_MAX + 2];
  int count;
} exhibits;

static kf_status exhibit(kf__driver *driver, exhibits *all, int64_t id, bool with_verdict,
                         const kf_shown **ret_shown, kf_err *err) {
  kf_candidate candidate;
  *ret_shown = NULL;
  if (id == 0 || !kf_engine_candidate(driver->engine, id, &candidate) || !candidate.answered) return KF_OK;
  kf_shown *shown = &all->shown[all->count];
  *shown = (kf_shown){.id = id,
                      .binding = candidate.binding,
                      .score_nano = candidate.scored ? candidate.score_nano : INT64_MIN};
  kf_status status = kf__source_get(driver, &candidate.source, &shown->source, &shown->source_len, err);
  if (status == KF_ENOTFOUND) return KF_OK; /* an answer without code */
  KF_TRY(status);
  bool found = false;
  if (with_verdict) KF_TRY(kf__record_verdict(driver, id, &all->verdicts[all->count], &found, err));
  if (found) shown->verdict = &all->verdicts[all->count];
  all->count++;
  *ret_shown = shown;
  return KF_OK;
}

static kf_status fill_ask(kf__driver *driver, const kf__proposal *proposal, exhibits *all, bool reads,
                          kf_ask *ask, kf_err *err) {
  KF_TRY(exhibit(driver, all, proposal->parent, reads, &ask->parent, err));
  if (!reads) return KF_OK;
  const kf_archive_cell *best = kf_archive_best(kf_engine_archive(driver->engine));
  int64_t best_id = best ? best->elite.id : 0;
  if (best_id != proposal->parent) KF_TRY(exhibit(driver, all, best_id, true, &ask->best, err));
  int first = all->count;
  for (int i = 0; i < proposal->nshown; i++) {
    const kf_shown *shown = NULL;
    if (proposal->shown[i] == best_id || proposal->shown[i] == proposal->parent) continue;
    KF_TRY(exhibit(driver, all, proposal->shown[i], true, &shown, err));
  }
  ask->inspirations = &all->shown[first];
  ask->ninspirations = all->count - first;
  return KF_OK;
}

static kf_status ask_proposer(kf__driver *driver, const kf__proposal *proposal, kf_err *err) {
  kf_proposer *proposer = driver->proposers[(uint64_t)proposal->id % (uint64_t)driver->nproposers];
  kf_ask ask = {
      .id = proposal->id,
      .seed = driver->config.seed,
      .run_id = driver->run_id,
      .emitter = proposal->emitter,
      .task = driver->task,
      .language = driver->config.language,
      .device_name = driver->device.name,
      .compiler = kf_device_is_host(driver->device.id) ? driver->device.driver : NULL,
      .limits = &driver->device.limits,
      .target = proposal->target[0] ? proposal->target : NULL,
  };
  exhibits *all = kf_calloc(1, sizeof *all);
  if (!all) return kf_nomem(err);
  kf_status status = fill_ask(driver, proposal, all, kf_proposer_reads_prompts(proposer), &ask, err);
  if (status == KF_OK && kf_vec_push(&driver->asks, proposal->id) != KF_OK) status = kf_nomem(err);
  if (status != KF_OK) {
    kf_free(all);
    return status;
  }
  kf_err refused = {0};
  kf_status asked = kf_proposer_ask(proposer, &ask, &refused);
  kf_free(all);
  if (asked == KF_OK) return KF_OK;
  kf__driver_forget(driver->asks.items, &driver->asks.count, proposal->id);
  if (asked == KF_ENOMEM) {
    if (err) *err = refused;
    return asked;
  }
  /* A proposer that cannot be asked has not answered: the search decides what that means. */
  give_failure(driver, proposal->id, KF_EIO, refused.msg);
  return KF_OK;
}

void kf__driver_ask(kf__driver *driver, int64_t id) {
  kf__proposal proposal;
  kf_err error = {0};
  kf_status status = kf__record_proposal(driver, id, &proposal, &error);
  if (status == KF_OK)
    status = proposal.emitter == KF_EMIT_SEED ? answer_seed(driver, &proposal, &error)
                                              : ask_proposer(driver, &proposal, &error);
  if (status != KF_OK) kf__driver_fail(driver, status, &error);
}
