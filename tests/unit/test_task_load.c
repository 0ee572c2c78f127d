/* links: kf_base kf_task */
/* test_task_load.c - task.yaml: what is read, and what each mistake says. */
#include "test_task_util.h"

#include <sys/stat.h>
#include <unistd.h>

static void test_task_load__reads_everything(void **state) {
  (void)state;
  kf_task *task =
      load_yaml(SOFTMAX_YAML "params: {TILE: 32, T: float4}\nerror: {kind: linear, depth: cols*2}\n"
                             "determinism: tolerance\ncompare: {y: bitwise}\nbaseline: reference\n"
                             "seeds: {opencl: [kernel.cl]}\n");
  assert_string_equal(task->name, "row_softmax");
  assert_int_equal(task->nlanguages, 1);
  assert_true(kf_task_has_language(task, KF_LANG_OPENCL));
  assert_false(kf_task_has_language(task, KF_LANG_CUDA));
  assert_int_equal(task->nsymbols, 2);
  assert_int_equal(task->symbols[1].multiple_of, 4);
  assert_false(task->symbols[1].fixed);
  assert_int_equal(task->nargs, 5);
  assert_int_equal(task->args[0].rank, 2);
  assert_int_equal(task->args[2].symbol, 0);
  assert_true(task->args[4].value == 0.5);
  assert_int_equal(task->compare[1], KF_COMPARE_BITWISE);
  assert_int_equal(task->error_kind, KF_ERROR_LINEAR);
  assert_string_equal(kf_expr_text(task->error_depth), "cols*2");
  assert_true(task->determinism_tolerance);
  assert_int_equal(task->baseline_kind, KF_BASELINE_REFERENCE);
  assert_int_equal(task->reference_kind, KF_REFERENCE_C);
  assert_string_equal(task->reference_entry, "softmax_ref");
  assert_string_equal(task->reference->bytes, "void softmax_ref(void) {}\n");
  assert_ptr_equal(task->seeds[KF_LANG_OPENCL][0], task->kernel[KF_LANG_OPENCL]);
  assert_int_equal(task->nfiles, 2);
  assert_int_equal(task->nparams, 2);
  assert_string_equal(task->params[1].value, "float4");
  assert_int_equal(task->ncheck, 2);
  assert_int_equal(task->check[1].values[1], 1000);
  assert_string_equal(task->measure[0].origin, "upstream");
  assert_null(task->check[0].origin);
  int64_t elements, shape[KF_RANK_MAX];
  assert_int_equal(kf_task_elements(task, 0, task->check[1].values, &elements, shape, NULL), KF_OK);
  assert_int_equal(elements, 33000);
  assert_int_equal(shape[1], 1000);
  assert_int_equal(kf_task_elements(task, 2, task->check[1].values, &elements, NULL, NULL), KF_OK);
  assert_int_equal(elements, 1);
  kf_buf text;
  kf_buf_init(&text, 100);
  assert_int_equal(kf_task_case_text(task, task->check[1].values, &text, NULL), KF_OK);
  assert_string_equal(kf_buf_text(&text), "rows=33,cols=1000");
  kf_buf_done(&text);
  kf_task_free(task);
}

static void test_task_load__defaults(void **state) {
  (void)state;
  kf_task *task = load_yaml("name: t\nlanguage: [cuda, opencl]\nsymbols: {n: 100, m: {default: 8}}\n"
                            "args: [{name: a, role: inout, type: i32, shape: [n, m], fill: \"int[-3,4)\"}]\n"
                            "kernel: {opencl: kernel.cl, cuda: kernel.cl}\nreference: kernel\n");
  assert_int_equal(task->languages[0], KF_LANG_CUDA);
  assert_true(task->symbols[0].fixed);
  assert_int_equal(task->symbols[1].min, 1);
  assert_int_equal(task->symbols[1].max, 8);
  assert_int_equal(task->args[0].fill.kind, KF_FILL_INT);
  assert_int_equal(task->args[0].fill.lo, -3);
  assert_int_equal(task->args[0].fill.hi, 4);
  assert_int_equal(task->compare[0], KF_COMPARE_EXACT);
  assert_int_equal(task->error_kind, KF_ERROR_CALIBRATED);
  assert_int_equal(task->baseline_kind, KF_BASELINE_KERNEL);
  assert_int_equal(task->reference_kind, KF_REFERENCE_KERNEL);
  assert_null(task->reference);
  assert_int_equal(task->ncheck, 1);
  assert_int_equal(task->nmeasure, 1);
  assert_int_equal(task->measure[0].values[0], 100);
  assert_int_equal(task->measure[0].values[1], 8);
  kf_task_free(task);
}

