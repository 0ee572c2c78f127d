/* trivial.h - answers that need no computation, held against a task's own comparison
 * (docs/internals/evaluator.md, Admission; docs/internals/cheats.md, rows 13 to 15).
 *
 * Each output is tried by itself, since a kernel may compute all but one. */
#ifndef KF_EVAL_TRIVIAL_H
#define KF_EVAL_TRIVIAL_H

#include "verify/expected.h"
#include "wire/admission.h"

/* Answers of one output: zeros; the mean of what another seed gives, everywhere; what another seed gives (so
 * also: what an earlier call left behind); a copy of each input of its size (so also: an inout left as it
 * is); along each axis, the first slice in place of all. */
enum {
  KF_TRIVIAL_ZEROS,
  KF_TRIVIAL_MEAN,
  KF_TRIVIAL_OTHER_SEED,
  KF_TRIVIAL_COPY,
  KF_TRIVIAL_SLICE = KF_TRIVIAL_COPY + KF_ARGS_MAX,
  KF_TRIVIAL_COUNT = KF_TRIVIAL_SLICE + KF_RANK_MAX
};

/* On how many cases an answer was tried and was taken for right. */
typedef struct {
  int tried, passed; /* check cases */
  bool measured;     /* passed on a measure case */
  char where[160];   /* a case where it passed, a measure case if there is one */
} kf_trivial_tally;

typedef struct {
  kf_trivial_tally tally[KF_ARGS_MAX][KF_TRIVIAL_COUNT];
  int check_cases, measure_cases;
} kf_trivial; /* zeroed at first; large */

/* Tries every answer on one case. `inputs` hold the bytes of `expected`; `other` is the output for another
 * seed. Outputs without elements are not tried. */
kf_status kf_trivial_try(kf_trivial *trivial, const kf_inputs *inputs, const kf_expected *expected,
                         double *const other[KF_ARGS_MAX], bool measured, kf_err *err);
/* Lines: an answer stands for an output if it passes on a measure case, or on every check case where it is to
 * be had, if these are most. Refused where each output has one; doubtful where some output has, where an
 * answer passes on more than half of the check cases, or where the slices along an axis are all the same. */
kf_status kf_trivial_conclude(const kf_trivial *trivial, const kf_task *task, kf_admission *admission,
                              kf_err *err);

#endif
