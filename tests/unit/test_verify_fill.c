/* links: kf_base kf_wire kf_task kf_verify */
/* test_verify_fill.c - fills have the documented values, the same bits everywhere, and poison is found again.
 */
#include "verify/fill.h"

#include "base/alloc.h"
#include "base/philox.h"
#include "verify/quantile.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { COUNT = 5000 };

/* A task of one input; its shape is given by `elements` alone, which is all a fill looks at. */
static kf_task *task_of(kf_type type, kf_fill fill) {
  static kf_task task;
  memset(&task, 0, sizeof task);
  task.nargs = 3;
  task.nsymbols = 1;
  task.symbols[0] = (kf_symbol){.name = "n", .initial = 10, .min = 1, .max = 1000000, .multiple_of = 1};
  for (int i = 0; i < task.nargs; i++)
    task.args[i] = (kf_arg_spec){.name = "x", .role = KF_ROLE_IN, .type = type, .fill = fill};
  return &task;
}

static void fill_ok(kf_type type, kf_fill fill, int arg, uint64_t seed, kf_family family, void *data,
                    int64_t n) {
  const int64_t symbols[] = {100};
  kf_err err = {0};
  if (kf_fill_arg(task_of(type, fill), arg, symbols, seed, family, data, n, &err) != KF_OK)
    fail_msg("%s", err.msg);
}

static uint64_t fnv(const void *bytes, size_t len) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < len; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u;
  return hash;
}

/* The same on every compiler and optimisation level; computed once more in Python, from
 * statistics.NormalDist. */
static void test_verify_fill__tables_have_the_pinned_bits(void **state) {
  (void)state;
  static const uint64_t pinned[KF_QUANTILE_TABLES] = {0x0107DBC5528D4A51u, 0x73CDCC7D62DF15EDu,
                                                      0xFE66D54C033BE52Au, 0x2F5E95162372A4A9u};
  for (int t = 0; t < KF_QUANTILE_TABLES; t++) {
    const float *table = kf__quantile_table((kf_quantile_table)t);
    assert_true(fnv(table, KF_QUANTILE_COUNT * sizeof *table) == pinned[t]);
  }
}

static void test_verify_fill__table_is_the_normal_quantile(void **state) {
  (void)state;
  const float *q = kf__quantile_table(KF_QUANTILE_NORMAL);
  for (int k = 0; k < KF_QUANTILE_COUNT; k += 97) {
    double p = 0.5 * erfc(-(double)q[k] / sqrt(2));
    double want = (k + 0.5) / KF_QUANTILE_COUNT;
    assert_true(fabs(p - want) < 1e-6 * fmin(want, 1 - want) + 1e-8);
    assert_true(q[k] == -q[KF_QUANTILE_COUNT - 1 - k]);
    if (k > 0) assert_true(q[k] > q[k - 1]);
  }
}

static void test_verify_fill__elements_follow_the_documented_counter(void **state) {
  (void)state;
  const uint64_t seed = 0x123456789ABCDEFu;
  float normal[COUNT], uniform[COUNT];
  fill_ok(KF_TYPE_F32, (kf_fill){.kind = KF_FILL_NORMAL}, 2, seed, KF_FAMILY_DECLARED, normal, COUNT);
  fill_ok(KF_TYPE_F32, (kf_fill){.kind = KF_FILL_UNIFORM}, 2, seed, KF_FAMILY_DECLARED, uniform, COUNT);
  for (uint32_t i = 0; i < COUNT; i++) {
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, counter[4] = {i / 4, 0, 2, 0x66696C6C};
    uint32_t out[4];
    kf_philox_block(counter, key, out);
    assert_true(normal[i] == kf__quantile_table(KF_QUANTILE_NORMAL)[out[i % 4] >> 16]);
    assert_true(uniform[i] == (float)(out[i % 4] >> 8) / 16777216.0f);
  }
}

