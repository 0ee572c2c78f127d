/* store.c - opening, schema, transactions and the event log. */
#include "store/store_int.h"

#include "base/alloc.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { BUSY_TIMEOUT_MS = 5000 };

/* migrations[v] brings a database from version v to v + 1; a new run passes through all of them. */
static const char *const migrations[KF_STORE_SCHEMA_VERSION] = {
    "CREATE TABLE meta(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, proposal INTEGER NOT NULL,"
    " at_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;"
    "CREATE INDEX event_proposal ON event(proposal) WHERE proposal > 0;"
    "CREATE TABLE blob(hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;",
};

static const char *const statement_text[KF_SQL_COUNT] = {
    [KF_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [KF_SQL_COMMIT] = "COMMIT",
    [KF_SQL_APPEND] = "INSERT INTO event(kind, proposal, at_ms, body) VALUES(?1, ?2, ?3, ?4)",
    [KF_SQL_BLOB_KNOWN] = "SELECT 1 FROM blob WHERE hash = ?1",
    [KF_SQL_BLOB_PUT] = "INSERT INTO blob(hash, size, bytes) VALUES(?1, ?2, ?3)",
    [KF_SQL_BLOB_GET] = "SELECT size, bytes FROM blob WHERE hash = ?1",
    [KF_SQL_META_SET] =
        "INSERT INTO meta(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2",
    [KF_SQL_META_GET] = "SELECT value FROM meta WHERE key = ?1",
};

static const struct {
  kf_event_kind kind;
  const char *name;
} event_names[] = {
    {KF_EVENT_START, "start"},   {KF_EVENT_ANSWER, "answer"},   {KF_EVENT_VERDICT, "verdict"},
    {KF_EVENT_CLOCK, "clock"},   {KF_EVENT_RESUME, "resume"},   {KF_EVENT_STOP, "stop"},
    {KF_EVENT_INFRA, "infra"},   {KF_EVENT_PROPOSE, "propose"}, {KF_EVENT_EVALUATE, "evaluate"},
    {KF_EVENT_INSERT, "insert"}, {KF_EVENT_ANCHOR, "anchor"},   {KF_EVENT_CONFIRM, "confirm"},
    {KF_EVENT_FINISH, "finish"},
};

static const char *known_event_name(int64_t kind) {
  for (size_t i = 0; i < KF_COUNTOF(event_names); i++)
    if ((int64_t)event_names[i].kind == kind) return event_names[i].name;
  return NULL;
}

bool kf_event_is_decision(kf_event_kind kind) {
  return kind >= KF_EVENT_PROPOSE;
}

const char *kf_event_name(kf_event_kind kind) {
  const char *name = known_event_name(kind);
  return name != NULL ? name : "unknown";
}

/* ---- SQLite's failures ---- */

static kf_status disk_full(const kf_store *store, kf_err *err) {
  kf_fail(err, KF_EIO, "%s: disk full", store->path);
  return kf_err_hint(err, KF_EIO, "free some space, then resume the run: nothing that was stored is lost");
}

kf_status kf__store_failure(const kf_store *store, int code, kf_err *err) {
  const char *text = store->db != NULL ? sqlite3_errmsg(store->db) : sqlite3_errstr(code);
  switch (code & 0xff) {
  case SQLITE_NOMEM:
    return kf_nomem(err);
  case SQLITE_FULL:
    return disk_full(store, err);
  case SQLITE_IOERR:
    if (store->db != NULL && sqlite3_system_errno(store->db) == ENOSPC) return disk_full(store, err);
    return kf_fail(err, KF_EIO, "%s: %s", store->path, text);
  case SQLITE_NOTADB:
    return kf_fail(err, KF_EINVAL, "%s: not a run database", store->path);
  case SQLITE_CORRUPT:
    kf_fail(err, KF_EIO, "%s: the database is damaged: %s", store->path, text);
    return kf_err_hint(err, KF_EIO, "`sqlite3 FILE .recover` may save what is left");
  default:
    return kf_fail(err, KF_EIO, "%s: %s", store->path, text);
  }
}

kf_status kf__store_statement(kf_store *store, kf_sql which, sqlite3_stmt **ret_statement, kf_err *err) {
  sqlite3_stmt **slot = &store->statements[which];
  if (*slot == NULL) {
    int code =
        sqlite3_prepare_v3(store->db, statement_text[which], -1, SQLITE_PREPARE_PERSISTENT, slot, NULL);
    if (code != SQLITE_OK) return kf__store_failure(store, code, err);
  }
  sqlite3_reset(*slot);
  sqlite3_clear_bindings(*slot);
  *ret_statement = *slot;
  return KF_OK;
}

kf_status kf__store_step_done(kf_store *store, sqlite3_stmt *statement, kf_err *err) {
  int code = sqlite3_step(statement);
  kf_status status = code == SQLITE_DONE || code == SQLITE_ROW ? KF_OK : kf__store_failure(store, code, err);
  sqlite3_reset(statement);
  return status;
}

kf_status kf__store_exec(kf_store *store, const char *sql, kf_err *err) {
  int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? KF_OK : kf__store_failure(store, code, err);
}

kf_status kf__store_writable(const kf_store *store, kf_err *err) {
  if (store->mode == KF_STORE_READ) return kf_fail(err, KF_EBUG, "%s: opened for reading only", store->path);
  return KF_OK;
}

/* ---- opening ---- */

static kf_status pragma_int(kf_store *store, const char *sql, int64_t *ret_value, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  kf_status status = KF_OK;
  if (code == SQLITE_ROW)
    *ret_value = sqlite3_column_int64(statement, 0);
  else
    status = code == SQLITE_DONE ? kf_fail(err, KF_EIO, "%s: no answer to \"%s\"", store->path, sql)
                                 : kf__store_failure(store, code, err);
  sqlite3_finalize(statement);
  return status;
}

static kf_status check_owner(kf_store *store, int64_t *ret_version, kf_err *err) {
  int64_t application = 0, version = 0;
  KF_TRY(pragma_int(store, "PRAGMA application_id", &application, err));
  KF_TRY(pragma_int(store, "PRAGMA user_version", &version, err));
  if (application != KF_STORE_APPLICATION_ID)
    return kf_fail(err, KF_EINVAL, "%s: not a run database", store->path);
  if (version > KF_STORE_SCHEMA_VERSION) {
    kf_fail(err, KF_EINVAL, "%s: written by a newer kf (schema %lld, this one knows up to %d)", store->path,
            (long long)version, (int)KF_STORE_SCHEMA_VERSION);
    return kf_err_hint(err, KF_EINVAL, "update kf, or use the version that made the run");
  }
  *ret_version = version;
  return KF_OK;
}

static kf_status migrate(kf_store *store, int64_t from, kf_err *err) {
  if (from >= KF_STORE_SCHEMA_VERSION) return KF_OK;
  char stamp[96];
  snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
           (int)KF_STORE_APPLICATION_ID, (int)KF_STORE_SCHEMA_VERSION);
  KF_TRY(kf_store_begin(store, err));
  kf_status status = KF_OK;
  for (int64_t version = from < 0 ? 0 : from; version < KF_STORE_SCHEMA_VERSION; version++)
    KF_GO(kf__store_exec(store, migrations[version], err));
  KF_GO(kf__store_exec(store, stamp, err));
  KF_GO(kf_store_commit(store, err));
out:
  if (status != KF_OK) kf_store_rollback(store);
  return status;
}

