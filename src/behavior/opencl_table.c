/* opencl_table.c - OpenCL C for the reader of evidence: prelude, arguments and the effects of built-in
 * functions.
 *
 * Names follow the OpenCL C 1.2 and 3.0 specifications (sections 6.12 and 6.15), the cl_khr_* extensions for
 * sub-groups and integer dot products, and Intel's cl_intel_subgroups and
 * cl_intel_subgroup_matrix_multiply_accumulate. libclang has a table of the standard built-in functions
 * itself (-fdeclare-opencl-builtins); it wants the types declared first. */
#include "behavior/opencl_table_int.h"

#include <ctype.h>
#include <string.h>

/* Types in which sub-group and group functions exist. Macros of the prelude begin with kf_ and its parameters
 * have no names: the candidate's -D may define any other word. */
#define EACH_TYPE                                                                                            \
  "kf_each(int) kf_each(uint) kf_each(long) kf_each(ulong) kf_each(half) kf_each(float) kf_each(double)\n"

static const char prelude[] =
    "#ifndef __OPENCL_VERSION__\n#define __OPENCL_VERSION__ __OPENCL_C_VERSION__\n#endif\n"
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#if __OPENCL_C_VERSION__ == 200\n#define __opencl_c_generic_address_space 1\n#endif\n"
    "#ifndef __opencl_c_generic_address_space\n#define __opencl_c_named_address_space_builtins 1\n#endif\n"
    "#define __opencl_c_atomic_order_seq_cst 1\n#define __opencl_c_atomic_scope_device 1\n"
    "#define __opencl_c_integer_dot_product_input_4x8bit 1\n"
    "#define __opencl_c_integer_dot_product_input_4x8bit_packed 1\n#define cl_khr_integer_dot_product 1\n"
    "typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;\n"
    "typedef unsigned long ulong; typedef __SIZE_TYPE__ size_t; typedef __PTRDIFF_TYPE__ ptrdiff_t;\n"
    "typedef __INTPTR_TYPE__ intptr_t; typedef __UINTPTR_TYPE__ uintptr_t; typedef uint cl_mem_fence_flags;\n"
    "#define kf_vec(T, N) typedef T T##N __attribute__((ext_vector_type(N)));\n"
    "#define kf_vecs(T) kf_vec(T, 2) kf_vec(T, 3) kf_vec(T, 4) kf_vec(T, 8) kf_vec(T, 16)\n"
    "kf_vecs(char) kf_vecs(uchar) kf_vecs(short) kf_vecs(ushort) kf_vecs(int) kf_vecs(uint) kf_vecs(long) "
    "kf_vecs(ulong)\n"
    "kf_vecs(half) kf_vecs(float) kf_vecs(double)\n#undef kf_vec\n#undef kf_vecs\n"
    "typedef enum memory_scope { memory_scope_work_item, memory_scope_work_group, memory_scope_device,\n"
    "  memory_scope_all_svm_devices, memory_scope_sub_group } memory_scope;\n"
    "#define memory_scope_all_devices memory_scope_all_svm_devices\n"
    "typedef enum memory_order { memory_order_relaxed, memory_order_acquire = 2, memory_order_release,\n"
    "  memory_order_acq_rel, memory_order_seq_cst } memory_order;\n"
    "#define CLK_LOCAL_MEM_FENCE 1\n#define CLK_GLOBAL_MEM_FENCE 2\n#define CLK_IMAGE_MEM_FENCE 4\n"
    "#define NULL ((void *)0)\n#define ATOMIC_VAR_INIT(x) (x)\n"
    "#define CHAR_BIT 8\n#define SCHAR_MAX 127\n#define SCHAR_MIN (-128)\n#define UCHAR_MAX 255\n"
    "#define CHAR_MAX SCHAR_MAX\n#define CHAR_MIN SCHAR_MIN\n#define SHRT_MAX 32767\n#define SHRT_MIN "
    "(-32768)\n"
    "#define USHRT_MAX 65535\n#define INT_MAX 2147483647\n#define INT_MIN (-2147483647 - 1)\n"
    "#define UINT_MAX 0xffffffffU\n#define LONG_MAX 0x7fffffffffffffffL\n#define LONG_MIN (-LONG_MAX - 1)\n"
    "#define ULONG_MAX 0xffffffffffffffffUL\n"
    "#define FLT_DIG 6\n#define FLT_MANT_DIG 24\n#define FLT_MAX_EXP 128\n#define FLT_MIN_EXP "
    "(-125)\n#define FLT_RADIX 2\n"
    "#define FLT_MAX 0x1.fffffep127f\n#define FLT_MIN 0x1p-126f\n#define FLT_EPSILON 0x1p-23f\n#define "
    "MAXFLOAT FLT_MAX\n"
    "#define DBL_MAX 0x1.fffffffffffffp1023\n#define DBL_MIN 0x1p-1022\n#define DBL_EPSILON 0x1p-52\n"
    "#define HALF_MAX 0x1.ffcp15h\n#define HALF_MIN 0x1p-14h\n#define HALF_EPSILON 0x1p-10h\n"
    "#define INFINITY (__builtin_inff())\n#define HUGE_VALF (__builtin_inff())\n#define HUGE_VAL "
    "(__builtin_inf())\n"
    "#define NAN (__builtin_nanf(\"\"))\n"
    "#define M_E_F 2.71828182845904523536f\n#define M_LOG2E_F 1.44269504088896340736f\n"
    "#define M_LOG10E_F 0.43429448190325182765f\n#define M_LN2_F 0.69314718055994530942f\n"
    "#define M_LN10_F 2.30258509299404568402f\n#define M_PI_F 3.14159265358979323846f\n"
    "#define M_PI_2_F 1.57079632679489661923f\n#define M_PI_4_F 0.78539816339744830962f\n"
    "#define M_1_PI_F 0.31830988618379067154f\n#define M_2_PI_F 0.63661977236758134308f\n"
    "#define M_2_SQRTPI_F 1.12837916709551257390f\n#define M_SQRT2_F 1.41421356237309504880f\n"
    "#define M_SQRT1_2_F 0.70710678118654752440f\n"
    "#define M_E 2.71828182845904523536\n#define M_LOG2E 1.44269504088896340736\n#define M_LN2 "
    "0.69314718055994530942\n"
    "#define M_LN10 2.30258509299404568402\n#define M_PI 3.14159265358979323846\n#define M_PI_2 "
    "1.57079632679489661923\n"
    "#define M_1_PI 0.31830988618379067154\n#define M_SQRT2 1.41421356237309504880\n"
    "#define M_PI_4 0.78539816339744830962\n#define M_2_PI 0.63661977236758134308\n"
    "#define M_2_SQRTPI 1.12837916709551257390\n#define M_SQRT1_2 0.70710678118654752440\n"
    "#define FLT_MAX_10_EXP 38\n#define FLT_MIN_10_EXP (-37)\n#define DBL_DIG 15\n#define DBL_MANT_DIG 53\n"
    "#define DBL_MAX_10_EXP 308\n#define DBL_MAX_EXP 1024\n#define DBL_MIN_10_EXP (-307)\n#define "
    "DBL_MIN_EXP "
    "(-1021)\n"
    "#define DBL_RADIX 2\n#define HALF_DIG 3\n#define HALF_MANT_DIG 11\n#define HALF_MAX_10_EXP 4\n"
    "#define HALF_MAX_EXP 16\n#define HALF_MIN_10_EXP (-4)\n#define HALF_MIN_EXP (-13)\n#define HALF_RADIX "
    "2\n"
    "#define FP_ILOGB0 INT_MIN\n#define FP_ILOGBNAN INT_MAX\n"
    "int __attribute__((overloadable)) printf(__constant const char *, ...);\n"
    /* Vendors and later versions of the language have these where libclang's table for the asked version has
       not. */
    "#define kf_group1(T, NAME) T __attribute__((overloadable)) NAME(T);\n"
    "#define kf_group(T, P) kf_group1(T, P##_reduce_add) kf_group1(T, P##_reduce_min) kf_group1(T, "
    "P##_reduce_max) \\\n"
    "  kf_group1(T, P##_scan_exclusive_add) kf_group1(T, P##_scan_exclusive_min) kf_group1(T, "
    "P##_scan_exclusive_max) \\\n"
    "  kf_group1(T, P##_scan_inclusive_add) kf_group1(T, P##_scan_inclusive_min) kf_group1(T, "
    "P##_scan_inclusive_max)\n"
    "#define kf_move(T, NAME) T __attribute__((overloadable)) NAME(T, uint);\n"
    "#define kf_each(T) kf_group(T, work_group) kf_group(T, sub_group) kf_move(T, work_group_broadcast) \\\n"
    "  kf_move(T, sub_group_broadcast) kf_move(T, sub_group_shuffle) kf_move(T, sub_group_shuffle_xor) \\\n"
    "  kf_move(T, sub_group_shuffle_up) kf_move(T, sub_group_shuffle_down) kf_move(T, sub_group_rotate) \\\n"
    "  T __attribute__((overloadable)) work_group_broadcast(T, size_t, size_t);\n" EACH_TYPE
    "#undef kf_each\n"
    "int work_group_all(int); int work_group_any(int); int sub_group_all(int); int sub_group_any(int);\n"
    "uint get_sub_group_size(void); uint get_max_sub_group_size(void); uint get_num_sub_groups(void);\n"
    "uint get_sub_group_id(void); uint get_sub_group_local_id(void); void "
    "sub_group_barrier(cl_mem_fence_flags);\n"
    "uint4 sub_group_ballot(int); int sub_group_elect(void);\n"
    "#define kf_shuffle(T) kf_move(T, intel_sub_group_shuffle) kf_move(T, intel_sub_group_shuffle_xor) \\\n"
    "  T __attribute__((overloadable)) intel_sub_group_shuffle_up(T, T, uint); \\\n"
    "  T __attribute__((overloadable)) intel_sub_group_shuffle_down(T, T, uint);\n"
    "#define kf_each(T) kf_shuffle(T) kf_shuffle(T##2) kf_shuffle(T##4) kf_shuffle(T##8)\n" EACH_TYPE
    "#undef kf_each\n"
    "#define kf_block(S, T) S __attribute__((overloadable)) intel_sub_group_block_read##T(const __global "
    "uint *); \\\n"
    "  void __attribute__((overloadable)) intel_sub_group_block_write##T(__global uint *, S);\n"
    "kf_block(uint, ) kf_block(uint2, 2) kf_block(uint4, 4) kf_block(uint8, 8)\n"
    "#define kf_mad(R, A, M, T) R __attribute__((overloadable)) intel_sub_group_##M##_matrix_mad_k##T(A, "
    "int8, R);\n"
    "#define kf_mads(M, T, R) kf_mad(R, int, M, T) kf_mad(R##2, int2, M, T) kf_mad(R##4, int4, M, T) "
    "kf_mad(R##8, int8, M, T)\n"
    "kf_mads(i8_i8, 32, int) kf_mads(u8_u8, 32, int) kf_mads(i8_u8, 32, int) kf_mads(u8_i8, 32, int)\n"
    "kf_mads(bf16_bf16, 16, float) kf_mads(f16_f16, 16, float)\n"
    "#undef kf_group\n#undef kf_group1\n#undef kf_move\n#undef kf_shuffle\n#undef kf_block\n#undef "
    "kf_mad\n#undef kf_mads\n";

