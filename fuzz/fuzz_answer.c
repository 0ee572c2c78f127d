/* links: kf_propose kf_task kf_wire kf_base
 * fuzz_answer.c - the code of a Markdown answer: whatever the text, what comes out is the block's own bytes,
 * without control characters, and nothing leaks. The first byte chooses the language. */
#include <stdint.h>

#include "base/alloc.h"
#include "propose/propose.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *source = NULL;
  size_t len = 0;
  const char *note = NULL;
  kf_language language = size > 0 ? (kf_language)(data[0] % KF_LANG_COUNT) : KF_LANG_OPENCL;
  if (!kf_answer_extract((const char *)data, size, language, &source, &len, &note)) {
    if (!note || !note[0]) abort();
    return 0;
  }
  if (len != strlen(source) || len > 4 * size + 16) abort();
  for (size_t i = 0; i < len; i++)
    if (source[i] > 0 && source[i] < 9) abort();
  kf_free(source);
  return 0;
}
