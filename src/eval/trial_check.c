/* trial_check.c - verification of a candidate, stages 0, 2 and 3; see trial_int.h and
 * docs/internals/evaluator.md. */
#include "eval/trial_int.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

kf_status kf_trial_start_checker(kf_trial *trial, const kf_artefact *artefact, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_run_result run;
  KF_TRY(kf_spares_runner(j->spares, j->device, "check", &trial->checker, trial->checker_dir, err));
  KF_TRY(kf_runner_load(trial->checker, artefact->outcome.artefact, artefact->outcome.artefact_len,
                        trial->verdict->enforced, &run, err));
  if (run.code == KF_RUN_OK) return KF_OK;
  kf_diagnosis diagnosis;
  kf_verdict_kind kind = kf_check_run_verdict(&run, NULL, "loading", &diagnosis);
  kf_trial_fail(trial, kind, &diagnosis, trial->verdict->stage);
  return KF_OK;
}

void kf_trial_stop_checker(kf_trial *trial) {
  if (trial->checker && trial->verdict->kind != KF_VERDICT_CORRECT) {
    /* What it printed helps to understand a failure; after the compiler's log. */
    kf_buf output;
    kf_buf_init(&output, KF_CHILD_OUTPUT_MAX);
    size_t used = strlen(trial->verdict->log);
    if (kf_runner_output(trial->checker, &output, NULL) == KF_OK && output.len)
      snprintf(trial->verdict->log + used, sizeof trial->verdict->log - used, "%s[printed]\n%s",
               used ? "\n" : "", kf_buf_text(&output));
    kf_buf_done(&output);
  }
  kf_runner_free(trial->checker);
  trial->checker = NULL;
  if (trial->checker_dir[0]) kf_fs_remove_tree(trial->checker_dir, NULL);
  trial->checker_dir[0] = '\0';
}

static void free_case(kf_trial_case *c) {
  kf_rig_free(c->rig);
  kf_inputs_free(c->inputs);
  memset(c, 0, sizeof *c);
}

void kf_trial_free_checks(kf_trial *trial) {
  for (int i = 0; i < KF_CASES_MAX; i++)
    free_case(&trial->check[i]);
}

static kf_status open_case(kf_trial *trial, const int64_t *symbols, const kf_calls *calls,
                           kf_trial_case *ret_case, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_trial_case c = {0};
  kf_status status = kf_inputs_new(j->state->task, symbols, j->device->base_align, &c.inputs, err);
  if (status == KF_OK) status = kf_rig_new(c.inputs, calls, j->device->base_align, &c.rig, err);
  if (status == KF_OK)
    *ret_case = c;
  else
    free_case(&c);
  return status;
}

/* The case's line in the verdict, added at its first call. */
static kf_case_result *case_line(kf_trial *trial, const kf_inputs *inputs, bool measured) {
  kf_verdict *v = trial->verdict;
  for (int i = 0; i < v->ncases; i++)
    if (v->cases[i].measured == measured && strcmp(v->cases[i].symbols, inputs->case_text) == 0)
      return &v->cases[i];
  if (v->ncases == KF_VERDICT_CASES_MAX) return NULL;
  kf_case_result *line = &v->cases[v->ncases++];
  memset(line, 0, sizeof *line);
  snprintf(line->symbols, sizeof line->symbols, "%s", inputs->case_text);
  line->measured = measured;
  line->right = true;
  return line;
}

/* One checked call; a failure decides the verdict. `where` of the case line may be NULL for hidden cases,
 * which are not listed. */
static kf_status check(kf_trial *trial, kf_trial_case *c, const kf_expected *expected, int pattern, int stage,
                       kf_case_result *line, kf_check_result *ret_result, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_run_result run = {0};
  *ret_result = (kf_check_result){.kind = KF_VERDICT_CORRECT};
  if (j->serve) j->serve(j->context);
  if (j->canceled && j->canceled(j->context)) return kf_fail(err, KF_ECANCELED, "canceled");
  KF_TRY(kf_rig_attach(c->rig, trial->checker, &run, err));
  if (run.code != KF_RUN_OK) {
    ret_result->kind =
        kf_check_run_verdict(&run, c->rig->calls, c->inputs->case_text, &ret_result->diagnosis);
  } else {
    KF_TRY(kf_check_call(trial->checker, c->rig, expected, pattern, 0, ret_result, err));
  }
  if (line && ret_result->worst > line->worst) line->worst = ret_result->worst;
  if (ret_result->kind == KF_VERDICT_CORRECT) return KF_OK;
  if (line) line->right = false;
  kf_trial_fail(trial, ret_result->kind, &ret_result->diagnosis, stage);
  return KF_OK;
}

