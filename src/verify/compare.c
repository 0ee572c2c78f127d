/* compare.c - element-wise comparison. Chunks are decoded to double and checked by a short loop without
 * calls; only a chunk that does not pass is looked at element by element with all the rules. So right outputs
 * cost a few cycles an element. NaN never passes the short loop (every test with it is false), which is what
 * makes the shortcut safe. */
#include "verify/compare.h"

#include "base/alloc.h"
#include "verify/compare_limit.h"
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"

enum { CHUNK = 512 };

/* ---- limits ---- */

static const kf_float_range ranges[] = {
    [KF_TYPE_F64] = {0x1p-1074, DBL_MIN, DBL_MAX}, [KF_TYPE_F32] = {0x1p-149, FLT_MIN, FLT_MAX},
    [KF_TYPE_F16] = {0x1p-24, 0x1p-14, 65504},     [KF_TYPE_BF16] = {0x1p-133, 0x1p-126, 0x1.FEp127},
    [KF_TYPE_E4M3] = {0x1p-9, 0x1p-6, 448},        [KF_TYPE_E5M2] = {0x1p-16, 0x1p-14, 57344},
};

const kf_float_range *kf__float_range(kf_type type) {
  return &ranges[type];
}

static bool narrow(kf_type type) {
  return type == KF_TYPE_F16 || type == KF_TYPE_E4M3 || type == KF_TYPE_E5M2;
}

kf_status kf__limit_init(kf_limit *limit, const kf_tolerance *tolerance, double widen, kf_err *err) {
  bool approximate = kf_type_is_float(tolerance->type) &&
                     (tolerance->compare == KF_COMPARE_BOUND || tolerance->compare == KF_COMPARE_SET);
  *limit = (kf_limit){.tolerance = tolerance,
                      .kind = approximate ? tolerance->kind : KF_ERROR_EXACT,
                      .widen = widen,
                      .largest = HUGE_VAL};
  if (!kf_type_is_float(tolerance->type)) return KF_OK;
  const kf_float_range *range = &ranges[tolerance->type];
  double u_acc = tolerance->type == KF_TYPE_F64 ? 0x1p-53 : 0x1p-24;
  double depth = tolerance->depth > 1 ? (double)tolerance->depth : 1;
  limit->u_out = kf_type_roundoff(tolerance->type);
  limit->accumulation = 6 * sqrt(depth) * u_acc;
  limit->tiny = narrow(tolerance->type) ? range->spacing_min : range->normal_min;
  limit->spacing_min = range->spacing_min;
  limit->largest = range->largest;
  if (limit->kind == KF_ERROR_LINEAR && tolerance->scale == NULL)
    return kf_fail(err, KF_EBUG, "compare: a linear tolerance without its scale");
  return KF_OK;
}

/* Spacing of the type at y: the power of two below |y|, from the exponent bits, times two roundoffs. */
static inline double spacing_at(const kf_limit *limit, double y) {
  uint64_t bits;
  memcpy(&bits, &y, sizeof bits);
  bits &= 0x7FF0000000000000u;
  double power;
  memcpy(&power, &bits, sizeof power);
  double spacing = power * (2 * limit->u_out);
  return spacing > limit->spacing_min ? spacing : limit->spacing_min;
}

static inline double allowed_linear(const kf_limit *limit, double want, double scale) {
  return limit->widen * (2 * (limit->u_out * fabs(want) + limit->accumulation * scale) + limit->tiny);
}

static inline double allowed_calibrated(const kf_limit *limit, double want) {
  double spacing = spacing_at(limit, want), e_float = limit->tolerance->e_float;
  return limit->widen * 8 * (spacing > e_float ? spacing : e_float);
}

static double allowed_by_kind(const kf_limit *limit, int64_t index, double want) {
  switch (limit->kind) {
  case KF_ERROR_LINEAR:
    return allowed_linear(limit, want, limit->tolerance->scale[index]);
  case KF_ERROR_CALIBRATED:
    return allowed_calibrated(limit, want);
  case KF_ERROR_EXACT:
    break;
  }
  return 0;
}

double kf__limit_allowed(const kf_limit *limit, int64_t index, double want) {
  double allowed = allowed_by_kind(limit, index, want);
  const double *slack = limit->tolerance->slack;
  if (slack == NULL || limit->kind == KF_ERROR_EXACT) return allowed;
  double raised = limit->widen * slack[index];
  return raised > allowed ? raised : allowed;
}

double kf_tolerance_at(const kf_tolerance *tolerance, int64_t index, double want) {
  kf_limit limit;
  if (kf__limit_init(&limit, tolerance, 1, NULL) != KF_OK) return 0;
  return kf__limit_allowed(&limit, index, want);
}

double kf__limit_round(const kf_limit *limit, double want) {
  kf_type type = limit->tolerance->type;
  if (type == KF_TYPE_F32) return (float)want;
  if (type == KF_TYPE_F64 || !kf_type_is_float(type)) return want;
  uint64_t element = 0;
  kf_type_put(type, &element, 0, want);
  return kf_type_get(type, &element, 0);
}

