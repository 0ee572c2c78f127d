/* perf.c - ceilings on demand, and the class of a correct kernel; see perf.h. */
#include "eval/perf.h"

#include "base/clock.h"

#include <poll.h>
#include <string.h>

#include "base/banned.h"

enum { BUILD_WAIT_MS = 5000, MEASURE_MS = 1500, RUNS_MAX = 3, SLICE_MS = 20 };

/* ---- the probe ---- */

static kf_status want(kf_ceiling_store *store, kf_artefacts *artefacts, const kf_device_info *device,
                      kf_err *err) {
  KF_TRY(kf_ceiling_task(device, &store->task, err));
  const kf_task_file *kernel = store->task->kernel[KF_LANG_OPENCL];
  kf_artefact_request request = {.task = store->task,
                                 .device = device,
                                 .source = kernel->bytes,
                                 .source_len = kernel->len,
                                 .binding = "",
                                 .salt = ""};
  return kf_artefact_get(artefacts, &request, &store->artefact, err);
}

void kf_ceiling_store_prepare(kf_ceiling_store *store, kf_artefacts *artefacts,
                              const kf_device_info *device) {
  if (store->wanted) return;
  store->wanted = true;
  if (strcmp(device->api, "opencl") != 0 || want(store, artefacts, device, NULL) != KF_OK)
    store->broken = true;
}

bool kf_ceiling_store_ready(const kf_ceiling_store *store) {
  const kf_artefact *artefact = store->artefact;
  return !artefact || artefact->state == KF_ARTEFACT_READY || artefact->state == KF_ARTEFACT_BROKEN;
}

/* Builds of others go on meanwhile: the probe's stands in one queue with them. */
static void wait_built(kf_ceiling_store *store, kf_artefacts *artefacts) {
  int64_t until = kf_now_ms() + BUILD_WAIT_MS;
  kf_artefacts_resume(artefacts);
  while (!kf_ceiling_store_ready(store) && kf_now_ms() < until) {
    struct pollfd fds[8];
    kf_artefacts_pump(artefacts);
    poll(fds, (nfds_t)kf_artefacts_fds(artefacts, fds, (int)KF_COUNTOF(fds)), SLICE_MS);
  }
}

static kf_status measure(kf_ceiling_store *store, kf_artefacts *artefacts, const kf_device_info *device,
                         kf_ceilings *ret_ceilings, kf_err *err) {
  const kf_artefact *artefact = store->artefact;
  char work_dir[KF_PATH_MAX];
  KF_TRY(kf_work_dir(artefacts->work, "ceiling", work_dir, err));
  kf_ceiling_request request = {.task = store->task,
                                .device = device,
                                .calls = (const kf_calls *const *)artefact->check,
                                .artefact = artefact->outcome.artefact,
                                .artefact_len = artefact->outcome.artefact_len,
                                .work_dir = work_dir,
                                .memory_bytes = artefacts->settings->sandbox_memory_mib << 20,
                                .call_timeout_ms = artefacts->settings->verify_call_timeout_ms,
                                .limit_ms = MEASURE_MS};
  kf_artefacts_pause(artefacts);
  kf_status status = kf_ceilings_measure(&request, ret_ceilings, err);
  kf_artefacts_resume(artefacts);
  kf_fs_remove_tree(work_dir, NULL);
  return status;
}

/* A ceiling is what was reached once, so the better number of two counts. */
static void keep_best(const kf_ceilings *measured, kf_ceilings *best) {
  if (!measured->known) return;
  if (!best->known) {
    *best = *measured;
    return;
  }
  if (measured->read_gbs > best->read_gbs) best->read_gbs = measured->read_gbs;
  if (measured->write_gbs > best->write_gbs) best->write_gbs = measured->write_gbs;
  if (measured->copy_gbs > best->copy_gbs) best->copy_gbs = measured->copy_gbs;
  if (measured->gflops > best->gflops) best->gflops = measured->gflops;
  if (measured->launch_ns < best->launch_ns) best->launch_ns = measured->launch_ns;
}

