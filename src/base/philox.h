/* philox.h - Philox4x32-10, a counter-based generator: the same bits on host and device, in any order.
 * Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 5.3 and table 2.
 * Search draws are keyed (run seed, proposal id, purpose) so that keys, not draws, are logged
 * (docs/internals/search.md).
 */
#ifndef KF_BASE_PHILOX_H
#define KF_BASE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t key[2];
  uint32_t counter[4];
  uint32_t out[4];
  unsigned used; /* words of `out` already given */
} kf_rng;

/* One block: out = Philox4x32-10(counter, key). */
void kf_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* A stream for (seed, id, purpose); equal arguments give equal streams. */
void kf_rng_init(kf_rng *rng, uint64_t seed, uint64_t id, uint32_t purpose);
uint32_t kf_rng_u32(kf_rng *rng);
uint64_t kf_rng_u64(kf_rng *rng);
uint64_t kf_rng_below(kf_rng *rng, uint64_t bound); /* uniform in [0, bound), bound > 0, unbiased */
double kf_rng_unit(kf_rng *rng);                    /* [0, 1): 53 bits * 2^-53 */

#endif
