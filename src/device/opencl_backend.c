/* opencl_backend.c - OpenCL behind backend.h: one context, one in-order queue, kernels with their arguments
 * set once. */
#include "device/opencl_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"

static void release_steps(kf_opencl_backend *backend) {
  for (int i = 0; i < backend->nsteps; i++)
    if (backend->steps[i].kernel) backend->cl->clReleaseKernel(backend->steps[i].kernel);
  kf_free(backend->steps);
  backend->steps = NULL;
  backend->nsteps = 0;
}

static void release_buffers(kf_opencl_backend *backend) {
  for (int i = 0; i < backend->nbuffers; i++)
    if (backend->buffers[i]) backend->cl->clReleaseMemObject(backend->buffers[i]);
  memset(backend->buffers, 0, sizeof backend->buffers);
  backend->nbuffers = 0;
}

static void opencl_close(kf_backend *base) {
  kf_opencl_backend *backend = (kf_opencl_backend *)base;
  release_steps(backend);
  release_buffers(backend);
  if (backend->queue) backend->cl->clReleaseCommandQueue(backend->queue);
  if (backend->context) backend->cl->clReleaseContext(backend->context);
  kf_free(backend);
}

static kf_status find_device(const char *device_id, const kf_opencl_api *cl, int *ret_index,
                             kf_opencl_place *ret_place, kf_err *err) {
  kf_opencl_place places[KF_DEVICES_MAX];
  int count = 0;
  int64_t index = 0;
  KF_TRY(kf__opencl_devices(cl, places, &count, err));
  if (kf_text_int(device_id + strlen("opencl:"), 0, INT32_MAX, "device", &index, NULL) != KF_OK ||
      index >= count) {
    return kf_err_hint(
        err, kf_fail(err, KF_ENODEV, "device \"%.60s\": there are %d opencl devices", device_id, count),
        "kf doctor lists the devices; pocl-opencl-icd (Debian, Ubuntu) makes the CPU one");
  }
  *ret_index = (int)index;
  *ret_place = places[index];
  return KF_OK;
}

