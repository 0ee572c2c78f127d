/* builder_warm.c - makes PoCL generate all work-group code that the runner will need (src/device/README.md,
 * PoCL).
 *
 * PoCL compiles lazily at a launch, specialised by kernel, local size, a zero global offset, and whether all
 * global sizes are below 65535 (its "smallgrid": 32-bit index arithmetic). One launch of each combination
 * puts the code into the binary. Inputs are zeros and, for floats, one half: harmless as indices, sizes and
 * values. */
#include "build/build_protocol.h"

#include "base/alloc.h"
#include "device/fault.h"
#include <errno.h>
#include <sys/mman.h>

enum {
  SMALL_GRID = 65535, /* pocl: grid_width_specialization_limit is USHRT_MAX for CPU devices */
  PAD_BYTES =
      1 << 20, /* a stray access of a wrong kernel shall be found by the runner, where it has a name */
  CLASSES_MAX = 256,
};

typedef struct {
  char entry[64];
  int64_t local[3];
  bool small;
  int plan; /* the cheapest one that has this launch */
} launch_class;

static bool is_small(const kf_step *step) {
  for (int i = 0; i < 3; i++)
    if (step->global[i] >= SMALL_GRID) return false;
  return true;
}

/* Work-items of one call, saturating. */
static double total_items(const kf_calls *calls) {
  double sum = 0;
  for (int i = 0; i < calls->nsteps; i++) {
    const int64_t *global = calls->steps[i].global;
    if (calls->steps[i].kind == KF_STEP_LAUNCH)
      sum += (double)global[0] * (double)global[1] * (double)global[2];
  }
  return sum;
}

static bool is_empty(const kf_step *step) {
  return step->kind != KF_STEP_LAUNCH || step->global[0] == 0 || step->global[1] == 0 || step->global[2] == 0;
}

static bool same_class(const launch_class *one, const kf_step *step) {
  return one->small == is_small(step) && memcmp(one->local, step->local, sizeof one->local) == 0 &&
         strcmp(one->entry, step->entry) == 0;
}

static kf_status add_step(launch_class *classes, int *count, kf_calls *const *plans, int plan,
                          const kf_step *step, kf_err *err) {
  if (is_empty(step)) return KF_OK;
  for (int i = 0; i < *count; i++) {
    if (!same_class(&classes[i], step)) continue;
    if (total_items(plans[plan]) < total_items(plans[classes[i].plan])) classes[i].plan = plan;
    return KF_OK;
  }
  if (*count == CLASSES_MAX)
    return kf_fail(err, KF_EREFUSED, "the plans have more than %d different launches", CLASSES_MAX);
  launch_class *added = &classes[(*count)++];
  snprintf(added->entry, sizeof added->entry, "%s", step->entry);
  memcpy(added->local, step->local, sizeof added->local);
  added->small = is_small(step);
  added->plan = plan;
  return KF_OK;
}

/* Marks the plans that have to run. */
static kf_status choose(kf_calls *const *plans, int nplans, bool *ret_chosen, kf_err *err) {
  launch_class *classes = kf_calloc(CLASSES_MAX, sizeof *classes);
  int count = 0;
  if (!classes) return kf_nomem(err);
  kf_status status = KF_OK;
  for (int i = 0; i < nplans && status == KF_OK; i++)
    for (int j = 0; j < plans[i]->nsteps && status == KF_OK; j++)
      status = add_step(classes, &count, plans, i, &plans[i]->steps[j], err);
  for (int i = 0; i < count; i++)
    ret_chosen[classes[i].plan] = true;
  kf_free(classes);
  return status;
}

typedef struct {
  uint8_t *base[KF_ARGS_MAX + KF_TEMPS_MAX];
  size_t span[KF_ARGS_MAX + KF_TEMPS_MAX];
  void *data[KF_ARGS_MAX + KF_TEMPS_MAX];
  size_t bytes[KF_ARGS_MAX + KF_TEMPS_MAX];
  bool read_only[KF_ARGS_MAX + KF_TEMPS_MAX];
  int count;
} warm_memory;

static void memory_done(warm_memory *memory) {
  for (int i = 0; i < memory->count; i++)
    munmap(memory->base[i], memory->span[i]);
}

