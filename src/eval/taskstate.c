/* taskstate.c - oracle, expected data and hidden shapes of a task; see taskstate.h. */
#include "eval/taskstate.h"

#include "base/alloc.h"

#include <string.h>

void kf_task_state_free(kf_task_state *state) {
  if (!state) return;
  while (state->expected) {
    kf_expected_entry *next = state->expected->next;
    kf_expected_free(state->expected->expected);
    kf_free(state->expected);
    state->expected = next;
  }
  kf_oracle_free(state->oracle);
  kf_task_free(state->task);
  kf_free(state);
}

static kf_status copy_outputs(const kf_rig *rig, void *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  for (int b = 0; b < rig->calls->nbuffers; b++) {
    const kf_buffer_spec *buffer = &rig->calls->buffers[b];
    if (buffer->is_temp || rig->slot[b] < 0) continue;
    void *copy = kf_alloc((size_t)(buffer->bytes ? buffer->bytes : 1));
    if (!copy) return kf_nomem(err);
    memcpy(copy, kf_rig_data(rig, b), (size_t)buffer->bytes);
    ret_outputs[buffer->arg] = copy;
  }
  return KF_OK;
}

static kf_status call_once(kf_runner *runner, kf_rig *rig, kf_run_result *run, kf_err *err) {
  kf_run_times times;
  KF_TRY(kf_rig_attach(rig, runner, run, err));
  if (run->code != KF_RUN_OK) return KF_OK;
  kf_rig_reset(rig, 0);
  KF_TRY(kf_runner_run(runner, 1, 0, &times, run, err));
  return run->code == KF_RUN_OK ? kf_runner_stop(runner, err) : KF_OK;
}

kf_status kf_task_kernel_run(const kf_task_means *means, const kf_artefact *artefact, kf_inputs *inputs,
                             void *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  kf_calls *calls = NULL;
  kf_rig *rig = NULL;
  kf_runner *runner = NULL;
  kf_run_result run = {0};
  char work_dir[KF_PATH_MAX] = "";
  kf_status status = kf_plan_resolve(artefact->plan, inputs->task, &artefact->binding, inputs->symbols,
                                     &means->device->limits, &calls, err);
  if (status == KF_EREFUSED) return kf_fail(err, KF_ENOTFOUND, "its plan refuses %s", inputs->case_text);
  if (status != KF_OK) return status;
  KF_GO(kf_rig_new(inputs, calls, means->device->base_align, &rig, err));
  KF_GO(kf_work_dir(means->work, "initial", work_dir, err));
  kf_runner_options options = {.device_id = means->device->id,
                               .work_dir = work_dir,
                               .memory_bytes = means->settings->sandbox_memory_mib << 20,
                               .call_timeout_ms = means->settings->verify_call_timeout_ms};
  KF_GO(kf_runner_start(&options, &runner, err));
  KF_GO(kf_runner_load(runner, artefact->outcome.artefact, artefact->outcome.artefact_len, NULL, &run, err));
  if (run.code == KF_RUN_OK) KF_GO(call_once(runner, rig, &run, err));
  status = run.code == KF_RUN_OK ? copy_outputs(rig, ret_outputs, err)
                                 : kf_fail(err, KF_ENOTFOUND, "%s", run.text);
out:
  kf_runner_free(runner);
  kf_rig_free(rig);
  kf_calls_free(calls);
  if (work_dir[0]) kf_fs_remove_tree(work_dir, NULL);
  return status;
}

/* For kf_expected_source. */
static kf_status run_initial(void *context, kf_inputs *inputs, void *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  const kf_task_means *means = context;
  const kf_artefact *initial = means->initial;
  if (!initial || initial->failed || initial->state != KF_ARTEFACT_READY)
    return kf_fail(err, KF_ENOTFOUND, "the task has no initial kernel that builds");
  kf_status status = kf_task_kernel_run(means, initial, inputs, ret_outputs, err);
  return status == KF_OK ? KF_OK : kf_err_context(err, status, "the initial kernel");
}

