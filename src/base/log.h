/* log.h - logging of the programs. Library code logs at debug level only; results never go through here.
 * Lines go to stderr, one write each: "kf: warning: text". Level from KF_LOG=error|warning|info|debug. */
#ifndef KF_BASE_LOG_H
#define KF_BASE_LOG_H

#include "base/status.h"

typedef enum { KF_LOG_ERROR, KF_LOG_WARNING, KF_LOG_INFO, KF_LOG_DEBUG } kf_log_level;

void kf_log_init(const char *program); /* reads KF_LOG; default warning */
void kf_log_at(kf_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define kf_error(...) kf_log_at(KF_LOG_ERROR, __VA_ARGS__)
#define kf_warning(...) kf_log_at(KF_LOG_WARNING, __VA_ARGS__)
#define kf_info(...) kf_log_at(KF_LOG_INFO, __VA_ARGS__)
#define kf_debug(...) kf_log_at(KF_LOG_DEBUG, __VA_ARGS__)
/* "error: MSG" and, when there is one, "hint: HINT". */
void kf_log_err(const kf_err *err);

#endif
