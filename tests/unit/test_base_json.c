/* links: kf_base */
/* test_base_json.c - hostile JSON is refused, failures of memory are never results, equal values dump
 * equally. */
#include "base/json.h"

#include "base/alloc.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_base_sweep.h"

static kf_status parse(const char *text, json_t **ret_value, kf_err *err) {
  return kf_json_parse(text, strlen(text), 1 << 20, "test", ret_value, err);
}

static void refuse(const char *text, size_t len, const char *reason) {
  json_t *value = NULL;
  kf_err err = {0};
  assert_int_equal(kf_json_parse(text, len, 1 << 20, "test", &value, &err), KF_EINVAL);
  assert_null(value);
  assert_int_equal(strncmp(err.msg, "test: ", 6), 0);
  if (strstr(err.msg, reason) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.msg, reason);
}

static void test_json__refuses_what_is_not_one_value(void **state) {
  (void)state;
  refuse("", 0, "line");
  refuse("  ", 2, "line");
  refuse("{} x", 4, "end of file");
  refuse("{} {}", 5, "end of file");
  refuse("{}\0", 3, "end of file");
  refuse("[1,]", 4, "line 1");
  refuse("\"open", 5, "line 1");
  refuse("{\"a\":1,\"a\":2}", 13, "duplicate");
  refuse("[\"\\u0000\"]", 10, "\\u0000");
  refuse("{\"a\\u0000\":1}", 13, "\\u0000");
  refuse("[\"\xff\"]", 5, "");
  refuse("[\"\xc0\x80\"]", 6, "");
  refuse("[99999999999999999999]", 22, "too big");
  refuse("[1e999]", 7, "overflow");
  refuse("[NaN]", 5, "");
  refuse("\xef\xbb\xbf{}", 5, "");
}

static void test_json__limits_length(void **state) {
  (void)state;
  json_t *value = NULL;
  kf_err err = {0};
  assert_int_equal(kf_json_parse("[10]", 4, 3, "answer", &value, &err), KF_EINVAL);
  assert_string_equal(err.msg, "answer: 4 bytes of JSON are over the limit of 3");
  assert_int_equal(kf_json_parse("[10]", 4, 4, "answer", &value, &err), KF_OK);
  json_decref(value);
}

static void test_json__limits_depth(void **state) {
  (void)state;
  char text[200000];
  for (size_t depth = 63; depth <= 66; depth++) {
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    json_t *value = NULL;
    kf_err err = {0};
    kf_status status = kf_json_parse(text, 2 * depth, sizeof text, "deep", &value, &err);
    assert_int_equal(status, depth <= KF_JSON_DEPTH_MAX ? KF_OK : KF_EINVAL);
    if (depth > KF_JSON_DEPTH_MAX) assert_string_equal(err.msg, "deep: nested deeper than 64 levels");
    json_decref(value);
  }
  memset(text, '[', sizeof text);
  refuse(text, sizeof text, "deeper");
  for (size_t i = 0; i + 5 <= sizeof text; i += 5)
    memcpy(text + i, "{\"a\":", 5);
  refuse(text, sizeof text, "deeper");
}

static void test_json__brackets_in_strings_are_text(void **state) {
  (void)state;
  char text[512] = "[\"\\\"";
  size_t len = strlen(text);
  memset(text + len, '[', 300);
  memcpy(text + len + 300, "\"]", 3);
  json_t *value = NULL;
  assert_int_equal(parse(text, &value, NULL), KF_OK);
  assert_int_equal(json_string_length(json_array_get(value, 0)), 301);
  json_decref(value);
}

static void test_json__scalars_are_values(void **state) {
  (void)state;
  json_t *value = NULL;
  assert_int_equal(parse(" 12 ", &value, NULL), KF_OK);
  assert_int_equal(json_integer_value(value), 12);
  json_decref(value);
}

