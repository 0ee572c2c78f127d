/* links: kf_behavior */
/* test_behavior_screen.c - one hostile and one honest snippet or more for every rule of the screen; every
 * kernel of this repository is honest to it. */
#include "behavior/behavior.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static bool has_libclang;

static void keep(void *context, const kf_screen *screen) {
  *(kf_screen *)context = *screen;
}

static kf_screen screen_bytes(const char *source, size_t len, const char *options, char note_text[400]) {
  kf_screen screen = {.state = (kf_screen_state)99};
  kf_evidence evidence;
  kf_err err = {0};
  kf_buf note;
  kf_buf_init(&note, 4096);
  kf_evidence_request request = {
      .source = source, .source_len = len, .options = options, .screened = keep, .context = &screen};
  if (kf_evidence_parse(&request, &evidence, &note, &err) != KF_OK) fail_msg("%s", err.msg);
  snprintf(note_text, 400, "%s", kf_buf_text(&note));
  kf_buf_done(&note);
  assert_true(screen.state <= KF_SCREEN_UNREADABLE); /* it was told */
  return screen;
}

static kf_screen screen_text(const char *source, const char *options) {
  char note[400];
  return screen_bytes(source, strlen(source), options, note);
}

typedef struct {
  const char *rule;   /* NULL: honest */
  const char *source; /* BODY( ) for the inside of a kernel with x, y, n */
  const char *options;
} snippet;

#define BODY(text) "__kernel void k(__global const float *x, __global float *y, int n) {\n" text "\n}\n"