/* as_TYPE() takes any type of the same size: a macro for each. */
static kf_status append_reinterpretations(kf_buf *buf, kf_err *err) {
  static const char *const types[] = {"char", "uchar", "short", "ushort", "int",   "uint",
                                      "long", "ulong", "half",  "float",  "double"};
  static const char *const widths[] = {"", "2", "3", "4", "8", "16"};
  for (size_t t = 0; t < KF_COUNTOF(types); t++)
    for (size_t w = 0; w < KF_COUNTOF(widths); w++)
      KF_TRY(kf_buf_printf(buf, err, "#define as_%s%s(x) __builtin_astype((x), %s%s)\n", types[t], widths[w],
                           types[t], widths[w]));
  return KF_OK;
}

kf_status kf__opencl_prelude(kf_buf *buf, kf_err *err) {
  KF_TRY(append_reinterpretations(buf, err));
  return kf_buf_puts(buf, prelude, err);
}

/* ---- arguments ---- */

static bool is_wanted(const char *word) {
  return strncmp(word, "-cl-std=", 8) == 0 || ((word[1] == 'D' || word[1] == 'U') && word[2]);
}

/* Splits the options at blanks outside quotes, which are removed; each word ends with a NUL in `text`. */
static kf_status split_words(const char *options, kf_buf *text, kf_err *err) {
  char quote = 0;
  for (const char *c = options; *c; c++) {
    if (quote ? *c == quote : *c == '"' || *c == '\'') {
      quote = quote ? 0 : *c;
      continue;
    }
    char out = !quote && isspace((unsigned char)*c) ? 0 : *c;
    KF_TRY(kf_buf_append(text, &out, 1, err));
  }
  return kf_buf_append(text, "", 1, err);
}

