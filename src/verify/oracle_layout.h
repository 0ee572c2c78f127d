/* oracle_layout.h - private to verify/: the shared memory of one call of a reference. */
#ifndef KF_VERIFY_ORACLE_LAYOUT_H
#define KF_VERIFY_ORACLE_LAYOUT_H

#include "verify/oracle_wire.h"

typedef struct {
  const kf_task *task;
  kf_type real; /* KF_TYPE_F64 or KF_TYPE_F32: kf_real of this call */
  int fd;       /* memfd of fixed size */
  char *base;   /* its mapping */
  kf_oracle_message message;
  int64_t elements[KF_ARGS_MAX];
} kf_oracle_layout;

/* Works out the places and makes the memory. On failure nothing is left; else end with
 * kf__oracle_layout_done. */
kf_status kf__oracle_layout_init(kf_oracle_layout *layout, const kf_task *task, const int64_t *symbols,
                                 int precision, kf_err *err);
void kf__oracle_layout_done(kf_oracle_layout *layout);
/* Converts the inputs and poisons the outputs. */
kf_status kf__oracle_layout_write(kf_oracle_layout *layout, const int64_t *symbols, const void *const *inputs,
                                  kf_err *err);
/* Outputs as doubles, owned by the caller. KF_EREFUSED when the reference left an element of a float output
 * unwritten. */
kf_status kf__oracle_layout_read(const kf_oracle_layout *layout, const char *case_text,
                                 double *ret_outputs[KF_ARGS_MAX], kf_err *err);

#endif
