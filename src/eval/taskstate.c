/* taskstate.c - oracle, expected data and hidden shapes of a task; see taskstate.h. */
#include "eval/taskstate.h"

#include "base/alloc.h"

#include <string.h>

kf_status kf_task_state_new(kf_task *task, const kf_hash *blob, kf_task_state **ret_state, kf_err *err) {
  kf_task_state *state = kf_calloc(1, sizeof *state);
  if (!state) {
    kf_task_free(task);
    return kf_nomem(err);
  }
  state->task = task;
  state->blob = *blob;
  kf_random_bytes(&state->secret, sizeof state->secret);
  kf_pool_init(&state->pool);
  *ret_state = state;
  return KF_OK;
}

static void drop_initial(kf_task_state *state) {
  kf_runner_free(state->initial);
  state->initial = NULL;
  if (state->initial_dir[0]) kf_fs_remove_tree(state->initial_dir, NULL);
  state->initial_dir[0] = '\0';
}

void kf_task_state_free(kf_task_state *state) {
  if (!state) return;
  kf_pool_done(&state->pool);
  drop_initial(state);
  kf_oracle_free(state->oracle);
  kf_task_free(state->task);
  kf_free(state);
}

void kf_task_state_begin(kf_task_state *state) {
  kf_pool_begin(&state->pool);
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

typedef struct {
  kf_task_state *state;
  const kf_task_means *means;
} making;

/* The initial kernel's process, running and loaded; *ret_run says why it is not. */
static kf_status wake_initial(const making *m, kf_run_result *ret_run, kf_err *err) {
  kf_task_state *state = m->state;
  const kf_task_means *means = m->means;
  const kf_artefact *initial = means->initial;
  *ret_run = (kf_run_result){.code = KF_RUN_OK};
  if (state->initial && kf_hash_equal(&state->initial_key, &initial->key))
    return kf_runner_resume(state->initial, err);
  drop_initial(state);
  KF_TRY(kf_work_dir(means->work, "initial", state->initial_dir, err));
  kf_runner_options options = {.device_id = means->device->id,
                               .work_dir = state->initial_dir,
                               .memory_bytes = means->settings->sandbox_memory_mib << 20,
                               .call_timeout_ms = means->settings->verify_call_timeout_ms};
  KF_TRY(kf_runner_start(&options, &state->initial, err));
  state->initial_key = initial->key;
  return kf_runner_load(state->initial, initial->outcome.artefact, initial->outcome.artefact_len, NULL,
                        ret_run, err);
}

/* Stopped afterwards, unless it failed: then it can only be freed. */
static kf_status call_initial(const making *m, kf_rig *rig, kf_run_result *run, kf_err *err) {
  kf_run_times times;
  KF_TRY(wake_initial(m, run, err));
  if (run->code == KF_RUN_OK) KF_TRY(kf_rig_attach(rig, m->state->initial, run, err));
  if (run->code != KF_RUN_OK) return KF_OK;
  kf_rig_reset(rig, 0);
  KF_TRY(kf_runner_run(m->state->initial, 1, 0, &times, run, err));
  return run->code == KF_RUN_OK ? kf_runner_stop(m->state->initial, err) : KF_OK;
}

/* The initial kernel on the present inputs; for kf_expected_source. */
static kf_status run_initial(void *context, kf_inputs *inputs, void *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  const making *m = context;
  const kf_task_means *means = m->means;
  const kf_artefact *initial = means->initial;
  if (!initial || initial->failed || initial->state != KF_ARTEFACT_READY)
    return kf_fail(err, KF_ENOTFOUND, "the task has no initial kernel that builds");
  kf_calls *calls = NULL;
  kf_rig *rig = NULL;
  int64_t workspace = 0;
  kf_run_result run = {0};
  kf_status status = kf_plan_resolve(initial->plan, inputs->task, &initial->binding, inputs->symbols,
                                     &means->device->limits, &calls, err);
  if (status == KF_EREFUSED)
    return kf_fail(err, KF_ENOTFOUND, "the initial kernel's plan refuses %s", inputs->case_text);
  if (status != KF_OK) return status;
  KF_GO(kf_artefact_workspace(initial, inputs->symbols, &workspace, err));
  kf_calls_add_workspace(calls, workspace);
  KF_GO(kf_rig_new(inputs, calls, means->device->base_align, &rig, err));
  KF_GO(call_initial(m, rig, &run, err));
  status = run.code == KF_RUN_OK ? copy_outputs(rig, ret_outputs, err)
                                 : kf_fail(err, KF_ENOTFOUND, "the initial kernel fails: %s", run.text);
out:
  if (status != KF_OK) drop_initial(m->state);
  kf_rig_free(rig);
  kf_calls_free(calls);
  return status;
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

static kf_expected_source source_of(const making *m) {
  return (kf_expected_source){.oracle = m->state->oracle,
                              .run_initial = run_initial,
                              .context = (void *)(uintptr_t)m,
                              .timeout_ms = m->means->settings->verify_reference_timeout_ms};
}

/* Seed `index` of a case and family; nobody can tell it without the session's secret. */
static uint64_t case_seed(const kf_task_state *state, const kf_pool_key *key, int index) {
  kf_hasher hasher;
  kf_hash hash;
  uint64_t seed;
  kf_hasher_init(&hasher);
  kf_hasher_add(&hasher, &state->secret, sizeof state->secret);
  kf_hasher_add(&hasher, key->symbols, sizeof(int64_t) * (size_t)key->nsymbols);
  kf_hasher_add(&hasher, &key->family, sizeof key->family);
  kf_hasher_add(&hasher, &index, sizeof index);
  kf_hasher_final(&hasher, &hash);
  memcpy(&seed, hash.bytes, sizeof seed);
  return seed;
}

/* What kf_pool_make needs. */
typedef struct {
  making making;
  kf_inputs *inputs;
} pool_context;

static kf_status make_item(void *context, const kf_pool_key *key, int index, kf_pool_item *ret_item,
                           kf_err *err) {
  const pool_context *c = context;
  KF_TRY(need_oracle(c->making.state, c->making.means, err));
  kf_expected_source source = source_of(&c->making);
  uint64_t seed = case_seed(c->making.state, key, index);
  if (key->family == KF_POOL_PRECISION)
    return kf_precision_make(&source, c->inputs, seed, &ret_item->precision, err);
  return kf_expected_make(&source, c->inputs, seed, (kf_family)key->family, &ret_item->expected, err);
}

static kf_status get_item(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs, int family,
                          const kf_pool_item **ret_item, bool *ret_made, kf_err *err) {
  kf_pool_key key = {.symbols = inputs->symbols, .nsymbols = state->task->nsymbols, .family = family};
  pool_context context = {{state, means}, inputs};
  return kf_pool_get(&state->pool, &key, make_item, &context, ret_item, ret_made, err);
}

kf_status kf_task_expected(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                           kf_family family, const kf_expected **ret_expected, kf_err *err) {
  const kf_pool_item *item = NULL;
  bool made = false;
  KF_TRY(get_item(state, means, inputs, (int)family, &item, &made, err));
  *ret_expected = item->expected;
  return made ? KF_OK : kf_inputs_fill(inputs, item->expected->seed, family, err);
}

kf_status kf_task_precision(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                            const kf_precision **ret_precision, kf_err *err) {
  const kf_pool_item *item = NULL;
  bool made = false;
  KF_TRY(get_item(state, means, inputs, KF_POOL_PRECISION, &item, &made, err));
  *ret_precision = item->precision;
  return KF_OK;
}

kf_status kf_task_expected_fresh(kf_task_state *state, const kf_task_means *means, kf_inputs *inputs,
                                 kf_expected **ret_expected, kf_err *err) {
  uint64_t seed;
  const making m = {state, means};
  kf_random_bytes(&seed, sizeof seed);
  KF_TRY(need_oracle(state, means, err));
  kf_expected_source source = source_of(&m);
  return kf_expected_make(&source, inputs, seed, KF_FAMILY_DECLARED, ret_expected, err);
}

/* ---- for the admission of a task ---- */

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
  int64_t workspace = 0;
  kf_run_result run = {0};
  char work_dir[KF_PATH_MAX] = "";
  kf_status status = kf_plan_resolve(artefact->plan, inputs->task, &artefact->binding, inputs->symbols,
                                     &means->device->limits, &calls, err);
  if (status == KF_EREFUSED) return kf_fail(err, KF_ENOTFOUND, "its plan refuses %s", inputs->case_text);
  if (status != KF_OK) return status;
  KF_GO(kf_artefact_workspace(artefact, inputs->symbols, &workspace, err));
  kf_calls_add_workspace(calls, workspace);
  KF_GO(kf_rig_new(inputs, calls, means->device->base_align, &rig, err));
  KF_GO(kf_work_dir(means->work, "admit", work_dir, err));
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
    making m = {state, means};
    KF_TRY(run_initial(&m, inputs, raw, err));
    return outputs_as_doubles(inputs, raw, ret_outputs, err);
  }
  const void *pointers[KF_ARGS_MAX];
  int64_t ns = 0;
  kf_inputs_pointers(inputs, pointers);
  return kf_oracle_run(state->oracle, inputs->symbols, pointers, precision,
                       means->settings->verify_reference_timeout_ms, ret_outputs, &ns, err);
}
