/* opencl_device.c - what OpenCL says about its devices, in the words of device.h. */
#include "device/opencl_api.h"

#include "base/fs.h"
#include "base/text.h"
#include <unistd.h>

enum {
  PLATFORMS_MAX = 16,
  NOT_FOUND_KHR = -1001,  /* CL_PLATFORM_NOT_FOUND_KHR: the loader found no driver */
  DEVICE_UUID = 0x106A,   /* CL_DEVICE_UUID_KHR of cl_khr_device_uuid, 16 bytes */
  DEVICE_PCI_BUS = 0x410F /* CL_DEVICE_PCI_BUS_INFO_KHR of cl_khr_pci_bus_info, 4 cl_uint */
};

kf_status kf__opencl_devices(const kf_opencl_api *cl, kf_opencl_place ret_places[KF_DEVICES_MAX],
                             int *ret_count, kf_err *err) {
  cl_platform_id platforms[PLATFORMS_MAX];
  cl_uint nplatforms = 0;
  cl_int rc = cl->clGetPlatformIDs(PLATFORMS_MAX, platforms, &nplatforms);
  if (rc == NOT_FOUND_KHR)
    nplatforms = 0;
  else if (rc != CL_SUCCESS)
    return kf_fail(err, KF_ENODEV, "opencl: clGetPlatformIDs: %s (%d)", kf__opencl_error_name(rc), (int)rc);
  if (nplatforms > PLATFORMS_MAX) nplatforms = PLATFORMS_MAX;
  int count = 0;
  for (cl_uint i = 0; i < nplatforms; i++) {
    cl_device_id devices[KF_DEVICES_MAX];
    cl_uint ndevices = 0;
    /* A platform without a device, or one that is broken, hides none of the others. */
    if (cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, KF_DEVICES_MAX, devices, &ndevices) !=
        CL_SUCCESS)
      continue;
    for (cl_uint j = 0; j < ndevices && j < KF_DEVICES_MAX && count < KF_DEVICES_MAX; j++)
      ret_places[count++] = (kf_opencl_place){platforms[i], devices[j]};
  }
  *ret_count = count;
  return KF_OK;
}

static void device_text(const kf_opencl_api *cl, cl_device_id device, cl_device_info what, char *ret_text,
                        size_t size) {
  char text[8192] = "";
  if (cl->clGetDeviceInfo(device, what, sizeof text - 1, text, NULL) != CL_SUCCESS) text[0] = '\0';
  snprintf(ret_text, size, "%s", text);
}

static int64_t device_uint(const kf_opencl_api *cl, cl_device_id device, cl_device_info what) {
  cl_uint value = 0;
  return cl->clGetDeviceInfo(device, what, sizeof value, &value, NULL) == CL_SUCCESS ? (int64_t)value : 0;
}

