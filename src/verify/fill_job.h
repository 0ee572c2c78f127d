/* fill_job.h - private to verify/: what one fill needs, and the random words behind all fills.
 * Word i of a fill is word i % 4 of Philox4x32-10 with counter (i / 4, argument, purpose) and the seed as
 * key. */
#ifndef KF_VERIFY_FILL_JOB_H
#define KF_VERIFY_FILL_JOB_H

#include "base/philox.h"
#include "task/task.h"
#include "verify/fill.h"

enum { KF_FILL_PURPOSE = 0x66696c6c, KF_FILL_PURPOSE_HIGH = 0x66696c68, KF_FILL_PURPOSE_ORDER = 0x66696c6f };

typedef struct {
  const kf_task *task;
  const kf_arg_spec *arg;
  const int64_t *symbols;
  int index; /* of the argument */
  uint64_t seed;
  kf_family family;
  kf_type type;
  void *data;
  int64_t begin;    /* first element to write, a multiple of 4 */
  int64_t elements; /* end of the array, or of what is to be written */
} kf_fill_job;

/* Words [4 * block, 4 * block + 4 * nblocks) of a stream. */
void kf__fill_words(uint64_t seed, int arg, uint32_t purpose, uint64_t block, int64_t nblocks,
                    uint32_t *ret_words);
/* Stores an integer exactly, also where a double would lose bits; saturates. */
void kf__fill_put_int(kf_type type, void *data, int64_t index, int64_t value);

/* The values of KF_FAMILY_NORMAL, whatever the job's family. */
void kf__fill_normal(const kf_fill_job *job);
/* The families from KF_FAMILY_STRESS on. */
void kf__fill_stress(const kf_fill_job *job);

kf_status kf__fill_permutation(const kf_fill_job *job, kf_err *err);
kf_status kf__fill_sorted(const kf_fill_job *job, kf_err *err);
kf_status kf__fill_spd(const kf_fill_job *job, kf_err *err);
kf_status kf__fill_file(const kf_fill_job *job, kf_err *err);

#endif