static void test_task_load__fills(void **state) {
  (void)state;
  package p = new_package("name: t\nlanguage: opencl\nsymbols: {n: 4}\nargs:\n"
                          "  - {name: a, role: in, type: f32, shape: [n], fill: uniform}\n"
                          "  - {name: b, role: in, type: i32, shape: [n], fill: index(n)}\n"
                          "  - {name: c, role: in, type: u8, shape: [n], fill: permutation}\n"
                          "  - {name: d, role: in, type: f64, shape: [n], fill: sorted}\n"
                          "  - {name: e, role: in, type: f32, shape: [n, n], fill: spd}\n"
                          "  - {name: f, role: in, type: f16, shape: [n], fill: constant(-2.5)}\n"
                          "  - {name: g, role: in, type: u16, shape: [n], fill: file(data.bin)}\n"
                          "  - {name: y, role: out, type: f32, shape: []}\n"
                          "kernel: kernel.cl\nreference: kernel\n");
  kf_task *task = NULL;
  kf_err err = {0};
  put_file(&p, "data.bin", "12345678");
  kf_task_load(p.dir, &task, &err);
  assert_err(&err, KF_EREFUSED, "task.yaml:12:44: ", "shape of \"y\" must be a list", "");
  put_file(&p, "task.yaml",
           "name: t\nlanguage: opencl\nsymbols: {n: 4}\nargs:\n"
           "  - {name: b, role: in, type: i32, shape: [n], fill: index(n)}\n"
           "  - {name: e, role: in, type: f32, shape: [n, n], fill: spd}\n"
           "  - {name: f, role: in, type: f16, shape: [n], fill: constant(-2.5)}\n"
           "  - {name: g, role: in, type: u16, shape: [n], fill: file(data.bin)}\n"
           "  - {name: y, role: out, type: f32, shape: [n]}\n"
           "kernel: kernel.cl\nreference: kernel\n");
  if (kf_task_load(p.dir, &task, &err) != KF_OK) fail_msg("%s", err.msg);
  assert_int_equal(task->args[0].fill.kind, KF_FILL_INDEX);
  assert_int_equal(task->args[0].fill.symbol, 0);
  assert_int_equal(task->args[1].fill.kind, KF_FILL_SPD);
  assert_true(task->args[2].fill.value == -2.5);
  assert_string_equal(task->args[3].fill.file, "data.bin");
  kf_task_free(task);
  drop_package(&p);
}

typedef struct {
  const char *yaml;
  const char *begin, *part, *hint;
} mistake;

#define GOOD_ARGS "args: [{name: y, role: out, type: f32, shape: [n]}]\n"
#define REST "kernel: kernel.cl\nreference: kernel\n"
#define HEAD "name: t\nlanguage: opencl\nsymbols: {n: 4}\n"
#define ARG(text) HEAD "args:\n  - {name: y, role: out, type: f32, shape: [n]}\n  - " text "\n" REST

static void check_mistakes(const mistake *list, size_t count) {
  package p = new_package("");
  for (size_t i = 0; i < count; i++) {
    kf_task *task = NULL;
    kf_err err = {0};
    put_file(&p, "task.yaml", list[i].yaml);
    if (kf_task_load(p.dir, &task, &err) == KF_OK) fail_msg("accepted:\n%s", list[i].yaml);
    assert_null(task);
    assert_err(&err, KF_EREFUSED, list[i].begin, list[i].part, list[i].hint);
  }
  drop_package(&p);
}

