/* report.h - a run, read only: what `kf list`, `show` and `best` print, as data for text and JSON.
 *
 * A report opens a run database for reading, folds its decisions (run/engine.h) and answers from that state;
 * verdicts and sources are read from the database when asked for. A run that is being written may be read:
 * what is shown is the state when it was opened. Owns its store, engine and task. Threads: one owner. Text
 * goes into a kf_buf with a line end at its end; JSON values are new references with the names of
 * docs/formats/verdict.md. */
#ifndef KF_REPORT_REPORT_H
#define KF_REPORT_REPORT_H

#include "report/table.h"
#include "run/engine.h"
#include "store/store.h"
#include "task/task.h"

typedef struct kf_report kf_report;

/* Reads the run at `path` (kf_runs_find). A database without a START event is KF_EINVAL. */
kf_status kf_report_open(const char *path, kf_report **ret_report, kf_err *err);
void kf_report_free(kf_report *report);   /* accepts NULL */
void kf_report_freep(kf_report **report); /* for KF_CLEANUP */

const kf_task *kf_report_task(const kf_report *report);
kf_language kf_report_language(const kf_report *report); /* of its kernels */
const char *kf_report_device(const kf_report *report);   /* id of the device the run measured on */
const char *kf_report_run_id(const kf_report *report);

/* ---- the run ---- */

kf_status kf_report_summary_json(const kf_report *report, json_t **ret_object, kf_err *err);
kf_status kf_report_summary_text(const kf_report *report, kf_buf *buf, kf_err *err);
/* "57.3x (55.1x to 59.0x) over the baseline, confirmed: candidate 17, TILE=16", or "none yet"; no line end.
 */
kf_status kf_report_best_text(const kf_report *report, kf_buf *buf, kf_err *err);
/* One line of `kf list`: cells in the order of kf_report_list_heads. */
enum { KF_REPORT_LIST_COLUMNS = 7 };
extern const char *const kf_report_list_heads[KF_REPORT_LIST_COLUMNS];
kf_status kf_report_list_row(const kf_report *report, kf_table *table, kf_err *err);

/* ---- the archive ---- */

/* One object a filled cell, in the order of the archive. */
kf_status kf_report_archive_json(const kf_report *report, json_t **ret_array, kf_err *err);
kf_status kf_report_archive_text(const kf_report *report, kf_buf *buf, kf_err *err);

/* ---- candidates ---- */

/* The best there is: the confirmed champion, else the archive's best. KF_ENOTFOUND when nothing is correct
 * yet. */
kf_status kf_report_best(const kf_report *report, int64_t *ret_id, kf_err *err);
/* KF_ENOTFOUND names the largest id. */
kf_status kf_report_candidate(const kf_report *report, int64_t id, kf_candidate *ret_candidate, kf_err *err);
/* The last verdict on a candidate, with the cases of an earlier one where it has none itself. KF_ENOTFOUND
 * when it was never judged; a duplicate has none of its own. */
kf_status kf_report_verdict(const kf_report *report, int64_t id, kf_verdict *ret_verdict, kf_err *err);
/* Source as proposed; with `bound` every parameter is fixed to the candidate's binding. */
kf_status kf_report_source(const kf_report *report, int64_t id, bool bound, kf_buf *buf, kf_err *err);
kf_status kf_report_candidate_json(const kf_report *report, int64_t id, json_t **ret_object, kf_err *err);
kf_status kf_report_candidate_text(const kf_report *report, int64_t id, kf_buf *buf, kf_err *err);
/* From the first ancestor to the candidate: a table of id, emitter, parent, speed-up, binding. */
kf_status kf_report_lineage_text(const kf_report *report, int64_t id, kf_buf *buf, kf_err *err);

#endif
