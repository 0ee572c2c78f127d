/* oracle_wire.h - private to verify/: messages between the judge and its oracle process, and the generated C.
 *
 * The judge sends `kf_oracle_load` once, with two objects (double, float) as blobs, and a `kf_oracle_call`
 * for each run, with one memfd that holds every array and scalar. The oracle answers each with a
 * `kf_oracle_reply`. Same machine, same executable: plain structs. */
#ifndef KF_VERIFY_ORACLE_WIRE_H
#define KF_VERIFY_ORACLE_WIRE_H

#include "base/buf.h"
#include "task/task.h"

enum { KF_ORACLE_PRECISIONS = 2 }; /* 0: double, 1: float */
#define KF_ORACLE_SYMBOL "kf_oracle_call"

typedef enum { KF_ORACLE_OP_LOAD = 1, KF_ORACLE_OP_CALL } kf_oracle_op;

/* An array begins at `offset` and ends at a page border, which an unmapped page follows: one element too far
 * faults. */
typedef struct {
  uint64_t offset, bytes;
  uint32_t is_array, writable;
} kf_oracle_place;

typedef struct {
  uint32_t op, nargs, precision;
  uint64_t bytes; /* of the memfd */
  kf_oracle_place places[KF_ARGS_MAX];
} kf_oracle_message;

typedef struct {
  uint32_t ok;
  char text[240]; /* when not ok */
} kf_oracle_reply;

/* C source: kf_real, the reference and a wrapper that calls it with pointers from an array. */
kf_status kf__oracle_source(const kf_task *task, int precision, kf_buf *buf, kf_err *err);
/* KF_EREFUSED with the place in the reference, from the log of a compiler that refused kf__oracle_source. */
kf_status kf__oracle_explain(const kf_task *task, const char *log, kf_err *err);

#endif
