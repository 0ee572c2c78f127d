/* links: kf_base */
/* test_base_hash.c - SHA-256 against published answers; random bytes are filled in. */
#include "base/hash.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_hash(const void *bytes, size_t len, const char *hex) {
  kf_hash hash;
  char text[KF_HASH_HEX];
  kf_hash_bytes(bytes, len, &hash);
  kf_hash_hex(&hash, text);
  assert_string_equal(text, hex);
}

/* Examples of FIPS 180-4 as published by NIST ("abc", the 448-bit message, a million "a"), and the empty one.
 */
static void test_hash__known_answers(void **state) {
  (void)state;
  expect_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  kf_hasher hasher;
  kf_hasher_init(&hasher);
  char chunk[1000];
  memset(chunk, 'a', sizeof chunk);
  for (int i = 0; i < 1000; i++)
    kf_hasher_add(&hasher, chunk, sizeof chunk);
  kf_hash hash;
  char text[KF_HASH_HEX];
  kf_hasher_final(&hasher, &hash);
  kf_hash_hex(&hash, text);
  assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static kf_hash hash_of_texts(const char *a, const char *b) {
  kf_hasher hasher;
  kf_hash hash;
  kf_hasher_init(&hasher);
  kf_hasher_add_text(&hasher, a);
  kf_hasher_add_text(&hasher, b);
  kf_hasher_final(&hasher, &hash);
  return hash;
}

static void test_hash__texts_do_not_run_together(void **state) {
  (void)state;
  kf_hash a = hash_of_texts("ab", "c"), b = hash_of_texts("a", "bc"), c = hash_of_texts("ab", "c"), d;
  assert_false(kf_hash_equal(&a, &b));
  assert_true(kf_hash_equal(&a, &c));
  const char bytes[] = "\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c";
  kf_hash_bytes(bytes, sizeof bytes - 1, &d);
  assert_true(kf_hash_equal(&a, &d));
}

static void test_hash__parse_takes_what_hex_gives(void **state) {
  (void)state;
  kf_hash a, b;
  char text[KF_HASH_HEX + 1] = {0};
  kf_err err = {0};
  kf_hash_bytes("x", 1, &a);
  kf_hash_hex(&a, text);
  assert_int_equal(kf_hash_parse(text, &b, &err), KF_OK);
  assert_true(kf_hash_equal(&a, &b));
  text[KF_HASH_HEX - 1] = '0';
  assert_int_equal(kf_hash_parse(text, &b, &err), KF_EINVAL);
  text[KF_HASH_HEX - 2] = '\0';
  assert_int_equal(kf_hash_parse(text, &b, &err), KF_EINVAL);
  kf_hash_hex(&a, text);
  text[5] = 'A';
  assert_int_equal(kf_hash_parse(text, &b, &err), KF_EINVAL);
  text[5] = 'g';
  assert_int_equal(kf_hash_parse(text, &b, &err), KF_EINVAL);
  assert_int_equal(kf_hash_parse("", &b, &err), KF_EINVAL);
  assert_true(kf_hash_equal(&a, &b)); /* untouched by the failures */
}

static void test_hash__random_bytes_differ(void **state) {
  (void)state;
  uint8_t a[32] = {0}, b[32] = {0}, zero[32] = {0};
  kf_random_bytes(a, sizeof a);
  kf_random_bytes(b, sizeof b);
  assert_memory_not_equal(a, b, sizeof a);
  assert_memory_not_equal(a, zero, sizeof a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hash__known_answers),
      cmocka_unit_test(test_hash__texts_do_not_run_together),
      cmocka_unit_test(test_hash__parse_takes_what_hex_gives),
      cmocka_unit_test(test_hash__random_bytes_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
