/* init_private.h - what `kf init` knows of a kernel before it writes the package. */
#ifndef KF_TASK_INIT_PRIVATE_H
#define KF_TASK_INIT_PRIVATE_H

#include "task/init.h"
#include "task/task.h"

typedef struct {
  char name[65];
  int64_t value;
  bool fixed;
} kf__init_symbol;

typedef struct {
  const kf_kernel_arg *arg;
  bool is_array, is_local;
  kf_role role;
  kf_type type;
  int rank;              /* array; 0: no --shape yet */
  int dims[KF_RANK_MAX]; /* symbols */
  char value[64];        /* scalar, as text */
} kf__init_arg;

typedef struct {
  const kf_init_request *request;
  kf__init_symbol symbols[KF_SYMBOLS_MAX];
  int nsymbols;
  kf__init_arg args[KF_ARGS_MAX];
  int nargs;
  kf_buf *notes;
  kf_err *err;
} kf__init_model;

/* init.c */
kf_status kf__init_note(kf__init_model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int kf__init_output(const kf__init_model *m); /* index of the first output */
/* init_text.c */
kf_status kf__init_task_text(kf__init_model *m, const char *name, const char *reference_file, kf_buf *text);
kf_status kf__init_kernel_text(kf__init_model *m, const char *source, size_t len, kf_buf *text);

#endif
