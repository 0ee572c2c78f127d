/* links: kf_base kf_task */
/* fuzz_expr.c - any bytes as an expression: parsed and evaluated, it gives a value or an error, and the text
 * that is kept means the same again. */
#include "base/alloc.h"
#include "task/expr.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lookup(void *context, const char *name, kf_value *ret_value) {
  (void)context;
  if (strcmp(name, "n") == 0)
    *ret_value = (kf_value){.number = 1000003};
  else if (strcmp(name, "big") == 0)
    *ret_value = (kf_value){.number = INT64_MAX};
  else if (strcmp(name, "word") == 0)
    *ret_value = (kf_value){.is_word = true, .word = "float4"};
  else
    return false;
  return true;
}

static kf_status run(const char *text, size_t len, char **ret_copy, kf_value *ret_value) {
  kf_arena arena = {0};
  const kf_expr *expr = NULL;
  kf_err err = {0};
  int column = 0;
  kf_status status = kf_expr_parse(&arena, text, len, &expr, &column, &err);
  if (status != KF_OK && (column < 1 || (size_t)column > len + 1)) abort();
  if (status == KF_OK) {
    if (ret_copy != NULL) *ret_copy = kf_strdup(kf_expr_text(expr));
    status = kf_expr_eval(expr, lookup, NULL, ret_value, &column, &err);
    if (status != KF_OK && (column < 1 || (size_t)column > len)) abort();
    if (status == KF_OK && ret_value->is_word) ret_value->word = NULL; /* lies in the arena */
  }
  kf_arena_done(&arena);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *copy = NULL;
  kf_value first = {0}, second = {0};
  kf_status status = run((const char *)data, size, &copy, &first);
  if (copy == NULL) return 0;
  if (run(copy, strlen(copy), NULL, &second) != status) abort();
  if (status == KF_OK && (first.is_word != second.is_word || first.number != second.number)) abort();
  kf_free(copy);
  return 0;
}
