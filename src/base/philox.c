/* philox.c - Philox4x32-10 and the draws made from it. Constants: Salmon et al., SC 2011, section 5.3 (the
 * multipliers of Philox4x32 and the Weyl increments of its key schedule). */
#include "base/philox.h"

#include <string.h>

#include "base/banned.h"

enum { ROUNDS = 10 };

void kf_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0;
    uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

void kf_rng_init(kf_rng *rng, uint64_t seed, uint64_t id, uint32_t purpose) {
  /* Word 0 of the counter numbers the blocks of the stream, the other words name it. */
  *rng = (kf_rng){
      .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
      .counter = {0, purpose, (uint32_t)id, (uint32_t)(id >> 32)},
      .used = 4,
  };
}

uint32_t kf_rng_u32(kf_rng *rng) {
  if (rng->used >= 4) {
    kf_philox_block(rng->counter, rng->key, rng->out);
    rng->counter[0]++;
    rng->used = 0;
  }
  return rng->out[rng->used++];
}

uint64_t kf_rng_u64(kf_rng *rng) {
  uint64_t low = kf_rng_u32(rng);
  return low | (uint64_t)kf_rng_u32(rng) << 32;
}

uint64_t kf_rng_below(kf_rng *rng, uint64_t bound) {
  if (bound < 2) return 0;
  /* Draws below 2^64 mod bound are redrawn, so that every remainder is equally frequent. */
  uint64_t threshold = (0 - bound) % bound;
  uint64_t draw;
  do
    draw = kf_rng_u64(rng);
  while (draw < threshold);
  return draw % bound;
}

double kf_rng_unit(kf_rng *rng) {
  return (double)(kf_rng_u64(rng) >> 11) * 0x1p-53;
}
