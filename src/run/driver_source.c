/* driver_source.c - the sources used last, by hash: a parent, an anchor or an elite is wanted again and
 * again, and each would be a query and a decompression. */
#include "base/alloc.h"
#include "run/driver_int.h"

#include "base/banned.h"

static kf__source *find(kf__driver *driver, const kf_hash *hash) {
  for (int i = 0; i < KF_DRIVER_SOURCES; i++) {
    kf__source *source = &driver->sources[i];
    if (source->bytes && kf_hash_equal(&source->hash, hash)) return source;
  }
  return NULL;
}

static kf__source *oldest(kf__driver *driver) {
  kf__source *found = &driver->sources[0];
  for (int i = 1; i < KF_DRIVER_SOURCES; i++)
    if (driver->sources[i].used < found->used) found = &driver->sources[i];
  return found;
}

static void put(kf__driver *driver, const kf_hash *hash, char *take_bytes, size_t len) {
  kf__source *place = oldest(driver);
  kf_free(place->bytes);
  *place = (kf__source){.hash = *hash, .bytes = take_bytes, .len = len, .used = ++driver->sources_clock};
}

void kf__source_remember(kf__driver *driver, const kf_hash *hash, const char *bytes, size_t len) {
  if (find(driver, hash)) return;
  char *copy = kf_memdup(bytes, len);
  if (copy) put(driver, hash, copy, len); /* without memory it is read from the store when it is wanted */
}

kf_status kf__source_get(kf__driver *driver, const kf_hash *hash, const char **ret_bytes, size_t *ret_len,
                         kf_err *err) {
  kf__source *source = find(driver, hash);
  if (!source) {
    kf_buf bytes KF_CLEANUP(kf_buf_done);
    kf_buf_init(&bytes, KF_DRIVER_BODY_MAX);
    KF_TRY(kf_store_get(driver->store, hash, &bytes, err));
    size_t len = bytes.len;
    char *taken = kf_buf_take(&bytes);
    if (!taken) return kf_nomem(err);
    put(driver, hash, taken, len);
    source = find(driver, hash);
  }
  source->used = ++driver->sources_clock;
  *ret_bytes = source->bytes;
  *ret_len = source->len;
  return KF_OK;
}

void kf__sources_done(kf__driver *driver) {
  for (int i = 0; i < KF_DRIVER_SOURCES; i++) {
    kf_free(driver->sources[i].bytes);
    driver->sources[i] = (kf__source){0};
  }
}
