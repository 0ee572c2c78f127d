/* expected_pool.h - up to 32 secret seeds for each case and input family of a task, with what they must give,
 * kept for the session (docs/internals/evaluator.md, Seeds; docs/internals/cheats.md, row 20). Successive
 * candidates get different seeds, so none can know the data of its judgement from an earlier one.
 *
 * The pool grows as it is used: making a seed's data costs runs of the reference, so each candidate pays for
 * new seeds up to GROW_NS, saved up where it does not suffice. Beyond a limit of memory nothing is added, and
 * data that the present judgement does not use is dropped and made again when its seed comes round. */
#ifndef KF_EVAL_EXPECTED_POOL_H
#define KF_EVAL_EXPECTED_POOL_H

#include "verify/precision.h"

enum { KF_POOL_SEEDS = 32, KF_POOL_PRECISION = KF_FAMILY_COUNT /* in the place of a family */ };

/* One of both. */
typedef struct {
  kf_expected *expected;
  kf_precision *precision;
} kf_pool_item;

typedef struct {
  const int64_t *symbols;
  int nsymbols;
  int family; /* kf_family or KF_POOL_PRECISION */
} kf_pool_key;

typedef struct kf_pool_line kf_pool_line;

typedef struct {
  kf_pool_line *lines;
  uint64_t round;   /* number of the judgement */
  int64_t saved_ns; /* time that may be spent on growing */
  int64_t bytes;    /* of all items */
  int64_t bytes_max;
} kf_pool; /* begin with kf_pool_init */

void kf_pool_init(kf_pool *pool);
void kf_pool_done(kf_pool *pool);
/* A judgement begins: what it gets stays valid, and the same for one key, until the next one begins. */
void kf_pool_begin(kf_pool *pool);
/* Makes the data of seed `index` of a key. */
typedef kf_status (*kf_pool_make)(void *context, const kf_pool_key *key, int index, kf_pool_item *ret_item,
                                  kf_err *err);
/* *ret_made: it was made just now. Borrowed from the pool. */
kf_status kf_pool_get(kf_pool *pool, const kf_pool_key *key, kf_pool_make make, void *context,
                      const kf_pool_item **ret_item, bool *ret_made, kf_err *err);

#endif
