/* channel.h - messages between the judge and a role over a SOCK_SEQPACKET pair: one message is one datagram,
 * with descriptors beside it where needed; larger data travels as a sealed memfd (a "blob"). Both ends treat
 * the other's bytes as foreign: lengths are checked here, contents by the caller. Threads: one per end. */
#ifndef KF_SANDBOX_CHANNEL_H
#define KF_SANDBOX_CHANNEL_H

#include "base/status.h"
#include <stdint.h>

enum { KF_CHANNEL_FDS_MAX = 8 };

/* A connected pair, both close-on-exec. type: SOCK_SEQPACKET or SOCK_STREAM. */
kf_status kf_channel_pair(int type, int ret_fds[2], kf_err *err);

/* Sends one message. A peer that is gone is KF_EPROTO. */
kf_status kf_channel_send(int fd, const void *bytes, size_t len, const int *fds, int nfds, kf_err *err);

typedef enum { KF_CHANNEL_MESSAGE, KF_CHANNEL_CLOSED, KF_CHANNEL_TIMED_OUT } kf_channel_event;
/* Receives one message of at most `room` bytes; waits until `deadline_ns` (kf_now_ns clock; -1 = for ever, 0
 * = only looks). A longer message is KF_EPROTO. Descriptors beyond `room_fds` are closed; those returned are
 * the caller's. */
kf_status kf_channel_recv(int fd, int64_t deadline_ns, void *bytes, size_t room, size_t *ret_len,
                          int *ret_fds, int room_fds, int *ret_nfds, kf_channel_event *ret_event,
                          kf_err *err);

/* A memfd with these bytes, sealed against any change. */
kf_status kf_blob_new(const char *name, const void *bytes, size_t len, int *ret_fd, kf_err *err);
/* Reads a whole blob of at most `max` bytes; the result is the caller's (kf_free). */
kf_status kf_blob_read(int fd, size_t max, char **ret_bytes, size_t *ret_len, kf_err *err);

#endif
