/* prompt_int.h - private to src/propose: the parts of a prompt. */
#ifndef KF_PROPOSE_PROMPT_INT_H
#define KF_PROPOSE_PROMPT_INT_H

#include "propose/propose.h"

/* Text in a fence that it cannot close by itself; cut beyond KF_SHOWN_SOURCE_MAX, and then it says so. */
kf_status kf__prompt_code(const char *info, const char *text, size_t len, kf_buf *buf, kf_err *err);
/* Parent, best and inspirations with what was measured of them. */
kf_status kf__prompt_kernels(const kf_ask *ask, kf_buf *buf, kf_err *err);

#endif
