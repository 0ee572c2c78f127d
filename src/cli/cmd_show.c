/* cmd_show.c - `kf show [RUN [ID]]`: a run's summary, archive and the way to its best; or one candidate's
 * page. */
#include "cli/cli.h"
#include "cli/inputs.h"
#include "report/row.h"

#include "base/banned.h"

typedef struct {
  const char *run, *id;
} show_args;

static const char *const usages[] = {"[RUN [ID]]", NULL};
static const kf_positional positionals[] = {
    {.name = "RUN",
     .offset = offsetof(show_args, run),
     .optional = true,
     .help = "a run's id, a beginning of it, a path, or \"last\" (default)"},
    {.name = "ID", .offset = offsetof(show_args, id), .optional = true, .help = "number of a candidate"},
    {.name = NULL},
};
static const char *const examples[] = {"kf show", "kf show last 17", NULL};
const kf_syntax kf_cmd_show_syntax = {
    .usages = usages,
    .about = "Without ID: the run's summary, the filled cells of its archive (a star marks the confirmed "
             "kernel), and the\n"
             "lineage of the best. With ID: the verdict on that candidate, its diagnosis, what was measured, "
             "its lineage and\n"
             "its cases.",
    .examples = examples,
    .positionals = positionals,
    .common = KF_COMMON_RUNS,
    .args_size = sizeof(show_args),
};

static kf_status show_candidate(const kf_cli *cli, const kf_report *report, const char *text, kf_err *err) {
  int64_t id = 0;
  KF_TRY(kf_input_candidate(report, text, &id, err));
  if (cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_report_candidate_json(report, id, &object, err));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_report_candidate_text(report, id, &buf, err));
  return kf_out_buf(&buf, err);
}

static kf_status show_run_json(const kf_report *report, kf_err *err) {
  json_t *object = NULL, *archive = NULL;
  KF_TRY(kf_report_archive_json(report, &archive, err));
  kf_status status = kf_report_summary_json(report, &object, err);
  if (status != KF_OK) {
    json_decref(archive);
    return status;
  }
  kf_row row;
  kf_row_begin_with(&row, object);
  kf_row_value(&row, "archive", archive);
  return kf_out_json(kf_row_take(&row), err);
}

static kf_status show_run(const kf_report *report, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_report_summary_text(report, &buf, err));
  KF_TRY(kf_buf_puts(&buf, "\narchive\n", err));
  KF_TRY(kf_report_archive_text(report, &buf, err));
  int64_t best = 0;
  kf_status status = kf_report_best(report, &best, NULL);
  if (status == KF_OK) {
    KF_TRY(kf_buf_puts(&buf, "\nhow the best came to be\n", err));
    KF_TRY(kf_report_lineage_text(report, best, &buf, err));
  }
  return kf_out_buf(&buf, err);
}

kf_status kf_cmd_show(kf_cli *cli, const void *args_, kf_err *err) {
  const show_args *args = args_;
  KF_CLEANUP(kf_report_freep) kf_report *report = NULL;
  KF_TRY(kf_input_report(cli, args->run, &report, err));
  if (args->id != NULL) return show_candidate(cli, report, args->id, err);
  return cli->common.json ? show_run_json(report, err) : show_run(report, err);
}
