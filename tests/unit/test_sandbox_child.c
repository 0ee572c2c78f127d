/* links: kf_sandbox */
/* Children: what they inherit, how they end, and that nothing survives a kill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/channel.h"
#include "sandbox/child.h"
#include "sandbox/role.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- roles ---- */

static int role_exit3(int fd) {
  (void)fd;
  return 3;
}

static int role_sleep(int fd) {
  (void)fd;
  for (;;)
    pause();
  return 0;
}

static int role_spin(int fd) {
  (void)fd;
  for (volatile int go = 1; go;) {
  }
  return 0;
}

static int role_segv(int fd) {
  (void)fd;
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
  return 0;
}

static int role_flood(int fd) {
  (void)fd;
  int failed = 0;
  for (int i = 0; i < 20000; i++)
    failed += write(1, "0123456789\n", 11) < 0;
  return failed > 0 ? 0 : 1;
}

/* Tells what it has inherited: descriptors, environment, folder, scheduling, group. */
static int role_inherit(int fd) {
  extern char **environ;
  char text[512], dir[256];
  int fds = 0, variables = 0;
  DIR *list = opendir("/proc/self/fd");
  if (!list) return 1;
  for (struct dirent *entry = readdir(list); entry; entry = readdir(list))
    fds += entry->d_name[0] != '.';
  closedir(list);
  while (environ[variables])
    variables++;
  struct rlimit files, core;
  getrlimit(RLIMIT_FSIZE, &files);
  getrlimit(RLIMIT_CORE, &core);
  int len =
      snprintf(text, sizeof text, "fds %d env %d %s dir %s idle %d leader %d fsize %ld core %d", fds - 1,
               variables, environ[0], getcwd(dir, sizeof dir), sched_getscheduler(0) == SCHED_IDLE,
               getpgrp() == getpid(), (long)files.rlim_cur, core.rlim_max == 0);
  return write(fd, text, (size_t)len) == len ? 0 : 1;
}

/* Starts a grandchild in the group, one that leaves it, and an orphan that has left it; says so and sleeps.
 */
static int role_family(int fd) {
  if (fork() == 0) return role_sleep(fd);
  if (fork() == 0) {
    setsid();
    return role_sleep(fd);
  }
  if (fork() == 0) {
    setsid();
    if (fork() == 0) return role_sleep(fd);
    return 0;
  }
  kf_sleep_ms(100);
  if (write(fd, "up", 2) != 2) return 1;
  return role_sleep(fd);
}

/* NOLINTBEGIN(clang-analyzer-*): a parent that hangs in vfork is what the test is about. */
static __attribute__((noinline)) pid_t vfork_sleeper(void) {
  pid_t pid = vfork();
  if (pid == 0) {
    usleep(20000);
    _exit(0);
  }
  return pid;
}
/* NOLINTEND(clang-analyzer-*) */

/* Sits in vfork most of the time. */
static int role_vforks(int fd) {
  (void)fd;
  for (int i = 0; i < 30; i++) {
    pid_t pid = vfork_sleeper();
    if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 1;
  }
  return 0;
}

/* Leaves members of its group behind. */
static int role_leaves(int fd) {
  for (int i = 0; i < 5; i++)
    if (fork() == 0) return role_sleep(fd);
  return 0;
}

static int role_eat(int fd) {
  (void)fd;
  for (;;) {
    void *part =
        mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (part == MAP_FAILED) return 9;
    kf_sleep_ms(2);
  }
}

/* More processes than are allowed, as orphans: their parent is gone, they are no descendants any more. */
static int role_swarm(int fd) {
  (void)fd;
  for (int i = 0; i < KF_CHILD_PROCESSES_MAX + 10; i++)
    if (fork() == 0) {
      if (fork() == 0) return role_sleep(fd);
      return 0;
    } else {
      wait(NULL);
    }
  return role_sleep(fd);
}

static const kf_role_entry roles[] = {
    {"exit3", role_exit3}, {"sleep", role_sleep},     {"spin", role_spin},     {"segv", role_segv},
    {"flood", role_flood}, {"inherit", role_inherit}, {"family", role_family}, {"leaves", role_leaves},
    {"eat", role_eat},     {"vforks", role_vforks},   {"swarm", role_swarm},   {NULL, NULL}};