static void test_task_load__yaml_mistakes(void **state) {
  (void)state;
  static const mistake list[] = {
      {"", "task.yaml: ", "empty", ""},
      {"name: [", "task.yaml:2:1: ", "not YAML", ""},
      {"name: t\nname: u\n", "task.yaml:2:1: ", "\"name\" was given in line 1 already", ""},
      {"name: &a t\n", "task.yaml:1:7: ", "anchors", ""},
      {"name: *a\n", "task.yaml:1:7: ", "aliases", ""},
      {"name: !!str t\n", "task.yaml:1:7: ", "tags", ""},
      {"name: \"a\\0b\"\n", "task.yaml:1:7: ", "NUL", ""},
      {"{[a]: b}\n", "task.yaml:1:2: ", "plain word", ""},
      {"name: t\n---\nname: u\n", "task.yaml:2:1: ", "more than one document", ""},
      {"just text\n", "task.yaml:1:1: ", "a task must be a map", ""},
      {"name: t\n\tx: y\n", "task.yaml:2:1: ", "not YAML", "blanks, not tabs"},
      {ARG("{name: x, role: in, type: i32, shape: [n], fill: int[0,16)}"), "task.yaml:6:", "not YAML",
       "in quotes"},
      {"a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n",
       "task.yaml:1:", "nested deeper than 32", ""},
      {"name: \xff\n", "task.yaml: byte 6", "not YAML", ""},
  };
  check_mistakes(list, KF_COUNTOF(list));
}

