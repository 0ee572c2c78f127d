/* types.h - element types, argument roles and fills of a task (docs/formats/task.md). Plain data. */
#ifndef KF_TASK_TYPES_H
#define KF_TASK_TYPES_H

#include "base/status.h"
#include <stdint.h>

typedef enum {
  KF_TYPE_F64,
  KF_TYPE_F32,
  KF_TYPE_F16,
  KF_TYPE_BF16,
  KF_TYPE_E4M3,
  KF_TYPE_E5M2,
  KF_TYPE_I8,
  KF_TYPE_I16,
  KF_TYPE_I32,
  KF_TYPE_I64,
  KF_TYPE_U8,
  KF_TYPE_U16,
  KF_TYPE_U32,
  KF_TYPE_U64,
  KF_TYPE_BOOL, /* one byte, 0 or 1 */
  KF_TYPE_COUNT,
} kf_type;

size_t kf_type_size(kf_type type);      /* bytes of one element */
const char *kf_type_name(kf_type type); /* "f32" */
bool kf_type_parse(const char *name, kf_type *ret_type);
bool kf_type_is_float(kf_type type);
bool kf_type_is_signed(kf_type type); /* i8..i64 */
/* Least and largest value of an integer type that an int64 holds (u64 is cut at INT64_MAX); false for floats.
 */
bool kf_type_range(kf_type type, int64_t *ret_min, int64_t *ret_max);
/* Unit roundoff u of a float type (docs/internals/evaluator.md, Tolerance); 0 for integers. */
double kf_type_roundoff(kf_type type);
/* Element `index` of an array as double (64-bit integers lose bits beyond 2^53), and back, rounded to nearest
 * even. Integers saturate and a NaN gives 0; f32, f16 and bf16 overflow to infinity; e4m3 and e5m2 saturate
 * at their largest finite value (e5m2 keeps an infinity that is given, e4m3 has none). f16, bf16 and the fp8
 * types are converted bit by bit, the same everywhere. */
double kf_type_get(kf_type type, const void *array, size_t index);
void kf_type_put(kf_type type, void *array, size_t index, double value);

typedef enum { KF_ROLE_IN, KF_ROLE_OUT, KF_ROLE_INOUT, KF_ROLE_SIZE, KF_ROLE_SCALAR } kf_role;
const char *kf_role_name(kf_role role);
bool kf_role_parse(const char *name, kf_role *ret_role);
bool kf_role_is_array(kf_role role); /* in, out, inout */

typedef enum {
  KF_FILL_NORMAL,
  KF_FILL_UNIFORM,
  KF_FILL_INT,         /* int[lo,hi) */
  KF_FILL_INDEX,       /* index(symbol): uniform in [0, symbol) */
  KF_FILL_PERMUTATION, /* of 0..n-1 over the whole array */
  KF_FILL_SORTED,      /* uniform, ascending */
  KF_FILL_SPD,         /* symmetric positive definite; rank 2, square */
  KF_FILL_CONSTANT,
  KF_FILL_FILE, /* raw elements from a file of the package */
} kf_fill_kind;

typedef struct {
  kf_fill_kind kind;
  int64_t lo, hi;   /* KF_FILL_INT */
  double value;     /* KF_FILL_CONSTANT */
  int symbol;       /* KF_FILL_INDEX: index into kf_task.symbols */
  const char *file; /* KF_FILL_FILE: name in the package; owned by the task */
} kf_fill;

#endif
