/* disturb.c - see disturb.h. */
#include "measure/disturb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static const double SHARE_MIN = 0.02, USUAL_TIMES = 4, FREQUENCY_OFF = 0.03;
enum { FREQUENCY_BLOCKS_MIN = 3 };

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The lower median: one of two blocks being quiet makes quiet usual. */
static double lower_median(const double *values, int count) {
  double sorted[KF_DISTURB_BLOCKS_MAX];
  memcpy(sorted, values, (size_t)count * sizeof *values);
  qsort(sorted, (size_t)count, sizeof *sorted, ascending);
  return sorted[(count - 1) / 2];
}

kf_sample_drop kf_disturb_judge(kf_disturb *disturb, const kf_sample *sample) {
  double total = 0, waited = 0;
  for (int side = 0; side < 2; side++) {
    double wall = 0;
    for (int c = 0; c < sample->ncases; c++)
      wall += (double)sample->value[side][c].wall_ns;
    total += wall;
    if (wall > 0) waited = fmax(waited, (double)sample->waited_ns[side] / wall);
  }
  double stolen = total > 0 ? (double)sample->stolen_ns / fmax(total, (double)sample->span_ns) : 0;
  double share = fmax(waited, stolen), mhz = (double)sample->mhz;
  if (disturb->count < KF_DISTURB_BLOCKS_MAX) {
    disturb->share[disturb->count] = share;
    disturb->mhz[disturb->count++] = mhz;
  }
  double usual = lower_median(disturb->share, disturb->count);
  if (share > SHARE_MIN && share > USUAL_TIMES * usual)
    return waited >= stolen ? KF_DROP_WAITED : KF_DROP_STOLEN;
  double usual_mhz = lower_median(disturb->mhz, disturb->count);
  if (mhz > 0 && disturb->count >= FREQUENCY_BLOCKS_MIN && fabs(mhz - usual_mhz) > FREQUENCY_OFF * usual_mhz)
    return KF_DROP_FREQUENCY;
  return KF_DROP_NO;
}
