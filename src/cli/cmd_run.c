/* cmd_run.c - `kf run TASK`: the search, its progress, and at the end what was found and how to take it home.
 */
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "report/report.h"
#include "report/row.h"
#include "report/verdict_text.h"
#include "run/progress.h"
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

typedef struct {
  const char *task, *resume, *db;
  int64_t evals, seed;
  double time_s;
  kf_texts proposers;
  bool dry_run;
} run_args;

enum { EVALS_DEFAULT = 100, NOT_GIVEN = -1 };

static const char *const usages[] = {"TASK", "--resume RUN", NULL};
static const kf_positional positionals[] = {
    {.name = "TASK",
     .offset = offsetof(run_args, task),
     .optional = true,
     .help = "task folder, or its task.yaml"},
    {.name = NULL},
};
static const kf_option options[] = {
    {.name = "evals",
     .type = KF_OPT_INT,
     .offset = offsetof(run_args, evals),
     .value = "N",
     .min = 1,
     .max = 1000000000,
     .help = "stop after N judged candidates (default: 100, or no limit with --time)"},
    {.name = "time",
     .type = KF_OPT_DURATION,
     .offset = offsetof(run_args, time_s),
     .value = "T",
     .help = "stop after this working time: 90s, 5m, 2h"},
    {.name = "seed",
     .type = KF_OPT_INT,
     .offset = offsetof(run_args, seed),
     .value = "N",
     .min = 0,
     .max = INT64_MAX,
     .help = "seed of everything random in the search (default: 1)"},
    {.name = "proposer",
     .type = KF_OPT_LIST,
     .offset = offsetof(run_args, proposers),
     .value = "SPEC",
     .help = "who proposes kernels: builtin (default), mailbox:DIR, command:PROGRAM ARGS, replay:PATH; may "
             "be repeated"},
    {.name = "llm",
     .type = KF_OPT_LIST,
     .offset = offsetof(run_args, proposers),
     .value = "SPEC",
     .help = "the same as --proposer"},
    {.name = "db",
     .type = KF_OPT_TEXT,
     .offset = offsetof(run_args, db),
     .value = "PATH",
     .help = "database of the new run (default: RUN.db in the folder of --runs)"},
    {.name = "resume",
     .type = KF_OPT_TEXT,
     .offset = offsetof(run_args, resume),
     .value = "RUN",
     .help = "go on with a run: its id, a beginning of it, a path, or \"last\"; --evals and --time then set "
             "new limits; proposers but builtin are to be given again"},
    {.name = "dry-run",
     .type = KF_OPT_FLAG,
     .offset = offsetof(run_args, dry_run),
     .help = "judge one kernel and say how many evaluations a minute to expect, the smallest gain that can "
             "be seen, and "
             "what would leave this machine"},
    {.name = NULL},
};
static const run_args initial = {.evals = NOT_GIVEN, .seed = NOT_GIVEN, .time_s = NOT_GIVEN};
static const char *const examples[] = {
    "kf run tasks/matmul --evals 60 --seed 1",
    "kf run tasks/matmul --time 10m --proposer 'command:my-agent --quiet'",
    "kf run --resume last --evals 200",
    NULL,
};
const kf_syntax kf_cmd_run_syntax = {
    .usages = usages,
    .about = "Searches for a kernel that is faster than the task's own and still right. Everything is kept "
             "in one database, so\n"
             "that a run that was stopped or killed goes on with --resume. The first Ctrl-C waits for what "
             "is being measured\n"
             "and prints the command that resumes; the second stops at once.",
    .exits = "0 finished, 3 task refused, 5 interrupted and resumable",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_DEVICE | KF_COMMON_RUNS,
    .args_size = sizeof(run_args),
    .initial = &initial,
};

/* ---- the end of a run ---- */

/* How other commands name this run: by its id where they look for it by themselves, else by its path. */
static const char *name_of(const kf_cli *cli, const kf_run_result *result) {
  kf_run_entry *found = kf_alloc(sizeof *found);
  bool listed = found != NULL && strcmp(cli->common.runs, KF_RUNS_DEFAULT) == 0 &&
                kf_runs_find(cli->common.runs, result->run_id, found, NULL) == KF_OK;
  kf_free(found);
  return listed ? result->run_id : result->db_path;
}

/* The command that goes on with a run: proposers are given again, since a database may not name them. */
static kf_status put_resume(const kf_cli *cli, const kf_run_options *run, const kf_run_result *result,
                            kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err, "kf run --resume %s", name_of(cli, result)));
  return kf_run_proposer_options(run->proposers, run->nproposers, buf, err);
}

