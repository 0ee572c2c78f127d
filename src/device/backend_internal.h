/* backend_internal.h - private to src/device: what one API (OpenCL, the host form, later CUDA, HIP) provides
 * behind backend.h. */
#ifndef KF_DEVICE_BACKEND_INTERNAL_H
#define KF_DEVICE_BACKEND_INTERNAL_H

#include "device/backend.h"

typedef struct {
  const char *prefix; /* "opencl:" */
  kf_status (*open)(const char *device_id, kf_backend **ret_backend, kf_err *err);
  void (*close)(kf_backend *backend);
  kf_status (*compile)(kf_backend *backend, const char *source, size_t len, const char *options, kf_buf *log,
                       kf_program **ret_program, kf_run_result *ret_result, kf_err *err);
  kf_status (*load)(kf_backend *backend, const void *binary, size_t len, kf_program **ret_program,
                    kf_run_result *ret_result, kf_err *err);
  kf_status (*save)(kf_backend *backend, kf_program *program, kf_buf *binary, kf_err *err);
  void (*program_free)(kf_program *program);
  kf_status (*entries)(kf_program *program, kf_entry_info *ret_entries, int max, int *ret_count, kf_err *err);
  kf_status (*bind)(kf_backend *backend, void *const *data, const size_t *bytes, const bool *read_only,
                    int count, kf_run_result *ret_result, kf_err *err);
  kf_status (*prepare)(kf_backend *backend, kf_program *program, const kf_calls *calls,
                       kf_run_result *ret_result, kf_err *err);
  kf_status (*run)(kf_backend *backend, unsigned repeat, int64_t *ret_ns, kf_run_result *ret_result,
                   kf_err *err);
  /* NULL: a device form, whose temps are in its plan and whose code is made at the first launch. */
  kf_status (*workspace)(kf_backend *backend, kf_program *program, const kf_calls *calls, int64_t *ret_bytes,
                         kf_run_result *ret_result, kf_err *err);
} kf_backend_ops;

/* First member of every backend and program. */
struct kf_backend {
  const kf_backend_ops *ops;
  kf_device_info info;
};
struct kf_program {
  const kf_backend_ops *ops;
};

extern const kf_backend_ops kf__opencl_ops, kf__host_ops;
/* Appends this API's devices. */
kf_status kf__opencl_enumerate(kf_device_info *ret_devices, int max, int *ret_count, kf_buf *note,
                               kf_err *err);

/* "cpu:0", if there is a C compiler; else the note says why not. */
kf_status kf__host_enumerate(kf_device_info *ret_devices, int max, int *ret_count, kf_buf *note, kf_err *err);
void kf__host_describe(kf_device_info *ret_info); /* without the compiler's version */
/* Largest cache of CPU 0 in sysfs, 0 if it is not told. */
int64_t kf__sysfs_llc_bytes(void);

/* Fills a result: code, api code and text; slot -1. */
void kf__result_set(kf_run_result *result, kf_run_code code, int32_t api_code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
