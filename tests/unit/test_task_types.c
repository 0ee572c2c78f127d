/* links: kf_base kf_task */
/* test_task_types.c - element types: names, ranges, and conversions against known bit patterns. */
#include "test_task_util.h"

#include <math.h>

static void test_task_types__names_round_trip(void **state) {
  (void)state;
  for (int i = 0; i < KF_TYPE_COUNT; i++) {
    kf_type type;
    assert_true(kf_type_parse(kf_type_name((kf_type)i), &type));
    assert_int_equal(type, i);
  }
  kf_type type;
  assert_false(kf_type_parse("float", &type));
  assert_int_equal(kf_type_size(KF_TYPE_BF16), 2);
  assert_true(kf_type_is_signed(KF_TYPE_I8));
  assert_false(kf_type_is_signed(KF_TYPE_F32));
  assert_true(kf_type_roundoff(KF_TYPE_F16) == 0x1p-11);
  assert_true(kf_type_roundoff(KF_TYPE_I32) == 0.0);
}

static void test_task_types__ranges(void **state) {
  (void)state;
  int64_t min, max;
  assert_true(kf_type_range(KF_TYPE_I8, &min, &max));
  assert_true(min == -128 && max == 127);
  assert_true(kf_type_range(KF_TYPE_I64, &min, &max));
  assert_true(min == INT64_MIN && max == INT64_MAX);
  assert_true(kf_type_range(KF_TYPE_U16, &min, &max));
  assert_true(min == 0 && max == 65535);
  assert_true(kf_type_range(KF_TYPE_U64, &min, &max));
  assert_true(min == 0 && max == INT64_MAX);
  assert_false(kf_type_range(KF_TYPE_F16, &min, &max));
}

typedef struct {
  double value, back;
  kf_type type;
  uint32_t bits;
} known;

/* Bit patterns: IEEE 754 binary16, bfloat16 = upper half of binary32, OCP OFP8 tables 1 and 2. */
static void test_task_types__small_floats_have_the_known_bits(void **state) {
  (void)state;
  static const known cases[] = {
      {1.0, 1.0, KF_TYPE_F16, 0x3c00},
      {65504.0, 65504.0, KF_TYPE_F16, 0x7bff},
      {65519.9, 65504.0, KF_TYPE_F16, 0x7bff},
      {65520.0, INFINITY, KF_TYPE_F16, 0x7c00},
      {-0.0, -0.0, KF_TYPE_F16, 0x8000},
      {0x1p-24, 0x1p-24, KF_TYPE_F16, 0x0001},
      {0x1p-25, 0.0, KF_TYPE_F16, 0x0000},
      {0x1.8p-25, 0x1p-24, KF_TYPE_F16, 0x0001},
      {0x1.ffcp-15, 0x1p-14, KF_TYPE_F16, 0x0400},
      {2049.0, 2048.0, KF_TYPE_F16, 0x6800},
      {2051.0, 2052.0, KF_TYPE_F16, 0x6802},
      {1.0, 1.0, KF_TYPE_BF16, 0x3f80},
      {3.14159265, 3.140625, KF_TYPE_BF16, 0x4049},
      {1e39, INFINITY, KF_TYPE_BF16, 0x7f80},
      {0x1p-133, 0x1p-133, KF_TYPE_BF16, 0x0001},
      {448.0, 448.0, KF_TYPE_E4M3, 0x7e},
      {1000.0, 448.0, KF_TYPE_E4M3, 0x7e},
      {-INFINITY, -448.0, KF_TYPE_E4M3, 0xfe},
      {0x1p-9, 0x1p-9, KF_TYPE_E4M3, 0x01},
      {57344.0, 57344.0, KF_TYPE_E5M2, 0x7b},
      {1e9, 57344.0, KF_TYPE_E5M2, 0x7b},
      {INFINITY, INFINITY, KF_TYPE_E5M2, 0x7c},
      {-1.25, -1.25, KF_TYPE_E5M2, 0xbd},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    uint16_t two[2] = {0, 0};
    uint8_t one[2] = {0, 0};
    bool wide = kf_type_size(cases[i].type) == 2;
    void *array = wide ? (void *)two : (void *)one;
    kf_type_put(cases[i].type, array, 1, cases[i].value);
    uint32_t bits = wide ? two[1] : one[1];
    double back = kf_type_get(cases[i].type, array, 1);
    if (bits != cases[i].bits || back != cases[i].back || signbit(back) != signbit(cases[i].back))
      fail_msg("%s of %g: bits 0x%x, back %g", kf_type_name(cases[i].type), cases[i].value, bits, back);
  }
}

