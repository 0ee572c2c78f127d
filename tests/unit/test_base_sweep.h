/* test_base_sweep.h - repeats an operation with its first, second, ... allocation failing until it passes. */
#ifndef KF_TEST_BASE_SWEEP_H
#define KF_TEST_BASE_SWEEP_H

#include "base/alloc.h"

/* `run` does everything anew and releases what it made; it checks its own result when it passes. Returns the
 * number of runs that failed, each of which must have said KF_ENOMEM. The includer has included cmocka.h. */
static inline unsigned long sweep_allocations(kf_status (*run)(void), bool forever) {
  for (unsigned long nth = 1;; nth++) {
    kf_alloc_fail_at(nth, forever);
    kf_status status = run();
    unsigned long used = kf_alloc_count();
    kf_alloc_fail_at(0, false);
    if (status == KF_OK) {
      assert_true(used < nth); /* a failure that was hit must not look like success */
      return nth - 1;
    }
    assert_int_equal(status, KF_ENOMEM);
  }
}

#endif
