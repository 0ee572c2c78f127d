/* backend.h - one API behind which OpenCL, CUDA and HIP stand. Used only inside child roles (builder, runner,
 * devices), never by the judge: an implementation loads vendor code into its process. Owner: one thread.
 * Results of foreign code are kf_run_code, failures of ours kf_status. */
#ifndef KF_DEVICE_BACKEND_H
#define KF_DEVICE_BACKEND_H

#include "base/buf.h"
#include "device/device.h"
#include "device/host_asm.h"

typedef enum {
  KF_RUN_OK,
  KF_RUN_BUILD_FAILED,  /* the compiler refused; the log says why */
  KF_RUN_UNSUPPORTED,   /* the device lacks something the candidate uses */
  KF_RUN_REFUSED,       /* plan and kernel do not fit: no such entry, argument count or size */
  KF_RUN_LAUNCH_FAILED, /* an API call failed with `api_code` */
  KF_RUN_OUT_OF_MEMORY,
  KF_RUN_CRASHED,      /* judge side only: signal */
  KF_RUN_WRONG_MEMORY, /* judge side only: fault on a guard page or a read-only input */
  KF_RUN_TIMED_OUT,    /* judge side only */
  KF_RUN_FORGED, /* judge side only: the process sent what it was not asked for, or cut its socket: a cheat */
} kf_run_code;

typedef struct {
  kf_run_code code;
  int32_t api_code; /* CL_..., CUresult; signal number for CRASHED */
  char text[320];   /* "clEnqueueNDRangeKernel softmax: CL_INVALID_WORK_GROUP_SIZE (-54)" */
  int32_t slot;     /* WRONG_MEMORY: buffer index of kf_calls, -1 unknown */
  int64_t offset;   /* WRONG_MEMORY: bytes relative to the buffer's start */
} kf_run_result;

typedef struct kf_backend kf_backend;
typedef struct kf_program kf_program;

kf_status kf_backend_open(const char *device_id, kf_backend **ret_backend, kf_err *err); /* "opencl:0" */
void kf_backend_close(kf_backend *backend);
const kf_device_info *kf_backend_info(const kf_backend *backend);

/* `log` gets the compiler's log in every case. */
kf_status kf_backend_compile(kf_backend *backend, const char *source, size_t len, const char *options,
                             kf_buf *log, kf_program **ret_program, kf_run_result *ret_result, kf_err *err);
kf_status kf_backend_load(kf_backend *backend, const void *binary, size_t len, kf_program **ret_program,
                          kf_run_result *ret_result, kf_err *err);
kf_status kf_backend_save(kf_backend *backend, kf_program *program, kf_buf *binary, kf_err *err);
void kf_program_free(kf_program *program);

typedef struct {
  char entry[64];
  struct kf_kernel_arg_desc {
    char name[64], type_name[64];
    uint8_t is_global, is_constant, is_local, is_const;
  } args[64];
  int nargs; /* 0 args with has_arg_info false: the compiler kept none */
  bool has_arg_info;
} kf_entry_info;
/* Kernels of a program, for `kf init`. */
kf_status kf_program_entries(kf_program *program, kf_entry_info *ret_entries, int max, int *ret_count,
                             kf_err *err);

/* Makes buffer objects over memory at `data` (CPU: CL_MEM_USE_HOST_PTR), replacing earlier ones.
 * read_only[i]: CL_MEM_READ_ONLY. */
kf_status kf_backend_bind(kf_backend *backend, void *const *data, const size_t *bytes, const bool *read_only,
                          int count, kf_run_result *ret_result, kf_err *err);
/* Creates kernels and sets arguments of a resolved plan; checks entry names, argument count and sizes. */
kf_status kf_backend_prepare(kf_backend *backend, kf_program *program, const kf_calls *calls,
                             kf_run_result *ret_result, kf_err *err);
/* Enqueues the plan `repeat` times and waits for the queue to drain; *ret_ns is this process's own clock
 * (evidence only). */
kf_status kf_backend_run(kf_backend *backend, unsigned repeat, int64_t *ret_ns, kf_run_result *ret_result,
                         kf_err *err);

/* The host form (docs/formats/host-form.md): the program is a shared object, prepare and run call its kf_run,
 * and nothing is compiled after `compile`. */
bool kf_backend_is_host(const kf_backend *backend);
/* Host form only, of a compiled program: what its assembly shows. Borrowed. */
const kf_host_facts *kf_program_facts(const kf_program *program);
/* Host form only: loads the object if it may be loaded (device/host_object.h; KF_RUN_REFUSED else) and asks
 * its kf_workspace. *ret_bytes is the candidate's word, 0 if it exports none. */
kf_status kf_backend_workspace(kf_backend *backend, kf_program *program, const kf_calls *calls,
                               int64_t *ret_bytes, kf_run_result *ret_result, kf_err *err);

#endif