static kf_status need_oracle(kf_task_state *state, const kf_task_means *means, kf_err *err) {
  if (state->oracle || state->task->reference_kind == KF_REFERENCE_KERNEL) return KF_OK;
  if (state->task->reference_kind == KF_REFERENCE_TORCH)
    return kf_fail(err, KF_ENODEV,
                   "references in PyTorch need the torch harness, which this kf-eval does not have");
  char work_dir[KF_PATH_MAX];
  KF_TRY(kf_work_dir(means->work, "oracle", work_dir, err));
  return kf_oracle_new(state->task, work_dir, &state->oracle, err);
}

static kf_status outputs_as_doubles(const kf_inputs *inputs, void *raw[KF_ARGS_MAX],
                                    double *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  kf_status status = KF_OK;
  for (int a = 0; a < inputs->task->nargs; a++) {
    int64_t count = inputs->elements[a];
    ret_outputs[a] = raw[a] ? kf_alloc(sizeof(double) * (size_t)(count ? count : 1)) : NULL;
    if (raw[a] && !ret_outputs[a]) status = kf_nomem(err);
    for (int64_t i = 0; ret_outputs[a] && i < count; i++)
      ret_outputs[a][i] = kf_type_get(inputs->task->args[a].type, raw[a], (size_t)i);
    kf_free(raw[a]);
  }
  return status;
}

kf_status kf_task_oracle_run(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                             int precision, double *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  KF_TRY(need_oracle(state, means, err));
  if (!state->oracle) {
    void *raw[KF_ARGS_MAX] = {0};
    kf_task_means context = *means;
    KF_TRY(run_initial(&context, inputs, raw, err));
    return outputs_as_doubles(inputs, raw, ret_outputs, err);
  }
  const void *pointers[KF_ARGS_MAX];
  int64_t ns = 0;
  kf_inputs_pointers(inputs, pointers);
  return kf_oracle_run(state->oracle, inputs->symbols, pointers, precision,
                       means->settings->verify_reference_timeout_ms, ret_outputs, &ns, err);
}

static kf_status make_expected(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                               uint64_t seed, kf_family family, kf_expected **ret_expected, kf_err *err) {
  KF_TRY(need_oracle(state, means, err));
  kf_task_means context = *means;
  kf_expected_source source = {.oracle = state->oracle,
                               .run_initial = run_initial,
                               .context = &context,
                               .timeout_ms = means->settings->verify_reference_timeout_ms};
  return kf_expected_make(&source, inputs, seed, family, ret_expected, err);
}

static uint64_t case_seed(const kf_task_state *state, const kf_inputs *inputs, kf_family family) {
  kf_hasher hasher;
  kf_hash hash;
  uint64_t seed;
  kf_hasher_init(&hasher);
  kf_hasher_add(&hasher, &state->secret, sizeof state->secret);
  kf_hasher_add(&hasher, inputs->symbols, sizeof(int64_t) * (size_t)state->task->nsymbols);
  kf_hasher_add(&hasher, &family, sizeof family);
  kf_hasher_final(&hasher, &hash);
  memcpy(&seed, hash.bytes, sizeof seed);
  return seed;
}

kf_status kf_task_expected(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                           kf_family family, const kf_expected **ret_expected, kf_err *err) {
  size_t bytes = sizeof(int64_t) * (size_t)state->task->nsymbols;
  for (kf_expected_entry *e = state->expected; e; e = e->next) {
    if (e->family != family || memcmp(e->symbols, inputs->symbols, bytes) != 0) continue;
    *ret_expected = e->expected;
    return kf_inputs_fill(inputs, e->expected->seed, family, err);
  }
  kf_expected_entry *entry = kf_calloc(1, sizeof *entry);
  if (!entry) return kf_nomem(err);
  memcpy(entry->symbols, inputs->symbols, bytes);
  entry->family = family;
  kf_status status =
      make_expected(state, means, inputs, case_seed(state, inputs, family), family, &entry->expected, err);
  if (status != KF_OK) {
    kf_free(entry);
    return status;
  }
  entry->next = state->expected;
  state->expected = entry;
  *ret_expected = entry->expected;
  return KF_OK;
}

kf_status kf_task_expected_fresh(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                                 kf_expected **ret_expected, kf_err *err) {
  uint64_t seed;
  kf_random_bytes(&seed, sizeof seed);
  return make_expected(state, means, inputs, seed, KF_FAMILY_DECLARED, ret_expected, err);
}