static kf_status open_database(kf_store *store, kf_err *err) {
  int flags = store->mode == KF_STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  int code = sqlite3_open_v2(store->path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
  if (code != SQLITE_OK) return kf__store_failure(store, code, err);
  sqlite3_extended_result_codes(store->db, 1);
  sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  KF_TRY(kf__store_exec(store,
                        "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;"
                        "PRAGMA cache_size = -4096; PRAGMA synchronous = NORMAL",
                        err));
  int64_t version = 0;
  if (store->mode == KF_STORE_CREATE)
    KF_TRY(kf__store_exec(store, "PRAGMA journal_mode = WAL", err));
  else
    KF_TRY(check_owner(store, &version, err));
  if (store->mode == KF_STORE_READ) return KF_OK;
  return migrate(store, version, err);
}

/* The new file is made here and not by SQLite, so that an existing one is refused without a race. */
static kf_status create_file(const char *path, kf_err *err) {
  char folder[KF_PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash != NULL && slash != path) {
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    KF_TRY(kf_fs_mkdirs(folder, err));
  }
  KF_TRY(kf__store_check_disk(path, err));
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0 && errno == EEXIST) return kf_fail(err, KF_EINVAL, "%s: exists already", path);
  if (fd < 0) return kf_fail(err, KF_EIO, "%s: %s", path, strerror(errno));
  close(fd);
  return KF_OK;
}

