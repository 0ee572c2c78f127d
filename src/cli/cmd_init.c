/* cmd_init.c - `kf init`: a task package around a bare kernel, with the arguments that the device's compiler
 * reports. */
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "report/row.h"
#include "task/init.h"
#include <string.h>

#include "base/banned.h"

typedef struct {
  const char *target, *from, *entry, *reference, *reference_entry, *global, *local;
  kf_texts shapes, scalars;
} init_args;

static const char *const usages[] = {"DIR --from KERNEL.cl --shape NAME=DIM,..",
                                     "KERNEL.cl --shape NAME=DIM,..", NULL};
static const kf_positional positionals[] = {
    {.name = "DIR",
     .offset = offsetof(init_args, target),
     .help = "folder to make; or the kernel file, whose name without its ending is then the folder"},
    {.name = NULL},
};
static const kf_option options[] = {
    {.name = "from",
     .type = KF_OPT_TEXT,
     .offset = offsetof(init_args, from),
     .value = "KERNEL.cl",
     .help = "the kernel"},
    {.name = "shape",
     .type = KF_OPT_LIST,
     .offset = offsetof(init_args, shapes),
     .value = "NAME=DIM,..",
     .help = "shape of an array argument, slowest dimension first; DIM is NAME:NUMBER (a size that may "
             "vary), the NAME "
             "of one given before, or a NUMBER (a fixed size); once for each array"},
    {.name = "scalar",
     .type = KF_OPT_LIST,
     .offset = offsetof(init_args, scalars),
     .value = "NAME=V",
     .help = "value of an argument that is no array"},
    {.name = "entry",
     .type = KF_OPT_TEXT,
     .offset = offsetof(init_args, entry),
     .value = "NAME",
     .help = "which kernel, when the file has several"},
    {.name = "reference",
     .type = KF_OPT_TEXT,
     .offset = offsetof(init_args, reference),
     .value = "FILE.c",
     .help = "C reference; \"kernel\" (default): the given kernel says what is right"},
    {.name = "reference-entry",
     .type = KF_OPT_TEXT,
     .offset = offsetof(init_args, reference_entry),
     .value = "NAME",
     .help = "function of the reference (default: the kernel's name and _ref)"},
    {.name = "global",
     .type = KF_OPT_TEXT,
     .offset = offsetof(init_args, global),
     .value = "(E,..)",
     .help = "work-items of a launch (default: guessed from the output's shape)"},
    {.name = "local",
     .type = KF_OPT_TEXT,
     .offset = offsetof(init_args, local),
     .value = "(E,..)",
     .help = "work-items of a group (default: guessed)"},
    {.name = NULL},
};
static const char *const examples[] = {
    "kf init softmax --from softmax.cl --shape x=rows:4096,cols:1024 --shape y=rows,cols",
    "kf init scale.cl --shape x=n:1000000 --shape y=n --scalar factor=2.5",
    NULL,
};
const kf_syntax kf_cmd_init_syntax = {
    .usages = usages,
    .about = "Compiles the kernel, reads its arguments from the compiler, and writes task.yaml and a kernel "
             "with markers and a\n"
             "launch plan. What had to be guessed is printed for you to check; then `kf check DIR`.",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_DEVICE,
    .args_size = sizeof(init_args),
};

/* The kernel file and the folder to make. */
static kf_status read_places(const init_args *args, const char **ret_kernel, char ret_dir[KF_PATH_MAX],
                             kf_err *err) {
  if (args->from != NULL) {
    *ret_kernel = args->from;
    snprintf(ret_dir, KF_PATH_MAX, "%s", args->target);
    return KF_OK;
  }
  if (!kf_fs_exists(args->target) || kf_fs_is_dir(args->target))
    return kf_err_hint(err, kf_fail(err, KF_EINVAL, "init: %s: no such kernel file", args->target),
                       "kf init DIR --from KERNEL.cl --shape NAME=DIM,..");
  const char *slash = strrchr(args->target, '/');
  snprintf(ret_dir, KF_PATH_MAX, "%s", slash != NULL ? slash + 1 : args->target);
  char *dot = strrchr(ret_dir, '.');
  if (dot == NULL || dot == ret_dir)
    return kf_err_hint(err,
                       kf_fail(err, KF_EINVAL, "init: %s: no folder can be named after it", args->target),
                       "kf init DIR --from KERNEL.cl --shape NAME=DIM,..");
  *dot = '\0';
  *ret_kernel = args->target;
  return KF_OK;
}

/* An OpenCL compiler tells what a kernel's arguments are; kf_run has only one. */
static kf_status refuse_host_form(const char *path, kf_err *err) {
  kf_language language = KF_LANG_OPENCL;
  if (!kf_language_of_file(path, &language) || language != KF_LANG_C) return KF_OK;
  return kf_err_hint(
      err, kf_fail(err, KF_EINVAL, "init: %s: a C kernel does not say what its arguments are", path),
      "write its task.yaml by hand; docs/formats/host-form.md has a whole one");
}

