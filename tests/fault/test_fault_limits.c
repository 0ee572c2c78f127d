/* links: kf_build */
/* What is over its limit is gone, with all it started, at most 0.1 s after the limit. Measured from the
 * judge's side: its functions return once the last process is reaped, and /proc is read to see that they are
 * right. The machine may be busy: each is tried three times and the best has to hold; the others only have to
 * end. x86-64 only, because of the assembly. */
#include "../unit/test_build_fixture.h"

#include "sandbox/channel.h"
#include "sandbox/child.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 3, LATE_MAX_MS = 100 };

#define SYSCALL                                                                                              \
  "long sys(long n, long a, long b, long c, long d) {\n"                                                     \
  "  long r;\n"                                                                                              \
  "  __asm__ volatile(\"movq %5, %%r10; xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; syscall\" : \"=a\"(r)\n"       \
  "    : \"a\"(n), \"D\"(a), \"S\"(b), \"d\"(c), \"r\"(d) : \"rcx\", \"r11\", \"r10\", \"r8\", \"r9\", "     \
  "\"memory\");\n"                                                                                           \
  "  return r;\n"                                                                                            \
  "}\n"
#define KERNEL "__kernel void attack(__global const float *x, __global float *y, int n) {\n"

/* ---- processes in /proc ---- */

/* Processes, dead ones that nobody has reaped left out, of this session: it was made for this program, and
 * nothing under a filter can leave it. */
static int count_session(void) {
  DIR *dir = opendir("/proc");
  int count = 0;
  assert_non_null(dir);
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
    FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
    if (!file) continue;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *fields = strrchr(text, ')');
    char status;
    int session;
    if (fields && sscanf(fields + 1, " %c %*d %*d %d", &status, &session) == 2 && status != 'Z')
      count += session == (int)getsid(0);
  }
  closedir(dir);
  return count;
}

static void assert_nothing_left(void) {
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(count_session(), 1);
}

/* ---- roles without a filter: what a compiler could do on a machine that lacks one ---- */

static _Noreturn void sleep_for_ever(void) {
  for (;;)
    pause();
}

static int role_stubborn(int fd) {
  for (int sig = 1; sig < NSIG; sig++)
    signal(sig, SIG_IGN);
  if (write(fd, "up", 2) != 2) return 1;
  sleep_for_ever();
}

static int role_daemons(int fd) {
  for (int i = 0; i < 12; i++)
    if (fork() == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      sleep_for_ever();
    }
  kf_sleep_ms(200);
  if (write(fd, "up", 2) != 2) return 1;
  sleep_for_ever();
}

static int role_bomb(int fd) {
  if (write(fd, "up", 2) != 2) return 1;
  for (int i = 0; i < 25; i++)
    if (fork() == 0) sleep_for_ever();
  for (;;) {
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    if (pid > 0) waitpid(pid, NULL, 0);
  }
}

static const kf_role_entry roles[] = {{"runner", kf_runner_main},   {"builder", kf_builder_main},
                                      {"cc", kf_cc_main},           {"stubborn", role_stubborn},
                                      {"daemons", role_daemons},    {"bomb", role_bomb},
                                      {"devices", kf_devices_main}, {NULL, NULL}};

/* ---- measuring ---- */

static void assert_in_time(const char *what, const int64_t late_ms[TRIES]) {
  int64_t best = late_ms[0];
  for (int i = 1; i < TRIES; i++)
    if (late_ms[i] < best) best = late_ms[i];
  print_message("%s: gone %lld, %lld, %lld ms after the limit\n", what, (long long)late_ms[0],
                (long long)late_ms[1], (long long)late_ms[2]);
  if (best > LATE_MAX_MS) fail_msg("%s: gone %lld ms after the limit at best", what, (long long)best);
}

/* A child that is waited for until a deadline and then killed, as every limit in time is enforced. */
static int64_t late_child(const char *role, bool upper) {
  enum { LIMIT_MS = 300 };
  const char *argv[] = {"kf-eval", "--role", role, NULL};
  char text[8];
  int fds[2];
  kf_child *child = NULL;
  kf_exit end;
  kf_sandbox_upper_allow(upper);
  OK(kf_channel_pair(SOCK_STREAM, fds, &fixture_err));
  kf_child_options options = {.argv = argv, .fds = {fds[1]}, .nfds = 1, .may_fork = true, .foreign = true};
  OK(kf_child_spawn(&options, &child, &fixture_err));
  close(fds[1]);
  assert_int_equal(read(fds[0], text, sizeof text), 2);
  int64_t deadline_ns = kf_now_ns() + (int64_t)LIMIT_MS * 1000000;
  OK(kf_child_wait(child, deadline_ns, &end, &fixture_err));
  assert_int_equal(end.kind, KF_EXIT_RUNNING);
  OK(kf_child_kill(child, &fixture_err));
  int64_t late_ms = (kf_now_ns() - deadline_ns) / 1000000;
  kf_child_free(child);
  close(fds[0]);
  kf_sandbox_upper_allow(true);
  assert_nothing_left();
  return late_ms;
}

