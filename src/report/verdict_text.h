/* verdict_text.h - a verdict for people: one line, or a page with diagnosis, times and cases. */
#ifndef KF_REPORT_VERDICT_TEXT_H
#define KF_REPORT_VERDICT_TEXT_H

#include "base/buf.h"
#include "wire/verdict.h"

/* "correct  0.41 ms  57.3x (55.1x to 59.0x)" or "wrong_output  tail: y[3,17] of rows=33: ..." */
kf_status kf_verdict_line(const kf_verdict *verdict, kf_buf *buf, kf_err *err);
/* Indented lines: diagnosis with evidence, next step, race, stage times, trust, cell. */
kf_status kf_verdict_details(const kf_verdict *verdict, kf_buf *buf, kf_err *err);
/* Table of the cases: symbols, kind, right, error over tolerance, time. */
kf_status kf_verdict_cases(const kf_verdict *verdict, kf_buf *buf, kf_err *err);
/* The interval of a race: "57.3x (55.1x to 59.0x, 95 %)". */
kf_status kf_interval_text(int64_t median_nano, int64_t low_nano, int64_t high_nano, double level,
                           kf_buf *buf, kf_err *err);

#endif