static kf_status prepare_file(const char *path, kf_store_mode mode, kf_err *err) {
  if (strlen(path) + 8 > KF_PATH_MAX) return kf_fail(err, KF_EINVAL, "path of the run database is too long");
  if (mode == KF_STORE_CREATE) return create_file(path, err);
  if (!kf_fs_exists(path)) return kf_fail(err, KF_ENOTFOUND, "%s: no such run database", path);
  /* SQLite would open a FIFO and wait for a writer for ever. */
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return kf_fail(err, KF_EINVAL, "%s: not a regular file, so no run database", path);
  return kf__store_check_disk(path, err);
}

kf_status kf_store_open(const char *path, kf_store_mode mode, kf_store **ret_store, kf_err *err) {
  KF_TRY(kf__store_memory_init(err));
  kf_store *store = kf_calloc(1, sizeof *store);
  if (store == NULL) return kf_nomem(err);
  store->lock_fd = -1;
  store->mode = mode;
  bool made = false;
  kf_status status = KF_OK;
  store->path = kf_strdup(path);
  if (store->path == NULL) KF_GO(kf_nomem(err));
  KF_GO(prepare_file(path, mode, err));
  made = mode == KF_STORE_CREATE;
  if (mode != KF_STORE_READ) KF_GO(kf__store_lock(path, &store->lock_fd, err));
  KF_GO(open_database(store, err));
  *ret_store = store;
  return KF_OK;
out:
  kf_store_close(store);
  if (made) unlink(path); /* a run that never began; its name is free again */
  return status;
}

void kf_store_close(kf_store *store) {
  if (store == NULL) return;
  for (int i = 0; i < KF_SQL_COUNT; i++)
    sqlite3_finalize(store->statements[i]);
  sqlite3_close(store->db);
  kf__store_blob_done(store);
  if (store->lock_fd >= 0) close(store->lock_fd);
  kf_free(store->path);
  kf_free(store);
}

/* ---- transactions and events ---- */

kf_status kf_store_begin(kf_store *store, kf_err *err) {
  KF_TRY(kf__store_writable(store, err));
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_BEGIN, &statement, err));
  return kf__store_step_done(store, statement, err);
}

kf_status kf_store_commit(kf_store *store, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_COMMIT, &statement, err));
  return kf__store_step_done(store, statement, err);
}

void kf_store_rollback(kf_store *store) {
  /* Some failures (a full disk among them) have rolled back already. */
  if (!sqlite3_get_autocommit(store->db)) (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

kf_status kf_store_append(kf_store *store, kf_event *event, kf_err *err) {
  KF_TRY(kf__store_writable(store, err));
  if (known_event_name(event->kind) == NULL)
    return kf_fail(err, KF_EBUG, "event of unknown kind %d", (int)event->kind);
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_APPEND, &statement, err));
  sqlite3_bind_int(statement, 1, (int)event->kind);
  sqlite3_bind_int64(statement, 2, event->proposal);
  sqlite3_bind_int64(statement, 3, event->at_ms);
  const char *body = event->body != NULL ? event->body : "";
  int code = sqlite3_bind_text64(statement, 4, body, event->body_len, SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) return kf__store_failure(store, code, err);
  KF_TRY(kf__store_step_done(store, statement, err));
  event->seq = sqlite3_last_insert_rowid(store->db);
  return KF_OK;
}