/* Check case `index`, opened and with its expected data, inputs filled. */
static kf_status ready_check(kf_trial *trial, int index, kf_family family, const kf_expected **ret_expected,
                             kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_trial_case *c = &trial->check[index];
  if (!c->inputs)
    KF_TRY(open_case(trial, j->state->task->check[index].values, j->candidate->check[index], c, err));
  return kf_task_expected(j->state, &trial->means, c->inputs, family, ret_expected, err);
}

static int64_t case_elements(const kf_task *task, const kf_case *c) {
  int64_t total = 0;
  for (int a = 0; a < task->nargs; a++) {
    int64_t elements = 0, shape[KF_RANK_MAX];
    if (kf_task_elements(task, a, c->values, &elements, shape, NULL) == KF_OK) total += elements;
  }
  return total;
}

kf_status kf_trial_quick(kf_trial *trial, kf_err *err) {
  const kf_task *task = trial->judgement->state->task;
  int smallest[2] = {-1, -1};
  for (int i = 0; i < task->ncheck; i++) {
    int64_t size = case_elements(task, &task->check[i]);
    if (smallest[0] < 0 || size < case_elements(task, &task->check[smallest[0]])) {
      smallest[1] = smallest[0];
      smallest[0] = i;
    } else if (smallest[1] < 0 || size < case_elements(task, &task->check[smallest[1]])) {
      smallest[1] = i;
    }
  }
  /* The larger of the two first: its pattern of errors says more. */
  for (int i = 1; i >= 0; i--) {
    if (smallest[i] < 0) continue;
    const kf_expected *expected = NULL;
    kf_check_result result;
    KF_TRY(ready_check(trial, smallest[i], KF_FAMILY_DECLARED, &expected, err));
    kf_trial_case *c = &trial->check[smallest[i]];
    KF_TRY(check(trial, c, expected, 0, 0, case_line(trial, c->inputs, false), &result, err));
    if (kf_trial_decided(trial)) break;
  }
  return KF_OK;
}

/* Both poisons and a repeat on one case and family: right each time, and bit for bit the same unless the task
 * allows otherwise. */
static kf_status check_thoroughly(kf_trial *trial, kf_trial_case *c, const kf_expected *expected, int stage,
                                  kf_case_result *line, kf_err *err) {
  kf_check_result first = {0}, again = {0};
  KF_TRY(check(trial, c, expected, 0, stage, line, &first, err));
  for (int repeat = 1; repeat < 3 && !kf_trial_decided(trial); repeat++) {
    KF_TRY(check(trial, c, expected, repeat & 1, stage, line, &again, err));
    if (kf_trial_decided(trial) || trial->judgement->state->task->determinism_tolerance) continue;
    if (kf_hash_equal(&first.outputs, &again.outputs)) continue;
    kf_diagnosis diagnosis = {0};
    snprintf(diagnosis.kind, sizeof diagnosis.kind, "race");
    snprintf(diagnosis.where, sizeof diagnosis.where, "%s", c->inputs->case_text);
    snprintf(diagnosis.text, sizeof diagnosis.text,
             "the same inputs gave different output bits in call 1 and call %d", repeat + 1);
    snprintf(diagnosis.evidence, sizeof diagnosis.evidence,
             "both are within tolerance; say `determinism: tolerance` in the task if that is allowed");
    kf_trial_fail(trial, KF_VERDICT_NONDETERMINISTIC, &diagnosis, stage);
  }
  return KF_OK;
}

/* Families beside the declared one, on the largest check case: values that a shortcut for N(0,1) would get
 * wrong. */
