/* links: kf_base kf_task */
/* test_task_init.c - packages made from bare kernels: they load, and every guess is said. */
#include "task/init.h"
#include "test_task_util.h"

#include <sys/stat.h>

static const kf_kernel_arg softmax_args[] = {
    {.name = "x", .type_name = "float*", .is_global = true, .is_const = true},
    {.name = "y", .type_name = "float*", .is_global = true, .is_const = false},
    {.name = "rows", .type_name = "int"},
    {.name = "cols", .type_name = "int"}};
#define BARE "kernel void softmax(global const float *x, global float *y, int rows, int cols) {}"

typedef struct {
  package from;
  char kernel[KF_PATH_MAX], dir[KF_PATH_MAX];
  kf_buf notes;
  kf_err err;
} workshop;

static workshop new_workshop(const char *kernel) {
  workshop w = {.from = new_package("")};
  put_file(&w.from, "bare.cl", kernel);
  kf_fs_join(w.kernel, w.from.dir, "bare.cl", NULL);
  kf_fs_join(w.dir, w.from.dir, "made", NULL);
  kf_buf_init(&w.notes, 100000);
  return w;
}

static void close_workshop(workshop *w) {
  kf_buf_done(&w->notes);
  drop_package(&w->from);
}

static kf_status make(workshop *w, kf_init_request request) {
  request.kernel_path = w->kernel;
  kf_buf_clear(&w->notes);
  return kf_task_init(w->dir, &request, &w->notes, &w->err);
}

static void assert_note(const workshop *w, const char *part) {
  if (strstr(kf_buf_text(&w->notes), part) == NULL)
    fail_msg("no \"%s\" in:\n%s", part, kf_buf_text(&w->notes));
}

static kf_task *load_made(const workshop *w) {
  kf_task *task = NULL;
  kf_err err = {0};
  if (kf_task_load(w->dir, &task, &err) != KF_OK) fail_msg("%s", err.msg);
  return task;
}

static void test_task_init__named_dimensions_become_symbols(void **state) {
  (void)state;
  workshop w = new_workshop(BARE);
  const char *shapes[] = {"x=rows:4096,cols:1024"};
  kf_init_request request = {
      .entry = "softmax", .args = softmax_args, .nargs = 4, .shapes = shapes, .nshapes = 1};
  if (make(&w, request) != KF_OK) fail_msg("%s", w.err.msg);
  kf_task *task = load_made(&w);
  assert_string_equal(task->name, "made");
  assert_int_equal(task->nsymbols, 2);
  assert_int_equal(task->symbols[0].max, 4096);
  assert_int_equal(task->args[0].role, KF_ROLE_IN);
  assert_int_equal(task->args[1].role, KF_ROLE_OUT);
  assert_int_equal(task->args[1].rank, 2);
  assert_int_equal(task->args[3].role, KF_ROLE_SIZE);
  assert_int_equal(task->reference_kind, KF_REFERENCE_KERNEL);
  assert_int_equal(task->ncheck, 2);
  assert_int_equal(task->check[1].values[0], 33);
  assert_note(&w, "y: shape taken from x");
  assert_note(&w, "y: role out guessed");
  assert_note(&w, "rows: domain 1 to 4096 guessed");
  assert_note(&w, "launch: one work-item for each element of y");
  assert_note(&w, "reference: the kernel itself");
  assert_string_equal(
      task->kernel[KF_LANG_OPENCL]->bytes,
      "// [EVOLVE_START]\n"
      "//kf: launch softmax global=(ceil(rows*cols, 64)*64) local=(64) args=(x, y, rows, cols)\n" BARE
      "\n// [EVOLVE_END]\n");
  kf_task_free(task);
  assert_int_equal(make(&w, request), KF_EINVAL);
  assert_err(&w.err, KF_EINVAL, "folder", "exists and is not empty", "new folder");
  close_workshop(&w);
}

