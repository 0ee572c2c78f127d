/* device.h - what devices there are, and the one lock per physical device.
 * Enumeration loads a vendor's library (libOpenCL by dlopen), so the judge never does it itself: `--role
 * devices` is a child. */
#ifndef KF_DEVICE_DEVICE_H
#define KF_DEVICE_DEVICE_H

#include "base/json.h"
#include "task/plan.h"

typedef struct {
  char id[32];                              /* "opencl:0", "cpu:0" */
  char api[16];                             /* the language of its kernels: "opencl", "c" */
  char platform[96], name[128], driver[96]; /* driver of "c": the compiler, its version and flags */
  char physical[64]; /* lock name: every CPU device is "cpu", else "gpu-" + uuid or bus id */
  kf_device_limits limits;
  int64_t base_align; /* bytes, CL_DEVICE_MEM_BASE_ADDR_ALIGN / 8 */
  int64_t llc_bytes;  /* last-level cache as the device or the system reports it; 0 unknown */
  int64_t memory_bytes;
  char extensions_note[96]; /* "fp64 no-fp16 no-subgroups" */
} kf_device_info;

enum { KF_DEVICES_MAX = 16 };

/* Whether this version judges on it: CPU devices only so far. Others are seen and listed. */
static inline bool kf_device_is_judged_on(const kf_device_info *device) {
  return device->limits.is_cpu != 0;
}

/* The language of its kernels. */
static inline kf_language kf_device_language(const kf_device_info *device) {
  kf_language language = KF_LANG_OPENCL;
  kf_language_parse(device->api, &language);
  return language;
}

/* The host form: kernels are shared objects (docs/formats/host-form.md). By id, since a role knows no more.
 */
static inline bool kf_device_is_host(const char *device_id) {
  return strncmp(device_id, "cpu:", 4) == 0;
}

/* In-process enumeration: only for child roles. What is missing (no OpenCL library, no device, no C compiler)
 * is in the note. */
kf_status kf_device_enumerate(kf_device_info ret_devices[KF_DEVICES_MAX], int *ret_count, kf_buf *note,
                              kf_err *err);
kf_status kf_device_to_json(const kf_device_info *device, json_t **ret_json, kf_err *err);
kf_status kf_device_from_json(const json_t *json, kf_device_info *ret_device, kf_err *err);
int kf_devices_main(int fd); /* --role devices: writes one JSON array to fd, for kf_device_list */
/* Judge side: runs the child and reads its answer. */
kf_status kf_device_list(kf_device_info ret_devices[KF_DEVICES_MAX], int *ret_count, kf_buf *note,
                         kf_err *err);

/* Exclusive lock of a physical device across all processes of this machine: flock on a file in a shared
 * folder
 * ($KF_LOCK_DIR, else /tmp/kf-locks, mode 1777). Released when freed or when the process dies. */
typedef struct kf_device_lock kf_device_lock;
/* Waits up to `timeout_ms`; KF_ETIMEOUT names the holder's pid. */
kf_status kf_device_lock_take(const char *physical, int64_t timeout_ms, kf_device_lock **ret_lock,
                              kf_err *err);
void kf_device_lock_free(kf_device_lock *lock);

#endif
