/* cmd_list.c - `kf list`: the runs of a folder, newest first. */
#include "cli/cli.h"
#include "cli/inputs.h"

#include "base/alloc.h"
#include "base/log.h"
#include "report/row.h"

#include "base/banned.h"

static const char *const usages[] = {"", NULL};
static const char *const examples[] = {"kf list", "kf list --json --runs /data/runs", NULL};
const kf_syntax kf_cmd_list_syntax = {
    .usages = usages,
    .about = "Lists the runs below .kf/runs, newest first, each with its task, evaluations, best speed-up "
             "over the baseline\n"
             "and state.",
    .examples = examples,
    .common = KF_COMMON_RUNS,
};

/* A damaged or newer database must not hide the others. */
static kf_status put_run(const kf_cli *cli, const kf_run_entry *run, kf_table *table, kf_err *err) {
  kf_err own = {0};
  KF_CLEANUP(kf_report_freep) kf_report *report = NULL;
  kf_status status = kf_report_open(run->path, &report, &own);
  if (status == KF_ENOMEM) return kf_nomem(err);
  if (status != KF_OK) {
    kf_warning("%s", own.msg);
    return KF_OK;
  }
  if (!cli->common.json) return kf_report_list_row(report, table, err);
  json_t *object = NULL;
  KF_TRY(kf_report_summary_json(report, &object, err));
  kf_row row;
  kf_row_begin_with(&row, object);
  kf_row_text(&row, "path", run->path);
  return kf_out_json(kf_row_take(&row), err);
}

static kf_status put_runs(const kf_cli *cli, const kf_run_entry *runs, size_t count, kf_err *err) {
  KF_CLEANUP(kf_table_done) kf_table table;
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_table_init(&table, kf_report_list_heads, KF_REPORT_LIST_COLUMNS, 1u << 3 | 1u << 4);
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  for (size_t i = 0; i < count; i++)
    KF_TRY(put_run(cli, &runs[i], &table, err));
  if (cli->common.json) return KF_OK;
  if (count == 0)
    KF_TRY(kf_buf_printf(&buf, err, "no runs below %s\n", cli->common.runs));
  else
    KF_TRY(kf_table_write(&table, &buf, err));
  return kf_out_buf(&buf, err);
}

kf_status kf_cmd_list(kf_cli *cli, const void *args, kf_err *err) {
  (void)args;
  kf_run_entry *runs = NULL;
  size_t count = 0;
  KF_TRY(kf_runs_list(cli->common.runs, &runs, &count, err));
  kf_status status = put_runs(cli, runs, count, err);
  kf_free(runs);
  return status;
}
