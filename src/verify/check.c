/* check.c - one verified call; see check.h. */
#include "verify/check.h"

#include "base/philox.h"
#include "verify/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *run_kind(kf_run_code code) {
  switch (code) {
  case KF_RUN_BUILD_FAILED:
    return "compile";
  case KF_RUN_UNSUPPORTED:
    return "unsupported";
  case KF_RUN_REFUSED:
    return "plan";
  case KF_RUN_LAUNCH_FAILED:
    return "launch";
  case KF_RUN_OUT_OF_MEMORY:
    return "memory";
  case KF_RUN_CRASHED:
    return "signal";
  case KF_RUN_WRONG_MEMORY:
    return "out_of_bounds";
  case KF_RUN_TIMED_OUT:
    return "time";
  case KF_RUN_FORGED:
    return "forged";
  case KF_RUN_OK:
    break;
  }
  return "none";
}

static kf_verdict_kind run_verdict(kf_run_code code) {
  switch (code) {
  case KF_RUN_BUILD_FAILED:
    return KF_VERDICT_BUILD_FAILED;
  case KF_RUN_UNSUPPORTED:
    return KF_VERDICT_UNSUPPORTED;
  case KF_RUN_REFUSED:
    return KF_VERDICT_REFUSED;
  case KF_RUN_LAUNCH_FAILED:
    return KF_VERDICT_LAUNCH_FAILED;
  case KF_RUN_OUT_OF_MEMORY:
    return KF_VERDICT_OUT_OF_MEMORY;
  case KF_RUN_CRASHED:
    return KF_VERDICT_CRASHED;
  case KF_RUN_WRONG_MEMORY:
    return KF_VERDICT_WRONG_MEMORY;
  case KF_RUN_TIMED_OUT:
    return KF_VERDICT_TIMED_OUT;
  case KF_RUN_FORGED:
    return KF_VERDICT_CHEAT;
  case KF_RUN_OK:
    break;
  }
  return KF_VERDICT_CORRECT;
}

kf_verdict_kind kf_check_run_verdict(const kf_run_result *run, const kf_calls *calls, const char *case_text,
                                     kf_diagnosis *ret_diagnosis) {
  kf_diagnosis *diagnosis = ret_diagnosis;
  memset(diagnosis, 0, sizeof *diagnosis);
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "%s", run_kind(run->code));
  snprintf(diagnosis->where, sizeof diagnosis->where, "%s", case_text ? case_text : "");
  snprintf(diagnosis->text, sizeof diagnosis->text, "%s", run->text);
  if (run->code == KF_RUN_WRONG_MEMORY && calls && run->slot >= 0 && run->slot < calls->nbuffers) {
    const kf_buffer_spec *buffer = &calls->buffers[run->slot];
    snprintf(diagnosis->where, sizeof diagnosis->where, "%.60s of %.90s", buffer->name,
             case_text ? case_text : "");
    snprintf(diagnosis->evidence, sizeof diagnosis->evidence,
             "byte %" PRId64 " of %s, which has %" PRId64 " bytes", run->offset, buffer->name, buffer->bytes);
  }
  return run_verdict(run->code);
}

/* A guard byte changed: a write outside a buffer that stayed within its pages. */
kf_verdict_kind kf_check_guards(kf_rig *rig, kf_diagnosis *ret_diagnosis) {
  int slot = -1;
  int64_t offset = 0;
  if (!rig->region || kf_region_guards_ok(rig->region, &slot, &offset)) return KF_VERDICT_CORRECT;
  kf_region_guards_restore(rig->region);
  const kf_buffer_spec *buffer = NULL;
  for (int b = 0; b < rig->calls->nbuffers; b++)
    if (rig->slot[b] == slot) buffer = &rig->calls->buffers[b];
  kf_diagnosis *diagnosis = ret_diagnosis;
  memset(diagnosis, 0, sizeof *diagnosis);
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "out_of_bounds");
  snprintf(diagnosis->where, sizeof diagnosis->where, "%.60s of %.90s", buffer ? buffer->name : "?",
           rig->inputs->case_text);
  snprintf(diagnosis->text, sizeof diagnosis->text, "the kernel wrote outside %s",
           buffer ? buffer->name : "a buffer");
  snprintf(diagnosis->evidence, sizeof diagnosis->evidence,
           "guard byte at offset %" PRId64 " changed; the buffer has %" PRId64 " bytes", offset,
           buffer ? buffer->bytes : 0);
  return KF_VERDICT_WRONG_MEMORY;
}

