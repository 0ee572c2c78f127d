/* links: kf_base */
/* test_base_fs.c - files are read whole or refused, written atomically, and trees removed without following
 * links. */
#include "base/fs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char dir[KF_PATH_MAX]; /* fresh for each test */

static int make_dir(void **state) {
  (void)state;
  return kf_fs_mkdtemp(dir, "kf-test", NULL) == KF_OK ? 0 : -1;
}

static int drop_dir(void **state) {
  (void)state;
  return kf_fs_remove_tree(dir, NULL) == KF_OK && !kf_fs_exists(dir) ? 0 : -1;
}

/* Path of `name` in the test's folder; valid until the second next call. */
static const char *at(const char *name) {
  static char paths[2][KF_PATH_MAX];
  static int turn;
  turn = 1 - turn;
  assert_int_equal(kf_fs_join(paths[turn], dir, name, NULL), KF_OK);
  return paths[turn];
}

static void test_fs__reads_what_was_written(void **state) {
  (void)state;
  enum { SIZE = 200000 };
  static char bytes[SIZE];
  for (size_t i = 0; i < SIZE; i++)
    bytes[i] = (char)(i * 31 % 251);
  assert_int_equal(kf_fs_write(at("f"), "old", 3, NULL), KF_OK);
  assert_int_equal(kf_fs_write(at("f"), bytes, SIZE, NULL), KF_OK);
  kf_buf buf;
  kf_buf_init(&buf, SIZE + 2);
  kf_buf_puts(&buf, "a:", NULL);
  assert_int_equal(kf_fs_read(at("f"), &buf, NULL), KF_OK);
  assert_int_equal(buf.len, SIZE + 2);
  assert_memory_equal(buf.data, "a:", 2);
  assert_memory_equal(buf.data + 2, bytes, SIZE);
  kf_err err = {0};
  kf_buf_drop(&buf, 1);
  assert_int_equal(kf_fs_read(at("f"), &buf, &err), KF_EINVAL);
  assert_int_equal(buf.len, SIZE + 1); /* content as before */
  assert_non_null(strstr(err.msg, "over the limit of 200002 bytes"));
  kf_buf_done(&buf);
}

static void test_fs__write_leaves_one_file(void **state) {
  (void)state;
  assert_int_equal(kf_fs_write(at("f"), "x", 1, NULL), KF_OK);
  assert_int_equal(unlink(at("f")), 0);
  assert_int_equal(rmdir(dir), 0); /* nothing else was left in it */
  assert_int_equal(mkdir(dir, 0700), 0);
  kf_err err = {0};
  assert_int_equal(kf_fs_mkdirs(at("taken"), NULL), KF_OK);
  assert_int_equal(kf_fs_write(at("taken"), "x", 1, &err), KF_EIO);
  assert_int_equal(rmdir(at("taken")), 0);
  assert_int_equal(kf_fs_write(at("no/f"), "x", 1, &err), KF_ENOTFOUND);
  assert_int_equal(rmdir(dir), 0);
  assert_int_equal(mkdir(dir, 0700), 0);
}

static void test_fs__read_failures_have_their_status(void **state) {
  (void)state;
  kf_buf buf;
  kf_err err = {0};
  kf_buf_init(&buf, 10);
  assert_int_equal(kf_fs_read(at("none"), &buf, &err), KF_ENOTFOUND);
  assert_int_equal(kf_fs_read(dir, &buf, &err), KF_EIO);
  assert_int_equal(kf_fs_write(at("empty"), "", 0, &err), KF_OK);
  assert_int_equal(kf_fs_read(at("empty"), &buf, &err), KF_OK);
  assert_int_equal(buf.len, 0);
  kf_buf_done(&buf);
}

static void test_fs__write_fd_reports_a_closed_pipe(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(kf_fs_write_fd(ends[1], "abc", 3, NULL), KF_OK);
  char got[3];
  assert_int_equal(read(ends[0], got, 3), 3);
  assert_memory_equal(got, "abc", 3);
  close(ends[0]);
  kf_err err = {0};
  assert_int_equal(kf_fs_write_fd(ends[1], "abc", 3, &err), KF_EIO);
  close(ends[1]);
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  assert_true(full >= 0);
  assert_int_equal(kf_fs_write_fd(full, "abc", 3, &err), KF_EIO);
  close(full);
}

static void test_fs__makes_nested_folders(void **state) {
  (void)state;
  assert_int_equal(kf_fs_mkdirs(at("a/b//c/"), NULL), KF_OK);
  assert_true(kf_fs_is_dir(at("a/b/c")));
  assert_int_equal(kf_fs_mkdirs(at("a/b/c"), NULL), KF_OK);
  assert_int_equal(kf_fs_write(at("a/file"), "", 0, NULL), KF_OK);
  assert_true(kf_fs_exists(at("a/file")));
  assert_false(kf_fs_is_dir(at("a/file")));
  kf_err err = {0};
  assert_int_equal(kf_fs_mkdirs(at("a/file"), &err), KF_EIO);
  assert_int_equal(kf_fs_mkdirs(at("a/file/x"), &err), KF_EIO);
  assert_int_equal(kf_fs_mkdirs("", &err), KF_EINVAL);
}