static void test_json__equal_values_dump_equal_bytes(void **state) {
  (void)state;
  const char *const texts[] = {"{\"b\":[1,2.5,true,null],\"a\":\"\xc3\xa4\"}",
                               "  { \"a\" : \"\\u00e4\", \"b\": [1, 25e-1, true, null] } "};
  for (size_t i = 0; i < KF_COUNTOF(texts); i++) {
    KF_CLEANUP(kf_json_freep) json_t *value = NULL;
    KF_CLEANUP(kf_buf_done) kf_buf buf;
    kf_buf_init(&buf, 1000);
    assert_int_equal(parse(texts[i], &value, NULL), KF_OK);
    assert_int_equal(kf_json_dump(value, &buf, NULL), KF_OK);
    assert_string_equal(kf_buf_text(&buf), "{\"a\":\"\\u00E4\",\"b\":[1,2.5,true,null]}");
  }
}

static void test_json__dump_over_the_limit_leaves_the_buffer(void **state) {
  (void)state;
  json_t *value = json_string("0123456789");
  kf_buf buf;
  kf_err err = {0};
  kf_buf_init(&buf, 8);
  kf_buf_puts(&buf, "ab", NULL);
  assert_int_equal(kf_json_dump(value, &buf, &err), KF_EINVAL);
  assert_string_equal(kf_buf_text(&buf), "ab");
  assert_int_equal(kf_json_dump(NULL, &buf, &err), KF_EBUG);
  kf_buf_done(&buf);
  json_decref(value);
}

static void test_json__getters_name_the_key(void **state) {
  (void)state;
  json_t *o = NULL;
  kf_err err = {0};
  assert_int_equal(
      parse("{\"s\":\"x\",\"i\":-3,\"r\":1.5,\"b\":true,\"o\":{},\"a\":[1],\"n\":null}", &o, &err), KF_OK);
  const char *text = NULL;
  int64_t number = 0;
  double real = 0;
  bool truth = false;
  json_t *part = NULL;
  assert_int_equal(kf_json_str(o, "s", &text, &err), KF_OK);
  assert_string_equal(text, "x");
  assert_int_equal(kf_json_int(o, "i", &number, &err), KF_OK);
  assert_int_equal(number, -3);
  assert_int_equal(kf_json_real(o, "r", &real, &err), KF_OK);
  assert_true(real == 1.5);
  assert_int_equal(kf_json_real(o, "i", &real, &err), KF_OK);
  assert_true(real == -3.0);
  assert_int_equal(kf_json_bool(o, "b", &truth, &err), KF_OK);
  assert_true(truth);
  assert_int_equal(kf_json_obj(o, "o", &part, &err), KF_OK);
  assert_true(json_is_object(part));
  assert_int_equal(kf_json_arr(o, "a", &part, &err), KF_OK);
  assert_true(json_is_array(part));

  assert_int_equal(kf_json_int(o, "r", &number, &err), KF_EPROTO);
  assert_string_equal(err.msg, "\"r\": not a whole number");
  assert_int_equal(number, -3);
  assert_int_equal(kf_json_str(o, "missing", &text, &err), KF_EPROTO);
  assert_string_equal(err.msg, "\"missing\": missing");
  assert_int_equal(kf_json_bool(part, "b", &truth, &err), KF_EPROTO);
  assert_int_equal(kf_json_obj(NULL, "o", &part, &err), KF_EPROTO);
  assert_int_equal(kf_json_bool(o, "n", &truth, &err), KF_EPROTO);

  assert_string_equal(kf_json_str_or(o, "s", "d"), "x");
  assert_string_equal(kf_json_str_or(o, "n", "d"), "d");
  assert_int_equal(kf_json_int_or(o, "i", 9), -3);
  assert_int_equal(kf_json_int_or(o, "r", 9), 9);
  assert_true(kf_json_real_or(o, "i", 9) == -3.0);
  assert_true(kf_json_real_or(o, "zz", 9) == 9.0);
  assert_true(kf_json_bool_or(o, "b", false));
  assert_false(kf_json_bool_or(NULL, "b", false));
  json_decref(o);
}

static void test_json__pack_refuses_missing_values(void **state) {
  (void)state;
  json_t *value = NULL;
  kf_err err = {0};
  assert_int_equal(kf_json_pack(&value, &err, "{s:s, s:I}", "name", "x", "n", (json_int_t)7), KF_OK);
  assert_int_equal(kf_json_int_or(value, "n", 0), 7);
  json_decref(value);
  value = NULL;
  assert_int_equal(kf_json_pack(&value, &err, "{s:s}", "name", NULL), KF_EBUG);
  assert_int_equal(kf_json_pack(&value, &err, "{s:s}", "name", "\xff"), KF_EINVAL);
  assert_int_equal(kf_json_pack(&value, &err, "{s:o}", "name", NULL), KF_EBUG);
  assert_null(value);
}

