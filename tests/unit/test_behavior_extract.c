/* links: kf_behavior */
/* test_behavior_extract.c - the child reads the same as the process itself; hostile sources neither harm the
 * judge nor hold it up. */
#include "behavior/behavior.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sandbox/role.h"
#include <poll.h>

#include "test_behavior_case.h"

enum { LIMIT_MS = 33000, LOOK_MS = 20 }; /* three times 10 s of the child at idle priority, and its end */

static const kf_role_entry roles[] = {{"evidence", kf_evidence_main}, {NULL, NULL}};
static bool has_libclang;
static kf_screen last_screen;

static kf_evidence extract(const kf_evidence_request *request) {
  kf_evidence evidence = {.launches = -1};
  kf_err err = {0};
  int64_t begin_ms = kf_now_ms();
  kf_evidence_job *job = NULL;
  if (kf_evidence_start(request, "/", &job, &err) != KF_OK) fail_msg("%s", err.msg);
  for (bool done = false; !done;) {
    struct pollfd entry = {.fd = kf_evidence_fd(job), .events = POLLIN};
    poll(&entry, 1, LOOK_MS);
    int64_t step_ms = kf_now_ms();
    if (kf_evidence_step(job, &done, &err) != KF_OK) fail_msg("%s", err.msg);
    assert_true(kf_now_ms() - step_ms < LIMIT_MS / 2); /* it looks, it does not wait */
  }
  if (kf_evidence_take(job, &last_screen, &evidence, &err) != KF_OK) fail_msg("%s", err.msg);
  kf_evidence_free(job);
  assert_true(kf_now_ms() - begin_ms < LIMIT_MS);
  assert_true(evidence.launches >= 0);
  return evidence;
}

static kf_evidence extract_source(const char *source, size_t len) {
  const char *entry = "k";
  kf_evidence_request request = {
      .source = source, .source_len = len, .options = "-DN=4", .entries = &entry, .nentries = 1};
  return extract(&request);
}

static void test_behavior_extract__child_agrees_with_parse(void **state) {
  (void)state;
  if (!has_libclang) skip();
  static const char *const names[] = {"matmul_packed.cl", "split_two_launches.cl",
                                      "stencil_local_argument.cl"};
  for (size_t i = 0; i < KF_COUNTOF(names); i++) {
    char path[KF_PATH_MAX], own[700], childs[700];
    snprintf(path, sizeof path, KF_TEST_SOURCE_DIR "/tests/cases/behavior/%s", names[i]);
    behavior_case *c = case_load(path);
    kf_evidence_request request = case_request(c);
    kf_evidence here, there = extract(&request);
    kf_buf note;
    kf_buf_init(&note, 1000);
    assert_int_equal(kf_evidence_parse(&request, &here, &note, NULL), KF_OK);
    evidence_as_text(&here, own, sizeof own);
    evidence_as_text(&there, childs, sizeof childs);
    assert_true(there.known);
    assert_string_equal(own, childs);
    assert_string_equal(there.source, "syntax");
    kf_buf_done(&note);
    case_done(c);
  }
}

static void test_behavior_extract__entries_and_any_bytes(void **state) {
  (void)state;
  if (!has_libclang) skip();
  static const char source[] = "/* caf\xe9 \xff\xfe */ __kernel void k(__global float4 *y) { y[0] = y[1]; }";
  kf_evidence evidence = extract_source(source, strlen(source));
  assert_true(evidence.known);
  assert_int_equal(last_screen.state, KF_SCREEN_CLEAN);
  assert_int_equal(evidence.vector_width, 4);
}

static void test_behavior_extract__no_library_is_not_known(void **state) {
  (void)state;
  const char *before = getenv("KF_LIBCLANG");
  char *kept = before ? kf_strdup(before) : NULL;
  setenv("KF_LIBCLANG", "/nowhere/libclang.so", 1);
  kf_evidence evidence = extract_source("__kernel void k(void) {}", 24);
  assert_false(evidence.known);
  assert_int_equal(last_screen.state, KF_SCREEN_UNREAD);
  static const char hostile[] = "__kernel void k(void) { __asm__(\"nop\"); }";
  extract_source(hostile, strlen(hostile));
  assert_int_equal(last_screen.state, KF_SCREEN_REFUSED); /* the text needs no parser */
  if (kept)
    setenv("KF_LIBCLANG", kept, 1);
  else
    unsetenv("KF_LIBCLANG");
  kf_free(kept);
}

/* `count` times `piece` between `before` and `after`. */
static char *repeated(const char *before, const char *piece, size_t count, const char *after) {
  size_t len = strlen(piece), head = strlen(before);
  char *text = kf_alloc(head + len * count + strlen(after) + 1);
  assert_non_null(text);
  memcpy(text, before, head);
  for (size_t i = 0; i < count; i++)
    memcpy(text + head + i * len, piece, len);
  memcpy(text + head + count * len, after, strlen(after) + 1);
  return text;
}

static void survives(char *text) {
  extract_source(text, strlen(text));
  kf_free(text);
}

