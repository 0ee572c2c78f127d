/* links: kf_propose kf_task kf_wire kf_base
 * Which code of a Markdown answer is the candidate, and that hostile answers cost neither time nor memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "propose/propose.h"

#include "base/banned.h"

static void expect(const char *answer, kf_language language, const char *want) {
  char *source = NULL;
  size_t len = 0;
  const char *note = "";
  bool found = kf_answer_extract(answer, strlen(answer), language, &source, &len, &note);
  if (!found) print_message("not found: %s\n", note);
  assert_true(found);
  assert_string_equal(source, want);
  assert_int_equal(len, strlen(want));
  kf_free(source);
}

static void expect_none(const char *answer, const char *why) {
  char *source = NULL;
  size_t len = 0;
  const char *note = "";
  assert_false(kf_answer_extract(answer, strlen(answer), KF_LANG_OPENCL, &source, &len, &note));
  assert_non_null(strstr(note, why));
}

static void test_propose_answer__takes_the_block_of_the_language(void **state) {
  (void)state;
  expect("I vectorise.\n\n```opencl\nkernel A\n```\n", KF_LANG_OPENCL, "kernel A\n");
  expect("```python\nprint()\n```\n```cl\nB\n```\n```text\nC\n```\n", KF_LANG_OPENCL, "B\n");
  expect("~~~ OpenCL title=x\nD\n~~~\n", KF_LANG_OPENCL, "D\n");
  expect("```cuda\nE\n```\n```opencl\nF\n```\n", KF_LANG_CUDA, "E\n");
  expect("```{.c}\nG\n```\n", KF_LANG_OPENCL, "G\n"); /* the only block */
}

static void test_propose_answer__the_last_with_a_launch_wins(void **state) {
  (void)state;
  expect("```c\nhelper\n```\n```c\n//kf: launch f\nX\n```\n```c\nusage\n```\n", KF_LANG_OPENCL,
         "//kf: launch f\nX\n");
  expect("```c\n//kf: launch a\n```\n```c\n//kf: launch b\n```\n", KF_LANG_OPENCL, "//kf: launch b\n");
  /* A launch in a block of no language does not beat the language's own. */
  expect("```\n//kf: launch a\n```\n```opencl\nb\n```\n", KF_LANG_OPENCL, "b\n");
  expect("```c\nint kf_run(x);\n```\n```c\nusage();\n```\n", KF_LANG_C, "int kf_run(x);\n");
  expect("```\none\n```\n```\n//kf: param X = 1\n```\n", KF_LANG_OPENCL, "//kf: param X = 1\n");
}

static void test_propose_answer__indented_nested_and_unclosed_blocks(void **state) {
  (void)state;
  expect("1. Here:\n\n   ```opencl\n   int x;\n     int y;\n   ```\n", KF_LANG_OPENCL, "int x;\n  int y;\n");
  expect("> ```opencl\n> a[i] = b[j];\n> ```\n", KF_LANG_OPENCL, "a[i] = b[j];\n");
  expect("```opencl\nnever closed", KF_LANG_OPENCL, "never closed\n");
  expect("````opencl\n```\ninner\n```\n````\n", KF_LANG_OPENCL, "```\ninner\n```\n");
  expect("text\n\n    only indented\n", KF_LANG_OPENCL, "only indented\n");
}

static void test_propose_answer__code_comes_back_byte_by_byte(void **state) {
  (void)state;
  /* Everything that is masked for the parser: brackets, and markers deeper than any list. */
  const char *code = "a[b[0]](c) > d - e + f * g . h) ![[]()\n"
                     "                                                            - deep * > + 1. 2)\n"
                     "> > > > > > > > > > > > > > > > > > > > > > > > x\n"
                     "- - - - - - - - - - - - - - - - - - - - - - - - - y\n"
                     "1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. z\n"
                     "\tif (x[1] & 3) { y = \"&amp; \\[ \\* <b>\"; }\n";
  kf_buf answer KF_CLEANUP(kf_buf_done);
  kf_buf_init(&answer, 1 << 16);
  assert_int_equal(kf_buf_printf(&answer, NULL, "- a [link](x) list\n\n```opencl\n%s```\n", code), KF_OK);
  expect(kf_buf_text(&answer), KF_LANG_OPENCL, code);
  expect("```opencl\na\x01z\x02\xff\n```\n", KF_LANG_OPENCL,
         "a?z?\xef\xbf\xbd\n"); /* no control characters, valid UTF-8 */
}

