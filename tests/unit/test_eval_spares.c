/* links: kf_eval */
/* Processes that wait: they serve one candidate like any other, and one that is dead or hangs costs nothing
 * but time. Twins: what of an artefact counts as its code. */
#include "eval/spares.h"
#include "eval/twins.h"
#include "test_build_fixture.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

static const char doubling[] = "__kernel void twice(__global const float *x, __global float *y, int n) {\n"
                               "  int i = get_global_id(0);\n"
                               "  if (i < n) y[i] = 2.0f * x[i];\n"
                               "}\n";
static const char tripling[] = "__kernel void twice(__global const float *x, __global float *y, int n) {\n"
                               "  int i = get_global_id(0);\n"
                               "  if (i < n) y[i] = 3.0f * x[i];\n"
                               "}\n";
/* The same code as `doubling` from another text. (Names of arguments are in the binary, and count.) */
static const char doubling_again[] =
    "/* twice */\n__kernel void twice(__global const float *x, __global float *y, int n) {\n"
    "  const int item = get_global_id(0);\n"
    "  if (n > item) y[item] = x[item] * 2.0f;\n"
    "}\n";

/* Children of this process with this role; `act` is called with each. */
static int each_child(const char *role, void (*act)(pid_t pid)) {
  int count = 0;
  DIR *dir = opendir("/proc");
  assert_non_null(dir);
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    char path[300], text[256];
    int parent = 0;
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    bool is_ours = fscanf(file, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == (int)getpid();
    fclose(file);
    snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
    file = is_ours ? fopen(path, "r") : NULL;
    if (!file) continue;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (size_t i = 0; i < len; i++)
      if (text[i] == '\0') text[i] = ' ';
    text[len] = '\0';
    if (!strstr(text, role)) continue;
    count++;
    if (act) act((pid_t)strtol(entry->d_name, NULL, 10));
  }
  closedir(dir);
  return count;
}

