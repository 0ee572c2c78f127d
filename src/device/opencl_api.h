/* opencl_api.h - libOpenCL by dlopen, as a table of functions. Private to src/device; only child roles load
 * it. The types are those of the Khronos headers; nothing is linked. */
#ifndef KF_DEVICE_OPENCL_API_H
#define KF_DEVICE_OPENCL_API_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/buf.h"
#include "device/backend_internal.h"

/* Every function used, once. */
#define KF_OPENCL_FUNCTIONS(X)                                                                               \
  X(clGetPlatformIDs)                                                                                        \
  X(clGetPlatformInfo)                                                                                       \
  X(clGetDeviceIDs)                                                                                          \
  X(clGetDeviceInfo)                                                                                         \
  X(clCreateContext)                                                                                         \
  X(clReleaseContext)                                                                                        \
  X(clCreateCommandQueue)                                                                                    \
  X(clReleaseCommandQueue)                                                                                   \
  X(clCreateProgramWithSource)                                                                               \
  X(clCreateProgramWithBinary)                                                                               \
  X(clBuildProgram)                                                                                          \
  X(clGetProgramBuildInfo)                                                                                   \
  X(clGetProgramInfo)                                                                                        \
  X(clReleaseProgram)                                                                                        \
  X(clCreateKernel)                                                                                          \
  X(clCreateKernelsInProgram)                                                                                \
  X(clGetKernelInfo)                                                                                         \
  X(clGetKernelArgInfo)                                                                                      \
  X(clGetKernelWorkGroupInfo)                                                                                \
  X(clSetKernelArg)                                                                                          \
  X(clReleaseKernel)                                                                                         \
  X(clCreateBuffer)                                                                                          \
  X(clReleaseMemObject)                                                                                      \
  X(clEnqueueNDRangeKernel)                                                                                  \
  X(clEnqueueFillBuffer)                                                                                     \
  X(clGetEventInfo)                                                                                          \
  X(clReleaseEvent)                                                                                          \
  X(clFinish)

typedef struct {
#define KF_OPENCL_FIELD(name) __typeof__ (&(name))(name);
  KF_OPENCL_FUNCTIONS(KF_OPENCL_FIELD)
#undef KF_OPENCL_FIELD
} kf_opencl_api;

/* Loads the library once a process ("libOpenCL.so.1", or $KF_OPENCL_LIBRARY). KF_ENODEV with the packages to
 * install. */
kf_status kf__opencl_api(const kf_opencl_api **ret_api, kf_err *err);
/* "CL_INVALID_WORK_GROUP_SIZE"; "unknown error" for codes that have no name here. */
const char *kf__opencl_error_name(cl_int code);

typedef struct {
  cl_platform_id platform;
  cl_device_id device;
} kf_opencl_place;
/* All devices of all platforms, in the loader's order: "opencl:I" is element I. */
kf_status kf__opencl_devices(const kf_opencl_api *cl, kf_opencl_place ret_places[KF_DEVICES_MAX],
                             int *ret_count, kf_err *err);
void kf__opencl_describe(const kf_opencl_api *cl, const kf_opencl_place *place, int index,
                         kf_device_info *ret_info);

/* Result of a failed call: LAUNCH_FAILED, or OUT_OF_MEMORY for the codes that say so. `where` is
 * "clSetKernelArg softmax". */
void kf__opencl_failed(kf_run_result *result, cl_int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