static void test_task_init__plain_numbers_become_fixed_symbols(void **state) {
  (void)state;
  workshop w = new_workshop(BARE);
  const char *shapes[] = {"x=4096,1024"}, *scalars[] = {"cols=1000"};
  kf_init_request request = {.entry = "softmax",
                             .args = softmax_args,
                             .nargs = 4,
                             .shapes = shapes,
                             .nshapes = 1,
                             .scalars = scalars,
                             .nscalars = 1};
  if (make(&w, request) != KF_OK) fail_msg("%s", w.err.msg);
  kf_task *task = load_made(&w);
  assert_string_equal(task->symbols[1].name, "x_1");
  assert_true(task->symbols[1].fixed);
  assert_int_equal(task->args[2].role, KF_ROLE_SCALAR);
  assert_true(task->args[2].value == 4096);
  assert_true(task->args[3].value == 1000);
  assert_note(&w, "rows: value 4096 guessed, the size of x_0");
  assert_int_equal(task->nmeasure, 1);
  kf_task_free(task);
  close_workshop(&w);
}

static void test_task_init__kinds_of_arguments(void **state) {
  (void)state;
  static const kf_kernel_arg args[] = {
      {.name = "v", .type_name = "float4*", .is_global = true, .is_const = true},
      {.name = "idx", .type_name = "uint*", .is_global = true, .is_const = true},
      {.name = "c", .type_name = "half*", .is_constant = true},
      {.name = "tmp", .type_name = "float*", .is_local = true},
      {.name = "out", .type_name = "double*", .is_global = true, .is_const = false},
      {.name = "alpha", .type_name = "float"},
      {.name = "k", .type_name = "uchar"},
  };
  workshop w = new_workshop("kernel void f() {}\n");
  const char *shapes[] = {"v=n:64", "out=n,4", "c=3"};
  kf_init_request request = {
      .entry = "f", .args = args, .nargs = 7, .shapes = shapes, .nshapes = 3, .local = "dev.simd"};
  if (make(&w, request) != KF_OK) fail_msg("%s", w.err.msg);
  kf_task *task = load_made(&w);
  assert_int_equal(task->nargs, 6);
  assert_int_equal(task->args[0].type, KF_TYPE_F32);
  assert_int_equal(task->args[1].fill.kind, KF_FILL_INT);
  assert_int_equal(task->args[2].type, KF_TYPE_F16);
  assert_int_equal(task->args[2].role, KF_ROLE_IN);
  assert_int_equal(task->args[3].type, KF_TYPE_F64);
  assert_true(task->args[4].value == 1.0);
  assert_note(&w, "v: float4* is described as f32");
  assert_note(&w, "idx: fill int[0,16) guessed");
  assert_note(&w, "tmp: 256 bytes of local memory guessed");
  assert_note(&w, "alpha: value 1.0 guessed");
  assert_note(&w, "k: value 64 guessed, the size of n");
  assert_non_null(
      strstr(task->kernel[KF_LANG_OPENCL]->bytes,
             "global=(ceil(n*out_1, dev.simd)*(dev.simd)) local=(dev.simd) args=(v, idx, c, local(256), out, "
             "alpha, k)"));
  kf_task_free(task);
  close_workshop(&w);
}

static void test_task_init__keeps_markers_and_launches_of_the_kernel(void **state) {
  (void)state;
  workshop w = new_workshop("#define A 1\n// [EVOLVE_START]\n" BARE "\n// [EVOLVE_END]\n");
  const char *shapes[] = {"x=rows:8,cols:8", "y=rows,cols"};
  kf_init_request request = {.entry = "softmax",
                             .args = softmax_args,
                             .nargs = 4,
                             .shapes = shapes,
                             .nshapes = 2,
                             .global = "ceil(rows, 64)*64, cols"};
  if (make(&w, request) != KF_OK) fail_msg("%s", w.err.msg);
  kf_task *task = load_made(&w);
  assert_non_null(
      strstr(task->kernel[KF_LANG_OPENCL]->bytes,
             "#define A 1\n// [EVOLVE_START]\n//kf: launch softmax global=(ceil(rows, 64)*64, cols) "
             "local=(64, 1) args=(x, y, rows, cols)\n"));
  kf_task_free(task);
  close_workshop(&w);

  w = new_workshop("//kf: launch softmax global=(64) local=(64) args=(x, y, rows, cols)\n" BARE);
  if (make(&w, request) != KF_OK) fail_msg("%s", w.err.msg);
  task = load_made(&w);
  assert_note(&w, "the kernel has its own directive");
  assert_null(strstr(task->kernel[KF_LANG_OPENCL]->bytes, "ceil"));
  kf_task_free(task);
  close_workshop(&w);
}

