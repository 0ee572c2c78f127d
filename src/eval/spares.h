/* spares.h - processes that wait with the device open, so that a judgement does not begin with starting them
 * (docs/internals/evaluator.md, Spare processes).
 *
 * A spare takes one candidate and ends with it: nothing of another was ever in it. Runners are kept for the
 * device that was judged on last, at most KF_SPARES_MAX; one builder is kept. They are made between jobs
 * and between timed pairs, and those still starting are stopped during a pair. One that has died or does not
 * get ready is dropped and replaced; who needs a process when there is no spare starts one. Owner: the
 * session's thread. */
#ifndef KF_EVAL_SPARES_H
#define KF_EVAL_SPARES_H

#include "base/fs.h"
#include "base/settings.h"
#include "build/builder.h"
#include "device/runner.h"

enum { KF_SPARES_MAX = 4 };

/* Private folders below one root, numbered. */
typedef struct {
  char root[KF_PATH_MAX];
  unsigned next;
} kf_work_root;
/* Whether the folder's file system can be written and has room: a failure seen where it has not is no
 * candidate's. */
kf_status kf_work_usable(const kf_work_root *work, kf_err *err);
kf_status kf_work_dir(kf_work_root *work, const char *what, char ret_path[KF_PATH_MAX], kf_err *err);

typedef struct {
  kf_runner *runner;
  char dir[KF_PATH_MAX];
  bool open;
  int64_t made_ns;
} kf_spare_runner;

typedef struct {
  const kf_settings *settings;
  kf_work_root *work;
  const kf_device_info *device; /* NULL: none are kept yet */
  kf_spare_runner runners[KF_SPARES_MAX];
  int count;
  kf_build *builder;
  char builder_dir[KF_PATH_MAX];
  bool paused, busy;     /* busy: a call is under way; what is pumped meanwhile leaves them alone */
  int64_t not_before_ns; /* after a failure no new one is made until then */
} kf_spares;

/* From now on spares are kept for this device; those of another one end. */
void kf_spares_keep(kf_spares *spares, const kf_device_info *device);
/* Looks at them and makes at most one new process; never blocks. `want_builder`: no build is waiting or
 * running, so a new builder is in nobody's way. */
void kf_spares_pump(kf_spares *spares, bool want_builder);
/* Nothing is to be made or waited for. */
bool kf_spares_settled(const kf_spares *spares);
/* A runner on this device: a spare if one is ready, else one that is just starting. Its private folder is the
 * caller's to remove; `what` names a new one. */
kf_status kf_spares_runner(kf_spares *spares, const kf_device_info *device, const char *what,
                           kf_runner **ret_runner, char ret_dir[KF_PATH_MAX], kf_err *err);
/* The spare builder with its folder, for kf_build_request; NULL if there is none for this device. */
kf_build *kf_spares_builder(kf_spares *spares, const kf_device_info *device, char ret_dir[KF_PATH_MAX]);
/* During a timed pair on a CPU device. */
void kf_spares_pause(kf_spares *spares);
void kf_spares_resume(kf_spares *spares);
/* Ends all, e.g. because the settings have changed; kept for the same device afterwards. */
void kf_spares_drop(kf_spares *spares);

#endif
