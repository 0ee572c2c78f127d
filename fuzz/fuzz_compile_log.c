/* links: kf_base kf_wire kf_build */
/* fuzz_compile_log.c - any bytes as a compiler's log: the list is bounded, its texts end, its numbers are
 * none below zero, and a shorter list is the beginning of a longer one. */
#include "build/compile_log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const kf_compile_error *error) {
  if (memchr(error->file, '\0', sizeof error->file) == NULL ||
      memchr(error->message, '\0', sizeof error->message) == NULL ||
      memchr(error->category, '\0', sizeof error->category) == NULL)
    abort();
  if (error->line < 0 || error->col < 0 || error->message[0] == '\0' || error->category[0] == '\0') abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kf_compile_error all[KF_VERDICT_ERRORS_MAX], two[2];
  int count = kf_compile_log_errors((const char *)data, size, all, KF_VERDICT_ERRORS_MAX);
  int fewer = kf_compile_log_errors((const char *)data, size, two, 2);
  if (count > KF_VERDICT_ERRORS_MAX || fewer != (count < 2 ? count : 2)) abort();
  for (int i = 0; i < count; i++)
    check(&all[i]);
  for (int i = 0; i < fewer; i++)
    if (strcmp(all[i].message, two[i].message) != 0) abort();
  return 0;
}
