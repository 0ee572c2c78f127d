/* judge.h - the stages of one judgement (docs/internals/evaluator.md, Stages): artefacts that are ready ->
 * verdict. Synchronous: the judge process works on one candidate at a time while builds go on behind it;
 * between requests it serves its hooks. */
#ifndef KF_EVAL_JUDGE_H
#define KF_EVAL_JUDGE_H

#include "eval/taskstate.h"
#include "measure/ceiling.h"
#include "measure/race.h"

enum { KF_ELITES_MAX = 256 };

typedef struct {
  kf_cell cell;
  int64_t elite_nano;
} kf_judge_elite;

/* One judgement. Artefacts are READY (or failed); the caller holds them. */
typedef struct {
  const kf_settings *settings;
  const kf_device_info *device;
  kf_artefacts *artefacts;
  kf_spares *spares;
  kf_work_root *work;
  const char *flush; /* measure.flush_max_mib of touched memory, for kf_race_options */
  kf_task_state *state;
  kf_artefact *candidate;
  kf_artefact *against;  /* NULL: verify and time only */
  kf_artefact *initial;  /* NULL if the task has none */
  kf_artefact *confirm;  /* stage 3: the candidate built again with the hidden shapes; NULL below */
  const kf_case *hidden; /* stage 3 */
  int nhidden;
  int stage;
  bool verified;
  bool same_code; /* candidate and opponent are other sources of the same code (eval/twins.h): no race */
  int blocks_min, blocks_max;
  const kf_judge_elite *elites;
  int nelites;
  const kf_ceilings *ceilings; /* of the device; NULL: never known. Not known yet: see kf_trial_ceilings */
  /* Measures them, and again when asked again; false: nothing new. NULL: never. */
  bool (*need_ceilings)(void *context, const kf_device_info *device);
  void (*progress)(void *context, const char *what);
  void (*serve)(void *context); /* between timed pairs: read requests, advance builds */
  bool (*canceled)(void *context);
  void *context;
} kf_judgement;

/* KF_OK with a verdict, or an infrastructure failure (device gone, disk, canceled, an opponent that does not
 * run), which is none. */
kf_status kf_judge(const kf_judgement *judgement, kf_verdict *ret_verdict, kf_err *err);

/* The verdict of a candidate whose code was judged under another source: that judgement, with the candidate's
 * own source, binding and log. Nothing is run. */
void kf_judge_shared(const kf_judgement *judgement, const kf_verdict *twin, kf_verdict *ret_verdict);

#endif
