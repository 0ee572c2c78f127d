/* fill_structured.c - fills whose elements depend on each other: permutation, sorted, spd, and those read
 * from a file. */
#include "verify/fill_job.h"

#include "base/alloc.h"
#include <string.h>

#include "base/banned.h"

enum { SORT_BITS = 24, DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS, CHUNK = 1024 };

/* Largest n such that 0..n are all exact in the type; 2^53 stands for the 64-bit integers too. */
static int64_t largest_exact(kf_type type) {
  switch (type) {
  case KF_TYPE_F32:
    return 1 << 24;
  case KF_TYPE_F16:
    return 1 << 11;
  case KF_TYPE_BF16:
    return 1 << 8;
  case KF_TYPE_E4M3:
    return 1 << 4;
  case KF_TYPE_E5M2:
    return 1 << 3;
  case KF_TYPE_I8:
    return INT8_MAX;
  case KF_TYPE_U8:
    return UINT8_MAX;
  case KF_TYPE_I16:
    return INT16_MAX;
  case KF_TYPE_U16:
    return UINT16_MAX;
  case KF_TYPE_I32:
    return INT32_MAX;
  case KF_TYPE_U32:
    return UINT32_MAX;
  case KF_TYPE_BOOL:
    return 1;
  default:
    return (int64_t)1 << 53;
  }
}

/* Fisher-Yates from the stream of the argument. */
kf_status kf__fill_permutation(const kf_fill_job *job, kf_err *err) {
  int64_t count = job->elements;
  if (count - 1 > largest_exact(job->type))
    return kf_fail(err, KF_EREFUSED, "argument %s: permutation: type %s cannot hold 0..%lld", job->arg->name,
                   kf_type_name(job->type), (long long)count - 1);
  for (int64_t i = 0; i < count; i++)
    kf__fill_put_int(job->type, job->data, i, i);
  kf_rng rng;
  kf_rng_init(&rng, job->seed, (uint64_t)job->index, KF_FILL_PURPOSE_ORDER);
  size_t size = kf_type_size(job->type);
  char *bytes = job->data;
  for (int64_t i = count - 1; i > 0; i--) {
    size_t other = (size_t)kf_rng_below(&rng, (uint64_t)i + 1);
    char held[8];
    memcpy(held, bytes + (size_t)i * size, size);
    memcpy(bytes + (size_t)i * size, bytes + other * size, size);
    memcpy(bytes + other * size, held, size);
  }
  return KF_OK;
}

/* One pass of a least-significant-digit radix sort. */
static void radix_pass(const uint32_t *from, uint32_t *to, int64_t count, int shift) {
  int64_t start[DIGITS] = {0};
  for (int64_t i = 0; i < count; i++)
    start[from[i] >> shift & (DIGITS - 1)]++;
  int64_t sum = 0;
  for (int digit = 0; digit < DIGITS; digit++) {
    int64_t here = start[digit];
    start[digit] = sum;
    sum += here;
  }
  for (int64_t i = 0; i < count; i++)
    to[start[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* Sorted 24-bit draws; as reals in [0,1), as integers spread over 0..min(largest of the type, 2^24 - 1). */
kf_status kf__fill_sorted(const kf_fill_job *job, kf_err *err) {
  int64_t count = job->elements;
  size_t room = ((size_t)count + 3) / 4 * 4;
  KF_CLEANUP(kf_freep) uint32_t *keys = kf_reallocarray(NULL, room, sizeof *keys);
  KF_CLEANUP(kf_freep) uint32_t *spare = kf_reallocarray(NULL, room, sizeof *spare);
  if (keys == NULL || spare == NULL) return kf_nomem(err);
  kf__fill_words(job->seed, job->index, KF_FILL_PURPOSE, 0, (int64_t)room / 4, keys);
  for (int64_t i = 0; i < count; i++)
    keys[i] >>= 32 - SORT_BITS;
  radix_pass(keys, spare, count, 0);
  radix_pass(spare, keys, count, DIGIT_BITS);
  if (kf_type_is_float(job->type)) {
    for (int64_t i = 0; i < count; i++)
      kf_type_put(job->type, job->data, (size_t)i, keys[i] * 0x1p-24);
    return KF_OK;
  }
  int64_t largest = largest_exact(job->type);
  if (largest > (1 << SORT_BITS) - 1) largest = (1 << SORT_BITS) - 1;
  for (int64_t i = 0; i < count; i++)
    kf__fill_put_int(job->type, job->data, i, (int64_t)keys[i] * (largest + 1) >> SORT_BITS);
  return KF_OK;
}

/* Symmetric with |a_ij| < 1 off the diagonal and n on it: strictly diagonally dominant with a positive
 * diagonal, hence positive definite (Gershgorin). The lower triangle is drawn element by element and
 * mirrored. */
kf_status kf__fill_spd(const kf_fill_job *job, kf_err *err) {
  int64_t elements = 0, shape[KF_RANK_MAX] = {0};
  KF_TRY(kf_task_elements(job->task, job->index, job->symbols, &elements, shape, err));
  if (job->arg->rank != 2 || shape[0] != shape[1])
    return kf_fail(err, KF_EREFUSED, "argument %s: fill spd: not a square matrix", job->arg->name);
  int64_t n = shape[0];
  uint32_t words[CHUNK] = {0};
  for (int64_t row = 0; row < n; row++) {
    kf_type_put(job->type, job->data, (size_t)(row * n + row), (double)n);
    for (int64_t first = 0; first < row; first += CHUNK) {
      int64_t count = row - first < CHUNK ? row - first : CHUNK;
      /* Each row has its own blocks, so that a row begins a block whatever n is. */
      uint64_t block = (uint64_t)row << 32 | (uint64_t)first / 4;
      kf__fill_words(job->seed, job->index, KF_FILL_PURPOSE, block, (count + 3) / 4, words);
      for (int64_t i = 0; i < count; i++) {
        double value = ((int32_t)(words[i] >> 8) - (1 << 23)) * 0x1p-23;
        kf_type_put(job->type, job->data, (size_t)(row * n + first + i), value);
        kf_type_put(job->type, job->data, (size_t)((first + i) * n + row), value);
      }
    }
  }
  return KF_OK;
}

kf_status kf__fill_file(const kf_fill_job *job, kf_err *err) {
  const char *path = job->arg->fill.file;
  const kf_task_file *file = NULL;
  for (int i = 0; i < job->task->nfiles && file == NULL; i++)
    if (strcmp(job->task->files[i].path, path) == 0) file = &job->task->files[i];
  if (file == NULL) return kf_fail(err, KF_EREFUSED, "argument %s: fill: no file %s", job->arg->name, path);
  size_t bytes = (size_t)job->elements * kf_type_size(job->type);
  if (file->len != bytes)
    return kf_fail(err, KF_EREFUSED, "argument %s: fill: %s has %zu bytes, the case needs %zu",
                   job->arg->name, path, file->len, bytes);
  memcpy(job->data, file->bytes, bytes);
  return KF_OK;
}
