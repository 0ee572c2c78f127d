/* kf_call.h - the interface of a candidate in the host form: one C file that exports kf_run
 * (docs/formats/host-form.md).
 *
 *     #include "kf_call.h"
 *     int kf_run(const kf_call *call) {
 *       const float *x = call->args[0].ptr;
 *       float *y = call->args[1].ptr;
 *       ...
 *       return 0;
 *     }
 *
 * The evaluator allocates everything and calls kf_run with the arguments of the task in the order of its
 * task.yaml. The file needs nothing but a compiler; the evaluator puts its own copy beside each candidate. */
#ifndef KF_CALL_H
#define KF_CALL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KF_CALL_ABI = 1 };

/* kf_call.api: who owns the queue */
enum { KF_CALL_API_C = 1 };

/* kf_arg.type */
enum {
  KF_CALL_F64,
  KF_CALL_F32,
  KF_CALL_F16,  /* IEEE binary16 */
  KF_CALL_BF16, /* upper half of an f32 */
  KF_CALL_E4M3,
  KF_CALL_E5M2,
  KF_CALL_I8,
  KF_CALL_I16,
  KF_CALL_I32,
  KF_CALL_I64,
  KF_CALL_U8,
  KF_CALL_U16,
  KF_CALL_U32,
  KF_CALL_U64,
  KF_CALL_BOOL /* one byte, 0 or 1 */
};

/* kf_arg.role */
enum { KF_CALL_IN, KF_CALL_OUT, KF_CALL_INOUT, KF_CALL_SIZE, KF_CALL_SCALAR };

typedef struct {
  void *ptr; /* array: first element, aligned to 256 bytes, NULL if it has none; size and scalar: the value,
                in its type */
  uint64_t bytes; /* of what ptr points to */
  uint32_t type, role;
  uint32_t rank;        /* dimensions; 0 for size and scalar */
  uint32_t flags;       /* 0 */
  const int64_t *shape; /* rank lengths, row-major (the last index is contiguous); NULL when rank is 0 */
} kf_arg;

typedef struct {
  uint32_t abi;             /* KF_CALL_ABI */
  uint32_t struct_bytes;    /* sizeof(kf_call) of the caller: later versions append */
  uint32_t api;             /* KF_CALL_API_C */
  uint32_t nargs, nsymbols; /* lengths of args and symbols */
  uint32_t threads;         /* at most so many threads may work, the caller's included */
  const kf_arg *args;       /* in the order of task.yaml */
  const int64_t *symbols;   /* values of the task's symbols, in the order of task.yaml */
  void *queue;              /* NULL for C: the call is synchronous */
  void *workspace;          /* kf_workspace bytes, aligned to 256; NULL if that is 0 or not exported */
  uint64_t workspace_bytes;
} kf_call;

#if defined(__GNUC__)
#define KF_CALL_EXPORT __attribute__((visibility("default")))
#else
#define KF_CALL_EXPORT
#endif

/* Required. Does the whole work before it returns 0. Any other value is the verdict launch_failed with this
 * code. It allocates nothing and keeps nothing for the next call: inputs are read-only memory, outputs and
 * workspace hold arbitrary bytes at its begin, and an object with writable static data is refused. */
KF_CALL_EXPORT int kf_run(const kf_call *call);

/* Optional: how many bytes of scratch memory one call needs. Called once for each shape, before kf_run,
 * untimed, with every ptr and workspace NULL; the same call must give the same number. */
KF_CALL_EXPORT uint64_t kf_workspace(const kf_call *call);

#ifdef __cplusplus
}
#endif

#endif
