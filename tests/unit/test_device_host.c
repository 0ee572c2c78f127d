/* links: kf_build */
/* The host form in C: what the compiler makes, which objects are refused before they are loaded, and calls.
 */
#include "test_build_fixture.h"

#include "device/calls_blob.h"
#include "device/host_object.h"
#include <elf.h>

#define HEAD "#include \"kf_call.h\"\n"
#define RUN(body)                                                                                            \
  HEAD "int kf_run(const kf_call *call) {\n"                                                                 \
       "  const float *x = call->args[0].ptr; float *y = call->args[1].ptr; const int64_t n = "              \
       "call->symbols[0];\n" body "\n}\n"

static const char doubling[] = RUN("for (int64_t i = 0; i < n; i++) y[i] = FACTOR * x[i]; return 0;");
static const char threads[] = "#include <math.h>\n" RUN(
    "_Pragma(\"omp parallel for\") for (int64_t i = 0; i < n; i++) y[i] = expf(x[i]); return 0;");

/* The plan of the fixture in the host form: x, y and n. */
typedef struct {
  fixture_plan plan;
  kf_host_call host;
} host_plan;

static void host_plan_init(host_plan *p, int64_t n) {
  fixture_plan_init(&p->plan, "kf_run", n, 1, 1);
  p->plan.steps[0].kind = KF_STEP_HOST_RUN;
  memset(&p->host, 0, sizeof p->host);
  p->host.nargs = 3;
  p->host.nsymbols = 1;
  p->host.symbols[0] = n;
  for (int i = 0; i < 2; i++) {
    p->host.args[i].type = KF_TYPE_F32;
    p->host.args[i].role = i == 0 ? KF_ROLE_IN : KF_ROLE_OUT;
    p->host.args[i].rank = 1;
    p->host.args[i].shape[0] = n;
  }
  p->host.args[2].type = KF_TYPE_I32;
  p->host.args[2].role = KF_ROLE_SIZE;
  p->plan.calls.host = &p->host;
}

static void build_with(const char *source, const char *options, const kf_calls *calls,
                       kf_build_outcome *ret) {
  char dir[KF_PATH_MAX];
  kf_build *build = NULL;
  fixture_dir(dir);
  kf_build_request request = fixture_request(source, &calls, calls ? 1 : 0, dir);
  request.options = options;
  OK(kf_build_start(&request, &build, &fixture_err));
  fixture_build_wait(build, ret);
  kf_build_free(build);
  fixture_remove(dir);
}

static void test_host__builds_and_runs(void **state) {
  (void)state;
  host_plan p;
  kf_build_outcome outcome;
  fixture_run run;
  host_plan_init(&p, 1001);
  build_with(doubling, "-DFACTOR=2.0f", &p.plan.calls, &outcome);
  if (outcome.result.code != KF_RUN_OK) fail_msg("%s\n%s", outcome.result.text, outcome.log);
  assert_null(outcome.workspace);
  fixture_run_start(&run, outcome.artefact, outcome.artefact_len, &p.plan.calls, FIXTURE_CALL_MS);
  kf_build_outcome_done(&outcome);
  assert_int_equal(run.result.code, KF_RUN_OK);
  fixture_run_once(&run, 3);
  assert_int_equal(run.result.code, KF_RUN_OK);
  const float *y = kf_region_data(run.regions[1], 0);
  for (int i = 0; i < 1001; i++)
    assert_true(y[i] == 2.0f * (float)i);
  fixture_run_done(&run);
}

static void test_host__compiler_errors_name_the_file(void **state) {
  (void)state;
  kf_build_outcome outcome;
  build_with(HEAD "int kf_run(const kf_call *call) { return cal; }\n", "", NULL, &outcome);
  assert_int_equal(outcome.result.code, KF_RUN_BUILD_FAILED);
  assert_non_null(strstr(outcome.log, "kernel.c:2:"));
  assert_null(outcome.artefact);
  kf_build_outcome_done(&outcome);
}

