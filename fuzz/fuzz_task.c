/* links: kf_base kf_task */
/* fuzz_task.c - any bytes as task.yaml of a real folder. What loads must come back from its canonical JSON
 * with the same id. */
#include "base/alloc.h"
#include "base/fs.h"
#include "task/task.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[KF_PATH_MAX];
static int folder_fd = -1;

static void remove_folder(void) {
  close(folder_fd);
  kf_fs_remove_tree(folder, NULL);
}

/* Without the fsync of kf_fs_write, for speed. */
static void put(const char *name, const void *bytes, size_t len) {
  int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || close(fd) != 0) abort();
}

static void make_folder(void) {
  kf_alloc_init();
  if (kf_fs_mkdtemp(folder, "kf-fuzz-task", NULL) != KF_OK) abort();
  folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0 || atexit(remove_folder) != 0) abort();
  put("kernel.cl", "kernel void f() {}\n", 19);
  put("reference.c", "void ref(void) {}\n", 18);
}

static bool find_blob(void *context, const kf_hash *hash, const char **ret_bytes, size_t *ret_len) {
  const kf_task *task = context;
  for (int i = 0; i < task->nfiles; i++) {
    if (!kf_hash_equal(&task->files[i].hash, hash)) continue;
    *ret_bytes = task->files[i].bytes;
    *ret_len = task->files[i].len;
    return true;
  }
  return false;
}

static void check_round_trip(kf_task *task) {
  json_t *json = NULL;
  kf_task *copy = NULL;
  kf_err err = {0};
  if (kf_task_to_json(task, &json, &err) != KF_OK) abort();
  if (kf_task_from_json(json, find_blob, task, &copy, &err) != KF_OK) abort();
  if (!kf_hash_equal(&task->id, &copy->id)) abort();
  kf_task_free(copy);
  json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kf_task *task = NULL;
  kf_err err = {0};
  if (folder_fd < 0) make_folder();
  put("task.yaml", data, size);
  if (kf_task_load(folder, &task, &err) == KF_OK)
    check_round_trip(task);
  else if (err.msg[0] == '\0')
    abort();
  kf_task_free(task);
  return 0;
}
