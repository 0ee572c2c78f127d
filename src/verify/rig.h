/* rig.h - the memory of one case: shared read-only inputs, and each candidate's own outputs and temps
 * (docs/internals/evaluator.md, Memory).
 *
 * kf_inputs belongs to (task, case) and may be mapped by several runners at once, so that a race gives both
 * sides the same bytes. It is sealed against writing by any child. inout arguments live in the candidate's
 * own region and are restored before each call. Owner: the judge. */
#ifndef KF_VERIFY_RIG_H
#define KF_VERIFY_RIG_H

#include "device/runner.h"
#include "verify/fill.h"

typedef struct {
  const kf_task *task;
  int64_t symbols[KF_SYMBOLS_MAX];
  int64_t elements[KF_ARGS_MAX]; /* of each argument */
  int64_t shape[KF_ARGS_MAX][KF_RANK_MAX];
  int slot[KF_ARGS_MAX];    /* of `in` arguments in the region; -1 otherwise */
  void *inout[KF_ARGS_MAX]; /* pristine content of inout arguments; NULL otherwise */
  kf_region *region;        /* NULL if the task has no `in` array */
  char case_text[160];
} kf_inputs;

kf_status kf_inputs_new(const kf_task *task, const int64_t *symbols, int64_t base_align,
                        kf_inputs **ret_inputs, kf_err *err);
void kf_inputs_free(kf_inputs *inputs);
/* Writes all in and inout arguments for a seed and family. */
kf_status kf_inputs_fill(kf_inputs *inputs, uint64_t seed, kf_family family, kf_err *err);
/* Gives 1/256 of the cache lines of every in and inout argument new content from `seed`, one line of each 256
 * (at least one of an array), still legal for the declared fill: elements are drawn again, permutations have
 * pairs exchanged, sorted runs are levelled, symmetric matrices get a new pair. Constants and files stay. The
 * same seed on the same content gives the same bytes. (docs/internals/cheats.md, row 5.) */
kf_status kf_inputs_rewrite(kf_inputs *inputs, uint64_t seed, kf_err *err);
/* Multiplies every float input by 1 + xi * 2^-exponent, xi in {-1, +1} from the seed: for measuring
 * sensitivity. */
void kf_inputs_perturb(kf_inputs *inputs, uint64_t seed, int exponent);
/* Rounds every float input to the digits of the next lower precision (f64 to f32, f32 to tf32 or fp16, ...):
 * what a kernel that computes there makes of them. */
void kf_inputs_lower(kf_inputs *inputs);
/* Replaces subnormal float inputs by zero, as a device may that flushes them. */
void kf_inputs_flush(kf_inputs *inputs);
/* Replaces every float input by its absolute value: the reference then gives s = sum |a||b|
 * (docs/internals/evaluator.md, Tolerance). */
void kf_inputs_absolute(kf_inputs *inputs);
/* The content of an in or inout argument, writable by the judge; NULL for others. */
void *kf_inputs_data(const kf_inputs *inputs, int arg);
/* One pointer per argument, NULL where there is no input: what kf_oracle_run takes. */
void kf_inputs_pointers(const kf_inputs *inputs, const void *ret_pointers[KF_ARGS_MAX]);

typedef struct {
  kf_inputs *inputs;                    /* borrowed */
  const kf_calls *calls;                /* borrowed */
  kf_region *region;                    /* outputs, inout, temps; NULL if there is none */
  int slot[KF_ARGS_MAX + KF_TEMPS_MAX]; /* of buffer i, -1 for inputs */
  kf_buffer_place places[KF_ARGS_MAX + KF_TEMPS_MAX];
} kf_rig;

kf_status kf_rig_new(kf_inputs *inputs, const kf_calls *calls, int64_t base_align, kf_rig **ret_rig,
                     kf_err *err);
void kf_rig_free(kf_rig *rig);
/* Maps the memory into the runner and sends the resolved plan. */
kf_status kf_rig_attach(kf_rig *rig, kf_runner *runner, kf_run_result *ret_result, kf_err *err);
/* Poisons outputs and temps (pattern 0 or 1), restores inout arguments. */
void kf_rig_reset(kf_rig *rig, int pattern);
void *kf_rig_data(const kf_rig *rig,
                  int buffer); /* of kf_calls.buffers; judge's mapping; outputs and temps only */
int kf_rig_buffer_of_arg(const kf_rig *rig, int arg); /* index into calls->buffers, -1 */
bool kf_rig_has_inout(const kf_rig *rig);

#endif