static void test_host__workspace_is_asked_for_each_plan(void **state) {
  (void)state;
  static const char source[] =
      HEAD "uint64_t kf_workspace(const kf_call *call) {\n"
           "  return call->args[0].ptr || call->workspace ? 1 : (uint64_t)call->symbols[0] * 8; }\n"
           "int kf_run(const kf_call *call) { return call->workspace_bytes == 8 * "
           "(uint64_t)call->symbols[0] ? 0 : 5; }\n";
  host_plan small, large;
  kf_build_outcome outcome;
  kf_build *build = NULL;
  char dir[KF_PATH_MAX];
  host_plan_init(&small, 3);
  host_plan_init(&large, 1000);
  const kf_calls *plans[] = {&small.plan.calls, &large.plan.calls};
  fixture_dir(dir);
  kf_build_request request = fixture_request(source, plans, 2, dir);
  OK(kf_build_start(&request, &build, &fixture_err));
  fixture_build_wait(build, &outcome);
  kf_build_free(build);
  fixture_remove(dir);
  assert_int_equal(outcome.result.code, KF_RUN_OK);
  assert_non_null(outcome.workspace);
  assert_int_equal(outcome.workspace[0], 24);
  assert_int_equal(outcome.workspace[1], 8000);
  kf_build_outcome_done(&outcome);
}

static void run_failing(const char *source, fixture_run *run) {
  static host_plan p;
  host_plan_init(&p, 1024);
  fixture_try(source, &p.plan.calls, 2000, run);
}

static void test_host__failures_of_a_call(void **state) {
  (void)state;
  static const struct {
    const char *source;
    kf_run_code code;
    const char *text;
  } list[] = {
      {RUN("y[0] = x[0]; return n == 1024 ? -4 : 0;"), KF_RUN_LAUNCH_FAILED, "kf_run returned -4"},
      {RUN("y[n + 1] = x[0]; return 0;"), KF_RUN_WRONG_MEMORY, "4 bytes past the end of y"},
      {RUN("((float *)x)[3] = y[0]; return 0;"), KF_RUN_WRONG_MEMORY, "write to the input x at byte 12"},
      {RUN("__builtin_trap(); return y[0] == x[n - 1];"), KF_RUN_CRASHED, "signal"},
      {RUN("volatile int go = 1; while (go) ; return y[0] == x[n - 1];"), KF_RUN_TIMED_OUT, ""},
  };
  for (size_t i = 0; i < KF_COUNTOF(list); i++) {
    fixture_run run;
    run_failing(list[i].source, &run);
    if (run.result.code != list[i].code || !strstr(run.result.text, list[i].text))
      fail_msg("case %zu: code %d, %s", i, (int)run.result.code, run.result.text);
    fixture_run_done(&run);
  }
}

/* What one call writes into the kf_call it is shown is not there in the next. */
static void test_host__a_call_sees_a_fresh_frame(void **state) {
  (void)state;
  fixture_run run;
  run_failing(RUN("kf_arg *arg = (kf_arg *)&call->args[2];\n"
                  "if (arg->flags != 0 || *(int32_t *)arg->ptr != n) return 6;\n"
                  "arg->flags = 1; *(int32_t *)arg->ptr = 0; ((int64_t *)call->args[0].shape)[0] = 1;\n"
                  "y[0] = x[0]; return call->args[1].shape[0] != n;"),
              &run);
  assert_int_equal(run.result.code, KF_RUN_OK);
  fixture_run_once(&run, 5);
  assert_int_equal(run.result.code, KF_RUN_OK);
  fixture_run_done(&run);
}

/* ---- objects ---- */

typedef struct {
  unsigned char *bytes; /* of exactly len bytes, so that a sanitizer sees a read beyond */
  size_t len;
} image;

static image image_of(const char *source) {
  kf_build_outcome outcome;
  build_with(source, "-DFACTOR=2.0f", NULL, &outcome);
  if (outcome.result.code != KF_RUN_OK) fail_msg("%s\n%s", outcome.result.text, outcome.log);
  image object = {kf_memdup(outcome.artefact, outcome.artefact_len), outcome.artefact_len};
  assert_non_null(object.bytes);
  kf_build_outcome_done(&outcome);
  return object;
}

static const char *why_not(const image *object) {
  static kf_host_object found;
  kf_host_object_check(object->bytes, object->len, &found);
  if (found.why[0]) assert_false(found.has_run || found.has_workspace);
  return found.why;
}

static void expect_why(const image *object, const char *part) {
  const char *why = why_not(object);
  if (!strstr(why, part)) fail_msg("\"%s\" lacks \"%s\"", why, part);
}

static Elf64_Phdr *segment_of(const image *object, uint32_t type, uint32_t flags) {
  Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)object->bytes;
  Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(object->bytes + header->e_phoff);
  for (int i = 0; i < header->e_phnum; i++)
    if (segments[i].p_type == type && (segments[i].p_flags & flags) == flags) return &segments[i];
  fail_msg("no segment of type %u", type);
  return NULL;
}