/* Found in the text: with or without libclang. */
static const snippet in_text[] = {
    {"inline_assembly", BODY("__asm__ volatile(\"syscall\");"), NULL},
    {"inline_assembly", BODY("__asm(\"nop\");"), NULL},
    {"inline_assembly", BODY("asm volatile(\"nop\" ::: \"memory\");"), NULL},
    {"inline_assembly", BODY("register long r __asm__(\"rax\") = 1; y[0] = r;"), NULL},
    {"inline_assembly", "__asm__(\".section .init_array\");\n" BODY("y[0] = 1;"), NULL},
    {"inline_assembly", "float f(float) __asm__(\"other\");\n" BODY("y[0] = f(1);"), NULL},
    {"inline_assembly", "#if 0\n__asm__(\"nop\");\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"inline_assembly", BODY("__as\\\nm__(\"nop\");"), NULL},
    {"inline_assembly", "#define RUN __asm__\n" BODY("y[0] = 1;"), NULL},
    {"builtin", BODY("y[0] = __builtin_ia32_rdtsc();"), NULL},
    {"builtin", BODY("__builtin_trap();"), NULL},
    {"builtin", BODY("__builtin_memcpy(y, x, 4);"), NULL},
    {"builtin", BODY("y[0] = (float)(ulong)__builtin_frame_address(0);"), NULL},
    {"builtin", BODY("__builtin_return_address(0);"), NULL},
    {"builtin", BODY("__sync_fetch_and_add((__global int *)y, 1);"), NULL},
    {"builtin", BODY("__atomic_thread_fence(5);"), NULL},
    {"builtin", BODY("y[0] = P;"), "-DP=__builtin_readcyclecounter"},
    {"attribute", "__attribute__((constructor)) void f(void) {}\n" BODY("y[0] = 1;"), NULL},
    {"attribute", "__attribute__((__destructor__)) void f(void) {}\n" BODY("y[0] = 1;"), NULL},
    {"attribute",
     "__constant float t[2] __attribute__((section(\".data\"))) = {1, 2};\n" BODY("y[0] = t[0];"), NULL},
    {"attribute",
     "__attribute__((aligned(16), section(\".data\"))) __constant float t = 1;\n" BODY("y[0] = t;"), NULL},
    {"attribute", "void g(void) {}\nvoid f(void) __attribute__((alias(\"g\")));\n" BODY("f();"), NULL},
    {"attribute", "__attribute__((ifunc(\"g\"))) void f(void);\n" BODY("f();"), NULL},
    {"attribute", "__attribute__((weak)) void f(void) {}\n" BODY("f();"), NULL},
    {"attribute", "__attribute__((used)) void f(void) {}\n" BODY("f();"), NULL},
    {"attribute", "__attribute__((visibility(\"default\"))) void f(void) {}\n" BODY("f();"), NULL},
    {"attribute", "__attribute__((naked)) void f(void) {}\n" BODY("f();"), NULL},
    {"attribute", "__attribute__((target(\"avx512f\"))) void f(void) {}\n" BODY("f();"), NULL},
    {"attribute", "#define A(x) __attribute__((x))\nA(weak) void f(void) {}\n" BODY("f();"), NULL},
    {"attribute", "#define A __attribute__\nvoid f(void) A((weak)) {}\n" BODY("f();"), NULL},
    {"attribute", "[[clang::weak]] void f(void) {}\n" BODY("f();"), NULL},
    {"attribute", "<:<:gnu::used:>:> void f(void) {}\n" BODY("f();"), NULL},
    {"redefined_word", "#define aligned weak\n" BODY("y[0] = 1;"), NULL},
    {"redefined_word", "#define __attribute__(x)\n" BODY("y[0] = 1;"), NULL},
    {"redefined_word", "#undef cl_khr_fp64\n" BODY("y[0] = 1;"), NULL},
    {"device_launch", BODY("enqueue_kernel(get_default_queue(), 0, ndrange_1D(1), ^{ y[0] = 1; });"), NULL},
    {"device_launch", "__kernel void k(read_only pipe int p, __global int *y) { read_pipe(p, &y[0]); }",
     NULL},
    {"include", "#include \"/etc/passwd\"\n" BODY("y[0] = 1;"), NULL},
    {"include", "  # /* a */ include </proc/self/maps>\n" BODY("y[0] = 1;"), NULL},
    {"include", "%:include <x>\n" BODY("y[0] = 1;"), NULL},
    {"include", "#inc\\\nlude <x>\n" BODY("y[0] = 1;"), NULL},
    {"include", "#if 0\n#include <x>\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"include", "#include_next <x>\n" BODY("y[0] = 1;"), NULL},
    {"include", "#embed \"/etc/passwd\"\n" BODY("y[0] = 1;"), NULL},
    {"directive", "#line 1 \"other\"\n" BODY("y[0] = 1;"), NULL},
    {"directive", "#warning /*\n" BODY("y[0] = 1; /**/"), NULL},
    {"directive", "#ident \"x\"\n" BODY("y[0] = 1;"), NULL},
    {"pragma", "#pragma clang section rodata=\".data\"\n__constant float t = 1;\n" BODY("y[0] = t;"), NULL},
    {"compiler_dependent",
     "#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable\n" BODY("y[0] = 1;"), NULL},
    {"pragma", "#pragma OPENCL EXTENSION cl_clang_storage_class_specifiers : enable\n" BODY("y[0] = 1;"),
     NULL},
    {"pragma", "#pragma weak f\n" BODY("y[0] = 1;"), NULL},
    {"pragma", "#pragma redefine_extname f g\n" BODY("y[0] = 1;"), NULL},
    {"pragma", "#pragma push_macro(\"A\")\n" BODY("y[0] = 1;"), NULL},
    {"pragma", "_Pragma(\"clang section data=\\\".x\\\"\")\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#if __clang_major__ == 14\n#define A 1\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#ifdef __POCL__\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#ifdef POCL_DEVICE_ADDRESS_BITS\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#ifdef _CL_OVERLOADABLE\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#if __has_builtin(__builtin_expect)\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", BODY("y[0] = __GNUC__;"), NULL},
    {"compiler_dependent", BODY("y[0] = __LINE__;"), NULL},
    {"compiler_dependent", BODY("y[0] = __COUNTER__;"), NULL},
    {"compiler_dependent", BODY("y[0] = __INCLUDE_LEVEL__ + __FILE__[0] + __TIME__[0];"), NULL},
    {"compiler_dependent", BODY("y[0] = __AVX2__;"), NULL},
    {"compiler_dependent", "#ifdef cos\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#ifdef barrier\n#endif\n#define barrier(x)\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#ifdef as_float\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#ifdef inline\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#define A defined(cos)\n#if A\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#define B cos\n#define A B\n#if A\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#if 0\n#define cos 1\n#endif\n#ifdef cos\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#define P(a, b) a##b\n#if P(c, os)\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#if __OPENCL_VERSION__ >= 200\n#define A 1\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", "#ifdef cl_khr_fp16\nint hidden;\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", BODY("#ifndef cl_khr_fp16\ny[0] = 1;\n#endif"), NULL},
    {"compiler_dependent", "#define V __OPENCL_VERSION__\n" BODY("y[0] = V;"), NULL},
    {"compiler_dependent", "#if 1\n#elif defined(CLANG_MAJOR)\n#endif\n" BODY("y[0] = 1;"), NULL},
    {"pasted_name", "#define P(a, b) a##b\n" BODY("y[0] = P(__CLANG, _MAJOR);"), NULL},
    {"pasted_name", "#define P(a, b) a %:%: b\n" BODY("P(_, _asm__)(\"nop\");"), NULL},
    {"pasted_name", "#define P(a, b) a##b\nP(_Prag, ma)(\"weak f\")\n" BODY("y[0] = 1;"), NULL},
    {"compiler_dependent", BODY("y[0] = _cl_sinf(x[0]);"), NULL},
    {"compiler_dependent", BODY("pocl_printf(\"x\");"), NULL},
    {"strange_character", "\xef\xbb\xbf" BODY("y[0] = 1;"), NULL},
    {"strange_character", BODY("y[0] = 1; \?\?/\n"), NULL},
    {"strange_character", BODY("// a comment that goes on \?\?/\ny[0] = 1;"), NULL},
    {"strange_character", BODY("y[0]\xc2\xa0= 1;"), NULL},
};

/* Found in the tree. */
static const snippet in_tree[] = {
    {"integer_to_pointer", BODY("*(__global int *)(ulong)n = 1;"), NULL},
    {"integer_to_pointer", BODY("volatile int *p = (volatile int *)(ulong)(n + 4096); *p = 1;"), NULL},
    {"integer_to_pointer", BODY("__global float *p = (__global float *)((ulong)y + 64); *p = 1;"), NULL},
    {"integer_to_pointer", "#define AT(a) (*(__global int *)(a))\n" BODY("AT(0x400000ul) = 1;"), NULL},
    {"integer_to_pointer", "void never(ulong a) { *(int *)a = 1; }\n" BODY("y[0] = 1;"), NULL},
    {"integer_to_pointer", BODY("if (0) *(int *)(ulong)n = 1;"), NULL},
    {"integer_to_pointer", BODY("__global char *p = (__global char *)0 + n; *p = 1;"), NULL},
    {"integer_to_pointer", BODY("y[0] = ((__global float *)0)[n];"), NULL},
    {"integer_to_pointer", BODY("long a = (__global char *)y - (__global char *)0; y[0] = a;"), NULL},
    {"integer_to_pointer", BODY("__global float *p = __builtin_astype((ulong)n, __global float *); *p = 1;"),
     NULL},
    {"pointer_reinterpretation",
     "union u { ulong a; __global float *p; };\n" BODY("union u v; v.a = n; *v.p = 1;"), NULL},
    {"pointer_reinterpretation",
     "typedef union { ulong a; struct { int *p[2]; } s; } u;\n" BODY("u v; v.a = n; *v.s.p[0] = 1;"), NULL},
    {"pointer_reinterpretation", BODY("__global float *p = y; *(ulong *)&p += 64; *p = 1;"), NULL},
    {"pointer_reinterpretation", BODY("ulong a = n; __global float *p = *(__global float **)&a; *p = 1;"),
     NULL},
    {"pointer_reinterpretation", BODY("__global float *p[2] = {y, y}; ((ulong *)p)[1] = n; *p[1] = 1;"),
     NULL},
    {"pointer_reinterpretation",
     "struct s { int *p; };\n__kernel void k(__global struct s *y) { *y->p = 1; }", NULL},
    {"pointer_reinterpretation",
     "struct s { __global int *p; };\n" BODY("struct s v = {0}; *(char *)&v = 1; *v.p = 1;"), NULL},
    {"pointer_reinterpretation", BODY("__local float *__local t[4]; *t[n] = 1;"), NULL},
    {"address_space_cast", BODY("float *g = y; *(__local float *)g = 1;"), "-cl-std=CL2.0"},
    {"program_scope_variable", "__global float kept[16];\n" BODY("kept[0] += 1; y[0] = kept[0];"), NULL},
    {"program_scope_variable", "float kept = 0;\n" BODY("kept += 1; y[0] = kept;"), NULL},
    {"program_scope_variable", "static __global int kept = 1;\n" BODY("y[0] = kept++;"), NULL},
    {"program_scope_variable", "__local float kept[16];\n" BODY("kept[0] += 1;"), NULL},
    {"program_scope_variable", "extern __constant float other[4];\n" BODY("y[0] = other[0];"), NULL},
    {"static_variable", BODY("static int calls; y[0] = calls++;"), NULL},
    {"static_variable", BODY("extern __global int calls; y[0] = calls++;"), NULL},
    {"foreign_function", "long syscall(long, ...);\n" BODY("syscall(1, 1);"), NULL},
    {"foreign_function", "int puts(__constant const char *);\n" BODY("puts(\"x\");"), NULL},
    {"foreign_function",
     "extern void *mmap(void *, ulong, int, int, int, long);\n" BODY("mmap(0, 1, 2, 3, 4, 5);"), NULL},
    {"foreign_function", BODY("void dlsym(int); dlsym(1);"), NULL},
    {"device_launch", BODY("void (^b)(void) = ^{ y[0] = 1; }; b();"), "-cl-std=CL2.0"},
};

/* Libclang finds an error: what the device's compiler makes of it decides. */
static const snippet unreadable[] = {
    {"unreadable", BODY("*(__local float *)y = 1;"), NULL},
    {"unreadable", BODY("y[0] = undeclared(x[0]);"), NULL},
    {"unreadable", BODY("y[0] = ;"), NULL},
};

static const snippet honest[] = {
    {NULL, BODY("y[n] = as_float(as_int(x[n]) & 0x7fffffff);"), NULL},
    {NULL, BODY("size_t i = (size_t)n; y[i] = (float)(uint)x[i];"), NULL},
    {NULL, BODY("__global float4 *v = (__global float4 *)y; v[n] = ((__global const float4 *)x)[n];"), NULL},
    {NULL, BODY("__global float4 *v = (__global float4 *)x; y[n] = v[n].x; /* const dropped, only read */"),
     NULL},
    {NULL, BODY("if (((size_t)x & 15) == 0) y[n] = 1;"), NULL},
    {NULL, "__constant float t[4] = {1, 2, 3, 4};\n" BODY("y[n] = t[n & 3] * ((__constant float4 *)t)->x;"),
     NULL},
    {NULL,
     "constant float t[2][2] = {{1, 2}, {3, 4}};\nstatic __constant int one = 1;\n" BODY("y[n] = t[1][one];"),
     NULL},
    {NULL, BODY("vstore4(vload4(n, x), n, y);"), NULL},
    {NULL, BODY("__local float t[64]; t[get_local_id(0)] = x[n]; barrier(CLK_LOCAL_MEM_FENCE); y[n] = t[0];"),
     NULL},
    {NULL, BODY("__local float t[64]; __local float4 *v = (__local float4 *)t; y[n] = v[n].x;"), NULL},
    {NULL, "union u { uint i; float f; uchar b[4]; };\n" BODY("union u v; v.f = x[n]; v.i ^= 1; y[n] = v.f;"),
     NULL},
    {NULL, BODY("float a[4] = {0}; float4 *v = (float4 *)a; *v = 1; float *p = a; p[1] = 2; y[n] = a[0];"),
     NULL},
    {NULL, BODY("if (n == 0) printf(\"n is %d\\n\", n); y[n] = 1;"), NULL},
    {NULL, BODY("__global float *p = 0; if (p == NULL || !p) p = y; p[n] = 1;"), NULL},
    {NULL, BODY("__global const float *end = x + n; for (; x != end; x++) y[end - x] = *x;"), NULL},
    {NULL, BODY("y[n] = __builtin_expect(n > 0, 1) ? 1 : 2; __builtin_assume(n > 0);"), NULL},
    {NULL,
     "float __attribute__((overloadable)) f(float a) { return a; }\n"
     "inline __attribute__((always_inline, const)) float g(float a);\nfloat g(float a) { return f(a); "
     "}\n" BODY("y[n] = g(1);"),
     NULL},
    {NULL,
     "__attribute__((reqd_work_group_size(TILE, 1, 1)))\n" BODY(
         "float a[2] __attribute__((aligned(16))); a[0] = 1; y[n] = a[0];"),
     "-DTILE=16"},
    {NULL,
     "typedef struct __attribute__((__packed__)) { float a; int b; } s;\n" BODY("s v = {1, 2}; y[n] = v.a;"),
     NULL},
    {NULL,
     "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL FP_CONTRACT ON\n" BODY(
         "#pragma unroll 4\nfor (int i = 0; i < 8; i++) y[i] = 1;"),
     NULL},
    {NULL,
     "#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#elif defined(cl_amd_fp64)\n#pragma "
     "OPENCL EXTENSION cl_amd_fp64 : enable\n#else\n#error \"no double\"\n#endif\n" BODY("y[n] = 1;"),
     NULL},
    {NULL,
     "#ifndef TILE\n#define TILE 16\n#endif\n#if TILE > 8 && defined(TILE)\n#define HALF (TILE / "
     "2)\n#else\n#define HALF 1\n#endif\n" BODY("y[n] = HALF;"),
     NULL},
    {NULL, "#ifndef TILE\n#define TILE 16\n#endif\n" BODY("y[n] = TILE;"), "-DTILE=32"},
    {NULL, "#if use_fast && vec == 4\n#endif\n" BODY("y[n] = 1;"), "-Duse_fast=1 -Dvec=4"},
    {NULL,
     "#ifndef M_PI_F\n#define M_PI_F 3.14f\n#endif\n#ifndef INFINITY\n#define INFINITY 1e30f\n#endif\n" BODY(
         "y[n] = M_PI_F;"),
     NULL},
    {NULL,
     "#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n#define V CAT(float, 4)\n" BODY(
         "V v = CAT(vload, 4)(n, x); CAT(vstore, 4)(v, n, y);"),
     NULL},
    {NULL, "#define T(i) acc##i\n" BODY("float T(0) = 0, T(1) = 1; y[n] = T(0) + T(1);"), NULL},
    {NULL, BODY("// caf\xc3\xa9, what?? asm? #include\n/* __asm__ */ y[n] = 1; printf(\"__asm__ %d\", n);"),
     NULL},
    {NULL,
     "struct s { __global float *p; int n; };\nstatic void f(struct s v) { v.p[v.n] = 1; }\n" BODY(
         "struct s v = {y, n}; f(v);"),
     NULL},
    {NULL,
     "static void swap(__local float **a, __local float **b) { __local float *t = *a; *a = *b; *b = t; "
     "}\n" BODY(
         "__local float t[2][4]; __local float *a = t[0], *b = t[1]; swap(&a, &b); a[0] = 1; y[n] = a[0];"),
     NULL},
    {NULL, BODY("float *p = 0; float v; p = &v; *p = 1; y[n] = v;"), NULL},
    {NULL, BODY("atomic_add((volatile __global int *)y, 1); atomic_cmpxchg((__global uint *)&y[n], 1u, 2u);"),
     NULL},
    {NULL,
     BODY("event_t e = async_work_group_copy(y, (const __local float *)0, 0, 0); wait_group_events(1, &e);"),
     NULL},
    {NULL, "float f(float a);\nfloat f(float a) { return a; }\n" BODY("y[n] = f(1);"), NULL},
    {NULL,
     "enum { N = 4 };\ntypedef float4 row;\n" BODY(
         "row r = (row)(N); y[n] = r.x + r.s3; int asmr = 1; y[n] = asmr;"),
     NULL},
    {NULL, BODY("double d = x[n]; long l = as_long(d); y[n] = (float)(l >> 3); half h = (half)1; y[n] = h;"),
     NULL},
};

static int check(const snippet *s, kf_screen_state wanted) {
  kf_screen screen = screen_text(s->source, s->options);
  bool right = screen.state == wanted && (!s->rule || strcmp(screen.diagnosis.kind, s->rule) == 0);
  if (!right)
    print_message("wanted %s, got state %d, %s at %s: %s\n%s\n", s->rule ? s->rule : "nothing", screen.state,
                  screen.diagnosis.kind, screen.diagnosis.where, screen.diagnosis.text, s->source);
  return right ? 0 : 1;
}

static void test_behavior_screen__hostile_text(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < KF_COUNTOF(in_text); i++)
    wrong += check(&in_text[i], KF_SCREEN_REFUSED);
  assert_int_equal(wrong, 0);
}

