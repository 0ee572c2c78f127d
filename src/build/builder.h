/* builder.h - source + options -> artefact, in a compiler sandbox that sees the toolchain and one work folder
 * only.
 *
 * The OpenCL builder compiles, then launches each (kernel, local size, size class) of the given plans once on
 * memory of its own, so that PoCL's lazy work-group code is in the saved binary and the runner needs no exec
 * (src/device/README.md, PoCL). The launched code is the candidate's: the builder's process is as untrusted
 * as a runner and lives for one build. For the host form it runs the C compiler; the object is looked at
 * (device/host_object.h) before its kf_workspace, if there is one, is asked about each plan, and again by the
 * judge, so that no object that may not be loaded is an outcome. Asynchronous: the judge starts builds,
 * watches kf_build_fd in its poll loop, stops them during timed pairs. */
#ifndef KF_BUILD_BUILDER_H
#define KF_BUILD_BUILDER_H

#include "device/backend.h"
#include "sandbox/child.h"

typedef struct kf_build kf_build;

typedef struct {
  const char *device_id;
  const char *source;
  size_t source_len;
  const char *options;          /* "-DTILE=16 ..." */
  const char *source_name;      /* as shown in logs: "kernel.cl" */
  const kf_calls *const *plans; /* one per case to warm; borrowed until kf_build_start returns */
  int nplans;
  const char *work_dir; /* private, writable */
  int64_t timeout_ms, memory_bytes;
  int64_t launch_timeout_ms; /* of all trial launches, lazy compilation included; 0: timeout_ms */
  bool want_entries; /* for `kf init`: list kernels with -cl-kernel-arg-info, no artefact, no launches */
  kf_build *spare; /* NULL, or from kf_build_spare with the same device, work folder and memory: taken over by
                      kf_build_start in every case */
} kf_build_request;

typedef struct {
  kf_run_result result; /* OK, BUILD_FAILED, UNSUPPORTED, REFUSED, LAUNCH_FAILED, TIMED_OUT (build_timeout),
                           CRASHED ... */
  bool in_launch;       /* the failure happened in a warming launch, not in the compiler */
  char *artefact;       /* kf_free */
  size_t artefact_len;
  char *log; /* compiler log, cut at 64 KiB, paths of the work folder removed; never NULL when finished */
  kf_host_facts facts;    /* host form */
  int64_t *workspace;     /* host form with kf_workspace: bytes for each plan of the request; else NULL */
  kf_entry_info *entries; /* want_entries */
  int nentries;
  int64_t wall_ms;
  char enforced[KF_SANDBOX_TEXT_MAX];
} kf_build_outcome;

int kf_builder_main(int fd); /* --role builder */
kf_status kf_build_start(const kf_build_request *request, kf_build **ret_build, kf_err *err);
/* A builder without a candidate: opens the device, puts the sandbox on and practises on a kernel of ours, at
 * idle priority, so that a build does not begin with loading a compiler. Serves one candidate like any other.
 * Of the request device, work folder and memory count. Pause, resume and free as a build's. */
kf_status kf_build_spare(const kf_build_request *request, kf_build **ret_spare, kf_err *err);
/* Looks at a spare; call now and then. *ret_usable false: it has ended, or did not get ready in time: free
 * it. One that is not ready yet is usable: it cuts its practice short when the candidate comes. */
kf_status kf_build_spare_look(kf_build *spare, bool *ret_usable, bool *ret_ready, kf_err *err);
int kf_build_fd(const kf_build *build); /* readable when there is progress to be made by kf_build_step */
/* Advances; *ret_done when the outcome is complete. Enforces the time limit: call at least every 50 ms or on
 * fd events. The limit counts wall time without pauses and without time in which the idle-priority builder
 * was ready but got no core (at most twice the limit is forgiven). A status other than KF_OK is a failure of
 * ours, never the candidate's: no verdict. */
kf_status kf_build_step(kf_build *build, bool *ret_done, kf_err *err);
kf_status kf_build_outcome_take(kf_build *build, kf_build_outcome *ret_outcome, kf_err *err);
void kf_build_outcome_done(kf_build_outcome *outcome);
/* SIGSTOP/SIGCONT of all that a build started; time stopped does not count against its limit. Neither waits:
 * a builder that is just starting the linker stops once that has begun. A pause that failed is to be resumed
 * all the same. */
kf_status kf_build_pause(kf_build *build, kf_err *err);
kf_status kf_build_resume(kf_build *build, kf_err *err);
void kf_build_free(kf_build *build); /* kills if unfinished */

/* ---- plain C for references ---- */

/* Compiles C sources (cc) to a shared object in the same compiler sandbox, synchronously. `defines` are whole
 * options. */
typedef struct {
  const char *source;
  size_t source_len;
  const char *const
      *options; /* NULL-terminated, after the fixed ones: -std=c17 -O2 -ffp-contract=off -fPIC -shared */
  const char *work_dir;
  int64_t timeout_ms;
} kf_cc_request;
int kf_cc_main(int fd); /* --role cc */
/* KF_OK with *ret_object NULL: the compiler refused, log says why. KF_ENODEV: there is no cc. */
kf_status kf_cc_compile(const kf_cc_request *request, char **ret_object, size_t *ret_len, kf_buf *log,
                        kf_err *err);

#endif
