/* driver_dry.c - `kf run --dry-run`: one kernel of the task is really judged, against itself, so that the
 * pace, the noise and the smallest gain that can be told from it are measured and not guessed. */
#include "base/alloc.h"
#include "run/driver_int.h"
#include <math.h>

#include "base/banned.h"

typedef struct {
  kf__driver *driver;
  kf_run_forecast *forecast;
  bool done;
  kf_status status;
  kf_err error;
} dry;

/* docs/internals/evaluator.md, T13: the smallest detectable gain of a race of 48 blocks is about half the
 * standard deviation of a block. The interval of a median has a half-width of 1.96 * 1.253 sigma / sqrt(n).
 */
static void fill_noise(kf_run_forecast *forecast, const kf_verdict *verdict, double delta) {
  const kf_race_result *race = &verdict->race;
  forecast->blocks = race->blocks;
  forecast->smallest_gain = delta;
  if (race->blocks < 3) return;
  double half = (double)(race->high_nano - race->low_nano) * 0.5e-9;
  forecast->noise = half * sqrt((double)race->blocks) / (1.96 * 1.2533);
  double gain = expm1(0.5 * forecast->noise);
  if (gain > delta) forecast->smallest_gain = gain;
}

static void on_result(void *context, const kf_eval_result *result) {
  dry *self = context;
  kf_run_forecast *forecast = self->forecast;
  self->done = true;
  self->status = result->status;
  if (result->status != KF_OK) {
    self->error = *result->error;
    return;
  }
  const kf_verdict *verdict = result->verdict;
  forecast->verdict = verdict->kind;
  snprintf(forecast->why, sizeof forecast->why, "%s", verdict->diagnosis.text);
  forecast->total_ms = verdict->total_ms > 0 ? verdict->total_ms : 1;
  forecast->evals_per_minute = 60000.0 / (double)forecast->total_ms;
  fill_noise(forecast, verdict, self->driver->config.settings.measure_delta);
}

static void on_lost(void *context, const kf_err *error) {
  dry *self = context;
  if (self->done) return;
  self->done = true;
  self->status = error->code;
  self->error = *error;
}

/* The last seed: what a search races against is sooner like it than like the naive kernel. */
static const kf_task_file *choose_kernel(const kf_task *task, kf_language language) {
  int count = task->nseeds[language];
  return count > 0 ? task->seeds[language][count - 1] : task->kernel[language];
}

static void describe_proposers(const kf__driver *driver, kf_run_forecast *forecast) {
  forecast->nproposers = driver->nproposers;
  for (int i = 0; i < driver->nproposers; i++) {
    snprintf(forecast->proposers[i], sizeof forecast->proposers[i], "%s", driver->specs[i]);
    snprintf(forecast->discloses[i], sizeof forecast->discloses[i], "%s",
             kf_proposer_discloses(driver->proposers[i]));
  }
}

static kf_status judge(dry *self, kf_err *err) {
  kf__driver *driver = self->driver;
  const kf_task_file *file = choose_kernel(driver->task, driver->config.language);
  if (!file) return kf_fail(err, KF_EREFUSED, "%s has no kernel to judge", driver->task->name);
  snprintf(self->forecast->kernel, sizeof self->forecast->kernel, "%s", file->path);
  kf_eval_source source = {.source = file->bytes, .source_len = file->len, .binding = ""};
  kf_eval_request request = {.id = 1,
                             .task = driver->task,
                             .device = driver->device.id,
                             .candidate = source,
                             .against = &source,
                             .stage = 2};
  KF_TRY(kf_evaluator_submit(driver->evaluator, &request, err));
  while (!self->done)
    uv_run(&driver->loop, UV_RUN_ONCE);
  if (self->status != KF_OK && err) *err = self->error;
  return self->status;
}

static kf_status forecast(dry *self, kf_err *err) {
  kf__driver *driver = self->driver;
  const kf_eval_callbacks callbacks = {on_result, NULL, on_lost, self};
  KF_TRY(kf_task_load(driver->options.task_path, &driver->task, err));
  KF_TRY(driver->options.null_evaluator
             ? kf_evaluator_open_null(&driver->loop, &callbacks, &driver->evaluator, err)
             : kf_evaluator_open_local(&driver->loop, &driver->config.settings, &callbacks,
                                       &driver->evaluator, err));
  KF_TRY(kf__driver_choose_device(driver, driver->options.device, driver->options.language, err));
  KF_TRY(kf__driver_open_proposers(driver, err));
  describe_proposers(driver, self->forecast);
  snprintf(self->forecast->device, sizeof self->forecast->device, "%s", driver->device.id);
  snprintf(self->forecast->device_name, sizeof self->forecast->device_name, "%s", driver->device.name);
  snprintf(self->forecast->language, sizeof self->forecast->language, "%s",
           kf_language_name(driver->config.language));
  return judge(self, err);
}

kf_status kf_run_dry(const kf_run_options *options, kf_run_forecast *ret_forecast, kf_err *err) {
  kf__driver *driver = kf_calloc(1, sizeof *driver);
  kf_run_forecast *made = kf_calloc(1, sizeof *made);
  if (!driver || !made) {
    kf_free(driver);
    kf_free(made);
    return kf_nomem(err);
  }
  dry self = {.driver = driver, .forecast = made};
  kf_status status = kf__driver_init(driver, options, err);
  if (status == KF_OK) status = forecast(&self, err);
  self.done = true;
  kf__driver_done(driver);
  if (status == KF_OK) *ret_forecast = *made;
  kf_free(made);
  kf_free(driver);
  return status;
}
