/* links: kf_base kf_task */
/* test_task_docs.c - the examples of docs/formats are a real task and a real candidate. */
#include "test_task_util.h"

/* The fenced block after "<!-- example: NAME -->" of a page. */
static char *example(const char *page, const char *name) {
  char path[KF_PATH_MAX], marker[100];
  kf_buf text;
  kf_buf_init(&text, 1 << 20);
  snprintf(path, sizeof path, "%s/docs/formats/%s", KF_TEST_SOURCE_DIR, page);
  snprintf(marker, sizeof marker, "<!-- example: %s -->\n```", name);
  assert_int_equal(kf_fs_read(path, &text, NULL), KF_OK);
  const char *begin = strstr(kf_buf_text(&text), marker);
  assert_non_null(begin);
  begin = strchr(begin + strlen(marker), '\n') + 1;
  const char *end = strstr(begin, "```\n");
  assert_non_null(end);
  char *block = kf_strndup(begin, (size_t)(end - begin));
  assert_non_null(block);
  kf_buf_done(&text);
  return block;
}

static void test_task_docs__examples_are_real(void **state) {
  (void)state;
  char *yaml = example("task.md", "task.yaml"), *tiled = example("launch-plan.md", "tiled.cl");
  package p = new_package(yaml);
  kf_task *task = NULL;
  kf_plan *plan = NULL;
  kf_err err = {0};
  put_file(&p, "tiled.cl", tiled);
  if (kf_task_load(p.dir, &task, &err) != KF_OK) fail_msg("%s", err.msg);
  if (kf_plan_parse(task, tiled, strlen(tiled), "tiled.cl", &plan, &err) != KF_OK) fail_msg("%s", err.msg);
  kf_binding binding;
  kf_calls *calls = NULL;
  kf_plan_default(plan, &binding);
  for (int i = 0; i < task->ncheck; i++) {
    if (kf_plan_resolve(plan, task, &binding, task->check[i].values, &cpu_limits, &calls, &err) != KF_OK)
      fail_msg("%s", err.msg);
    assert_int_equal(calls->nsteps, 3);
    kf_calls_free(calls);
  }
  kf_plan_free(plan);
  kf_task_free(task);
  kf_free(yaml);
  kf_free(tiled);
  drop_package(&p);
}

/* The task and the kernel of the host form's page. */
static void test_task_docs__host_form_example_is_real(void **state) {
  (void)state;
  char *yaml = example("host-form.md", "task.yaml"), *kernel = example("host-form.md", "kernel.c");
  package p = new_package(yaml);
  kf_task *task = NULL;
  kf_plan *plan = NULL;
  kf_calls *calls = NULL;
  kf_binding binding;
  kf_err err = {0};
  put_file(&p, "kernel.c", kernel);
  if (kf_task_load(p.dir, &task, &err) != KF_OK) fail_msg("%s", err.msg);
  const kf_task_file *file = task->kernel[KF_LANG_C];
  if (kf_plan_parse(task, file->bytes, file->len, file->path, &plan, &err) != KF_OK) fail_msg("%s", err.msg);
  kf_plan_default(plan, &binding);
  if (kf_plan_resolve(plan, task, &binding, task->check[1].values, &cpu_limits, &calls, &err) != KF_OK)
    fail_msg("%s", err.msg);
  assert_int_equal(calls->nsteps, 1);
  assert_int_equal(calls->host->symbols[0], 17);
  kf_calls_free(calls);
  kf_plan_free(plan);
  kf_task_free(task);
  kf_free(yaml);
  kf_free(kernel);
  drop_package(&p);
}

/* The messages that the pages show are those of the program. */
static void test_task_docs__messages_are_real(void **state) {
  (void)state;
  char *yaml = example("task.md", "task.yaml");
  memcpy(strstr(yaml, "reference:"), "refrence: ", 10);
  package p = new_package(yaml);
  kf_task *task = NULL;
  kf_err err = {0};
  put_file(&p, "tiled.cl", "");
  assert_int_equal(kf_task_load(p.dir, &task, &err), KF_EREFUSED);
  assert_string_equal(err.msg, "task.yaml:13:1: unknown key \"refrence\"");
  assert_string_equal(err.hint, "did you mean \"reference\"?");
  kf_free(yaml);
  drop_package(&p);

  kf_plan *plan = NULL;
  const char *source = "\n\n//kf: where rws > 1\n";
  task = load_yaml(SOFTMAX_YAML);
  assert_int_equal(kf_plan_parse(task, source, strlen(source), "kernel.cl", &plan, &err), KF_EREFUSED);
  assert_string_equal(err.msg, "kernel.cl:3:13: unknown name \"rws\"");
  assert_string_equal(err.hint, "did you mean \"rows\"?");
  kf_task_free(task);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_docs__examples_are_real),
      cmocka_unit_test(test_task_docs__host_form_example_is_real),
      cmocka_unit_test(test_task_docs__messages_are_real),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
