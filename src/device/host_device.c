/* host_device.c - "cpu:0": C on the CPU, what is known of it without a driver. One device, which shares its
 * lock with every other name of the CPU. */
#include "device/backend_internal.h"

#include "device/host_cc.h"
#include <sched.h>
#include <unistd.h>

enum { HOST_BASE_ALIGN = 256 };

static int64_t usable_cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? cores : 1;
}

/* Floats in the widest register that -march=native can use. */
static int64_t float_lanes(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 16;
  if (__builtin_cpu_supports("avx")) return 8;
#endif
  return 4;
}

static void cpu_name(char *ret_name, size_t size) {
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, 1 << 20);
  snprintf(ret_name, size, "CPU");
  if (kf_fs_read("/proc/cpuinfo", &text, NULL) != KF_OK) return;
  const char *line = strstr(kf_buf_text(&text), "model name");
  const char *colon = line ? strchr(line, ':') : NULL;
  if (!colon) return;
  colon += 1 + strspn(colon + 1, " \t");
  snprintf(ret_name, size, "%.*s", (int)strcspn(colon, "\n"), colon);
}

void kf__host_describe(kf_device_info *ret_info) {
  kf_device_info info = {.id = "cpu:0", .api = "c", .platform = "C on the CPU", .physical = "cpu"};
  cpu_name(info.name, sizeof info.name);
  info.limits = (kf_device_limits){.units = usable_cores(), .simd_width = float_lanes(), .is_cpu = 1};
  info.base_align = HOST_BASE_ALIGN;
  info.llc_bytes = kf__sysfs_llc_bytes();
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) info.memory_bytes = (int64_t)pages * page;
  snprintf(info.extensions_note, sizeof info.extensions_note, "host form, %lld threads",
           (long long)info.limits.units);
  *ret_info = info;
}

kf_status kf__host_enumerate(kf_device_info *ret_devices, int max, int *ret_count, kf_buf *note,
                             kf_err *err) {
  char compiler[KF_PATH_MAX], version[56];
  kf_err why = {.code = KF_OK};
  *ret_count = 0;
  if (max < 1) return KF_OK;
  if (kf_host_cc_find(compiler, &why) != KF_OK)
    return kf_buf_printf(note, err, "cpu: %s; %s\n", why.msg, why.hint);
  kf__host_describe(&ret_devices[0]);
  kf_host_cc_version(compiler, version, sizeof version);
  /* The compiler is to this device what the driver is to others: another one means other code. */
  snprintf(ret_devices[0].driver, sizeof ret_devices[0].driver, "%.55s %s", version[0] ? version : compiler,
           KF_HOST_CC_FLAGS);
  *ret_count = 1;
  return KF_OK;
}
