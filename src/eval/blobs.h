/* blobs.h - what the client has put: bytes by SHA-256, kept for the session up to a limit. */
#ifndef KF_EVAL_BLOBS_H
#define KF_EVAL_BLOBS_H

#include "base/hash.h"
#include "base/vec.h"

enum { KF_BLOBS_TOTAL_MAX = 1 << 30 };

typedef struct {
  kf_hash hash;
  char *bytes; /* NUL-terminated one past len */
  size_t len;
} kf_blob;

typedef struct {
  kf_blob *slots; /* open addressing, power of two; bytes NULL = free */
  size_t count, room, total;
} kf_blobs; /* zero-initialised is valid and empty */

/* Copies. KF_EINVAL when the session's limit is reached. */
kf_status kf_blobs_put(kf_blobs *blobs, const char *bytes, size_t len, kf_err *err);
const kf_blob *kf_blobs_find(const kf_blobs *blobs, const kf_hash *hash); /* NULL if unknown */
void kf_blobs_done(kf_blobs *blobs);

#endif
