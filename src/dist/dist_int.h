/* dist_int.h - private to src/dist: what a transport provides, and the jobs in flight. */
#ifndef KF_DIST_DIST_INT_H
#define KF_DIST_DIST_INT_H

#include "dist/evaluator.h"

typedef struct {
  kf_status (*submit)(kf_evaluator *evaluator, const kf_eval_request *request, kf_err *err);
  kf_status (*cancel)(kf_evaluator *evaluator, int64_t id, kf_err *err);
  kf_status (*inspect)(kf_evaluator *evaluator, const char *device, const char *source, size_t len,
                       json_t **ret_kernels, kf_err *err);
  void (*close)(kf_evaluator *evaluator);
} kf__evaluator_ops;

/* First member of each transport's own structure. */
struct kf_evaluator {
  const kf__evaluator_ops *ops;
  uv_loop_t *loop;
  kf_eval_callbacks callbacks;
  kf_device_info devices[KF_DEVICES_MAX];
  int ndevices;
  json_t *hello; /* NULL: none */
  int64_t pid;
};

/* A failure as a result; the callback runs within this call. */
void kf__result_fail(kf_evaluator *evaluator, int64_t id, const kf_err *error);

/* ---- hash_set.c: hashes that were sent. Forgets all when it is full: sending twice does no harm. ---- */

typedef struct {
  kf_hash *slots;
  bool *used;
  size_t room, count;
} kf__hash_set; /* zeroed is empty */

bool kf__hash_set_has(const kf__hash_set *set, const kf_hash *hash);
kf_status kf__hash_set_add(kf__hash_set *set, const kf_hash *hash, kf_err *err);
void kf__hash_set_done(kf__hash_set *set);

/* ---- eval_jobs.c: requests in flight and the bytes they name ---- */

typedef struct kf__job {
  struct kf__job *next;
  int64_t id;
  bool admit;             /* its result is an admission, not a verdict */
  const kf_task *task;    /* NULL: an inspection */
  char *source, *against; /* copies, for `need`; against NULL: none */
  size_t source_len, against_len;
  kf_hash source_hash, against_hash, task_hash;
} kf__job;

/* The canonical JSON of a task, dumped once. */
typedef struct kf__task_text {
  struct kf__task_text *next;
  kf_hash task_id; /* not its address: a freed task's may be another one's later */
  kf_hash hash;
  kf_buf text;
} kf__task_text;

typedef struct {
  kf__job *jobs; /* oldest first */
  kf__task_text *tasks;
  kf__hash_set sent;
} kf__jobs; /* zeroed is empty */

/* Adds the request and writes what must be sent for it: blobs not sent yet, and the judge line. */
kf_status kf__jobs_add(kf__jobs *jobs, const kf_eval_request *request, kf_buf *out, kf_err *err);
kf_status kf__jobs_add_inspect(kf__jobs *jobs, int64_t id, const char *device, const char *source, size_t len,
                               kf_buf *out, kf_err *err);
kf__job *kf__jobs_find(kf__jobs *jobs, int64_t id);
/* Takes a job out; the caller frees it. NULL if unknown. */
kf__job *kf__jobs_take(kf__jobs *jobs, int64_t id);
kf__job *kf__jobs_take_first(kf__jobs *jobs);
void kf__job_free(kf__job *job);
/* Writes puts for the hashes of a `need`; KF_EPROTO for one that no job names. */
kf_status kf__jobs_need(kf__jobs *jobs, int64_t id, const json_t *hashes, kf_buf *out, kf_err *err);
void kf__jobs_done(kf__jobs *jobs);

/* ---- eval_env.c: what kf-eval gets of our environment ---- */

/* NULL-terminated; freed with kf__eval_env_free. Keys and everything else that is not listed stay here. */
kf_status kf__eval_env_new(char ***ret_env, kf_err *err);
void kf__eval_env_free(char **env);

#endif
