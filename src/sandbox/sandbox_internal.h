/* sandbox_internal.h - private to sandbox*.c: the two layers. */
#ifndef KF_SANDBOX_INTERNAL_H
#define KF_SANDBOX_INTERNAL_H

#include "sandbox/sandbox.h"

/* 0: the kernel has none. */
int kf__landlock_abi(void);
/* Restricts the calling thread; *ret_on false when the kernel has no Landlock. */
kf_status kf__landlock_enter(const kf_sandbox_policy *policy, bool *ret_on, kf_err *err);

/* Loads the allow-list of a profile into all threads; *ret_on false when the kernel has no filters. */
kf_status kf__seccomp_enter(kf_sandbox_profile profile, bool *ret_on, kf_err *err);
bool kf__seccomp_available(void);

#endif
