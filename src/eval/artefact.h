/* artefact.h - sources on their way to something that runs: plan, binding, resolved calls of every case,
 * build, and beside it the screen and the evidence. The cache is keyed by content (task, device, source,
 * binding, salt): a failed build is kept like a good one, an infrastructure failure never. Builds run in the
 * background, at most build.jobs at a time, and can be paused as a whole. */
#ifndef KF_EVAL_ARTEFACT_H
#define KF_EVAL_ARTEFACT_H

#include "base/fs.h"
#include "base/settings.h"
#include "behavior/behavior.h"
#include "build/builder.h"
#include "eval/spares.h"
#include "wire/verdict.h"

#include <poll.h>

typedef enum {
  KF_ARTEFACT_QUEUED,
  KF_ARTEFACT_BUILDING,
  KF_ARTEFACT_READY,
  KF_ARTEFACT_BROKEN
} kf_artefact_state;

typedef struct kf_artefact {
  kf_hash key;
  kf_artefact_state state;
  int users;           /* jobs that hold it */
  const kf_task *task; /* borrowed from the session's task */
  const kf_device_info *device;
  char *source;
  size_t source_len;
  char source_sha256[KF_HASH_HEX];
  char binding_text[256];
  kf_plan *plan;
  kf_binding binding;
  kf_calls *check[KF_CASES_MAX], *measure[KF_CASES_MAX];
  kf_calls *extra[KF_CASES_MAX]; /* hidden shapes */
  int nextra;
  bool failed; /* READY, but there is nothing to run: kind and diagnosis say why */
  kf_verdict_kind kind;
  kf_diagnosis diagnosis;
  kf_compile_error errors[KF_VERDICT_ERRORS_MAX]; /* build_failed: what the compiler complained of */
  int nerrors;
  kf_build *build;
  kf_build_outcome outcome;
  char work_dir[KF_PATH_MAX];
  kf_evidence_job *reading; /* beside the build; the artefact is READY when both are done */
  bool reads;       /* it is screened: OpenCL, and not a confirmation's second build of the same source */
  kf_screen screen; /* UNREAD: said in the verdict's trust text */
  kf_evidence evidence;
  kf_err error; /* BROKEN: infrastructure */
  struct kf_artefact *next;
} kf_artefact;

typedef struct {
  kf_artefact *first;
  const kf_settings *settings;
  kf_work_root *work;
  kf_spares *spares;
  int building;
  bool paused, pumping;
} kf_artefacts;

typedef struct {
  const kf_task *task;
  const kf_device_info *device;
  const char *source;
  size_t source_len;
  const char *binding;  /* "" = defaults */
  const char *salt;     /* "" normally; separates a confirmation's build */
  const kf_case *extra; /* further shapes to resolve and warm */
  int nextra;
} kf_artefact_request;

/* Finds or makes; the caller holds it until kf_artefact_release. A source that breaks the plan's rules is
 * READY and failed. */
kf_status kf_artefact_get(kf_artefacts *artefacts, const kf_artefact_request *request,
                          kf_artefact **ret_artefact, kf_err *err);
void kf_artefact_release(kf_artefacts *artefacts, kf_artefact *artefact);
/* Starts queued builds, advances running ones, tends the spares; never blocks. Does nothing when called from
 * within itself (kf_child_meanwhile). */
void kf_artefacts_pump(kf_artefacts *artefacts);
/* Descriptors of running builds and readings, for poll. */
int kf_artefacts_fds(const kf_artefacts *artefacts, struct pollfd *fds, int max);
/* Builds and spares that are starting stand still. */
void kf_artefacts_pause(kf_artefacts *artefacts);
void kf_artefacts_resume(kf_artefacts *artefacts);
/* Host form: bytes of workspace for a shape that was built for, 0 where the kernel asks for none;
 * KF_ENOTFOUND for another shape of a kernel that asks. */
kf_status kf_artefact_workspace(const kf_artefact *artefact, const int64_t *symbols, int64_t *ret_bytes,
                                kf_err *err);
void kf_artefacts_done(kf_artefacts *artefacts);

#endif