static void test_verify_fill__length_seed_and_argument(void **state) {
  (void)state;
  float a[COUNT], b[COUNT];
  kf_fill normal = {.kind = KF_FILL_NORMAL};
  fill_ok(KF_TYPE_F32, normal, 0, 1, KF_FAMILY_DECLARED, a, COUNT);
  memset(b, 0, sizeof b);
  fill_ok(KF_TYPE_F32, normal, 0, 1, KF_FAMILY_DECLARED, b, 1027); /* a shorter array is a prefix */
  assert_memory_equal(a, b, 1027 * sizeof *a);
  assert_true(b[1027] == 0);
  fill_ok(KF_TYPE_F32, normal, 1, 1, KF_FAMILY_DECLARED, b, COUNT);
  assert_memory_not_equal(a, b, sizeof a);
  fill_ok(KF_TYPE_F32, normal, 0, 2, KF_FAMILY_DECLARED, b, COUNT);
  assert_memory_not_equal(a, b, sizeof a);
  fill_ok(KF_TYPE_F32, normal, 0, 1, KF_FAMILY_DECLARED, b, 0);
}

typedef struct {
  double mean, deviation, low, high;
} summary;

static summary summarise(kf_type type, const void *data, int64_t n) {
  summary s = {.low = HUGE_VAL, .high = -HUGE_VAL};
  double squares = 0;
  for (int64_t i = 0; i < n; i++) {
    double value = kf_type_get(type, data, (size_t)i);
    s.mean += value / (double)n;
    squares += value * value / (double)n;
    s.low = fmin(s.low, value);
    s.high = fmax(s.high, value);
  }
  s.deviation = sqrt(squares - s.mean * s.mean);
  return s;
}

static void test_verify_fill__families_have_their_shape(void **state) {
  (void)state;
  static const struct {
    kf_family family;
    double mean, deviation, low, high;
  } rows[] = {
      {KF_FAMILY_DECLARED, 0.5, 0.2887, 0, 1},
      {KF_FAMILY_NORMAL, 0, 1, -4.4, 4.4},
      {KF_FAMILY_UNIFORM_SYMMETRIC, 0, 0.5774, -1, 1},
      {KF_FAMILY_LOGNORMAL, 1.6487, 2.16, 0, 76},
      {KF_FAMILY_SHIFTED, 5, 10, -39, 49},
      {KF_FAMILY_TINY, 0, 0.001, -0.0044, 0.0044},
      {KF_FAMILY_INTEGERS, 0, 2, -3, 3},
  };
  enum { N = 200000 };
  static float data[N];
  static double wide[N];
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    kf_fill uniform = {.kind = KF_FILL_UNIFORM};
    fill_ok(KF_TYPE_F32, uniform, 0, 5, rows[i].family, data, N);
    fill_ok(KF_TYPE_F64, uniform, 0, 5, rows[i].family, wide, N);
    for (int k = 0; k < N; k++)
      assert_true((double)data[k] == wide[k]);
    summary s = summarise(KF_TYPE_F32, data, N);
    if (fabs(s.mean - rows[i].mean) > 0.02 * rows[i].deviation ||
        fabs(s.deviation - rows[i].deviation) > 0.05 * rows[i].deviation || s.low < rows[i].low ||
        s.high > rows[i].high)
      fail_msg("%s: mean %g deviation %g in [%g, %g]", kf_family_name(rows[i].family), s.mean, s.deviation,
               s.low, s.high);
  }
}

static void test_verify_fill__integers_are_whole_and_narrow_types_get_smaller_ones(void **state) {
  (void)state;
  float data[COUNT];
  uint16_t half[COUNT];
  fill_ok(KF_TYPE_F32, (kf_fill){.kind = KF_FILL_NORMAL}, 0, 1, KF_FAMILY_INTEGERS, data, COUNT);
  fill_ok(KF_TYPE_F16, (kf_fill){.kind = KF_FILL_NORMAL}, 0, 1, KF_FAMILY_INTEGERS, half, COUNT);
  for (int i = 0; i < COUNT; i++)
    assert_true(data[i] == rintf(data[i]));
  summary s = summarise(KF_TYPE_F32, data, COUNT);
  assert_true(s.low == -3 && s.high == 3);
  s = summarise(KF_TYPE_F16, half, COUNT);
  assert_true(s.low == -1 && s.high == 1);
}

