/* test_task_util.h - shared by the tests of src/task: packages in temporary folders, and checks of one error.
 */
#ifndef TEST_TASK_UTIL_H
#define TEST_TASK_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "task/plan.h"

#define SOFTMAX_HEAD                                                                                         \
  "name: row_softmax\n"                                                                                      \
  "language: opencl\n"                                                                                       \
  "symbols:\n"                                                                                               \
  "  rows: {default: 4096, min: 1, max: 65536}\n"                                                            \
  "  cols: {default: 1024, min: 1, max: 16384, multiple_of: 4}\n"
#define SOFTMAX_ARGS                                                                                         \
  "args:\n"                                                                                                  \
  "  - {name: x, role: in, type: f32, shape: [rows, cols], fill: normal}\n"                                  \
  "  - {name: y, role: out, type: f32, shape: [rows, cols]}\n"                                               \
  "  - {name: rows, role: size, type: i32}\n"                                                                \
  "  - {name: cols, role: size, type: i32}\n"                                                                \
  "  - {name: alpha, role: scalar, type: f32, value: 0.5}\n"
#define SOFTMAX_TAIL                                                                                         \
  "kernel: {opencl: kernel.cl}\n"                                                                            \
  "reference: {file: reference.c, entry: softmax_ref}\n"                                                     \
  "check:   {cases: [{rows: 1, cols: 4}, {rows: 33, cols: 1000}]}\n"                                         \
  "measure: {cases: [{rows: 4096, cols: 1024, origin: upstream}]}\n"
#define SOFTMAX_YAML SOFTMAX_HEAD SOFTMAX_ARGS SOFTMAX_TAIL
#define SOFTMAX_KERNEL                                                                                       \
  "// [EVOLVE_START]\n"                                                                                      \
  "//kf: launch softmax global=(ceil(rows, 64)*64) local=(64) args=(x, y, rows, cols)\n"                     \
  "kernel void softmax(global const float *x, global float *y, int rows, int cols) {}\n"                     \
  "// [EVOLVE_END]\n"

typedef struct {
  char dir[KF_PATH_MAX];
} package;

static inline void put_file(const package *p, const char *name, const char *text) {
  char path[KF_PATH_MAX];
  assert_int_equal(kf_fs_join(path, p->dir, name, NULL), KF_OK);
  assert_int_equal(kf_fs_write(path, text, strlen(text), NULL), KF_OK);
}

/* A folder with the given task.yaml, kernel.cl and reference.c. */
static inline package new_package(const char *yaml) {
  package p;
  kf_err err = {0};
  if (kf_fs_mkdtemp(p.dir, "kf-test-task", &err) != KF_OK) fail_msg("%s", err.msg);
  put_file(&p, "task.yaml", yaml);
  put_file(&p, "kernel.cl", SOFTMAX_KERNEL);
  put_file(&p, "reference.c", "void softmax_ref(void) {}\n");
  return p;
}

static inline void drop_package(const package *p) {
  assert_int_equal(kf_fs_remove_tree(p->dir, NULL), KF_OK);
}

static inline kf_task *load_yaml(const char *yaml) {
  package p = new_package(yaml);
  kf_task *task = NULL;
  kf_err err = {0};
  if (kf_task_load(p.dir, &task, &err) != KF_OK) fail_msg("%s (%s)", err.msg, err.hint);
  drop_package(&p);
  return task;
}

/* The failure is one line that begins with `begin`, contains `part`, and its hint contains `hint`. */
static inline void assert_err(const kf_err *err, kf_status code, const char *begin, const char *part,
                              const char *hint) {
  bool good = err->code == code && strncmp(err->msg, begin, strlen(begin)) == 0 &&
              strstr(err->msg, part) != NULL && strstr(err->hint, hint) != NULL &&
              strchr(err->msg, '\n') == NULL;
  if (!good)
    fail_msg("wanted %s \"%s...%s\" (%s), got %s \"%s\" (%s)", kf_status_name(code), begin, part, hint,
             kf_status_name(err->code), err->msg, err->hint);
}

static const kf_device_limits cpu_limits = {.units = 2,
                                            .local_bytes = 65536,
                                            .max_group = 4096,
                                            .max_local = {4096, 4096, 4096},
                                            .simd_width = 8,
                                            .is_cpu = 1};

#endif
