/* links: kf_device */
/* The list of devices and the lock of a physical one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "device/device.h"
#include "sandbox/role.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static kf_err err;
#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != KF_OK) fail_msg("%s: %s", #call, err.msg);                                                 \
  } while (0)

static const kf_role_entry roles[] = {{"devices", kf_devices_main}, {NULL, NULL}};
static kf_device_info devices[KF_DEVICES_MAX];

static void list(int *ret_count, kf_buf *note) {
  kf_buf_init(note, 8192);
  OK(kf_device_list(devices, ret_count, note, &err));
}

static int count_api(int count, const char *api) {
  int found = 0;
  for (int i = 0; i < count; i++)
    found += strcmp(devices[i].api, api) == 0;
  return found;
}

static void test_device_list__finds_the_cpu(void **state) {
  (void)state;
  int count = 0, cpus = 0;
  kf_buf note;
  list(&count, &note);
  if (count == 0) fail_msg("no device: %s", kf_buf_text(&note));
  for (int i = 0; i < count; i++) {
    const kf_device_info *device = &devices[i];
    if (kf_device_is_host(device->id)) continue;
    assert_int_equal(strncmp(device->id, "opencl:", 7), 0);
    assert_true(device->name[0] && device->driver[0] && device->platform[0] && device->extensions_note[0]);
    assert_true(device->limits.units > 0 && device->limits.max_group > 0 && device->limits.max_local[0] > 0);
    assert_true(device->memory_bytes > 0 && device->base_align > 0);
    cpus += device->limits.is_cpu && strcmp(device->physical, "cpu") == 0;
  }
  assert_true(cpus > 0);
  kf_buf_done(&note);
}

static void test_device_list__c_on_the_cpu(void **state) {
  (void)state;
  int count = 0;
  kf_buf note;
  list(&count, &note);
  assert_int_equal(count_api(count, "c"), 1);
  const kf_device_info *host = &devices[count - 1]; /* behind all others */
  assert_string_equal(host->id, "cpu:0");
  assert_string_equal(host->physical, "cpu"); /* one lock with OpenCL's CPU */
  assert_int_equal(kf_device_language(host), KF_LANG_C);
  assert_true(kf_device_is_judged_on(host) && host->limits.units > 0 && host->limits.simd_width >= 4);
  assert_non_null(strstr(host->driver, "-std=gnu17 -O3 -march=native -fopenmp"));
  assert_true(host->base_align == 256 && host->memory_bytes > 0 && host->name[0]);
  kf_buf_done(&note);
}

static void test_device_list__no_compiler_is_a_note(void **state) {
  (void)state;
  int count = 0;
  kf_buf note;
  setenv("KF_CC", "/nonexistent/cc", 1);
  list(&count, &note);
  unsetenv("KF_CC");
  assert_int_equal(count_api(count, "c"), 0);
  assert_non_null(strstr(kf_buf_text(&note), "cpu: no C compiler: /nonexistent/cc is not there"));
  kf_buf_done(&note);
}

static void test_device_list__missing_library_is_a_note(void **state) {
  (void)state;
  int count = 7;
  kf_buf note;
  setenv("KF_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so.1", 1);
  list(&count, &note);
  unsetenv("KF_OPENCL_LIBRARY");
  assert_int_equal(count_api(count, "opencl"), 0);
  assert_non_null(strstr(kf_buf_text(&note), "/nonexistent/libOpenCL.so.1"));
  assert_non_null(strstr(kf_buf_text(&note), "pocl-opencl-icd"));
  assert_non_null(strstr(kf_buf_text(&note), "ocl-icd-libopencl1"));
  kf_buf_done(&note);
}

static void test_device_list__no_driver_is_a_note(void **state) {
  (void)state;
  int count = 7;
  char dir[KF_PATH_MAX];
  kf_buf note;
  OK(kf_fs_mkdtemp(dir, "kf-test", &err));
  setenv("OCL_ICD_VENDORS", dir, 1);
  list(&count, &note);
  unsetenv("OCL_ICD_VENDORS");
  assert_int_equal(count_api(count, "opencl"), 0);
  assert_non_null(strstr(kf_buf_text(&note), "pocl-opencl-icd"));
  kf_buf_done(&note);
  OK(kf_fs_remove_tree(dir, &err));
}

static void test_device_json__goes_there_and_back(void **state) {
  (void)state;
  kf_device_info device = {.id = "opencl:3",
                           .api = "opencl",
                           .platform = "P",
                           .name = "N \"quoted\"",
                           .driver = "3.1",
                           .physical = "gpu-0123",
                           .limits = {8, 65536, 1024, {1024, 512, 64}, 4, 0},
                           .base_align = 128,
                           .llc_bytes = 1 << 20,
                           .memory_bytes = (int64_t)1 << 40,
                           .extensions_note = "fp64 fp16"},
                 back = {.id = ""};
  json_t *json = NULL;
  OK(kf_device_to_json(&device, &json, &err));
  OK(kf_device_from_json(json, &back, &err));
  assert_memory_equal(&device, &back, sizeof device);
  json_object_set_new(json, "id", json_string("a far too long identifier for a device, over 32 bytes"));
  assert_int_equal(kf_device_from_json(json, &back, &err), KF_EPROTO);
  json_object_del(json, "id");
  assert_int_equal(kf_device_from_json(json, &back, &err), KF_EPROTO);
  json_decref(json);
}

/* ---- lock ---- */

static char lock_dir[KF_PATH_MAX];

