/* witness.h - the child's clock as evidence against it (docs/internals/evaluator.md, T15; cheats.md, row 3).
 * Nothing is scored by it. Pure.
 *
 * The window that the child times lies within the judge's, and in an honest child nothing but the round trip
 * lies between the two. So a child that works outside its window, or whose clock was patched, says less than
 * the judge saw in every call; one that claims more than the judge saw has invented it. Waiting for a core
 * falls into the gap too: the kernel tells how long that was, and the best of many calls decides. The kernel
 * also tells for how long the process was on cores: more than all cores could give it in the time it claims
 * is work outside its window too, on however busy a machine. */
#ifndef KF_MEASURE_WITNESS_H
#define KF_MEASURE_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised. */
typedef struct {
  int calls;
  int64_t least_gap_ns;              /* smallest excess of wall over what the claim allows; of all calls */
  int64_t gap_wall_ns, gap_child_ns; /* of that call */
  int64_t least_outside_ns;          /* smallest time on cores beyond what the claim allows; of all calls */
  int64_t outside_ran_ns, outside_child_ns;
  int claimed_too_long; /* calls in which the child claims more than the judge saw */
  int64_t long_wall_ns, long_child_ns;
} kf_witness;

typedef struct {
  int64_t wall_ns; /* with the empty request in it */
  int64_t empty_ns;
  int64_t child_ns;
  int64_t waited_ns; /* all threads and the judge: kf_waited.sum_ns */
  int64_t ran_ns;    /* kf_waited.ran_ns; 0: not known */
  int cores;         /* that the process can be on at a time */
} kf_testimony;
void kf_witness_add(kf_witness *witness, const kf_testimony *call);

typedef enum {
  KF_WITNESS_FINE,
  KF_WITNESS_TOO_SHORT,
  KF_WITNESS_TOO_LONG,
  KF_WITNESS_RAN_OUTSIDE
} kf_witness_says;
/* FINE below KF_WITNESS_CALLS_MIN calls. */
enum { KF_WITNESS_CALLS_MIN = 6 };
kf_witness_says kf_witness_judge(const kf_witness *witness);

#endif