/* One half in each float format, little-endian; zero for integers. */
static uint64_t half_of(kf_type type) {
  switch (type) {
  case KF_TYPE_F64:
    return 0x3fe0000000000000;
  case KF_TYPE_F32:
    return 0x3f000000;
  case KF_TYPE_F16:
    return 0x3800;
  case KF_TYPE_BF16:
    return 0x3f00;
  case KF_TYPE_E4M3:
    return 0x30;
  case KF_TYPE_E5M2:
    return 0x38;
  default:
    return 0;
  }
}

static void fill_input(const kf_buffer_spec *spec, uint8_t *data) {
  uint64_t value = half_of(spec->type);
  size_t unit = spec->elements > 0 ? (size_t)(spec->bytes / spec->elements) : 0;
  if (value == 0 || unit == 0 || unit > sizeof value || spec->is_temp || spec->role == KF_ROLE_OUT) return;
  for (int64_t i = 0; i < spec->elements; i++)
    memcpy(data + (size_t)i * unit, &value, unit);
}

static kf_status memory_init(const kf_calls *calls, warm_memory *memory, kf_err *err) {
  for (int i = 0; i < calls->nbuffers; i++) {
    const kf_buffer_spec *spec = &calls->buffers[i];
    size_t bytes = ((size_t)spec->bytes + 4095) & ~(size_t)4095, span = bytes + 2 * (size_t)PAD_BYTES;
    void *base = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return kf_fail(err, KF_ENOMEM, "builder: %zu bytes: %s", span, strerror(errno));
    memory->base[i] = base;
    memory->span[i] = span;
    memory->data[i] = (uint8_t *)base + PAD_BYTES;
    memory->bytes[i] = (size_t)spec->bytes;
    memory->count = i + 1;
    fill_input(spec, memory->data[i]);
  }
  return KF_OK;
}

static kf_status warm_one(kf_backend *backend, kf_program *program, const kf_calls *calls,
                          kf_fault_page *fault, kf_run_result *result, kf_err *err) {
  warm_memory *memory = kf_calloc(1, sizeof *memory);
  void *none[1] = {NULL};
  int64_t ns = 0;
  kf_run_result unbound;
  if (!memory) return kf_nomem(err);
  kf_status status = memory_init(calls, memory, err);
  if (status == KF_ENOMEM) {
    *result = (kf_run_result){
        .code = KF_RUN_OUT_OF_MEMORY, .slot = -1, .text = "no memory for the buffers of a trial launch"};
    status = KF_OK;
    goto out;
  }
  kf_fault_set_slots(fault, memory->data, memory->bytes, memory->read_only, memory->count);
  KF_GO(kf_backend_bind(backend, memory->data, memory->bytes, memory->read_only, memory->count, result, err));
  if (result->code == KF_RUN_OK) KF_GO(kf_backend_prepare(backend, program, calls, result, err));
  if (result->code == KF_RUN_OK) KF_GO(kf_backend_run(backend, 1, &ns, result, err));
  KF_GO(kf_backend_bind(backend, none, NULL, NULL, 0, &unbound, err));
out:
  memory_done(memory);
  kf_free(memory);
  return status;
}

kf_status kf__build_warm(kf_backend *backend, kf_program *program, kf_calls *const *plans, int nplans,
                         void *fault_page, kf_run_result *ret_result, kf_err *err) {
  bool chosen[KF_BUILD_PLANS_MAX] = {false};
  kf_status status = choose(plans, nplans, chosen, err);
  if (status == KF_EREFUSED) {
    *ret_result = (kf_run_result){.code = KF_RUN_REFUSED, .slot = -1};
    snprintf(ret_result->text, sizeof ret_result->text, "the plans have more than %d different launches",
             CLASSES_MAX);
    return KF_OK;
  }
  *ret_result = (kf_run_result){.code = KF_RUN_OK, .slot = -1};
  for (int i = 0; i < nplans && status == KF_OK && ret_result->code == KF_RUN_OK; i++)
    if (chosen[i]) status = warm_one(backend, program, plans[i], fault_page, ret_result, err);
  return status;
}