static void test_task_init__copies_a_reference(void **state) {
  (void)state;
  workshop w = new_workshop(BARE);
  char reference[KF_PATH_MAX];
  const char *shapes[] = {"x=rows:8,cols:8"};
  kf_fs_join(reference, w.from.dir, "reference.c", NULL);
  kf_init_request request = {.entry = "softmax",
                             .args = softmax_args,
                             .nargs = 4,
                             .shapes = shapes,
                             .nshapes = 1,
                             .reference = reference};
  if (make(&w, request) != KF_OK) fail_msg("%s", w.err.msg);
  kf_task *task = load_made(&w);
  assert_int_equal(task->reference_kind, KF_REFERENCE_C);
  assert_string_equal(task->reference_entry, "softmax_ref");
  assert_note(&w, "reference: function softmax_ref guessed");
  kf_task_free(task);
  close_workshop(&w);
}

static void test_task_init__in_place_kernels_get_inout(void **state) {
  (void)state;
  static const kf_kernel_arg one[] = {
      {.name = "x", .type_name = "int*", .is_global = true, .is_const = false}};
  static const kf_kernel_arg two[] = {
      {.name = "x", .type_name = "float*", .is_global = true, .is_const = false},
      {.name = "y", .type_name = "float*", .is_global = true, .is_const = false}};
  workshop w = new_workshop("kernel void f() {}");
  const char *shapes[] = {"x=n:100"};
  assert_int_equal(
      make(&w, (kf_init_request){.entry = "f", .args = one, .nargs = 1, .shapes = shapes, .nshapes = 1}),
      KF_OK);
  kf_task *task = load_made(&w);
  assert_int_equal(task->args[0].role, KF_ROLE_INOUT);
  kf_task_free(task);
  assert_int_equal(kf_fs_remove_tree(w.dir, NULL), KF_OK);
  assert_int_equal(mkdir(w.dir, 0700), 0); /* an empty folder will do */
  assert_int_equal(
      make(&w, (kf_init_request){.entry = "f", .args = two, .nargs = 2, .shapes = shapes, .nshapes = 1}),
      KF_OK);
  task = load_made(&w);
  assert_int_equal(task->args[0].role, KF_ROLE_IN);
  assert_int_equal(task->args[1].role, KF_ROLE_OUT);
  assert_note(&w, "no pointer of the kernel is const");
  kf_task_free(task);
  close_workshop(&w);
}

