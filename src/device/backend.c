/* backend.c - dispatch by the device id's prefix. A new API adds one file and one line here. */
#include "device/backend_internal.h"

#include <stdarg.h>

static const kf_backend_ops *const apis[] = {&kf__opencl_ops, &kf__host_ops};

void kf__result_set(kf_run_result *result, kf_run_code code, int32_t api_code, const char *fmt, ...) {
  memset(result, 0, sizeof *result);
  result->code = code;
  result->api_code = api_code;
  result->slot = -1;
  va_list args;
  va_start(args, fmt);
  vsnprintf(result->text, sizeof result->text, fmt, args);
  va_end(args);
}

kf_status kf_backend_open(const char *device_id, kf_backend **ret_backend, kf_err *err) {
  for (size_t i = 0; i < KF_COUNTOF(apis); i++) {
    if (strncmp(device_id, apis[i]->prefix, strlen(apis[i]->prefix)) == 0)
      return apis[i]->open(device_id, ret_backend, err);
  }
  return kf_err_hint(err, kf_fail(err, KF_ENODEV, "device \"%.60s\": unknown api", device_id),
                     "device ids begin with \"opencl:\" or are \"cpu:0\"");
}

void kf_backend_close(kf_backend *backend) {
  if (backend) backend->ops->close(backend);
}

const kf_device_info *kf_backend_info(const kf_backend *backend) {
  return &backend->info;
}

kf_status kf_backend_compile(kf_backend *backend, const char *source, size_t len, const char *options,
                             kf_buf *log, kf_program **ret_program, kf_run_result *ret_result, kf_err *err) {
  return backend->ops->compile(backend, source, len, options, log, ret_program, ret_result, err);
}

kf_status kf_backend_load(kf_backend *backend, const void *binary, size_t len, kf_program **ret_program,
                          kf_run_result *ret_result, kf_err *err) {
  return backend->ops->load(backend, binary, len, ret_program, ret_result, err);
}

kf_status kf_backend_save(kf_backend *backend, kf_program *program, kf_buf *binary, kf_err *err) {
  return backend->ops->save(backend, program, binary, err);
}

void kf_program_free(kf_program *program) {
  if (program) program->ops->program_free(program);
}

kf_status kf_program_entries(kf_program *program, kf_entry_info *ret_entries, int max, int *ret_count,
                             kf_err *err) {
  return program->ops->entries(program, ret_entries, max, ret_count, err);
}

kf_status kf_backend_bind(kf_backend *backend, void *const *data, const size_t *bytes, const bool *read_only,
                          int count, kf_run_result *ret_result, kf_err *err) {
  return backend->ops->bind(backend, data, bytes, read_only, count, ret_result, err);
}

kf_status kf_backend_prepare(kf_backend *backend, kf_program *program, const kf_calls *calls,
                             kf_run_result *ret_result, kf_err *err) {
  return backend->ops->prepare(backend, program, calls, ret_result, err);
}

kf_status kf_backend_run(kf_backend *backend, unsigned repeat, int64_t *ret_ns, kf_run_result *ret_result,
                         kf_err *err) {
  return backend->ops->run(backend, repeat, ret_ns, ret_result, err);
}

bool kf_backend_is_host(const kf_backend *backend) {
  return backend->ops->workspace != NULL;
}

kf_status kf_backend_workspace(kf_backend *backend, kf_program *program, const kf_calls *calls,
                               int64_t *ret_bytes, kf_run_result *ret_result, kf_err *err) {
  return backend->ops->workspace(backend, program, calls, ret_bytes, ret_result, err);
}