static void test_task_load__key_mistakes(void **state) {
  (void)state;
  static const mistake list[] = {
      {HEAD GOOD_ARGS "kernel: kernel.cl\nrefrence: kernel\n", "task.yaml:6:1: ", "unknown key \"refrence\"",
       "did you mean \"reference\"?"},
      {HEAD GOOD_ARGS REST "zzz: 1\n", "task.yaml:7:1: ", "unknown key \"zzz\"", "known: name, language"},
      {"language: opencl\n", "task.yaml:1:1: ", "key \"name\" is missing", ""},
      {"name:\n", "task.yaml:1:", "name has no value", ""},
      {"name: [a]\n", "task.yaml:1:7: ", "single value", ""},
      {"name: a b\n", "task.yaml:1:7: ", "must be 1 to 64 letters", ""},
      {"name: t\nlanguage: opnecl\n", "task.yaml:2:11: ", "unknown language \"opnecl\"",
       "did you mean \"opencl\"?"},
      {"name: t\nlanguage: [opencl, opencl]\n", "task.yaml:2:20: ", "was given already", ""},
      {"name: t\nlanguage: []\n", "task.yaml:2:11: ", "no language", ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: x}\n", "task.yaml:3:14: ", "not a whole number", ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: -1}\n", "task.yaml:3:14: ", "out of range", ""},
      {"name: t\nlanguage: opencl\nsymbols: {f32: 1}\n", "task.yaml:3:11: ", "reserved word", ""},
      {"name: t\nlanguage: opencl\nsymbols: {2n: 1}\n", "task.yaml:3:11: ", "is not a name", ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: {min: 1}}\n", "task.yaml:3:14: ", "\"default\" is missing",
       ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: {default: 5, max: 4}}\n",
       "task.yaml:3:24: ", "outside of its domain", ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: {default: 5, multiple_of: 4}}\n",
       "task.yaml:3:24: ", "outside of its domain", ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: {default: 5, min: 9, max: 7}}\n",
       "task.yaml:3:32: ", "min 9 is above max 7", ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: {default: 5, mx: 7}}\n",
       "task.yaml:3:27: ", "unknown key \"mx\"", "did you mean \"max\"?"},
      {HEAD REST, "task.yaml:1:1: ", "key \"args\" is missing", ""},
      {HEAD "args: {}\n" REST, "task.yaml:4:7: ", "must be a list", ""},
      {HEAD "args: []\n" REST, "task.yaml:4:7: ", "nothing is computed", ""},
      {HEAD GOOD_ARGS "kernel: {cuda: kernel.cl}\nreference: kernel\n",
       "task.yaml:5:10: ", "unknown language of this task \"cuda\"", "known: opencl"},
      {HEAD GOOD_ARGS "kernel: nope.cl\nreference: kernel\n",
       "task.yaml:5:9: ", "\"nope.cl\" is not in the package", ""},
      {HEAD GOOD_ARGS "kernel: ../kernel.cl\nreference: kernel\n", "task.yaml:5:9: ", "not a plain path",
       "copy the file"},
      {HEAD GOOD_ARGS "kernel: /etc/passwd\nreference: kernel\n", "task.yaml:5:9: ", "not a plain path", ""},
      {HEAD GOOD_ARGS "reference: kernel\n", "task.yaml:5:12: ", "no kernel is given for opencl", ""},
      {HEAD GOOD_ARGS "kernel: kernel.cl\n", "task.yaml:1:1: ", "key \"reference\" is missing", ""},
      {HEAD GOOD_ARGS "reference: torch\n", "task.yaml:5:12: ", "unknown reference", "{file: model.py}"},
      {HEAD GOOD_ARGS "reference: {file: kernel.cl}\n", "task.yaml:5:19: ", "neither C (.c)", ""},
      {HEAD GOOD_ARGS "reference: {file: reference.c}\n", "task.yaml:5:12: ", "\"entry\" is missing", ""},
      {HEAD GOOD_ARGS REST "baseline: torch-eager\n",
       "task.yaml:7:11: ", "needs a PyTorch reference (line 6)", ""},
      {HEAD GOOD_ARGS REST "baseline: kernle\n", "task.yaml:7:11: ", "unknown baseline",
       "did you mean \"kernel\"?"},
      {HEAD GOOD_ARGS REST "baseline: old.cl\n", "task.yaml:7:11: ", "\"old.cl\" is not in the package", ""},
      {HEAD GOOD_ARGS "reference: {file: reference.c, entry: f}\nbaseline: kernel\n",
       "task.yaml:6:11: ", "no kernel is given", ""},
      {HEAD GOOD_ARGS REST "seeds: kernel.cl\n", "task.yaml:7:8: ", "must be a map", ""},
      {HEAD GOOD_ARGS REST "compare: {x: bound}\n", "task.yaml:7:11: ", "unknown output \"x\"", "known: y"},
      {HEAD GOOD_ARGS REST "compare: {y: bond}\n", "task.yaml:7:14: ", "unknown comparison",
       "did you mean \"bound\"?"},
      {HEAD GOOD_ARGS REST "compare: {y: argmax}\n", "task.yaml:7:14: ", "argmax compares indices", ""},
      {HEAD GOOD_ARGS REST "error: {kind: linear}\n", "task.yaml:7:8: ", "\"depth\" is missing", "depth: K"},
      {HEAD GOOD_ARGS REST "error: {kind: exact, depth: n}\n", "task.yaml:7:29: ", "belongs to kind linear",
       ""},
      {HEAD GOOD_ARGS REST "error: {kind: linear, depth: n/0}\n",
       "task.yaml:7:30: ", "column 2: division by zero", ""},
      {HEAD GOOD_ARGS REST "error: {kind: linear, depth: 0-n}\n", "task.yaml:7:30: ", "negative", ""},
      {HEAD GOOD_ARGS REST "determinism: yes\n", "task.yaml:7:14: ", "unknown determinism",
       "bitwise, tolerance"},
      {HEAD GOOD_ARGS REST "params: {TILE: 1.5}\n", "task.yaml:7:16: ", "neither a whole number nor a word",
       ""},
      {HEAD GOOD_ARGS REST "params: [1]\n", "task.yaml:7:9: ", "must be a map", ""},
      {HEAD GOOD_ARGS REST "check: {cases: [{m: 4}]}\n", "task.yaml:7:18: ", "unknown symbol \"m\"",
       "known: n, origin"},
      {HEAD GOOD_ARGS REST "check: {cases: [{n: 5}]}\n", "task.yaml:7:21: ", "5 is outside of its domain",
       ""},
      {HEAD GOOD_ARGS REST "check: {cases: []}\n", "task.yaml:7:16: ", "at least one case", ""},
      {HEAD GOOD_ARGS REST "measure: {case: [{n: 5}]}\n", "task.yaml:7:11: ", "unknown key \"case\"",
       "did you mean \"cases\"?"},
  };
  check_mistakes(list, KF_COUNTOF(list));
}