static void test_behavior_screen__hostile_tree(void **state) {
  (void)state;
  if (!has_libclang) skip();
  int wrong = 0;
  for (size_t i = 0; i < KF_COUNTOF(in_tree); i++)
    wrong += check(&in_tree[i], KF_SCREEN_REFUSED);
  for (size_t i = 0; i < KF_COUNTOF(unreadable); i++)
    wrong += check(&unreadable[i], KF_SCREEN_UNREADABLE);
  assert_int_equal(wrong, 0);
}

static void test_behavior_screen__honest(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < KF_COUNTOF(honest); i++)
    wrong += check(&honest[i], has_libclang ? KF_SCREEN_CLEAN : KF_SCREEN_UNREAD);
  assert_int_equal(wrong, 0);
}

static void test_behavior_screen__diagnosis(void **state) {
  (void)state;
  kf_screen screen = screen_text(BODY("y[0] = 1;\n  __asm__(\"nop\"); // here"), NULL);
  assert_string_equal(screen.diagnosis.kind, "inline_assembly");
  assert_string_equal(screen.diagnosis.where, "kernel.cl:3:3");
  assert_string_equal(screen.diagnosis.evidence, "__asm__(\"nop\"); // here");
  if (!has_libclang) skip();
  screen = screen_text(BODY("y[0] = 1;\n  *(__global int *)(ulong)n = 1;"), NULL);
  assert_string_equal(screen.diagnosis.kind, "integer_to_pointer");
  assert_string_equal(screen.diagnosis.where, "kernel.cl:3:4");
  assert_string_equal(screen.diagnosis.evidence, "*(__global int *)(ulong)n = 1;");
}

