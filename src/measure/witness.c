/* witness.c - see witness.h. */
#include "measure/witness.h"

#include "base/banned.h"

static const double SHARE = 0.10;
enum { SLACK_NS = 50 * 1000, TOO_LONG_MIN = 2 };

void kf_witness_add(kf_witness *witness, int64_t wall_ns, int64_t empty_ns, int64_t child_ns,
                    int64_t waited_ns) {
  double claim = (double)child_ns;
  double gap = (double)wall_ns - (double)empty_ns - (double)waited_ns - claim * (1 + SHARE) - SLACK_NS;
  if (witness->calls == 0 || gap < (double)witness->least_gap_ns) {
    witness->least_gap_ns = gap > -9e18 ? (int64_t)gap : INT64_MIN;
    witness->gap_wall_ns = wall_ns;
    witness->gap_child_ns = child_ns;
  }
  if (child_ns < 0 || claim > (double)wall_ns * (1 + SHARE) + SLACK_NS) {
    witness->claimed_too_long++;
    witness->long_wall_ns = wall_ns;
    witness->long_child_ns = child_ns;
  }
  witness->calls++;
}

kf_witness_says kf_witness_judge(const kf_witness *witness) {
  if (witness->calls < KF_WITNESS_CALLS_MIN) return KF_WITNESS_FINE;
  if (witness->claimed_too_long >= TOO_LONG_MIN) return KF_WITNESS_TOO_LONG;
  return witness->least_gap_ns > 0 ? KF_WITNESS_TOO_SHORT : KF_WITNESS_FINE;
}
