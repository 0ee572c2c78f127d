/* links: kf_base kf_wire kf_verify kf_measure */
/* test_measure_conditions.c - the kernel's books of waiting, what blocks are dropped for, the child's clock
 * as a witness, and the floor. */
#include "measure/conditions.h"

#include "base/clock.h"
#include "measure/disturb.h"
#include "measure/floor.h"
#include "measure/witness.h"
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MS = 1000000 };

/* ---- waiting for a core ---- */

/* A process that does nothing but run, on the given core. */
static pid_t spin_on(int core) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid != 0) return pid;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) _exit(1);
  alarm(20); /* whatever becomes of the test */
  for (volatile int i = 0;; i++) {
  }
}

static void end(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static void test_measure_conditions__two_on_one_core_wait_for_each_other(void **state) {
  (void)state;
  cpu_set_t allowed;
  int core = 0;
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  while (!CPU_ISSET(core, &allowed))
    core++;
  pid_t first = spin_on(core), second = spin_on(core);
  kf_watch watch;
  kf_waited waited = {0};
  kf_watch_open(&watch, (int)first);
  assert_int_equal(watch.nthreads, 1);
  int64_t before = kf_watch_switches(&watch), until_ms = kf_now_ms() + 10000;
  kf_watch_begin(&watch);
  while (waited.longest_ns < 20 * MS && kf_now_ms() < until_ms) {
    usleep(20000);
    waited = kf_watch_end(&watch);
  }
  int64_t after = kf_watch_switches(&watch);
  kf_watch_close(&watch);
  end(first);
  end(second);
  assert_true(waited.longest_ns >= 20 * MS);
  assert_true(waited.sum_ns >= waited.longest_ns);
  assert_true(waited.ran_ns > 0);
  assert_true(after > before);
}

static void test_measure_conditions__a_process_that_is_gone_is_quiet(void **state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, NULL, 0);
  kf_watch watch;
  kf_watch_open(&watch, (int)pid);
  kf_watch_begin(&watch);
  assert_int_equal(kf_watch_end(&watch).longest_ns, 0);
  assert_int_equal(kf_watch_switches(&watch), 0);
  kf_watch_close(&watch);
}

static void test_measure_conditions__one_that_ends_meanwhile_is_quiet(void **state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  kf_watch watch;
  kf_watch_open(&watch, (int)pid);
  kf_watch_begin(&watch);
  end(pid);
  assert_int_equal(kf_watch_end(&watch).longest_ns, 0); /* never less than nothing */
  kf_watch_close(&watch);
}

static void test_measure_conditions__stolen_time_does_not_run_backwards(void **state) {
  (void)state;
  kf_machine_state first, second;
  kf_machine_read(&first);
  kf_machine_read(&second);
  assert_true(first.stolen_ns >= 0 && second.stolen_ns >= first.stolen_ns);
  assert_true(first.mhz >= 0);
}

/* ---- dropping ---- */

static kf_sample sample_of(int64_t waited_candidate, int64_t waited_opponent, int64_t stolen, int64_t mhz) {
  return (kf_sample){.ncases = 1,
                     .value = {{{1 * MS, 0}}, {{1 * MS, 0}}},
                     .waited_ns = {waited_candidate, waited_opponent},
                     .stolen_ns = stolen,
                     .span_ns = 10 * MS,
                     .mhz = mhz};
}

static kf_sample_drop judge(kf_disturb *disturb, kf_sample sample) {
  return kf_disturb_judge(disturb, &sample);
}

static void test_measure_disturb__a_disturbed_block_among_quiet_ones_is_dropped(void **state) {
  (void)state;
  kf_disturb disturb = {0};
  for (int i = 0; i < 5; i++)
    assert_int_equal(judge(&disturb, sample_of(1000, 0, 0, 0)), KF_DROP_NO);
  assert_int_equal(judge(&disturb, sample_of(19000, 0, 0, 0)), KF_DROP_NO); /* under 2 % */
  assert_int_equal(judge(&disturb, sample_of(21000, 0, 0, 0)), KF_DROP_WAITED);
  assert_int_equal(judge(&disturb, sample_of(0, 21000, 0, 0)), KF_DROP_WAITED); /* whoever was disturbed */
  assert_int_equal(judge(&disturb, sample_of(0, 0, 10 * MS, 0)), KF_DROP_STOLEN);
}

static void test_measure_disturb__on_a_machine_that_is_always_busy_blocks_count(void **state) {
  (void)state;
  kf_disturb disturb = {0};
  for (int i = 0; i < KF_DISTURB_BLOCKS_MAX + 10; i++)
    assert_int_equal(judge(&disturb, sample_of(300000 + i * 1000, 500000, 0, 0)), KF_DROP_NO);
  assert_int_equal(judge(&disturb, sample_of(9 * MS, 0, 0, 0)), KF_DROP_WAITED);
}

static void test_measure_disturb__another_frequency_is_dropped(void **state) {
  (void)state;
  kf_disturb disturb = {0};
  assert_int_equal(judge(&disturb, sample_of(0, 0, 0, 3000)), KF_DROP_NO);
  assert_int_equal(judge(&disturb, sample_of(0, 0, 0, 3000)), KF_DROP_NO);
  assert_int_equal(judge(&disturb, sample_of(0, 0, 0, 2920)), KF_DROP_NO);
  assert_int_equal(judge(&disturb, sample_of(0, 0, 0, 2800)), KF_DROP_FREQUENCY);
  assert_int_equal(judge(&disturb, sample_of(0, 0, 0, 0)), KF_DROP_NO); /* not told: not judged */
}

