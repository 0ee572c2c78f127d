/* precision.h - the precision gate: is a result as exact as its type, or was it computed one step lower
 * (docs/internals/evaluator.md, Precision gate; docs/internals/cheats.md, row 16)?
 *
 * On N(0,1) inputs, each float output has two errors against the double reference, both root mean squares:
 *   E_hi  of an honest computation: the larger of the float reference's and the initial kernel's (which
 * counts up to 16 times the former), never below the rounding to the type itself. f64 has no reference above
 * it: there the initial kernel alone E_lo  with inputs rounded one step lower (f64 to f32, f32 to the 11
 * digits of tf32 and fp16, ...) and a candidate's may be at most sqrt(E_hi E_lo). Where E_lo / E_hi < 10 the
 * inputs cannot see precision: the gate is unobservable. An output of few elements is sampled over up to 8
 * seeds. */
#ifndef KF_VERIFY_PRECISION_H
#define KF_VERIFY_PRECISION_H

#include "verify/expected.h"

enum { KF_PRECISION_DRAWS = 8 };

typedef struct {
  bool applies;    /* the task has a float output with a tolerance */
  bool observable; /* for one output at least */
  int ndraws;
  uint64_t seeds[KF_PRECISION_DRAWS];
  double *want[KF_PRECISION_DRAWS][KF_ARGS_MAX];
  double limit[KF_ARGS_MAX]; /* sqrt(E_hi E_lo); 0 where that output's gate is unobservable */
  double high[KF_ARGS_MAX], low[KF_ARGS_MAX];
  int64_t bytes;
} kf_precision;

/* What a candidate's draws add up to. Zero-initialised is empty. */
typedef struct {
  double squares[KF_ARGS_MAX];
  int64_t count[KF_ARGS_MAX];
} kf_precision_sum;

/* Leaves N(0,1) inputs of the last draw in `inputs`. `reference: kernel` and exact outputs: not observable,
 * no draws. */
kf_status kf_precision_make(const kf_expected_source *source, kf_inputs *inputs, uint64_t seed,
                            kf_precision **ret_precision, kf_err *err);
void kf_precision_free(kf_precision *precision);
/* Adds the errors of one output of draw `draw`; `got` in the argument's type. */
void kf_precision_add(const kf_precision *precision, int draw, int arg, kf_type type, const void *got,
                      int64_t elements, kf_precision_sum *sum);
/* Books the output furthest from its limit. KF_PRECISION_FAILED: *ret_arg is that output. */
kf_precision_result kf_precision_judge(const kf_precision *precision, const kf_precision_sum *sum,
                                       int *ret_arg);

#endif
