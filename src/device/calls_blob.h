/* calls_blob.h - a resolved plan as bytes, from the judge to a role. Same executable at both ends, so the
 * structs travel as they are; names of buffers stay behind (pointers). The reader checks every index and
 * count. */
#ifndef KF_DEVICE_CALLS_BLOB_H
#define KF_DEVICE_CALLS_BLOB_H

#include "base/buf.h"
#include "task/plan.h"

enum { KF_CALLS_BLOB_MAX = 1 << 20 };

kf_status kf_calls_pack(const kf_calls *calls, kf_buf *buf, kf_err *err);
/* One plan from the front of `bytes`; *ret_used is how much it took. Freed with kf_calls_unpacked_free. */
kf_status kf_calls_unpack(const char *bytes, size_t len, size_t *ret_used, kf_calls **ret_calls, kf_err *err);
void kf_calls_unpacked_free(kf_calls *calls);

#endif