bool kf_ceiling_store_measure(kf_ceiling_store *store, kf_artefacts *artefacts,
                              const kf_device_info *device) {
  kf_ceilings measured = {0};
  kf_ceiling_store_prepare(store, artefacts, device);
  if (store->broken || store->runs == RUNS_MAX) return false;
  wait_built(store, artefacts);
  if (!kf_ceiling_store_ready(store)) return false; /* a busy machine: the next judgement finds it built */
  store->runs++;
  if (store->artefact->state == KF_ARTEFACT_BROKEN || store->artefact->failed ||
      measure(store, artefacts, device, &measured, NULL) != KF_OK) {
    store->broken = true; /* verdicts go without a class: no candidate is worse for it */
    return false;
  }
  keep_best(&measured, &store->ceilings);
  return measured.known;
}

void kf_ceiling_store_done(kf_ceiling_store *store, kf_artefacts *artefacts) {
  kf_artefact_release(artefacts, store->artefact);
  store->artefact = NULL;
}

/* ---- the class of a candidate ---- */

const kf_ceilings *kf_trial_ceilings(const kf_trial *trial) {
  const kf_judgement *j = trial->judgement;
  if (j->ceilings && !j->ceilings->known && j->need_ceilings) j->need_ceilings(j->context, j->device);
  return j->ceilings && j->ceilings->known ? j->ceilings : NULL;
}

bool kf_trial_ceilings_again(const kf_trial *trial) {
  const kf_judgement *j = trial->judgement;
  return j->ceilings && j->need_ceilings && j->need_ceilings(j->context, j->device);
}

/* Time of a measure case as the verdict has it; 0 if there is none. */
static int64_t case_ns(const kf_verdict *v, const char *symbols) {
  for (int i = 0; i < v->ncases; i++)
    if (v->cases[i].measured && strcmp(v->cases[i].symbols, symbols) == 0) return v->cases[i].time_ns;
  return 0;
}

static bool promising(const kf_verdict *v) {
  return v->kind == KF_VERDICT_CORRECT && v->time_ns > 0 && v->race.outcome != KF_RACE_DROPPED;
}

/* What every measure case needs, and its time; the number of cases, 0 if there is nothing to say. */
static int works_of(const kf_trial *trial, kf_work *ret_works) {
  const kf_verdict *v = trial->verdict;
  const kf_judgement *j = trial->judgement;
  const kf_task *task = j->state->task;
  for (int i = 0; i < task->nmeasure; i++) {
    kf_work *work = &ret_works[i];
    KF_CLEANUP(kf_buf_done) kf_buf text;
    kf_buf_init(&text, sizeof v->cases[0].symbols - 1);
    if (kf_work_of_task(task, task->measure[i].values, work, NULL) != KF_OK) return 0;
    if (j->candidate->measure[i]) kf_work_add_calls(j->candidate->measure[i], work);
    if (kf_task_case_text(task, task->measure[i].values, &text, NULL) == KF_OK)
      work->time_ns = case_ns(v, kf_buf_text(&text));
    /* The verdict of a race alone has no lines of cases: its time is that of the only one. */
    if (work->time_ns == 0 && task->nmeasure == 1) work->time_ns = v->time_ns;
  }
  return task->nmeasure;
}

static bool over_ceilings(const kf_roofline *roofline, const kf_work *first) {
  bool cached = first->bytes_in + first->bytes_out < KF_CACHED_BYTES;
  return (roofline->bytes_share > 1 && !cached) || roofline->operations_share > 1;
}

void kf_trial_diagnose(kf_trial *trial) {
  kf_verdict *v = trial->verdict;
  kf_work works[KF_CASES_MAX];
  kf_diagnosis diagnosis;
  if (!promising(v)) return;
  int count = works_of(trial, works);
  const kf_ceilings *ceilings = count > 0 ? kf_trial_ceilings(trial) : NULL;
  if (!ceilings) return;
  kf_roofline_classify(ceilings, trial->judgement->device, works, count, &v->roofline, &diagnosis);
  /* More than all there is: the ceilings were measured while something else ran. */
  while (over_ceilings(&v->roofline, &works[0]) && kf_trial_ceilings_again(trial))
    kf_roofline_classify(ceilings, trial->judgement->device, works, count, &v->roofline, &diagnosis);
  if (v->diagnosis.kind[0] == '\0') v->diagnosis = diagnosis;
}
