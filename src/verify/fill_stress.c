/* fill_stress.c - single-class inputs: near overflow, subnormal, zeros, ties, one-hot, cancellation, NaN and
 * infinities (fill.h). Exact operations only, as in fill.c. */
#include "verify/fill_job.h"

#include "verify/compare_limit.h"
#include <math.h>

#include "base/banned.h"

enum { CHUNK = 1024 };

/* What an element is made of. */
typedef struct {
  const kf_fill_job *job;
  double size;
} stress;

static bool is_first_real(const kf_task *task, int index) {
  for (int a = 0; a < index; a++) {
    const kf_arg_spec *arg = &task->args[a];
    bool real = kf_type_is_float(arg->type) && (arg->role == KF_ROLE_IN || arg->role == KF_ROLE_INOUT) &&
                (arg->fill.kind == KF_FILL_NORMAL || arg->fill.kind == KF_FILL_UNIFORM);
    if (real) return false;
  }
  return true;
}

/* The power of two at or below x. */
static double power_below(double x) {
  return ldexp(1.0, ilogb(x));
}

static int half_digits(kf_type type) {
  return -ilogb(kf_type_roundoff(type)) / 2;
}

static double size_of(const kf_fill_job *job) {
  const kf_float_range *range = kf__float_range(job->type);
  double spread = 16 * sqrt((double)(job->elements > 0 ? job->elements : 1));
  switch (job->family) {
  case KF_FAMILY_HUGE:
    return power_below(range->largest / spread);
  case KF_FAMILY_LARGE:
    return power_below(sqrt(range->largest) / spread);
  case KF_FAMILY_SUBNORMAL:
    return range->normal_min;
  case KF_FAMILY_ALTERNATING:
    return ldexp(1.0, half_digits(job->type));
  default:
    return 1;
  }
}

static double value_at(const stress *s, int64_t index, uint32_t word) {
  double sign = word & 1 ? -1.0 : 1.0;
  double fraction = (double)(word >> 8) * 0x1p-24; /* [0, 1) */
  switch (s->job->family) {
  case KF_FAMILY_HUGE:
  case KF_FAMILY_LARGE:
    return sign * s->size * (0.5 + fraction / 2);
  case KF_FAMILY_SUBNORMAL:
    return sign * s->size * fraction;
  case KF_FAMILY_ZEROS:
    return sign * 0.0;
  case KF_FAMILY_ALTERNATING:
    return (index % 2 ? -s->size : s->size) + (2 * fraction - 1);
  default:
    return 0;
  }
}

static void fill_each(const kf_fill_job *job) {
  const stress s = {job, size_of(job)};
  uint32_t words[CHUNK] = {0};
  for (int64_t first = 0; first < job->elements; first += CHUNK) {
    int64_t count = job->elements - first < CHUNK ? job->elements - first : CHUNK;
    kf__fill_words(job->seed, job->index, KF_FILL_PURPOSE, (uint64_t)first / 4, (count + 3) / 4, words);
    for (int64_t i = 0; i < count; i++)
      kf_type_put(job->type, job->data, (size_t)(first + i), value_at(&s, first + i, words[i]));
  }
}

static void add_offset(const kf_fill_job *job) {
  int digits = half_digits(job->type) - 2;
  double offset = ldexp(1.0, digits > 0 ? digits : 0);
  for (int64_t i = 0; i < job->elements; i++)
    kf_type_put(job->type, job->data, (size_t)i, offset + kf_type_get(job->type, job->data, (size_t)i));
}

/* One value for the whole array; of the same range as N(0,1), never zero. */
static void fill_equal(const kf_fill_job *job) {
  kf_rng rng;
  kf_rng_init(&rng, job->seed, (uint64_t)job->index, KF_FILL_PURPOSE_ORDER);
  uint32_t word = kf_rng_u32(&rng);
  double value = (word & 1 ? -1.0 : 1.0) * (0.25 + (double)(word >> 8) * 0x1p-24 * 2);
  for (int64_t i = 0; i < job->elements; i++)
    kf_type_put(job->type, job->data, (size_t)i, value);
}

static void fill_one_hot(const kf_fill_job *job) {
  if (job->elements < 1) return;
  kf_rng rng;
  kf_rng_init(&rng, job->seed, (uint64_t)job->index, KF_FILL_PURPOSE_ORDER);
  for (int64_t i = 0; i < job->elements; i++)
    kf_type_put(job->type, job->data, (size_t)i, 0);
  kf_type_put(job->type, job->data, (size_t)kf_rng_below(&rng, (uint64_t)job->elements), 1);
}

/* The families from NAN_FIRST on: three values at three places each, in that order. */
static void put_special(const kf_fill_job *job) {
  enum { PLACES = 3 };
  static const double values[] = {NAN, HUGE_VAL, -HUGE_VAL};
  int number = (int)job->family - KF_FAMILY_NAN_FIRST;
  const int64_t places[PLACES] = {0, job->elements / 2, job->elements - 1};
  if (job->elements < 1) return;
  kf_type_put(job->type, job->data, (size_t)places[number % PLACES], values[number / PLACES]);
}

void kf__fill_stress(const kf_fill_job *job) {
  if (job->family == KF_FAMILY_EQUAL) {
    fill_equal(job);
    return;
  }
  if (!is_first_real(job->task, job->index)) {
    kf__fill_normal(job);
    return;
  }
  if (job->family == KF_FAMILY_ONE_HOT) {
    fill_one_hot(job);
  } else if (job->family == KF_FAMILY_OFFSET) {
    kf__fill_normal(job);
    add_offset(job);
  } else if (job->family >= KF_FAMILY_NAN_FIRST) {
    kf__fill_normal(job);
    put_special(job);
  } else {
    fill_each(job);
  }
}
