/* role_env.c - what a vendor's library needs around it, and nothing else. */
#include "device/role_env.h"

#include <unistd.h>

static const char *const passed_on[] = {"KF_OPENCL_LIBRARY", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "KF_CC"};
enum { PASSED_KF_CC = 3 };

static kf_status add(kf_role_env *env, const char *name, const char *value, kf_err *err) {
  if (env->count == KF_ROLE_ENV_MAX) return kf_fail(err, KF_EBUG, "role environment: too many variables");
  char *text = env->text[env->count];
  int len = snprintf(text, sizeof env->text[0], "%s=%s", name, value);
  if (len < 0 || (size_t)len >= sizeof env->text[0])
    return kf_fail(err, KF_EINVAL, "%s: value too long", name);
  env->env[env->count++] = text;
  env->env[env->count] = NULL;
  return KF_OK;
}

kf_status kf_role_env_init(kf_role_env *env, const char *work_dir, kf_err *err) {
  env->count = 0;
  env->env[0] = NULL;
  KF_TRY(add(env, "PATH", "/usr/local/bin:/usr/bin:/bin", err));
  KF_TRY(add(env, "LC_ALL", "C.UTF-8", err));
  KF_TRY(add(env, "MALLOC_ARENA_MAX", "2", err));
  if (work_dir) {
    KF_TRY(add(env, "HOME", work_dir, err));
    KF_TRY(add(env, "TMPDIR", work_dir, err));
    KF_TRY(add(env, "POCL_CACHE_DIR", work_dir, err));
  }
  for (size_t i = 0; i < KF_COUNTOF(passed_on); i++) {
    const char *value = getenv(passed_on[i]);
    if (value && *value) KF_TRY(add(env, passed_on[i], value, err));
  }
  return KF_OK;
}

/* The folder of an absolute path; "" if the path is none, or if it is the root folder. */
static void folder_of(const char *path, char ret_folder[KF_PATH_MAX]) {
  ret_folder[0] = '\0';
  if (!path || path[0] != '/') return;
  const char *slash = strrchr(path, '/');
  if (slash > path && (size_t)(slash - path) < KF_PATH_MAX)
    snprintf(ret_folder, KF_PATH_MAX, "%.*s", (int)(slash - path), path);
}

void kf_role_policy_init(kf_role_policy *policy, kf_sandbox_profile profile, const char *work_dir) {
  static const char *const system_paths[] = {"/proc/self", "/proc/cpuinfo",       "/proc/meminfo",
                                             "/proc/stat", "/sys/devices/system", NULL};
  memset(policy, 0, sizeof *policy);
  policy->policy.profile = profile;
  const char *const *toolchain = kf_sandbox_toolchain_paths();
  int count = 0;
  while (count < KF_SANDBOX_PATHS_MAX - 4 && toolchain[count]) {
    policy->policy.read_exec[count] = toolchain[count];
    count++;
  }
  for (size_t i = 0; i < KF_COUNTOF(policy->extra); i++) {
    folder_of(getenv(passed_on[i]), policy->extra[i]);
    /* A compiler outside the usual folders comes with its own tree: PREFIX/bin/cc needs PREFIX. */
    char above[KF_PATH_MAX];
    snprintf(above, sizeof above, "%s", policy->extra[i]);
    if (i == PASSED_KF_CC) folder_of(above, policy->extra[i]);
    if (policy->extra[i][0] && count < KF_SANDBOX_PATHS_MAX - 1)
      policy->policy.read_exec[count++] = policy->extra[i];
  }
  for (int i = 0; system_paths[i]; i++)
    policy->policy.read_only[i] = system_paths[i];
  policy->policy.read_write[0] = work_dir;
}

#if defined(__SANITIZE_ADDRESS__)
#define KF_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KF_HAS_ASAN 1
#endif
#endif

int64_t kf_role_address_limit(int64_t memory_bytes) {
#ifdef KF_HAS_ASAN
  (void)memory_bytes;
  return 0;
#else
  if (memory_bytes <= 0) return 0;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t stacks = (cores > 0 ? cores : 1) * (int64_t)(16 << 20);
  return memory_bytes + stacks + ((int64_t)3 << 30);
#endif
}