static void check_child(const char *role) {
  int64_t with[TRIES], without[TRIES];
  for (int i = 0; i < TRIES; i++) {
    with[i] = late_child(role, true);
    without[i] = late_child(role, false);
  }
  char what[80];
  snprintf(what, sizeof what, "%s", role);
  assert_in_time(what, with);
  snprintf(what, sizeof what, "%s, base layer only", role);
  assert_in_time(what, without);
}

/* Time beyond the limit of a build, less the time in which it had no core: builds run at idle priority and
 * are not charged for that. */
static int64_t late_build(const char *source, int64_t limit_ms, int64_t launch_ms, kf_run_code expected) {
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  kf_build_outcome outcome;
  fixture_plan plan;
  const kf_calls *calls = &plan.calls;
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  fixture_dir(dir);
  kf_build_request request = fixture_request(source, &calls, 1, dir);
  request.timeout_ms = limit_ms;
  request.memory_bytes = (int64_t)1 << 42; /* a sum over processes that share their pages */
  request.launch_timeout_ms = launch_ms;
  OK(kf_build_start(&request, &build, &fixture_err));
  int64_t begun_ns = kf_now_ns(), over_ns = 0;
  for (bool done = false; !done;) {
    struct pollfd entry = {.fd = kf_build_fd(build), .events = POLLIN};
    poll(&entry, 1, 20);
    over_ns = kf_now_ns();
    OK(kf_build_step(build, &done, &fixture_err)); /* the step that finds it over its limit ends it */
  }
  int64_t gone_ns = kf_now_ns();
  assert_nothing_left();
  OK(kf_build_outcome_take(build, &outcome, &fixture_err));
  if (outcome.result.code != expected) fail_msg("%d %s", outcome.result.code, outcome.result.text);
  kf_build_outcome_done(&outcome);
  kf_build_free(build);
  fixture_remove(dir);
  assert_true(gone_ns - begun_ns >= limit_ms * 1000000 || launch_ms > 0);
  enum { STEP_MS = 20 }; /* at most a step before, it was within its limit */
  return (gone_ns - over_ns) / 1000000 + STEP_MS;
}

static void check_build(const char *what, const char *source, int64_t limit_ms, int64_t launch_ms) {
  int64_t late[TRIES];
  for (int i = 0; i < TRIES; i++)
    late[i] = late_build(source, limit_ms, launch_ms, KF_RUN_TIMED_OUT);
  assert_in_time(what, late);
}

/* ---- tests ---- */

static void test_fault_limits__who_ignores_signals(void **state) {
  (void)state;
  check_child("stubborn");
}

static void test_fault_limits__daemons_in_sessions_of_their_own(void **state) {
  (void)state;
  check_child("daemons");
}

static void test_fault_limits__fork_bomb(void **state) {
  (void)state;
  check_child("bomb");
}

/* Doubles its text 34 times: minutes of work, and memory without end. */
static void make_macro_bomb(char *ret_source, size_t room) {
  snprintf(ret_source, room, "#define D0 y[0] += 1.0f;\n");
  for (int i = 1; i <= 34; i++) {
    char line[64];
    snprintf(line, sizeof line, "#define D%d D%d D%d\n", i, i - 1, i - 1);
    strncat(ret_source, line, room - strlen(ret_source) - 1);
  }
  strncat(ret_source, KERNEL "D34 }\n", room - strlen(ret_source) - 1);
}

static void test_fault_limits__compiler_that_does_not_return(void **state) {
  (void)state;
  char source[4000];
  make_macro_bomb(source, sizeof source);
  check_build("endless compiler", source, 1000, 0);
}

