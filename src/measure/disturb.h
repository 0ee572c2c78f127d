/* disturb.h - which blocks of a race are thrown away (docs/internals/evaluator.md, T12). Pure.
 *
 * A block is disturbed by the larger of: the share of its time that a thread of either runner waited for a
 * core, and the share of it that the host stole. It is dropped when that exceeds 2 % and also four times what
 * is usual in this race: on a machine that is always busy every block is disturbed, and dropping them all
 * would leave nothing to compare; there the scatter of the blocks speaks for itself. A block whose frequency
 * is more than 3 % off the race's median is dropped too. */
#ifndef KF_MEASURE_DISTURB_H
#define KF_MEASURE_DISTURB_H

#include "wire/verdict.h"

enum { KF_DISTURB_BLOCKS_MAX = 128 };

/* Zero-initialised at the start of a race. */
typedef struct {
  double share[KF_DISTURB_BLOCKS_MAX], mhz[KF_DISTURB_BLOCKS_MAX];
  int count;
} kf_disturb;

/* Takes the block in and says why it is dropped, KF_DROP_NO if it is not. Blocks beyond the maximum are
 * judged by the earlier ones. */
kf_sample_drop kf_disturb_judge(kf_disturb *disturb, const kf_sample *sample);

#endif
