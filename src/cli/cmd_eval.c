/* cmd_eval.c - `kf eval TASK [FILE...] [TASK [FILE...]...]`: a verdict for each kernel; exit 0 only if all
 * are correct. */
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "report/row.h"
#include "report/verdict_text.h"
#include <string.h>

#include "base/banned.h"

typedef struct {
  kf_texts paths;
  const char *binding;
  int64_t stage;
  bool seeds, no_race, cases;
} eval_args;

static const char *const usages[] = {"TASK [FILE...]", "TASK...", NULL};
static const kf_positional positionals[] = {
    {.name = "TASK...",
     .offset = offsetof(eval_args, paths),
     .repeated = true,
     .help = "task folders (or task.yaml), each with the kernel files to judge after it (default: its own)"},
    {.name = NULL},
};
static const kf_option options[] = {
    {.name = "binding",
     .letter = 'b',
     .type = KF_OPT_TEXT,
     .offset = offsetof(eval_args, binding),
     .value = "NAME=V,..",
     .help = "values of the kernel's parameters (default: those in the source)"},
    {.name = "stage",
     .type = KF_OPT_INT,
     .offset = offsetof(eval_args, stage),
     .value = "N",
     .min = 0,
     .max = 3,
     .help = "how far to judge: 0 builds and tries the smallest cases, 2 verifies and times (default), 3 "
             "adds hidden "
             "cases and fresh processes"},
    {.name = "seeds",
     .type = KF_OPT_FLAG,
     .offset = offsetof(eval_args, seeds),
     .help = "judge a task's seeds too, where no files are named"},
    {.name = "no-race",
     .type = KF_OPT_FLAG,
     .offset = offsetof(eval_args, no_race),
     .help = "no speed-up over the task's own kernel, which may take long when that one is slow"},
    {.name = "cases",
     .type = KF_OPT_FLAG,
     .offset = offsetof(eval_args, cases),
     .help = "print the table of cases"},
    {.name = NULL},
};
static const eval_args initial = {.stage = 2};
static const char *const examples[] = {"kf eval tasks/matmul",
                                       "kf eval tasks/matmul mine.cl --binding TILE=16 --json",
                                       "kf eval tasks/* --seeds --json", NULL};
const kf_syntax kf_cmd_eval_syntax = {
    .usages = usages,
    .about = "Builds, verifies and times each kernel, and prints a verdict for it. A kernel that differs "
             "from the task's\n"
             "own is raced against it, so that a correct one gets its speed-up with an interval.",
    .exits = "0 all correct, 1 judged but not all correct",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_DEVICE,
    .args_size = sizeof(eval_args),
    .initial = &initial,
};

typedef struct {
  kf_cli *cli;
  const eval_args *args;
  kf_judge *judge;
  const kf_task *task;
  const kf_task_file *own; /* NULL: the task has no kernel */
  const kf_device_info *device;
  bool all_correct;
} evaluation;

static kf_status print_verdict(const evaluation *e, const char *name, const kf_verdict *verdict,
                               kf_err *err) {
  if (e->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_verdict_to_json(verdict, &object, err));
    kf_row row;
    kf_row_begin_with(&row, object);
    kf_row_text(&row, "task", e->task->name);
    kf_row_text(&row, "candidate", name);
    return kf_out_json(kf_row_take(&row), err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "%s: ", name));
  KF_TRY(kf_verdict_line(verdict, &buf, err));
  KF_TRY(kf_buf_puts(&buf, "\n", err));
  KF_TRY(kf_verdict_details(verdict, &buf, err));
  if (e->args->cases) KF_TRY(kf_verdict_cases(verdict, &buf, err));
  return kf_out_buf(&buf, err);
}

static kf_status judge_source(evaluation *e, const char *name, const char *source, size_t len, kf_err *err) {
  bool is_own = e->own != NULL && e->own->len == len && memcmp(e->own->bytes, source, len) == 0;
  kf_eval_source own = {.source = e->own != NULL ? e->own->bytes : "",
                        .source_len = e->own != NULL ? e->own->len : 0,
                        .binding = ""};
  bool race = e->own != NULL && !is_own && !e->args->no_race && e->args->stage >= 2;
  kf_eval_request request = {
      .task = e->task,
      .device = e->device->id,
      .candidate = {.source = source,
                    .source_len = len,
                    .binding = e->args->binding != NULL ? e->args->binding : ""},
      .against = race ? &own : NULL,
      .stage = (int)e->args->stage,
  };
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  kf_status status = kf_judge_ask(e->judge, &request, verdict, err);
  if (status == KF_EREFUSED) return status; /* the task's fault, and its place is in the message */
  if (status != KF_OK) return kf_err_context(err, status, "%s", name);
  if (verdict->kind != KF_VERDICT_CORRECT) e->all_correct = false;
  return print_verdict(e, name, verdict, err);
}

static kf_status judge_path(evaluation *e, const char *path, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf source;
  kf_buf_init(&source, KF_SOURCE_MAX);
  KF_TRY(kf_input_kernel(path, &source, err));
  return judge_source(e, path, kf_buf_text(&source), source.len, err);
}

static kf_status judge_own(evaluation *e, kf_language language, kf_err *err) {
  const kf_task *task = e->task;
  KF_TRY(kf_input_own_kernel(task, language, &e->own, err));
  KF_TRY(judge_source(e, e->own->path, e->own->bytes, e->own->len, err));
  for (int i = 0; i < task->nseeds[language] && e->args->seeds; i++) {
    const kf_task_file *seed = task->seeds[language][i];
    KF_TRY(judge_source(e, seed->path, seed->bytes, seed->len, err));
  }
  return KF_OK;
}

static bool names_task(const char *path) {
  size_t len = strlen(path);
  return kf_fs_is_dir(path) || (len > 5 && strcmp(path + len - 5, ".yaml") == 0);
}

/* A task and the files up to the next task; *ret_next is where that is. The first file's language decides on
 * the device; all of them are judged there. */
static kf_status judge_task(evaluation *e, size_t first, size_t *ret_next, kf_err *err) {
  const kf_texts *paths = &e->args->paths;
  size_t next = first + 1;
  KF_CLEANUP(kf_input_task_free) kf_task *task = NULL;
  *ret_next = next;
  KF_TRY(kf_input_task(paths->items[first], &task, err));
  KF_TRY(kf_input_judged(task, err));
  const char *file = next < paths->count && !names_task(paths->items[next]) ? paths->items[next] : NULL;
  KF_TRY(kf_judge_device(e->judge, e->cli->common.device, task, file, &e->device, err));
  kf_language language = kf_device_language(e->device);
  e->task = task;
  e->own = task->kernel[language];
  kf_status status = KF_OK;
  for (; status == KF_OK && next < paths->count && !names_task(paths->items[next]); next++)
    status = judge_path(e, paths->items[next], err);
  if (status == KF_OK && next == first + 1) status = judge_own(e, language, err);
  *ret_next = next;
  return status;
}

kf_status kf_cmd_eval(kf_cli *cli, const void *args_, kf_err *err) {
  const eval_args *args = args_;
  evaluation e = {.cli = cli, .args = args, .all_correct = true};
  kf_status status = kf_judge_open(&cli->settings, &e.judge, err);
  for (size_t i = 0; status == KF_OK && i < args->paths.count;)
    status = judge_task(&e, i, &i, err);
  kf_judge_free(e.judge);
  cli->exit_code = e.all_correct ? 0 : 1;
  return status;
}