/* A long string and number, so that jansson's token buffer has to grow in the middle of each, and enough keys
 * for a hash table to grow. */
static const char sweep_text[] =
    "{\"long\":\"0123456789012345678901234567890123456789\xc3\xa4\\n\\u20ac0123456789012345678901234567890\","
    "\"number\":0.12345678901234567890123456789012345,\"list\":[[],{},\"x\",-1,true,null],"
    "\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":8,\"k9\":9}";

static kf_status parse_sweep_text(void) {
  json_t *value = NULL;
  KF_TRY(parse(sweep_text, &value, NULL));
  assert_int_equal(json_string_length(json_object_get(value, "long")), 77);
  assert_int_equal(json_object_size(value), 12);
  json_decref(value);
  return KF_OK;
}

static void test_json__parse_survives_failing_allocations(void **state) {
  (void)state;
  assert_true(sweep_allocations(parse_sweep_text, false) > 40);
  assert_true(sweep_allocations(parse_sweep_text, true) > 40);
}

/* Every length of token around the sizes at which the token buffer grows, the closing quote included. */
static size_t string_len;
static kf_status parse_string_of_some_length(void) {
  char text[300];
  memset(text, 'a', sizeof text);
  text[0] = '"';
  text[string_len + 1] = '"';
  json_t *value = NULL;
  KF_TRY(kf_json_parse(text, string_len + 2, sizeof text, "test", &value, NULL));
  assert_int_equal(json_string_length(value), string_len);
  json_decref(value);
  return KF_OK;
}

static void test_json__no_token_is_cut_short(void **state) {
  (void)state;
  for (string_len = 0; string_len < 140; string_len++) {
    assert_true(sweep_allocations(parse_string_of_some_length, false) >= 4);
    assert_true(sweep_allocations(parse_string_of_some_length, true) >= 4);
  }
}

static json_t *sweep_value;
static kf_status dump_sweep_value(void) {
  kf_buf buf;
  kf_buf_init(&buf, 1 << 20);
  kf_status status = kf_json_dump(sweep_value, &buf, NULL);
  assert_int_equal(buf.len > 0, status == KF_OK);
  kf_buf_done(&buf);
  return status;
}

static kf_status pack_some(void) {
  json_t *value = NULL;
  KF_TRY(kf_json_pack(&value, NULL, "{s:s, s:[i,f,b], s:{}, s:o}", "a", "text", "b", 1, 2.5, 1, "c", "d",
                      json_incref(sweep_value)));
  json_decref(value);
  return KF_OK;
}

static void test_json__dump_and_pack_survive_failing_allocations(void **state) {
  (void)state;
  assert_int_equal(parse(sweep_text, &sweep_value, NULL), KF_OK);
  assert_true(sweep_allocations(dump_sweep_value, false) > 3);
  assert_true(sweep_allocations(dump_sweep_value, true) > 3);
  assert_true(sweep_allocations(pack_some, false) > 8);
  assert_true(sweep_allocations(pack_some, true) > 8);
  kf_json_freep(&sweep_value);
  assert_null(sweep_value);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_json__refuses_what_is_not_one_value),
      cmocka_unit_test(test_json__limits_length),
      cmocka_unit_test(test_json__limits_depth),
      cmocka_unit_test(test_json__brackets_in_strings_are_text),
      cmocka_unit_test(test_json__scalars_are_values),
      cmocka_unit_test(test_json__equal_values_dump_equal_bytes),
      cmocka_unit_test(test_json__dump_over_the_limit_leaves_the_buffer),
      cmocka_unit_test(test_json__getters_name_the_key),
      cmocka_unit_test(test_json__pack_refuses_missing_values),
      cmocka_unit_test(test_json__parse_survives_failing_allocations),
      cmocka_unit_test(test_json__no_token_is_cut_short),
      cmocka_unit_test(test_json__dump_and_pack_survive_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
