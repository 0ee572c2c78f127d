/* links: kf_sandbox */
/* The layers, entered in children that report what still works. Kernel features are asked for first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "sandbox/channel.h"
#include "sandbox/child.h"
#include "sandbox/role.h"
#include "sandbox/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child reports by its exit code: 0, or the number of the first check that failed. */
#define CHECK(number, condition)                                                                             \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "check %d: %s (errno %d)\n", (number), #condition, errno);                             \
      return (number);                                                                                       \
    }                                                                                                        \
  } while (0)

static kf_status enter(kf_sandbox_profile profile, char ret_enforced[KF_SANDBOX_TEXT_MAX]) {
  kf_err err;
  char dir[512];
  kf_sandbox_policy policy = {.profile = profile, .read_only = {"/etc/hostname"}};
  for (int i = 0; kf_sandbox_toolchain_paths()[i]; i++)
    policy.read_exec[i] = kf_sandbox_toolchain_paths()[i];
  policy.read_write[0] = getcwd(dir, sizeof dir);
  kf_status status = kf_sandbox_enter(&policy, ret_enforced, &err);
  if (status != KF_OK) fprintf(stderr, "%s\n", err.msg);
  return status;
}

static bool denied(long rc) {
  return rc == -1 && errno == EPERM;
}

static void *thread_main(void *flag) {
  *(int *)flag = 1;
  return NULL;
}

static int check_common(void) {
  pid_t parent = getppid();
  (void)parent;
  CHECK(10, denied(syscall(SYS_kill, 1, 0)));
  CHECK(11, denied(syscall(SYS_tgkill, 1, 1, 0)));
  CHECK(12, denied(syscall(SYS_ptrace, 0, 0, 0, 0)));
  CHECK(13, denied(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0)));
  CHECK(14, denied(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)));
  CHECK(15, denied(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0)));
  CHECK(16, denied(syscall(SYS_setsid)));
  CHECK(17, denied(syscall(SYS_setpgid, 0, 0)));
  CHECK(18, denied(syscall(SYS_setpriority, PRIO_PROCESS, 0, 0)));
  CHECK(19, denied(syscall(SYS_sched_setscheduler, 0, 0, NULL)));
  CHECK(20, denied(syscall(SYS_sched_setaffinity, 0, 0, NULL)));
  CHECK(21, denied(syscall(SYS_unshare, CLONE_NEWUSER)));
  CHECK(22, denied(syscall(SYS_bpf, 0, NULL, 0)));
  CHECK(23, denied(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0)));
  CHECK(24, denied(syscall(SYS_io_uring_setup, 1, NULL)));
  CHECK(25, denied(syscall(SYS_userfaultfd, 0)));
  CHECK(26, denied(syscall(SYS_keyctl, 0, 0, 0, 0, 0)));
  CHECK(27, denied(syscall(SYS_mount, "a", "b", "c", 0, NULL)));
  CHECK(28, denied(fcntl(0, F_SETOWN, 1)));
  CHECK(29, denied(fcntl(0, F_SETSIG, 9)));
  CHECK(30, denied(prctl(PR_SET_DUMPABLE, 1)));
  CHECK(31, syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS);
  CHECK(32, denied(syscall(SYS_prlimit64, 1, RLIMIT_CORE, NULL, NULL)));
  CHECK(33, prctl(PR_GET_DUMPABLE) == 0);
  CHECK(34, open("/etc/hostname", O_RDONLY) >= 0);
  CHECK(35, open("own", O_RDWR | O_CREAT, 0600) >= 0 && rename("own", "other") == 0 && unlink("other") == 0);
  /* By path and by a descriptor that is open for reading, inside and outside: with or without Landlock. */
  static const char *const files[] = {"inside", "../kf-test-outside"};
  int inside = open("inside", O_RDWR | O_CREAT, 0600);
  CHECK(37, inside >= 0 && write(inside, "text", 4) == 4 && ftruncate(inside, 3) == 0);
  for (size_t i = 0; i < KF_COUNTOF(files); i++) {
    CHECK(38, denied(syscall(SYS_truncate, files[i], 0)) && denied(syscall(SYS_chmod, files[i], 0)) &&
                  denied(syscall(SYS_fchmodat, AT_FDCWD, files[i], 0)) &&
                  denied(syscall(SYS_utimensat, AT_FDCWD, files[i], NULL, 0)) &&
                  denied(syscall(SYS_utime, files[i], NULL)) && denied(syscall(SYS_utimes, files[i], NULL)) &&
                  denied(syscall(SYS_futimesat, AT_FDCWD, files[i], NULL)));
  }
  int read_only = open("inside", O_RDONLY);
  CHECK(39, read_only >= 0 && denied(fchmod(read_only, 0)) && denied(futimens(read_only, NULL)) &&
                unlink("inside") == 0);
  char enforced[KF_SANDBOX_TEXT_MAX];
  CHECK(36, enter(KF_PROFILE_RUNNER, enforced) == KF_EBUG);
  return 0;
}