/* ---- helpers ---- */

static kf_err err;
#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != KF_OK) fail_msg("%s: %s", #call, err.msg);                                                 \
  } while (0)

static kf_child *start_with(kf_child_options options, const char *role, int *ret_fd) {
  const char *argv[] = {"kf-eval", "--role", role, NULL};
  int fds[2];
  kf_child *child = NULL;
  OK(kf_channel_pair(SOCK_STREAM, fds, &err));
  options.argv = argv;
  options.fds[0] = fds[1];
  options.nfds = 1;
  OK(kf_child_spawn(&options, &child, &err));
  close(fds[1]);
  if (ret_fd)
    *ret_fd = fds[0];
  else
    close(fds[0]);
  return child;
}

static kf_child *start(const char *role) {
  return start_with((kf_child_options){.argv = NULL}, role, NULL);
}

static kf_exit wait_for(kf_child *child, int64_t ms) {
  kf_exit end;
  OK(kf_child_wait(child, kf_now_ns() + ms * 1000000, &end, &err));
  return end;
}

static void assert_no_process_left(void) {
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

/* ---- tests ---- */

static void test_sandbox_child__exit_code(void **state) {
  (void)state;
  char text[80];
  kf_child *child = start("exit3");
  kf_exit end = wait_for(child, 10000);
  assert_int_equal(end.kind, KF_EXIT_CODE);
  assert_int_equal(end.code, 3);
  assert_false(end.killed_by_us);
  kf_exit_text(&end, text, sizeof text);
  assert_string_equal(text, "exited with code 3");
  kf_child_free(child);
}

static void test_sandbox_child__signal_is_named(void **state) {
  (void)state;
  char text[80];
  kf_child *child = start("segv");
  kf_exit end = wait_for(child, 10000);
  assert_int_equal(end.kind, KF_EXIT_SIGNAL);
  kf_exit_text(&end, text, sizeof text);
  assert_string_equal(text, "killed by signal 11 (segmentation fault)");
  kf_child_free(child);
}

static void test_sandbox_child__missing_program(void **state) {
  (void)state;
  const char *argv[] = {"nothing", NULL};
  kf_child_options options = {.executable = "/nonexistent/program", .argv = argv};
  kf_child *child = NULL;
  assert_int_equal(kf_child_spawn(&options, &child, &err), KF_ENOTFOUND);
  assert_non_null(strstr(err.msg, "/nonexistent/program"));
  assert_no_process_left();
}

static void test_sandbox_child__unknown_role(void **state) {
  (void)state;
  kf_child *child = start("no-such-role");
  kf_exit end = wait_for(child, 10000);
  assert_int_equal(end.code, 2);
  kf_child_free(child);
}

static void test_sandbox_child__inherits_only_what_is_listed(void **state) {
  (void)state;
  const char *env[] = {"KF_A=b", NULL};
  char text[512] = "";
  int fd = -1, extra = open("/dev/null", O_RDONLY); /* not close-on-exec */
  kf_child *child = start_with(
      (kf_child_options){.env = env, .work_dir = "/usr", .idle_priority = true, .file_bytes = 12345},
      "inherit", &fd);
  assert_true(read(fd, text, sizeof text - 1) > 0);
  /* 0, 1, 2, the socket */
  assert_string_equal(text, "fds 4 env 1 KF_A=b dir /usr idle 1 leader 1 fsize 12345 core 1");
  close(fd);
  close(extra);
  kf_child_free(child);
}

static void test_sandbox_child__output_is_capped(void **state) {
  (void)state;
  kf_buf text;
  kf_buf_init(&text, KF_CHILD_OUTPUT_MAX);
  kf_child *child = start("flood");
  kf_exit end = wait_for(child, 10000);
  assert_int_equal(end.kind, KF_EXIT_CODE);
  assert_int_equal(end.code, 0);
  OK(kf_child_output(child, &text, &err));
  assert_int_equal(text.len, KF_CHILD_OUTPUT_MAX);
  assert_memory_equal(text.data, "0123456789\n0123456789\n", 22);
  kf_buf_done(&text);
  kf_child_free(child);
}

static int64_t cpu_ticks(pid_t pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY);
  ssize_t len = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) close(fd);
  if (len <= 0) return -1;
  text[len] = '\0';
  unsigned long user = 0;
  sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &user);
  return (int64_t)user;
}

