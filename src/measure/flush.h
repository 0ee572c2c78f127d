/* flush.h - makes the next call start cold (docs/internals/evaluator.md, T3; cheats.md, row 27).
 *
 * On x86 the lines of the case's own buffers are evicted one by one with clflushopt (or clflush) through the
 * judge's mapping: it works on the physical line, so it empties every core's caches, and dirty lines are
 * written back before it returns. Where the case is larger than the limit, and on other processors, memory of
 * that size is read instead, which replaces what the caches hold; reading leaves clean lines. */
#ifndef KF_MEASURE_FLUSH_H
#define KF_MEASURE_FLUSH_H

#include "verify/rig.h"

typedef struct {
  const char *memory; /* touched before, borrowed */
  int64_t bytes;      /* min(2 LLC, measure.flush_max_mib); 0: no flush at all */
} kf_flush;

/* Everything the call of `rig` may touch: inputs, outputs, temps. */
void kf_flush_case(const kf_flush *flush, const kf_rig *rig);

typedef enum { KF_FLUSH_READ, KF_FLUSH_LINES } kf_flush_way;
/* The way that kf_flush_case takes for a case of so many bytes. */
kf_flush_way kf_flush_choose(const kf_flush *flush, int64_t case_bytes);
/* The two ways themselves. kf_flush_lines is false, and has done nothing, where the processor cannot. */
void kf_flush_read(const kf_flush *flush);
bool kf_flush_lines(const void *data, size_t bytes);

#endif