static int check_files(void) {
  CHECK(40, open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES);
  CHECK(41, open("/root", O_RDONLY) == -1 && errno == EACCES);
  CHECK(42, open("/proc/1/environ", O_RDONLY) == -1);
  CHECK(43, open("/etc/hostname", O_WRONLY) == -1 && errno == EACCES);
  CHECK(44, open("/usr/kf-test-file", O_WRONLY | O_CREAT, 0600) == -1 && errno == EACCES);
  CHECK(45, open("../kf-test-file", O_WRONLY | O_CREAT, 0600) == -1 && errno == EACCES);
  CHECK(46, truncate("/etc/hostname", 1) == -1);
  CHECK(47, symlink("/etc/passwd", "link") == 0 && open("link", O_RDONLY) == -1 && unlink("link") == 0);
  return 0;
}

static int run_profile(kf_sandbox_profile profile) {
  char enforced[KF_SANDBOX_TEXT_MAX], offered[KF_SANDBOX_TEXT_MAX];
  kf_sandbox_probe(offered);
  CHECK(1, enter(profile, enforced) == KF_OK);
  CHECK(2, strstr(enforced, "seccomp") != NULL);
  CHECK(3, (strstr(enforced, "landlock") != NULL) == (strstr(offered, "landlock") != NULL));
  int failed = check_common();
  if (failed == 0 && strstr(enforced, "landlock")) failed = check_files();
  return failed;
}

