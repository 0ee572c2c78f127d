/* evaluator.c - the one interface over all transports. */
#include "dist/dist_int.h"

#include "base/banned.h"

const kf_device_info *kf_evaluator_devices(const kf_evaluator *evaluator, int *ret_count) {
  *ret_count = evaluator->ndevices;
  return evaluator->devices;
}

const char *kf_evaluator_hello_text(const kf_evaluator *evaluator, const char *key) {
  return evaluator->hello ? kf_json_str_or(evaluator->hello, key, "") : "";
}

int64_t kf_evaluator_pid(const kf_evaluator *evaluator) {
  return evaluator->pid;
}

kf_status kf_evaluator_submit(kf_evaluator *evaluator, const kf_eval_request *request, kf_err *err) {
  return evaluator->ops->submit(evaluator, request, err);
}

kf_status kf_evaluator_cancel(kf_evaluator *evaluator, int64_t id, kf_err *err) {
  return evaluator->ops->cancel(evaluator, id, err);
}

kf_status kf_evaluator_inspect(kf_evaluator *evaluator, const char *device, const char *source, size_t len,
                               json_t **ret_kernels, kf_err *err) {
  return evaluator->ops->inspect(evaluator, device, source, len, ret_kernels, err);
}

void kf_evaluator_close(kf_evaluator *evaluator) {
  if (evaluator) evaluator->ops->close(evaluator);
}

void kf__result_fail(kf_evaluator *evaluator, int64_t id, const kf_err *error) {
  kf_eval_result result = {.id = id, .status = error->code, .error = error};
  evaluator->callbacks.on_result(evaluator->callbacks.context, &result);
}
