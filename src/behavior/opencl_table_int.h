/* opencl_table_int.h - what the reader of evidence has to know of OpenCL C: how libclang parses it, and what
 * its built-in functions do. Another language brings another table of this shape. */
#ifndef KF_BEHAVIOR_OPENCL_TABLE_INT_H
#define KF_BEHAVIOR_OPENCL_TABLE_INT_H

#include "base/buf.h"
#include "base/vec.h"

/* What a built-in function does to memory and to other work-items. */
typedef enum {
  KF_EFFECT_NONE,            /* computes from its arguments */
  KF_EFFECT_CONVERT,         /* the same value in another type */
  KF_EFFECT_FMA,             /* a * b + c */
  KF_EFFECT_EXTREME,         /* min, max */
  KF_EFFECT_LOCAL_ID,        /* differs between the items of a group */
  KF_EFFECT_GROUP_ID,        /* differs between groups */
  KF_EFFECT_GLOBAL_ID,       /* differs between all items */
  KF_EFFECT_SIZE,            /* the same for all items */
  KF_EFFECT_BARRIER,         /* group barrier */
  KF_EFFECT_COLLECTIVE,      /* reduction, scan or broadcast of a group: a barrier with a value */
  KF_EFFECT_SUBGROUP,        /* shuffle, vote, broadcast of a sub-group */
  KF_EFFECT_SUBGROUP_REDUCE, /* reduction or scan of a sub-group */
  KF_EFFECT_SUBGROUP_LOAD,   /* block read: pointer is argument 0 */
  KF_EFFECT_SUBGROUP_STORE,  /* block write: pointer is argument 0, value 1 */
  KF_EFFECT_LOAD,            /* vloadN: pointer is argument 1 */
  KF_EFFECT_STORE,           /* vstoreN: value is argument 0, pointer 2 */
  KF_EFFECT_ATOMIC,          /* read-modify-write: pointer is argument 0 */
  KF_EFFECT_ATOMIC_LOAD,
  KF_EFFECT_ATOMIC_STORE, /* pointer is argument 0, value 1 */
  KF_EFFECT_ASYNC_COPY,   /* to argument 0 from argument 1 */
  KF_EFFECT_ASYNC_WAIT,
  KF_EFFECT_PREFETCH,
  KF_EFFECT_DOT,    /* dot product: an instruction of its own for integers */
  KF_EFFECT_MATRIX, /* matrix multiply-accumulate of a sub-group */
} kf_effect_kind;

typedef struct {
  kf_effect_kind kind;
  int lanes; /* LOAD, STORE, SUBGROUP_LOAD, SUBGROUP_STORE */
} kf_effect;

/* Of a function that the source does not define. */
kf_effect kf__opencl_effect(const char *name);

/* Appends the declarations that stand before the source: vector types and constants, so that no header of the
 * compiler is needed. */
kf_status kf__opencl_prelude(kf_buf *buf, kf_err *err);

enum { KF_OPENCL_ARGS_MAX = 160 };
/* libclang's arguments: the language, and of the candidate's options those that matter (-D, -U, -cl-std).
 * `text` owns the words. KF_EINVAL if there are too many. */
kf_status kf__opencl_arguments(const char *options, kf_buf *text, const char *ret_args[KF_OPENCL_ARGS_MAX],
                               int *ret_count, kf_err *err);

#endif
