/* device.c - the list of devices: asked in a child, since a vendor's library may crash, hang or leave threads
 * behind. */
#include "device/backend_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "device/role_env.h"
#include "sandbox/channel.h"
#include "sandbox/child.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIST_TIMEOUT_MS = 60000, LIST_BYTES_MAX = 1 << 16 };

kf_status kf_device_enumerate(kf_device_info ret_devices[KF_DEVICES_MAX], int *ret_count, kf_buf *note,
                              kf_err *err) {
  int opencl = 0, host = 0;
  KF_TRY(kf__opencl_enumerate(ret_devices, KF_DEVICES_MAX, &opencl, note, err));
  KF_TRY(kf__host_enumerate(ret_devices + opencl, KF_DEVICES_MAX - opencl, &host, note, err));
  *ret_count = opencl + host;
  return KF_OK;
}

kf_status kf_device_to_json(const kf_device_info *device, json_t **ret_json, kf_err *err) {
  const kf_device_limits *limits = &device->limits;
  return kf_json_pack(
      ret_json, err, "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:{s:I,s:I,s:I,s:[I,I,I],s:I,s:I}}", "id",
      device->id, "api", device->api, "platform", device->platform, "name", device->name, "driver",
      device->driver, "physical", device->physical, "extensions", device->extensions_note, "base_align",
      (json_int_t)device->base_align, "llc_bytes", (json_int_t)device->llc_bytes, "memory_bytes",
      (json_int_t)device->memory_bytes, "limits", "units", (json_int_t)limits->units, "local_bytes",
      (json_int_t)limits->local_bytes, "max_group", (json_int_t)limits->max_group, "max_local",
      (json_int_t)limits->max_local[0], (json_int_t)limits->max_local[1], (json_int_t)limits->max_local[2],
      "simd_width", (json_int_t)limits->simd_width, "is_cpu", (json_int_t)limits->is_cpu);
}

static kf_status text_field(const json_t *json, const char *key, char *ret_text, size_t size, kf_err *err) {
  const char *text = NULL;
  KF_TRY(kf_json_str(json, key, &text, err));
  if (strlen(text) >= size) return kf_fail(err, KF_EPROTO, "device: %s is too long", key);
  snprintf(ret_text, size, "%s", text);
  return KF_OK;
}

static kf_status read_limits(const json_t *json, kf_device_limits *limits, kf_err *err) {
  json_t *object = NULL, *sizes = NULL;
  KF_TRY(kf_json_obj(json, "limits", &object, err));
  KF_TRY(kf_json_int(object, "units", &limits->units, err));
  KF_TRY(kf_json_int(object, "local_bytes", &limits->local_bytes, err));
  KF_TRY(kf_json_int(object, "max_group", &limits->max_group, err));
  KF_TRY(kf_json_int(object, "simd_width", &limits->simd_width, err));
  KF_TRY(kf_json_int(object, "is_cpu", &limits->is_cpu, err));
  KF_TRY(kf_json_arr(object, "max_local", &sizes, err));
  if (json_array_size(sizes) != 3) return kf_fail(err, KF_EPROTO, "device: max_local has not 3 elements");
  for (size_t i = 0; i < 3; i++)
    limits->max_local[i] = json_integer_value(json_array_get(sizes, i));
  return KF_OK;
}

kf_status kf_device_from_json(const json_t *json, kf_device_info *ret_device, kf_err *err) {
  kf_device_info device = {.id = ""};
  KF_TRY(text_field(json, "id", device.id, sizeof device.id, err));
  KF_TRY(text_field(json, "api", device.api, sizeof device.api, err));
  KF_TRY(text_field(json, "platform", device.platform, sizeof device.platform, err));
  KF_TRY(text_field(json, "name", device.name, sizeof device.name, err));
  KF_TRY(text_field(json, "driver", device.driver, sizeof device.driver, err));
  KF_TRY(text_field(json, "physical", device.physical, sizeof device.physical, err));
  KF_TRY(text_field(json, "extensions", device.extensions_note, sizeof device.extensions_note, err));
  KF_TRY(kf_json_int(json, "base_align", &device.base_align, err));
  KF_TRY(kf_json_int(json, "llc_bytes", &device.llc_bytes, err));
  KF_TRY(kf_json_int(json, "memory_bytes", &device.memory_bytes, err));
  KF_TRY(read_limits(json, &device.limits, err));
  *ret_device = device;
  return KF_OK;
}

/* ---- the child: {"devices":[...],"note":"..."} ---- */

/* Driver names may hold any bytes; JSON takes UTF-8 only. */
static void make_ascii(char *text) {
  for (; *text; text++)
    if ((unsigned char)*text >= 0x7f || (unsigned char)*text < 0x20) *text = '?';
}

static kf_status pack_list(kf_device_info *devices, int count, kf_buf *note, kf_buf *out, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *array = json_array();
  KF_CLEANUP(kf_json_freep) json_t *answer = NULL;
  for (int i = 0; i < count; i++) {
    json_t *one = NULL;
    make_ascii(devices[i].platform);
    make_ascii(devices[i].name);
    make_ascii(devices[i].driver);
    KF_TRY(kf_device_to_json(&devices[i], &one, err));
    if (json_array_append_new(array, one) != 0) return kf_nomem(err);
  }
  for (char *c = note->data; c && *c; c++)
    if ((unsigned char)*c >= 0x7f) *c = '?';
  KF_TRY(kf_json_pack(&answer, err, "{s:O,s:s}", "devices", array, "note", kf_buf_text(note)));
  return kf_json_dump(answer, out, err);
}

