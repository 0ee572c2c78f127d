/* clang_api.c - opens libclang with dlopen and fills the table of its functions. */
#include "behavior/clang_api_int.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEWEST = 20, OLDEST = 14 };

static kf_clang_api api;
static bool is_open;

/* Debian's runtime packages have libclang-N.so.1 from 15 on and libclang-14.so.13 before, other systems
 * libclang.so.N. */
static void *open_any_version(void) {
  static const char *const forms[] = {"libclang-%d.so.%d", "libclang-%d.so.1", "libclang-%d.so.13",
                                      "libclang.so.%d"};
  for (int version = NEWEST; version >= OLDEST; version--)
    for (size_t i = 0; i < KF_COUNTOF(forms); i++) {
      char name[64];
      snprintf(name, sizeof name, forms[i], version, version);
      void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library) return library;
    }
  return dlopen("libclang.so", RTLD_NOW | RTLD_LOCAL);
}

kf_status kf__clang_open(const kf_clang_api **ret_api, kf_err *err) {
  if (!is_open) {
    const char *path = getenv("KF_LIBCLANG");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : open_any_version();
    if (!library) {
      kf_fail(err, KF_ENODEV, "libclang: not found: kernels are not classified");
      return kf_err_hint(err, KF_ENODEV, "install libclang1 (14 to 20), or set KF_LIBCLANG to its path");
    }
#define KF_CLANG_LOAD(name)                                                                                  \
  *(void **)&api.name = dlsym(library, "clang_" #name);                                                      \
  if (!api.name) return kf_fail(err, KF_ENODEV, "libclang: has no clang_" #name ": too old");
    KF_CLANG_FUNCTIONS(KF_CLANG_LOAD)
#undef KF_CLANG_LOAD
    is_open = true;
  }
  *ret_api = &api;
  return KF_OK;
}
