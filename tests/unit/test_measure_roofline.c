/* links: kf_base kf_wire kf_task kf_measure */
/* test_measure_roofline.c - classes by the shares of the ceilings, and floors; and the probe is a task as any
 * other. */
#include "measure/roofline.h"

#include "test_task_util.h"
#include <math.h>
#include <string.h>

static const kf_ceilings ceilings = {
    .read_gbs = 20, .write_gbs = 10, .copy_gbs = 16, .gflops = 100, .launch_ns = 2000, .known = true};
static const kf_device_info device = {.limits = {.units = 4, .is_cpu = 1}, .llc_bytes = 1 << 20};

static kf_roofline classify(kf_work work, kf_diagnosis *ret_diagnosis) {
  kf_roofline r;
  kf_roofline_classify(&ceilings, &device, &work, 1, &r, ret_diagnosis);
  assert_string_equal(r.bound, ret_diagnosis->kind);
  return r;
}

static void test_measure_roofline__classes_in_order(void **state) {
  (void)state;
  kf_diagnosis d;
  /* 160 MB in and out in 20 ms: all of the copy rate */
  kf_work w = {
      .bytes_in = 160000000, .bytes_out = 160000000, .launches = 1, .groups = 100, .time_ns = 20000000};
  kf_roofline r = classify(w, &d);
  assert_string_equal(r.bound, "memory_bound");
  assert_float_equal(r.bytes_share, 1.0, 1e-9);
  assert_non_null(strstr(d.text, "100 %"));
  w.operations = 1.9e9; /* 95 % of the arithmetic: still less than the bytes */
  assert_string_equal(classify(w, &d).bound, "memory_bound");
  w.bytes_in = w.bytes_out = 16000000;
  r = classify(w, &d);
  assert_string_equal(r.bound, "compute_bound");
  assert_float_equal(r.operations_share, 0.95, 1e-9);
  w.operations = 0;
  w.groups = 7;
  assert_string_equal(classify(w, &d).bound, "underfilled");
  w.groups = 8;
  assert_string_equal(classify(w, &d).bound, "latency_bound");
  w.groups = 0; /* not known */
  assert_string_equal(classify(w, &d).bound, "latency_bound");
  w.launches = 4;
  w.time_ns = 20000; /* 8 of 20 us */
  r = classify(w, &d);
  assert_string_equal(r.bound, "launch_bound");
  assert_float_equal(r.launch_share, 0.4, 1e-9);
}

static void test_measure_roofline__bytes_one_way_have_their_own_ceiling(void **state) {
  (void)state;
  kf_diagnosis d;
  kf_work reads = {.bytes_in = 20000000, .bytes_out = 4, .groups = 99, .time_ns = 1000000};
  assert_float_equal(classify(reads, &d).bytes_share, 1.0, 1e-3);
  kf_work writes = {.bytes_in = 0, .bytes_out = 10000000, .groups = 99, .time_ns = 1000000};
  assert_float_equal(classify(writes, &d).bytes_share, 1.0, 1e-3);
}

static void test_measure_roofline__several_cases_are_geometric_means(void **state) {
  (void)state;
  kf_diagnosis d;
  kf_roofline r;
  kf_work w[2] = {{.bytes_in = 20000000, .operations = 1e8, .launches = 1, .groups = 99, .time_ns = 1000000},
                  {.bytes_in = 20000000, .launches = 1, .groups = 1, .time_ns = 4000000}};
  kf_roofline_classify(&ceilings, &device, w, 2, &r, &d);
  assert_float_equal(r.bytes_share, 0.5, 1e-9);
  assert_float_equal(r.operations_share, 0, 1e-12); /* one case does not say */
  assert_float_equal(r.launch_share, 0.001, 1e-9);
  assert_int_equal(r.floor_ns, 1000000);
}

static void test_measure_roofline__nothing_without_ceilings_or_times(void **state) {
  (void)state;
  kf_diagnosis d;
  kf_roofline r;
  kf_ceilings unknown = ceilings;
  kf_work w = {.bytes_in = 1, .bytes_out = 1, .time_ns = 1};
  unknown.known = false;
  kf_roofline_classify(&unknown, &device, &w, 1, &r, &d);
  assert_string_equal(r.bound, "");
  kf_roofline_classify(NULL, &device, &w, 1, &r, &d);
  assert_string_equal(r.bound, "");
  kf_roofline_classify(&ceilings, &device, &w, 0, &r, &d);
  assert_string_equal(r.bound, "");
  w.time_ns = 0;
  kf_roofline_classify(&ceilings, &device, &w, 1, &r, &d);
  assert_string_equal(r.bound, "");
  assert_string_equal(d.kind, "");
}

static void test_measure_roofline__the_floor_spares_what_the_cache_may_keep(void **state) {
  (void)state;
  kf_work w = {.bytes_in = 20000000, .bytes_out = 1 << 20, .operations = 1e15};
  assert_int_equal(kf_work_floor_ns(&ceilings, &w, 1 << 20), 1000000); /* operations never count */
  w.bytes_out += 10000000;
  assert_int_equal(kf_work_floor_ns(&ceilings, &w, 1 << 20), 2000000);
  assert_int_equal(kf_work_floor_ns(NULL, &w, 0), 0);
}

