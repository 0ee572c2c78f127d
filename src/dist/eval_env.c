/* eval_env.c - where kf-eval is, and the part of our environment that it gets. A list of what passes, never
 * of what does not: keys of providers live in the environment. */
#include "base/alloc.h"
#include "base/fs.h"
#include "dist/dist_int.h"
#include <errno.h>
#include <unistd.h>

#include "base/banned.h"

extern char **environ;

static const char *const passed[] = {
    /* for itself, and for a script in its place that KF_EVAL names */
    "PATH=",
    "HOME=",
    "TMPDIR=",
    "LD_LIBRARY_PATH=",
    /* which drivers the OpenCL loader offers; no other variable reaches the processes that load them */
    "OCL_ICD_VENDORS=",
    "OCL_ICD_FILENAMES=",
    /* our own, none of them secret */
    "KF_CC=",
    "KF_LIBCLANG=",
    "KF_LOCK_DIR=",
    "KF_LOG=",
    "KF_OPENCL_LIBRARY=",
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

kf_status kf_evaluator_path(char ret_path[KF_PATH_MAX], kf_err *err) {
  const char *named = getenv("KF_EVAL");
  if (named && named[0]) {
    if (strlen(named) >= KF_PATH_MAX) return kf_fail(err, KF_EINVAL, "KF_EVAL: the path is too long");
    if (access(named, X_OK) != 0)
      return kf_err_hint(err, kf_fail(err, KF_ENODEV, "KF_EVAL: %s: %s", named, strerror(errno)),
                         "unset KF_EVAL to take the kf-eval beside kf");
    snprintf(ret_path, KF_PATH_MAX, "%s", named);
    return KF_OK;
  }
  char dir[KF_PATH_MAX];
  KF_TRY(kf_fs_self_dir(dir, err));
  KF_TRY(kf_fs_join(ret_path, dir, "kf-eval", err));
  if (access(ret_path, X_OK) == 0) return KF_OK;
  kf_status status = kf_fail(err, KF_ENODEV, "%s: the evaluator is missing: %s", ret_path, strerror(errno));
  return kf_err_hint(err, status, "install kf-eval beside kf, or name it in KF_EVAL");
}
