/* links: kf_base */
/* fuzz_json.c - any bytes are refused or parsed; what is parsed dumps to text that parses to the same dump.
 */
#include "base/alloc.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 1 << 16 };

static void require(bool holds) {
  if (!holds) abort();
}

/* The fault switches come from the input's end, so that a plain JSON file is a seed. */
static void parse_with_a_failure(const char *text, size_t len, unsigned long nth, bool forever) {
  json_t *value = NULL;
  kf_alloc_fail_at(nth, forever);
  kf_status status = kf_json_parse(text, len, TEXT_MAX, "fuzz", &value, NULL);
  bool failed = kf_alloc_count() >= nth;
  kf_alloc_fail_at(0, false);
  require(!failed || status == KF_ENOMEM || status == KF_EINVAL);
  require((status == KF_OK) == (value != NULL));
  json_decref(value);
}

static void check_round_trip(const json_t *value) {
  kf_buf first, second;
  kf_buf_init(&first, 16 * TEXT_MAX);
  kf_buf_init(&second, 16 * TEXT_MAX);
  require(kf_json_dump(value, &first, NULL) == KF_OK);
  json_t *again = NULL;
  require(kf_json_parse(first.data, first.len, first.len, "dump", &again, NULL) == KF_OK);
  require(kf_json_dump(again, &second, NULL) == KF_OK);
  require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
  json_decref(again);
  kf_buf_done(&first);
  kf_buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool ready;
  if (!ready) kf_alloc_init();
  ready = true;
  json_t *value = NULL;
  kf_err err = {0};
  if (kf_json_parse((const char *)data, size, TEXT_MAX, "fuzz", &value, &err) == KF_OK) {
    check_round_trip(value);
    json_decref(value);
  } else {
    require(err.code == KF_EINVAL && err.msg[0] != '\0');
  }
  if (size > 0)
    parse_with_a_failure((const char *)data, size, 1 + data[size - 1] % 64, (data[size / 2] & 1) != 0);
  return 0;
}