static bool same_sign(double a, double b) {
  return signbit(a) == signbit(b);
}

static double exact_ratio(const kf_limit *limit, double got, double want) {
  double rounded = kf__limit_round(limit, want);
  bool right = got == rounded;
  if (limit->tolerance->compare == KF_COMPARE_BITWISE) right = right && same_sign(got, rounded);
  return right ? 0 : HUGE_VAL;
}

/* An index whose value ties with that of the expected one. */
static bool ties(const kf_tolerance *tolerance, int64_t index, double got, double want) {
  int64_t n = tolerance->nchoices;
  if (tolerance->choices == NULL || !(got >= 0 && got < (double)n) || !(want >= 0 && want < (double)n))
    return false;
  const double *values = tolerance->choices + index * n;
  double a = values[(int64_t)got], b = values[(int64_t)want];
  return a == b || fabs(a - b) <= 2 * 0x1p-24 * fmax(fabs(a), fabs(b));
}

double kf__limit_ratio(const kf_limit *limit, int64_t index, double got, double want) {
  if (limit->tolerance->slack != NULL && isinf(limit->tolerance->slack[index])) return 0;
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : HUGE_VAL;
  bool at_end = same_sign(got, want) && fabs(got) >= limit->largest;
  if (isinf(want)) {
    bool has_infinity = limit->tolerance->type != KF_TYPE_E4M3;
    return at_end && (isinf(got) || !has_infinity) ? 0 : HUGE_VAL;
  }
  if (fabs(want) > limit->largest && at_end) return 0;
  if (isinf(got)) return HUGE_VAL;
  if (limit->kind == KF_ERROR_EXACT) {
    if (limit->tolerance->compare == KF_COMPARE_ARGMAX && ties(limit->tolerance, index, got, want)) return 0;
    return exact_ratio(limit, got, want);
  }
  double error = fabs(got - want);
  if (error == 0) return 0;
  return error / kf__limit_allowed(limit, index, want);
}

/* ---- the short loops ---- */

static void decode(kf_type type, const void *array, int64_t first, int64_t count, double *ret_values) {
  switch (type) {
  case KF_TYPE_F32:
    for (int64_t i = 0; i < count; i++)
      ret_values[i] = ((const float *)array)[first + i];
    break;
  case KF_TYPE_F64:
    memcpy(ret_values, (const double *)array + first, (size_t)count * sizeof(double));
    break;
  case KF_TYPE_I32:
    for (int64_t i = 0; i < count; i++)
      ret_values[i] = ((const int32_t *)array)[first + i];
    break;
  default:
    for (int64_t i = 0; i < count; i++)
      ret_values[i] = kf_type_get(type, array, (size_t)(first + i));
    break;
  }
}

/* max keeps the old value when the new one is NaN; `out` is what tells. */
static inline double larger(double old, double ratio) {
  return ratio > old ? ratio : old;
}

/* Largest ratio and whether all passed; `!(x <= 1)` also counts NaN. Four maxima, since a single one would be
 * a chain that the processor cannot overlap. */
static bool within(const double *ratios, int64_t count, double *ret_worst) {
  double a = 0, b = 0, c = 0, d = 0;
  int out = 0;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    out |= !(ratios[i] <= 1) | !(ratios[i + 1] <= 1) | !(ratios[i + 2] <= 1) | !(ratios[i + 3] <= 1);
    a = larger(a, ratios[i]);
    b = larger(b, ratios[i + 1]);
    c = larger(c, ratios[i + 2]);
    d = larger(d, ratios[i + 3]);
  }
  for (; i < count; i++) {
    out |= !(ratios[i] <= 1);
    a = larger(a, ratios[i]);
  }
  *ret_worst = larger(larger(a, b), larger(c, d));
  return out == 0;
}

static bool chunk_linear(const kf_limit *limit, int64_t first, const double *got, const double *want,
                         int64_t count, double *ret_worst) {
  const kf_limit l = *limit;
  const double *scale = l.tolerance->scale + first;
  double ratios[CHUNK];
  for (int64_t i = 0; i < count; i++)
    ratios[i] = fabs(got[i] - want[i]) / allowed_linear(&l, want[i], scale[i]);
  return within(ratios, count, ret_worst);
}

static bool chunk_calibrated(const kf_limit *limit, const double *got, const double *want, int64_t count,
                             double *ret_worst) {
  const kf_limit l = *limit;
  const double least = l.tolerance->e_float > l.spacing_min ? l.tolerance->e_float : l.spacing_min;
  const double two_u = 2 * l.u_out, factor = 8 * l.widen;
  double ratios[CHUNK];
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits;
    memcpy(&bits, &want[i], sizeof bits);
    bits &= 0x7FF0000000000000u;
    double power;
    memcpy(&power, &bits, sizeof power);
    double spacing = power * two_u;
    ratios[i] = fabs(got[i] - want[i]) / (factor * (spacing > least ? spacing : least));
  }
  return within(ratios, count, ret_worst);
}