static kf_task *load(const char *args, const char *more) {
  char yaml[2048];
  kf_task *task = NULL;
  kf_err err = {0};
  snprintf(
      yaml, sizeof yaml,
      "name: t\nlanguage: opencl\nsymbols: {n: {default: 8, min: 1, max: 64}, k: {default: 3, min: 1, max: "
      "9}}\nargs:\n%skernel: kernel.cl\nreference: kernel\n%s",
      args, more);
  package p = new_package(yaml);
  if (kf_task_load(p.dir, &task, &err) != KF_OK) fail_msg("%s", err.msg);
  drop_package(&p);
  return task;
}

#define IN "  - {name: x, role: in, type: f32, shape: [n], fill: normal}\n"
#define OUT "  - {name: y, role: out, type: f64, shape: [n]}\n"

static void test_measure_roofline__work_of_a_task(void **state) {
  (void)state;
  kf_work w;
  kf_task *plain = load(IN OUT, "");
  assert_int_equal(kf_work_of_task(plain, plain->measure[0].values, &w, NULL), KF_OK);
  assert_int_equal(w.bytes_in, 32);
  assert_int_equal(w.bytes_out, 64);
  assert_float_equal(w.operations, 0, 0);
  kf_task *linear = load(IN OUT, "error: {kind: linear, depth: k}\n");
  assert_int_equal(kf_work_of_task(linear, linear->measure[0].values, &w, NULL), KF_OK);
  assert_float_equal(w.operations, 2 * 3 * 8, 0);
  kf_task *said = load(IN OUT, "error: {kind: linear, depth: k}\noperations: n * n\n");
  assert_int_equal(kf_work_of_task(said, said->measure[0].values, &w, NULL), KF_OK);
  assert_float_equal(w.operations, 64, 0);
  kf_task *both = load("  - {name: z, role: inout, type: f32, shape: [n], fill: normal}\n", "");
  assert_int_equal(kf_work_of_task(both, both->measure[0].values, &w, NULL), KF_OK);
  assert_int_equal(w.bytes_in, 32);
  assert_int_equal(w.bytes_out, 32);
  /* Which elements of x are needed depends on the indices. */
  kf_task *gather = load(IN "  - {name: i, role: in, type: i32, shape: [n], fill: index(n)}\n" OUT, "");
  assert_int_equal(kf_work_of_task(gather, gather->measure[0].values, &w, NULL), KF_OK);
  assert_int_equal(w.bytes_in, 32);
  kf_task *const tasks[] = {plain, linear, said, both, gather};
  for (size_t i = 0; i < KF_COUNTOF(tasks); i++)
    kf_task_free(tasks[i]);
}

static void test_measure_roofline__the_probe_is_a_task(void **state) {
  (void)state;
  kf_task *task = NULL;
  kf_plan *plan = NULL;
  kf_err err = {0};
  kf_device_info info = {.limits = cpu_limits, .llc_bytes = INT64_C(480) << 20};
  if (kf_ceiling_task(&info, &task, &err) != KF_OK) fail_msg("%s", err.msg);
  const kf_task_file *file = task->kernel[KF_LANG_OPENCL];
  if (kf_plan_parse(task, file->bytes, file->len, file->path, &plan, &err) != KF_OK) fail_msg("%s", err.msg);
  kf_binding binding;
  kf_plan_default(plan, &binding);
  for (int i = 0; i < task->ncheck; i++) {
    kf_calls *calls = NULL;
    if (kf_plan_resolve(plan, task, &binding, task->check[i].values, &cpu_limits, &calls, &err) != KF_OK)
      fail_msg("%s", err.msg);
    assert_int_equal(calls->nsteps, 1); /* each case picks one kernel */
    kf_work w = {0};
    kf_work_add_calls(calls, &w);
    assert_int_equal(w.launches, 1);
    assert_int_equal(w.groups, calls->steps[0].global[0]);
    kf_calls_free(calls);
  }
  int64_t elements = 0, shape[KF_RANK_MAX];
  assert_int_equal(kf_task_elements(task, 0, task->check[0].values, &elements, shape, NULL), KF_OK);
  assert_int_equal(elements * 4, 64 << 20); /* never more, whatever the cache is said to be */
  kf_plan_free(plan);
  kf_task_free(task);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_measure_roofline__classes_in_order),
      cmocka_unit_test(test_measure_roofline__bytes_one_way_have_their_own_ceiling),
      cmocka_unit_test(test_measure_roofline__several_cases_are_geometric_means),
      cmocka_unit_test(test_measure_roofline__nothing_without_ceilings_or_times),
      cmocka_unit_test(test_measure_roofline__the_floor_spares_what_the_cache_may_keep),
      cmocka_unit_test(test_measure_roofline__work_of_a_task),
      cmocka_unit_test(test_measure_roofline__the_probe_is_a_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
