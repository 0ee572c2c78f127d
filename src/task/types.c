/* types.c - element types: names, sizes, conversion to and from double by bit operations, so that every
 * machine gives the same result. Formats: IEEE 754-2019 (binary16), bfloat16, and OCP OFP8 revision 1.0 (E4M3
 * without infinities, E5M2). */
#include "task/types.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char *name;
  size_t size;
  bool is_float, is_signed;
  double roundoff; /* docs/internals/evaluator.md, Tolerance */
} type_info;

static const type_info infos[KF_TYPE_COUNT] = {
    [KF_TYPE_F64] = {"f64", 8, true, true, 0x1p-53},  [KF_TYPE_F32] = {"f32", 4, true, true, 0x1p-24},
    [KF_TYPE_F16] = {"f16", 2, true, true, 0x1p-11},  [KF_TYPE_BF16] = {"bf16", 2, true, true, 0x1p-8},
    [KF_TYPE_E4M3] = {"e4m3", 1, true, true, 0x1p-4}, [KF_TYPE_E5M2] = {"e5m2", 1, true, true, 0x1p-3},
    [KF_TYPE_I8] = {"i8", 1, false, true, 0.0},       [KF_TYPE_I16] = {"i16", 2, false, true, 0.0},
    [KF_TYPE_I32] = {"i32", 4, false, true, 0.0},     [KF_TYPE_I64] = {"i64", 8, false, true, 0.0},
    [KF_TYPE_U8] = {"u8", 1, false, false, 0.0},      [KF_TYPE_U16] = {"u16", 2, false, false, 0.0},
    [KF_TYPE_U32] = {"u32", 4, false, false, 0.0},    [KF_TYPE_U64] = {"u64", 8, false, false, 0.0},
    [KF_TYPE_BOOL] = {"bool", 1, false, false, 0.0},
};

size_t kf_type_size(kf_type type) {
  return infos[type].size;
}

const char *kf_type_name(kf_type type) {
  return infos[type].name;
}

bool kf_type_parse(const char *name, kf_type *ret_type) {
  for (int i = 0; i < KF_TYPE_COUNT; i++)
    if (strcmp(name, infos[i].name) == 0) {
      *ret_type = (kf_type)i;
      return true;
    }
  return false;
}

bool kf_type_is_float(kf_type type) {
  return infos[type].is_float;
}

bool kf_type_is_signed(kf_type type) {
  return !infos[type].is_float && infos[type].is_signed;
}

double kf_type_roundoff(kf_type type) {
  return infos[type].roundoff;
}

bool kf_type_range(kf_type type, int64_t *ret_min, int64_t *ret_max) {
  if (infos[type].is_float) return false;
  int bits = (int)infos[type].size * 8;
  if (type == KF_TYPE_BOOL) {
    *ret_min = 0;
    *ret_max = 1;
  } else if (infos[type].is_signed) {
    *ret_max = (int64_t)(UINT64_MAX >> (65 - bits));
    *ret_min = -*ret_max - 1;
  } else {
    *ret_min = 0;
    *ret_max = bits == 64 ? INT64_MAX : (int64_t)(UINT64_MAX >> (64 - bits));
  }
  return true;
}

/* ---- floats of 8 and 16 bits ---- */

/* What follows the largest finite number. */
typedef enum { TOP_INF, TOP_INF_SATURATE, TOP_NAN_ONLY } float_top;

typedef struct {
  int mantissa_bits, bias, bits;
  uint32_t max_finite; /* its bits, without the sign */
  float_top top;
} small_float;

static const small_float f16 = {10, 15, 16, 0x7bff, TOP_INF};
static const small_float bf16 = {7, 127, 16, 0x7f7f, TOP_INF};
static const small_float e4m3 = {3, 7, 8, 0x7e, TOP_NAN_ONLY};
static const small_float e5m2 = {2, 15, 8, 0x7b, TOP_INF_SATURATE};

static double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double power_of_two(int exponent) { /* within the range of normal doubles */
  return double_of_bits((uint64_t)(exponent + 1023) << 52);
}

static double small_get(const small_float *format, uint32_t bits) {
  uint32_t sign = bits >> (format->bits - 1);
  uint32_t body = bits & ((1u << (format->bits - 1)) - 1);
  double value;
  if (body > format->max_finite) {
    bool is_inf = format->top != TOP_NAN_ONLY && body == format->max_finite + 1;
    value = is_inf ? (double)INFINITY : (double)NAN;
  } else {
    int exponent = (int)(body >> format->mantissa_bits);
    uint32_t mantissa = body & ((1u << format->mantissa_bits) - 1);
    if (exponent == 0) {
      value = (double)mantissa * power_of_two(1 - format->bias - format->mantissa_bits);
    } else {
      uint32_t whole = mantissa | (1u << format->mantissa_bits);
      value = (double)whole * power_of_two(exponent - format->bias - format->mantissa_bits);
    }
  }
  return sign ? -value : value;
}