static int role_runner(int fd) {
  int failed = run_profile(KF_PROFILE_RUNNER), flag = 0;
  pthread_t thread;
  if (failed != 0) return failed;
  CHECK(50, denied(syscall(SYS_fork)));
  CHECK(51, denied(syscall(SYS_vfork)));
  CHECK(52, denied(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
  CHECK(53, denied(syscall(SYS_execve, "/bin/true", NULL, NULL)));
  CHECK(54, denied(syscall(SYS_getppid)));
  CHECK(55, denied(syscall(SYS_memfd_create, "x", 0)));
  CHECK(56, denied(syscall(SYS_sendmsg, fd, NULL, 0)));
  struct rlimit limit;
  CHECK(57,
        getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0 && denied(setrlimit(RLIMIT_CORE, &limit)));
  CHECK(58, pthread_create(&thread, NULL, thread_main, &flag) == 0 && pthread_join(thread, NULL) == 0 &&
                flag == 1);
  return 0;
}

/* Threads from before go on; no call makes another one. */
static int role_fixed(int fd) {
  (void)fd;
  int failed = run_profile(KF_PROFILE_RUNNER_FIXED), flag = 0;
  pthread_t thread;
  if (failed != 0) return failed;
  CHECK(64, pthread_create(&thread, NULL, thread_main, &flag) == EPERM && flag == 0);
  CHECK(65, denied(syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0)));
  CHECK(66, denied(syscall(SYS_fork)) && denied(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
  struct rlimit limit;
  CHECK(67, getrlimit(RLIMIT_CORE, &limit) == 0);
  return 0;
}

static int role_builder(int fd) {
  (void)fd;
  int failed = run_profile(KF_PROFILE_BUILDER), status = 0;
  if (failed != 0) return failed;
  pid_t pid = fork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    _exit(1);
  }
  CHECK(60, pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  pid = fork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", "kill -9 $PPID; read line < /etc/passwd || exit 8; exit 9", (char *)NULL);
    _exit(1);
  }
  CHECK(61, pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 9);
  CHECK(62, denied(syscall(SYS_clone, SIGCHLD | CLONE_NEWNS, 0, 0, 0, 0)));
  CHECK(63, denied(syscall(SYS_clone, SIGCHLD | CLONE_PARENT, 0, 0, 0, 0)));
  return 0;
}

static void *wait_for_flag(void *flag) {
  while (__atomic_load_n((int *)flag, __ATOMIC_SEQ_CST) == 0)
    usleep(1000);
  /* This thread was there before the filter. */
  return (void *)(intptr_t)(denied(syscall(SYS_fork)) && open("/etc/passwd", O_RDONLY) == -1 ? 1 : 2);
}

/* The file layer first, then a thread, then the rest: both bind the thread. */
static int role_early(int fd) {
  (void)fd;
  kf_err err;
  char enforced[KF_SANDBOX_TEXT_MAX], dir[512];
  int flag = 0;
  pthread_t thread;
  void *answer = NULL;
  kf_sandbox_policy policy = {.profile = KF_PROFILE_RUNNER, .read_write = {getcwd(dir, sizeof dir)}};
  CHECK(70, kf_sandbox_enter_files(&policy, &err) == KF_OK);
  CHECK(71, kf_sandbox_enter_files(&policy, &err) == KF_EBUG);
  CHECK(72, pthread_create(&thread, NULL, wait_for_flag, &flag) == 0);
  CHECK(73, kf_sandbox_enter(&policy, enforced, &err) == KF_OK);
  __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
  CHECK(74, pthread_join(thread, &answer) == 0);
  char offered[KF_SANDBOX_TEXT_MAX];
  kf_sandbox_probe(offered);
  CHECK(75, strstr(offered, "landlock") == NULL || (intptr_t)answer == 1);
  return 0;
}

/* Threads that Landlock would miss are a mistake of the caller. */
static int role_late(int fd) {
  (void)fd;
  kf_err err;
  char enforced[KF_SANDBOX_TEXT_MAX];
  int flag = 0;
  pthread_t thread;
  kf_sandbox_policy policy = {.profile = KF_PROFILE_RUNNER};
  CHECK(80, pthread_create(&thread, NULL, wait_for_flag, &flag) == 0);
  CHECK(81, kf_sandbox_enter(&policy, enforced, &err) == KF_EBUG);
  return 0;
}

static const kf_role_entry roles[] = {{"runner", role_runner},   {"fixed", role_fixed},
                                      {"builder", role_builder}, {"early", role_early},
                                      {"late", role_late},       {NULL, NULL}};

static void run_role(const char *role) {
  const char *argv[] = {"kf-eval", "--role", role, NULL};
  char dir[KF_PATH_MAX];
  int fds[2];
  kf_err err;
  kf_exit end;
  kf_buf text;
  kf_child *child = NULL;
  char top[KF_PATH_MAX], outside[KF_PATH_MAX];
  struct stat info;
  assert_int_equal(kf_fs_mkdtemp(top, "kf-test", &err), KF_OK);
  assert_int_equal(kf_fs_join(dir, top, "work", &err), KF_OK);
  assert_int_equal(kf_fs_mkdirs(dir, &err), KF_OK);
  assert_int_equal(kf_fs_join(outside, top, "kf-test-outside", &err), KF_OK);
  assert_int_equal(kf_fs_write(outside, "text", 4, &err), KF_OK);
  assert_int_equal(chmod(outside, 0640), 0);
  assert_int_equal(kf_channel_pair(SOCK_STREAM, fds, &err), KF_OK);
  kf_child_options options = {.argv = argv, .work_dir = dir, .fds = {fds[1]}, .nfds = 1};
  assert_int_equal(kf_child_spawn(&options, &child, &err), KF_OK);
  assert_int_equal(kf_child_wait(child, kf_now_ns() + 30000000000, &end, &err), KF_OK);
  kf_buf_init(&text, KF_CHILD_OUTPUT_MAX);
  assert_int_equal(kf_child_output(child, &text, &err), KF_OK);
  if (end.kind != KF_EXIT_CODE || end.code != 0)
    fail_msg("%s: kind %d code %d: %s", role, end.kind, end.code, kf_buf_text(&text));
  kf_buf_done(&text);
  kf_child_free(child);
  close(fds[0]);
  close(fds[1]);
  assert_int_equal(stat(outside, &info), 0);
  assert_int_equal(info.st_size, 4);
  assert_int_equal(info.st_mode & 07777, 0640);
  assert_int_equal(kf_fs_remove_tree(top, &err), KF_OK);
}

static void test_sandbox_filter__runner_profile(void **state) {
  (void)state;
  run_role("runner");
}

static void test_sandbox_filter__fixed_threads(void **state) {
  (void)state;
  run_role("fixed");
}

static void test_sandbox_filter__builder_profile(void **state) {
  (void)state;
  run_role("builder");
}

static void test_sandbox_filter__binds_threads_made_between(void **state) {
  (void)state;
  run_role("early");
}

static void test_sandbox_filter__refuses_to_miss_threads(void **state) {
  (void)state;
  run_role("late");
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sandbox_filter__runner_profile),
      cmocka_unit_test(test_sandbox_filter__fixed_threads),
      cmocka_unit_test(test_sandbox_filter__builder_profile),
      cmocka_unit_test(test_sandbox_filter__binds_threads_made_between),
      cmocka_unit_test(test_sandbox_filter__refuses_to_miss_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
