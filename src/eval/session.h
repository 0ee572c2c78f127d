/* session.h - one `kf-eval` serving one client: blobs, tasks, artefacts, and the queue of jobs
 * (docs/formats/wire.md). Single-threaded. A job waits until its blobs are there and its builds are done,
 * then it is judged; one result each. */
#ifndef KF_EVAL_SESSION_H
#define KF_EVAL_SESSION_H

#include "eval/blobs.h"
#include "eval/judge.h"
#include "eval/perf.h"
#include "eval/twins.h"
#include "verify/shapes.h"
#include "wire/proto.h"

typedef enum { KF_JOB_JUDGE, KF_JOB_INSPECT, KF_JOB_ADMIT } kf_job_kind;

enum { KF_JOB_KERNELS_MAX = 1 + KF_SEEDS_MAX };

/* One request; freed when its result was sent. */
typedef struct kf_job {
  kf_job_kind kind;
  int64_t id;
  json_t *request; /* the message, owned */
  json_t *asked;   /* hashes of the last `need`, or NULL: the same is not asked for twice */
  bool canceled;
  int64_t deadline_ns; /* 0: none */
  /* judge, once its blobs are there: */
  kf_task_state *state;
  const kf_device_info *device;
  kf_artefact *candidate, *against, *initial, *confirm;
  kf_case hidden[KF_SHAPE_KINDS];
  int nhidden;
  /* admit: the initial kernel and the seeds, as far as there are any */
  kf_artefact *kernels[KF_JOB_KERNELS_MAX];
  const char *names[KF_JOB_KERNELS_MAX];
  int nkernels;
  /* inspect: */
  kf_build *build;
  char work_dir[KF_PATH_MAX];
  struct kf_job *next;
} kf_job;

typedef struct {
  kf_settings settings;
  kf_device_info devices[KF_DEVICES_MAX];
  int ndevices;
  kf_buf device_note;                        /* why there are none */
  kf_ceiling_store ceilings[KF_DEVICES_MAX]; /* by device; a physical one behind several is measured once */
  kf_blobs blobs;
  kf_task_state *tasks;
  kf_artefacts artefacts;
  kf_spares spares; /* kept once the first job is done: a session of one job pays nothing for them */
  kf_twins twins;
  kf_work_root work;
  char *flush; /* allocated at the first judgement */
  size_t flush_bytes;
  kf_err broken;   /* why the channel broke while a job was judged */
  kf_job *jobs;    /* oldest first */
  kf_job *running; /* the one being judged */
  kf_wire_reader reader;
  int in, out; /* descriptors of the channel */
  bool closed; /* end of input: finish */
} kf_session;

/* Enumerates devices and says hello on `out`. */
kf_status kf_session_new(int in, int out, kf_session **ret_session, kf_err *err);
/* Serves until the client closes its end. Returns a failure only when the channel breaks. */
kf_status kf_session_serve(kf_session *session, kf_err *err);
void kf_session_free(kf_session *session);

/* session_job.c */
/* Resolves blobs, task, device and artefacts. *ret_ready: everything is there and built. A failure is the
 * job's result. */
kf_status kf_job_prepare(kf_session *session, kf_job *job, bool *ret_ready, kf_err *err);
/* Judges, or collects an inspection; *ret_result is the result message, owned. */
kf_status kf_job_run(kf_session *session, kf_job *job, json_t **ret_result, kf_err *err);
void kf_job_free(kf_session *session, kf_job *job);
kf_status kf_session_send(kf_session *session, const json_t *message, kf_err *err);
/* Reads what has come without waiting, and advances builds. */
kf_status kf_session_poll(kf_session *session, int timeout_ms, kf_err *err);

#endif