static int64_t device_ulong(const kf_opencl_api *cl, cl_device_id device, cl_device_info what) {
  cl_ulong value = 0;
  if (cl->clGetDeviceInfo(device, what, sizeof value, &value, NULL) != CL_SUCCESS) return 0;
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int64_t device_size(const kf_opencl_api *cl, cl_device_id device, cl_device_info what) {
  size_t value = 0;
  if (cl->clGetDeviceInfo(device, what, sizeof value, &value, NULL) != CL_SUCCESS) return 0;
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int64_t kf__sysfs_llc_bytes(void) {
  int64_t largest = 0;
  for (int index = 0; index < 8; index++) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    kf_buf text;
    kf_buf_init(&text, 64);
    if (kf_fs_read(path, &text, NULL) == KF_OK) {
      char unit = 0;
      long long size = 0;
      int fields = sscanf(kf_buf_text(&text), "%lld%c", &size, &unit);
      if (fields == 2 && unit == 'K') size *= 1024;
      if (fields == 2 && unit == 'M') size *= 1048576;
      if (fields >= 1 && size > largest) largest = size;
    }
    kf_buf_done(&text);
  }
  return largest;
}

static void physical_name(const kf_opencl_api *cl, cl_device_id device, bool is_cpu, int index,
                          char *ret_name, size_t size) {
  unsigned char uuid[16];
  cl_uint pci[4];
  if (is_cpu) {
    snprintf(ret_name, size, "cpu");
  } else if (cl->clGetDeviceInfo(device, DEVICE_UUID, sizeof uuid, uuid, NULL) == CL_SUCCESS) {
    size_t len = (size_t)snprintf(ret_name, size, "gpu-");
    for (size_t i = 0; i < sizeof uuid && len + 2 < size; i++)
      len += (size_t)snprintf(ret_name + len, size - len, "%02x", uuid[i]);
  } else if (cl->clGetDeviceInfo(device, DEVICE_PCI_BUS, sizeof pci, pci, NULL) == CL_SUCCESS) {
    snprintf(ret_name, size, "gpu-pci-%04x-%02x-%02x-%x", pci[0], pci[1], pci[2], pci[3]);
  } else {
    snprintf(ret_name, size, "gpu-opencl-%d", index);
  }
}

static void describe_limits(const kf_opencl_api *cl, cl_device_id device, bool is_cpu,
                            kf_device_limits *limits) {
  size_t items[3] = {0, 0, 0};
  limits->units = device_uint(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  limits->local_bytes = device_ulong(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
  limits->max_group = device_size(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  if (cl->clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL) == CL_SUCCESS)
    for (int i = 0; i < 3; i++)
      limits->max_local[i] = (int64_t)items[i];
  limits->simd_width = device_uint(cl, device, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
  limits->is_cpu = is_cpu;
}

void kf__opencl_describe(const kf_opencl_api *cl, const kf_opencl_place *place, int index,
                         kf_device_info *ret_info) {
  kf_device_info info = {.api = "opencl"};
  cl_device_id device = place->device;
  cl_device_type type = 0;
  char extensions[8192];
  cl->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  bool is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  snprintf(info.id, sizeof info.id, "opencl:%d", index);
  char platform[256] = "";
  if (cl->clGetPlatformInfo(place->platform, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL) !=
      CL_SUCCESS)
    platform[0] = '\0';
  snprintf(info.platform, sizeof info.platform, "%.95s", platform);
  device_text(cl, device, CL_DEVICE_NAME, info.name, sizeof info.name);
  device_text(cl, device, CL_DRIVER_VERSION, info.driver, sizeof info.driver);
  device_text(cl, device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  physical_name(cl, device, is_cpu, index, info.physical, sizeof info.physical);
  describe_limits(cl, device, is_cpu, &info.limits);
  info.base_align = device_uint(cl, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  info.llc_bytes = device_ulong(cl, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  if (info.llc_bytes == 0 && is_cpu) info.llc_bytes = kf__sysfs_llc_bytes();
  info.memory_bytes = device_ulong(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  snprintf(info.extensions_note, sizeof info.extensions_note, "%s %s %s",
           strstr(extensions, "cl_khr_fp64") ? "fp64" : "no-fp64",
           strstr(extensions, "cl_khr_fp16") ? "fp16" : "no-fp16",
           strstr(extensions, "cl_khr_subgroups") ? "subgroups" : "no-subgroups");
  *ret_info = info;
}

kf_status kf__opencl_enumerate(kf_device_info *ret_devices, int max, int *ret_count, kf_buf *note,
                               kf_err *err) {
  static const char packages[] =
      "install ocl-icd-libopencl1 and pocl-opencl-icd (Debian, Ubuntu), or a GPU vendor's OpenCL driver";
  const kf_opencl_api *cl = NULL;
  kf_err why = {.code = KF_OK};
  if (kf__opencl_api(&cl, &why) != KF_OK) {
    *ret_count = 0;
    return kf_buf_printf(note, err, "%s; %s\n", why.msg, why.hint[0] ? why.hint : packages);
  }
  kf_opencl_place places[KF_DEVICES_MAX];
  int count = 0;
  kf_status status = kf__opencl_devices(cl, places, &count, &why);
  if (status != KF_OK || count == 0) {
    *ret_count = 0;
    return kf_buf_printf(
        note, err, "%s; %s\n",
        status == KF_OK ? "opencl: the library is there but no driver offers a device" : why.msg, packages);
  }
  if (count > max) count = max;
  for (int i = 0; i < count; i++)
    kf__opencl_describe(cl, &places[i], i, &ret_devices[i]);
  *ret_count = count;
  return KF_OK;
}
