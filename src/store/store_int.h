/* store_int.h - the open database as the files of this folder share it; tests that fill a disk use the
 * handle. */
#ifndef KF_STORE_STORE_INT_H
#define KF_STORE_STORE_INT_H

#include "store/store.h"
#include <sqlite3.h>

enum {
  KF_STORE_APPLICATION_ID = 0x6b665231, /* "kfR1", so that file(1) and we can tell */
  KF_STORE_SCHEMA_VERSION = 1,
  KF_BLOB_MAX = 256 * 1024 * 1024,
};

typedef enum {
  KF_SQL_BEGIN,
  KF_SQL_COMMIT,
  KF_SQL_APPEND,
  KF_SQL_BLOB_KNOWN,
  KF_SQL_BLOB_PUT,
  KF_SQL_BLOB_GET,
  KF_SQL_META_SET,
  KF_SQL_META_GET,
  KF_SQL_COUNT,
} kf_sql;

struct kf_store {
  sqlite3 *db;
  kf_store_mode mode;
  int lock_fd; /* -1 for readers */
  char *path;
  sqlite3_stmt *statements[KF_SQL_COUNT]; /* prepared on first use */
  void *compressor, *decompressor;        /* zstd contexts, made on first use */
};

/* What SQLite says about the last failed call, as ours. */
kf_status kf__store_failure(const kf_store *store, int code, kf_err *err);
/* The cached statement, reset and without bindings. */
kf_status kf__store_statement(kf_store *store, kf_sql which, sqlite3_stmt **ret_statement, kf_err *err);
/* Steps a statement that gives no row, and resets it. */
kf_status kf__store_step_done(kf_store *store, sqlite3_stmt *statement, kf_err *err);
kf_status kf__store_exec(kf_store *store, const char *sql, kf_err *err);
kf_status kf__store_writable(const kf_store *store, kf_err *err);

/* Routes SQLite's memory through base/alloc.h; once a process, before SQLite is used. */
kf_status kf__store_memory_init(kf_err *err);
/* Takes the writer's lock of `path`; *ret_fd is closed to release it. */
kf_status kf__store_lock(const char *path, int *ret_fd, kf_err *err);
/* KF_EINVAL if `path` (or its folder) lies on a network file system. */
kf_status kf__store_check_disk(const char *path, kf_err *err);
bool kf__store_is_network(uint64_t file_system_type);
void kf__store_blob_done(kf_store *store);

#endif
