/* cmd_export.c - `kf export [RUN [ID]] --form kernel`: the source with its parameters fixed, rebuilt and
 * judged once more before it is handed out. What leaves here has been seen correct on this machine. */
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
  const char *run, *id, *form, *output;
} export_args;

static const char *const usages[] = {"[RUN [ID]] --form kernel", NULL};
static const kf_positional positionals[] = {
    {.name = "RUN",
     .offset = offsetof(export_args, run),
     .optional = true,
     .help = "a run's id, a beginning of it, a path, or \"last\" (default)"},
    {.name = "ID",
     .offset = offsetof(export_args, id),
     .optional = true,
     .help = "number of a candidate (default: the best)"},
    {.name = NULL},
};
static const char *const forms[] = {"kernel", NULL};
static const kf_option options[] = {
    {.name = "form",
     .type = KF_OPT_CHOICE,
     .offset = offsetof(export_args, form),
     .value = "FORM",
     .choices = forms,
     .help = "kernel (default): one source file, parameters fixed, with its launch plan"},
    {.name = "output",
     .letter = 'o',
     .type = KF_OPT_TEXT,
     .offset = offsetof(export_args, output),
     .value = "FILE",
     .help = "where to write it (default: stdout)"},
    {.name = NULL},
};
static const export_args initial = {.form = "kernel"};
static const char *const examples[] = {"kf export -o fast.cl", "kf export last 17 --form kernel -o fast.cl",
                                       NULL};
const kf_syntax kf_cmd_export_syntax = {
    .usages = usages,
    .about =
        "Writes the best kernel of a run, or candidate ID, with its parameters fixed. It is built and judged "
        "again first, on\n"
        "the device of the run unless --device names another: a kernel that is not correct is not written.",
    .exits = "0 written, 1 judged but not correct: nothing written",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_RUNS | KF_COMMON_DEVICE,
    .args_size = sizeof(export_args),
    .initial = &initial,
};

static kf_status judge_again(kf_cli *cli, const kf_report *report, const kf_buf *source,
                             kf_verdict *ret_verdict, kf_err *err) {
  kf_judge *judge = NULL;
  const kf_device_info *device = NULL;
  const char *wanted = cli->common.device != NULL ? cli->common.device : kf_report_device(report);
  KF_TRY(kf_judge_open(&cli->settings, &judge, err));
  kf_status status = kf_judge_device(judge, wanted, kf_report_task(report), NULL, &device, err);
  if (status == KF_OK) {
    kf_eval_request request = {
        .task = kf_report_task(report),
        .device = device->id,
        .candidate = {.source = kf_buf_text(source), .source_len = source->len, .binding = ""},
        .stage = 2,
    };
    status = kf_judge_ask(judge, &request, ret_verdict, err);
  }
  kf_judge_free(judge);
  return status;
}

static kf_status print_result(const kf_cli *cli, const export_args *args, const kf_report *report, int64_t id,
                              const kf_verdict *verdict, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf line;
  kf_buf_init(&line, 64 << 10);
  KF_TRY(kf_verdict_line(verdict, &line, err));
  bool correct = verdict->kind == KF_VERDICT_CORRECT;
  if (cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_verdict_to_json(verdict, &object, err));
    kf_row row;
    kf_row_begin_with(&row, object);
    kf_row_text(&row, "run", kf_report_run_id(report));
    kf_row_int(&row, "candidate", id);
    kf_row_text(&row, "form", args->form);
    if (correct && args->output != NULL)
      kf_row_text(&row, "written", args->output);
    else
      kf_row_value(&row, "written", json_null());
    return kf_out_json(kf_row_take(&row), err);
  }
  kf_note("candidate %lld judged again: %s", (long long)id, kf_buf_text(&line));
  if (!correct) kf_note("nothing is written");
  return KF_OK;
}

kf_status kf_cmd_export(kf_cli *cli, const void *args_, kf_err *err) {
  const export_args *args = args_;
  KF_CLEANUP(kf_report_freep) kf_report *report = NULL;
  KF_CLEANUP(kf_buf_done) kf_buf source;
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  kf_buf_init(&source, KF_OUTPUT_MAX);
  if (verdict == NULL) return kf_nomem(err);
  if (cli->common.json && args->output == NULL)
    return kf_fail(err, KF_EINVAL, "export: --json needs -o FILE: stdout cannot hold both");
  int64_t id = 0;
  KF_TRY(kf_input_report(cli, args->run, &report, err));
  KF_TRY(kf_input_candidate(report, args->id, &id, err));
  KF_TRY(kf_report_source(report, id, true, &source, err));
  KF_TRY(judge_again(cli, report, &source, verdict, err));
  bool correct = verdict->kind == KF_VERDICT_CORRECT;
  cli->exit_code = correct ? 0 : 1;
  if (correct && args->output != NULL)
    KF_TRY(kf_fs_write(args->output, source.data, source.len, err));
  else if (correct)
    KF_TRY(kf_out_buf(&source, err));
  return print_result(cli, args, report, id, verdict, err);
}
