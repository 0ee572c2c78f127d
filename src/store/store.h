/* store.h - one SQLite database per run: an event log and content-addressed blobs
 * (docs/formats/run-database.md). The only SQL of the program is in this folder. One writer a run (an
 * exclusive lock on RUN.db-lock); any number of readers. WAL, synchronous=NORMAL: nothing committed is lost
 * to kill -9. Blobs are zstd-compressed, keyed by SHA-256 of the plain bytes. Threads: one per kf_store. */
#ifndef KF_STORE_STORE_H
#define KF_STORE_STORE_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"

typedef struct kf_store kf_store;

/* Inputs come from the world, in arrival order; decisions are derived from them (run/engine.h). */
typedef enum {
  KF_EVENT_START = 1,    /* input: task, settings, seed, budget, device, engine version */
  KF_EVENT_ANSWER,       /* input: a proposer's answer, or its failure */
  KF_EVENT_VERDICT,      /* input: a judged request */
  KF_EVENT_CLOCK,        /* input: a reading of the run's clock that something was decided from */
  KF_EVENT_RESUME,       /* input: a new session continues the run */
  KF_EVENT_STOP,         /* input: the user asked to stop */
  KF_EVENT_INFRA,        /* input: an infrastructure failure of a request: retried, no verdict */
  KF_EVENT_PROPOSE = 32, /* decision */
  KF_EVENT_EVALUATE,     /* decision */
  KF_EVENT_INSERT,       /* decision: what became of a judged candidate */
  KF_EVENT_ANCHOR,       /* decision */
  KF_EVENT_CONFIRM,      /* decision: champion confirmed or demoted */
  KF_EVENT_FINISH,       /* decision */
} kf_event_kind;

bool kf_event_is_decision(kf_event_kind kind);
const char *kf_event_name(kf_event_kind kind);

typedef struct {
  int64_t seq; /* 1, 2, ...; set by the store */
  kf_event_kind kind;
  int64_t proposal; /* 0 if none */
  int64_t at_ms;    /* the run's clock: working time over all its sessions */
  const char *body; /* compact JSON, keys sorted; borrowed */
  size_t body_len;
} kf_event;

typedef enum { KF_STORE_CREATE, KF_STORE_WRITE, KF_STORE_READ } kf_store_mode;

/* CREATE refuses an existing file; WRITE takes the writer's lock (KF_EINVAL names the pid that holds it) and
 * migrates forward. A newer schema, another application's file, a network file system (nfs, cifs, 9p, fuse,
 * ...: WAL is unsafe there; hint --db PATH): KF_EINVAL. */
kf_status kf_store_open(const char *path, kf_store_mode mode, kf_store **ret_store, kf_err *err);
void kf_store_close(kf_store *store);

/* Events appended between begin and commit become durable together: an input and the decisions from it. */
kf_status kf_store_begin(kf_store *store, kf_err *err);
kf_status kf_store_commit(kf_store *store, kf_err *err);
void kf_store_rollback(kf_store *store);
kf_status kf_store_append(kf_store *store, kf_event *event, kf_err *err); /* sets event->seq */
/* Calls `visit` in order from seq `from`; stops when it fails and returns that failure. `kinds`: a mask of
 * 1ull << kind, 0 = all. */
kf_status kf_store_scan(kf_store *store, int64_t from, uint64_t kinds,
                        kf_status (*visit)(void *context, const kf_event *event, kf_err *err), void *context,
                        kf_err *err);
/* Events of one proposal (indexed). */
kf_status kf_store_scan_proposal(kf_store *store, int64_t proposal,
                                 kf_status (*visit)(void *context, const kf_event *event, kf_err *err),
                                 void *context, kf_err *err);

/* Stores bytes once; *ret_hash may be NULL. Joins an open transaction if there is one. */
kf_status kf_store_put(kf_store *store, const void *bytes, size_t len, kf_hash *ret_hash, kf_err *err);
kf_status kf_store_get(kf_store *store, const kf_hash *hash, kf_buf *buf,
                       kf_err *err); /* KF_ENOTFOUND; checks the hash */
/* Small facts of the run ("run_id", "created", "engine"). */
kf_status kf_store_meta_set(kf_store *store, const char *key, const char *value, kf_err *err);
kf_status kf_store_meta_get(kf_store *store, const char *key, kf_buf *buf, kf_err *err); /* KF_ENOTFOUND */
/* Removes blobs no event names (`gc`) and vacuums. */
kf_status kf_store_gc(kf_store *store, int64_t *ret_blobs, int64_t *ret_bytes, kf_err *err);

/* ---- the folder of runs ---- */

typedef struct {
  char id[64]; /* "matmul-20261130-141530-3f2a" */
  char path[4096];
  int64_t modified_ms;
} kf_run_entry;
/* Runs below DIR (".kf/runs"), newest first; an absent folder is an empty list. Caller frees with kf_free. */
kf_status kf_runs_list(const char *dir, kf_run_entry **ret_runs, size_t *ret_count, kf_err *err);
/* Finds by id, unique prefix, path, or "last"; KF_ENOTFOUND names the nearest, KF_EINVAL if a prefix is
 * ambiguous. */
kf_status kf_runs_find(const char *dir, const char *name, kf_run_entry *ret_run, kf_err *err);

#endif