/* Four lanes of multiply and rotate under a random key: outputs of a gigabyte must not cost a second, and who
 * does not know the key cannot look for two that collide. */
enum { LANES = 4 };
typedef struct {
  uint64_t lane[LANES];
} output_hasher;

static const uint64_t *hash_key(void) {
  static uint64_t key[LANES];
  if (key[0] == 0) kf_random_bytes(key, sizeof key);
  key[0] |= 1;
  return key;
}

static inline uint64_t mix(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * 0x9E3779B97F4A7C15u;
  return lane << 29 | lane >> 35;
}

static void hasher_add(output_hasher *hasher, const char *bytes, size_t len) {
  uint64_t words[LANES];
  uint64_t lane[LANES];
  memcpy(lane, hasher->lane, sizeof lane);
  size_t at = 0;
  for (; at + sizeof words <= len; at += sizeof words) {
    memcpy(words, bytes + at, sizeof words);
    for (int i = 0; i < LANES; i++)
      lane[i] = mix(lane[i], words[i]);
  }
  memset(words, 0, sizeof words);
  memcpy(words, bytes + at, len - at);
  for (int i = 0; i < LANES; i++)
    lane[i] = mix(mix(lane[i], words[i]), len);
  memcpy(hasher->lane, lane, sizeof lane);
}

static void hash_outputs(const kf_rig *rig, kf_hash *ret_hash) {
  output_hasher hasher;
  _Static_assert(sizeof hasher.lane == sizeof ret_hash->bytes, "the lanes are the hash");
  memcpy(hasher.lane, hash_key(), sizeof hasher.lane);
  for (int b = 0; b < rig->calls->nbuffers; b++)
    if (rig->slot[b] >= 0 && !rig->calls->buffers[b].is_temp)
      hasher_add(&hasher, kf_rig_data(rig, b), (size_t)rig->calls->buffers[b].bytes);
  memcpy(ret_hash->bytes, hasher.lane, sizeof ret_hash->bytes);
}

/* Out of the exact gate, but within the bound: right on average, not exact. */
static kf_status explain_inexact(const kf_rig *rig, const kf_expected *expected, int arg, const void *got,
                                 kf_check_result *result, kf_err *err) {
  kf_tolerance bound = kf_expected_tolerance(expected, rig->inputs->task, arg);
  kf_compare_result compared;
  bound.compare = KF_COMPARE_BOUND;
  KF_TRY(kf_compare_array(&bound, got, expected->want[arg], rig->inputs->elements[arg], &compared, err));
  if (!compared.right) return KF_OK;
  kf_diagnosis *diagnosis = &result->diagnosis;
  char text[sizeof diagnosis->text];
  result->kind = KF_VERDICT_IMPRECISE;
  snprintf(text, sizeof text, "%.280s; sums of small integers must come out exact in any order",
           diagnosis->text);
  snprintf(diagnosis->text, sizeof diagnosis->text, "%s", text);
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "imprecise");
  return KF_OK;
}

static kf_status compare_outputs(kf_rig *rig, const kf_expected *expected, int pattern,
                                 kf_check_result *result, kf_err *err) {
  const kf_inputs *inputs = rig->inputs;
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!expected->want[a]) continue;
    int buffer = kf_rig_buffer_of_arg(rig, a);
    kf_tolerance tolerance = kf_expected_tolerance(expected, inputs->task, a);
    kf_compare_result compared;
    const void *got = kf_rig_data(rig, buffer);
    KF_TRY(kf_compare_array(&tolerance, got, expected->want[a], inputs->elements[a], &compared, err));
    if (compared.worst > result->worst) result->worst = compared.worst;
    if (compared.right) continue;
    result->kind = KF_VERDICT_WRONG_OUTPUT;
    kf_diagnose_output(inputs->task->args[a].name, &tolerance, got, expected->want[a], inputs->shape[a],
                       inputs->task->args[a].rank, inputs->elements[a], pattern, inputs->case_text, &compared,
                       &result->diagnosis);
    if (strcmp(result->diagnosis.kind, "imprecise") == 0) result->kind = KF_VERDICT_IMPRECISE;
    return expected->exact[a] ? explain_inexact(rig, expected, a, got, result, err) : KF_OK;
  }
  return KF_OK;
}

