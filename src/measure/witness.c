/* witness.c - see witness.h. */
#include "measure/witness.h"

#include "base/banned.h"

static const double SHARE = 0.10;
enum {
  SLACK_NS = 50 * 1000,
  TOO_LONG_MIN = 2,
  AWAKE_NS = 500 * 1000, /* on cores for receiving, answering, and waking every thread of the driver */
};

static int64_t whole(double ns) {
  return ns > -9e18 ? (int64_t)ns : INT64_MIN;
}

void kf_witness_add(kf_witness *witness, const kf_testimony *call) {
  double claim = (double)call->child_ns, allowed = claim * (1 + SHARE);
  int64_t gap =
      whole((double)call->wall_ns - (double)call->empty_ns - (double)call->waited_ns - allowed - SLACK_NS);
  if (witness->calls == 0 || gap < witness->least_gap_ns) {
    witness->least_gap_ns = gap;
    witness->gap_wall_ns = call->wall_ns;
    witness->gap_child_ns = call->child_ns;
  }
  int64_t outside = whole((double)call->ran_ns - allowed * call->cores - AWAKE_NS);
  if (witness->calls == 0 || outside < witness->least_outside_ns) {
    witness->least_outside_ns = outside;
    witness->outside_ran_ns = call->ran_ns;
    witness->outside_child_ns = call->child_ns;
  }
  if (call->child_ns < 0 || claim > (double)call->wall_ns * (1 + SHARE) + SLACK_NS) {
    witness->claimed_too_long++;
    witness->long_wall_ns = call->wall_ns;
    witness->long_child_ns = call->child_ns;
  }
  witness->calls++;
}

kf_witness_says kf_witness_judge(const kf_witness *witness) {
  if (witness->calls < KF_WITNESS_CALLS_MIN) return KF_WITNESS_FINE;
  if (witness->claimed_too_long >= TOO_LONG_MIN) return KF_WITNESS_TOO_LONG;
  if (witness->least_gap_ns > 0) return KF_WITNESS_TOO_SHORT;
  return witness->least_outside_ns > 0 ? KF_WITNESS_RAN_OUTSIDE : KF_WITNESS_FINE;
}
