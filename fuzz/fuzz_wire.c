/* links: kf_wire */
/* fuzz_wire.c - framing and verdicts from a hostile peer; the first byte chooses the chunk size. */
#include "base/alloc.h"
#include "wire/proto.h"
#include "wire/verdict.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kf_status on_message(void *context, json_t *message, const char *blob, size_t blob_len, kf_err *err) {
  (void)context, (void)blob, (void)blob_len, (void)err;
  kf_verdict verdict;
  const json_t *inner = json_object_get(message, "verdict");
  if (inner && kf_verdict_from_json(inner, &verdict, NULL) == KF_OK) {
    json_t *again = NULL;
    if (kf_verdict_to_json(&verdict, &again, NULL) == KF_OK) json_decref(again);
  }
  return KF_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kf_alloc_init();
  if (size < 1) return 0;
  size_t chunk = (size_t)data[0] % 64 + 1;
  kf_wire_reader reader;
  kf_wire_reader_init(&reader);
  for (size_t at = 1; at < size; at += chunk) {
    size_t take = size - at < chunk ? size - at : chunk;
    if (kf_wire_feed(&reader, (const char *)data + at, take, on_message, NULL, NULL) != KF_OK) break;
  }
  kf_wire_reader_done(&reader);
  return 0;
}