static kf_status print_json(const kf_cli *cli, const kf_run_options *run, const kf_run_result *result,
                            const kf_report *report, kf_err *err) {
  json_t *object = NULL;
  KF_CLEANUP(kf_buf_done) kf_buf resume;
  kf_buf_init(&resume, KF_OUTPUT_MAX);
  KF_TRY(put_resume(cli, run, result, &resume, err));
  char export_command[KF_PATH_MAX + 64];
  const char *name = name_of(cli, result);
  snprintf(export_command, sizeof export_command, "kf export %s --form kernel -o best.%s", name,
           kf_language_ending(kf_report_language(report)));
  KF_TRY(kf_report_summary_json(report, &object, err));
  kf_row row;
  kf_row_begin_with(&row, object);
  kf_row_text(&row, "path", result->db_path);
  kf_row_bool(&row, "interrupted", result->interrupted);
  kf_row_text(&row, "resume", kf_buf_text(&resume));
  kf_row_text(&row, "export", export_command);
  kf_row_int(&row, "restarts", result->restarts);
  return kf_out_json(kf_row_take(&row), err);
}

static kf_status print_text(const kf_cli *cli, const kf_run_options *run, const kf_run_result *result,
                            const kf_report *report, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_report_summary_text(report, &buf, err));
  KF_TRY(kf_buf_printf(&buf, err, "database     %s\n", result->db_path));
  const char *name = name_of(cli, result);
  if (result->best_source[0] != '\0')
    KF_TRY(kf_buf_printf(&buf, err, "\ntake it home: kf export %s --form kernel -o best.%s\n", name,
                         kf_language_ending(kf_report_language(report))));
  if (result->interrupted) {
    KF_TRY(kf_buf_puts(&buf, "go on:        ", err));
    KF_TRY(put_resume(cli, run, result, &buf, err));
    KF_TRY(kf_buf_puts(&buf, "\n", err));
  }
  return kf_out_buf(&buf, err);
}

static kf_status print_result(const kf_cli *cli, const kf_run_options *run, const kf_run_result *result,
                              kf_err *err) {
  KF_CLEANUP(kf_report_freep) kf_report *report = NULL;
  KF_TRY(kf_report_open(result->db_path, &report, err));
  return cli->common.json ? print_json(cli, run, result, report, err)
                          : print_text(cli, run, result, report, err);
}

/* A run that the engine ended because of the task or the machine is a failure of the command. */
static kf_status outcome_status(const kf_run_result *result, kf_err *err) {
  if (strcmp(result->outcome, "refused") == 0) return kf_fail(err, KF_EREFUSED, "%s", result->reason);
  if (strcmp(result->outcome, "environment") == 0)
    return kf_err_hint(err, kf_fail(err, KF_EIO, "%s", result->reason), "`kf doctor` says what is missing");
  return KF_OK;
}

/* What was committed before a failure is not lost, and the user should know how to go on. */
static void hint_resume(const kf_cli *cli, const kf_run_options *run, const kf_run_result *result) {
  if (result->db_path[0] == '\0' || result->run_id[0] == '\0' || result->stats.proposed == 0) return;
  KF_CLEANUP(kf_buf_done) kf_buf command;
  kf_buf_init(&command, KF_OUTPUT_MAX);
  if (put_resume(cli, run, result, &command, NULL) == KF_OK)
    kf_note("kf: what was done is kept: %s", kf_buf_text(&command));
}

/* ---- the dry run ---- */

/* What each proposer sends away; NULL without memory. */
static json_t *leaves_json(const kf_run_forecast *f) {
  json_t *leaves = json_array();
  for (int i = 0; leaves != NULL && i < f->nproposers; i++) {
    kf_row row;
    kf_row_begin(&row);
    kf_row_text(&row, "proposer", f->proposers[i]);
    kf_row_text(&row, "leaves", f->discloses[i]);
    json_t *object = kf_row_take(&row);
    if (object != NULL && json_array_append_new(leaves, object) == 0) continue;
    json_decref(leaves);
    return NULL;
  }
  return leaves;
}

static kf_status print_forecast_json(const kf_run_forecast *f, kf_err *err) {
  kf_row row;
  kf_row_begin(&row);
  kf_row_text(&row, "device", f->device);
  kf_row_text(&row, "device_name", f->device_name);
  kf_row_text(&row, "language", f->language);
  kf_row_text(&row, "candidate", f->kernel);
  kf_row_text(&row, "verdict", kf_verdict_name(f->verdict));
  kf_row_text(&row, "why", f->why);
  kf_row_real(&row, "evaluations_per_minute", f->evals_per_minute);
  kf_row_real(&row, "detectable_gain", f->smallest_gain);
  kf_row_int(&row, "blocks", f->blocks);
  kf_row_value(&row, "leaves_this_machine", leaves_json(f));
  return kf_out_json(kf_row_take(&row), err);
}

