/* init.h - writes a task package around a bare kernel (`kf init`). Knows no device: the argument list comes
 * from whoever asked the compiler (kf_kernel_arg, from clGetKernelArgInfo). */
#ifndef KF_TASK_INIT_H
#define KF_TASK_INIT_H

#include "base/buf.h"
#include "task/types.h"

typedef struct {
  char name[64];
  char type_name[64];                              /* "float*", "int" as the compiler prints it */
  bool is_global, is_constant, is_local, is_const; /* address space; const pointee */
} kf_kernel_arg;

typedef struct {
  const char *entry; /* kernel name */
  const kf_kernel_arg *args;
  int nargs;
  /* Each --shape option: "x=rows:4096,cols:1024". ARG=DIM,..; a DIM is NAME:NUMBER (a symbol), NAME (a symbol
   * of another option) or NUMBER (a fixed symbol called ARG_0, ARG_1, ...). */
  const char *const *shapes;
  int nshapes;
  const char *const *scalars; /* each --scalar option: "n=4", "alpha=0.5" */
  int nscalars;
  const char *kernel_path;     /* file to copy */
  const char *reference;       /* "kernel" or a .c or .py file to copy; NULL = kernel */
  const char *reference_entry; /* of a .c reference; NULL = ENTRY_ref and said so */
  const char *global, *local;  /* launch expressions; NULL = guessed from the output's shape and said so */
} kf_init_request;

/* Writes DIR/task.yaml, DIR/kernel.cl (with markers and a launch directive) and the reference, and loads them
 * once; on failure what was written is removed. A DIR that exists and is not empty, and wrong options, are
 * KF_EINVAL. Integer arguments by value whose name is a symbol get role size. `notes` receives what was
 * guessed, a line each, for the user to check. */
kf_status kf_task_init(const char *dir, const kf_init_request *request, kf_buf *notes, kf_err *err);

#endif
