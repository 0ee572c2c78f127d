/* spares.c - the pool of waiting processes; see spares.h. */
#include "eval/spares.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
  NS_PER_MS = 1000 * 1000,
  OPEN_LIMIT_MS = 10000, /* a runner that has not opened its device by then is given up */
  RETRY_MS = 2000,       /* after a failure */
};

kf_status kf_work_usable(const kf_work_root *work, kf_err *err) {
  enum { ROOM_MIN_BYTES = 4 << 20 };
  struct statvfs fs;
  kf_status status = KF_OK;
  if (statvfs(work->root, &fs) != 0) return kf_fail(err, KF_EIO, "%s: %s", work->root, strerror(errno));
  if (access(work->root, W_OK) != 0)
    status = kf_fail(err, KF_EIO, "%s: %s", work->root, strerror(errno));
  else if ((uint64_t)fs.f_bavail * fs.f_frsize < ROOM_MIN_BYTES || (fs.f_files > 0 && fs.f_favail == 0))
    status = kf_fail(err, KF_EIO, "%s: no space left on the device", work->root);
  return status == KF_OK ? KF_OK
                         : kf_err_hint(err, status, "make room there, or set TMPDIR to another folder");
}

kf_status kf_work_dir(kf_work_root *work, const char *what, char ret_path[KF_PATH_MAX], kf_err *err) {
  char name[64];
  snprintf(name, sizeof name, "%s-%u", what, work->next++);
  KF_TRY(kf_fs_join(ret_path, work->root, name, err));
  return kf_fs_mkdirs(ret_path, err);
}

static void later(kf_spares *spares) {
  spares->not_before_ns = kf_now_ns() + (int64_t)RETRY_MS * NS_PER_MS;
}

/* Without its process: what is left is the caller's. */
static kf_spare_runner take_out(kf_spares *spares, int index) {
  kf_spare_runner spare = spares->runners[index];
  spares->count--;
  memmove(&spares->runners[index], &spares->runners[index + 1],
          (size_t)(spares->count - index) * sizeof spares->runners[0]);
  return spare;
}

static void drop_runner(kf_spares *spares, int index) {
  kf_spare_runner spare = take_out(spares, index);
  kf_runner_free(spare.runner);
  kf_fs_remove_tree(spare.dir, NULL);
}

static void drop_builder(kf_spares *spares) {
  kf_build_free(spares->builder);
  spares->builder = NULL;
  if (spares->builder_dir[0]) kf_fs_remove_tree(spares->builder_dir, NULL);
  spares->builder_dir[0] = '\0';
}

void kf_spares_drop(kf_spares *spares) {
  spares->busy = true;
  while (spares->count)
    drop_runner(spares, spares->count - 1);
  drop_builder(spares);
  spares->busy = false;
}

void kf_spares_keep(kf_spares *spares, const kf_device_info *device) {
  if (spares->device && spares->device != device) kf_spares_drop(spares);
  spares->device = device;
}

static int64_t memory_bytes(const kf_spares *spares) {
  return spares->settings->sandbox_memory_mib << 20;
}

static kf_status start_runner(const kf_spares *spares, const kf_device_info *device, const char *what,
                              kf_runner **ret_runner, char ret_dir[KF_PATH_MAX], kf_err *err) {
  KF_TRY(kf_work_dir(spares->work, what, ret_dir, err));
  kf_runner_options options = {.device_id = device->id,
                               .work_dir = ret_dir,
                               .memory_bytes = memory_bytes(spares),
                               .call_timeout_ms = spares->settings->verify_call_timeout_ms};
  return kf_runner_start(&options, ret_runner, err);
}

/* True while it is alive and in time. */
static bool is_well(kf_spare_runner *spare) {
  if (kf_runner_look(spare->runner, &spare->open, NULL) != KF_OK) return false;
  return spare->open || kf_now_ns() - spare->made_ns < (int64_t)OPEN_LIMIT_MS * NS_PER_MS;
}

/* *ret_opening: one is on its way. */
static void look_at_runners(kf_spares *spares, bool *ret_opening) {
  *ret_opening = false;
  for (int i = spares->count - 1; i >= 0; i--) {
    if (!is_well(&spares->runners[i])) {
      drop_runner(spares, i);
      later(spares);
    } else if (!spares->runners[i].open) {
      *ret_opening = true;
    }
  }
}

