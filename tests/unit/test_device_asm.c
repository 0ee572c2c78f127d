/* links: kf_device */
/* What a C kernel's assembly shows of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/host_asm.h"

static kf_host_facts facts_of(const char *text) {
  kf_host_facts facts;
  kf_host_asm_read(text, strlen(text), &facts);
  return facts;
}

static void test_asm__scalars_are_no_vectors(void **state) {
  (void)state;
  kf_host_facts facts = facts_of("kf_run:\n\tvmovups\t(%rax), %ymm0\n\tvfmadd231ss\t(%rdi), %xmm1, %xmm2\n"
                                 "\tvxorps\t%zmm3, %zmm3, %zmm3\n\tret\n");
  assert_int_equal(facts.vector_width, 1);
  assert_int_equal(facts.accumulators, 0);
  assert_false(facts.threads || facts.barriers || facts.atomics || facts.prefetches);
}

static void test_asm__width_is_in_elements(void **state) {
  (void)state;
  assert_int_equal(facts_of("\tvaddps\t%ymm1, %ymm2, %ymm3\n").vector_width, 8);
  assert_int_equal(facts_of("\tvaddpd\t%ymm1, %ymm2, %ymm3\n").vector_width, 4);
  assert_int_equal(facts_of("\tvpaddb\t%zmm1, %zmm2, %zmm3\n").vector_width, 64);
  assert_int_equal(facts_of("\taddps\t%xmm1, %xmm2\n").vector_width, 4);
  assert_int_equal(facts_of("\tfmla\tv0.4s, v1.4s, v2.s[0]\n").vector_width, 4);
  assert_int_equal(facts_of("\tfadd\tv0.2d, v1.2d, v2.2d\n").vector_width, 2);
}

/* Registers are counted that a loop without a loop in it adds to. */
static void test_asm__accumulators_of_innermost_loops(void **state) {
  (void)state;
  static const char loop[] = ".L3:\n\tvfmadd231ps\t(%rax), %ymm4, %ymm0\n"
                             ".L18:\n\tvfmadd231ps\t%ymm1, %ymm4, %ymm1\n\tvaddps\t%ymm2, %ymm5, %ymm2\n"
                             "\tvaddps\t%ymm7, %ymm5, %ymm6\n\tjne\t.L3\n";
  assert_int_equal(facts_of(loop).accumulators, 3);
  assert_int_equal(facts_of(".L3:\n\tvfmadd231ps\t(%rax), %ymm4, %ymm0\n\tjne\t.L30\n").accumulators, 0);
  assert_int_equal(facts_of("\tvfmadd231ps\t(%rax), %ymm4, %ymm0\n\tret\n").accumulators, 0);
  assert_int_equal(facts_of(".L1:\n\tvfmadd231ps\t(%rax), %ymm4, %ymm0\n"
                            ".L2:\n\tvfmadd231ps\t(%rax), %ymm4, %ymm1\n\tjne\t.L2\n"
                            ".L4:\n\tvfmadd231ps\t(%rax), %ymm4, %ymm2\n\tjne\t.L1\n")
                       .accumulators,
                   1);
  assert_int_equal(facts_of(".L2:\n\tfmla\tv0.4s, v4.4s, v5.4s\n\tfadd\tv1.4s, v1.4s, v5.4s\n\tbne\t.L2\n"
                            "\tb.ne\t.L2\n\tcbnz\tx0, .L2\n")
                       .accumulators,
                   2);
}

static void test_asm__threads_and_what_joins_them(void **state) {
  (void)state;
  assert_true(facts_of("\tcall\tGOMP_parallel@PLT\n").threads);
  assert_true(facts_of("\tjmp\tGOMP_parallel@PLT\n").threads);
  assert_true(facts_of("\tbl\tGOMP_barrier\n").barriers);
  assert_false(facts_of("\tcall\tGOMP_loop_end_nowait@PLT\n").barriers);
  assert_true(facts_of("\tcall\tGOMP_critical_start@PLT\n").atomics);
  assert_true(facts_of("\tlock addl\t$1, (%rax)\n").atomics);
  assert_true(facts_of("\tprefetcht0\t(%rax)\n").prefetches);
  assert_false(facts_of("# GOMP_parallel\n\t.string \"call GOMP_parallel\"\n").threads);
}

static void test_asm__odd_text_says_nothing(void **state) {
  (void)state;
  static const char zeros[] = "\tlock\0\n\tvaddps\t%";
  kf_host_facts facts;
  char line[2000];
  kf_host_asm_read(zeros, sizeof zeros - 1, &facts);
  assert_int_equal(facts.vector_width, 1);
  memset(line, ':', sizeof line);
  kf_host_asm_read(line, sizeof line, &facts);
  memset(line, '%', sizeof line);
  memcpy(line, "\tvaddps ", 8);
  kf_host_asm_read(line, sizeof line, &facts);
  assert_int_equal(facts.vector_width, 1);
  assert_int_equal(facts_of("\tvaddps\t%ymm99, %ymm-3, %ymm99999999999999\n").vector_width, 1);
  assert_int_equal(facts_of("\tfmla\tv0.999999s, v1, v2\n").vector_width, 1);
  kf_host_asm_read("", 0, &facts);
  assert_int_equal(facts.vector_width, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_asm__scalars_are_no_vectors),
      cmocka_unit_test(test_asm__width_is_in_elements),
      cmocka_unit_test(test_asm__accumulators_of_innermost_loops),
      cmocka_unit_test(test_asm__threads_and_what_joins_them),
      cmocka_unit_test(test_asm__odd_text_says_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