static uint32_t small_put(const small_float *format, double value) {
  uint32_t sign = signbit(value) ? 1u << (format->bits - 1) : 0;
  uint32_t max_body = (1u << (format->bits - 1)) - 1;
  if (isnan(value)) return sign | max_body; /* all ones is a NaN in every one of the formats */
  value = fabs(value);
  uint32_t overflow = format->top == TOP_INF ? format->max_finite + 1 : format->max_finite;
  if (isinf(value)) return sign | (format->top == TOP_NAN_ONLY ? format->max_finite : format->max_finite + 1);
  if (value >= power_of_two(format->bias + 2)) return sign | overflow;
  int exponent = 1 - format->bias;
  if (value >= power_of_two(exponent)) exponent = ilogb(value);
  /* In units of the last place: scaling by a power of two is exact, so is the fraction that is left. */
  double units = value * power_of_two(format->mantissa_bits - exponent);
  uint32_t whole = (uint32_t)units;
  double rest = units - (double)whole;
  if (rest > 0.5 || (rest == 0.5 && (whole & 1) != 0)) whole++;
  /* `whole` has the hidden bit of normal numbers, which adds the 1 that is missing in the exponent field; a
   * carry of the rounding moves into the exponent in the same way. */
  uint32_t body = ((uint32_t)(exponent + format->bias - 1) << format->mantissa_bits) + whole;
  return sign | (body > format->max_finite ? overflow : body);
}

/* ---- arrays ---- */

double kf_type_get(kf_type type, const void *array, size_t index) {
#define GET(ctype) ((double)((const ctype *)array)[index])
  switch (type) {
  case KF_TYPE_F64:
    return GET(double);
  case KF_TYPE_F32:
    return GET(float);
  case KF_TYPE_F16:
    return small_get(&f16, ((const uint16_t *)array)[index]);
  case KF_TYPE_BF16:
    return small_get(&bf16, ((const uint16_t *)array)[index]);
  case KF_TYPE_E4M3:
    return small_get(&e4m3, ((const uint8_t *)array)[index]);
  case KF_TYPE_E5M2:
    return small_get(&e5m2, ((const uint8_t *)array)[index]);
  case KF_TYPE_I8:
    return GET(int8_t);
  case KF_TYPE_I16:
    return GET(int16_t);
  case KF_TYPE_I32:
    return GET(int32_t);
  case KF_TYPE_I64:
    return GET(int64_t);
  case KF_TYPE_U16:
    return GET(uint16_t);
  case KF_TYPE_U32:
    return GET(uint32_t);
  case KF_TYPE_U64:
    return GET(uint64_t);
  case KF_TYPE_U8:
  case KF_TYPE_BOOL:
    return GET(uint8_t);
  case KF_TYPE_COUNT:
    break;
  }
  return 0.0;
#undef GET
}

/* Nearest whole number, ties to even, independent of the rounding mode of the thread. */
static double round_even(double value) {
  double low = floor(value);
  double rest = value - low;
  if (rest < 0.5) return low;
  if (rest > 0.5) return low + 1.0;
  return fmod(low, 2.0) == 0.0 ? low : low + 1.0;
}

static int64_t saturate_signed(double value, int bits) {
  if (isnan(value)) return 0;
  int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
  value = round_even(value);
  if (value >= ldexp(1.0, bits - 1)) return max;
  if (value < -ldexp(1.0, bits - 1)) return -max - 1;
  return (int64_t)value;
}

static uint64_t saturate_unsigned(double value, int bits) {
  if (isnan(value)) return 0;
  value = round_even(value);
  if (value <= 0.0) return 0;
  if (value >= ldexp(1.0, bits)) return UINT64_MAX >> (64 - bits);
  return (uint64_t)value;
}

void kf_type_put(kf_type type, void *array, size_t index, double value) {
#define PUT(ctype, x) ((ctype *)array)[index] = (ctype)(x)
  switch (type) {
  case KF_TYPE_F64:
    PUT(double, value);
    return;
  case KF_TYPE_F32:
    PUT(float, value);
    return;
  case KF_TYPE_F16:
    PUT(uint16_t, small_put(&f16, value));
    return;
  case KF_TYPE_BF16:
    PUT(uint16_t, small_put(&bf16, value));
    return;
  case KF_TYPE_E4M3:
    PUT(uint8_t, small_put(&e4m3, value));
    return;
  case KF_TYPE_E5M2:
    PUT(uint8_t, small_put(&e5m2, value));
    return;
  case KF_TYPE_I8:
    PUT(int8_t, saturate_signed(value, 8));
    return;
  case KF_TYPE_I16:
    PUT(int16_t, saturate_signed(value, 16));
    return;
  case KF_TYPE_I32:
    PUT(int32_t, saturate_signed(value, 32));
    return;
  case KF_TYPE_I64:
    PUT(int64_t, saturate_signed(value, 64));
    return;
  case KF_TYPE_U8:
    PUT(uint8_t, saturate_unsigned(value, 8));
    return;
  case KF_TYPE_U16:
    PUT(uint16_t, saturate_unsigned(value, 16));
    return;
  case KF_TYPE_U32:
    PUT(uint32_t, saturate_unsigned(value, 32));
    return;
  case KF_TYPE_U64:
    PUT(uint64_t, saturate_unsigned(value, 64));
    return;
  case KF_TYPE_BOOL:
    PUT(uint8_t, saturate_unsigned(value, 1));
    return;
  case KF_TYPE_COUNT:
    return;
  }
#undef PUT
}

/* ---- roles ---- */

static const char *const role_names[] = {"in", "out", "inout", "size", "scalar"};

const char *kf_role_name(kf_role role) {
  return role_names[role];
}

bool kf_role_parse(const char *name, kf_role *ret_role) {
  for (size_t i = 0; i < KF_COUNTOF(role_names); i++)
    if (strcmp(name, role_names[i]) == 0) {
      *ret_role = (kf_role)i;
      return true;
    }
  return false;
}

bool kf_role_is_array(kf_role role) {
  return role == KF_ROLE_IN || role == KF_ROLE_OUT || role == KF_ROLE_INOUT;
}
