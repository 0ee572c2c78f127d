/* init.h - writes a task package around a bare kernel (`kf init`). Knows no device: the argument list comes from whoever
 * asked the compiler (kf_kernel_arg, from clGetKernelArgInfo). */
#ifndef KF_TASK_INIT_H
#define KF_TASK_INIT_H

#include "base/buf.h"
#include "task/types.h"

typedef struct {
  char name[64];
  char type_name[64]; /* "float*", "int" as the compiler prints it */
  bool is_global, is_constant, is_local, is_const; /* address space; const pointee */
} kf_kernel_arg;

typedef struct {
  const char *entry;                /* kernel name */
  const kf_kernel_arg *args;
  int nargs;
  const char *const *shapes;        /* "x=4096,1024": each --shape option */
  int nshapes;
  const char *kernel_path;          /* file to copy */
  const char *reference;            /* "kernel" or a path, NULL = kernel */
  const char *global, *local;       /* launch expressions, NULL = guessed from the output's shape and said so */
} kf_init_request;

/* Writes DIR/task.yaml and DIR/kernel.cl (with markers and a launch directive). Refuses an existing non-empty DIR.
 * `notes` receives what was guessed, a line each, for the user to check. */
kf_status kf_task_init(const char *dir, const kf_init_request *request, kf_buf *notes, kf_err *err);

#endif