static int make_lock_dir(void **state) {
  (void)state;
  char base[KF_PATH_MAX];
  if (kf_fs_mkdtemp(base, "kf-test", &err) != KF_OK || kf_fs_join(lock_dir, base, "locks", &err) != KF_OK)
    return 1;
  return setenv("KF_LOCK_DIR", lock_dir, 1);
}

static int drop_lock_dir(void **state) {
  (void)state;
  *strrchr(lock_dir, '/') = '\0';
  return kf_fs_remove_tree(lock_dir, &err) == KF_OK ? 0 : 1;
}

/* Another process that holds the lock until its pipe is closed. */
static pid_t start_holder(const char *physical, int *ret_pipe) {
  int ready[2], hold[2];
  char byte;
  assert_int_equal(pipe(ready), 0);
  assert_int_equal(pipe(hold), 0);
  pid_t pid = fork();
  if (pid == 0) {
    kf_device_lock *lock = NULL;
    close(hold[1]);
    if (kf_device_lock_take(physical, 1000, &lock, NULL) != KF_OK) _exit(1);
    if (write(ready[1], "r", 1) != 1) _exit(2);
    while (read(hold[0], &byte, 1) > 0) {
    }
    _exit(0);
  }
  close(ready[1]);
  close(hold[0]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  *ret_pipe = hold[1];
  return pid;
}

static void test_device_lock__one_process_at_a_time(void **state) {
  (void)state;
  int hold = -1;
  char pid_text[32];
  kf_device_lock *lock = NULL, *gpu = NULL;
  pid_t holder = start_holder("cpu", &hold);
  int64_t start = kf_now_ms();
  assert_int_equal(kf_device_lock_take("cpu", 100, &lock, &err), KF_ETIMEOUT);
  assert_true(kf_now_ms() - start >= 100);
  snprintf(pid_text, sizeof pid_text, "process %d ", (int)holder);
  assert_non_null(strstr(err.msg, pid_text));
  OK(kf_device_lock_take("gpu-0000:01:00.0", 100, &gpu, &err)); /* another device is free */
  kf_device_lock_free(gpu);
  kill(holder, SIGKILL); /* a dead holder holds nothing */
  assert_int_equal(waitpid(holder, NULL, 0), holder);
  OK(kf_device_lock_take("cpu", 5000, &lock, &err));
  kf_device_lock_free(lock);
  kf_device_lock_free(NULL);
  close(hold);
}

static void test_device_lock__folder_is_shared(void **state) {
  (void)state;
  struct stat info;
  char path[KF_PATH_MAX];
  kf_device_lock *lock = NULL;
  mode_t before = umask(077);
  OK(kf_device_lock_take("shared", 100, &lock, &err));
  umask(before);
  assert_int_equal(stat(lock_dir, &info), 0);
  assert_int_equal(info.st_mode & 07777, 01777);
  OK(kf_fs_join(path, lock_dir, "shared.lock", &err));
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0666);
  kf_device_lock_free(lock);
}

static void test_device_lock__follows_no_links(void **state) {
  (void)state;
  char path[KF_PATH_MAX], target[KF_PATH_MAX];
  kf_buf text;
  kf_device_lock *lock = NULL;
  OK(kf_device_lock_take("cpu", 100, &lock, &err)); /* makes the folder */
  kf_device_lock_free(lock);
  OK(kf_fs_join(target, lock_dir, "precious", &err));
  OK(kf_fs_write(target, "keep me", 7, &err));
  OK(kf_fs_join(path, lock_dir, "evil.lock", &err));
  assert_int_equal(symlink(target, path), 0);
  assert_int_equal(kf_device_lock_take("evil", 100, &lock, &err), KF_EIO);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(link(target, path), 0);
  assert_int_equal(kf_device_lock_take("evil", 100, &lock, &err), KF_EIO);
  kf_buf_init(&text, 100);
  OK(kf_fs_read(target, &text, &err));
  assert_string_equal(kf_buf_text(&text), "keep me");
  kf_buf_done(&text);
}

static void test_device_lock__notices_a_removed_file(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  int hold = -1;
  kf_device_lock *lock = NULL;
  pid_t holder = start_holder("gone", &hold);
  OK(kf_fs_join(path, lock_dir, "gone.lock", &err));
  assert_int_equal(unlink(path), 0);
  OK(kf_device_lock_take("gone", 100, &lock, &err)); /* a new file: the old holder's is nobody's any more */
  kf_device_lock *second = NULL;
  assert_int_equal(kf_device_lock_take("gone", 50, &second, &err), KF_ETIMEOUT);
  kf_device_lock_free(lock);
  close(hold);
  assert_int_equal(waitpid(holder, NULL, 0), holder);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_device_list__finds_the_cpu),
      cmocka_unit_test(test_device_list__c_on_the_cpu),
      cmocka_unit_test(test_device_list__no_compiler_is_a_note),
      cmocka_unit_test(test_device_list__missing_library_is_a_note),
      cmocka_unit_test(test_device_list__no_driver_is_a_note),
      cmocka_unit_test(test_device_json__goes_there_and_back),
      cmocka_unit_test(test_device_lock__one_process_at_a_time),
      cmocka_unit_test(test_device_lock__folder_is_shared),
      cmocka_unit_test(test_device_lock__follows_no_links),
      cmocka_unit_test(test_device_lock__notices_a_removed_file),
  };
  return cmocka_run_group_tests(tests, make_lock_dir, drop_lock_dir);
}