static void test_propose_answer__says_why_there_is_none(void **state) {
  (void)state;
  expect_none("", "no code block");
  expect_none("I cannot do that.", "no code block");
  expect_none("```opencl\n   \n\t\n```\n", "no code block");
  expect_none("```\na\n```\n```\nb\n```\n", "several");
  char *huge = kf_alloc(KF_ANSWER_MAX + 2);
  assert_non_null(huge);
  memset(huge, 'x', KF_ANSWER_MAX + 1);
  huge[KF_ANSWER_MAX + 1] = '\0';
  expect_none(huge, "longer");
  kf_free(huge);
}

/* 1 MiB of each pattern; unmasked, some of these take minutes. */
static void test_propose_answer__hostile_text_takes_no_time(void **state) {
  (void)state;
  static const char *const patterns[] = {
      "![[]()", "[",    "- ",      "> ",       "1. ", "*a **b ", "_*", "a_",        "`a``",      "<",
      "&",      "\n- ", "\n> a\n", "* - + > ", "![",  "]",       "\t", "    - a\n", "```\n~~~\n"};
  char *text = kf_alloc(KF_ANSWER_MAX + 1);
  assert_non_null(text);
  for (size_t i = 0; i < KF_COUNTOF(patterns); i++) {
    size_t len = strlen(patterns[i]);
    for (int blanks = 0; blanks < 2; blanks++) {
      size_t filled = 0, until = blanks ? KF_ANSWER_MAX / 2 : KF_ANSWER_MAX;
      for (; filled + len <= until; filled += len)
        memcpy(text + filled, patterns[i], len);
      memset(text + filled, '\n', KF_ANSWER_MAX - filled);
      char *source = NULL;
      const char *note = "";
      int64_t begin = kf_cpu_ns();
      if (kf_answer_extract(text, KF_ANSWER_MAX, KF_LANG_OPENCL, &source, &len, &note)) kf_free(source);
      len = strlen(patterns[i]);
      int64_t ms = (kf_cpu_ns() - begin) / 1000000;
      if (ms > 20000) print_message("pattern %zu: %lld ms\n", i, (long long)ms);
      assert_in_range(ms, 0, 20000); /* a second or two; sanitizers and a loaded machine take more */
    }
  }
  kf_free(text);
}

/* Lists that nest line by line are as deep as their indentation allows. */
static void test_propose_answer__deep_nesting_is_cut(void **state) {
  (void)state;
  char *text = kf_alloc(KF_ANSWER_MAX + 1);
  assert_non_null(text);
  size_t filled = 0;
  for (size_t depth = 0; filled + depth + 4 < KF_ANSWER_MAX / 2; depth += 2) {
    memset(text + filled, ' ', depth);
    memcpy(text + filled + depth, "- a\n", 4);
    filled += depth + 4;
  }
  memset(text + filled, '\n', KF_ANSWER_MAX - filled);
  char *source = NULL;
  size_t len = 0;
  const char *note = "";
  int64_t begin = kf_cpu_ns();
  if (kf_answer_extract(text, KF_ANSWER_MAX, KF_LANG_OPENCL, &source, &len, &note)) kf_free(source);
  assert_in_range((kf_cpu_ns() - begin) / 1000000, 0, 20000);
  kf_free(text);
}

static void test_propose_answer__survives_any_failing_allocation(void **state) {
  (void)state;
  static const char answer[] = "# Title\n\n- a [b](c) *d*\n\n```opencl\n//kf: launch f\nkernel[0]\n```\n";
  for (unsigned long nth = 1;; nth++) {
    char *source = NULL;
    size_t len = 0;
    const char *note = "";
    kf_alloc_fail_at(nth, true);
    bool found = kf_answer_extract(answer, strlen(answer), KF_LANG_OPENCL, &source, &len, &note);
    kf_alloc_fail_at(0, false);
    if (found) {
      assert_string_equal(source, "//kf: launch f\nkernel[0]\n");
      kf_free(source);
      assert_true(nth > 10);
      break;
    }
    assert_non_null(strstr(note, "memory"));
  }
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_propose_answer__takes_the_block_of_the_language),
      cmocka_unit_test(test_propose_answer__the_last_with_a_launch_wins),
      cmocka_unit_test(test_propose_answer__indented_nested_and_unclosed_blocks),
      cmocka_unit_test(test_propose_answer__code_comes_back_byte_by_byte),
      cmocka_unit_test(test_propose_answer__says_why_there_is_none),
      cmocka_unit_test(test_propose_answer__hostile_text_takes_no_time),
      cmocka_unit_test(test_propose_answer__deep_nesting_is_cut),
      cmocka_unit_test(test_propose_answer__survives_any_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
