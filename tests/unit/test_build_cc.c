/* links: kf_build */
/* C references through the system's compiler in the compiler sandbox. */
#include "test_build_fixture.h"

#include "build/build_log.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

static char work_dir[KF_PATH_MAX];

static void compile(const char *source, const char *const *options, int64_t timeout_ms, char **ret_object,
                    size_t *ret_len, kf_buf *log, kf_status expected) {
  kf_buf_init(log, 65536);
  *ret_object = NULL;
  kf_cc_request request = {.source = source,
                           .source_len = strlen(source),
                           .options = options,
                           .work_dir = work_dir,
                           .timeout_ms = timeout_ms};
  kf_status status = kf_cc_compile(&request, ret_object, ret_len, log, &fixture_err);
  if (status != expected) fail_msg("%d: %s", status, fixture_err.msg);
}

static void test_build_cc__makes_a_shared_object(void **state) {
  (void)state;
  static const char *const options[] = {"-DSCALE=3", "-lm", NULL};
  char *object = NULL, path[KF_PATH_MAX];
  size_t len = 0;
  kf_buf log;
  compile("#include <math.h>\ndouble f(double x) { return SCALE * sqrt(x); }\n", options, 60000, &object,
          &len, &log, KF_OK);
  if (!object) fail_msg("%s", kf_buf_text(&log));
  assert_int_equal(log.len, 0); /* nor does the linker mind what the filter denies */
  OK(kf_fs_join(path, work_dir, "copy.so", &fixture_err));
  OK(kf_fs_write(path, object, len, &fixture_err));
  void *library = dlopen(path, RTLD_NOW);
  assert_non_null(library);
  double (*f)(double);
  *(void **)&f = dlsym(library, "f");
  assert_true(f(4.0) == 6.0);
  dlclose(library);
  kf_free(object);
  kf_buf_done(&log);
}

static void test_build_cc__error_is_in_the_log(void **state) {
  (void)state;
  char *object = NULL;
  size_t len = 0;
  kf_buf log;
  compile("int f(void) {\n  return missing;\n}\n", NULL, 60000, &object, &len, &log, KF_OK);
  assert_null(object);
  assert_non_null(strstr(kf_buf_text(&log), "reference.c:2:10: error"));
  kf_buf_done(&log);
}

static void test_build_cc__sees_no_file_outside(void **state) {
  (void)state;
  static const char *const sources[] = {
      "#include \"/etc/passwd\"\n", "#include \"/root/.bashrc\"\n",
      "__asm__(\".section .data\\nf: .incbin \\\"/etc/passwd\\\"\\n.global f\\n.previous\");\n"};
  for (size_t i = 0; i < KF_COUNTOF(sources); i++) {
    char *object = NULL;
    size_t len = 0;
    kf_buf log;
    compile(sources[i], NULL, 60000, &object, &len, &log, KF_OK);
    assert_null(object);
    assert_null(strstr(kf_buf_text(&log), "root:"));
    assert_true(log.len > 0);
    kf_buf_done(&log);
  }
}

static void test_build_cc__time_is_limited(void **state) {
  (void)state;
  char *object = NULL, source[4096] = "#define D0 x = x * 3 + 1;\n";
  size_t len = 0;
  kf_buf log;
  for (int i = 1; i <= 22; i++) {
    char line[64];
    snprintf(line, sizeof line, "#define D%d D%d D%d\n", i, i - 1, i - 1);
    strncat(source, line, sizeof source - strlen(source) - 1);
  }
  strncat(source, "int f(int x) { D22 return x; }\n", sizeof source - strlen(source) - 1);
  int64_t start = kf_now_ms();
  compile(source, NULL, 1500, &object, &len, &log, KF_ETIMEOUT);
  assert_true(kf_now_ms() - start < 1500 + 2000);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  kf_buf_done(&log);
}

static void test_build_cc__missing_compiler(void **state) {
  (void)state;
  char *object = NULL;
  size_t len = 0;
  kf_buf log;
  setenv("KF_CC", "/nonexistent/cc", 1);
  compile("int x;\n", NULL, 60000, &object, &len, &log, KF_ENODEV);
  unsetenv("KF_CC");
  assert_non_null(strstr(fixture_err.hint, "gcc"));
  kf_buf_done(&log);
}

static void test_build_log__hides_folders_of_any_name(void **state) {
  (void)state;
  static const char dir[] = "/home/a b:(c)/kf-x", text[] = "/home/a b:(c)/kf-x/in.c:3:5: error in "
                                                           "'/home/a b:(c)/kf-x/in.c', /home/a\n";
  kf_buf log;
  kf_buf_init(&log, 4096);
  OK(kf_buf_append(&log, text, sizeof text - 1, &fixture_err));
  kf_build_log_clean(&log, dir, "kernel.cl", 4096);
  assert_string_equal(kf_buf_text(&log), "kernel.cl:3:5: error in 'kernel.cl', /home/a\n");
  kf_buf_done(&log);
}

static int make_dir(void **state) {
  (void)state;
  return kf_fs_mkdtemp(work_dir, "kf-test", &fixture_err) == KF_OK ? 0 : 1;
}

static int drop_dir(void **state) {
  (void)state;
  return kf_fs_remove_tree(work_dir, &fixture_err) == KF_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  kf_role_run(argc, argv, fixture_roles);
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_build_cc__makes_a_shared_object),
      cmocka_unit_test(test_build_cc__error_is_in_the_log),
      cmocka_unit_test(test_build_cc__sees_no_file_outside),
      cmocka_unit_test(test_build_cc__time_is_limited),
      cmocka_unit_test(test_build_cc__missing_compiler),
      cmocka_unit_test(test_build_log__hides_folders_of_any_name),
  };
  return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