static void test_sandbox_child__stop_holds_and_continue_goes_on(void **state) {
  (void)state;
  kf_child *child = start("spin");
  for (int round = 0; round < 3; round++) {
    OK(kf_child_stop(child, &err));
    int64_t before = cpu_ticks(kf_child_pid(child));
    kf_sleep_ms(60);
    assert_int_equal(cpu_ticks(kf_child_pid(child)), before);
    OK(kf_child_continue(child, &err));
    int64_t until = kf_now_ms() + 10000;
    while (cpu_ticks(kf_child_pid(child)) <= before && kf_now_ms() < until)
      kf_sleep_ms(10);
    assert_true(cpu_ticks(kf_child_pid(child)) > before);
  }
  assert_true(kf_child_starved_ns(child) >= 0);
  kf_child_free(child);
  assert_no_process_left();
}

static void test_sandbox_child__pause_does_not_wait_for_a_leader_in_vfork(void **state) {
  (void)state;
  enum { ROUNDS = 200, LIMIT_MS = 50, SLOW_MAX = 4 };
  int slow = 0; /* some, because other work may take the core from this test */
  kf_child *child = start("vforks");
  for (int round = 0; round < ROUNDS; round++) {
    int64_t start_ms = kf_now_ms();
    OK(kf_child_pause(child, &err));
    slow += kf_now_ms() - start_ms > LIMIT_MS;
    kf_sleep_ms(1);
    start_ms = kf_now_ms();
    OK(kf_child_continue(child, &err));
    slow += kf_now_ms() - start_ms > LIMIT_MS;
    kf_sleep_ms(1);
  }
  assert_true(slow <= SLOW_MAX);
  kf_exit end = wait_for(child, 30000);
  assert_int_equal(end.kind, KF_EXIT_CODE);
  assert_int_equal(end.code, 0);
  kf_child_free(child);
  assert_no_process_left();
}

static void test_sandbox_child__kill_takes_a_stopped_child(void **state) {
  (void)state;
  kf_exit end;
  kf_child *child = start("sleep");
  OK(kf_child_stop(child, &err));
  OK(kf_child_kill(child, &err));
  OK(kf_child_poll(child, &end, &err));
  assert_int_equal(end.kind, KF_EXIT_SIGNAL);
  assert_int_equal(end.code, SIGKILL);
  assert_true(end.killed_by_us);
  kf_child_free(child);
}

static void test_sandbox_child__kill_takes_those_who_left_the_group(void **state) {
  (void)state;
  int fd = -1;
  char text[8];
  kf_child *child = start_with((kf_child_options){.argv = NULL}, "family", &fd);
  kf_child *other = start("sleep");
  assert_int_equal(read(fd, text, sizeof text), 2);
  OK(kf_child_kill(child, &err));
  kf_exit end;
  OK(kf_child_poll(other, &end, &err));
  assert_int_equal(end.kind, KF_EXIT_RUNNING); /* another child is nobody's stray */
  kf_child_free(other);
  assert_no_process_left();
  kf_child_free(child);
  close(fd);
}

static void test_sandbox_child__the_end_of_the_leader_ends_its_group(void **state) {
  (void)state;
  kf_child *child = start("leaves");
  kf_exit end = wait_for(child, 10000);
  assert_int_equal(end.kind, KF_EXIT_CODE);
  assert_no_process_left();
  kf_child_free(child);
}

static void test_sandbox_child__memory_is_limited(void **state) {
  (void)state;
  kf_child *child = start_with((kf_child_options){.rss_bytes = (int64_t)200 << 20}, "eat", NULL);
  kf_exit end = wait_for(child, 30000);
  assert_int_equal(end.kind, KF_EXIT_SIGNAL);
  assert_true(end.over_memory);
  kf_child_free(child);
}

