/* host_cc.h - the system's C compiler: where it is, what it is called with for the host form, and running it.
 * Used by the builder and by build/cc.c. */
#ifndef KF_DEVICE_HOST_CC_H
#define KF_DEVICE_HOST_CC_H

#include "base/buf.h"
#include "base/fs.h"

/* What a candidate is compiled with, as verdicts and `kf doctor` say it. */
#define KF_HOST_CC_FLAGS "-std=gnu17 -O3 -march=native -fopenmp"

/* $KF_CC (a path, or a name in the usual folders), else cc. KF_ENODEV with a hint where there is none. */
kf_status kf_host_cc_find(char ret_path[KF_PATH_MAX], kf_err *err);
/* Child roles only. Runs a program to its end with stdin from nowhere; stdout and stderr are appended to
 * `output` as far as it takes them. *ret_code: its exit code, or 128 plus the signal that ended it. */
kf_status kf_host_cc_run(char *const *argv, kf_buf *output, int *ret_code, kf_err *err);
/* Child roles only. "gcc (Debian 12.2.0-14) 12.2.0", the first line of `cc --version`, cut; "" if unknown. */
void kf_host_cc_version(const char *compiler, char *ret_text, size_t size);
/* kf_call.h, as the candidate's compiler finds it. Static. */
extern const char kf_host_call_header[];
extern const size_t kf_host_call_header_len;

#endif