kf_status kf__opencl_arguments(const char *options, kf_buf *text, const char *ret_args[KF_OPENCL_ARGS_MAX],
                               int *ret_count, kf_err *err) {
  static const char *const fixed[] = {"-x",
                                      "cl",
                                      "-cl-std=CL1.2", /* a later one in the options wins */
                                      "-cl-no-stdinc",
                                      "-nostdinc",
                                      "-Xclang",
                                      "-fdeclare-opencl-builtins",
                                      "-Xclang",
                                      "-cl-ext=+all",
                                      "-w",
                                      "-ferror-limit=0"};
  int count = 0;
  for (size_t i = 0; i < KF_COUNTOF(fixed); i++)
    ret_args[count++] = fixed[i];
  KF_TRY(split_words(options ? options : "", text, err));
  const char *end = text->data + text->len;
  for (const char *word = text->data; word < end; word += strlen(word) + 1) {
    bool takes_next = strcmp(word, "-D") == 0 || strcmp(word, "-U") == 0;
    if (word[0] != '-' || (!takes_next && !is_wanted(word))) continue;
    if (count + 2 > KF_OPENCL_ARGS_MAX)
      return kf_fail(err, KF_EINVAL, "options: more than %d words", KF_OPENCL_ARGS_MAX);
    ret_args[count++] = word;
    if (!takes_next) continue;
    do
      word += strlen(word) + 1;
    while (word < end && !*word);
    if (word >= end)
      count--;
    else
      ret_args[count++] = word;
  }
  *ret_count = count;
  return KF_OK;
}

