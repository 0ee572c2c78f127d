/* store_blob.c - content-addressed blobs: zstd level 3, keyed by the SHA-256 of the plain bytes; and their
 * collection. */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_customMem; zstd is linked from its archive */
#include "store/store_int.h"

#include "base/alloc.h"
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/banned.h"

enum { LEVEL = 3 };

static void *zstd_alloc(void *context, size_t size) {
  (void)context;
  return kf_alloc(size);
}

static void zstd_free(void *context, void *ptr) {
  (void)context;
  kf_free(ptr);
}

static const ZSTD_customMem zstd_memory = {zstd_alloc, zstd_free, NULL};

void kf__store_blob_done(kf_store *store) {
  ZSTD_freeCCtx(store->compressor);
  ZSTD_freeDCtx(store->decompressor);
}

static kf_status zstd_failure(const kf_store *store, size_t code, kf_err *err) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) return kf_nomem(err);
  return kf_fail(err, KF_EIO, "%s: blob: %s", store->path, ZSTD_getErrorName(code));
}

static kf_status is_known(kf_store *store, const kf_hash *hash, bool *ret_known, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_BLOB_KNOWN, &statement, err));
  sqlite3_bind_blob(statement, 1, hash->bytes, sizeof hash->bytes, SQLITE_STATIC);
  int code = sqlite3_step(statement);
  kf_status status = KF_OK;
  if (code == SQLITE_ROW || code == SQLITE_DONE)
    *ret_known = code == SQLITE_ROW;
  else
    status = kf__store_failure(store, code, err);
  sqlite3_reset(statement);
  return status;
}

static kf_status insert_blob(kf_store *store, const kf_hash *hash, size_t len, const void *packed,
                             size_t packed_len, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_BLOB_PUT, &statement, err));
  sqlite3_bind_blob(statement, 1, hash->bytes, sizeof hash->bytes, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 2, (int64_t)len);
  int code = sqlite3_bind_blob64(statement, 3, packed, packed_len, SQLITE_STATIC);
  if (code != SQLITE_OK) return kf__store_failure(store, code, err);
  return kf__store_step_done(store, statement, err);
}

kf_status kf_store_put(kf_store *store, const void *bytes, size_t len, kf_hash *ret_hash, kf_err *err) {
  KF_TRY(kf__store_writable(store, err));
  if (len > KF_BLOB_MAX)
    return kf_fail(err, KF_EINVAL, "%s: a blob of %zu bytes is over the limit", store->path, len);
  kf_hash hash;
  kf_hash_bytes(bytes, len, &hash);
  bool known = false;
  KF_TRY(is_known(store, &hash, &known, err));
  if (!known) {
    if (store->compressor == NULL) store->compressor = ZSTD_createCCtx_advanced(zstd_memory);
    if (store->compressor == NULL) return kf_nomem(err);
    size_t room = ZSTD_compressBound(len);
    KF_CLEANUP(kf_freep) void *packed = kf_alloc(room);
    if (packed == NULL) return kf_nomem(err);
    size_t packed_len = ZSTD_compressCCtx(store->compressor, packed, room, bytes, len, LEVEL);
    if (ZSTD_isError(packed_len)) return zstd_failure(store, packed_len, err);
    KF_TRY(insert_blob(store, &hash, len, packed, packed_len, err));
  }
  if (ret_hash != NULL) *ret_hash = hash;
  return KF_OK;
}

static kf_status damaged(const kf_store *store, const kf_hash *hash, kf_err *err) {
  char hex[KF_HASH_HEX];
  kf_hash_hex(hash, hex);
  return kf_fail(err, KF_EIO, "%s: blob %.12s is damaged", store->path, hex);
}

static kf_status unpack(kf_store *store, const kf_hash *hash, const void *packed, size_t packed_len,
                        int64_t size, kf_buf *buf, kf_err *err) {
  if (size < 0 || size > KF_BLOB_MAX) return damaged(store, hash, err);
  if (store->decompressor == NULL) store->decompressor = ZSTD_createDCtx_advanced(zstd_memory);
  if (store->decompressor == NULL) return kf_nomem(err);
  KF_TRY(kf_buf_reserve(buf, (size_t)size, err));
  char *end = buf->data + buf->len;
  size_t len = ZSTD_decompressDCtx(store->decompressor, end, (size_t)size, packed, packed_len);
  if (ZSTD_isError(len) || len != (size_t)size) return damaged(store, hash, err);
  kf_hash got;
  kf_hash_bytes(end, len, &got);
  if (!kf_hash_equal(&got, hash)) return damaged(store, hash, err);
  buf->len += len;
  buf->data[buf->len] = '\0';
  return KF_OK;
}

