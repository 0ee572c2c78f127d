/* links: kf_base */
/* test_base_philox.c - Philox4x32-10 against known answers; streams are reproducible, separate and unbiased.
 */
#include "base/philox.h"

#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct {
  uint32_t counter[4], key[2], out[4];
} known_answer;

/* Lines "philox4x32 10" of tests/kat_vectors in Random123. */
static const known_answer answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_philox__known_answers(void **state) {
  (void)state;
  for (size_t i = 0; i < KF_COUNTOF(answers); i++) {
    uint32_t out[4];
    kf_philox_block(answers[i].counter, answers[i].key, out);
    assert_memory_equal(out, answers[i].out, sizeof out);
  }
}

static void test_philox__output_may_replace_the_counter(void **state) {
  (void)state;
  uint32_t block[4] = {0};
  kf_philox_block(block, answers[0].key, block);
  assert_memory_equal(block, answers[0].out, sizeof block);
}

static void test_philox__stream_is_the_documented_blocks(void **state) {
  (void)state;
  kf_rng rng;
  kf_rng_init(&rng, 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3);
  const uint32_t key[2] = {0xa4093822, 0x299f31d0};
  for (uint32_t block = 0; block < 3; block++) {
    const uint32_t counter[4] = {block, 0x85a308d3, 0x13198a2e, 0x03707344};
    uint32_t out[4];
    kf_philox_block(counter, key, out);
    for (int i = 0; i < 4; i++)
      assert_int_equal(kf_rng_u32(&rng), out[i]);
  }
}

static void test_philox__streams_repeat_and_differ(void **state) {
  (void)state;
  kf_rng a, b, others[4];
  kf_rng_init(&a, 1, 2, 3);
  kf_rng_init(&b, 1, 2, 3);
  kf_rng_init(&others[0], 2, 2, 3);
  kf_rng_init(&others[1], 1, 3, 3);
  kf_rng_init(&others[2], 1, 2, 4);
  kf_rng_init(&others[3], 1, 2 + (UINT64_C(1) << 32), 3);
  uint64_t first = kf_rng_u64(&a);
  assert_true(first == kf_rng_u64(&b));
  for (size_t i = 0; i < KF_COUNTOF(others); i++)
    assert_true(first != kf_rng_u64(&others[i]));
  for (int i = 0; i < 100; i++)
    assert_true(kf_rng_u64(&a) == kf_rng_u64(&b));
}

static void test_philox__below_is_uniform(void **state) {
  (void)state;
  enum { BOUND = 6, DRAWS = 60000 };
  kf_rng rng;
  kf_rng_init(&rng, 7, 7, 7);
  int seen[BOUND] = {0};
  for (int i = 0; i < DRAWS; i++) {
    uint64_t draw = kf_rng_below(&rng, BOUND);
    assert_true(draw < BOUND);
    seen[draw]++;
  }
  double chi2 = 0;
  for (int i = 0; i < BOUND; i++) {
    double gap = seen[i] - (double)DRAWS / BOUND;
    chi2 += gap * gap / ((double)DRAWS / BOUND);
  }
  assert_true(chi2 < 20.5); /* 5 degrees of freedom: exceeded once in 1000 */
  assert_int_equal(kf_rng_below(&rng, 1), 0);
  uint64_t large = (UINT64_C(1) << 63) + 1; /* nearly half of the draws are redrawn */
  for (int i = 0; i < 100; i++)
    assert_true(kf_rng_below(&rng, large) < large);
}

static void test_philox__unit_is_below_one(void **state) {
  (void)state;
  kf_rng rng;
  kf_rng_init(&rng, 1, 1, 1);
  double sum = 0;
  for (int i = 0; i < 20000; i++) {
    double u = kf_rng_unit(&rng);
    assert_true(u >= 0.0 && u < 1.0);
    sum += u;
  }
  assert_true(sum / 20000 > 0.49 && sum / 20000 < 0.51); /* 5 standard errors */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox__known_answers),
      cmocka_unit_test(test_philox__output_may_replace_the_counter),
      cmocka_unit_test(test_philox__stream_is_the_documented_blocks),
      cmocka_unit_test(test_philox__streams_repeat_and_differ),
      cmocka_unit_test(test_philox__below_is_uniform),
      cmocka_unit_test(test_philox__unit_is_below_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
