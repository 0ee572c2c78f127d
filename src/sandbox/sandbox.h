/* sandbox.h - the base layer a child puts on itself before it touches anything foreign: seccomp allow-list,
 * Landlock, rlimits, no_new_privs, dumpable off (docs/internals/cheats.md, rows 4, 29, 35 to 37). Needs no
 * privileges. Where the kernel lacks a layer the rest still applies; ret_enforced says what does ("seccomp
 * landlock rlimits"). */
#ifndef KF_SANDBOX_SANDBOX_H
#define KF_SANDBOX_SANDBOX_H

#include "base/status.h"

typedef enum {
  KF_PROFILE_RUNNER, /* candidate: no fork, exec, socket, nothing naming another process; threads allowed */
  KF_PROFILE_RUNNER_FIXED, /* as runner, and the threads that are there stay the only ones */
  KF_PROFILE_BUILDER, /* compilers: fork and exec allowed; no network, no ptrace, no signals beyond its own
                         group, no setsid */
  KF_PROFILE_ORACLE,  /* reference code: as runner */
} kf_sandbox_profile;

enum { KF_SANDBOX_PATHS_MAX = 20, KF_SANDBOX_TEXT_MAX = 160 };

typedef struct {
  kf_sandbox_profile profile;
  const char *read_exec[KF_SANDBOX_PATHS_MAX]; /* toolchain: read and execute */
  const char *read_only[KF_SANDBOX_PATHS_MAX];
  const char *read_write[KF_SANDBOX_PATHS_MAX]; /* the work folder */
} kf_sandbox_policy; /* lists end at the first NULL; paths that do not exist are skipped */

/* The file layer alone (Landlock, no_new_privs, rlimits), early: Landlock binds the calling thread and
 * threads made later, so a child that loads libraries which start threads calls this first and
 * kf_sandbox_enter with the same paths afterwards, which then puts the filter on all threads. Irreversible;
 * KF_EBUG the second time or when there are threads already. */
kf_status kf_sandbox_enter_files(const kf_sandbox_policy *policy, kf_err *err);
/* Everything, or what kf_sandbox_enter_files has left. Irreversible. KF_EBUG if it was entered before, or if
 * threads exist that the file layer would miss; KF_EIO if not even one layer could be put on. */
kf_status kf_sandbox_enter(const kf_sandbox_policy *policy, char ret_enforced[KF_SANDBOX_TEXT_MAX],
                           kf_err *err);
/* Whether this kernel has the filters. They let no process send SIGKILL, itself included: a child that ended
 * by that signal was ended from outside (or for memory). */
bool kf_sandbox_has_filter(void);
/* What this kernel offers, without entering (for `kf doctor` and `hello`): "seccomp landlock(7) rlimits". */
void kf_sandbox_probe(char ret_text[KF_SANDBOX_TEXT_MAX]);
/* The upper layer (docs/internals/evaluator.md, Sandbox): whether children that run foreign code get
 * namespaces of their own where this machine allows it. On by default; process-wide; set it before children
 * are started. */
void kf_sandbox_upper_allow(bool on);
/* What this machine offers, found by starting a child: "namespaces(user,net,ipc,uts,pid)" or "none (why)". */
void kf_sandbox_upper_probe(char ret_text[KF_SANDBOX_TEXT_MAX]);
/* The toolchain folders of this machine for read_exec (/usr, /lib, ...), NULL-terminated, static. */
const char *const *kf_sandbox_toolchain_paths(void);

#endif
