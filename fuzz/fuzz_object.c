/* links: kf_device */
/* fuzz_object.c - the look at a shared object that a hostile source was compiled to. */
#include "device/host_object.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kf_host_object found;
  kf_host_object_check(data, size, &found);
  if (found.why[0] != '\0' && (found.has_run || found.has_workspace)) abort();
  return 0;
}