static void round_chunk(const kf_limit *limit, const double *want, int64_t count, double *ret_rounded) {
  if (limit->tolerance->type == KF_TYPE_F32) {
    for (int64_t i = 0; i < count; i++)
      ret_rounded[i] = (float)want[i];
    return;
  }
  for (int64_t i = 0; i < count; i++)
    ret_rounded[i] = kf__limit_round(limit, want[i]);
}

/* Bits of doubles differ where the values do, or the sign of a zero: for exact those chunks are looked at
 * again. */
static bool chunk_exact(const kf_limit *limit, const double *got, const double *want, int64_t count) {
  kf_type type = limit->tolerance->type;
  size_t bytes = (size_t)count * sizeof *got;
  if (!kf_type_is_float(type) || type == KF_TYPE_F64) return memcmp(got, want, bytes) == 0;
  double rounded[CHUNK];
  round_chunk(limit, want, count, rounded);
  return memcmp(got, rounded, bytes) == 0;
}

static bool chunk_right(const kf_limit *limit, int64_t first, const double *got, const double *want,
                        int64_t count, double *ret_worst) {
  *ret_worst = 0;
  if (limit->tolerance->slack != NULL) return false; /* small arrays only: element by element */
  switch (limit->kind) {
  case KF_ERROR_LINEAR:
    return chunk_linear(limit, first, got, want, count, ret_worst);
  case KF_ERROR_CALIBRATED:
    return chunk_calibrated(limit, got, want, count, ret_worst);
  default:
    return chunk_exact(limit, got, want, count);
  }
}

/* ---- whole arrays ---- */

static void add_element(kf_compare_result *result, int64_t index, double ratio, double got, double want) {
  if (ratio > result->worst) result->worst = ratio;
  if (ratio <= 1) return;
  if (result->wrong++ > 0) return;
  result->right = false;
  result->first = index;
  result->first_got = got;
  result->first_want = want;
}

static void add_chunk(const kf_limit *limit, int64_t first, const double *got, const double *want,
                      int64_t count, kf_compare_result *result) {
  double worst;
  if (chunk_right(limit, first, got, want, count, &worst)) {
    if (worst > result->worst) result->worst = worst;
    return;
  }
  for (int64_t i = 0; i < count; i++)
    add_element(result, first + i, kf__limit_ratio(limit, first + i, got[i], want[i]), got[i], want[i]);
}

kf_status kf_compare_array(const kf_tolerance *tolerance, const void *got, const double *want,
                           int64_t elements, kf_compare_result *ret_result, kf_err *err) {
  kf_limit limit;
  KF_TRY(kf__limit_init(&limit, tolerance, 1, err));
  if (tolerance->compare == KF_COMPARE_SET)
    return kf__compare_set(&limit, got, want, elements, ret_result, err);
  kf_compare_result result = {.right = true, .first = -1};
  double values[CHUNK];
  for (int64_t first = 0; first < elements; first += CHUNK) {
    int64_t count = elements - first < CHUNK ? elements - first : CHUNK;
    decode(tolerance->type, got, first, count, values);
    add_chunk(&limit, first, values, want + first, count, &result);
  }
  *ret_result = result;
  return KF_OK;
}

/* Two different 64-bit integers may be one double; they must not pass as equal. */
static void keep_apart(kf_type type, const void *got, int64_t first, int64_t count, double *values,
                       const void *want) {
  if (type != KF_TYPE_I64 && type != KF_TYPE_U64) return;
  const uint64_t *a = got, *b = want;
  for (int64_t i = 0; i < count; i++)
    if (a[first + i] != b[first + i]) values[i] = nextafter(values[i], HUGE_VAL);
}

static kf_status compare_set_outputs(const kf_limit *limit, const void *got, const void *want,
                                     int64_t elements, kf_compare_result *ret_result, kf_err *err) {
  KF_CLEANUP(kf_freep) double *values = kf_reallocarray(NULL, (size_t)elements + 1, sizeof *values);
  if (values == NULL) return kf_nomem(err);
  decode(limit->tolerance->type, want, 0, elements, values);
  return kf__compare_set(limit, got, values, elements, ret_result, err);
}

kf_status kf_compare_outputs(const kf_tolerance *tolerance, const void *got, const void *want,
                             int64_t elements, kf_compare_result *ret_result, kf_err *err) {
  kf_limit limit;
  KF_TRY(kf__limit_init(&limit, tolerance, 2, err));
  if (tolerance->compare == KF_COMPARE_SET)
    return compare_set_outputs(&limit, got, want, elements, ret_result, err);
  kf_compare_result result = {.right = true, .first = -1};
  double values[CHUNK], wanted[CHUNK];
  for (int64_t first = 0; first < elements; first += CHUNK) {
    int64_t count = elements - first < CHUNK ? elements - first : CHUNK;
    decode(tolerance->type, got, first, count, values);
    decode(tolerance->type, want, first, count, wanted);
    keep_apart(tolerance->type, got, first, count, values, want);
    add_chunk(&limit, first, values, wanted, count, &result);
  }
  *ret_result = result;
  return KF_OK;
}