static void test_task_load__argument_mistakes(void **state) {
  (void)state;
  static const mistake list[] = {
      {ARG("{role: in, type: f32, shape: [n]}"), "task.yaml:6:5: ", "\"name\" is missing", ""},
      {ARG("{name: y, role: in, type: f32, shape: [n]}"), "task.yaml:6:12: ", "\"y\" was given already", ""},
      {ARG("{name: log2, role: in, type: f32, shape: [n]}"), "task.yaml:6:12: ", "reserved", ""},
      {ARG("{name: x, role: array, type: f32, shape: [n]}"), "task.yaml:6:21: ", "unknown role",
       "known: in, out, inout"},
      {ARG("{name: x, role: in, type: f23, shape: [n]}"), "task.yaml:6:31: ", "unknown type",
       "did you mean \"f32\"?"},
      {ARG("{name: x, role: in, type: f32}"), "task.yaml:6:5: ", "\"shape\" is missing", ""},
      {ARG("{name: x, role: in, type: f32, shape: n}"), "task.yaml:6:43: ", "must be a list", ""},
      {ARG("{name: x, role: in, type: f32, shape: [m]}"),
       "task.yaml:6:44: ", "column 1: unknown symbol \"m\"", "symbols"},
      {ARG("{name: x, role: in, type: f32, shape: [n+]}"), "task.yaml:6:44: ", "column 3: expected a number",
       ""},
      {ARG("{name: x, role: in, type: f32, shape: [ceil(n, 4)]}"), "task.yaml:6:44: ", "expected \",\"",
       "in quotes"},
      {ARG("{name: x, role: in, type: f32, shape: [n-5]}"), "task.yaml:6:5: ", "is -1, below zero", ""},
      {ARG("{name: x, role: in, type: f32, shape: [n*4611686018427387904]}"),
       "task.yaml:6:5: ", "column 2: result does not fit", ""},
      {ARG("{name: x, role: in, type: f32, shape: [n, 4611686018427387904]}"),
       "task.yaml:6:5: ", "more elements", ""},
      {ARG("{name: x, role: in, type: f32, shape: [2305843009213693952]}"), "task.yaml:6:5: ", "more bytes",
       ""},
      {ARG("{name: x, role: in, type: f32, shape: [n,n,n,n,n,n,n,n,n]}"), "task.yaml:6:43: ", "more than 8",
       ""},
      {ARG("{name: n, role: in, type: f32, shape: [n]}"),
       "task.yaml:6:5: ", "name of a symbol and of an array", ""},
      {ARG("{name: x, role: out, type: f32, shape: [n], fill: normal}"),
       "task.yaml:6:55: ", "role out takes no fill", ""},
      {ARG("{name: x, role: in, type: f32, shape: [n], value: 1}"),
       "task.yaml:6:55: ", "role in takes no value", ""},
      {ARG("{name: x, role: in, type: i32, shape: [n]}"), "task.yaml:6:5: ", "needs a fill", "int[0,100)"},
      {ARG("{name: x, role: in, type: i32, shape: [n], fill: normal}"), "task.yaml:6:54: ", "for float types",
       ""},
      {ARG("{name: x, role: in, type: f32, shape: [n], fill: index(n)}"),
       "task.yaml:6:54: ", "for integer types", ""},
      {ARG("{name: x, role: in, type: i32, shape: [n], fill: index(k)}"),
       "task.yaml:6:54: ", "unknown symbol \"k\"", ""},
      {ARG("{name: x, role: in, type: f32, shape: [n], fill: norml}"), "task.yaml:6:54: ", "unknown fill",
       "did you mean \"normal\"?"},
      {ARG("{name: x, role: in, type: u8, shape: [n], fill: \"int[0,257)\"}"),
       "task.yaml:6:53: ", "within u8", ""},
      {ARG("{name: x, role: in, type: u8, shape: [n], fill: \"int[5,5)\"}"), "task.yaml:6:53: ", "lo < hi",
       ""},
      {ARG("{name: x, role: in, type: f32, shape: [n], fill: spd}"), "task.yaml:6:54: ", "rank 1", ""},
      {ARG("{name: x, role: in, type: f32, shape: [n, 2], fill: spd}"), "task.yaml:6:5: ", "square", ""},
      {ARG("{name: x, role: in, type: f16, shape: [n], fill: constant(1e6)}"),
       "task.yaml:6:54: ", "too large for f16", ""},
      {ARG("{name: x, role: in, type: f32, shape: [n], fill: file(no)}"),
       "task.yaml:6:54: ", "not in the package", ""},
      {ARG("{name: x, role: in, type: f32, shape: [n], fill: file(kernel.cl)}"),
       "task.yaml:6:5: ", "needs 16", ""},
      {ARG("{name: k, role: size, type: i32}"), "task.yaml:6:5: ", "size \"k\" is no symbol", "role scalar"},
      {ARG("{name: n, role: size, type: f32}"), "task.yaml:6:5: ", "integer type", ""},
      {ARG("{name: n, role: size, type: i32, value: 3}"), "task.yaml:6:45: ", "takes no value", ""},
      {ARG("{name: s, role: scalar, type: i32}"), "task.yaml:6:5: ", "\"value\" is missing", ""},
      {ARG("{name: s, role: scalar, type: i8, value: 128}"), "task.yaml:6:46: ", "is no i8", ""},
      {ARG("{name: s, role: scalar, type: i8, value: 1.5}"), "task.yaml:6:46: ", "is no i8", ""},
      {ARG("{name: s, role: scalar, type: f32, value: abc}"), "task.yaml:6:47: ", "not a number", ""},
      {ARG("{name: s, role: scalar, type: f32, value: 1e39}"), "task.yaml:6:47: ", "too large for f32", ""},
      {ARG("{name: n, role: scalar, type: i32, value: 1}"), "task.yaml:6:5: ", "use role size", ""},
      {"name: t\nlanguage: opencl\nsymbols: {n: 300}\nargs:\n  - {name: n, role: size, type: u8}\n",
       "task.yaml:5:5: ", "is no u8", ""},
  };
  check_mistakes(list, KF_COUNTOF(list));
}