kf_status kf_store_get(kf_store *store, const kf_hash *hash, kf_buf *buf, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  KF_TRY(kf__store_statement(store, KF_SQL_BLOB_GET, &statement, err));
  sqlite3_bind_blob(statement, 1, hash->bytes, sizeof hash->bytes, SQLITE_STATIC);
  int code = sqlite3_step(statement);
  kf_status status = KF_OK;
  if (code == SQLITE_ROW) {
    int64_t size = sqlite3_column_int64(statement, 0);
    const void *packed = sqlite3_column_blob(statement, 1);
    size_t packed_len = (size_t)sqlite3_column_bytes(statement, 1);
    if (packed == NULL && sqlite3_errcode(store->db) == SQLITE_NOMEM)
      status = kf_nomem(err);
    else
      status = unpack(store, hash, packed, packed_len, size, buf, err);
  } else if (code == SQLITE_DONE) {
    char hex[KF_HASH_HEX];
    kf_hash_hex(hash, hex);
    status = kf_fail(err, KF_ENOTFOUND, "%s: no blob %.12s", store->path, hex);
  } else {
    status = kf__store_failure(store, code, err);
  }
  sqlite3_reset(statement);
  return status;
}

/* ---- collection: a blob is named by 64 hex digits anywhere in an event's body or in meta ---- */

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static kf_status keep(kf_store *store, sqlite3_stmt *insert, const char *digits, kf_err *err) {
  char hex[KF_HASH_HEX];
  kf_hash hash;
  memcpy(hex, digits, KF_HASH_HEX - 1);
  hex[KF_HASH_HEX - 1] = '\0';
  KF_TRY(kf_hash_parse(hex, &hash, err));
  sqlite3_bind_blob(insert, 1, hash.bytes, sizeof hash.bytes, SQLITE_TRANSIENT);
  return kf__store_step_done(store, insert, err);
}

static kf_status keep_named(kf_store *store, sqlite3_stmt *insert, const char *text, size_t len,
                            kf_err *err) {
  size_t run = 0;
  for (size_t i = 0; i <= len; i++) {
    if (i < len && is_hex(text[i])) {
      run++;
      continue;
    }
    if (run == 64) KF_TRY(keep(store, insert, text + i - 64, err));
    run = 0;
  }
  return KF_OK;
}

static kf_status keep_all(kf_store *store, sqlite3_stmt *insert, sqlite3_stmt *texts, kf_err *err) {
  int code;
  while ((code = sqlite3_step(texts)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(texts, 0);
    if (text == NULL) return kf_nomem(err);
    KF_TRY(keep_named(store, insert, text, (size_t)sqlite3_column_bytes(texts, 0), err));
  }
  return code == SQLITE_DONE ? KF_OK : kf__store_failure(store, code, err);
}

static kf_status collect_named(kf_store *store, kf_err *err) {
  KF_TRY(kf__store_exec(store,
                        "CREATE TEMP TABLE IF NOT EXISTS named(hash BLOB PRIMARY KEY) WITHOUT ROWID;"
                        "DELETE FROM temp.named",
                        err));
  sqlite3_stmt *insert = NULL, *texts = NULL;
  int code = sqlite3_prepare_v2(store->db, "INSERT OR IGNORE INTO temp.named VALUES(?1)", -1, &insert, NULL);
  if (code == SQLITE_OK)
    code = sqlite3_prepare_v2(store->db, "SELECT body FROM event UNION ALL SELECT value FROM meta", -1,
                              &texts, NULL);
  kf_status status =
      code == SQLITE_OK ? keep_all(store, insert, texts, err) : kf__store_failure(store, code, err);
  sqlite3_finalize(texts);
  sqlite3_finalize(insert);
  return status;
}

static kf_status count_unnamed(kf_store *store, int64_t *ret_blobs, int64_t *ret_bytes, kf_err *err) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(store->db,
                                "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM blob"
                                " WHERE hash NOT IN temp.named",
                                -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  if (code == SQLITE_ROW) {
    *ret_blobs = sqlite3_column_int64(statement, 0);
    *ret_bytes = sqlite3_column_int64(statement, 1);
  }
  kf_status status = code == SQLITE_ROW ? KF_OK : kf__store_failure(store, code, err);
  sqlite3_finalize(statement);
  return status;
}

kf_status kf_store_gc(kf_store *store, int64_t *ret_blobs, int64_t *ret_bytes, kf_err *err) {
  KF_TRY(kf_store_begin(store, err));
  int64_t blobs = 0, bytes = 0;
  kf_status status = KF_OK;
  KF_GO(collect_named(store, err));
  KF_GO(count_unnamed(store, &blobs, &bytes, err));
  KF_GO(kf__store_exec(store, "DELETE FROM blob WHERE hash NOT IN temp.named", err));
  KF_GO(kf__store_exec(store, "DROP TABLE temp.named", err));
  KF_GO(kf_store_commit(store, err));
  KF_TRY(kf__store_exec(store, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", err));
  *ret_blobs = blobs;
  *ret_bytes = bytes;
  return KF_OK;
out:
  kf_store_rollback(store);
  return status;
}