static void test_verify_fill__integer_ranges(void **state) {
  (void)state;
  int8_t small[COUNT];
  int32_t index[COUNT];
  int64_t wide[COUNT];
  uint8_t flags[COUNT];
  fill_ok(KF_TYPE_I8, (kf_fill){.kind = KF_FILL_INT, .lo = -5, .hi = 6}, 0, 9, KF_FAMILY_NORMAL, small,
          COUNT);
  summary s = summarise(KF_TYPE_I8, small, COUNT);
  assert_true(s.low == -5 && s.high == 5 && fabs(s.mean) < 0.2);
  fill_ok(KF_TYPE_I32, (kf_fill){.kind = KF_FILL_INDEX, .symbol = 0}, 0, 9, KF_FAMILY_TINY, index, COUNT);
  s = summarise(KF_TYPE_I32, index, COUNT);
  assert_true(s.low == 0 && s.high == 99);
  fill_ok(KF_TYPE_BOOL, (kf_fill){.kind = KF_FILL_INT, .lo = 0, .hi = 2}, 0, 9, KF_FAMILY_DECLARED, flags,
          COUNT);
  s = summarise(KF_TYPE_BOOL, flags, COUNT);
  assert_true(s.low == 0 && s.high == 1 && fabs(s.mean - 0.5) < 0.05);
  kf_fill all = {.kind = KF_FILL_INT, .lo = INT64_MIN, .hi = INT64_MAX};
  fill_ok(KF_TYPE_I64, all, 0, 9, KF_FAMILY_DECLARED, wide, COUNT);
  int64_t odd = 0, negative = 0;
  for (int i = 0; i < COUNT; i++) {
    odd += wide[i] & 1;
    negative += wide[i] < 0;
  }
  assert_in_range(odd, COUNT * 45 / 100, COUNT * 55 / 100); /* the low bits are random too */
  assert_in_range(negative, COUNT * 45 / 100, COUNT * 55 / 100);
}

static void test_verify_fill__permutation_has_each_value_once(void **state) {
  (void)state;
  int32_t order[COUNT], again[COUNT];
  static bool seen[COUNT];
  memset(seen, 0, sizeof seen);
  fill_ok(KF_TYPE_I32, (kf_fill){.kind = KF_FILL_PERMUTATION}, 0, 3, KF_FAMILY_DECLARED, order, COUNT);
  fill_ok(KF_TYPE_I32, (kf_fill){.kind = KF_FILL_PERMUTATION}, 0, 3, KF_FAMILY_DECLARED, again, COUNT);
  assert_memory_equal(order, again, sizeof order);
  int fixed = 0;
  for (int i = 0; i < COUNT; i++) {
    assert_in_range(order[i], 0, COUNT - 1);
    assert_false(seen[order[i]]);
    seen[order[i]] = true;
    fixed += order[i] == i;
  }
  assert_true(fixed < 10);
}

static void test_verify_fill__sorted_ascends_over_its_range(void **state) {
  (void)state;
  float data[COUNT];
  uint8_t bytes[COUNT];
  fill_ok(KF_TYPE_F32, (kf_fill){.kind = KF_FILL_SORTED}, 0, 3, KF_FAMILY_LOGNORMAL, data, COUNT);
  fill_ok(KF_TYPE_U8, (kf_fill){.kind = KF_FILL_SORTED}, 0, 3, KF_FAMILY_DECLARED, bytes, COUNT);
  for (int i = 1; i < COUNT; i++)
    assert_true(data[i - 1] <= data[i] && bytes[i - 1] <= bytes[i]);
  assert_true(data[0] >= 0 && data[0] < 0.01 && data[COUNT - 1] > 0.99 && data[COUNT - 1] < 1);
  assert_true(bytes[0] == 0 && bytes[COUNT - 1] == 255);
  kf_alloc_fail_at(1, true);
  const int64_t symbols[] = {1};
  kf_status status = kf_fill_arg(task_of(KF_TYPE_F32, (kf_fill){.kind = KF_FILL_SORTED}), 0, symbols, 1,
                                 KF_FAMILY_DECLARED, data, COUNT, NULL);
  kf_alloc_fail_at(0, false);
  assert_int_equal(status, KF_ENOMEM);
}