/* ---- effects ---- */

typedef struct {
  const char *name;
  kf_effect_kind kind;
} effect_row;

static const effect_row exact[] = {
    {"get_local_id", KF_EFFECT_LOCAL_ID},
    {"get_local_linear_id", KF_EFFECT_LOCAL_ID},
    {"get_sub_group_id", KF_EFFECT_LOCAL_ID},
    {"get_sub_group_local_id", KF_EFFECT_LOCAL_ID},
    {"get_group_id", KF_EFFECT_GROUP_ID},
    {"get_global_id", KF_EFFECT_GLOBAL_ID},
    {"get_global_linear_id", KF_EFFECT_GLOBAL_ID},
    {"get_local_size", KF_EFFECT_SIZE},
    {"get_enqueued_local_size", KF_EFFECT_SIZE},
    {"get_global_size", KF_EFFECT_SIZE},
    {"get_num_groups", KF_EFFECT_SIZE},
    {"barrier", KF_EFFECT_BARRIER},
    {"work_group_barrier", KF_EFFECT_BARRIER},
    {"sub_group_barrier", KF_EFFECT_NONE},
    {"wait_group_events", KF_EFFECT_ASYNC_WAIT},
    {"async_work_group_copy", KF_EFFECT_ASYNC_COPY},
    {"async_work_group_strided_copy", KF_EFFECT_ASYNC_COPY},
    {"prefetch", KF_EFFECT_PREFETCH},
    {"fma", KF_EFFECT_FMA},
    {"mad", KF_EFFECT_FMA},
    {"mad24", KF_EFFECT_FMA},
    {"mad_hi", KF_EFFECT_FMA},
    {"mad_sat", KF_EFFECT_FMA},
    {"min", KF_EFFECT_EXTREME},
    {"max", KF_EFFECT_EXTREME},
    {"fmin", KF_EFFECT_EXTREME},
    {"fmax", KF_EFFECT_EXTREME},
    {"maxmag", KF_EFFECT_EXTREME},
    {"minmag", KF_EFFECT_EXTREME},
    {"dot", KF_EFFECT_DOT},
    {"atomic_work_item_fence", KF_EFFECT_NONE},
    {"atomic_init", KF_EFFECT_ATOMIC_STORE},
};