int kf_devices_main(int fd) {
  static kf_device_info devices[KF_DEVICES_MAX];
  int count = 0;
  kf_buf note, out;
  kf_err err = {.code = KF_OK};
  kf_buf_init(&note, 4096);
  kf_buf_init(&out, LIST_BYTES_MAX);
  kf_status status = kf_device_enumerate(devices, &count, &note, &err);
  if (status == KF_OK) status = pack_list(devices, count, &note, &out, &err);
  if (status == KF_OK) status = kf_fs_write_fd(fd, out.data, out.len, &err);
  if (status != KF_OK) fprintf(stderr, "%s\n", err.msg);
  kf_buf_done(&note);
  kf_buf_done(&out);
  return status == KF_OK ? 0 : 1;
}

/* ---- the judge's side ---- */

static kf_status parse_list(const kf_buf *text, kf_device_info *ret_devices, int *ret_count, kf_buf *note,
                            kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *answer = NULL;
  json_t *array = NULL;
  KF_TRY(kf_json_parse(kf_buf_text(text), text->len, LIST_BYTES_MAX, "device list", &answer, err));
  KF_TRY(kf_json_arr(answer, "devices", &array, err));
  int count = 0;
  for (size_t i = 0; i < json_array_size(array) && count < KF_DEVICES_MAX; i++)
    KF_TRY(kf_device_from_json(json_array_get(array, i), &ret_devices[count++], err));
  KF_TRY(kf_buf_puts(note, kf_json_str_or(answer, "note", ""), err));
  *ret_count = count;
  return KF_OK;
}

/* Reads until the child closes its end. */
static kf_status read_answer(int fd, kf_buf *text, kf_err *err) {
  int64_t deadline_ns = kf_now_ns() + (int64_t)LIST_TIMEOUT_MS * 1000000;
  for (;;) {
    char part[4096];
    size_t len = 0;
    kf_channel_event event = KF_CHANNEL_CLOSED;
    KF_TRY(kf_channel_recv(fd, deadline_ns, part, sizeof part, &len, NULL, 0, NULL, &event, err));
    if (event == KF_CHANNEL_CLOSED) return KF_OK;
    if (event == KF_CHANNEL_TIMED_OUT)
      return kf_fail(err, KF_ETIMEOUT, "devices: no answer within %d s", LIST_TIMEOUT_MS / 1000);
    KF_TRY(kf_buf_append(text, part, len, err));
  }
}

/* The child's end explains a missing answer: a crashing driver is worth a note, not a failure of ours. */
static kf_status note_end(kf_child *child, kf_buf *note, kf_err *err) {
  kf_exit end;
  char text[120];
  KF_TRY(kf_child_wait(child, kf_now_ns() + 5000000000, &end, err));
  kf_exit_text(&end, text, sizeof text);
  KF_TRY(kf_buf_printf(note, err, "devices: the process that asks the drivers %s\n", text));
  kf_buf output;
  kf_buf_init(&output, KF_CHILD_OUTPUT_MAX);
  kf_status status = kf_child_output(child, &output, err);
  if (status == KF_OK && output.len > 0) status = kf_buf_printf(note, err, "%.500s\n", kf_buf_text(&output));
  kf_buf_done(&output);
  return status;
}

static kf_status list_with(const char *cache_dir, kf_device_info *ret_devices, int *ret_count, kf_buf *note,
                           kf_err *err) {
  static const char *const argv[] = {"kf-eval", "--role", "devices", NULL};
  int fds[2] = {-1, -1};
  kf_child *child = NULL;
  kf_buf text;
  kf_role_env *env = kf_alloc(sizeof *env);
  if (!env) return kf_nomem(err);
  kf_buf_init(&text, LIST_BYTES_MAX);
  kf_status status = KF_OK;
  KF_GO(kf_role_env_init(env, cache_dir, err));
  KF_GO(kf_channel_pair(SOCK_STREAM, fds, err));
  kf_child_options options = {.argv = argv, .env = env->env, .fds = {fds[1]}, .nfds = 1};
  KF_GO(kf_child_spawn(&options, &child, err));
  close(fds[1]);
  fds[1] = -1;
  KF_GO(read_answer(fds[0], &text, err));
  if (text.len > 0) {
    status = parse_list(&text, ret_devices, ret_count, note, err);
  } else {
    *ret_count = 0;
    status = note_end(child, note, err);
  }
out:
  kf_child_free(child);
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  kf_buf_done(&text);
  kf_free(env);
  return status;
}

kf_status kf_device_list(kf_device_info ret_devices[KF_DEVICES_MAX], int *ret_count, kf_buf *note,
                         kf_err *err) {
  char cache_dir[KF_PATH_MAX];
  KF_TRY(kf_fs_mkdtemp(cache_dir, "kf-devices", err));
  kf_status status = list_with(cache_dir, ret_devices, ret_count, note, err);
  kf_err ignored = {.code = KF_OK};
  kf_status removed = kf_fs_remove_tree(cache_dir, &ignored);
  return status != KF_OK || removed == KF_OK ? status : kf_fail(err, removed, "%s", ignored.msg);
}