static void test_task_load__missing_things_are_not_found(void **state) {
  (void)state;
  kf_task *task = NULL;
  kf_err err = {0};
  assert_int_equal(kf_task_load("/nonexistent/task", &task, &err), KF_ENOTFOUND);
  assert_int_equal(kf_task_load("", &task, &err), KF_EINVAL);
  package p = new_package(SOFTMAX_YAML);
  char path[KF_PATH_MAX];
  kf_fs_join(path, p.dir, "task.yaml", NULL);
  assert_int_equal(kf_task_load(path, &task, &err), KF_OK); /* the file itself */
  assert_string_equal(task->dir, p.dir);
  kf_task_free(task);
  task = NULL;
  unlink(path);
  assert_int_equal(kf_task_load(p.dir, &task, &err), KF_ENOTFOUND);
  assert_non_null(strstr(err.hint, "kf init"));
  kf_fs_join(path, p.dir, "kernel.cl", NULL);
  assert_int_equal(kf_task_load(path, &task, &err), KF_EINVAL);
  drop_package(&p);
  assert_null(task);
}

/* The text "kernel: PATH" of a task whose file is something odd. */
static void check_file(const package *p, const char *file, const char *part) {
  char yaml[1024];
  kf_task *task = NULL;
  kf_err err = {0};
  snprintf(yaml, sizeof yaml, HEAD GOOD_ARGS "kernel: %s\nreference: kernel\n", file);
  put_file(p, "task.yaml", yaml);
  assert_int_equal(kf_task_load(p->dir, &task, &err), KF_EREFUSED);
  assert_err(&err, KF_EREFUSED, "task.yaml:5:9: ", part, "");
}

static void test_task_load__files_stay_in_the_package(void **state) {
  (void)state;
  package p = new_package("");
  char path[KF_PATH_MAX];
  kf_fs_join(path, p.dir, "link.cl", NULL);
  assert_int_equal(symlink("/etc/hostname", path), 0);
  check_file(&p, "link.cl", "symbolic link");
  kf_fs_join(path, p.dir, "up", NULL);
  assert_int_equal(symlink("/etc", path), 0);
  check_file(&p, "up/hostname", "symbolic link");
  kf_fs_join(path, p.dir, "pipe.cl", NULL);
  assert_int_equal(mkfifo(path, 0600), 0);
  check_file(&p, "pipe.cl", "not a regular file");
  kf_fs_join(path, p.dir, "folder.cl", NULL);
  assert_int_equal(mkdir(path, 0700), 0);
  check_file(&p, "folder.cl", "not a regular file");
  kf_fs_join(path, p.dir, "big.cl", NULL);
  put_file(&p, "big.cl", "x");
  assert_int_equal(truncate(path, (4 << 20) + 1), 0);
  check_file(&p, "big.cl", "larger than 4194304 bytes");
  assert_int_equal(truncate(path, 10), 0);
  check_file(&p, "big.cl", "not a text");
  put_file(&p, "folder.cl/k.cl", SOFTMAX_KERNEL);
  kf_task *task = NULL;
  put_file(&p, "task.yaml", HEAD GOOD_ARGS "kernel: folder.cl/k.cl\nreference: kernel\n");
  assert_int_equal(kf_task_load(p.dir, &task, NULL), KF_OK);
  assert_string_equal(task->kernel[KF_LANG_OPENCL]->path, "folder.cl/k.cl");
  kf_task_free(task);
  drop_package(&p);
}

