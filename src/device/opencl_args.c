/* opencl_args.c - does a launch fit its kernel? Count, address spaces and sizes are compared before anything
 * is set, because a wrong one would be undefined behaviour on some drivers (docs/formats/launch-plan.md). */
#include "device/opencl_internal.h"

#include <ctype.h>

cl_uint kf__opencl_arg_count(const kf_opencl_api *cl, cl_kernel kernel) {
  cl_uint count = 0;
  return cl->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL) == CL_SUCCESS ? count
                                                                                                   : 0;
}

static void arg_text(const kf_opencl_api *cl, cl_kernel kernel, cl_uint index, cl_kernel_arg_info what,
                     char *ret_text, size_t size) {
  char text[1024] = "";
  if (cl->clGetKernelArgInfo(kernel, index, what, sizeof text - 1, text, NULL) != CL_SUCCESS) text[0] = '\0';
  snprintf(ret_text, size, "%.*s", (int)size - 1, text);
}

bool kf__opencl_arg_info(const kf_opencl_api *cl, cl_kernel kernel, cl_uint index,
                         struct kf_kernel_arg_desc *ret_desc) {
  cl_kernel_arg_address_qualifier space = 0;
  cl_kernel_arg_type_qualifier qualifiers = 0;
  if (cl->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) !=
      CL_SUCCESS)
    return false;
  memset(ret_desc, 0, sizeof *ret_desc);
  arg_text(cl, kernel, index, CL_KERNEL_ARG_NAME, ret_desc->name, sizeof ret_desc->name);
  arg_text(cl, kernel, index, CL_KERNEL_ARG_TYPE_NAME, ret_desc->type_name, sizeof ret_desc->type_name);
  cl->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, NULL);
  ret_desc->is_global = space == CL_KERNEL_ARG_ADDRESS_GLOBAL;
  ret_desc->is_constant = space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
  ret_desc->is_local = space == CL_KERNEL_ARG_ADDRESS_LOCAL;
  ret_desc->is_const = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0;
  return true;
}

/* Bytes of an OpenCL C scalar or vector type by name, 0 for names that are not built in. OpenCL C 1.2, 6.1.1
 * and 6.1.2; a vector of 3 has the size of 4. */
static size_t type_bytes(const char *name) {
  static const struct {
    const char *name;
    size_t bytes;
  } types[] = {{"char", 1},
               {"uchar", 1},
               {"bool", 1},
               {"unsigned char", 1},
               {"short", 2},
               {"ushort", 2},
               {"half", 2},
               {"unsigned short", 2},
               {"int", 4},
               {"uint", 4},
               {"unsigned int", 4},
               {"float", 4},
               {"long", 8},
               {"ulong", 8},
               {"unsigned long", 8},
               {"double", 8},
               {"size_t", sizeof(size_t)},
               {"ptrdiff_t", sizeof(size_t)}};
  size_t len = strlen(name), digits = 0;
  while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
    digits++;
  size_t width = digits > 0 ? strtoul(name + len - digits, NULL, 10) : 1;
  if (width == 3) width = 4;
  if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16) return 0;
  for (size_t i = 0; i < KF_COUNTOF(types); i++)
    if (strlen(types[i].name) == len - digits && strncmp(types[i].name, name, len - digits) == 0)
      return types[i].bytes * width;
  return 0;
}

static const char *kind_word(const kf_step_arg *arg) {
  return arg->kind == KF_STEP_ARG_BUFFER  ? "a buffer"
         : arg->kind == KF_STEP_ARG_LOCAL ? "local(BYTES)"
                                          : "a value";
}