static void test_behavior_extract__deep_sources(void **state) {
  (void)state;
  if (!has_libclang) skip();
  survives(repeated("__kernel void k(__global int *y) { y[0] = ", "(", 100000, "1; }"));
  survives(repeated("__kernel void k(__global int *y) { y[0] = 1", "+y[1]", 200000, "; }"));
  survives(repeated("__kernel void k(__global int *y) ", "{", 100000, ""));
  survives(repeated("__kernel void k(__global int *y) { ", "if (y[0]) return;", 60000, "}"));
  survives(repeated("__kernel void k(__global int *y) { ", "for (;;) ", 20000, ";}"));
  survives(repeated("__kernel void k(__global int *y) { y[0] = ", "-", 100000, "1; }"));
  survives(repeated("#define A0 1\n__kernel void k(__global int ", "*", 50000, "y) { }"));
}

static void test_behavior_extract__wide_and_hostile_sources(void **state) {
  (void)state;
  if (!has_libclang) skip();
  static const char *const sources[] = {
      "__kernel void k(__global int *y) { __local int t[1l << 62]; int p[4][1 << 30][1 << 30]; p[y[0]][0][0] "
      "+= y[1]; y[0] = t[1]; }",
      "void a(__global int *y); void b(__global int *y) { a(y); a(y); } void a(__global int *y) { b(y); "
      "b(y); }"
      "__kernel void k(__global int *y) { a(y); k(y); }",
      "#include \"kernel.cl\"\n#include </etc/passwd>\n__kernel void k(void) {}",
      "#define A A A\n#define B(x) B(x) x B(x)\n__kernel void k(__global int *y) { A; B(B(B(1))); ",
      "__kernel void k(__global int *y) { if (",
      "\x01\x02)]}>",
      "",
      "__kernel",
      "__kernel void k(int n) { for (int i = 0; i < n / 0; i += 0) switch (n) { case 1 ... 5: default: ; } }",
      "__kernel void k(__global int *y) { y[0] = 9223372036854775807l * 2 % 0 << 99 >> -1; }",
      "__kernel void k(__global int *y) { l: goto l; ({ int z = 1; z; }); asm(\"nop\"); y[y[y[0]++]++]++; }",
      "struct s { struct s *n; __global int *p; }; __kernel void k(__global struct s *s) { s->n->n->p[0] = "
      "*&*&*s->p; }",
  };
  for (size_t i = 0; i < KF_COUNTOF(sources); i++)
    extract_source(sources[i], strlen(sources[i]));
  survives(
      repeated("#define D0 y[0]+=1;\n", "#define X X X\n", 1000, "__kernel void k(__global int *y) { X }"));
  survives(repeated("void f0(__global int *y) { y[0]++; }\n", "", 0,
                    "__kernel void k(__global int *y) { f0(y); }"));
  survives(repeated("__kernel void k(__global int *y) { ", "y[0] += vload4(0, y).x; ", 3000, "}"));
  extract_source("__kernel void k(void) {\0}", 25);
}

/* Helpers that call the next one twice: 2^n calls if they are inlined without a bound. */
static void test_behavior_extract__exponential_helpers(void **state) {
  (void)state;
  if (!has_libclang) skip();
  char text[8192] = "void f0(__global int *y) { y[0] += y[1]; }\n";
  size_t len = strlen(text);
  for (int i = 1; i < 60; i++)
    len += (size_t)snprintf(text + len, sizeof text - len,
                            "void f%d(__global int *y) { f%d(y); f%d(y + 1); }\n", i, i - 1, i - 1);
  snprintf(text + len, sizeof text - len, "__kernel void k(__global int *y) { f59(y); }\n");
  extract_source(text, strlen(text));
}

/* Macros that double 40 times: libclang runs into the limit of time or memory, and the judge goes on. */
static void test_behavior_extract__exploding_macros(void **state) {
  (void)state;
  if (!has_libclang) skip();
  char text[8192] = "#define A0 y[0]+=1;\n";
  size_t len = strlen(text);
  for (int i = 1; i < 40; i++)
    len += (size_t)snprintf(text + len, sizeof text - len, "#define A%d A%d A%d\n", i, i - 1, i - 1);
  snprintf(text + len, sizeof text - len, "__kernel void k(__global int *y) { A39 }\n");
  assert_false(extract_source(text, strlen(text)).known);
  assert_int_equal(last_screen.state, KF_SCREEN_UNREADABLE); /* if the compiler takes it, it is refused */
}

static void test_behavior_extract__random_bytes(void **state) {
  (void)state;
  if (!has_libclang) skip();
  uint64_t x = 88172645463325252u; /* xorshift64 (Marsaglia 2003) */
  for (int round = 0; round < 5; round++) {
    char text[4096];
    for (size_t i = 0; i < sizeof text; i++) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      text[i] = (char)(round & 1 ? " (){};*+=kernel_global\n\"#1"[x % 27] : (char)x);
    }
    extract_source(text, sizeof text);
  }
}

/* In this process: a child that fails must not look like a missing library. */
static bool find_libclang(void) {
  const char *entry = "k", *source = "__kernel void k(void) {}";
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

int main(int argc, char **argv) {
  kf_role_run(argc, argv, roles);
  kf_alloc_init();
  has_libclang = find_libclang();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_behavior_extract__child_agrees_with_parse),
      cmocka_unit_test(test_behavior_extract__entries_and_any_bytes),
      cmocka_unit_test(test_behavior_extract__no_library_is_not_known),
      cmocka_unit_test(test_behavior_extract__deep_sources),
      cmocka_unit_test(test_behavior_extract__wide_and_hostile_sources),
      cmocka_unit_test(test_behavior_extract__exponential_helpers),
      cmocka_unit_test(test_behavior_extract__exploding_macros),
      cmocka_unit_test(test_behavior_extract__random_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