static const kf_expr *parse(kf_arena *arena, const char *text) {
  const kf_expr *expr = NULL;
  assert_int_equal(kf_expr_parse(arena, text, strlen(text), &expr, NULL, NULL), KF_OK);
  return expr;
}

static void test_verify_fill__spd_is_symmetric_and_dominant(void **state) {
  (void)state;
  enum { N = 33 };
  float a[N * N];
  kf_arena arena = {0};
  kf_task *task = task_of(KF_TYPE_F32, (kf_fill){.kind = KF_FILL_SPD});
  task->args[0].rank = 2;
  task->args[0].shape[0] = task->args[0].shape[1] = parse(&arena, "33");
  const int64_t symbols[] = {N};
  kf_err err = {0};
  if (kf_fill_arg(task, 0, symbols, 4, KF_FAMILY_DECLARED, a, N * N, &err) != KF_OK) fail_msg("%s", err.msg);
  for (int i = 0; i < N; i++) {
    double off = 0;
    for (int j = 0; j < N; j++) {
      assert_true(a[i * N + j] == a[j * N + i]);
      if (i != j) off += fabs((double)a[i * N + j]);
    }
    assert_true(off > 1 && (double)a[i * N + i] > off);
  }
  task->args[0].shape[1] = parse(&arena, "34");
  assert_int_equal(kf_fill_arg(task, 0, symbols, 4, KF_FAMILY_DECLARED, a, N * N, NULL), KF_EREFUSED);
  kf_arena_done(&arena);
}

static void test_verify_fill__constant_and_file(void **state) {
  (void)state;
  uint16_t half[7];
  fill_ok(KF_TYPE_F16, (kf_fill){.kind = KF_FILL_CONSTANT, .value = -1.5}, 0, 1, KF_FAMILY_NORMAL, half, 7);
  for (int i = 0; i < 7; i++)
    assert_true(kf_type_get(KF_TYPE_F16, half, (size_t)i) == -1.5);
  const int64_t symbols[] = {1};
  static const float content[] = {1, 2, 3};
  static const kf_task_file files[] = {
      {.path = "w.bin", .bytes = (const char *)content, .len = sizeof content}};
  kf_task *task = task_of(KF_TYPE_F32, (kf_fill){.kind = KF_FILL_FILE, .file = "w.bin"});
  task->files = files;
  task->nfiles = 1;
  float data[4] = {0};
  assert_int_equal(kf_fill_arg(task, 0, symbols, 1, KF_FAMILY_NORMAL, data, 3, NULL), KF_OK);
  assert_memory_equal(data, content, sizeof content);
  kf_err err;
  assert_int_equal(kf_fill_arg(task, 0, symbols, 1, KF_FAMILY_NORMAL, data, 4, &err), KF_EREFUSED);
  assert_non_null(strstr(err.msg, "w.bin has 12 bytes, the case needs 16"));
}

static void test_verify_fill__impossible_fills_are_refused(void **state) {
  (void)state;
  const int64_t symbols[] = {0};
  char data[4096];
  kf_fill empty = {.kind = KF_FILL_INT, .lo = 3, .hi = 3}, index = {.kind = KF_FILL_INDEX};
  kf_fill permutation = {.kind = KF_FILL_PERMUTATION};
  assert_int_equal(kf_fill_arg(task_of(KF_TYPE_I32, empty), 0, symbols, 1, 0, data, 4, NULL), KF_EREFUSED);
  assert_int_equal(kf_fill_arg(task_of(KF_TYPE_I32, index), 0, symbols, 1, 0, data, 4, NULL), KF_EREFUSED);
  assert_int_equal(kf_fill_arg(task_of(KF_TYPE_I8, permutation), 0, symbols, 1, 0, data, 129, NULL),
                   KF_EREFUSED);
  assert_int_equal(kf_fill_arg(task_of(KF_TYPE_I8, permutation), 0, symbols, 1, 0, data, 128, NULL), KF_OK);
  kf_task *task = task_of(KF_TYPE_I32, empty);
  task->args[0].role = KF_ROLE_OUT;
  assert_int_equal(kf_fill_arg(task, 0, symbols, 1, 0, data, 4, NULL), KF_EBUG);
}

