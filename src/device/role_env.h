/* role_env.h - environment and sandbox paths of roles that load a vendor's library. Used by device/ and
 * build/. */
#ifndef KF_DEVICE_ROLE_ENV_H
#define KF_DEVICE_ROLE_ENV_H

#include "base/fs.h"
#include "sandbox/sandbox.h"

enum { KF_ROLE_ENV_MAX = 12 };

/* "NAME=value" strings for kf_child_options.env: the caches of PoCL and everything temporary go to `work_dir`
 * (NULL: none are set), a fixed PATH and locale, few malloc arenas (address space is limited), and from the
 * own environment only KF_OPENCL_LIBRARY, OCL_ICD_VENDORS, OCL_ICD_FILENAMES and KF_CC. */
typedef struct {
  char text[KF_ROLE_ENV_MAX][KF_PATH_MAX + 32];
  const char *env[KF_ROLE_ENV_MAX + 1];
  int count;
} kf_role_env;
kf_status kf_role_env_init(kf_role_env *env, const char *work_dir, kf_err *err);

/* Child side: the policy of a role that works in `work_dir` (borrowed), with the folders those variables
 * name. */
typedef struct {
  kf_sandbox_policy policy;
  char extra[4][KF_PATH_MAX];
} kf_role_policy;
void kf_role_policy_init(kf_role_policy *policy, kf_sandbox_profile profile, const char *work_dir);

/* RLIMIT_AS for a limit of `memory_bytes`: libraries, stacks and reserved but unused address space come on
 * top. Under a sanitizer, whose shadow is terabytes large, 0 (no limit). */
int64_t kf_role_address_limit(int64_t memory_bytes);

#endif
