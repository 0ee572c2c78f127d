/* store_runs.c - the folder of runs: listing, and finding one by what a person types. */
#include "store/store.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"
#include "base/vec.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

static int64_t modified_ms(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return 0;
  return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

/* A running or killed run's last writes are in its WAL. */
static int64_t run_modified_ms(const char *path) {
  char wal[KF_PATH_MAX + 8];
  snprintf(wal, sizeof wal, "%s-wal", path);
  int64_t own = modified_ms(path), of_wal = modified_ms(wal);
  return own > of_wal ? own : of_wal;
}

static bool entry_set(kf_run_entry *entry, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  size_t len = strlen(name);
  if (len > 3 && strcmp(name + len - 3, ".db") == 0) len -= 3;
  if (len == 0 || len >= sizeof entry->id || strlen(path) >= sizeof entry->path) return false;
  memset(entry, 0, sizeof *entry);
  memcpy(entry->id, name, len);
  memcpy(entry->path, path, strlen(path));
  entry->modified_ms = run_modified_ms(path);
  return true;
}

static int newest_first(const void *a, const void *b) {
  const kf_run_entry *x = a, *y = b;
  if (x->modified_ms != y->modified_ms) return x->modified_ms < y->modified_ms ? 1 : -1;
  return strcmp(y->id, x->id); /* ids carry their start time */
}

kf_status kf_runs_list(const char *dir, kf_run_entry **ret_runs, size_t *ret_count, kf_err *err) {
  KF_VEC(kf_run_entry) runs = {0};
  DIR *folder = opendir(dir);
  if (folder == NULL && errno != ENOENT) return kf_fail(err, KF_EIO, "%s: %s", dir, strerror(errno));
  kf_status status = KF_OK;
  const struct dirent *item;
  while (folder != NULL && status == KF_OK && (item = readdir(folder)) != NULL) {
    size_t len = strlen(item->d_name);
    char path[KF_PATH_MAX];
    if (len <= 3 || item->d_name[0] == '.' || strcmp(item->d_name + len - 3, ".db") != 0) continue;
    if (kf_fs_join(path, dir, item->d_name, NULL) != KF_OK) continue;
    kf_run_entry entry;
    if (entry_set(&entry, path) && kf_vec_push(&runs, entry) != KF_OK) status = kf_nomem(err);
  }
  if (folder != NULL) closedir(folder);
  if (status != KF_OK) {
    kf_vec_done(&runs);
    return status;
  }
  if (runs.count > 1) qsort(runs.items, runs.count, sizeof *runs.items, newest_first);
  *ret_runs = runs.items;
  *ret_count = runs.count;
  return KF_OK;
}

static kf_status not_found(const char *dir, const char *name, const kf_run_entry *runs, size_t count,
                           kf_err *err) {
  kf_fail(err, KF_ENOTFOUND, "run \"%s\": not in %s", name, dir);
  if (count == 0) return kf_err_hint(err, KF_ENOTFOUND, "there are no runs there yet");
  const char **ids = kf_calloc(count + 1, sizeof *ids);
  if (ids == NULL) return kf_nomem(err);
  for (size_t i = 0; i < count; i++)
    ids[i] = runs[i].id;
  const char *nearest = kf_text_nearest(name, ids);
  kf_err_hint(err, KF_ENOTFOUND, nearest != NULL ? "did you mean %s?" : "the newest is %s",
              nearest != NULL ? nearest : runs[0].id);
  kf_free(ids);
  return KF_ENOTFOUND;
}

static kf_status pick(const char *dir, const char *name, const kf_run_entry *runs, size_t count,
                      kf_run_entry *ret_run, kf_err *err) {
  if (strcmp(name, "last") == 0 && count > 0) {
    *ret_run = runs[0];
    return KF_OK;
  }
  const kf_run_entry *found = NULL, *other = NULL;
  for (size_t i = 0; i < count; i++) {
    if (strncmp(runs[i].id, name, strlen(name)) != 0) continue;
    if (strcmp(runs[i].id, name) == 0) {
      *ret_run = runs[i];
      return KF_OK;
    }
    other = found;
    found = &runs[i];
  }
  if (other != NULL) {
    kf_fail(err, KF_EINVAL, "run \"%s\": could be %s or %s", name, other->id, found->id);
    return kf_err_hint(err, KF_EINVAL, "give more letters of the run's name");
  }
  if (found == NULL) return not_found(dir, name, runs, count, err);
  *ret_run = *found;
  return KF_OK;
}

kf_status kf_runs_find(const char *dir, const char *name, kf_run_entry *ret_run, kf_err *err) {
  if (name[0] == '\0') return kf_fail(err, KF_EINVAL, "the name of a run is empty");
  if ((strchr(name, '/') != NULL || strstr(name, ".db") != NULL) && kf_fs_exists(name) &&
      !kf_fs_is_dir(name)) {
    kf_run_entry entry;
    if (!entry_set(&entry, name)) return kf_fail(err, KF_EINVAL, "%s: the name is too long", name);
    *ret_run = entry;
    return KF_OK;
  }
  kf_run_entry *runs = NULL;
  size_t count = 0;
  KF_TRY(kf_runs_list(dir, &runs, &count, err));
  kf_status status = pick(dir, name, runs, count, ret_run, err);
  kf_free(runs);
  return status;
}
