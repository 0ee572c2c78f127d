/* links: kf_base kf_wire kf_build */
/* test_build_compile_log.c - logs of PoCL, clang and gcc as they come, and logs that are none. */
#include "build/compile_log.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX = KF_VERDICT_ERRORS_MAX };

static int read_log(const char *log, kf_compile_error *ret_errors) {
  return kf_compile_log_errors(log, strlen(log), ret_errors, MAX);
}

static void expect(const kf_compile_error *error, const char *file, int line, int col, const char *category,
                   const char *message) {
  assert_string_equal(error->file, file);
  assert_int_equal(error->line, line);
  assert_int_equal(error->col, col);
  assert_string_equal(error->category, category);
  assert_string_equal(error->message, message);
}

static void test_build_compile_log__pocl(void **state) {
  (void)state;
  static const char log[] =
      "error: kernel:2:15: program scope variable must reside in constant address space\n"
      "error: kernel:6:8: read-only variable is not assignable\n"
      "error: kernel:7:8: declaring variable of type '__private half' is not allowed\n"
      "error: kernel:8:22: too few elements in vector initialization (expected 4 elements, have 2)\n"
      "error: kernel:9:10 <Spelling=/lib/x86_64-linux-gnu/../../share/pocl/include/"
      "_builtin_renames.h:76:24>: no matching function for call to '_cl_dot'\n"
      "error: kernel:10:16: cannot convert between vector and non-scalar values ('float3' (vector of 3 "
      "'float' values) and '__private float *')\n"
      "error: kernel:11:9: 'a' declared as an array with a negative size\n"
      "error: kernel:12:3: use of undeclared identifier 'undefined_fn'\n"
      "error: kernel:14:1: expected identifier\n"
      "Device pthread-skylake-avx512-Intel(R) Xeon(R) Processor failed to build the program\n";
  kf_compile_error errors[MAX];
  assert_int_equal(read_log(log, errors), MAX); /* the ninth is one too many */
  expect(&errors[0], "kernel", 2, 15, "address_space",
         "program scope variable must reside in constant address space");
  expect(&errors[1], "kernel", 6, 8, "type", "read-only variable is not assignable");
  assert_string_equal(errors[2].category, "builtin");
  assert_string_equal(errors[3].category, "type");
  expect(&errors[4], "kernel", 9, 10, "builtin", "no matching function for call to '_cl_dot'");
  assert_string_equal(errors[5].category, "type");
  assert_string_equal(errors[6].category, "limit");
  expect(&errors[7], "kernel", 12, 3, "undeclared", "use of undeclared identifier 'undefined_fn'");
  assert_string_equal(errors[7].severity, "error");
}

static void test_build_compile_log__pocl_without_places(void **state) {
  (void)state;
  kf_compile_error errors[MAX];
  assert_int_equal(read_log("Error(s) while linking: \nCannot find symbol helper in kernel library\n"
                            "Device x failed to build the program\n",
                            errors),
                   1);
  expect(&errors[0], "", 0, 0, "undeclared", "Cannot find symbol helper in kernel library");
  assert_int_equal(read_log("error: kernel:2:2: \"no way\"\n", errors), 1);
  expect(&errors[0], "kernel", 2, 2, "other", "\"no way\"");
  assert_int_equal(read_log("error: unknown argument: '-foo'\n", errors), 1);
  expect(&errors[0], "", 0, 0, "other", "unknown argument: '-foo'");
}

static void test_build_compile_log__clang(void **state) {
  (void)state;
  static const char log[] =
      "/tmp/a b/e3.cl:4:10: error: initializing '__private float *__private' with an expression of type "
      "'const __global float *__private' changes address space of pointer\n"
      "  float *p = x;\n         ^   ~\n"
      "e3.cl:5:1: warning: unused variable 'q'\n"
      "e3.cl:5:1: note: expanded from macro 'F'\n"
      "e3.cl:6:2: fatal error: 'none.h' file not found\n1 warning and 2 errors generated.\n";
  kf_compile_error errors[MAX];
  assert_int_equal(read_log(log, errors), 2);
  assert_string_equal(errors[0].file, "/tmp/a b/e3.cl");
  assert_string_equal(errors[0].category, "address_space");
  expect(&errors[1], "e3.cl", 6, 2, "preprocessor", "'none.h' file not found");
  assert_string_equal(errors[1].severity, "fatal");
}

