/* hash.h - SHA-256 (libsodium): content addresses of sources, blobs, artefacts, tasks. */
#ifndef KF_BASE_HASH_H
#define KF_BASE_HASH_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t bytes[32];
} kf_hash;

enum { KF_HASH_HEX = 65 }; /* 64 digits and NUL */

typedef struct {
  uint64_t opaque[32]; /* crypto_hash_sha256_state fits; checked at compile time */
} kf_hasher;

void kf_hash_bytes(const void *bytes, size_t len, kf_hash *ret_hash);
void kf_hasher_init(kf_hasher *hasher);
void kf_hasher_add(kf_hasher *hasher, const void *bytes, size_t len);
/* Adds the length first, so that ("ab","c") and ("a","bc") differ. */
void kf_hasher_add_text(kf_hasher *hasher, const char *text);
void kf_hasher_final(kf_hasher *hasher, kf_hash *ret_hash);
void kf_hash_hex(const kf_hash *hash, char ret_hex[KF_HASH_HEX]);
kf_status kf_hash_parse(const char *hex, kf_hash *ret_hash,
                        kf_err *err); /* exactly 64 lower-case hex digits */
bool kf_hash_equal(const kf_hash *a, const kf_hash *b);

/* Secret bytes from the system's generator (seeds, nonces). */
void kf_random_bytes(void *bytes, size_t len);

#endif
