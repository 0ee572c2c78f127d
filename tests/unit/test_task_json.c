/* links: kf_base kf_task */
/* test_task_json.c - the canonical JSON: what goes out comes back, and equal meaning gives the equal id. */
#include "test_task_util.h"

typedef struct {
  const kf_task *task;
  bool lie; /* gives other bytes than asked for */
} blobs;

static bool find_blob(void *context, const kf_hash *hash, const char **ret_bytes, size_t *ret_len) {
  const blobs *b = context;
  for (int i = 0; i < b->task->nfiles; i++) {
    if (!kf_hash_equal(&b->task->files[i].hash, hash)) continue;
    *ret_bytes = b->lie ? "something else" : b->task->files[i].bytes;
    *ret_len = b->lie ? 14 : b->task->files[i].len;
    return true;
  }
  return false;
}

#define FULL_YAML                                                                                            \
  SOFTMAX_HEAD                                                                                               \
  "  fix: 7\n" SOFTMAX_ARGS                                                                                  \
  "  - {name: idx, role: in, type: i32, shape: [\"ceil(rows, 2)\"], fill: \"int[-3,9)\"}\n"                  \
  "  - {name: c, role: inout, type: f16, shape: [fix], fill: constant(0.1)}\n"                               \
  "  - {name: k, role: in, type: u32, shape: [rows], fill: index(rows)}\n" SOFTMAX_TAIL                      \
  "params: {TILE: 32, T: float4}\nerror: {kind: linear, depth: cols}\nseeds: {opencl: [kernel.cl]}\n"

static void test_task_json__round_trip_keeps_everything(void **state) {
  (void)state;
  kf_task *task = load_yaml(FULL_YAML), *copy = NULL;
  json_t *json = NULL;
  kf_err err = {0};
  blobs b = {.task = task};
  assert_int_equal(kf_task_to_json(task, &json, &err), KF_OK);
  if (kf_task_from_json(json, find_blob, &b, &copy, &err) != KF_OK) fail_msg("%s", err.msg);
  assert_true(kf_hash_equal(&task->id, &copy->id));
  assert_null(copy->dir);
  assert_string_equal(copy->symbols[2].name, "fix");
  assert_true(copy->symbols[2].fixed);
  assert_int_equal(copy->args[5].fill.lo, -3);
  assert_true(copy->args[6].fill.value == 0.1);
  assert_int_equal(copy->args[7].fill.symbol, 0);
  assert_string_equal(copy->measure[0].origin, "upstream");
  assert_int_equal(copy->kernel[KF_LANG_OPENCL]->len, task->kernel[KF_LANG_OPENCL]->len);
  assert_int_equal(copy->nseeds[KF_LANG_OPENCL], 1);
  kf_task_free(copy);
  kf_task_free(task);
  json_decref(json);
}

static void test_task_json__meaning_decides_the_id(void **state) {
  (void)state;
  kf_task *a = load_yaml(SOFTMAX_YAML);
  kf_task *b =
      load_yaml("# a comment\n" SOFTMAX_HEAD SOFTMAX_ARGS SOFTMAX_TAIL
                "baseline: kernel\nerror: {kind: calibrated}\ndeterminism: bitwise\ncompare: {y: bound}\n");
  kf_task *c = load_yaml(SOFTMAX_HEAD SOFTMAX_ARGS SOFTMAX_TAIL "determinism: tolerance\n");
  assert_true(kf_hash_equal(&a->id, &b->id));
  assert_false(kf_hash_equal(&a->id, &c->id));
  kf_task_free(a);
  kf_task_free(b);
  kf_task_free(c);
}

static void test_task_json__a_file_change_changes_the_id(void **state) {
  (void)state;
  package p = new_package(SOFTMAX_YAML);
  kf_task *before = NULL, *after = NULL;
  assert_int_equal(kf_task_load(p.dir, &before, NULL), KF_OK);
  put_file(&p, "reference.c", "void softmax_ref(int x) {}\n");
  assert_int_equal(kf_task_load(p.dir, &after, NULL), KF_OK);
  assert_false(kf_hash_equal(&before->id, &after->id));
  kf_task_free(before);
  kf_task_free(after);
  drop_package(&p);
}

static void test_task_json__wrong_blobs_are_refused(void **state) {
  (void)state;
  kf_task *task = load_yaml(SOFTMAX_YAML), *copy = NULL;
  json_t *json = NULL;
  kf_err err = {0};
  blobs b = {.task = task, .lie = true};
  assert_int_equal(kf_task_to_json(task, &json, NULL), KF_OK);
  assert_int_equal(kf_task_from_json(json, find_blob, &b, &copy, &err), KF_EREFUSED);
  assert_err(&err, KF_EREFUSED, "task: ", "do not match their hash", "");
  json_object_set_new(json_object_get(json, "files"), "kernel.cl", json_string("12"));
  kf_task_from_json(json, find_blob, &b, &copy, &err);
  assert_err(&err, KF_EREFUSED, "task: ", "no SHA-256", "");
  json_object_set_new(json_object_get(json, "files"), "kernel.cl",
                      json_string("0000000000000000000000000000000000000000000000000000000000000000"));
  kf_task_from_json(json, find_blob, &b, &copy, &err);
  assert_err(&err, KF_EREFUSED, "task: ", "was not sent", "");
  json_object_del(json_object_get(json, "files"), "kernel.cl");
  kf_task_from_json(json, find_blob, &b, &copy, &err);
  assert_err(&err, KF_EREFUSED, "task: ", "has no hash", "");
  json_object_set_new(json_object_get(json, "task"), "refrence", json_true());
  kf_task_from_json(json, find_blob, &b, &copy, &err);
  assert_err(&err, KF_EREFUSED, "task: ", "unknown key \"refrence\"", "did you mean \"reference\"?");
  json_object_del(json, "files");
  assert_int_equal(kf_task_from_json(json, find_blob, &b, &copy, &err), KF_EPROTO);
  assert_null(copy);
  json_decref(json);
  kf_task_free(task);
}

static void test_task_json__survives_every_allocation_failure(void **state) {
  (void)state;
  kf_task *task = load_yaml(FULL_YAML);
  blobs b = {.task = task};
  bool done = false;
  for (unsigned long n = 1; n < 20000 && !done; n++) {
    json_t *json = NULL;
    kf_task *copy = NULL;
    kf_err err = {0};
    kf_alloc_fail_at(n, true);
    kf_status status = kf_task_to_json(task, &json, &err);
    if (status == KF_OK) status = kf_task_from_json(json, find_blob, &b, &copy, &err);
    kf_alloc_fail_at(0, false);
    done = status == KF_OK;
    if (!done && (status != KF_ENOMEM || copy != NULL)) fail_msg("allocation %lu: %s", n, err.msg);
    json_decref(json);
    kf_task_free(copy);
  }
  assert_true(done);
  kf_task_free(task);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_json__round_trip_keeps_everything),
      cmocka_unit_test(test_task_json__meaning_decides_the_id),
      cmocka_unit_test(test_task_json__a_file_change_changes_the_id),
      cmocka_unit_test(test_task_json__wrong_blobs_are_refused),
      cmocka_unit_test(test_task_json__survives_every_allocation_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
