/* poison.c - what outputs and temps hold before a call: signalling NaN bits, or a large finite value
 * (docs/internals/evaluator.md, Memory). */
#include "verify/fill.h"

#include <string.h>

#include "base/banned.h"

/* Bits of one element. The float patterns 0 are signalling NaNs (e4m3 has one NaN only), the patterns 1 are
 * near the largest finite value; integers get bytes that no small number has. */
static uint64_t poison_bits(kf_type type, int pattern) {
  switch (type) {
  case KF_TYPE_F64:
    return pattern == 0 ? 0x7FF4A5A5A5A5A5A5u : 0x7FD5A5A5A5A5A5A5u;
  case KF_TYPE_F32:
    return pattern == 0 ? 0x7FA5A5A5u : 0x7E5A5A5Au;
  case KF_TYPE_F16:
    return pattern == 0 ? 0x7DA5u : 0x7A5Au;
  case KF_TYPE_BF16:
    return pattern == 0 ? 0x7FA5u : 0x7E5Au;
  case KF_TYPE_E4M3:
    return pattern == 0 ? 0x7Fu : 0x7Du;
  case KF_TYPE_E5M2:
    return pattern == 0 ? 0x7Du : 0x7Au;
  default:
    return pattern == 0 ? 0xA5A5A5A5A5A5A5A5u : 0x5A5A5A5A5A5A5A5Au;
  }
}

#define FILL_LOOP(word)                                                                                      \
  for (int64_t i = 0; i < elements; i++)                                                                     \
  ((word *)data)[i] = (word)bits
#define FIND_LOOP(word)                                                                                      \
  for (int64_t i = 0; i < elements; i++)                                                                     \
    if (((const word *)data)[i] == (word)bits) return i

void kf_poison(kf_type type, void *data, int64_t elements, int pattern) {
  uint64_t bits = poison_bits(type, pattern);
  switch (kf_type_size(type)) {
  case 1:
    memset(data, (int)(bits & 0xFF), (size_t)elements);
    break;
  case 2:
    FILL_LOOP(uint16_t);
    break;
  case 4:
    FILL_LOOP(uint32_t);
    break;
  default:
    FILL_LOOP(uint64_t);
    break;
  }
}

int64_t kf_poison_find(kf_type type, const void *data, int64_t elements, int pattern) {
  uint64_t bits = poison_bits(type, pattern);
  switch (kf_type_size(type)) {
  case 1:
    FIND_LOOP(uint8_t);
    break;
  case 2:
    FIND_LOOP(uint16_t);
    break;
  case 4:
    FIND_LOOP(uint32_t);
    break;
  default:
    FIND_LOOP(uint64_t);
    break;
  }
  return -1;
}
