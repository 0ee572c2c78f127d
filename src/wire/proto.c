/* proto.c - line and blob framing; see proto.h. */
#include "wire/proto.h"

#include <string.h>

void kf_wire_reader_init(kf_wire_reader *reader) {
  memset(reader, 0, sizeof *reader);
  kf_buf_init(&reader->buf, KF_WIRE_LINE_MAX);
}

void kf_wire_reader_done(kf_wire_reader *reader) {
  kf_buf_done(&reader->buf);
  json_decref(reader->put);
  reader->put = NULL;
}

/* What is a usage error elsewhere is a broken peer here; want of memory stays what it is. */
static kf_status as_protocol(kf_status status, kf_err *err) {
  kf_err_context(err, status, "wire");
  if (status != KF_EINVAL) return status;
  if (err) err->code = KF_EPROTO;
  return KF_EPROTO;
}

static kf_status start_blob(kf_wire_reader *reader, json_t *put, kf_err *err) {
  int64_t size = 0;
  const char *hex = NULL;
  kf_hash hash;
  KF_TRY(kf_json_int(put, "size", &size, err));
  KF_TRY(kf_json_str(put, "sha256", &hex, err));
  kf_status status = kf_hash_parse(hex, &hash, err);
  if (status != KF_OK) return as_protocol(status, err);
  if (size < 0 || size > KF_WIRE_BLOB_MAX)
    return kf_fail(err, KF_EPROTO, "wire: put of %lld bytes, at most %d are allowed", (long long)size,
                   KF_WIRE_BLOB_MAX);
  reader->put = json_incref(put);
  reader->blob_size = (size_t)size;
  kf_buf_done(&reader->buf);
  kf_buf_init(&reader->buf, KF_WIRE_BLOB_MAX);
  return KF_OK;
}

static kf_status end_blob(kf_wire_reader *reader, kf_wire_message on_message, void *context, kf_err *err) {
  kf_hash want, got;
  kf_status status = kf_hash_parse(kf_json_str_or(reader->put, "sha256", ""), &want, err);
  kf_hash_bytes(reader->buf.data ? reader->buf.data : "", reader->buf.len, &got);
  if (status == KF_OK && !kf_hash_equal(&want, &got))
    status = kf_fail(err, KF_EPROTO, "wire: the bytes of a put do not have the hash it names");
  if (status == KF_OK)
    status = on_message(context, reader->put, kf_buf_text(&reader->buf), reader->buf.len, err);
  json_decref(reader->put);
  reader->put = NULL;
  kf_buf_done(&reader->buf);
  kf_buf_init(&reader->buf, KF_WIRE_LINE_MAX);
  return status;
}

static kf_status end_line(kf_wire_reader *reader, kf_wire_message on_message, void *context, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *message = NULL;
  const char *op = NULL;
  kf_status status =
      kf_json_parse(kf_buf_text(&reader->buf), reader->buf.len, KF_WIRE_LINE_MAX, "message", &message, err);
  kf_buf_clear(&reader->buf);
  if (status != KF_OK) return as_protocol(status, err);
  if (!json_is_object(message)) return kf_fail(err, KF_EPROTO, "wire: a message must be a JSON object");
  KF_TRY(kf_json_str(message, "op", &op, err));
  if (strcmp(op, "put") == 0) return start_blob(reader, message, err);
  return on_message(context, message, NULL, 0, err);
}

/* Takes what completes the current line or blob; *ret_used bytes were consumed. */
static kf_status feed_some(kf_wire_reader *reader, const char *bytes, size_t len, size_t *ret_used,
                           kf_wire_message on_message, void *context, kf_err *err) {
  if (reader->put) {
    size_t missing = reader->blob_size - reader->buf.len;
    size_t take = len < missing ? len : missing;
    KF_TRY(kf_buf_append(&reader->buf, bytes, take, err));
    *ret_used = take;
    return reader->buf.len == reader->blob_size ? end_blob(reader, on_message, context, err) : KF_OK;
  }
  const char *newline = memchr(bytes, '\n', len);
  size_t take = newline ? (size_t)(newline - bytes) : len;
  if (reader->buf.len + take > KF_WIRE_LINE_MAX)
    return kf_fail(err, KF_EPROTO, "wire: a line is longer than %d bytes", KF_WIRE_LINE_MAX);
  KF_TRY(kf_buf_append(&reader->buf, bytes, take, err));
  *ret_used = newline ? take + 1 : take;
  if (!newline) return KF_OK;
  if (reader->buf.len == 0) return KF_OK; /* an empty line is nothing */
  return end_line(reader, on_message, context, err);
}

kf_status kf_wire_feed(kf_wire_reader *reader, const char *bytes, size_t len, kf_wire_message on_message,
                       void *context, kf_err *err) {
  if (reader->broken) return kf_fail(err, KF_EPROTO, "wire: the stream is broken");
  kf_status status = KF_OK;
  for (;;) {
    /* A put of zero bytes is complete without any more input. */
    if (reader->put && reader->blob_size == 0) status = end_blob(reader, on_message, context, err);
    if (status != KF_OK || len == 0) break;
    size_t used = 0;
    status = feed_some(reader, bytes, len, &used, on_message, context, err);
    if (status != KF_OK) break;
    bytes += used;
    len -= used;
  }
  reader->broken = status != KF_OK;
  return status;
}

kf_status kf_wire_write(kf_buf *out, const json_t *message, kf_err *err) {
  KF_TRY(kf_json_dump(message, out, err));
  return kf_buf_append(out, "\n", 1, err);
}

kf_status kf_wire_write_put(kf_buf *out, const void *bytes, size_t len, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *put = NULL;
  kf_hash hash;
  char hex[KF_HASH_HEX];
  kf_hash_bytes(bytes, len, &hash);
  kf_hash_hex(&hash, hex);
  KF_TRY(kf_json_pack(&put, err, "{s:s,s:s,s:I}", "op", "put", "sha256", hex, "size", (json_int_t)len));
  KF_TRY(kf_wire_write(out, put, err));
  return kf_buf_append(out, bytes, len, err);
}