/* True when the argument fits what the kernel declares. */
static bool arg_fits(const struct kf_kernel_arg_desc *desc, const kf_step *step, int index,
                     kf_run_result *result) {
  const kf_step_arg *arg = &step->args[index];
  bool wants_buffer = desc->is_global || desc->is_constant;
  bool image = strncmp(desc->type_name, "image", 5) == 0 || strncmp(desc->type_name, "sampler", 7) == 0;
  if (image) {
    kf__result_set(result, KF_RUN_REFUSED, 0, "%s: argument %d (%s): images and samplers cannot be passed",
                   step->entry, index + 1, desc->name);
    return false;
  }
  bool is_pointer = wants_buffer || desc->is_local;
  bool fits = (arg->kind == KF_STEP_ARG_BUFFER && wants_buffer) ||
              (arg->kind == KF_STEP_ARG_LOCAL && desc->is_local) ||
              (arg->kind == KF_STEP_ARG_BYTES && !is_pointer);
  if (!fits) {
    kf__result_set(result, KF_RUN_REFUSED, 0,
                   "%s: argument %d: the kernel declares %s%s %s, the plan passes %s", step->entry, index + 1,
                   desc->is_local      ? "__local "
                   : desc->is_constant ? "__constant "
                   : desc->is_global   ? "__global "
                                       : "",
                   desc->type_name, desc->name, kind_word(arg));
    return false;
  }
  size_t bytes = arg->kind == KF_STEP_ARG_BYTES ? type_bytes(desc->type_name) : 0;
  if (bytes > 0 && bytes != arg->nbytes) {
    kf__result_set(result, KF_RUN_REFUSED, 0,
                   "%s: argument %d: the kernel declares %s %s (%zu bytes), the plan passes %u bytes",
                   step->entry, index + 1, desc->type_name, desc->name, bytes, (unsigned)arg->nbytes);
    return false;
  }
  return true;
}

static bool set_arg(kf_opencl_backend *backend, cl_kernel kernel, const kf_step *step, int index,
                    kf_run_result *result) {
  const kf_step_arg *arg = &step->args[index];
  const void *value = arg->bytes;
  size_t size = arg->nbytes;
  if (arg->kind == KF_STEP_ARG_BUFFER) {
    if (arg->buffer < 0 || arg->buffer >= backend->nbuffers) {
      kf__result_set(result, KF_RUN_REFUSED, 0, "%s: argument %d: no buffer %d is bound", step->entry,
                     index + 1, arg->buffer);
      return false;
    }
    value = &backend->buffers[arg->buffer];
    size = sizeof(cl_mem);
  } else if (arg->kind == KF_STEP_ARG_LOCAL) {
    value = NULL;
    size = (size_t)arg->local_bytes;
  }
  cl_int rc = backend->cl->clSetKernelArg(kernel, (cl_uint)index, size, value);
  if (rc == CL_SUCCESS) return true;
  if (rc == CL_OUT_OF_HOST_MEMORY || rc == CL_OUT_OF_RESOURCES)
    kf__opencl_failed(result, rc, "clSetKernelArg %s %d", step->entry, index + 1);
  else
    kf__result_set(result, KF_RUN_REFUSED, rc, "%s: argument %d: %s of %zu bytes does not fit: %s (%d)",
                   step->entry, index + 1, kind_word(arg), size, kf__opencl_error_name(rc), (int)rc);
  return false;
}

bool kf__opencl_set_args(kf_opencl_backend *backend, cl_kernel kernel, const kf_step *step,
                         kf_run_result *ret_result) {
  cl_uint wanted = kf__opencl_arg_count(backend->cl, kernel);
  if ((int)wanted != step->nargs) {
    kf__result_set(ret_result, KF_RUN_REFUSED, 0, "%s: the kernel takes %u arguments, the plan passes %d",
                   step->entry, (unsigned)wanted, step->nargs);
    return false;
  }
  for (int i = 0; i < step->nargs; i++) {
    struct kf_kernel_arg_desc desc;
    if (kf__opencl_arg_info(backend->cl, kernel, (cl_uint)i, &desc) && !arg_fits(&desc, step, i, ret_result))
      return false;
    if (!set_arg(backend, kernel, step, i, ret_result)) return false;
  }
  return true;
}
