/* report_int.h - what the files of report/ share. */
#ifndef KF_REPORT_REPORT_INT_H
#define KF_REPORT_REPORT_INT_H

#include "base/alloc.h"
#include "report/report.h"
#include "run/run.h"

enum { KF_REPORT_BODY_MAX = 8 << 20, KF_REPORT_SOURCE_MAX = 4 << 20 };

struct kf_report {
  kf_store *store;
  kf_task *task;
  kf_engine *engine;
  kf_engine_config config;
  json_t *start; /* body of the START event */
  char run_id[KF_RUN_ID_MAX];
  int64_t last_ms; /* the run's clock at its last event */
};

/* {median, low, high} as ratios and in nano, and the baseline they are over; NULL without memory. */
json_t *kf__report_speedup_json(const kf_report *report, int64_t median_nano, int64_t low_nano,
                                int64_t high_nano);
/* The interval to show for a candidate: the confirmed one for the confirmed champion, else score -+ half.
 * False when it has none. */
bool kf__report_interval(const kf_report *report, const kf_candidate *candidate, int64_t *ret_median,
                         int64_t *ret_low, int64_t *ret_high);
bool kf__report_is_confirmed(const kf_report *report, int64_t id);
/* Appends "builtin, command:..." */
kf_status kf__report_proposers(const kf_report *report, kf_buf *buf, kf_err *err);

#endif