typedef kf_status (*visit_fn)(void *context, const kf_event *event, kf_err *err);

static kf_status visit_row(const kf_store *store, sqlite3_stmt *statement, visit_fn visit, void *context,
                           kf_err *err) {
  int64_t kind = sqlite3_column_int64(statement, 1);
  kf_event event = {
      .seq = sqlite3_column_int64(statement, 0),
      .kind = (kf_event_kind)kind,
      .proposal = sqlite3_column_int64(statement, 2),
      .at_ms = sqlite3_column_int64(statement, 3),
      .body = (const char *)sqlite3_column_text(statement, 4),
      .body_len = (size_t)sqlite3_column_bytes(statement, 4),
  };
  if (event.body == NULL) return kf_nomem(err);
  if (known_event_name(kind) == NULL)
    return kf_fail(err, KF_EPROTO, "%s: event %lld: unknown kind %lld", store->path, (long long)event.seq,
                   (long long)kind);
  return visit(context, &event, err);
}

/* A statement of its own for each scan: a visitor may scan too. */
static kf_status scan(kf_store *store, const char *sql, int64_t first, int64_t second, visit_fn visit,
                      void *context, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
  if (code != SQLITE_OK) return kf__store_failure(store, code, err);
  sqlite3_bind_int64(statement, 1, first);
  sqlite3_bind_int64(statement, 2, second);
  kf_status status = KF_OK;
  while (status == KF_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
    status = visit_row(store, statement, visit, context, err);
  if (status == KF_OK && code != SQLITE_DONE) status = kf__store_failure(store, code, err);
  sqlite3_finalize(statement);
  return status;
}

kf_status kf_store_scan(kf_store *store, int64_t from, uint64_t kinds, visit_fn visit, void *context,
                        kf_err *err) {
  return scan(store,
              "SELECT seq, kind, proposal, at_ms, body FROM event"
              " WHERE seq >= ?1 AND (?2 = 0 OR (?2 >> kind) & 1) ORDER BY seq",
              from, (int64_t)kinds, visit, context, err);
}

kf_status kf_store_scan_proposal(kf_store *store, int64_t proposal, visit_fn visit, void *context,
                                 kf_err *err) {
  return scan(store,
              "SELECT seq, kind, proposal, at_ms, body FROM event"
              " WHERE proposal = ?1 AND proposal > 0 AND seq > ?2 ORDER BY seq",
              proposal, 0, visit, context, err);
}

kf_status kf_store_meta_set(kf_store *store, const char *key, const char *value, kf_err *err) {
  KF_TRY(kf__store_writable(store, err));
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_META_SET, &statement, err));
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, value, -1, SQLITE_STATIC);
  return kf__store_step_done(store, statement, err);
}

kf_status kf_store_meta_get(kf_store *store, const char *key, kf_buf *buf, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_META_GET, &statement, err));
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
  int code = sqlite3_step(statement);
  kf_status status = KF_OK;
  if (code == SQLITE_ROW) {
    const void *text = sqlite3_column_text(statement, 0);
    status = text == NULL ? kf_nomem(err)
                          : kf_buf_append(buf, text, (size_t)sqlite3_column_bytes(statement, 0), err);
  } else if (code == SQLITE_DONE) {
    status = kf_fail(err, KF_ENOTFOUND, "%s: no entry \"%s\"", store->path, key);
  } else {
    status = kf__store_failure(store, code, err);
  }
  sqlite3_reset(statement);
  return status;
}