/* The first that fits counts. */
static const effect_row prefixes[] = {
    {"convert_", KF_EFFECT_CONVERT},
    {"work_group_", KF_EFFECT_COLLECTIVE},
    {"sub_group_reduce_", KF_EFFECT_SUBGROUP_REDUCE},
    {"sub_group_scan_", KF_EFFECT_SUBGROUP_REDUCE},
    {"sub_group_clustered_reduce_", KF_EFFECT_SUBGROUP_REDUCE},
    {"sub_group_non_uniform_reduce_", KF_EFFECT_SUBGROUP_REDUCE},
    {"sub_group_non_uniform_scan_", KF_EFFECT_SUBGROUP_REDUCE},
    {"sub_group_", KF_EFFECT_SUBGROUP},
    {"intel_sub_group_block_read", KF_EFFECT_SUBGROUP_LOAD},
    {"intel_sub_group_block_write", KF_EFFECT_SUBGROUP_STORE},
    {"intel_sub_group_", KF_EFFECT_SUBGROUP},
    {"atomic_load", KF_EFFECT_ATOMIC_LOAD},
    {"atomic_store", KF_EFFECT_ATOMIC_STORE},
    {"atomic_", KF_EFFECT_ATOMIC},
    {"atom_", KF_EFFECT_ATOMIC},
    {"vload", KF_EFFECT_LOAD},
    {"vstore", KF_EFFECT_STORE},
    {"dot_4x8packed_", KF_EFFECT_DOT},
    {"dot_acc_sat", KF_EFFECT_DOT},
    {"arm_dot", KF_EFFECT_DOT},
};

/* The first number in the name after its prefix: vload4, vstore_half8_rte, intel_sub_group_block_read_us2. */
static int lanes_in(const char *name, size_t from) {
  while (name[from] && !isdigit((unsigned char)name[from]))
    from++;
  int lanes = 0;
  for (; isdigit((unsigned char)name[from]) && lanes < 100; from++)
    lanes = lanes * 10 + (name[from] - '0');
  return lanes >= 2 && lanes <= 16 ? lanes : 1;
}

kf_effect kf__opencl_effect(const char *name) {
  for (size_t i = 0; i < KF_COUNTOF(exact); i++)
    if (strcmp(exact[i].name, name) == 0) return (kf_effect){exact[i].kind, 1};
  if (strncmp(name, "intel_sub_group_", 16) == 0 && strstr(name, "matrix_mad"))
    return (kf_effect){KF_EFFECT_MATRIX, 1};
  for (size_t i = 0; i < KF_COUNTOF(prefixes); i++) {
    size_t len = strlen(prefixes[i].name);
    if (strncmp(name, prefixes[i].name, len) == 0) return (kf_effect){prefixes[i].kind, lanes_in(name, len)};
  }
  return (kf_effect){KF_EFFECT_NONE, 1};
}
