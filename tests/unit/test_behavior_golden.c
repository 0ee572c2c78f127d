/* links: kf_behavior */
/* test_behavior_golden.c - every kernel of tests/cases/behavior lands in the cell that its first line
 * expects. */
#include "behavior/behavior.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_behavior_case.h"

#define CASES KF_TEST_SOURCE_DIR "/tests/cases/behavior"

static bool has_libclang;

/* "accumulators=4 sweeps=2": every pair has to stand in the text of the evidence. */
static int missing_pairs(const char *pairs, const char *text, const char *name) {
  char words[256], padded[800], *save = NULL;
  int missing = 0;
  snprintf(words, sizeof words, "%s", pairs);
  snprintf(padded, sizeof padded, " %s ", text);
  for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char wanted[80];
    snprintf(wanted, sizeof wanted, " %s ", word);
    if (strstr(padded, wanted)) continue;
    print_error("%s: want %s in %s\n", name, word, text);
    missing++;
  }
  return missing;
}

static void cell_as_text(kf_cell cell, char *text, size_t size) {
  snprintf(text, size, "memory=%d algorithm=%d coordination=%d matrix=%d", cell.level[0], cell.level[1],
           cell.level[2], cell.level[3]);
}

static int check_case(const char *name) {
  char path[KF_PATH_MAX], cell[128], text[700];
  snprintf(path, sizeof path, CASES "/%s", name);
  behavior_case *c = case_load(path);
  kf_evidence_request request = case_request(c);
  kf_evidence evidence;
  kf_buf note;
  kf_err err = {0};
  kf_buf_init(&note, 1000);
  assert_int_equal(kf_evidence_parse(&request, &evidence, &note, &err), KF_OK);
  evidence_as_text(&evidence, text, sizeof text);
  cell_as_text(kf_behavior_cell(&evidence, &c->base), cell, sizeof cell);
  int wrong = missing_pairs(c->evidence, text, name);
  if (!evidence.known || strcmp(cell, c->expect) != 0) {
    print_error("%s: got %s, want %s (%s; %s)\n", name, cell, c->expect, text, kf_buf_text(&note));
    wrong++;
  }
  kf_buf_done(&note);
  case_done(c);
  return wrong;
}

static void test_behavior_golden__cells(void **state) {
  (void)state;
  if (!has_libclang) skip();
  DIR *dir = opendir(CASES);
  assert_non_null(dir);
  int wrong = 0, count = 0;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    const char *end = strrchr(entry->d_name, '.');
    if (!end || strcmp(end, ".cl") != 0) continue;
    wrong += check_case(entry->d_name);
    count++;
  }
  closedir(dir);
  assert_true(count >= 40);
  assert_int_equal(wrong, 0);
}

/* The same source in other words: comments, layout, macros and names must not move the evidence. */
static void test_behavior_golden__spelling_says_nothing(void **state) {
  (void)state;
  static const char plain[] = "__kernel void k(__global const float *x, __global float *y, int n) {\n"
                              "  float s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s; }\n";
  static const char dressed[] =
      "// fused vload4 barrier\n#define tile_fused \\\n  y\n#define OP(a, b) a += /* __local */ b\n"
      "__kernel void k(__global const float *local_tile, __global float *y, int num_blocks) {\n"
      "  float acc_bias4 = 0; for (int wmma = 0; wmma < num_blocks; wmma++) { OP(acc_bias4, "
      "local_tile[wmma]); }\n"
      "  tile_fused[0] = acc_bias4;\n}\n";
  if (!has_libclang) skip();
  const char *entry = "k", *sources[] = {plain, dressed};
  char texts[2][700];
  for (int i = 0; i < 2; i++) {
    kf_evidence evidence;
    kf_buf note;
    kf_buf_init(&note, 1000);
    kf_evidence_request request = {.source = sources[i],
                                   .source_len = strlen(sources[i]),
                                   .options = "",
                                   .entries = &entry,
                                   .nentries = 1};
    assert_int_equal(kf_evidence_parse(&request, &evidence, &note, NULL), KF_OK);
    evidence_as_text(&evidence, texts[i], sizeof texts[i]);
    kf_buf_done(&note);
  }
  assert_string_equal(texts[0], texts[1]);
  assert_non_null(strstr(texts[0], "known=1"));
  assert_non_null(strstr(texts[0], "accumulators=1"));
}

static void test_behavior_golden__unknown_kernel_says_why(void **state) {
  (void)state;
  if (!has_libclang) skip();
  const char *entry = "missing", *source = "__kernel void k(__global float *y) { y[0] = 1; }";
  kf_evidence_request request = {
      .source = source, .source_len = strlen(source), .entries = &entry, .nentries = 1};
  kf_evidence evidence = {.known = true};
  kf_buf note;
  kf_buf_init(&note, 1000);
  assert_int_equal(kf_evidence_parse(&request, &evidence, &note, NULL), KF_OK);
  assert_false(evidence.known);
  assert_non_null(strstr(kf_buf_text(&note), "no kernel named \"missing\""));
  kf_buf_done(&note);
}

static bool find_libclang(void) {
  const char *entry = "k", *source = "__kernel void k(__global float *y) { y[0] = 1; }";
  kf_evidence_request request = {
      .source = source, .source_len = strlen(source), .entries = &entry, .nentries = 1};
  kf_evidence evidence = {0};
  kf_buf note;
  kf_buf_init(&note, 1000);
  bool known = kf_evidence_parse(&request, &evidence, &note, NULL) == KF_OK && evidence.known;
  if (!known) print_message("skipped without libclang: %s\n", kf_buf_text(&note));
  kf_buf_done(&note);
  return known;
}

int main(void) {
  kf_alloc_init();
  has_libclang = find_libclang();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_behavior_golden__cells),
      cmocka_unit_test(test_behavior_golden__spelling_says_nothing),
      cmocka_unit_test(test_behavior_golden__unknown_kernel_says_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