static void test_fault_limits__builder_full_of_processes(void **state) {
  (void)state;
  check_build("fork bomb in a trial launch",
              SYSCALL KERNEL
              "  for (int i = 0; i < 15; i++) if (sys(57, 0, 0, 0, 0) == 0) for (;;) sys(34, 0, 0, 0, 0);\n"
              "  for (;;) sys(34, 0, 0, 0, 0); }\n",
              60000, 3000);
}

static void test_fault_limits__endless_kernel(void **state) {
  (void)state;
  enum { CALL_MS = 1000 };
  int64_t late[TRIES];
  kf_build_outcome outcome;
  fixture_plan plan;
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  fixture_build(KERNEL "  volatile int go = 1; if (x[1] == 1.0f) while (go) ; y[0] = 1; }\n", &plan.calls,
                &outcome);
  if (outcome.result.code != KF_RUN_OK) fail_msg("%s", outcome.result.text);
  for (int i = 0; i < TRIES; i++) {
    fixture_run run;
    fixture_run_start(&run, outcome.artefact, outcome.artefact_len, &plan.calls, 60000);
    int64_t deadline_ns = kf_now_ns() + (int64_t)CALL_MS * 1000000;
    OK(kf_runner_run(run.runner, 1, deadline_ns, &run.times, &run.result, &fixture_err));
    late[i] = (kf_now_ns() - deadline_ns) / 1000000;
    assert_int_equal(run.result.code, KF_RUN_TIMED_OUT);
    assert_nothing_left();
    fixture_run_done(&run);
  }
  kf_build_outcome_done(&outcome);
  assert_in_time("endless kernel", late);
}

/* The judge looks after other builds while it waits for a kernel: a compiler over its limit is not spared. */
static void step_other(void *context) {
  bool done = false;
  OK(kf_build_step(context, &done, &fixture_err));
}

static void test_fault_limits__a_compiler_while_a_kernel_runs(void **state) {
  (void)state;
  enum { LIMIT_MS = 1000, CALL_MS = 9000 };
  char dir[KF_PATH_MAX], source[4000];
  kf_build_outcome outcome;
  fixture_plan plan;
  fixture_run run;
  fixture_plan_init(&plan, "attack", 1024, 1, 1);
  fixture_build(KERNEL "  volatile int go = 1; if (x[1] == 1.0f) while (go) ; y[0] = 1; }\n", &plan.calls,
                &outcome);
  if (outcome.result.code != KF_RUN_OK) fail_msg("%s", outcome.result.text);
  fixture_run_start(&run, outcome.artefact, outcome.artefact_len, &plan.calls, 60000);
  kf_build_outcome_done(&outcome);
  kf_build *build = NULL;
  const kf_calls *calls = &plan.calls;
  fixture_dir(dir);
  make_macro_bomb(source, sizeof source);
  kf_build_request request = fixture_request(source, &calls, 1, dir);
  request.timeout_ms = LIMIT_MS;
  OK(kf_build_start(&request, &build, &fixture_err));
  kf_child_meanwhile(step_other, build);
  OK(kf_runner_run(run.runner, 1, kf_now_ns() + (int64_t)CALL_MS * 1000000, &run.times, &run.result,
                   &fixture_err));
  kf_child_meanwhile(NULL, NULL);
  assert_nothing_left(); /* the build ended while the call was waited for */
  bool done = false;
  OK(kf_build_step(build, &done, &fixture_err));
  assert_true(done);
  OK(kf_build_outcome_take(build, &outcome, &fixture_err));
  assert_int_equal(outcome.result.code, KF_RUN_TIMED_OUT);
  kf_build_outcome_done(&outcome);
  kf_build_free(build);
  fixture_run_done(&run);
  fixture_remove(dir);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, roles);
  kf_alloc_init();
  /* A session of its own, to be counted by; a group's leader cannot make one. */
  if (setsid() < 0) {
    pid_t pid = fork();
    int status = 0;
    if (pid > 0) return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (pid < 0 || setsid() < 0) return 1;
  }
#if !defined(__x86_64__)
  printf("skipped: the attacks are x86-64 assembly\n");
  return 77;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fault_limits__who_ignores_signals),
      cmocka_unit_test(test_fault_limits__daemons_in_sessions_of_their_own),
      cmocka_unit_test(test_fault_limits__fork_bomb),
      cmocka_unit_test(test_fault_limits__compiler_that_does_not_return),
      cmocka_unit_test(test_fault_limits__builder_full_of_processes),
      cmocka_unit_test(test_fault_limits__endless_kernel),
      cmocka_unit_test(test_fault_limits__a_compiler_while_a_kernel_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