static void test_fs__removal_does_not_follow_links(void **state) {
  (void)state;
  assert_int_equal(kf_fs_mkdirs(at("keep/deep"), NULL), KF_OK);
  assert_int_equal(kf_fs_write(at("keep/file"), "x", 1, NULL), KF_OK);
  assert_int_equal(kf_fs_mkdirs(at("tree/sub"), NULL), KF_OK);
  assert_int_equal(symlink(at("keep"), at("tree/sub/link")), 0);
  assert_int_equal(symlink("/nowhere", at("tree/dangling")), 0);
  assert_int_equal(kf_fs_write(at("tree/sub/.hidden"), "x", 1, NULL), KF_OK);
  assert_int_equal(chmod(at("tree/sub"), 0000), 0);
  assert_int_equal(kf_fs_remove_tree(at("tree"), NULL), KF_OK);
  assert_false(kf_fs_exists(at("tree")));
  assert_true(kf_fs_exists(at("keep/file")));
  assert_int_equal(symlink(at("keep"), at("link")), 0);
  assert_int_equal(kf_fs_remove_tree(at("link"), NULL), KF_OK);
  assert_true(kf_fs_is_dir(at("keep/deep")));
  assert_int_equal(kf_fs_remove_tree(at("none"), NULL), KF_OK);
  assert_int_equal(kf_fs_remove_tree("/", NULL), KF_EBUG);
  assert_int_equal(kf_fs_remove_tree("", NULL), KF_EBUG);
}

/* 3000 levels are more than descriptors allow, and the path is longer than any one call takes. */
static void test_fs__removal_copes_with_depth(void **state) {
  (void)state;
  assert_int_equal(kf_fs_mkdirs(at("deep"), NULL), KF_OK);
  assert_int_equal(kf_fs_mkdirs(at("deep/.kf-moved-0/taken"), NULL), KF_OK);
  int fd = open(at("deep"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < 3000; i++) {
    assert_true(fd >= 0);
    assert_int_equal(mkdirat(fd, "d", 0700), 0);
    int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(fd);
    fd = next;
  }
  close(fd);
  assert_int_equal(kf_fs_remove_tree(at("deep"), NULL), KF_OK);
  assert_false(kf_fs_exists(at("deep")));
}

static void test_fs__join_keeps_the_limit(void **state) {
  (void)state;
  char path[KF_PATH_MAX] = "a";
  assert_int_equal(kf_fs_join(path, path, "b", NULL), KF_OK);
  assert_string_equal(path, "a/b");
  assert_int_equal(kf_fs_join(path, "/", "b", NULL), KF_OK);
  assert_string_equal(path, "/b");
  char name[KF_PATH_MAX];
  memset(name, 'n', sizeof name);
  name[KF_PATH_MAX - 3] = '\0';
  assert_int_equal(kf_fs_join(path, "d", name, NULL), KF_OK);
  assert_int_equal(strlen(path), KF_PATH_MAX - 1);
  assert_int_equal(kf_fs_join(path, "dd", name, NULL), KF_EINVAL);
  assert_int_equal(path[1], '/'); /* untouched */
}

static void test_fs__plain_relative_paths(void **state) {
  (void)state;
  static const char *const good[] = {"a", "a/b.c", "./a", "..a/b..", "...", ".hidden"};
  static const char *const bad[] = {"", "/", "/a", "..", "../a", "a/..", "a/../b", "a//b", "a/", "./../a"};
  for (size_t i = 0; i < KF_COUNTOF(good); i++)
    assert_true(kf_fs_is_plain_relative(good[i]));
  for (size_t i = 0; i < KF_COUNTOF(bad); i++)
    assert_false(kf_fs_is_plain_relative(bad[i]));
}

static void test_fs__temporary_folder_is_private(void **state) {
  (void)state;
  struct stat info;
  assert_int_equal(stat(dir, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  char path[KF_PATH_MAX];
  assert_int_equal(kf_fs_mkdtemp(path, "a/b", NULL), KF_EINVAL);
  const char *old = getenv("TMPDIR");
  char *kept = old != NULL ? strdup(old) : NULL;
  setenv("TMPDIR", "/nowhere", 1);
  kf_err err = {0};
  assert_int_equal(kf_fs_mkdtemp(path, "x", &err), KF_EIO);
  assert_non_null(strstr(err.hint, "TMPDIR"));
  if (kept != NULL)
    setenv("TMPDIR", kept, 1);
  else
    unsetenv("TMPDIR");
  free(kept);
}

static void test_fs__knows_its_own_folder(void **state) {
  (void)state;
  char path[KF_PATH_MAX];
  assert_int_equal(kf_fs_self_dir(path, NULL), KF_OK);
  assert_int_equal(kf_fs_join(path, path, "test_base_fs", NULL), KF_OK);
  assert_true(kf_fs_exists(path));
}

static void test_fs__closed_standard_descriptors_are_filled(void **state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) {
    struct stat before, kept, null_file, in, errors;
    fstat(1, &before);
    stat("/dev/null", &null_file);
    close(0);
    close(2);
    kf_fs_keep_standard_fds();
    bool ok = fstat(0, &in) == 0 && fstat(1, &kept) == 0 && fstat(2, &errors) == 0 &&
              in.st_rdev == null_file.st_rdev && errors.st_rdev == null_file.st_rdev &&
              kept.st_dev == before.st_dev && kept.st_ino == before.st_ino;
    int next = open("/dev/null", O_RDONLY);
    _exit(ok && next > 2 ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, drop_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(test_fs__reads_what_was_written),
      IN_DIR(test_fs__write_leaves_one_file),
      IN_DIR(test_fs__read_failures_have_their_status),
      cmocka_unit_test(test_fs__write_fd_reports_a_closed_pipe),
      IN_DIR(test_fs__makes_nested_folders),
      IN_DIR(test_fs__removal_does_not_follow_links),
      IN_DIR(test_fs__removal_copes_with_depth),
      cmocka_unit_test(test_fs__join_keeps_the_limit),
      cmocka_unit_test(test_fs__plain_relative_paths),
      IN_DIR(test_fs__temporary_folder_is_private),
      cmocka_unit_test(test_fs__knows_its_own_folder),
      cmocka_unit_test(test_fs__closed_standard_descriptors_are_filled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
