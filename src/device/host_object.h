/* host_object.h - is a shared object of the host form one that may be loaded at all? The judge's own look at
 * the bytes that a compiler gave for a hostile source, before any process loads them
 * (docs/internals/cheats.md, rows 12, 35, 36 and 38).
 *
 * Refused: code that runs at load (constructors, IFUNCs), libraries beyond libc, libm and OpenMP, symbols
 * outside an allow-list (so no dlopen, no BLAS, no exec, no allocation), writable or thread-local data that
 * would outlive a call, relocations in code, an executable stack. It is a first line that gives a good
 * diagnosis; what holds is the sandbox of the process that loads the object. Threads: pure function. */
#ifndef KF_DEVICE_HOST_OBJECT_H
#define KF_DEVICE_HOST_OBJECT_H

#include "base/status.h"
#include <stdint.h>

enum { KF_HOST_OBJECT_MAX = 64 << 20, KF_HOST_OBJECT_WHY_MAX = 240 };

typedef struct {
  bool has_run, has_workspace;
  char why[KF_HOST_OBJECT_WHY_MAX]; /* "" = may be loaded; else the reason, for a diagnosis */
} kf_host_object;

/* Any bytes are fine; whatever cannot be read as a small well-formed object is refused with a reason. */
void kf_host_object_check(const void *bytes, size_t len, kf_host_object *ret_object);

#endif