static kf_status check_families(kf_trial *trial, kf_err *err) {
  static const kf_family families[] = {KF_FAMILY_UNIFORM_SYMMETRIC, KF_FAMILY_SHIFTED, KF_FAMILY_TINY};
  const kf_task *task = trial->judgement->state->task;
  int largest = 0;
  for (int i = 1; i < task->ncheck; i++)
    if (case_elements(task, &task->check[i]) > case_elements(task, &task->check[largest])) largest = i;
  for (size_t f = 0; f < KF_COUNTOF(families) && task->ncheck && !kf_trial_decided(trial); f++) {
    const kf_expected *expected = NULL;
    kf_check_result result;
    KF_TRY(ready_check(trial, largest, families[f], &expected, err));
    kf_trial_case *c = &trial->check[largest];
    KF_TRY(check(trial, c, expected, 0, 2, case_line(trial, c->inputs, false), &result, err));
    if (!kf_trial_decided(trial)) continue;
    kf_diagnosis *diagnosis = &trial->verdict->diagnosis;
    size_t used = strlen(diagnosis->where);
    snprintf(diagnosis->where + used, sizeof diagnosis->where - used, ", inputs %s",
             kf_family_name(families[f]));
  }
  return KF_OK;
}

/* The measure case's memory on the candidate's side belongs to the race if there is one; here it is made for
 * the check. */
static kf_status check_measure_case(kf_trial *trial, int index, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_trial_case c = {0};
  const kf_expected *expected = NULL;
  KF_TRY(open_case(trial, j->state->task->measure[index].values, j->candidate->measure[index], &c, err));
  kf_status status = kf_task_expected(j->state, &trial->means, c.inputs, KF_FAMILY_DECLARED, &expected, err);
  kf_check_result first = {0}, again = {0};
  kf_case_result *line = case_line(trial, c.inputs, true);
  if (status == KF_OK) status = check(trial, &c, expected, 1, 2, line, &first, err);
  if (index < KF_RACE_CASES_MAX) trial->checked_ns[index] = first.wall_ns;
  /* A slow kernel is not called again: the check cases have repeated it. */
  if (status == KF_OK && !kf_trial_decided(trial) && first.wall_ns < INT64_C(500000000))
    status = check(trial, &c, expected, 0, 2, line, &again, err);
  free_case(&c);
  return status;
}

kf_status kf_trial_full(kf_trial *trial, kf_err *err) {
  const kf_task *task = trial->judgement->state->task;
  for (int i = 0; i < task->ncheck && !kf_trial_decided(trial); i++) {
    const kf_expected *expected = NULL;
    KF_TRY(ready_check(trial, i, KF_FAMILY_DECLARED, &expected, err));
    kf_trial_case *c = &trial->check[i];
    KF_TRY(check_thoroughly(trial, c, expected, 2, case_line(trial, c->inputs, false), err));
  }
  KF_TRY(check_families(trial, err));
  for (int i = 0; i < task->nmeasure && !kf_trial_decided(trial); i++)
    KF_TRY(check_measure_case(trial, i, err));
  return KF_OK;
}

static kf_status check_hidden(kf_trial *trial, const int64_t *symbols, const kf_calls *calls, kf_err *err) {
  kf_trial_case c = {0};
  kf_expected *expected = NULL;
  kf_check_result result = {0};
  KF_TRY(open_case(trial, symbols, calls, &c, err));
  kf_status status = kf_task_expected_fresh(trial->judgement->state, &trial->means, c.inputs, &expected, err);
  if (status == KF_OK) status = check(trial, &c, expected, 0, 3, NULL, &result, err);
  kf_expected_free(expected);
  free_case(&c);
  return status;
}

kf_status kf_trial_recheck(kf_trial *trial, int measure_case, int seeds, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  if (!trial->checker) KF_TRY(kf_trial_start_checker(trial, j->candidate, err));
  for (int i = 0; i < seeds && !kf_trial_decided(trial); i++)
    KF_TRY(check_hidden(trial, j->state->task->measure[measure_case].values, j->candidate->measure[measure_case],
                        err));
  return KF_OK;
}

kf_status kf_trial_hidden(kf_trial *trial, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  const kf_artefact *artefact = j->confirm ? j->confirm : j->candidate;
  if (artefact->failed) {
    kf_trial_fail(trial, artefact->kind, &artefact->diagnosis, 3);
    return KF_OK;
  }
  kf_trial_stop_checker(trial);
  KF_TRY(kf_trial_start_checker(trial, artefact, err));
  for (int i = 0; i < artefact->nextra && !kf_trial_decided(trial); i++)
    KF_TRY(check_hidden(trial, j->hidden[i].values, artefact->extra[i], err));
  for (int i = 0; i < j->state->task->nmeasure && !kf_trial_decided(trial); i++)
    KF_TRY(check_hidden(trial, j->state->task->measure[i].values, artefact->measure[i], err));
  return KF_OK;
}
