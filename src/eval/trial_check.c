/* trial_check.c - verification of a candidate, stages 0, 2 and 3; see trial_int.h and
 * docs/internals/evaluator.md. */
#include "eval/trial_int.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  LOOK_AGAIN_MS = 50,       /* docs/internals/evaluator.md, Second look */
  SHARE_MS = 500,           /* to find out how many cases of a wrong kernel are right */
  RACE_LOOK_NS = 200000000, /* longer calls are not repeated to tell a race */
  RACE_REPEATS = 2,
  THOROUGH_CALLS = 3,
  LONG_CALL_NS = 500000000,
  MEASURED_GATE_ELEMENTS =
      1 << 20 /* a larger measure case has too dear a reference for a precision gate of its own */
};

kf_status kf_trial_start_checker(kf_trial *trial, const kf_artefact *artefact, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_run_result run;
  KF_TRY(kf_spares_runner(j->spares, j->device, "check", &trial->checker, trial->checker_dir, err));
  trial->attached = NULL;
  trial->checker_stopped = false;
  trial->threads = 0;
  trial->look.due = false;
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

static void free_case(kf_trial *trial, kf_trial_case *c) {
  if (trial->attached == c->rig) trial->attached = NULL;
  if (trial->look.rig == c->rig) trial->look.due = false;
  kf_rig_free(c->rig);
  kf_inputs_free(c->inputs);
  memset(c, 0, sizeof *c);
}

void kf_trial_free_checks(kf_trial *trial) {
  for (int i = 0; i < KF_CASES_MAX; i++)
    free_case(trial, &trial->check[i]);
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
    free_case(trial, &c);
  return status;
}

kf_case_result *kf__trial_line(kf_trial *trial, const kf_inputs *inputs, bool measured) {
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

/* A kernel has no business with threads of its process; the host form may have as many as it is told. */
static void count_threads(kf_trial *trial, const kf_trial_case *c, kf_check_result *result) {
  const kf_device_info *device = trial->judgement->device;
  if (trial->threads == 0) return;
  bool is_host = kf_device_is_host(device->id);
  int threads = kf_runner_threads(trial->checker);
  int allowed = trial->threads + (is_host ? (int)device->limits.units - 1 : 0);
  if (threads <= allowed) return;
  kf_diagnosis *diagnosis = &result->diagnosis;
  result->kind = is_host ? KF_VERDICT_REFUSED : KF_VERDICT_CHEAT;
  memset(diagnosis, 0, sizeof *diagnosis);
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "thread");
  snprintf(diagnosis->where, sizeof diagnosis->where, "%s", c->inputs->case_text);
  snprintf(diagnosis->text, sizeof diagnosis->text, "%s",
           is_host ? "more threads than call->threads allows" : "the kernel started a thread in its process");
  snprintf(diagnosis->evidence, sizeof diagnosis->evidence, "%d threads before the first call, %d after one",
           trial->threads, threads);
}

static kf_status attach(kf_trial *trial, kf_trial_case *c, kf_check_result *result, kf_err *err) {
  kf_run_result run = {0};
  if (trial->checker_stopped) KF_TRY(kf_runner_resume(trial->checker, err));
  trial->checker_stopped = false;
  if (trial->attached == c->rig) return KF_OK;
  trial->attached = NULL;
  KF_TRY(kf_rig_attach(c->rig, trial->checker, &run, err));
  if (run.code != KF_RUN_OK)
    result->kind = kf_check_run_verdict(&run, c->rig->calls, c->inputs->case_text, &result->diagnosis);
  else
    trial->attached = c->rig;
  if (trial->threads == 0) trial->threads = kf_runner_threads(trial->checker);
  return KF_OK;
}

kf_status kf__trial_call(kf_trial *trial, kf_trial_case *c, const kf_expected *expected,
                         const kf_check_options *options, kf_check_result *ret_result, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  *ret_result = (kf_check_result){.kind = KF_VERDICT_CORRECT};
  if (j->serve) j->serve(j->context);
  if (j->canceled && j->canceled(j->context)) return kf_fail(err, KF_ECANCELED, "canceled");
  trial->look.due = false;
  KF_TRY(attach(trial, c, ret_result, err));
  if (ret_result->kind != KF_VERDICT_CORRECT) return KF_OK;
  KF_TRY(kf_check_call(trial->checker, c->rig, expected, options, ret_result, err));
  count_threads(trial, c, ret_result);
  trial->look =
      (kf_trial_look){.due = true, .rig = c->rig, .outputs = ret_result->outputs, .at_ns = kf_now_ns()};
  return KF_OK;
}

/* The process still runs after one of these. */
static bool is_wrong_output(kf_verdict_kind kind) {
  return kind == KF_VERDICT_WRONG_OUTPUT || kind == KF_VERDICT_IMPRECISE ||
         kind == KF_VERDICT_NONDETERMINISTIC;
}

/* A wrong output that differs from call to call is a race; its first counter-example stays. */
static kf_status tell_race(kf_trial *trial, kf_trial_case *c, const kf_check_options *options,
                           kf_check_result *result, kf_err *err) {
  kf_diagnosis *diagnosis = &result->diagnosis;
  bool told = strcmp(diagnosis->kind, "unwritten") == 0 || strcmp(diagnosis->kind, "nan") == 0;
  if (!is_wrong_output(result->kind) || told || result->wall_ns > RACE_LOOK_NS ||
      trial->judgement->state->task->determinism_tolerance)
    return KF_OK;
  for (int repeat = 0; repeat < RACE_REPEATS; repeat++) {
    kf_check_result again;
    KF_TRY(kf__trial_call(trial, c, NULL, options, &again, err));
    if (again.kind != KF_VERDICT_CORRECT) return KF_OK;
    if (kf_hash_equal(&again.outputs, &result->outputs)) continue;
    char text[sizeof diagnosis->text];
    snprintf(text, sizeof text, "repeated calls on the same inputs give different outputs; %.300s",
             diagnosis->text);
    snprintf(diagnosis->text, sizeof diagnosis->text, "%s", text);
    snprintf(diagnosis->kind, sizeof diagnosis->kind, "race");
    result->kind = KF_VERDICT_WRONG_OUTPUT;
    return KF_OK;
  }
  return KF_OK;
}

kf_status kf__trial_check(kf_trial *trial, kf_trial_case *c, const kf_expected *expected,
                          const kf_check_options *options, int stage, kf_case_result *line,
                          kf_check_result *ret_result, kf_err *err) {
  KF_TRY(kf__trial_call(trial, c, expected, options, ret_result, err));
  if (line && ret_result->worst > line->worst) line->worst = ret_result->worst;
  if (ret_result->kind == KF_VERDICT_CORRECT) return KF_OK;
  if (line) line->right = false;
  KF_TRY(tell_race(trial, c, options, ret_result, err));
  kf_trial_fail(trial, ret_result->kind, &ret_result->diagnosis, stage);
  return KF_OK;
}

kf_status kf_trial_settle(kf_trial *trial, int stage, kf_err *err) {
  if (!trial->look.due || kf_trial_decided(trial)) return KF_OK;
  int64_t left_ns = trial->look.at_ns + (int64_t)LOOK_AGAIN_MS * 1000000 - kf_now_ns();
  if (left_ns > 0) kf_sleep_ms(left_ns / 1000000 + 1);
  kf_check_result result;
  trial->look.due = false;
  KF_TRY(kf_check_look_again(trial->checker, trial->look.rig, &trial->look.outputs, &result, err));
  trial->checker_stopped = true;
  if (result.kind != KF_VERDICT_CORRECT) kf_trial_fail(trial, result.kind, &result.diagnosis, stage);
  return KF_OK;
}

kf_status kf__trial_open(kf_trial *trial, int index, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_trial_case *c = &trial->check[index];
  if (c->inputs) return KF_OK;
  return open_case(trial, j->state->task->check[index].values, j->candidate->check[index], c, err);
}

kf_status kf__trial_ready(kf_trial *trial, int index, kf_family family, const kf_expected **ret_expected,
                          kf_err *err) {
  KF_TRY(kf__trial_open(trial, index, err));
  return kf_task_expected(trial->judgement->state, &trial->means, trial->check[index].inputs, family,
                          ret_expected, err);
}

int64_t kf__trial_elements(const kf_task *task, const kf_case *c) {
  int64_t total = 0;
  for (int a = 0; a < task->nargs; a++) {
    int64_t elements = 0, shape[KF_RANK_MAX];
    if (kf_task_elements(task, a, c->values, &elements, shape, NULL) == KF_OK) total += elements;
  }
  return total;
}

static bool has_line(const kf_trial *trial, const char *case_text) {
  for (int i = 0; i < trial->verdict->ncases; i++)
    if (!trial->verdict->cases[i].measured && strcmp(trial->verdict->cases[i].symbols, case_text) == 0)
      return true;
  return false;
}

/* Of a kernel with a wrong output: one call of each check case that has none yet, so that the verdict tells
 * how many are right. What takes too long is left out. */
static kf_status find_share(kf_trial *trial, kf_err *err) {
  const kf_task *task = trial->judgement->state->task;
  int64_t until_ns = kf_now_ns() + (int64_t)SHARE_MS * 1000000;
  if (!is_wrong_output(trial->verdict->kind)) return KF_OK;
  for (int i = 0; i < task->ncheck && kf_now_ns() < until_ns; i++) {
    KF_TRY(kf__trial_open(trial, i, err));
    kf_trial_case *c = &trial->check[i];
    if (has_line(trial, c->inputs->case_text)) continue;
    const kf_expected *expected = NULL;
    kf_check_result result;
    const kf_check_options options = {.deadline_ns = until_ns};
    KF_TRY(kf__trial_ready(trial, i, KF_FAMILY_DECLARED, &expected, err));
    if (kf_now_ns() >= until_ns) return KF_OK;
    KF_TRY(kf__trial_call(trial, c, expected, &options, &result, err));
    kf_case_result *line = kf__trial_line(trial, c->inputs, false);
    if (line) line->worst = result.worst;
    if (line) line->right = result.kind == KF_VERDICT_CORRECT;
    if (result.kind != KF_VERDICT_CORRECT && !is_wrong_output(result.kind)) return KF_OK;
  }
  return KF_OK;
}

kf_status kf_trial_quick(kf_trial *trial, kf_err *err) {
  const kf_task *task = trial->judgement->state->task;
  int smallest[2] = {-1, -1};
  for (int i = 0; i < task->ncheck; i++) {
    int64_t size = kf__trial_elements(task, &task->check[i]);
    if (smallest[0] < 0 || size < kf__trial_elements(task, &task->check[smallest[0]])) {
      smallest[1] = smallest[0];
      smallest[0] = i;
    } else if (smallest[1] < 0 || size < kf__trial_elements(task, &task->check[smallest[1]])) {
      smallest[1] = i;
    }
  }
  /* The larger of the two first: its pattern of errors says more. */
  for (int i = 1; i >= 0; i--) {
    if (smallest[i] < 0) continue;
    const kf_expected *expected = NULL;
    kf_check_result result;
    const kf_check_options options = {.pattern = 0};
    KF_TRY(kf__trial_ready(trial, smallest[i], KF_FAMILY_DECLARED, &expected, err));
    kf_trial_case *c = &trial->check[smallest[i]];
    KF_TRY(kf__trial_check(trial, c, expected, &options, 0, kf__trial_line(trial, c->inputs, false), &result,
                           err));
    if (kf_trial_decided(trial)) break;
  }
  return find_share(trial, err);
}

/* Both poisons and a repeat beside busy cores, on one case and family: right each time, and bit for bit the
 * same unless the task allows otherwise. */
static kf_status check_thoroughly(kf_trial *trial, kf_trial_case *c, const kf_expected *expected, int stage,
                                  kf_case_result *line, kf_err *err) {
  kf_check_result first = {0}, again = {0};
  kf_check_options options = {.pattern = 0};
  KF_TRY(kf__trial_check(trial, c, expected, &options, stage, line, &first, err));
  for (int call = 1; call < THOROUGH_CALLS && !kf_trial_decided(trial); call++) {
    options.pattern = call & 1;
    options.under_load = call == THOROUGH_CALLS - 1;
    KF_TRY(kf__trial_check(trial, c, expected, &options, stage, line, &again, err));
    if (kf_trial_decided(trial) || trial->judgement->state->task->determinism_tolerance) continue;
    if (kf_hash_equal(&first.outputs, &again.outputs)) continue;
    kf_diagnosis diagnosis = {0};
    snprintf(diagnosis.kind, sizeof diagnosis.kind, "race");
    snprintf(diagnosis.where, sizeof diagnosis.where, "%s", c->inputs->case_text);
    snprintf(diagnosis.text, sizeof diagnosis.text,
             "the same inputs gave different output bits in call 1 and call %d", call + 1);
    snprintf(diagnosis.evidence, sizeof diagnosis.evidence,
             "both are within tolerance; say `determinism: tolerance` in the task if that is allowed");
    kf_trial_fail(trial, KF_VERDICT_NONDETERMINISTIC, &diagnosis, stage);
  }
  return KF_OK;
}

/* The measure case's memory on the candidate's side belongs to the race if there is one; here it is made for
 * the check. */
static kf_status check_measure_case(kf_trial *trial, int index, bool last, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  kf_trial_case c = {0};
  const kf_expected *expected = NULL;
  kf_check_options options = {.pattern = 1};
  KF_TRY(open_case(trial, j->state->task->measure[index].values, j->candidate->measure[index], &c, err));
  kf_status status = kf_task_expected(j->state, &trial->means, c.inputs, KF_FAMILY_DECLARED, &expected, err);
  kf_check_result first = {0}, again = {0};
  kf_case_result *line = kf__trial_line(trial, c.inputs, true);
  if (status == KF_OK) status = kf__trial_check(trial, &c, expected, &options, 2, line, &first, err);
  if (index < KF_RACE_CASES_MAX) trial->checked_ns[index] = first.wall_ns;
  /* A slow kernel is not called again: the check cases have repeated it. */
  options.pattern = 0;
  if (status == KF_OK && !kf_trial_decided(trial) && first.wall_ns < LONG_CALL_NS)
    status = kf__trial_check(trial, &c, expected, &options, 2, line, &again, err);
  bool cheap = first.wall_ns < LONG_CALL_NS &&
               kf__trial_elements(j->state->task, &j->state->task->measure[index]) <= MEASURED_GATE_ELEMENTS;
  if (status == KF_OK && cheap && !kf_trial_decided(trial)) status = kf__trial_precision(trial, &c, err);
  if (status == KF_OK && last) status = kf_trial_settle(trial, 2, err);
  free_case(trial, &c);
  return status;
}

kf_status kf_trial_full(kf_trial *trial, kf_err *err) {
  const kf_task *task = trial->judgement->state->task;
  for (int i = 0; i < task->ncheck && !kf_trial_decided(trial); i++) {
    const kf_expected *expected = NULL;
    KF_TRY(kf__trial_ready(trial, i, KF_FAMILY_DECLARED, &expected, err));
    kf_trial_case *c = &trial->check[i];
    KF_TRY(check_thoroughly(trial, c, expected, 2, kf__trial_line(trial, c->inputs, false), err));
  }
  if (!kf_trial_decided(trial)) KF_TRY(kf__trial_precision_check(trial, err));
  if (!kf_trial_decided(trial)) KF_TRY(kf__trial_families(trial, err));
  for (int i = 0; i < task->nmeasure && !kf_trial_decided(trial); i++)
    KF_TRY(check_measure_case(trial, i, i == task->nmeasure - 1, err));
  KF_TRY(kf_trial_settle(trial, 2, err));
  return find_share(trial, err);
}

static kf_status check_hidden(kf_trial *trial, const int64_t *symbols, const kf_calls *calls, bool last,
                              kf_err *err) {
  kf_trial_case c = {0};
  kf_expected *expected = NULL;
  kf_check_result result = {0};
  const kf_check_options options = {.pattern = 0};
  KF_TRY(open_case(trial, symbols, calls, &c, err));
  kf_status status = kf_task_expected_fresh(trial->judgement->state, &trial->means, c.inputs, &expected, err);
  if (status == KF_OK) status = kf__trial_check(trial, &c, expected, &options, 3, NULL, &result, err);
  if (status == KF_OK && last) status = kf_trial_settle(trial, 3, err);
  kf_expected_free(expected);
  free_case(trial, &c);
  return status;
}

kf_status kf_trial_recheck(kf_trial *trial, int measure_case, int seeds, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  if (!trial->checker) KF_TRY(kf_trial_start_checker(trial, j->candidate, err));
  for (int i = 0; i < seeds && !kf_trial_decided(trial); i++)
    KF_TRY(check_hidden(trial, j->state->task->measure[measure_case].values,
                        j->candidate->measure[measure_case], i == seeds - 1, err));
  return KF_OK;
}

kf_status kf_trial_hidden(kf_trial *trial, kf_err *err) {
  const kf_judgement *j = trial->judgement;
  const kf_artefact *artefact = j->confirm ? j->confirm : j->candidate;
  if (artefact->failed) {
    kf_trial_fail(trial, artefact->kind, &artefact->diagnosis, 3);
    return KF_OK;
  }
  const int nmeasure = j->state->task->nmeasure, count = artefact->nextra + nmeasure;
  kf_trial_stop_checker(trial);
  KF_TRY(kf_trial_start_checker(trial, artefact, err));
  for (int i = 0; i < artefact->nextra && !kf_trial_decided(trial); i++)
    KF_TRY(check_hidden(trial, j->hidden[i].values, artefact->extra[i], i == count - 1, err));
  for (int i = 0; i < nmeasure && !kf_trial_decided(trial); i++)
    KF_TRY(
        check_hidden(trial, j->state->task->measure[i].values, artefact->measure[i], i == nmeasure - 1, err));
  return KF_OK;
}
