/* eval_env.c - where kf-eval is, and the part of our environment that it gets. A list of what passes, never
 * of what does not: keys of providers live in the environment. */
#include "base/alloc.h"
#include "base/fs.h"
#include "dist/dist_int.h"
#include <unistd.h>

#include "base/banned.h"

extern char **environ;

static const char *const passed[] = {
    "PATH=",
    "HOME=",
    "TMPDIR=",
    "LANG=",
    "LD_LIBRARY_PATH=",
    "XDG_CACHE_HOME=",
    /* where drivers look for devices, and what they may use */
    "OCL_ICD_",
    "OPENCL_",
    "POCL_",
    "CUDA_VISIBLE_DEVICES=",
    "GPU_DEVICE_ORDINAL=",
    "ROCR_VISIBLE_DEVICES=",
    /* our own, none of them secret */
    "KF_LOCK_DIR=",
    "KF_LOG=",
    "KF_EVAL=",
    /* test builds */
    "ASAN_OPTIONS=",
    "LSAN_OPTIONS=",
    "UBSAN_OPTIONS=",
    "LLVM_PROFILE_FILE=",
    "GCOV_PREFIX",
};

static bool passes(const char *variable) {
  for (size_t i = 0; i < KF_COUNTOF(passed); i++)
    if (strncmp(variable, passed[i], strlen(passed[i])) == 0) return true;
  return false;
}

kf_status kf__eval_env_new(char ***ret_env, kf_err *err) {
  size_t count = 0, made = 0;
  for (char **at = environ; at && *at; at++)
    count += passes(*at);
  char **env = kf_calloc(count + 1, sizeof *env);
  if (!env) return kf_nomem(err);
  for (char **at = environ; at && *at && made < count; at++) {
    if (!passes(*at)) continue;
    env[made] = kf_strdup(*at);
    if (!env[made]) {
      kf__eval_env_free(env);
      return kf_nomem(err);
    }
    made++;
  }
  *ret_env = env;
  return KF_OK;
}

void kf__eval_env_free(char **env) {
  if (!env) return;
  for (char **at = env; *at; at++)
    kf_free(*at);
  kf_free(env);
}

kf_status kf__eval_program(char ret_path[], size_t size, kf_err *err) {
  const char *given = getenv("KF_EVAL");
  char dir[KF_PATH_MAX], path[KF_PATH_MAX];
  if (given && given[0]) {
    snprintf(path, sizeof path, "%s", given);
  } else {
    KF_TRY(kf_fs_self_dir(dir, err));
    KF_TRY(kf_fs_join(path, dir, "kf-eval", err));
  }
  if (access(path, X_OK) != 0) {
    kf_status status = kf_fail(err, KF_ENOTFOUND, "the evaluator %s is not there", path);
    return kf_err_hint(err, status, "kf-eval belongs beside kf; KF_EVAL=/path/to/kf-eval names another");
  }
  snprintf(ret_path, size, "%s", path);
  return KF_OK;
}
