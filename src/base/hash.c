/* hash.c - SHA-256 and random bytes through libsodium. */
#include "base/hash.h"

#include <sodium.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(kf_hasher), "the state fits");
_Static_assert(alignof(crypto_hash_sha256_state) <= alignof(kf_hasher), "the state is aligned");
_Static_assert(sizeof(kf_hash) == crypto_hash_sha256_BYTES, "a hash is 32 bytes");

static crypto_hash_sha256_state *state_of(kf_hasher *hasher) {
  return (void *)hasher->opaque;
}

void kf_hash_bytes(const void *bytes, size_t len, kf_hash *ret_hash) {
  kf_hasher hasher;
  kf_hasher_init(&hasher);
  kf_hasher_add(&hasher, bytes, len);
  kf_hasher_final(&hasher, ret_hash);
}

void kf_hasher_init(kf_hasher *hasher) {
  crypto_hash_sha256_init(state_of(hasher));
}

void kf_hasher_add(kf_hasher *hasher, const void *bytes, size_t len) {
  if (len != 0) crypto_hash_sha256_update(state_of(hasher), bytes, len);
}

void kf_hasher_add_text(kf_hasher *hasher, const char *text) {
  size_t len = strlen(text);
  uint8_t prefix[8]; /* little endian, whatever the machine: hashes travel */
  for (size_t i = 0; i < sizeof prefix; i++)
    prefix[i] = (uint8_t)((uint64_t)len >> (8 * i));
  kf_hasher_add(hasher, prefix, sizeof prefix);
  kf_hasher_add(hasher, text, len);
}

void kf_hasher_final(kf_hasher *hasher, kf_hash *ret_hash) {
  crypto_hash_sha256_final(state_of(hasher), ret_hash->bytes);
}

void kf_hash_hex(const kf_hash *hash, char ret_hex[KF_HASH_HEX]) {
  sodium_bin2hex(ret_hex, KF_HASH_HEX, hash->bytes, sizeof hash->bytes);
}

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

kf_status kf_hash_parse(const char *hex, kf_hash *ret_hash, kf_err *err) {
  kf_hash hash;
  size_t len = strnlen(hex, KF_HASH_HEX);
  bool good = len == KF_HASH_HEX - 1;
  for (size_t i = 0; good && i < sizeof hash.bytes; i++) {
    int high = digit_value(hex[2 * i]), low = digit_value(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    if (good) hash.bytes[i] = (uint8_t)(high << 4 | low);
  }
  if (!good)
    return kf_fail(err, KF_EINVAL, "\"%.70s\" is not a hash: 64 lower-case hex digits expected", hex);
  *ret_hash = hash;
  return KF_OK;
}

bool kf_hash_equal(const kf_hash *a, const kf_hash *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

void kf_random_bytes(void *bytes, size_t len) {
  /* Without a generator there is no safe way on; libsodium itself aborts in the same case. */
  if (sodium_init() < 0) abort();
  randombytes_buf(bytes, len);
}
