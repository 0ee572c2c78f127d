/* opencl_internal.h - private to opencl_*.c: the backend and program objects. */
#ifndef KF_DEVICE_OPENCL_INTERNAL_H
#define KF_DEVICE_OPENCL_INTERNAL_H

#include "device/opencl_api.h"

typedef struct {
  kf_step_kind kind;
  char entry[64];
  cl_kernel kernel; /* LAUNCH; arguments are set */
  cl_uint dims;
  size_t global[3], local[3];
  bool empty;    /* nothing to do: no work-items, or a buffer without elements */
  cl_mem buffer; /* FILL; borrowed from the backend */
  uint8_t pattern[8];
  size_t npattern, fill_bytes;
} kf_opencl_step;

typedef struct {
  kf_backend base;
  const kf_opencl_api *cl;
  kf_opencl_place place;
  bool unified; /* kernels use the bound memory itself */
  cl_context context;
  cl_command_queue queue;
  cl_mem buffers[KF_ARGS_MAX + KF_TEMPS_MAX]; /* NULL: no elements */
  size_t buffer_bytes[KF_ARGS_MAX + KF_TEMPS_MAX];
  int nbuffers;
  kf_opencl_step *steps; /* of the prepared plan */
  int nsteps;
} kf_opencl_backend;

typedef struct {
  kf_program base;
  const kf_opencl_api *cl;
  cl_device_id device;
  cl_program program;
} kf_opencl_program;

/* What the compiler kept about argument `index`; false if it kept nothing. */
bool kf__opencl_arg_info(const kf_opencl_api *cl, cl_kernel kernel, cl_uint index,
                         struct kf_kernel_arg_desc *ret_desc);
/* Number of arguments of a kernel, 0 on failure. */
cl_uint kf__opencl_arg_count(const kf_opencl_api *cl, cl_kernel kernel);
/* Checks the count and kinds of a launch's arguments against the kernel and sets them. False: *ret_result
 * says why. */
bool kf__opencl_set_args(kf_opencl_backend *backend, cl_kernel kernel, const kf_step *step,
                         kf_run_result *ret_result);

#endif
