/* cmd_best.c - `kf best [RUN]`: the source of the fastest kernel. `kf export` judges it again before it
 * writes it. */
#include "cli/cli.h"
#include "cli/inputs.h"

#include "report/row.h"
#include "report/verdict_text.h"

#include "base/banned.h"

typedef struct {
  const char *run;
  bool template;
} best_args;

static const char *const usages[] = {"[RUN]", NULL};
static const kf_positional positionals[] = {
    {.name = "RUN",
     .offset = offsetof(best_args, run),
     .optional = true,
     .help = "a run's id, a beginning of it, a path, or \"last\" (default)"},
    {.name = NULL},
};
static const kf_option options[] = {
    {.name = "template",
     .type = KF_OPT_FLAG,
     .offset = offsetof(best_args, template),
     .help = "leave the parameters open, with their spaces, instead of fixing them to their best values"},
    {.name = NULL},
};
static const char *const examples[] = {"kf best > fast.cl", NULL};
const kf_syntax kf_cmd_best_syntax = {
    .usages = usages,
    .about = "Prints the source of the run's fastest kernel, its parameters fixed to their best values; its "
             "speed-up goes to\n"
             "stderr. Nothing is measured again: `kf export` does that.",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_RUNS,
    .args_size = sizeof(best_args),
};

static kf_status print_json(const kf_report *report, int64_t id, const kf_buf *source, kf_err *err) {
  json_t *object = NULL;
  KF_TRY(kf_report_candidate_json(report, id, &object, err));
  kf_row row;
  kf_row_begin_with(&row, object);
  kf_row_bytes(&row, "source", kf_buf_text(source), source->len);
  return kf_out_json(kf_row_take(&row), err);
}

kf_status kf_cmd_best(kf_cli *cli, const void *args_, kf_err *err) {
  const best_args *args = args_;
  KF_CLEANUP(kf_report_freep) kf_report *report = NULL;
  KF_CLEANUP(kf_buf_done) kf_buf source;
  kf_buf_init(&source, KF_OUTPUT_MAX);
  int64_t id = 0;
  KF_TRY(kf_input_report(cli, args->run, &report, err));
  KF_TRY(kf_report_best(report, &id, err));
  KF_TRY(kf_report_source(report, id, !args->template, &source, err));
  if (cli->common.json) return print_json(report, id, &source, err);
  KF_TRY(kf_out_buf(&source, err));
  KF_CLEANUP(kf_buf_done) kf_buf line;
  kf_buf_init(&line, 64 << 10);
  KF_TRY(kf_report_best_text(report, &line, err));
  kf_note("%s", kf_buf_text(&line));
  return KF_OK;
}
