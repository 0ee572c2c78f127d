/* rewrite.c - new content for a few cache lines of every input, between two calls of a race: what a kernel
 * kept from its last call does not fit the next one. See rig.h. */
#include "base/philox.h"
#include "verify/rig.h"

#include <string.h>

enum { LINE_BYTES = 64, STRIDE_LINES = 256, PURPOSE_LINE = 0x6c69 };

/* One array being rewritten. */
typedef struct {
  const kf_inputs *inputs;
  int arg;
  char *data;
  int64_t elements, size; /* bytes of an element */
  uint64_t seed;
  kf_rng rng;
} rewrite_job;

static void exchange(const rewrite_job *job, int64_t a, int64_t b) {
  char held[8];
  size_t size = (size_t)job->size;
  memcpy(held, job->data + a * job->size, size);
  memcpy(job->data + a * job->size, job->data + b * job->size, size);
  memcpy(job->data + b * job->size, held, size);
}

/* Sorted stays sorted: the line takes one of its own values throughout. */
static void level(const rewrite_job *job, int64_t first, int64_t count, int64_t chosen) {
  char held[8];
  size_t size = (size_t)job->size;
  memcpy(held, job->data + chosen * job->size, size);
  for (int64_t i = first; i < first + count; i++)
    memcpy(job->data + i * job->size, held, size);
}

/* |a_ij| < 1 off the diagonal keeps the matrix diagonally dominant (see the fill). */
static void redraw_pair(rewrite_job *job, int64_t element) {
  int64_t n = job->inputs->shape[job->arg][0], row = element / n, column = element % n;
  kf_type type = job->inputs->task->args[job->arg].type;
  double value = ((double)(kf_rng_u32(&job->rng) >> 8) - (1 << 23)) * 0x1p-23;
  if (row == column) return;
  kf_type_put(type, job->data, (size_t)(row * n + column), value);
  kf_type_put(type, job->data, (size_t)(column * n + row), value);
}

static kf_status rewrite_line(rewrite_job *job, int64_t first, int64_t count, kf_err *err) {
  const kf_arg_spec *spec = &job->inputs->task->args[job->arg];
  int64_t within = first + (int64_t)kf_rng_below(&job->rng, (uint64_t)count);
  switch (spec->fill.kind) {
  case KF_FILL_PERMUTATION:
    exchange(job, within, (int64_t)kf_rng_below(&job->rng, (uint64_t)job->elements));
    return KF_OK;
  case KF_FILL_SORTED:
    level(job, first, count, within);
    return KF_OK;
  case KF_FILL_SPD:
    redraw_pair(job, within);
    return KF_OK;
  case KF_FILL_CONSTANT:
  case KF_FILL_FILE:
    return KF_OK;
  default:
    return kf_fill_part(job->inputs->task, job->arg, job->inputs->symbols, job->seed, job->data, first, count,
                        err);
  }
}

static kf_status rewrite_array(rewrite_job *job, kf_err *err) {
  int64_t per_line = LINE_BYTES / job->size, lines = (job->elements + per_line - 1) / per_line;
  for (int64_t group = 0; group < lines; group += STRIDE_LINES) {
    int64_t here = lines - group < STRIDE_LINES ? lines - group : STRIDE_LINES;
    /* A last, short group gets its line as often as its share says; the first one always. */
    int64_t line = (int64_t)kf_rng_below(&job->rng, group == 0 ? (uint64_t)here : STRIDE_LINES);
    if (line >= here) continue;
    int64_t first = (group + line) * per_line, left = job->elements - first;
    KF_TRY(rewrite_line(job, first, left < per_line ? left : per_line, err));
  }
  return KF_OK;
}

kf_status kf_inputs_rewrite(kf_inputs *inputs, uint64_t seed, kf_err *err) {
  const void *pointers[KF_ARGS_MAX];
  kf_inputs_pointers(inputs, pointers);
  for (int a = 0; a < inputs->task->nargs; a++) {
    if (!pointers[a] || inputs->elements[a] == 0) continue;
    rewrite_job job = {.inputs = inputs,
                       .arg = a,
                       .data = (char *)(uintptr_t)pointers[a],
                       .elements = inputs->elements[a],
                       .size = (int64_t)kf_type_size(inputs->task->args[a].type),
                       .seed = seed};
    kf_rng_init(&job.rng, seed, (uint64_t)a, PURPOSE_LINE);
    KF_TRY(rewrite_array(&job, err));
  }
  return KF_OK;
}
