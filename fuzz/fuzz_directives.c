/* links: kf_base kf_task */
/* fuzz_directives.c - any bytes as the source of a candidate. What parses can be bound, its bound source
 * parses to the same kernel, and resolving gives numbers or a reason. */
#include "base/alloc.h"
#include "base/fs.h"
#include "task/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kf_task *task;

static void free_task(void) {
  kf_task_free(task);
}

static void put(const char *dir, const char *name, const char *text) {
  char path[KF_PATH_MAX];
  if (kf_fs_join(path, dir, name, NULL) != KF_OK || kf_fs_write(path, text, strlen(text), NULL) != KF_OK)
    abort();
}

static void load_task(void) {
  char dir[KF_PATH_MAX];
  kf_alloc_init();
  if (kf_fs_mkdtemp(dir, "kf-fuzz-directives", NULL) != KF_OK) abort();
  put(dir, "kernel.cl", "kernel void f() {}\n");
  put(dir, "task.yaml",
      "name: t\nlanguage: opencl\n"
      "symbols: {rows: {default: 64, max: 100}, cols: {default: 32, max: 64, multiple_of: 4}}\n"
      "args:\n"
      "  - {name: x, role: in, type: f32, shape: [rows, cols]}\n"
      "  - {name: y, role: out, type: f32, shape: [rows, cols]}\n"
      "  - {name: rows, role: size, type: i32}\n"
      "  - {name: alpha, role: scalar, type: f16, value: 0.5}\n"
      "kernel: kernel.cl\nreference: kernel\n");
  if (kf_task_load(dir, &task, NULL) != KF_OK || atexit(free_task) != 0) abort();
  kf_fs_remove_tree(dir, NULL);
}

static void check_bound_source(const kf_plan *plan, const kf_binding *binding) {
  kf_buf source KF_CLEANUP(kf_buf_done), text KF_CLEANUP(kf_buf_done);
  kf_plan *bound = NULL;
  kf_binding again;
  kf_hash a, b;
  kf_buf_init(&source, (size_t)64 << 20);
  kf_buf_init(&text, 1 << 20);
  if (kf_plan_bind_source(plan, binding, &source, NULL) != KF_OK) abort();
  if (kf_plan_parse(task, kf_buf_text(&source), source.len, "bound.cl", &bound, NULL) != KF_OK) abort();
  if (kf_plan_space(bound) != 1) abort();
  kf_plan_default(bound, &again);
  kf_plan_normalised_hash(plan, binding, &a, NULL);
  kf_plan_normalised_hash(bound, &again, &b, NULL);
  if (!kf_hash_equal(&a, &b)) abort();
  if (kf_plan_binding_text(plan, binding, &text, NULL) != KF_OK) abort();
  if (kf_plan_binding_parse(plan, kf_buf_text(&text), &again, NULL) != KF_OK) abort();
  if (memcmp(binding, &again, sizeof again) != 0) abort();
  kf_plan_free(bound);
}

static void check_plan(const kf_plan *plan) {
  const kf_device_limits limits = {2, 65536, 4096, {4096, 4096, 4096}, 8, 1};
  const int64_t *symbols = task->check[0].values;
  kf_binding binding;
  kf_calls *calls = NULL;
  kf_err err = {0};
  bool legal = false;
  kf_plan_default(plan, &binding);
  check_bound_source(plan, &binding);
  kf_status judged = kf_plan_legal(plan, &binding, symbols, &limits, &legal, NULL, &err);
  kf_status status = kf_plan_resolve(plan, task, &binding, symbols, &limits, &calls, &err);
  if (status == KF_OK && (judged != KF_OK || !legal)) abort();
  if (status != KF_OK && (status != KF_EREFUSED || err.msg[0] == '\0')) abort();
  kf_calls_free(calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kf_plan *plan = NULL;
  kf_err err = {0};
  if (task == NULL) load_task();
  kf_status status = kf_plan_parse(task, (const char *)data, size, "k.cl", &plan, &err);
  if (status == KF_OK) check_plan(plan);
  if (status != KF_OK && (status != KF_EREFUSED || strncmp(err.msg, "k.cl:", 5) != 0)) abort();
  kf_plan_free(plan);
  return 0;
}