static void test_verify_fill__poison_is_found_and_never_a_plain_number(void **state) {
  (void)state;
  char data[64 * 8];
  for (int t = 0; t < KF_TYPE_COUNT; t++) {
    kf_type type = (kf_type)t;
    for (int pattern = 0; pattern < 2; pattern++) {
      kf_poison(type, data, 64, pattern);
      assert_int_equal(kf_poison_find(type, data, 64, pattern), 0);
      assert_int_equal(kf_poison_find(type, data, 64, 1 - pattern), -1);
      for (size_t i = 0; i < 63; i++)
        kf_type_put(type, data, i, 1);
      assert_int_equal(kf_poison_find(type, data, 64, pattern), 63);
      double value = kf_type_get(type, data, 63);
      if (kf_type_is_float(type) && pattern == 0) assert_true(isnan(value));
      if (kf_type_is_float(type) && pattern == 1) assert_true(isfinite(value) && value > 400);
      kf_type_put(type, data, 63, 0);
      assert_int_equal(kf_poison_find(type, data, 64, pattern), -1);
    }
  }
}

static const kf_fill normal_fill = {.kind = KF_FILL_NORMAL};

/* The classes of a stress family, over the first argument. */
typedef struct {
  double least, largest; /* absolute values of the finite ones */
  int nan, plus, minus, subnormal, zeros, negative;
} classes;

static classes classes_of(const float *data, int count) {
  classes c = {.least = HUGE_VAL};
  for (int i = 0; i < count; i++) {
    double size = fabs((double)data[i]);
    c.nan += isnan(data[i]);
    c.plus += isinf(data[i]) && data[i] > 0;
    c.minus += isinf(data[i]) && data[i] < 0;
    c.zeros += data[i] == 0;
    c.subnormal += data[i] != 0 && size < 0x1p-126;
    c.negative += signbit(data[i]) != 0;
    if (isfinite(data[i])) c.largest = fmax(c.largest, size);
    if (isfinite(data[i])) c.least = fmin(c.least, size);
  }
  return c;
}

static void test_verify_fill__stress_families_have_one_class(void **state) {
  (void)state;
  float data[COUNT];
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_HUGE, data, COUNT);
  classes c = classes_of(data, COUNT);
  /* 16 sigma of a sum stay in range */
  assert_true(c.largest * sqrt(COUNT) * 16 <= 0x1p128 && c.least * sqrt(COUNT) * 16 > 0x1p125);
  assert_true(c.negative > COUNT / 3 && c.negative < COUNT * 2 / 3);
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_LARGE, data, COUNT);
  c = classes_of(data, COUNT);
  assert_true(c.largest * c.largest * COUNT * 256 <= 0x1p128 && c.least > 0x1p50);
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_SUBNORMAL, data, COUNT);
  c = classes_of(data, COUNT);
  assert_int_equal(c.subnormal + c.zeros, COUNT);
  assert_true(c.zeros < COUNT / 100);
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_ZEROS, data, COUNT);
  c = classes_of(data, COUNT);
  assert_int_equal(c.zeros, COUNT);
  assert_true(c.negative > COUNT / 3 && c.negative < COUNT * 2 / 3);
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_EQUAL, data, COUNT);
  for (int i = 1; i < COUNT; i++)
    assert_true(data[i] == data[0] && data[0] != 0);
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_ONE_HOT, data, COUNT);
  c = classes_of(data, COUNT);
  assert_int_equal(c.zeros, COUNT - 1);
  assert_true(c.largest == 1);
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_OFFSET, data, COUNT);
  c = classes_of(data, COUNT);
  assert_true(c.least > 1024 - 5 && c.largest < 1024 + 5 && c.largest > c.least + 4);
  fill_ok(KF_TYPE_F32, normal_fill, 0, 5, KF_FAMILY_ALTERNATING, data, COUNT);
  for (int i = 0; i < COUNT; i++)
    assert_true(fabsf(data[i] - (i % 2 ? -4096.0f : 4096.0f)) <= 1);
}

