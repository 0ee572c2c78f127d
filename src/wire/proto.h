/* proto.h - framing of the evaluator protocol (docs/formats/wire.md): one JSON object a line,
 * and after a line
 * {"op":"put","sha256":H,"size":N} exactly N raw bytes. A push parser: it never blocks, works on any
 * chunking, and holds at most one line or one blob. Both ends use it; what arrives is hostile. */
#ifndef KF_WIRE_PROTO_H
#define KF_WIRE_PROTO_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"

enum { KF_PROTOCOL_MAJOR = 1, KF_PROTOCOL_MINOR = 0 };
enum { KF_WIRE_LINE_MAX = 1 << 20, KF_WIRE_BLOB_MAX = 64 << 20 };

typedef struct {
  kf_buf buf;  /* the line or blob being collected */
  json_t *put; /* the put line whose bytes are awaited, or NULL */
  size_t blob_size;
  bool broken; /* after an error nothing more is accepted */
} kf_wire_reader;

/* `blob` is NULL unless message is a put; its SHA-256 has been checked. Both are borrowed. */
typedef kf_status (*kf_wire_message)(void *context, json_t *message, const char *blob, size_t blob_len,
                                     kf_err *err);

void kf_wire_reader_init(kf_wire_reader *reader);
void kf_wire_reader_done(kf_wire_reader *reader);
/* Calls on_message for each complete message. KF_EPROTO: not JSON, no "op", line or blob too long, wrong
 * hash; the reader is then broken. A failure of on_message is passed through and also breaks it. */
kf_status kf_wire_feed(kf_wire_reader *reader, const char *bytes, size_t len, kf_wire_message on_message,
                       void *context, kf_err *err);

/* Appends one line / one put with its bytes. */
kf_status kf_wire_write(kf_buf *out, const json_t *message, kf_err *err);
kf_status kf_wire_write_put(kf_buf *out, const void *bytes, size_t len, kf_err *err);

#endif