/* ---- the kernels of this repository ---- */

static bool ends_with(const char *name, const char *end) {
  size_t len = strlen(name), n = strlen(end);
  return len >= n && strcmp(name + len - n, end) == 0;
}

static void screen_kernel(const char *path, const char *source, size_t source_len, int *wrong) {
  char note[400];
  /* Parameters get values from their directive: "//kf: param TILE = 16" */
  char options[2048] = "";
  size_t len = 0;
  for (const char *at = source; (at = strstr(at, "kf: param ")); at++) {
    char name[64], value[64];
    const char *brace = strpbrk(at, "{\n");
    if (sscanf(at, "kf: param %63[A-Za-z0-9_] = %63[A-Za-z0-9_]", name, value) != 2 &&
        !(brace && *brace == '{' && sscanf(at, "kf: param %63[A-Za-z0-9_]", name) == 1 &&
          sscanf(brace + 1, " %63[A-Za-z0-9_]", value) == 1))
      continue;
    len += (size_t)snprintf(options + len, sizeof options - len, "-D%s=%s ", name, value);
  }
  if (strncmp(source, "// ", 3) == 0 && strstr(source, "// options: ")) {
    const char *at = strstr(source, "// options: ") + 12;
    snprintf(options + len, sizeof options - len, "%.*s", (int)strcspn(at, "\n"), at);
  }
  kf_screen screen = screen_bytes(source, source_len, options, note);
  if (screen.state != KF_SCREEN_CLEAN) {
    (*wrong)++;
    print_message("%s: state %d, %s at %s: %s\n  %s (%s)\n", path, screen.state, screen.diagnosis.kind,
                  screen.diagnosis.where, screen.diagnosis.text, screen.diagnosis.evidence, note);
  }
}