static void add_precision(const kf_rig *rig, const kf_check_options *options) {
  const kf_inputs *inputs = rig->inputs;
  for (int a = 0; a < inputs->task->nargs && options->precision; a++) {
    int buffer = kf_rig_buffer_of_arg(rig, a);
    if (buffer < 0 || rig->slot[buffer] < 0) continue;
    kf_precision_add(options->precision, options->draw, a, inputs->task->args[a].type,
                     kf_rig_data(rig, buffer), inputs->elements[a], options->precision_sum);
  }
}

static kf_status run_once(kf_runner *runner, const kf_check_options *options, kf_run_times *ret_times,
                          kf_run_result *ret_run, kf_err *err) {
  kf_load *load = options->under_load ? kf_load_start() : NULL;
  kf_status status = kf_runner_run(runner, 1, options->deadline_ns, ret_times, ret_run, err);
  kf_load_stop(load);
  return status;
}

kf_status kf_check_call(kf_runner *runner, kf_rig *rig, const kf_expected *expected,
                        const kf_check_options *options, kf_check_result *ret_result, kf_err *err) {
  kf_check_result result = {.kind = KF_VERDICT_CORRECT};
  kf_run_result run;
  kf_run_times times;
  kf_rig_reset(rig, options->pattern);
  KF_TRY(run_once(runner, options, &times, &run, err));
  if (run.code != KF_RUN_OK) {
    result.kind = kf_check_run_verdict(&run, rig->calls, rig->inputs->case_text, &result.diagnosis);
    *ret_result = result;
    return KF_OK;
  }
  result.wall_ns = times.wall_ns;
  KF_TRY(kf_runner_stop(runner, err));
  result.kind = kf_check_guards(rig, &result.diagnosis);
  if (result.kind == KF_VERDICT_CORRECT && expected)
    KF_TRY(compare_outputs(rig, expected, options->pattern, &result, err));
  add_precision(rig, options);
  hash_outputs(rig, &result.outputs);
  KF_TRY(kf_runner_resume(runner, err));
  *ret_result = result;
  return KF_OK;
}

kf_status kf_check_look_again(kf_runner *runner, kf_rig *rig, const kf_hash *outputs,
                              kf_check_result *ret_result, kf_err *err) {
  kf_check_result result = {.kind = KF_VERDICT_CORRECT};
  kf_diagnosis *diagnosis = &result.diagnosis;
  KF_TRY(kf_runner_stop(runner, err));
  hash_outputs(rig, &result.outputs);
  bool same = kf_hash_equal(outputs, &result.outputs);
  if (!same || kf_check_guards(rig, diagnosis) != KF_VERDICT_CORRECT) {
    result.kind = KF_VERDICT_CHEAT;
    memset(diagnosis, 0, sizeof *diagnosis);
    snprintf(diagnosis->kind, sizeof diagnosis->kind, "late_write");
    snprintf(diagnosis->where, sizeof diagnosis->where, "%s", rig->inputs->case_text);
    snprintf(diagnosis->text, sizeof diagnosis->text,
             "%s changed after the kernel had said that it was done: work goes on behind the reply",
             same ? "bytes around a buffer" : "outputs");
  }
  *ret_result = result;
  return KF_OK;
}

static void sleep_ms(int64_t ms) {
  struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

kf_status kf_check_second_look(kf_runner *runner, kf_rig *rig, int64_t ms, kf_check_result *ret_result,
                               kf_err *err) {
  kf_hash before;
  hash_outputs(rig, &before);
  KF_TRY(kf_runner_resume(runner, err));
  sleep_ms(ms);
  return kf_check_look_again(runner, rig, &before, ret_result, err);
}