static void test_sandbox_child__number_of_processes_is_limited(void **state) {
  (void)state;
  char text[100];
  kf_child *child = start_with((kf_child_options){.may_fork = true}, "swarm", NULL);
  kf_exit end = wait_for(child, 60000);
  assert_int_equal(end.kind, KF_EXIT_SIGNAL);
  assert_true(end.over_processes);
  assert_false(end.over_memory);
  kf_exit_text(&end, text, sizeof text);
  assert_string_equal(text, "killed by signal 9 (killed), too many processes");
  kf_child_free(child);
  assert_no_process_left();
}

static void test_sandbox_child__pidfd_tells_the_end(void **state) {
  (void)state;
  kf_child *child = start("sleep");
  kf_exit end = wait_for(child, 20);
  assert_int_equal(end.kind, KF_EXIT_RUNNING);
  kill(kf_child_pid(child), SIGTERM);
  end = wait_for(child, 10000);
  assert_int_equal(end.code, SIGTERM);
  assert_false(end.killed_by_us);
  kf_child_free(child);
  kf_child_free(NULL);
}

static void test_sandbox_channel__limits_and_descriptors(void **state) {
  (void)state;
  int fds[2], got_fds[1], nfds = 0, blob = -1;
  char bytes[8], *read_back = NULL;
  size_t len = 0;
  kf_channel_event event;
  OK(kf_channel_pair(SOCK_SEQPACKET, fds, &err));
  OK(kf_channel_recv(fds[0], kf_now_ns() + 5000000, bytes, sizeof bytes, &len, NULL, 0, NULL, &event, &err));
  assert_int_equal(event, KF_CHANNEL_TIMED_OUT);
  OK(kf_blob_new("test", "hello", 5, &blob, &err));
  OK(kf_channel_send(fds[1], "abc", 3, (int[]){blob, blob}, 2, &err));
  OK(kf_channel_recv(fds[0], -1, bytes, sizeof bytes, &len, got_fds, 1, &nfds, &event, &err));
  assert_int_equal(event, KF_CHANNEL_MESSAGE);
  assert_int_equal(len, 3);
  assert_int_equal(nfds, 1);
  assert_int_equal(write(got_fds[0], "x", 1), -1); /* sealed */
  OK(kf_blob_read(got_fds[0], 5, &read_back, &len, &err));
  assert_string_equal(read_back, "hello");
  kf_free(read_back);
  assert_int_equal(kf_blob_read(got_fds[0], 4, &read_back, &len, &err), KF_EPROTO);
  OK(kf_channel_send(fds[1], "123456789", 9, NULL, 0, &err));
  assert_int_equal(kf_channel_recv(fds[0], -1, bytes, sizeof bytes, &len, NULL, 0, NULL, &event, &err),
                   KF_EPROTO);
  close(got_fds[0]);
  close(blob);
  close(fds[1]);
  OK(kf_channel_recv(fds[0], -1, bytes, sizeof bytes, &len, NULL, 0, NULL, &event, &err));
  assert_int_equal(event, KF_CHANNEL_CLOSED);
  assert_int_equal(kf_channel_send(fds[0], "abc", 3, NULL, 0, &err), KF_EPROTO);
  close(fds[0]);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sandbox_child__exit_code),
      cmocka_unit_test(test_sandbox_child__signal_is_named),
      cmocka_unit_test(test_sandbox_child__missing_program),
      cmocka_unit_test(test_sandbox_child__unknown_role),
      cmocka_unit_test(test_sandbox_child__inherits_only_what_is_listed),
      cmocka_unit_test(test_sandbox_child__output_is_capped),
      cmocka_unit_test(test_sandbox_child__stop_holds_and_continue_goes_on),
      cmocka_unit_test(test_sandbox_child__pause_does_not_wait_for_a_leader_in_vfork),
      cmocka_unit_test(test_sandbox_child__kill_takes_a_stopped_child),
      cmocka_unit_test(test_sandbox_child__kill_takes_those_who_left_the_group),
      cmocka_unit_test(test_sandbox_child__the_end_of_the_leader_ends_its_group),
      cmocka_unit_test(test_sandbox_child__memory_is_limited),
      cmocka_unit_test(test_sandbox_child__number_of_processes_is_limited),
      cmocka_unit_test(test_sandbox_child__pidfd_tells_the_end),
      cmocka_unit_test(test_sandbox_channel__limits_and_descriptors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
