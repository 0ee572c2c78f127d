/* opencl_api.c - loads libOpenCL and names its error codes. */
#include "device/opencl_api.h"

#include <dlfcn.h>
#include <stdarg.h>

kf_status kf__opencl_api(const kf_opencl_api **ret_api, kf_err *err) {
  static kf_opencl_api api;
  static void *library; /* for the life of the process: drivers do not survive dlclose */
  if (library) {
    *ret_api = &api;
    return KF_OK;
  }
  const char *name = getenv("KF_OPENCL_LIBRARY");
  if (!name || !*name) name = "libOpenCL.so.1";
  void *opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char *reason = dlerror();
    return kf_err_hint(
        err, kf_fail(err, KF_ENODEV, "opencl: cannot load %s: %s", name, reason ? reason : "unknown"),
        "install ocl-icd-libopencl1 and pocl-opencl-icd (Debian, Ubuntu), or set KF_OPENCL_LIBRARY");
  }
#define KF_OPENCL_LOAD(function)                                                                             \
  *(void **)&api.function = dlsym(opened, #function);                                                        \
  if (!api.function) {                                                                                       \
    dlclose(opened);                                                                                         \
    return kf_fail(err, KF_ENODEV, "opencl: %s has no %s", name, #function);                                 \
  }
  KF_OPENCL_FUNCTIONS(KF_OPENCL_LOAD)
#undef KF_OPENCL_LOAD
  library = opened;
  *ret_api = &api;
  return KF_OK;
}

const char *kf__opencl_error_name(cl_int code) {
  static const struct {
    cl_int code;
    const char *name;
  } names[] = {
#define KF_OPENCL_CODE(code) {code, #code}
      KF_OPENCL_CODE(CL_DEVICE_NOT_FOUND),
      KF_OPENCL_CODE(CL_DEVICE_NOT_AVAILABLE),
      KF_OPENCL_CODE(CL_COMPILER_NOT_AVAILABLE),
      KF_OPENCL_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE),
      KF_OPENCL_CODE(CL_OUT_OF_RESOURCES),
      KF_OPENCL_CODE(CL_OUT_OF_HOST_MEMORY),
      KF_OPENCL_CODE(CL_BUILD_PROGRAM_FAILURE),
      KF_OPENCL_CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET),
      KF_OPENCL_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
      KF_OPENCL_CODE(CL_COMPILE_PROGRAM_FAILURE),
      KF_OPENCL_CODE(CL_LINKER_NOT_AVAILABLE),
      KF_OPENCL_CODE(CL_LINK_PROGRAM_FAILURE),
      KF_OPENCL_CODE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
      KF_OPENCL_CODE(CL_INVALID_VALUE),
      KF_OPENCL_CODE(CL_INVALID_DEVICE),
      KF_OPENCL_CODE(CL_INVALID_CONTEXT),
      KF_OPENCL_CODE(CL_INVALID_COMMAND_QUEUE),
      KF_OPENCL_CODE(CL_INVALID_HOST_PTR),
      KF_OPENCL_CODE(CL_INVALID_MEM_OBJECT),
      KF_OPENCL_CODE(CL_INVALID_BINARY),
      KF_OPENCL_CODE(CL_INVALID_BUILD_OPTIONS),
      KF_OPENCL_CODE(CL_INVALID_PROGRAM),
      KF_OPENCL_CODE(CL_INVALID_PROGRAM_EXECUTABLE),
      KF_OPENCL_CODE(CL_INVALID_KERNEL_NAME),
      KF_OPENCL_CODE(CL_INVALID_KERNEL_DEFINITION),
      KF_OPENCL_CODE(CL_INVALID_KERNEL),
      KF_OPENCL_CODE(CL_INVALID_ARG_INDEX),
      KF_OPENCL_CODE(CL_INVALID_ARG_VALUE),
      KF_OPENCL_CODE(CL_INVALID_ARG_SIZE),
      KF_OPENCL_CODE(CL_INVALID_KERNEL_ARGS),
      KF_OPENCL_CODE(CL_INVALID_WORK_DIMENSION),
      KF_OPENCL_CODE(CL_INVALID_WORK_GROUP_SIZE),
      KF_OPENCL_CODE(CL_INVALID_WORK_ITEM_SIZE),
      KF_OPENCL_CODE(CL_INVALID_GLOBAL_OFFSET),
      KF_OPENCL_CODE(CL_INVALID_EVENT_WAIT_LIST),
      KF_OPENCL_CODE(CL_INVALID_OPERATION),
      KF_OPENCL_CODE(CL_INVALID_BUFFER_SIZE),
      KF_OPENCL_CODE(CL_INVALID_GLOBAL_WORK_SIZE),
      KF_OPENCL_CODE(CL_INVALID_PROPERTY),
      KF_OPENCL_CODE(CL_INVALID_COMPILER_OPTIONS),
#undef KF_OPENCL_CODE
  };
  for (size_t i = 0; i < KF_COUNTOF(names); i++)
    if (names[i].code == code) return names[i].name;
  return "unknown error";
}

void kf__opencl_failed(kf_run_result *result, cl_int code, const char *fmt, ...) {
  char where[200];
  va_list args;
  va_start(args, fmt);
  vsnprintf(where, sizeof where, fmt, args);
  va_end(args);
  bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
  kf__result_set(result, memory ? KF_RUN_OUT_OF_MEMORY : KF_RUN_LAUNCH_FAILED, code, "%s: %s (%d)", where,
                 kf__opencl_error_name(code), (int)code);
}
