/* rig.c - memory of a case; see rig.h. */
#include "verify/rig.h"

#include "base/alloc.h"
#include "base/philox.h"
#include "verify/compare_limit.h"

#include <math.h>
#include <string.h>

enum { PURPOSE_PERTURB = 0x7065 };

static size_t array_bytes(const kf_inputs *inputs, int arg) {
  return (size_t)inputs->elements[arg] * kf_type_size(inputs->task->args[arg].type);
}

static kf_status lay_out(kf_inputs *inputs, int64_t base_align, kf_err *err) {
  const kf_task *task = inputs->task;
  kf_slot_spec slots[KF_ARGS_MAX];
  int nslots = 0;
  for (int a = 0; a < task->nargs; a++) {
    inputs->slot[a] = -1;
    KF_TRY(kf_task_elements(task, a, inputs->symbols, &inputs->elements[a], inputs->shape[a], err));
    if (!kf_role_is_array(task->args[a].role)) continue;
    size_t bytes = array_bytes(inputs, a);
    if (task->args[a].role == KF_ROLE_IN) {
      inputs->slot[a] = nslots;
      slots[nslots++] = (kf_slot_spec){.bytes = bytes, .align = (size_t)base_align};
    } else if (task->args[a].role == KF_ROLE_INOUT) {
      inputs->inout[a] = kf_calloc(1, bytes ? bytes : 1);
      if (!inputs->inout[a]) return kf_nomem(err);
    }
  }
  if (nslots == 0) return KF_OK;
  uint64_t guard_seed = 0;
  kf_random_bytes(&guard_seed, sizeof guard_seed);
  return kf_region_new(slots, nslots, true, guard_seed, &inputs->region, err);
}

kf_status kf_inputs_new(const kf_task *task, const int64_t *symbols, int64_t base_align,
                        kf_inputs **ret_inputs, kf_err *err) {
  kf_inputs *inputs = kf_calloc(1, sizeof *inputs);
  if (!inputs) return kf_nomem(err);
  inputs->task = task;
  memcpy(inputs->symbols, symbols, sizeof(int64_t) * (size_t)task->nsymbols);
  kf_buf text;
  kf_buf_init(&text, sizeof inputs->case_text - 1);
  if (kf_task_case_text(task, symbols, &text, NULL) == KF_OK)
    snprintf(inputs->case_text, sizeof inputs->case_text, "%s", kf_buf_text(&text));
  kf_buf_done(&text);
  kf_status status = lay_out(inputs, base_align, err);
  if (status != KF_OK) {
    kf_inputs_free(inputs);
    return status;
  }
  *ret_inputs = inputs;
  return KF_OK;
}

void kf_inputs_free(kf_inputs *inputs) {
  if (!inputs) return;
  for (int a = 0; a < KF_ARGS_MAX; a++)
    kf_free(inputs->inout[a]);
  kf_region_free(inputs->region);
  kf_free(inputs);
}

void *kf_inputs_data(const kf_inputs *inputs, int arg) {
  if (inputs->inout[arg]) return inputs->inout[arg];
  return inputs->slot[arg] >= 0 ? kf_region_data(inputs->region, inputs->slot[arg]) : NULL;
}

void kf_inputs_pointers(const kf_inputs *inputs, const void *ret_pointers[KF_ARGS_MAX]) {
  for (int a = 0; a < KF_ARGS_MAX; a++)
    ret_pointers[a] = a < inputs->task->nargs ? kf_inputs_data(inputs, a) : NULL;
}

kf_status kf_inputs_fill(kf_inputs *inputs, uint64_t seed, kf_family family, kf_err *err) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    void *data = kf_inputs_data(inputs, a);
    if (data)
      KF_TRY(kf_fill_arg(inputs->task, a, inputs->symbols, seed, family, data, inputs->elements[a], err));
  }
  return KF_OK;
}

void kf_inputs_perturb(kf_inputs *inputs, uint64_t seed, int exponent) {
  double step = ldexp(1.0, -exponent);
  float step_f32 = (float)step;
  for (int a = 0; a < inputs->task->nargs; a++) {
    void *data = kf_inputs_data(inputs, a);
    kf_type type = inputs->task->args[a].type;
    if (!data || !kf_type_is_float(type)) continue;
    kf_rng rng;
    kf_rng_init(&rng, seed, (uint64_t)a, PURPOSE_PERTURB);
    uint32_t bits = 0;
    for (int64_t i = 0; i < inputs->elements[a]; i++) {
      if (i % 32 == 0) bits = kf_rng_u32(&rng);
      double sign = (bits >> (i % 32)) & 1 ? 1.0 : -1.0;
      if (type == KF_TYPE_F32) { /* the common case, by far the largest arrays */
        float *value = (float *)data + i;
        *value += (float)sign * step_f32 * *value;
        continue;
      }
      kf_type_put(type, data, (size_t)i, kf_type_get(type, data, (size_t)i) * (1.0 + sign * step));
    }
  }
}

