/* ceiling.h - what a device can do at best, measured once a session: for the floor below which no honest time
 * lies (docs/internals/evaluator.md, T17) and for saying how near a kernel comes. */
#ifndef KF_MEASURE_CEILING_H
#define KF_MEASURE_CEILING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  double read_gbs, write_gbs, copy_gbs; /* 1e9 bytes a second */
  double gflops;
  int64_t launch_ns; /* of an empty kernel */
  bool known;        /* false: the rest says nothing */
} kf_ceilings;

#endif