static void test_task_init__mistakes_leave_nothing_behind(void **state) {
  (void)state;
  static const kf_kernel_arg image[] = {{.name = "img", .type_name = "image2d_t"}};
  static const kf_kernel_arg vector[] = {{.name = "v", .type_name = "int2"}};
  static const kf_kernel_arg consts[] = {
      {.name = "x", .type_name = "float*", .is_global = true, .is_const = true}};
  static const kf_kernel_arg reserved[] = {
      {.name = "local", .type_name = "float*", .is_global = true, .is_const = true}};
  static const struct {
    const kf_kernel_arg *args;
    int nargs;
    const char *shape, *scalar, *global, *part, *hint;
  } cases[] = {
      {softmax_args, 4, NULL, NULL, NULL, "array \"x\" has no shape", "--shape x="},
      {softmax_args, 4, "x", NULL, NULL, "no \"=\"", "--shape x=rows"},
      {softmax_args, 4, "z=4", NULL, NULL, "no array of this name", ""},
      {softmax_args, 4, "rows=4", NULL, NULL, "no array of this name", ""},
      {softmax_args, 4, "x=", NULL, NULL, "not a whole number above 0", ""},
      {softmax_args, 4, "x=0", NULL, NULL, "not a whole number above 0", ""},
      {softmax_args, 4, "x=a b:4", NULL, NULL, "no proper name", ""},
      {softmax_args, 4, "x=f32:4", NULL, NULL, "no proper name", ""},
      {softmax_args, 4, "x=y:4", NULL, NULL, "called like an array", ""},
      {softmax_args, 4, "x=rows", NULL, NULL, "\"rows\" has no size", ""},
      {softmax_args, 4, "x=rows:4,rows:5", NULL, NULL, "another size", ""},
      {softmax_args, 4, "x=1,1,1,1,1,1,1,1,1", NULL, NULL, "too many dimensions", ""},
      {softmax_args, 4, "x=rows:4", "rows=4", NULL, "it is a dimension", ""},
      {softmax_args, 4, "x=rows:4", "x=4", NULL, "no argument by value", ""},
      {softmax_args, 4, "x=rows:4", "cols=a", NULL, "not a number", ""},
      {softmax_args, 4, "x=rows:4", "cols=1.5", NULL, "is no i32", ""},
      {softmax_args, 4, "x=rows:4", NULL, "rows+", "expected a number", ""},
      {image, 1, NULL, NULL, NULL, "has type \"image2d_t\"", "arrays of scalars"},
      {vector, 1, NULL, NULL, NULL, "has type \"int2\"", ""},
      {consts, 1, "x=4", NULL, NULL, "writes no array", "without const"},
      {reserved, 1, "x=4", NULL, NULL, "called \"local\"", ""},
  };
  workshop w = new_workshop(BARE);
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    kf_init_request request = {.entry = "softmax",
                               .args = cases[i].args,
                               .nargs = cases[i].nargs,
                               .shapes = &cases[i].shape,
                               .nshapes = cases[i].shape != NULL,
                               .scalars = &cases[i].scalar,
                               .nscalars = cases[i].scalar != NULL,
                               .global = cases[i].global};
    if (make(&w, request) == KF_OK) fail_msg("accepted: case %zu", i);
    assert_err(&w.err, w.err.code, "", cases[i].part, cases[i].hint);
    assert_false(kf_fs_exists(w.dir));
  }
  const char *shape = "x=rows:4,cols:4";
  kf_init_request request = {
      .entry = "softmax", .args = softmax_args, .nargs = 4, .shapes = &shape, .nshapes = 1};
  request.reference = "ref.txt";
  assert_int_equal(make(&w, request), KF_EINVAL);
  request.reference = "/nonexistent/ref.c";
  assert_int_equal(make(&w, request), KF_ENOTFOUND);
  assert_false(kf_fs_exists(w.dir));
  close_workshop(&w);
}

static void test_task_init__survives_every_allocation_failure(void **state) {
  (void)state;
  workshop w = new_workshop(BARE);
  const char *shapes[] = {"x=rows:4096,cols:1024"};
  kf_init_request request = {
      .entry = "softmax", .args = softmax_args, .nargs = 4, .shapes = shapes, .nshapes = 1};
  bool done = false;
  for (unsigned long n = 1; n < 3000 && !done; n++) {
    kf_alloc_fail_at(n, true);
    kf_status status = make(&w, request);
    kf_alloc_fail_at(0, false);
    done = status == KF_OK;
    if (!done && (status != KF_ENOMEM || kf_fs_exists(w.dir))) fail_msg("allocation %lu: %s", n, w.err.msg);
  }
  assert_true(done);
  close_workshop(&w);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_init__named_dimensions_become_symbols),
      cmocka_unit_test(test_task_init__plain_numbers_become_fixed_symbols),
      cmocka_unit_test(test_task_init__kinds_of_arguments),
      cmocka_unit_test(test_task_init__keeps_markers_and_launches_of_the_kernel),
      cmocka_unit_test(test_task_init__copies_a_reference),
      cmocka_unit_test(test_task_init__in_place_kernels_get_inout),
      cmocka_unit_test(test_task_init__mistakes_leave_nothing_behind),
      cmocka_unit_test(test_task_init__survives_every_allocation_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