static kf_status choose_entry(const json_t *kernels, const char *wanted, const json_t **ret_kernel,
                              kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf names;
  kf_buf_init(&names, KF_ERR_HINT_MAX);
  size_t count = json_array_size(kernels);
  for (size_t i = 0; i < count; i++) {
    const json_t *kernel = json_array_get(kernels, i);
    const char *name = kf_json_str_or(kernel, "entry", "");
    if (wanted != NULL ? strcmp(name, wanted) == 0 : count == 1) {
      *ret_kernel = kernel;
      return KF_OK;
    }
    (void)kf_buf_printf(&names, NULL, "%s%s", i > 0 ? ", " : "", name); /* a hint may be shorter */
  }
  if (count == 0) return kf_fail(err, KF_EINVAL, "init: the file has no kernel");
  kf_status status =
      wanted != NULL ? kf_fail(err, KF_EINVAL, "init: --entry: no kernel \"%.60s\" in the file", wanted)
                     : kf_fail(err, KF_EINVAL, "init: the file has %zu kernels: --entry says which", count);
  return kf_err_hint(err, status, "there is %s", kf_buf_text(&names));
}

static kf_status read_kernel_args(const json_t *kernel, kf_arena *arena, kf_init_request *request,
                                  kf_err *err) {
  json_t *list = NULL;
  KF_TRY(kf_json_str(kernel, "entry", &request->entry, err));
  KF_TRY(kf_json_arr(kernel, "args", &list, err));
  size_t count = json_array_size(list);
  kf_kernel_arg *args = kf_arena_array(arena, count + 1, sizeof *args);
  if (args == NULL) return kf_nomem(err);
  for (size_t i = 0; i < count; i++) {
    const json_t *row = json_array_get(list, i);
    const char *name = NULL, *type = NULL;
    KF_TRY(kf_json_str(row, "name", &name, err));
    KF_TRY(kf_json_str(row, "type", &type, err));
    snprintf(args[i].name, sizeof args[i].name, "%s", name);
    snprintf(args[i].type_name, sizeof args[i].type_name, "%s", type);
    args[i].is_global = kf_json_bool_or(row, "global", false);
    args[i].is_constant = kf_json_bool_or(row, "constant", false);
    args[i].is_local = kf_json_bool_or(row, "local", false);
    args[i].is_const = kf_json_bool_or(row, "const", false);
  }
  request->args = args;
  request->nargs = (int)count;
  return KF_OK;
}

static kf_status ask_compiler(kf_cli *cli, const char *path, json_t **ret_kernels, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf source;
  kf_buf_init(&source, KF_SOURCE_MAX);
  KF_TRY(kf_input_kernel(path, &source, err));
  kf_judge *judge = NULL;
  const kf_device_info *device = NULL;
  KF_TRY(kf_judge_open(&cli->settings, &judge, err));
  kf_status status = kf_judge_device(judge, cli->common.device, NULL, path, &device, err);
  if (status == KF_OK) {
    status = kf_judge_inspect(judge, device->id, kf_buf_text(&source), source.len, ret_kernels, err);
    if (status != KF_OK) kf_err_context(err, status, "%s", path);
  }
  kf_judge_free(judge);
  return status;
}

/* The lines of a text as an array; NULL without memory. */
static json_t *lines_json(const kf_buf *text) {
  json_t *lines = json_array();
  for (const char *at = kf_buf_text(text); lines != NULL && *at != '\0';) {
    size_t len = strcspn(at, "\n");
    if (len > 0 && json_array_append_new(lines, json_stringn_nocheck(at, len)) != 0) {
      json_decref(lines);
      return NULL;
    }
    at += len + (at[len] == '\n');
  }
  return lines;
}

static kf_status print_result(const kf_cli *cli, const char *dir, const kf_buf *notes, kf_err *err) {
  if (!cli->common.json) {
    KF_CLEANUP(kf_buf_done) kf_buf buf;
    kf_buf_init(&buf, KF_OUTPUT_MAX);
    KF_TRY(kf_buf_printf(&buf, err, "wrote %s/task.yaml and %s/kernel.cl\n", dir, dir));
    if (notes->len > 0) KF_TRY(kf_buf_printf(&buf, err, "guessed; please check:\n%s", kf_buf_text(notes)));
    KF_TRY(kf_buf_printf(&buf, err, "next: kf check %s\n", dir));
    return kf_out_buf(&buf, err);
  }
  kf_row row;
  kf_row_begin(&row);
  kf_row_text(&row, "task", dir);
  kf_row_value(&row, "guessed", lines_json(notes));
  return kf_out_json(kf_row_take(&row), err);
}

kf_status kf_cmd_init(kf_cli *cli, const void *args_, kf_err *err) {
  const init_args *args = args_;
  const char *path = NULL;
  char dir[KF_PATH_MAX];
  KF_TRY(read_places(args, &path, dir, err));
  KF_TRY(refuse_host_form(path, err));
  KF_CLEANUP(kf_json_freep) json_t *kernels = NULL;
  const json_t *kernel = NULL;
  KF_TRY(ask_compiler(cli, path, &kernels, err));
  KF_TRY(choose_entry(kernels, args->entry, &kernel, err));
  kf_init_request request = {
      .shapes = args->shapes.items,
      .nshapes = (int)args->shapes.count,
      .scalars = args->scalars.items,
      .nscalars = (int)args->scalars.count,
      .kernel_path = path,
      .reference = args->reference,
      .reference_entry = args->reference_entry,
      .global = args->global,
      .local = args->local,
  };
  KF_TRY(read_kernel_args(kernel, &cli->arena, &request, err));
  KF_CLEANUP(kf_buf_done) kf_buf notes;
  kf_buf_init(&notes, 64 << 10);
  KF_TRY(kf_task_init(dir, &request, &notes, err));
  return print_result(cli, dir, &notes, err);
}