static Elf64_Dyn *tag_of(const image *object, int64_t tag) {
  Elf64_Phdr *segment = segment_of(object, PT_DYNAMIC, 0);
  Elf64_Dyn *table = (Elf64_Dyn *)(void *)(object->bytes + segment->p_offset);
  for (; table->d_tag != DT_NULL; table++)
    if (table->d_tag == tag) return table;
  fail_msg("no tag %lld", (long long)tag);
  return NULL;
}

/* Puts a name of the same length in place of another in the table of strings. */
static void rename_symbol(const image *object, const char *from, const char *to) {
  const unsigned char *strings = object->bytes + tag_of(object, DT_STRTAB)->d_un.d_val;
  size_t len = tag_of(object, DT_STRSZ)->d_un.d_val, width = strlen(from) + 1;
  assert_int_equal(width, strlen(to) + 1);
  unsigned char *at = memmem(strings, len, from, width);
  assert_non_null(at);
  memcpy(at, to, width);
}

static void test_object__honest_ones_pass(void **state) {
  (void)state;
  const char *const sources[] = {doubling, threads};
  for (size_t i = 0; i < KF_COUNTOF(sources); i++) {
    image object = image_of(sources[i]);
    kf_host_object found;
    kf_host_object_check(object.bytes, object.len, &found);
    assert_string_equal(found.why, "");
    assert_true(found.has_run);
    assert_false(found.has_workspace);
    kf_free(object.bytes);
  }
}

static void test_object__patched_ones_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *why;
  } names[] = {{"libm.so.6", "libx.so.6", "needs the library libx.so.6"},
               {"expf", "exit", "it calls exit"},
               {"expf", "fork", "it calls fork"},
               {"kf_run", "kf_ran", "it exports kf_ran"},
               {"GOMP_parallel", "pthread_creat", "it calls pthread_creat"}};
  image object = image_of(threads);
  image copy = {kf_alloc(object.len), object.len};
  for (size_t i = 0; i < KF_COUNTOF(names); i++) {
    memcpy(copy.bytes, object.bytes, object.len);
    rename_symbol(&copy, names[i].from, names[i].to);
    expect_why(&copy, names[i].why);
  }
#define PATCHED(change, part)                                                                                \
  do {                                                                                                       \
    memcpy(copy.bytes, object.bytes, object.len);                                                            \
    change;                                                                                                  \
    expect_why(&copy, part);                                                                                 \
  } while (0)
  PATCHED(segment_of(&copy, PT_GNU_STACK, 0)->p_flags |= PF_X, "executable stack");
  PATCHED(segment_of(&copy, PT_GNU_STACK, 0)->p_type = PT_NOTE, "executable stack");
  PATCHED(segment_of(&copy, PT_LOAD, PF_W)->p_flags |= PF_X, "writable and executable");
  PATCHED(segment_of(&copy, PT_LOAD, PF_X)->p_flags |= PF_W, "writable and executable");
  PATCHED(segment_of(&copy, PT_GNU_RELRO, 0)->p_type = PT_NOTE, "writable static data");
  PATCHED(segment_of(&copy, PT_LOAD, PF_W)->p_memsz += 4096, "writable static data");
  PATCHED(segment_of(&copy, PT_NOTE, 0)->p_type = PT_TLS, "thread-local");
  PATCHED(segment_of(&copy, PT_NOTE, 0)->p_type = PT_INTERP, "segment of type");
  PATCHED(segment_of(&copy, PT_DYNAMIC, 0)->p_vaddr = (uint64_t)1 << 40, "dynamic section");
  PATCHED(tag_of(&copy, DT_PLTGOT)->d_tag = DT_INIT, "constructor");
  PATCHED(tag_of(&copy, DT_PLTGOT)->d_tag = DT_INIT_ARRAY, "constructor");
  PATCHED(tag_of(&copy, DT_PLTGOT)->d_tag = DT_RUNPATH, "dynamic tag");
  PATCHED(tag_of(&copy, DT_PLTGOT)->d_tag = DT_TEXTREL, "relocations in code");
  PATCHED(tag_of(&copy, DT_FLAGS)->d_un.d_val |= DF_TEXTREL, "relocations in code");
  PATCHED(tag_of(&copy, DT_HASH)->d_un.d_val = (uint64_t)1 << 40, "no table of symbols");
  PATCHED(tag_of(&copy, DT_PLTRELSZ)->d_un.d_val = (uint64_t)1 << 40, "outside");
  PATCHED(tag_of(&copy, DT_STRSZ)->d_un.d_val = UINT64_MAX, "without a name");
  PATCHED(((Elf64_Ehdr *)(void *)copy.bytes)->e_machine = EM_386, "of this machine");
  PATCHED(((Elf64_Ehdr *)(void *)copy.bytes)->e_phoff = UINT64_MAX - 8, "cut short");
  PATCHED(((Elf64_Ehdr *)(void *)copy.bytes)->e_phnum = 1000, "segments");
