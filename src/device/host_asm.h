/* host_asm.h - what the compiler made of a C kernel, read from its assembly: the evidence for the kernel's
 * place in the archive (docs/formats/host-form.md). Compiled evidence: comments, names and dead code are
 * gone. */
#ifndef KF_DEVICE_HOST_ASM_H
#define KF_DEVICE_HOST_ASM_H

#include "base/status.h"
#include <stdint.h>

/* Plain data, of fixed size. */
typedef struct {
  int32_t vector_width; /* elements in the widest register that arithmetic uses; 1: none but scalars */
  int32_t accumulators; /* most registers that one innermost loop of vectors adds to */
  uint8_t threads;      /* opens a parallel region */
  uint8_t barriers;     /* its threads wait for each other within it */
  uint8_t atomics;      /* locked instructions, critical sections */
  uint8_t prefetches;
} kf_host_facts;

/* GNU assembly of x86-64 (AT&T) or AArch64; of another machine only calls are seen. Lines that are not
 * understood say nothing. */
void kf_host_asm_read(const char *text, size_t len, kf_host_facts *ret_facts);

#endif