static void test_verify_fill__specials_are_at_their_place_of_the_first_argument(void **state) {
  (void)state;
  float data[COUNT], other[COUNT], plain[COUNT];
  const int places[] = {0, COUNT / 2, COUNT - 1};
  fill_ok(KF_TYPE_F32, normal_fill, 1, 5, KF_FAMILY_NORMAL, plain, COUNT);
  for (int f = KF_FAMILY_NAN_FIRST; f < KF_FAMILY_COUNT; f++) {
    int number = f - KF_FAMILY_NAN_FIRST;
    fill_ok(KF_TYPE_F32, normal_fill, 0, 5, (kf_family)f, data, COUNT);
    classes c = classes_of(data, COUNT);
    assert_int_equal(c.nan, number / 3 == 0);
    assert_int_equal(c.plus, number / 3 == 1);
    assert_int_equal(c.minus, number / 3 == 2);
    assert_false(isfinite(data[places[number % 3]]));
    fill_ok(KF_TYPE_F32, normal_fill, 1, 5, (kf_family)f, other, COUNT); /* not the first: N(0,1) */
    assert_memory_equal(other, plain, sizeof plain);
  }
}

static void test_verify_fill__stress_of_every_type_and_length(void **state) {
  (void)state;
  double data[64];
  for (int t = 0; t < KF_TYPE_COUNT; t++)
    for (int f = KF_FAMILY_STRESS; f < KF_FAMILY_COUNT; f++)
      for (int n = 0; n < 4; n++) {
        kf_type type = (kf_type)t;
        if (!kf_type_is_float(type)) continue;
        memset(data, 0x55, sizeof data);
        fill_ok(type, normal_fill, 0, 5, (kf_family)f, data, n);
        for (size_t byte = (size_t)n * kf_type_size(type); byte < sizeof data; byte++)
          assert_int_equal(((const unsigned char *)data)[byte], 0x55);
      }
}

/* The quiet bit is the highest of the mantissa: an operation that meets this poison raises "invalid". */
static void test_verify_fill__the_first_poison_is_a_signalling_nan(void **state) {
  (void)state;
  static const struct {
    kf_type type;
    int mantissa_bits;
  } rows[] = {{KF_TYPE_F64, 52}, {KF_TYPE_F32, 23}, {KF_TYPE_F16, 10}, {KF_TYPE_BF16, 7}, {KF_TYPE_E5M2, 2}};
  for (size_t i = 0; i < KF_COUNTOF(rows); i++) {
    uint64_t bits = 0;
    kf_poison(rows[i].type, &bits, 1, 0);
    assert_true(isnan(kf_type_get(rows[i].type, &bits, 0)));
    assert_int_equal(bits >> (rows[i].mantissa_bits - 1) & 1, 0);
  }
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_fill__tables_have_the_pinned_bits),
      cmocka_unit_test(test_verify_fill__table_is_the_normal_quantile),
      cmocka_unit_test(test_verify_fill__elements_follow_the_documented_counter),
      cmocka_unit_test(test_verify_fill__length_seed_and_argument),
      cmocka_unit_test(test_verify_fill__families_have_their_shape),
      cmocka_unit_test(test_verify_fill__integers_are_whole_and_narrow_types_get_smaller_ones),
      cmocka_unit_test(test_verify_fill__stress_families_have_one_class),
      cmocka_unit_test(test_verify_fill__specials_are_at_their_place_of_the_first_argument),
      cmocka_unit_test(test_verify_fill__stress_of_every_type_and_length),
      cmocka_unit_test(test_verify_fill__the_first_poison_is_a_signalling_nan),
      cmocka_unit_test(test_verify_fill__integer_ranges),
      cmocka_unit_test(test_verify_fill__permutation_has_each_value_once),
      cmocka_unit_test(test_verify_fill__sorted_ascends_over_its_range),
      cmocka_unit_test(test_verify_fill__spd_is_symmetric_and_dominant),
      cmocka_unit_test(test_verify_fill__constant_and_file),
      cmocka_unit_test(test_verify_fill__impossible_fills_are_refused),
      cmocka_unit_test(test_verify_fill__poison_is_found_and_never_a_plain_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