/* Every bit pattern of every 8 and 16 bit float survives get and put. */
static void test_task_types__small_floats_round_trip_exhaustively(void **state) {
  (void)state;
  static const kf_type types[] = {KF_TYPE_F16, KF_TYPE_BF16, KF_TYPE_E4M3, KF_TYPE_E5M2};
  for (size_t t = 0; t < KF_COUNTOF(types); t++) {
    bool wide = kf_type_size(types[t]) == 2;
    for (uint32_t bits = 0; bits < (wide ? 65536u : 256u); bits++) {
      uint16_t two = (uint16_t)bits, two_back = 0;
      uint8_t one = (uint8_t)bits, one_back = 0;
      double value = kf_type_get(types[t], wide ? (void *)&two : (void *)&one, 0);
      kf_type_put(types[t], wide ? (void *)&two_back : (void *)&one_back, 0, value);
      uint32_t back = wide ? two_back : one_back;
      if (isnan(value)) {
        assert_true(isnan(kf_type_get(types[t], wide ? (void *)&two_back : (void *)&one_back, 0)));
      } else if (back != bits) {
        fail_msg("%s 0x%x became 0x%x", kf_type_name(types[t]), bits, back);
      }
    }
  }
}

static void test_task_types__integers_round_to_even_and_saturate(void **state) {
  (void)state;
  int8_t i8[1];
  uint8_t u8[1];
  int64_t i64[1];
  uint64_t u64[1];
  kf_type_put(KF_TYPE_I8, i8, 0, 2.5);
  assert_int_equal(i8[0], 2);
  kf_type_put(KF_TYPE_I8, i8, 0, -3.5);
  assert_int_equal(i8[0], -4);
  kf_type_put(KF_TYPE_I8, i8, 0, 1e9);
  assert_int_equal(i8[0], 127);
  kf_type_put(KF_TYPE_I8, i8, 0, -1e9);
  assert_int_equal(i8[0], -128);
  kf_type_put(KF_TYPE_I8, i8, 0, NAN);
  assert_int_equal(i8[0], 0);
  kf_type_put(KF_TYPE_U8, u8, 0, -1.0);
  assert_int_equal(u8[0], 0);
  kf_type_put(KF_TYPE_BOOL, u8, 0, 7.0);
  assert_int_equal(u8[0], 1);
  kf_type_put(KF_TYPE_I64, i64, 0, 0x1p63);
  assert_true(i64[0] == INT64_MAX);
  kf_type_put(KF_TYPE_I64, i64, 0, -0x1p63);
  assert_true(i64[0] == INT64_MIN);
  kf_type_put(KF_TYPE_U64, u64, 0, 0x1p64);
  assert_true(u64[0] == UINT64_MAX);
  assert_true(kf_type_get(KF_TYPE_U64, u64, 0) == 0x1p64);
}

static void test_task_types__roles(void **state) {
  (void)state;
  kf_role role;
  assert_true(kf_role_parse("inout", &role));
  assert_int_equal(role, KF_ROLE_INOUT);
  assert_string_equal(kf_role_name(KF_ROLE_SCALAR), "scalar");
  assert_false(kf_role_parse("output", &role));
  assert_true(kf_role_is_array(KF_ROLE_OUT));
  assert_false(kf_role_is_array(KF_ROLE_SIZE));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_types__names_round_trip),
      cmocka_unit_test(test_task_types__ranges),
      cmocka_unit_test(test_task_types__small_floats_have_the_known_bits),
      cmocka_unit_test(test_task_types__small_floats_round_trip_exhaustively),
      cmocka_unit_test(test_task_types__integers_round_to_even_and_saturate),
      cmocka_unit_test(test_task_types__roles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
