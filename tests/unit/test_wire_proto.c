/* links: kf_wire */
/* test_wire_proto.c - framing: any chunking gives the same messages; what is wrong breaks the stream with one
 * clear line. */
#include "base/alloc.h"
#include "wire/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  char seen[4096];
  int messages;
} log_of;

static kf_status note(void *context, json_t *message, const char *blob, size_t blob_len, kf_err *err) {
  log_of *log = context;
  size_t used = strlen(log->seen);
  if (strcmp(kf_json_str_or(message, "op", ""), "stop") == 0)
    return kf_fail(err, KF_ECANCELED, "told to stop");
  snprintf(log->seen + used, sizeof log->seen - used, "%s%.*s;", kf_json_str_or(message, "op", ""),
           (int)blob_len, blob ? blob : "");
  log->messages++;
  return KF_OK;
}

static kf_status feed(const char *bytes, size_t len, size_t chunk, log_of *log, kf_err *err) {
  kf_wire_reader reader;
  kf_status status = KF_OK;
  memset(log, 0, sizeof *log);
  kf_wire_reader_init(&reader);
  for (size_t at = 0; at < len && status == KF_OK; at += chunk) {
    size_t take = len - at < chunk ? len - at : chunk;
    status = kf_wire_feed(&reader, bytes + at, take, note, log, err);
  }
  kf_wire_reader_done(&reader);
  return status;
}

static void write_sample(kf_buf *out) {
  json_t *judge = json_pack("{s:s,s:i}", "op", "judge", "id", 1);
  kf_buf_init(out, 1 << 20);
  assert_int_equal(kf_wire_write(out, judge, NULL), KF_OK);
  assert_int_equal(kf_wire_write_put(out, "raw\nbytes{", 10, NULL), KF_OK);
  assert_int_equal(kf_wire_write_put(out, "", 0, NULL), KF_OK);
  assert_int_equal(kf_wire_write(out, judge, NULL), KF_OK);
  json_decref(judge);
}

static void test_wire__any_chunking_gives_the_same_messages(void **state) {
  (void)state;
  kf_buf out;
  write_sample(&out);
  for (size_t chunk = 1; chunk <= out.len; chunk++) {
    log_of log;
    assert_int_equal(feed(out.data, out.len, chunk, &log, NULL), KF_OK);
    assert_string_equal(log.seen, "judge;putraw\nbytes{;put;judge;");
  }
  kf_buf_done(&out);
}

static void expect_refusal(const char *text, const char *message) {
  log_of log;
  kf_err err = {0};
  assert_int_equal(feed(text, strlen(text), 7, &log, &err), KF_EPROTO);
  if (!strstr(err.msg, message)) fail_msg("\"%s\" does not mention \"%s\"", err.msg, message);
}

static void test_wire__hostile_input_is_refused(void **state) {
  (void)state;
  expect_refusal("{\"op\":\n", "wire");
  expect_refusal("[1]\n", "object");
  expect_refusal("{\"id\":1}\n", "op");
  expect_refusal("{\"op\":\"put\",\"sha256\":\"00\",\"size\":1}\nx", "hex");
  expect_refusal(
      "{\"op\":\"put\",\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\","
      "\"size\":99999999999}\n",
      "bytes");
  expect_refusal(
      "{\"op\":\"put\",\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\","
      "\"size\":1}\nx",
      "hash");
}

static void test_wire__a_line_has_a_limit(void **state) {
  (void)state;
  size_t len = KF_WIRE_LINE_MAX + 2;
  char *line = kf_alloc(len);
  log_of log;
  kf_err err = {0};
  memset(line, 'x', len);
  assert_int_equal(feed(line, len, 65536, &log, &err), KF_EPROTO);
  assert_non_null(strstr(err.msg, "longer"));
  kf_free(line);
}

static void test_wire__nothing_is_taken_after_a_failure(void **state) {
  (void)state;
  kf_wire_reader reader;
  log_of log = {0};
  kf_err err = {0};
  const char *text = "{\"op\":\"stop\"}\n{\"op\":\"more\"}\n";
  kf_wire_reader_init(&reader);
  assert_int_equal(kf_wire_feed(&reader, text, strlen(text), note, &log, &err), KF_ECANCELED);
  assert_int_equal(kf_wire_feed(&reader, text, strlen(text), note, &log, &err), KF_EPROTO);
  assert_int_equal(log.messages, 0);
  kf_wire_reader_done(&reader);
}

static void test_wire__no_allocation_failure_is_lost(void **state) {
  (void)state;
  kf_buf out;
  write_sample(&out);
  kf_status status = KF_ENOMEM;
  unsigned long nth = 0;
  while (status == KF_ENOMEM) {
    log_of log;
    kf_alloc_fail_at(++nth, false);
    status = feed(out.data, out.len, 11, &log, NULL);
    kf_alloc_fail_at(0, false);
    assert_true(nth < 1000);
  }
  assert_int_equal(status, KF_OK);
  kf_buf_done(&out);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wire__any_chunking_gives_the_same_messages),
      cmocka_unit_test(test_wire__hostile_input_is_refused),
      cmocka_unit_test(test_wire__a_line_has_a_limit),
      cmocka_unit_test(test_wire__nothing_is_taken_after_a_failure),
      cmocka_unit_test(test_wire__no_allocation_failure_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