/* ---- the child's clock ---- */

static void testify(kf_witness *w, int64_t wall, int64_t child, int64_t waited, int64_t ran) {
  kf_testimony call = {wall, 15000, child, waited, ran, 2};
  kf_witness_add(w, &call);
}

static void test_measure_witness__an_honest_child_on_a_busy_machine_is_fine(void **state) {
  (void)state;
  kf_witness w = {0};
  for (int i = 0; i < 50; i++) { /* every call waits for a core for milliseconds; the kernel says so */
    int64_t child = 100000 + i * 100, waited = 3 * MS + i * 10000;
    testify(&w, child + 15000 + waited, child, waited, 2 * child + 100000);
  }
  assert_int_equal(kf_witness_judge(&w), KF_WITNESS_FINE);
  /* One undisturbed call in fifty is enough where the kernel says nothing. */
  kf_witness busy = {0};
  for (int i = 0; i < 50; i++)
    testify(&busy, i == 30 ? 120000 : 9 * MS, 100000, 0, 200000);
  assert_int_equal(kf_witness_judge(&busy), KF_WITNESS_FINE);
}

static void test_measure_witness__a_slowed_clock_is_seen(void **state) {
  (void)state;
  kf_witness w = {0};
  for (int i = 0; i < 20; i++)
    testify(&w, MS + i * 1000, MS / 10, 0, 0);
  assert_int_equal(kf_witness_judge(&w), KF_WITNESS_TOO_SHORT);
  assert_int_equal(w.gap_wall_ns, MS);
  kf_witness few = {0};
  for (int i = 0; i < KF_WITNESS_CALLS_MIN - 1; i++)
    testify(&few, MS, 0, 0, 0);
  assert_int_equal(kf_witness_judge(&few), KF_WITNESS_FINE);
}

/* A thread beside the kernel does the work; the one that answers waits for it, without a core of its own. */
static void test_measure_witness__work_outside_the_window_is_seen_on_a_busy_machine(void **state) {
  (void)state;
  kf_witness w = {0};
  for (int i = 0; i < 20; i++)
    testify(&w, 3 * MS + i * 1000, 50000, 5 * MS, 2700000);
  assert_int_equal(kf_witness_judge(&w), KF_WITNESS_RAN_OUTSIDE);
  assert_int_equal(w.outside_ran_ns, 2700000);
}

static void test_measure_witness__an_invented_time_is_seen(void **state) {
  (void)state;
  static const int64_t claims[] = {2 * MS, -1, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < KF_COUNTOF(claims); i++) {
    kf_witness w = {0};
    for (int call = 0; call < 10; call++)
      testify(&w, MS, claims[i], 0, 0);
    assert_int_equal(kf_witness_judge(&w), KF_WITNESS_TOO_LONG);
  }
}

/* ---- the floor ---- */

static void test_measure_floor__counts_inputs_once_and_outputs_beyond_the_cache(void **state) {
  (void)state;
  static kf_task task;
  task.nargs = 3;
  task.args[0] = (kf_arg_spec){.role = KF_ROLE_IN, .type = KF_TYPE_F32};
  task.args[1] = (kf_arg_spec){.role = KF_ROLE_INOUT, .type = KF_TYPE_F64};
  task.args[2] = (kf_arg_spec){.role = KF_ROLE_OUT, .type = KF_TYPE_F32};
  kf_inputs inputs = {.task = &task, .elements = {1000, 1000, 4000}};
  kf_ceilings ceilings = {.read_gbs = 2, .write_gbs = 4, .known = true};
  assert_int_equal(kf_floor_ns(&inputs, NULL, 4000), 0);
  assert_int_equal(kf_floor_ns(&inputs, &ceilings, 4000), 12000 / 2 + (24000 - 4000) / 4);
  assert_int_equal(kf_floor_ns(&inputs, &ceilings, 1 << 20), 12000 / 2); /* outputs stay in the cache */
  assert_int_equal(kf_floor_ns(&inputs, &ceilings, 0), 12000 / 2);       /* a cache of unknown size */
  ceilings.known = false;
  assert_int_equal(kf_floor_ns(&inputs, &ceilings, 4000), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_measure_conditions__two_on_one_core_wait_for_each_other),
      cmocka_unit_test(test_measure_conditions__a_process_that_is_gone_is_quiet),
      cmocka_unit_test(test_measure_conditions__one_that_ends_meanwhile_is_quiet),
      cmocka_unit_test(test_measure_conditions__stolen_time_does_not_run_backwards),
      cmocka_unit_test(test_measure_disturb__a_disturbed_block_among_quiet_ones_is_dropped),
      cmocka_unit_test(test_measure_disturb__on_a_machine_that_is_always_busy_blocks_count),
      cmocka_unit_test(test_measure_disturb__another_frequency_is_dropped),
      cmocka_unit_test(test_measure_witness__an_honest_child_on_a_busy_machine_is_fine),
      cmocka_unit_test(test_measure_witness__a_slowed_clock_is_seen),
      cmocka_unit_test(test_measure_witness__work_outside_the_window_is_seen_on_a_busy_machine),
      cmocka_unit_test(test_measure_witness__an_invented_time_is_seen),
      cmocka_unit_test(test_measure_floor__counts_inputs_once_and_outputs_beyond_the_cache),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