static void test_build_compile_log__gcc(void **state) {
  (void)state;
  static const char log[] =
      "kernel.c: In function \xe2\x80\x98kf_run\xe2\x80\x99:\n"
      "kernel.c:3:11: error: implicit declaration of function \xe2\x80\x98"
      "foo\xe2\x80\x99 [-Werror=implicit-function-declaration]\n"
      "    3 |   int i = foo(3);\n      |           ^~~\n"
      "kernel.c:4:13: note: each undeclared identifier is reported only once\n"
      "kernel.c:5:13: error: incompatible types when initializing type \xe2\x80\x98"
      "char *\xe2\x80\x99 using type \xe2\x80\x98"
      "float\xe2\x80\x99\n"
      "kernel.c:6: error: unknown type name \xe2\x80\x98vec4\xe2\x80\x99\n"
      "kernel.c:7:11: error: expected \xe2\x80\x98;\xe2\x80\x99 before \xe2\x80\x98}\xe2\x80\x99 token\n"
      "cc1: some warnings being treated as errors\n"
      "/usr/bin/ld: /tmp/ccn2EiHE.o: in function `kf_run':\n"
      "kernel.c:(.text+0xa): undefined reference to `missing'\n"
      "collect2: error: ld returned 1 exit status\n";
  kf_compile_error errors[MAX];
  assert_int_equal(read_log(log, errors), 5);
  assert_int_equal(errors[0].line, 3);
  assert_string_equal(errors[0].category, "undeclared");
  assert_string_equal(errors[1].category, "type");
  assert_int_equal(errors[2].line, 6);
  assert_int_equal(errors[2].col, 0);
  assert_string_equal(errors[3].category, "syntax");
  expect(&errors[4], "", 0, 0, "undeclared", "kernel.c:(.text+0xa): undefined reference to `missing'");
}

static void test_build_compile_log__repeats_are_told_once(void **state) {
  (void)state;
  kf_compile_error errors[MAX];
  assert_int_equal(read_log("a.c:1:2: error: x\na.c:1:2: error: x\na.c:1:3: error: x\n", errors), 2);
  assert_int_equal(errors[1].col, 3);
}

static void test_build_compile_log__what_is_no_log(void **state) {
  (void)state;
  static const char *const logs[] = {"",
                                     "\n\n",
                                     ":",
                                     ":1:1: error:",
                                     "error:",
                                     "error:   \n",
                                     "a:1:2:",
                                     "a:1:2: error: ",
                                     "a:99",
                                     "error: kernel:1:2 <Spelling=no end: x",
                                     "ninety: errors"};
  kf_compile_error errors[MAX];
  for (size_t i = 0; i < KF_COUNTOF(logs); i++)
    assert_true(read_log(logs[i], errors) <= 1);
  assert_int_equal(read_log("a:99999999999999999999:88888888888888888888: error: x", errors), 1);
  assert_true(errors[0].line > 0 && errors[0].col > 0);
  assert_int_equal(kf_compile_log_errors("a:1:1: error: \0hidden\n", 22, errors, MAX), 0);
  static char wide[1 << 16];
  memset(wide, 'x', sizeof wide);
  memcpy(wide, "f:1:1: error: \xc3\xa4", 16);
  assert_int_equal(kf_compile_log_errors(wide, sizeof wide, errors, MAX), 1);
  assert_int_equal(strlen(errors[0].message), sizeof errors[0].message - 1);
}

static void test_build_compile_log__a_cut_is_between_characters(void **state) {
  (void)state;
  char log[600] = "f:1:1: error: x";
  for (size_t at = strlen(log); at + 2 < 500; at += 2)
    memcpy(log + at, "\xc3\xa4", 3);
  kf_compile_error errors[MAX];
  assert_int_equal(read_log(log, errors), 1);
  size_t len = strlen(errors[0].message);
  assert_true(len < sizeof errors[0].message && len % 2 == 1 &&
              (unsigned char)errors[0].message[len - 1] == 0xa4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_build_compile_log__pocl),
      cmocka_unit_test(test_build_compile_log__pocl_without_places),
      cmocka_unit_test(test_build_compile_log__clang),
      cmocka_unit_test(test_build_compile_log__gcc),
      cmocka_unit_test(test_build_compile_log__repeats_are_told_once),
      cmocka_unit_test(test_build_compile_log__what_is_no_log),
      cmocka_unit_test(test_build_compile_log__a_cut_is_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