static void test_task_load__large_yaml_is_refused(void **state) {
  (void)state;
  package p = new_package("");
  char path[KF_PATH_MAX];
  kf_task *task = NULL;
  kf_err err = {0};
  kf_fs_join(path, p.dir, "task.yaml", NULL);
  assert_int_equal(truncate(path, (1 << 20) + 1), 0);
  assert_int_equal(kf_task_load(p.dir, &task, &err), KF_EREFUSED);
  assert_non_null(strstr(err.msg, "larger than 1048576"));
  drop_package(&p);
}

static void test_task_load__torch_reference_is_recorded(void **state) {
  (void)state;
  package p = new_package(HEAD GOOD_ARGS "reference: {file: model.py}\nbaseline: torch-compile\n");
  kf_task *task = NULL;
  put_file(&p, "model.py", "class Model: pass\n");
  assert_int_equal(kf_task_load(p.dir, &task, NULL), KF_OK);
  assert_int_equal(task->reference_kind, KF_REFERENCE_TORCH);
  assert_int_equal(task->baseline_kind, KF_BASELINE_TORCH_COMPILE);
  assert_null(task->reference_entry);
  kf_task_free(task);
  drop_package(&p);
}

static void test_task_load__case_outside_of_the_domain_names_the_symbol(void **state) {
  (void)state;
  kf_task *task = load_yaml(SOFTMAX_YAML);
  kf_err err = {0};
  const int64_t odd[] = {1, 6}, large[] = {70000, 4}, good[] = {1, 8};
  assert_int_equal(kf_task_check_case(task, good, &err), KF_OK);
  assert_int_equal(kf_task_check_case(task, odd, &err), KF_EREFUSED);
  assert_err(&err, KF_EREFUSED, "symbol \"cols\": 6", "not a multiple of 4", "");
  assert_int_equal(kf_task_check_case(task, large, &err), KF_EREFUSED);
  assert_err(&err, KF_EREFUSED, "symbol \"rows\": 70000", "outside", "1 to 65536");
  kf_task_free(task);
}

static void test_task_load__survives_every_allocation_failure(void **state) {
  (void)state;
  package p = new_package(SOFTMAX_YAML "params: {TILE: 8}\nerror: {kind: linear, depth: cols}\n");
  bool loaded = false;
  for (int forever = 0; forever < 2; forever++) {
    loaded = false;
    for (unsigned long n = 1; n < 5000 && !loaded; n++) {
      kf_task *task = NULL;
      kf_err err = {0};
      kf_alloc_fail_at(n, forever != 0);
      kf_status status = kf_task_load(p.dir, &task, &err);
      kf_alloc_fail_at(0, false);
      loaded = status == KF_OK;
      if (!loaded && (status != KF_ENOMEM || task != NULL)) fail_msg("allocation %lu: %s", n, err.msg);
      kf_task_free(task);
    }
    assert_true(loaded);
  }
  drop_package(&p);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_task_load__reads_everything),
      cmocka_unit_test(test_task_load__defaults),
      cmocka_unit_test(test_task_load__fills),
      cmocka_unit_test(test_task_load__yaml_mistakes),
      cmocka_unit_test(test_task_load__key_mistakes),
      cmocka_unit_test(test_task_load__argument_mistakes),
      cmocka_unit_test(test_task_load__missing_things_are_not_found),
      cmocka_unit_test(test_task_load__files_stay_in_the_package),
      cmocka_unit_test(test_task_load__large_yaml_is_refused),
      cmocka_unit_test(test_task_load__torch_reference_is_recorded),
      cmocka_unit_test(test_task_load__case_outside_of_the_domain_names_the_symbol),
      cmocka_unit_test(test_task_load__survives_every_allocation_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