/* A .kft file holds several: "--- shared", then "--- honest NAME" or "--- hostile NAME" with a kernel each,
 * which begins with what is shared. */
static int screen_sections(const char *path, char *text, int *wrong) {
  static const char mark[] = "\n--- ";
  const char *shared = "";
  int count = 0;
  if (strstr(text, "\nscreen: off\n")) return 0; /* about what stands behind the screen */
  for (char *head = strstr(text, mark), *next; head; head = next) {
    char *body = strchr(head + 1, '\n');
    assert_non_null(body);
    next = strstr(body, mark);
    if (next) *next = '\0';
    if (strncmp(head + strlen(mark), "shared", 6) == 0) shared = body + 1;
    if (strncmp(head + strlen(mark), "honest", 6) == 0) {
      kf_buf whole;
      kf_err err = {0};
      kf_buf_init(&whole, 1 << 20);
      assert_int_equal(kf_buf_printf(&whole, &err, "%s\n%s", shared, body + 1), KF_OK);
      screen_kernel(path, kf_buf_text(&whole), whole.len, wrong);
      kf_buf_done(&whole);
      count++;
    }
  }
  return count;
}

static int screen_file(const char *path, int *wrong) {
  kf_buf text;
  kf_err err = {0};
  int count = 1;
  kf_buf_init(&text, 1 << 20);
  if (kf_fs_read(path, &text, &err) != KF_OK) fail_msg("%s", err.msg);
  if (ends_with(path, ".cl"))
    screen_kernel(path, kf_buf_text(&text), text.len, wrong);
  else
    count = screen_sections(path, text.data, wrong);
  kf_buf_done(&text);
  return count;
}