#if defined(__x86_64__)
  PATCHED(*(uint32_t *)(void *)(copy.bytes + tag_of(&copy, DT_JMPREL)->d_un.d_val + 8) = R_X86_64_IRELATIVE,
          "IFUNC");
#endif
  kf_free(copy.bytes);
  kf_free(object.bytes);
}

/* No prefix of an object passes, and none is read beyond its end. */
static void test_object__cut_short_anywhere(void **state) {
  (void)state;
  image object = image_of(threads);
  size_t loaded = 0; /* what comes behind is section headers and symbols for debuggers, which nobody loads */
  for (int i = 0; i < 2; i++) {
    const Elf64_Phdr *segment = segment_of(&object, PT_LOAD, i == 0 ? PF_X : PF_W);
    if (segment->p_offset + segment->p_filesz > loaded) loaded = segment->p_offset + segment->p_filesz;
  }
  for (size_t len = 0; len < loaded; len += len < 1500 ? 1 : 37) {
    image part = {kf_alloc(len ? len : 1), len};
    memcpy(part.bytes, object.bytes, len);
    if (why_not(&part)[0] == '\0') fail_msg("%zu of %zu bytes pass", len, object.len);
    kf_free(part.bytes);
  }
  kf_free(object.bytes);
}

/* Every byte of headers and tables at several values: whatever comes out, it comes out. */
static void test_object__any_byte_changed(void **state) {
  (void)state;
  static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  image object = image_of(threads);
  size_t tables = segment_of(&object, PT_LOAD, PF_X)->p_offset;
  Elf64_Phdr *dynamic = segment_of(&object, PT_DYNAMIC, 0);
  int refused = 0;
  for (size_t i = 0; i < object.len; i++) {
    bool wanted = i < tables || (i >= dynamic->p_offset && i < dynamic->p_offset + dynamic->p_filesz);
    unsigned char kept = object.bytes[i];
    for (size_t v = 0; wanted && v < KF_COUNTOF(values); v++) {
      object.bytes[i] = values[v];
      refused += why_not(&object)[0] != '\0';
    }
    object.bytes[i] = kept;
  }
  assert_true(refused > 1000);
  expect_why(&object, "");
  kf_free(object.bytes);
}

static void test_host__a_plan_survives_its_blob(void **state) {
  (void)state;
  host_plan p;
  kf_calls *back = NULL;
  size_t used = 0;
  kf_buf blob;
  host_plan_init(&p, 77);
  kf_buf_init(&blob, KF_CALLS_BLOB_MAX);
  OK(kf_calls_pack(&p.plan.calls, &blob, &fixture_err));
  OK(kf_calls_unpack(blob.data, blob.len, &used, &back, &fixture_err));
  assert_int_equal(used, blob.len);
  assert_memory_equal(back->host, &p.host, sizeof p.host);
  kf_calls_unpacked_free(back);
  kf_err err;
  assert_int_equal(kf_calls_unpack(blob.data, blob.len - 1, &used, &back, &err), KF_EPROTO);
  p.host.nargs = 2; /* not what the step passes */
  kf_buf_clear(&blob);
  OK(kf_calls_pack(&p.plan.calls, &blob, &fixture_err));
  assert_int_equal(kf_calls_unpack(blob.data, blob.len, &used, &back, &err), KF_EPROTO);
  p.host.nargs = 3;
  p.host.args[1].rank = KF_RANK_MAX + 1;
  kf_buf_clear(&blob);
  OK(kf_calls_pack(&p.plan.calls, &blob, &fixture_err));
  assert_int_equal(kf_calls_unpack(blob.data, blob.len, &used, &back, &err), KF_EPROTO);
  kf_buf_done(&blob);
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  fixture_device = "cpu:0";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host__builds_and_runs),
      cmocka_unit_test(test_host__compiler_errors_name_the_file),
      cmocka_unit_test(test_host__workspace_is_asked_for_each_plan),
      cmocka_unit_test(test_host__failures_of_a_call),
      cmocka_unit_test(test_host__a_call_sees_a_fresh_frame),
      cmocka_unit_test(test_object__honest_ones_pass),
      cmocka_unit_test(test_object__patched_ones_are_refused),
      cmocka_unit_test(test_object__cut_short_anywhere),
      cmocka_unit_test(test_object__any_byte_changed),
      cmocka_unit_test(test_host__a_plan_survives_its_blob),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