static kf_status print_forecast(const kf_run_forecast *f, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "device       %s %s\nkernel       %s: %s\n", f->device, f->device_name,
                       f->kernel, kf_verdict_name(f->verdict)));
  if (f->verdict != KF_VERDICT_CORRECT) {
    KF_TRY(kf_buf_printf(&buf, err, "             %s\n", f->why));
    return kf_out_buf(&buf, err);
  }
  KF_TRY(kf_buf_printf(&buf, err, "pace         about %.3g evaluations a minute\n", f->evals_per_minute));
  KF_TRY(kf_buf_printf(&buf, err, "resolution   gains from %.1f %% on can be seen (%d blocks tried)\n",
                       f->smallest_gain * 100, f->blocks));
  for (int i = 0; i < f->nproposers; i++)
    KF_TRY(kf_buf_printf(&buf, err, "leaves here  %s: %s\n", f->proposers[i], f->discloses[i]));
  return kf_out_buf(&buf, err);
}

static kf_status dry_run(kf_cli *cli, const kf_run_options *run, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_run_forecast *forecast = kf_calloc(1, sizeof *forecast);
  if (forecast == NULL) return kf_nomem(err);
  KF_TRY(kf_run_dry(run, forecast, err));
  cli->exit_code = forecast->verdict == KF_VERDICT_CORRECT ? 0 : 1;
  return cli->common.json ? print_forecast_json(forecast, err) : print_forecast(forecast, err);
}

/* ---- the command ---- */

static kf_status check_usage(const run_args *args, kf_err *err) {
  if (args->time_s != NOT_GIVEN && args->time_s < 1e-3)
    return kf_err_hint(err, kf_fail(err, KF_EINVAL, "run: --time: at least a millisecond expected"),
                       "without --time there is no limit of time");
  if (args->task == NULL && args->resume == NULL)
    return kf_err_hint(err, kf_fail(err, KF_EINVAL, "run: TASK is missing"),
                       "kf run TASK, or kf run --resume RUN");
  if (args->resume == NULL) return KF_OK;
  const char *extra = args->task != NULL        ? "TASK"
                      : args->db != NULL        ? "--db"
                      : args->seed != NOT_GIVEN ? "--seed"
                                                : NULL;
  if (extra != NULL)
    return kf_fail(err, KF_EINVAL, "run: %s does not go with --resume: a run keeps its own", extra);
  if (args->dry_run) return kf_fail(err, KF_EINVAL, "run: --dry-run does not go with --resume");
  return KF_OK;
}

static void fill_options(const kf_cli *cli, const run_args *args, kf_run_options *ret_options) {
  bool timed = args->time_s >= 0, resumed = args->resume != NULL;
  int64_t evals_default = resumed ? NOT_GIVEN : timed ? 0 : EVALS_DEFAULT;
  *ret_options = (kf_run_options){
      .task_path = args->task,
      .db_path = args->db,
      .runs_dir = cli->common.runs,
      .device = cli->common.device,
      .proposers = args->proposers.items,
      .nproposers = (int)args->proposers.count,
      .evals_max = args->evals != NOT_GIVEN ? args->evals : evals_default,
      .time_max_ms = timed     ? (int64_t)(args->time_s * 1e3)
                     : resumed ? NOT_GIVEN
                               : 0,
      .seed = args->seed != NOT_GIVEN ? (uint64_t)args->seed : 1,
      .settings = &cli->settings,
  };
}

static kf_status search(kf_cli *cli, const kf_run_options *wanted, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_run_result *result = kf_calloc(1, sizeof *result);
  if (result == NULL) return kf_nomem(err);
  kf_progress progress;
  kf_progress_init(&progress, STDERR_FILENO);
  kf_run_options run = *wanted;
  run.on_view = kf_progress_show;
  run.context = &progress;
  kf_status status = kf_run(&run, result, err);
  kf_progress_done(&progress, NULL);
  if (status != KF_OK) {
    hint_resume(cli, &run, result);
    return status;
  }
  if (result->interrupted) cli->exit_code = kf_status_exit_code(KF_ECANCELED);
  KF_TRY(print_result(cli, &run, result, err));
  return result->interrupted ? KF_OK : outcome_status(result, err);
}

kf_status kf_cmd_run(kf_cli *cli, const void *args_, kf_err *err) {
  const run_args *args = args_;
  KF_TRY(check_usage(args, err));
  kf_run_options run;
  fill_options(cli, args, &run);
  KF_CLEANUP(kf_freep) kf_run_entry *resumed = NULL;
  if (args->resume != NULL) {
    resumed = kf_alloc(sizeof *resumed);
    if (resumed == NULL) return kf_nomem(err);
    KF_TRY(kf_input_run(cli, args->resume, resumed, err));
    run.resume = resumed->path;
  }
  return args->dry_run ? dry_run(cli, &run, err) : search(cli, &run, err);
}