/* Applies `change` to every element of every float input. */
static void change_floats(kf_inputs *inputs, double (*change)(kf_type type, double value)) {
  for (int a = 0; a < inputs->task->nargs; a++) {
    void *data = kf_inputs_data(inputs, a);
    kf_type type = inputs->task->args[a].type;
    if (!data || !kf_type_is_float(type)) continue;
    for (int64_t i = 0; i < inputs->elements[a]; i++)
      kf_type_put(type, data, (size_t)i, change(type, kf_type_get(type, data, (size_t)i)));
  }
}

static double absolute(kf_type type, double value) {
  (void)type;
  return fabs(value);
}

/* Significant binary digits one step below a type: f32 for f64, those of tf32 and fp16 for f32, of bf16 for
 * f16, of e4m3 for bf16, of e5m2 for e4m3. */
static int lower_digits(kf_type type) {
  switch (type) {
  case KF_TYPE_F64:
    return 24;
  case KF_TYPE_F32:
    return 11;
  case KF_TYPE_F16:
    return 8;
  case KF_TYPE_BF16:
    return 4;
  case KF_TYPE_E4M3:
    return 3;
  default:
    return 2;
  }
}

static double round_lower(kf_type type, double value) {
  int exponent;
  if (!isfinite(value) || value == 0) return value;
  double fraction = frexp(value, &exponent); /* [1/2, 1) */
  double scale = ldexp(1.0, lower_digits(type));
  return ldexp(nearbyint(fraction * scale) / scale, exponent);
}

static double flush_subnormal(kf_type type, double value) {
  return fabs(value) < kf__float_range(type)->normal_min ? 0 * value : value;
}

void kf_inputs_lower(kf_inputs *inputs) {
  change_floats(inputs, round_lower);
}

void kf_inputs_flush(kf_inputs *inputs) {
  change_floats(inputs, flush_subnormal);
}

void kf_inputs_absolute(kf_inputs *inputs) {
  change_floats(inputs, absolute);
}

kf_status kf_rig_new(kf_inputs *inputs, const kf_calls *calls, int64_t base_align, kf_rig **ret_rig,
                     kf_err *err) {
  kf_rig *rig = kf_calloc(1, sizeof *rig);
  if (!rig) return kf_nomem(err);
  rig->inputs = inputs;
  rig->calls = calls;
  kf_slot_spec slots[KF_ARGS_MAX + KF_TEMPS_MAX];
  int nslots = 0, own_region = inputs->region ? 1 : 0;
  for (int b = 0; b < calls->nbuffers; b++) {
    const kf_buffer_spec *buffer = &calls->buffers[b];
    rig->slot[b] = -1;
    if (buffer->role == KF_ROLE_IN && !buffer->is_temp) {
      rig->places[b] = (kf_buffer_place){.region = 0, .slot = inputs->slot[buffer->arg]};
      continue;
    }
    rig->slot[b] = nslots;
    rig->places[b] = (kf_buffer_place){.region = own_region, .slot = nslots};
    slots[nslots++] = (kf_slot_spec){.bytes = (size_t)buffer->bytes, .align = (size_t)base_align};
  }
  uint64_t guard_seed = 0;
  kf_random_bytes(&guard_seed, sizeof guard_seed);
  kf_status status = nslots ? kf_region_new(slots, nslots, false, guard_seed, &rig->region, err) : KF_OK;
  if (status != KF_OK) {
    kf_rig_free(rig);
    return status;
  }
  *ret_rig = rig;
  return KF_OK;
}

void kf_rig_free(kf_rig *rig) {
  if (!rig) return;
  kf_region_free(rig->region);
  kf_free(rig);
}

kf_status kf_rig_attach(kf_rig *rig, kf_runner *runner, kf_run_result *ret_result, kf_err *err) {
  kf_region *regions[2];
  int nregions = 0;
  if (rig->inputs->region) regions[nregions++] = rig->inputs->region;
  if (rig->region) regions[nregions++] = rig->region;
  KF_TRY(kf_runner_map(runner, regions, nregions, rig->places, rig->calls->nbuffers, ret_result, err));
  if (ret_result->code != KF_RUN_OK) return KF_OK;
  return kf_runner_plan(runner, rig->calls, ret_result, err);
}

void kf_rig_reset(kf_rig *rig, int pattern) {
  for (int b = 0; b < rig->calls->nbuffers; b++) {
    if (rig->slot[b] < 0) continue;
    const kf_buffer_spec *buffer = &rig->calls->buffers[b];
    void *data = kf_region_data(rig->region, rig->slot[b]);
    if (!buffer->is_temp && buffer->role == KF_ROLE_INOUT)
      memcpy(data, rig->inputs->inout[buffer->arg], (size_t)buffer->bytes);
    else
      kf_poison(buffer->type, data, buffer->elements, pattern);
  }
}

void *kf_rig_data(const kf_rig *rig, int buffer) {
  return rig->slot[buffer] < 0 ? NULL : kf_region_data(rig->region, rig->slot[buffer]);
}

int kf_rig_buffer_of_arg(const kf_rig *rig, int arg) {
  for (int b = 0; b < rig->calls->nbuffers; b++)
    if (!rig->calls->buffers[b].is_temp && rig->calls->buffers[b].arg == arg) return b;
  return -1;
}

bool kf_rig_has_inout(const kf_rig *rig) {
  for (int a = 0; a < rig->inputs->task->nargs; a++)
    if (rig->inputs->inout[a]) return true;
  return false;
}