/* Returns when it is dead, before anyone else has seen it. */
static void kill_it(pid_t pid) {
  siginfo_t info;
  kill(pid, SIGKILL);
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void kill_later(pid_t pid) {
  kill(pid, SIGKILL);
}

static void freeze_it(pid_t pid) {
  kill(-pid, SIGSTOP);
}

static kf_settings settings;
static kf_work_root work;
static kf_device_info devices[KF_DEVICES_MAX];

static int set_up(void **state) {
  (void)state;
  int count = 0;
  kf_buf note;
  kf_buf_init(&note, 4096);
  kf_settings_init(&settings);
  OK(kf_device_list(devices, &count, &note, &fixture_err));
  if (count == 0) fail_msg("no OpenCL device: %s", kf_buf_text(&note));
  kf_buf_done(&note);
  fixture_dir(work.root);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  fixture_remove(work.root);
  return 0;
}

/* ---- builders ---- */

static void build(const char *source, kf_build *spare, const char *dir, kf_build_outcome *ret_outcome) {
  kf_build *build = NULL;
  fixture_plan plan;
  const kf_calls *calls = &plan.calls;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  kf_build_request request = fixture_request(source, &calls, 1, dir);
  request.spare = spare;
  OK(kf_build_start(&request, &build, &fixture_err));
  fixture_build_wait(build, ret_outcome);
  kf_build_free(build);
}

static kf_build *new_spare(const char *dir) {
  kf_build *spare = NULL;
  kf_build_request request = fixture_request("", NULL, 0, dir);
  OK(kf_build_spare(&request, &spare, &fixture_err));
  return spare;
}

static void wait_ready(kf_build *spare) {
  bool usable = true, ready = false;
  for (int i = 0; i < 6000 && usable && !ready; i++) {
    OK(kf_build_spare_look(spare, &usable, &ready, &fixture_err));
    kf_sleep_ms(10);
  }
  assert_true(usable);
  assert_true(ready);
}

static void test_spares__a_practised_builder_builds_the_same_code(void **state) {
  (void)state;
  char dir[KF_PATH_MAX], other[KF_PATH_MAX];
  kf_build_outcome practised, plain;
  kf_hash code, plain_code;
  fixture_dir(dir);
  fixture_dir(other);
  kf_build *spare = new_spare(dir);
  wait_ready(spare);
  build(doubling, spare, dir, &practised);
  build(doubling, NULL, other, &plain);
  assert_int_equal(practised.result.code, KF_RUN_OK);
  assert_non_null(strstr(practised.enforced, "seccomp"));
  assert_int_equal(plain.result.code, KF_RUN_OK);
  kf_twin_hash_artefact(practised.artefact, practised.artefact_len, &code);
  kf_twin_hash_artefact(plain.artefact, plain.artefact_len, &plain_code);
  assert_true(kf_hash_equal(&code, &plain_code));
  kf_build_outcome_done(&practised);
  kf_build_outcome_done(&plain);
  fixture_remove(dir);
  fixture_remove(other);
}

static void test_spares__a_candidate_that_comes_early_is_built(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build_outcome outcome;
  fixture_dir(dir);
  build(doubling, new_spare(dir), dir, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  kf_build_outcome_done(&outcome);
  fixture_remove(dir);
}

static void test_spares__a_compile_error_in_a_spare_is_the_candidates(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build_outcome outcome;
  fixture_dir(dir);
  kf_build *spare = new_spare(dir);
  wait_ready(spare);
  build("__kernel void twice(", spare, dir, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_BUILD_FAILED);
  assert_null(strstr(outcome.log, "kf_practise"));
  kf_build_outcome_done(&outcome);
  fixture_remove(dir);
}

static void test_spares__a_dead_builder_is_replaced(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build_outcome outcome;
  for (int early = 0; early < 2; early++) {
    fixture_dir(dir);
    kf_build *spare = new_spare(dir);
    if (!early) wait_ready(spare);
    assert_int_equal(each_child("builder", early ? kill_it : kill_later), 1);
    build(doubling, spare, dir, &outcome);
    assert_int_equal(outcome.result.code, KF_RUN_OK);
    kf_build_outcome_done(&outcome);
    fixture_remove(dir);
  }
  assert_int_equal(each_child("builder", NULL), 0);
}

static void test_spares__a_builder_that_hangs_while_opening_is_replaced(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_build_outcome outcome;
  fixture_dir(dir);
  kf_build *spare = new_spare(dir);
  OK(kf_build_pause(spare, &fixture_err));
  OK(kf_build_resume(spare, &fixture_err)); /* pausing does not count as hanging */
  kf_build *build = NULL;
  fixture_plan plan;
  const kf_calls *calls = &plan.calls;
  fixture_plan_init(&plan, "twice", 1000, 1024, 64);
  kf_build_request request = fixture_request(doubling, &calls, 1, dir);
  request.spare = spare;
  OK(kf_build_start(&request, &build, &fixture_err));
  assert_int_equal(each_child("builder", freeze_it), 1);
  fixture_build_wait(build, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  kf_build_free(build);
  kf_build_outcome_done(&outcome);
  fixture_remove(dir);
  assert_int_equal(each_child("builder", NULL), 0);
}

static void test_spares__an_unused_builder_leaves_nothing(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  fixture_dir(dir);
  kf_build *spare = new_spare(dir);
  kf_build_free(spare);
  assert_int_equal(each_child("builder", NULL), 0);
  fixture_remove(dir);
}

/* ---- runners ---- */

static void settle(kf_spares *spares) {
  for (int i = 0; i < 6000 && !kf_spares_settled(spares); i++) {
    kf_spares_pump(spares, true);
    assert_true(spares->count <= KF_SPARES_MAX);
    kf_sleep_ms(10);
  }
  assert_true(kf_spares_settled(spares));
}

/* A runner from the pool computes what it should. */
static void runs(kf_spares *spares, const kf_build_outcome *outcome) {
  kf_runner *runner = NULL;
  kf_run_result result;
  char dir[KF_PATH_MAX];
  OK(kf_spares_runner(spares, &devices[0], "run", &runner, dir, &fixture_err));
  OK(kf_runner_load(runner, outcome->artefact, outcome->artefact_len, NULL, &result, &fixture_err));
  assert_int_equal(result.code, KF_RUN_OK);
  kf_runner_free(runner);
  fixture_remove(dir);
}

static void test_spares__runners_are_bounded_and_replaced(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_spares spares = {.settings = &settings, .work = &work};
  kf_build_outcome outcome;
  fixture_dir(dir);
  build(doubling, NULL, dir, &outcome);
  kf_spares_pump(&spares, true); /* for no device: nothing */
  assert_int_equal(each_child("runner", NULL), 0);
  kf_spares_keep(&spares, &devices[0]);
  settle(&spares);
  assert_int_equal(each_child("runner", NULL), KF_SPARES_MAX);
  assert_int_equal(each_child("builder", NULL), 1);
  runs(&spares, &outcome);
  assert_int_equal(spares.count, KF_SPARES_MAX - 1);
  kf_spares_drop(&spares);
  assert_int_equal(each_child("runner", NULL), 0);
  assert_int_equal(each_child("builder", NULL), 0);
  kf_build_outcome_done(&outcome);
  fixture_remove(dir);
}

static void test_spares__dead_and_hanging_runners_are_not_taken(void **state) {
  (void)state;
  char dir[KF_PATH_MAX];
  kf_spares spares = {.settings = &settings, .work = &work};
  kf_build_outcome outcome;
  fixture_dir(dir);
  build(doubling, NULL, dir, &outcome);
  kf_spares_keep(&spares, &devices[0]);
  settle(&spares);
  assert_int_equal(each_child("runner", kill_it), KF_SPARES_MAX);
  runs(&spares, &outcome);
  assert_int_equal(spares.count, 0);
  spares.not_before_ns = 0;
  while (spares.count == 0)
    kf_spares_pump(&spares, false);
  each_child("runner", freeze_it);
  spares.runners[0].open = false;
  runs(&spares, &outcome);
  kf_spares_drop(&spares);
  assert_int_equal(each_child("runner", NULL), 0);
  kf_build_outcome_done(&outcome);
  fixture_remove(dir);
}

static void test_spares__a_pause_holds_those_that_start(void **state) {
  (void)state;
  kf_spares spares = {.settings = &settings, .work = &work};
  kf_spares_keep(&spares, &devices[0]);
  kf_spares_pump(&spares, true);
  kf_spares_pause(&spares);
  for (int i = 0; i < 20; i++)
    kf_spares_pump(&spares, true); /* makes nothing */
  assert_int_equal(each_child("runner", NULL) + each_child("builder", NULL), 1);
  kf_spares_resume(&spares);
  settle(&spares);
  kf_spares_drop(&spares);
}

/* ---- what counts as code ---- */

static void test_twins__the_same_code_from_two_texts(void **state) {
  (void)state;
  static const char *const sources[] = {doubling, doubling_again, tripling};
  kf_hash codes[3];
  for (int i = 0; i < 3; i++) {
    char dir[KF_PATH_MAX];
    kf_build_outcome outcome;
    fixture_dir(dir);
    build(sources[i], NULL, dir, &outcome);
    assert_int_equal(outcome.result.code, KF_RUN_OK);
    kf_twin_hash_artefact(outcome.artefact, outcome.artefact_len, &codes[i]);
    kf_build_outcome_done(&outcome);
    fixture_remove(dir);
  }
  assert_true(kf_hash_equal(&codes[0], &codes[1]));
  assert_false(kf_hash_equal(&codes[0], &codes[2]));
}

/* A binary in PoCL's layout: header, build hash, program.bc of `ir_len` bytes of `ir`, then `code`. */
static size_t make_binary(unsigned char *bytes, char hash, char ir, uint32_t ir_len, char code) {
  uint32_t version = 9, path_len = 11;
  uint64_t group = 4 + path_len + 4 + (uint64_t)ir_len;
  memset(bytes, 0, 77);
  memcpy(bytes, "poclbin", 8);
  memcpy(bytes + 16, &version, 4);
  memset(bytes + 36, hash, 40);
  memcpy(bytes + 77, &group, 8);
  memcpy(bytes + 85, &path_len, 4);
  memcpy(bytes + 89, "/program.bc", 11);
  memcpy(bytes + 100, &ir_len, 4);
  memset(bytes + 104, ir, ir_len);
  memset(bytes + 104 + ir_len, code, 50);
  return 104 + (size_t)ir_len + 50;
}

static bool same_code(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len) {
  kf_hash left, right;
  kf_twin_hash_artefact(a, a_len, &left);
  kf_twin_hash_artefact(b, b_len, &right);
  return kf_hash_equal(&left, &right);
}

static void test_twins__only_a_binary_of_the_known_layout_is_cut(void **state) {
  (void)state;
  unsigned char a[400], b[400];
  size_t a_len = make_binary(a, 'A', 'i', 60, 'c'), b_len = make_binary(b, 'B', 'j', 80, 'c');
  assert_true(same_code(a, a_len, b, b_len));
  b[b_len - 1] ^= 1;
  assert_false(same_code(a, a_len, b, b_len));
  b[b_len - 1] ^= 1;
  /* One field at a time is made another: the binary is then hashed whole, and equals nothing but itself. */
  static const size_t fields[] = {0, 16, 77, 85, 90, 100, 76};
  for (size_t i = 0; i < KF_COUNTOF(fields); i++) {
    b[fields[i]] ^= 0x40;
    assert_false(same_code(a, a_len, b, b_len));
    assert_true(same_code(b, b_len, b, b_len));
    b[fields[i]] ^= 0x40;
  }
  /* Lengths that reach beyond the end; every cut. */
  memset(b + 100, 0xff, 4);
  memset(b + 77, 0xff, 8);
  assert_false(same_code(a, a_len, b, b_len));
  for (size_t len = 0; len < a_len; len++)
    assert_false(same_code(a, a_len, a, len));
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spares__a_practised_builder_builds_the_same_code),
      cmocka_unit_test(test_spares__a_candidate_that_comes_early_is_built),
      cmocka_unit_test(test_spares__a_compile_error_in_a_spare_is_the_candidates),
      cmocka_unit_test(test_spares__a_dead_builder_is_replaced),
      cmocka_unit_test(test_spares__a_builder_that_hangs_while_opening_is_replaced),
      cmocka_unit_test(test_spares__an_unused_builder_leaves_nothing),
      cmocka_unit_test(test_spares__runners_are_bounded_and_replaced),
      cmocka_unit_test(test_spares__dead_and_hanging_runners_are_not_taken),
      cmocka_unit_test(test_spares__a_pause_holds_those_that_start),
      cmocka_unit_test(test_twins__the_same_code_from_two_texts),
      cmocka_unit_test(test_twins__only_a_binary_of_the_known_layout_is_cut),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