static void make_runner(kf_spares *spares) {
  kf_spare_runner *spare = &spares->runners[spares->count];
  memset(spare, 0, sizeof *spare);
  spare->made_ns = kf_now_ns();
  kf_status status = start_runner(spares, spares->device, "spare", &spare->runner, spare->dir, NULL);
  if (status == KF_OK) {
    spares->count++;
    return;
  }
  if (spare->dir[0]) kf_fs_remove_tree(spare->dir, NULL);
  later(spares);
}

static void make_builder(kf_spares *spares) {
  kf_status status = kf_work_dir(spares->work, "builder", spares->builder_dir, NULL);
  kf_build_request request = {
      .device_id = spares->device->id, .work_dir = spares->builder_dir, .memory_bytes = memory_bytes(spares)};
  if (status == KF_OK) status = kf_build_spare(&request, &spares->builder, NULL);
  if (status == KF_OK) return;
  drop_builder(spares);
  later(spares);
}

static void look_at_builder(kf_spares *spares) {
  bool usable = false, ready = false;
  if (!spares->builder) return;
  if (kf_build_spare_look(spares->builder, &usable, &ready, NULL) == KF_OK && usable) return;
  drop_builder(spares);
  later(spares);
}

void kf_spares_pump(kf_spares *spares, bool want_builder) {
  bool opening = false;
  if (!spares->device || spares->paused || spares->busy) return;
  spares->busy = true;
  look_at_runners(spares, &opening);
  look_at_builder(spares);
  /* One at a time: they share the cores with what is being judged. */
  bool may_make = kf_now_ns() >= spares->not_before_ns;
  if (may_make && !spares->builder && want_builder)
    make_builder(spares);
  else if (may_make && spares->count < KF_SPARES_MAX && !opening)
    make_runner(spares);
  spares->busy = false;
}

bool kf_spares_settled(const kf_spares *spares) {
  if (!spares->device) return true;
  for (int i = 0; i < spares->count; i++)
    if (!spares->runners[i].open) return false;
  return spares->count == KF_SPARES_MAX && spares->builder;
}

/* Takes an open one out; those that are not well are dropped on the way. */
static bool take_open(kf_spares *spares, kf_spare_runner *ret_spare) {
  for (int i = spares->count - 1; i >= 0; i--) {
    if (!is_well(&spares->runners[i])) {
      drop_runner(spares, i);
    } else if (spares->runners[i].open) {
      *ret_spare = take_out(spares, i);
      return true;
    }
  }
  return false;
}

kf_status kf_spares_runner(kf_spares *spares, const kf_device_info *device, const char *what,
                           kf_runner **ret_runner, char ret_dir[KF_PATH_MAX], kf_err *err) {
  kf_spare_runner spare = {.runner = NULL};
  spares->busy = true;
  bool taken = spares->device == device && take_open(spares, &spare);
  spares->busy = false;
  if (!taken) return start_runner(spares, device, what, ret_runner, ret_dir, err);
  *ret_runner = spare.runner;
  snprintf(ret_dir, KF_PATH_MAX, "%s", spare.dir);
  return KF_OK;
}

kf_build *kf_spares_builder(kf_spares *spares, const kf_device_info *device, char ret_dir[KF_PATH_MAX]) {
  kf_build *builder = spares->device == device && !spares->busy ? spares->builder : NULL;
  if (!builder) return NULL;
  snprintf(ret_dir, KF_PATH_MAX, "%s", spares->builder_dir);
  spares->builder = NULL;
  spares->builder_dir[0] = '\0';
  return builder;
}

void kf_spares_pause(kf_spares *spares) {
  spares->paused = true;
  for (int i = 0; i < spares->count; i++)
    if (!spares->runners[i].open) kf_runner_pause(spares->runners[i].runner, NULL);
  if (spares->builder) kf_build_pause(spares->builder, NULL);
}

void kf_spares_resume(kf_spares *spares) {
  spares->paused = false;
  for (int i = 0; i < spares->count; i++)
    if (!spares->runners[i].open) kf_runner_resume(spares->runners[i].runner, NULL);
  if (spares->builder) kf_build_resume(spares->builder, NULL);
}
