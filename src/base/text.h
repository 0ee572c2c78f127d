/* text.h - small text helpers: nearest name for "did you mean", number parsing that refuses rubbish. */
#ifndef KF_BASE_TEXT_H
#define KF_BASE_TEXT_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

/* The candidate with the smallest edit distance if it is close enough to be a likely typing error, else NULL.
 * `names` ends with NULL. */
const char *kf_text_nearest(const char *word, const char *const *names);
/* Whole-string decimal integer / real in range; KF_EINVAL names `what`. */
kf_status kf_text_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *ret_value,
                      kf_err *err);
kf_status kf_text_real(const char *text, double min, double max, const char *what, double *ret_value,
                       kf_err *err);
/* "90", "90s", "5m", "2h" -> seconds. */
kf_status kf_text_duration(const char *text, double *ret_seconds, kf_err *err);
/* Text from outside (a model, a compiler, a file, a peer) must neither forge lines nor steer the terminal:
 * control characters become blanks, in place. */
void kf_text_clean(char *text, size_t len);
bool kf_text_is_name(const char *text); /* C identifier, at most 64 characters */

#endif
