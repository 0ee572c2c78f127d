/* shapes.h - hidden shapes: cases drawn from the symbols' domain that the task does not name, for the
 * confirmation of a champion (docs/internals/evaluator.md, "Hidden shapes"; docs/internals/cheats.md, row
 * 19). Pure; threads: safe. */
#ifndef KF_VERIFY_SHAPES_H
#define KF_VERIFY_SHAPES_H

#include "task/task.h"

/* What a hidden shape is meant to break. Fixed symbols keep their value in all of them. */
typedef enum {
  KF_SHAPE_TINY,       /* each symbol at its smallest value or one step above */
  KF_SHAPE_OFF_BY_ONE, /* a named case with some symbols one step more or less */
  KF_SHAPE_PRIME, /* primes (odd multiples where a symbol must be a multiple), up to 1.25 x the check cases */
  KF_SHAPE_ROUND, /* multiples of 64 where the domain has them, in the same range */
  KF_SHAPE_LARGE, /* half to 1.25 x the largest measure case */
  KF_SHAPE_LIMIT, /* one symbol at the end of its domain, the others small */
  KF_SHAPE_KINDS
} kf_shape_kind;

/* One shape of each kind that the domain has and no named case or earlier shape equals; `ret_cases` has
 * KF_SHAPE_KINDS entries. A shape has at most four times the elements of the largest named case (never below
 * 2^20): its reference must end. Returns the count, 0 if every symbol is fixed. */
int kf_shapes_hidden(const kf_task *task, uint64_t secret, kf_case *ret_cases);

#endif
