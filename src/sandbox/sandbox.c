/* sandbox.c - puts the layers on in the right order and says which hold. */
#include "sandbox/sandbox.h"

#include "sandbox/sandbox_internal.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* A process enters once; these are its layers. */
static struct { bool files_done, all_done, landlock, rlimits; } entered;

static int count_threads(void) {
  DIR *dir = opendir("/proc/self/task");
  if (!dir) return 1;
  int count = 0;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
    count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

static bool set_limits(void) {
  const struct rlimit none = {0, 0}, files = {256, 256};
  return setrlimit(RLIMIT_CORE, &none) == 0 && setrlimit(RLIMIT_NOFILE, &files) == 0;
}

kf_status kf_sandbox_enter_files(const kf_sandbox_policy *policy, kf_err *err) {
  if (entered.files_done) return kf_fail(err, KF_EBUG, "sandbox: entered twice");
  if (count_threads() > 1)
    return kf_fail(err, KF_EBUG, "sandbox: threads exist that landlock would not bind");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
      prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return kf_fail(err, KF_EIO, "sandbox: prctl: %s", strerror(errno));
  entered.rlimits = set_limits();
  KF_TRY(kf__landlock_enter(policy, &entered.landlock, err));
  entered.files_done = true;
  return KF_OK;
}

kf_status kf_sandbox_enter(const kf_sandbox_policy *policy, char ret_enforced[KF_SANDBOX_TEXT_MAX],
                           kf_err *err) {
  if (entered.all_done) return kf_fail(err, KF_EBUG, "sandbox: entered twice");
  if (!entered.files_done) KF_TRY(kf_sandbox_enter_files(policy, err));
  bool seccomp = false;
  KF_TRY(kf__seccomp_enter(policy->profile, &seccomp, err));
  entered.all_done = true;
  if (!seccomp && !entered.landlock && !entered.rlimits)
    return kf_fail(err, KF_EIO, "sandbox: this kernel has neither seccomp nor landlock nor limits");
  snprintf(ret_enforced, KF_SANDBOX_TEXT_MAX, "%s%s%s", seccomp ? "seccomp " : "",
           entered.landlock ? "landlock " : "", entered.rlimits ? "rlimits" : "");
  return KF_OK;
}

bool kf_sandbox_has_filter(void) {
  return kf__seccomp_available();
}

void kf_sandbox_probe(char ret_text[KF_SANDBOX_TEXT_MAX]) {
  int abi = kf__landlock_abi();
  char landlock[24] = "";
  if (abi > 0) snprintf(landlock, sizeof landlock, "landlock(%d) ", abi);
  snprintf(ret_text, KF_SANDBOX_TEXT_MAX, "%s%srlimits", kf__seccomp_available() ? "seccomp " : "", landlock);
}

const char *const *kf_sandbox_toolchain_paths(void) {
  static const char *const paths[] = {"/usr",
                                      "/bin",
                                      "/lib",
                                      "/lib64",
                                      "/lib32",
                                      "/sbin",
                                      "/opt",
                                      "/etc/OpenCL",
                                      "/etc/ld.so.cache",
                                      "/etc/ld.so.conf",
                                      "/etc/ld.so.conf.d",
                                      "/etc/alternatives",
                                      NULL};
  return paths;
}