static kf_status opencl_open(const char *device_id, kf_backend **ret_backend, kf_err *err) {
  const kf_opencl_api *cl = NULL;
  kf_opencl_place place = {0};
  int index = 0;
  KF_TRY(kf__opencl_api(&cl, err));
  KF_TRY(find_device(device_id, cl, &index, &place, err));
  kf_opencl_backend *backend = kf_calloc(1, sizeof *backend);
  if (!backend) return kf_nomem(err);
  backend->base.ops = &kf__opencl_ops;
  backend->cl = cl;
  backend->place = place;
  kf__opencl_describe(cl, &place, index, &backend->base.info);
  cl_bool unified = CL_FALSE;
  cl->clGetDeviceInfo(place.device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
  backend->unified = unified == CL_TRUE && backend->base.info.limits.is_cpu;
  cl_int rc = CL_SUCCESS;
  backend->context = cl->clCreateContext(NULL, 1, &place.device, NULL, NULL, &rc);
  if (rc == CL_SUCCESS) backend->queue = cl->clCreateCommandQueue(backend->context, place.device, 0, &rc);
  if (rc != CL_SUCCESS) {
    opencl_close(&backend->base);
    return kf_fail(err, KF_ENODEV, "device \"%.60s\": cannot be opened: %s (%d)", device_id,
                   kf__opencl_error_name(rc), (int)rc);
  }
  *ret_backend = &backend->base;
  return KF_OK;
}

/* ---- programs ---- */

static void opencl_program_free(kf_program *base) {
  kf_opencl_program *program = (kf_opencl_program *)base;
  if (program->program) program->cl->clReleaseProgram(program->program);
  kf_free(program);
}

static kf_opencl_program *new_program(const kf_opencl_backend *backend) {
  kf_opencl_program *program = kf_calloc(1, sizeof *program);
  if (!program) return NULL;
  program->base.ops = &kf__opencl_ops;
  program->cl = backend->cl;
  program->device = backend->place.device;
  return program;
}

/* The log of the last build, cut to what the buffer takes. */
static kf_status append_log(const kf_opencl_program *program, kf_buf *log, kf_err *err) {
  size_t size = 0;
  const kf_opencl_api *cl = program->cl;
  if (cl->clGetProgramBuildInfo(program->program, program->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
          CL_SUCCESS ||
      size <= 1)
    return KF_OK;
  char *text = kf_calloc(1, size + 1);
  if (!text) return kf_nomem(err);
  kf_status status = KF_OK;
  if (cl->clGetProgramBuildInfo(program->program, program->device, CL_PROGRAM_BUILD_LOG, size, text, NULL) ==
      CL_SUCCESS) {
    size_t len = strlen(text), room = log->max > log->len ? log->max - log->len : 0;
    status = kf_buf_append(log, text, len < room ? len : room, err);
  }
  kf_free(text);
  return status;
}

static void build_failed(kf_run_result *result, cl_int rc, const char *log) {
  /* PoCL and others refuse fp64, fp16 and subgroups as ordinary errors: only the code tells "unsupported"
   * apart. */
  bool memory = rc == CL_OUT_OF_HOST_MEMORY || rc == CL_OUT_OF_RESOURCES;
  bool unsupported = rc == CL_COMPILER_NOT_AVAILABLE || rc == CL_INVALID_OPERATION ||
                     strstr(log, "not supported on this device");
  kf__result_set(result,
                 memory        ? KF_RUN_OUT_OF_MEMORY
                 : unsupported ? KF_RUN_UNSUPPORTED
                               : KF_RUN_BUILD_FAILED,
                 rc, "clBuildProgram: %s (%d)", kf__opencl_error_name(rc), (int)rc);
}

static kf_status opencl_compile(kf_backend *base, const char *source, size_t len, const char *options,
                                kf_buf *log, kf_program **ret_program, kf_run_result *ret_result,
                                kf_err *err) {
  kf_opencl_backend *backend = (kf_opencl_backend *)base;
  kf_buf all;
  kf_buf_init(&all, 65536);
  kf_opencl_program *program = new_program(backend);
  kf_status status = program ? KF_OK : kf_nomem(err);
  /* Argument kinds are checked against the plan, so every build keeps them. */
  if (status == KF_OK)
    status = kf_buf_printf(&all, err, "%s%s-cl-kernel-arg-info", options, options[0] ? " " : "");
  if (status == KF_OK) {
    cl_int rc = CL_SUCCESS;
    program->program = backend->cl->clCreateProgramWithSource(backend->context, 1, &source, &len, &rc);
    if (rc == CL_SUCCESS)
      rc = backend->cl->clBuildProgram(program->program, 1, &backend->place.device, kf_buf_text(&all), NULL,
                                       NULL);
    if (program->program) status = append_log(program, log, err);
    if (rc == CL_SUCCESS)
      kf__result_set(ret_result, KF_RUN_OK, 0, "built");
    else
      build_failed(ret_result, rc, kf_buf_text(log));
  }
  kf_buf_done(&all);
  if (status == KF_OK && ret_result->code == KF_RUN_OK)
    *ret_program = &program->base;
  else if (program)
    opencl_program_free(&program->base);
  return status;
}

static kf_status opencl_load(kf_backend *base, const void *binary, size_t len, kf_program **ret_program,
                             kf_run_result *ret_result, kf_err *err) {
  kf_opencl_backend *backend = (kf_opencl_backend *)base;
  kf_opencl_program *program = new_program(backend);
  if (!program) return kf_nomem(err);
  const unsigned char *bytes = binary;
  cl_int rc = CL_SUCCESS, binary_status = CL_SUCCESS;
  program->program = backend->cl->clCreateProgramWithBinary(backend->context, 1, &backend->place.device, &len,
                                                            &bytes, &binary_status, &rc);
  if (rc == CL_SUCCESS) rc = binary_status;
  if (rc == CL_SUCCESS)
    rc = backend->cl->clBuildProgram(program->program, 1, &backend->place.device, "", NULL, NULL);
  if (rc == CL_SUCCESS) {
    kf__result_set(ret_result, KF_RUN_OK, 0, "loaded");
    *ret_program = &program->base;
    return KF_OK;
  }
  kf__opencl_failed(ret_result, rc, "loading the binary");
  opencl_program_free(&program->base);
  return KF_OK;
}

static kf_status opencl_save(kf_backend *base, kf_program *program_base, kf_buf *binary, kf_err *err) {
  (void)base;
  kf_opencl_program *program = (kf_opencl_program *)program_base;
  const kf_opencl_api *cl = program->cl;
  size_t size = 0;
  cl_int rc = cl->clGetProgramInfo(program->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  if (rc != CL_SUCCESS || size == 0)
    return kf_fail(err, KF_EIO, "opencl: the driver gives no binary (%d)", (int)rc);
  KF_TRY(kf_buf_reserve(binary, size, err));
  unsigned char *place = (unsigned char *)binary->data + binary->len;
  rc = cl->clGetProgramInfo(program->program, CL_PROGRAM_BINARIES, sizeof place, &place, NULL);
  if (rc != CL_SUCCESS)
    return kf_fail(err, KF_EIO, "opencl: CL_PROGRAM_BINARIES: %s (%d)", kf__opencl_error_name(rc), (int)rc);
  binary->len += size;
  binary->data[binary->len] = '\0';
  return KF_OK;
}

static void describe_kernel(const kf_opencl_api *cl, cl_kernel kernel, kf_entry_info *entry) {
  memset(entry, 0, sizeof *entry);
  char name[256] = "";
  if (cl->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL) != CL_SUCCESS)
    name[0] = '\0';
  snprintf(entry->entry, sizeof entry->entry, "%.63s", name);
  cl_uint count = kf__opencl_arg_count(cl, kernel);
  if (count > KF_COUNTOF(entry->args)) count = KF_COUNTOF(entry->args);
  entry->nargs = (int)count;
  entry->has_arg_info = true;
  for (cl_uint i = 0; i < count; i++)
    if (!kf__opencl_arg_info(cl, kernel, i, &entry->args[i])) entry->has_arg_info = false;
}

static kf_status opencl_entries(kf_program *base, kf_entry_info *ret_entries, int max, int *ret_count,
                                kf_err *err) {
  enum { KERNELS_MAX = 64 };
  kf_opencl_program *program = (kf_opencl_program *)base;
  cl_kernel kernels[KERNELS_MAX];
  cl_uint count = 0;
  cl_int rc = program->cl->clCreateKernelsInProgram(program->program, 0, NULL, &count);
  if (rc == CL_SUCCESS && count > KERNELS_MAX)
    return kf_fail(err, KF_EREFUSED, "the source has %u kernels, at most %d are handled", (unsigned)count,
                   KERNELS_MAX);
  if (rc == CL_SUCCESS && count > 0)
    rc = program->cl->clCreateKernelsInProgram(program->program, count, kernels, NULL);
  if (rc != CL_SUCCESS)
    return kf_fail(err, KF_EIO, "opencl: clCreateKernelsInProgram: %s (%d)", kf__opencl_error_name(rc),
                   (int)rc);
  int kept = 0;
  for (cl_uint i = 0; i < count; i++) {
    if (kept < max) describe_kernel(program->cl, kernels[i], &ret_entries[kept++]);
    program->cl->clReleaseKernel(kernels[i]);
  }
  *ret_count = kept;
  return KF_OK;
}

/* ---- memory, plan, run ---- */

static kf_status opencl_bind(kf_backend *base, void *const *data, const size_t *bytes, const bool *read_only,
                             int count, kf_run_result *ret_result, kf_err *err) {
  kf_opencl_backend *backend = (kf_opencl_backend *)base;
  if (count < 0 || count > (int)KF_COUNTOF(backend->buffers))
    return kf_fail(err, KF_EBUG, "opencl: %d buffers", count);
  release_steps(backend);
  release_buffers(backend);
  if (!backend->unified) {
    kf__result_set(ret_result, KF_RUN_UNSUPPORTED, 0,
                   "%s does not share memory with the host: only CPU devices are judged",
                   backend->base.info.id);
    return KF_OK;
  }
  for (int i = 0; i < count; i++) {
    backend->nbuffers = i + 1;
    backend->buffer_bytes[i] = bytes[i];
    if (bytes[i] == 0) continue; /* the kernel gets a null pointer */
    cl_mem_flags flags = CL_MEM_USE_HOST_PTR | (read_only[i] ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE);
    cl_int rc = CL_SUCCESS;
    backend->buffers[i] = backend->cl->clCreateBuffer(backend->context, flags, bytes[i], data[i], &rc);
    if (rc != CL_SUCCESS) {
      kf__opencl_failed(ret_result, rc, "clCreateBuffer of %zu bytes", bytes[i]);
      return KF_OK;
    }
  }
  kf__result_set(ret_result, KF_RUN_OK, 0, "bound");
  return KF_OK;
}

/* A driver may take more local memory than the device has (on a CPU it lies on a stack, and the launch would
 * crash). */
static bool local_memory_fits(const kf_opencl_backend *backend, cl_kernel kernel, const kf_step *step,
                              kf_run_result *result) {
  cl_ulong wanted = 0, offered = 0;
  if (backend->cl->clGetKernelWorkGroupInfo(kernel, backend->place.device, CL_KERNEL_LOCAL_MEM_SIZE,
                                            sizeof wanted, &wanted, NULL) != CL_SUCCESS ||
      backend->cl->clGetDeviceInfo(backend->place.device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof offered, &offered,
                                   NULL) != CL_SUCCESS ||
      wanted <= offered)
    return true;
  kf__result_set(result, KF_RUN_LAUNCH_FAILED, CL_OUT_OF_RESOURCES,
                 "%s: needs %llu bytes of local memory, the device has %llu", step->entry,
                 (unsigned long long)wanted, (unsigned long long)offered);
  return false;
}

static bool prepare_launch(kf_opencl_backend *backend, const kf_opencl_program *program, const kf_step *step,
                           kf_opencl_step *prepared, kf_run_result *result) {
  cl_int rc = CL_SUCCESS;
  snprintf(prepared->entry, sizeof prepared->entry, "%s", step->entry);
  prepared->kernel = backend->cl->clCreateKernel(program->program, step->entry, &rc);
  if (rc == CL_INVALID_KERNEL_NAME) {
    kf__result_set(result, KF_RUN_REFUSED, rc, "the source has no kernel \"%s\" (launch in line %d)",
                   step->entry, step->line);
    return false;
  }
  if (rc != CL_SUCCESS) {
    kf__opencl_failed(result, rc, "clCreateKernel %s", step->entry);
    return false;
  }
  prepared->dims = 1;
  for (int i = 0; i < 3; i++) {
    if (step->global[i] < 0 || step->local[i] < 1) {
      kf__result_set(result, KF_RUN_REFUSED, 0, "%s: sizes of dimension %d are global %lld, local %lld",
                     step->entry, i + 1, (long long)step->global[i], (long long)step->local[i]);
      return false;
    }
    prepared->global[i] = (size_t)step->global[i];
    prepared->local[i] = (size_t)step->local[i];
    if (step->global[i] != 1 || step->local[i] != 1) prepared->dims = (cl_uint)i + 1;
    if (step->global[i] == 0) prepared->empty = true;
  }
  return kf__opencl_set_args(backend, prepared->kernel, step, result) &&
         local_memory_fits(backend, prepared->kernel, step, result);
}

static bool prepare_fill(const kf_opencl_backend *backend, const kf_step *step, kf_opencl_step *prepared,
                         kf_run_result *result) {
  if (step->buffer < 0 || step->buffer >= backend->nbuffers || step->npattern < 1 ||
      step->npattern > sizeof step->pattern || backend->buffer_bytes[step->buffer] % step->npattern != 0) {
    kf__result_set(result, KF_RUN_REFUSED, 0, "fill in line %d does not fit buffer %d", step->line,
                   step->buffer);
    return false;
  }
  prepared->buffer = backend->buffers[step->buffer];
  prepared->fill_bytes = backend->buffer_bytes[step->buffer];
  prepared->empty = prepared->fill_bytes == 0;
  prepared->npattern = step->npattern;
  memcpy(prepared->pattern, step->pattern, sizeof prepared->pattern);
  return true;
}

static kf_status opencl_prepare(kf_backend *base, kf_program *program_base, const kf_calls *calls,
                                kf_run_result *ret_result, kf_err *err) {
  kf_opencl_backend *backend = (kf_opencl_backend *)base;
  release_steps(backend);
  backend->steps = kf_calloc((size_t)calls->nsteps, sizeof *backend->steps);
  if (!backend->steps) return kf_nomem(err);
  backend->nsteps = calls->nsteps;
  for (int i = 0; i < calls->nsteps; i++) {
    const kf_step *step = &calls->steps[i];
    kf_opencl_step *prepared = &backend->steps[i];
    prepared->kind = step->kind;
    bool ok = step->kind == KF_STEP_LAUNCH ? prepare_launch(backend, (const kf_opencl_program *)program_base,
                                                            step, prepared, ret_result)
                                           : prepare_fill(backend, step, prepared, ret_result);
    if (!ok) {
      release_steps(backend);
      return KF_OK;
    }
  }
  kf__result_set(ret_result, KF_RUN_OK, 0, "prepared");
  return KF_OK;
}

static cl_int enqueue(const kf_opencl_backend *backend, const kf_opencl_step *step, cl_event *ret_event) {
  if (step->kind == KF_STEP_LAUNCH)
    return backend->cl->clEnqueueNDRangeKernel(backend->queue, step->kernel, step->dims, NULL, step->global,
                                               step->local, 0, NULL, ret_event);
  return backend->cl->clEnqueueFillBuffer(backend->queue, step->buffer, step->pattern, step->npattern, 0,
                                          step->fill_bytes, 0, NULL, ret_event);
}

/* On an in-order queue a failed command also fails those behind it, so the last event stands for all. */
static cl_int event_status(const kf_opencl_api *cl, cl_event event) {
  cl_int status = CL_COMPLETE;
  cl_int rc = cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  return rc != CL_SUCCESS ? rc : status;
}

static kf_status opencl_run(kf_backend *base, unsigned repeat, int64_t *ret_ns, kf_run_result *ret_result,
                            kf_err *err) {
  (void)err;
  kf_opencl_backend *backend = (kf_opencl_backend *)base;
  const kf_opencl_api *cl = backend->cl;
  int last = backend->nsteps - 1;
  while (last >= 0 && backend->steps[last].empty)
    last--;
  cl_event event = NULL;
  cl_int rc = CL_SUCCESS;
  const char *where = "clFinish";
  int64_t start_ns = kf_now_ns();
  for (unsigned k = 0; k < repeat && rc == CL_SUCCESS; k++) {
    for (int i = 0; i <= last && rc == CL_SUCCESS; i++) {
      const kf_opencl_step *step = &backend->steps[i];
      if (step->empty) continue;
      rc = enqueue(backend, step, k + 1 == repeat && i == last ? &event : NULL);
      if (rc != CL_SUCCESS) where = step->kind == KF_STEP_LAUNCH ? step->entry : "fill";
    }
  }
  bool enqueued = rc == CL_SUCCESS;
  cl_int finished = cl->clFinish(backend->queue);
  if (enqueued) rc = finished;
  int64_t ns = kf_now_ns() - start_ns;
  if (event) {
    cl_int status = event_status(cl, event);
    if (rc == CL_SUCCESS && status < 0) rc = status;
    cl->clReleaseEvent(event);
  }
  if (rc != CL_SUCCESS) {
    kf__opencl_failed(ret_result, rc, "%s%s", enqueued ? "" : "launch of ", where);
    return KF_OK;
  }
  kf__result_set(ret_result, KF_RUN_OK, 0, "ran");
  *ret_ns = ns;
  return KF_OK;
}

const kf_backend_ops kf__opencl_ops = {.prefix = "opencl:",
                                       .open = opencl_open,
                                       .close = opencl_close,
                                       .compile = opencl_compile,
                                       .load = opencl_load,
                                       .save = opencl_save,
                                       .program_free = opencl_program_free,
                                       .entries = opencl_entries,
                                       .bind = opencl_bind,
                                       .prepare = opencl_prepare,
                                       .run = opencl_run};
