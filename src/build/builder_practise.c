/* builder_practise.c - the kernel on which a spare builder practises before it sees a candidate.
 *
 * Most of a first build is not the kernel's: libLLVM and libclang are paged in and relocated, the builtin
 * library is read, the linker's files come into memory. The practice takes the same way as a candidate -
 * compile, launch, save - so that nothing of that is left (docs/internals/evaluator.md, Where the time
 * goes). What is compiled for a candidate afterwards does not depend on it: a program is compiled from its
 * own source alone. */
#include "build/build_protocol.h"

#include "base/alloc.h"

/* Loop, local memory, barrier and builtins, as most kernels have them. */
static const char source[] =
    "__kernel void kf_practise(__global const float *x, __global float *y, int n) {\n"
    "  __local float part[16];\n"
    "  int i = get_global_id(0), l = get_local_id(0);\n"
    "  float sum = 0;\n"
    "  for (int k = 0; k < n; k++) sum += exp(x[k]) + fmax(x[k], sum);\n"
    "  part[l] = sum;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (i < n) y[i] = part[15 - l] + sqrt(sum);\n"
    "}\n";

enum { ITEMS = 16 };

static kf_calls *practice_calls(kf_step *step, kf_err *err) {
  static const char *const names[] = {"x", "y"};
  kf_calls *calls = kf_calloc(1, sizeof *calls);
  if (!calls) {
    kf_nomem(err);
    return NULL;
  }
  calls->steps = step;
  calls->nsteps = 1;
  calls->nbuffers = 2;
  for (int i = 0; i < 2; i++)
    calls->buffers[i] = (kf_buffer_spec){.name = names[i],
                                         .role = i == 0 ? KF_ROLE_IN : KF_ROLE_OUT,
                                         .type = KF_TYPE_F32,
                                         .elements = ITEMS,
                                         .bytes = ITEMS * (int64_t)sizeof(float),
                                         .arg = i};
  int32_t n = ITEMS;
  step->kind = KF_STEP_LAUNCH;
  snprintf(step->entry, sizeof step->entry, "kf_practise");
  for (int i = 0; i < 3; i++)
    step->global[i] = step->local[i] = i == 0 ? ITEMS : 1;
  step->nargs = 3;
  step->args[0] = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = 0};
  step->args[1] = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = 1};
  step->args[2] = (kf_step_arg){.kind = KF_STEP_ARG_BYTES, .nbytes = sizeof n};
  memcpy(step->args[2].bytes, &n, sizeof n);
  return calls;
}

static kf_status went_well(const kf_run_result *result, kf_err *err) {
  if (result->code == KF_RUN_OK) return KF_OK;
  return kf_fail(err, KF_ENODEV, "builder: a kernel of ours does not build: %s", result->text);
}

static kf_status launch_and_save(kf_backend *backend, kf_program *program, void *fault_page,
                                 bool (*must_stop)(void *context), void *context, kf_err *err) {
  kf_run_result result = {.code = KF_RUN_OK};
  kf_step step = {.buffer = 0};
  kf_buf binary;
  kf_calls *calls = practice_calls(&step, err);
  if (!calls) return KF_ENOMEM;
  kf_buf_init(&binary, KF_BUILD_ARTEFACT_MAX);
  kf_status status = kf__build_warm(backend, program, &calls, 1, fault_page, &result, err);
  if (status == KF_OK) status = went_well(&result, err);
  if (status == KF_OK && !must_stop(context)) status = kf_backend_save(backend, program, &binary, err);
  kf_buf_done(&binary);
  kf_free(calls);
  return status;
}

kf_status kf__build_practise(kf_backend *backend, void *fault_page, bool (*must_stop)(void *context),
                             void *context, kf_err *err) {
  kf_program *program = NULL;
  kf_run_result result = {.code = KF_RUN_OK};
  kf_buf log;
  if (must_stop(context)) return KF_OK;
  kf_buf_init(&log, KF_BUILD_LOG_MAX);
  kf_status status = kf_backend_compile(backend, source, sizeof source - 1, "", &log, &program, &result, err);
  if (status == KF_OK) status = went_well(&result, err);
  if (status == KF_OK && !must_stop(context))
    status = launch_and_save(backend, program, fault_page, must_stop, context, err);
  /* The program stays: releasing it would let go of what the driver has made. The process ends soon. */
  kf_buf_done(&log);
  return status;
}