static int screen_folder(const char *folder, int depth, int *wrong) {
  int count = 0;
  DIR *dir = opendir(folder);
  if (!dir) return 0;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    char path[KF_PATH_MAX];
    if (entry->d_name[0] == '.' || kf_fs_join(path, folder, entry->d_name, NULL) != KF_OK) continue;
    if (ends_with(entry->d_name, ".cl") || ends_with(entry->d_name, ".kft"))
      count += screen_file(path, wrong);
    else if (depth < 3)
      count += screen_folder(path, depth + 1, wrong);
  }
  closedir(dir);
  return count;
}

static void test_behavior_screen__kernels_of_the_repository(void **state) {
  (void)state;
  if (!has_libclang) skip();
  int wrong = 0, count = 0;
  count += screen_folder(KF_TEST_SOURCE_DIR "/tasks", 0, &wrong);
  count += screen_folder(KF_TEST_SOURCE_DIR "/tests/cases/behavior", 0, &wrong);
  count += screen_folder(KF_TEST_SOURCE_DIR "/tests/cases/tasks", 0, &wrong);
  assert_true(count > 60);
  count = screen_folder(KF_TEST_SOURCE_DIR "/tests/cheats", 0, &wrong);
  assert_true(count > 20);
  assert_int_equal(wrong, 0);
}

static bool find_libclang(void) {
  char note[400];
  const char *source = "__kernel void k(void) {}";
  kf_screen screen = screen_bytes(source, strlen(source), NULL, note);
  if (screen.state == KF_SCREEN_UNREAD) print_message("the tree is skipped without libclang: %s\n", note);
  return screen.state != KF_SCREEN_UNREAD;
}

int main(void) {
  kf_alloc_init();
  has_libclang = find_libclang();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_behavior_screen__hostile_text),
      cmocka_unit_test(test_behavior_screen__hostile_tree),
      cmocka_unit_test(test_behavior_screen__honest),
      cmocka_unit_test(test_behavior_screen__diagnosis),
      cmocka_unit_test(test_behavior_screen__kernels_of_the_repository),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
