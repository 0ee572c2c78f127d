/* driver.c - a run from its first event to its last: opening, the loop, signals, the end; see run.h. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "run/driver_int.h"
#include <ctype.h>
#include <signal.h>
#include <unistd.h>

#include "base/banned.h"

enum { TICK_MS = 1000 };

int64_t kf__driver_now_ms(const kf__driver *driver) {
  return driver->clock_base_ms + (kf_now_ms() - driver->clock_start_ms);
}

void kf__driver_fail(kf__driver *driver, kf_status status, const kf_err *error) {
  if (driver->status != KF_OK) return;
  driver->status = status;
  if (driver->err) *driver->err = *error;
}

/* ---- what is shown ---- */

/* Until the nearest budget, at the pace since this session's first few verdicts; -1: cannot be told yet. */
static int64_t time_left(kf__driver *driver, const kf_engine_stats *stats, int64_t elapsed_ms) {
  enum { PACE_EVALS = 3 };
  int64_t left = -1, evals_max = driver->config.evals_max, time_max_ms = driver->config.time_max_ms;
  if (driver->pace_from_ms == 0 && stats->evaluated > 0) {
    driver->pace_from_ms = elapsed_ms;
    driver->pace_from_evals = stats->evaluated;
  }
  int64_t paced = stats->evaluated - driver->pace_from_evals;
  if (evals_max > 0 && driver->pace_from_ms > 0 && paced >= PACE_EVALS) {
    int64_t missing = evals_max > stats->evaluated ? evals_max - stats->evaluated : 0;
    left = (elapsed_ms - driver->pace_from_ms) * missing / paced;
  }
  if (time_max_ms > 0) {
    int64_t until = time_max_ms > elapsed_ms ? time_max_ms - elapsed_ms : 0;
    if (left < 0 || until < left) left = until;
  }
  return left;
}

void kf__driver_show(kf__driver *driver, const char *notice) {
  if (!driver->options.on_view || !driver->engine) return;
  kf_run_view view = {
      .run_id = driver->run_id,
      .evals_max = driver->config.evals_max,
      .time_max_ms = driver->config.time_max_ms,
      .elapsed_ms = kf__driver_now_ms(driver),
      .cells = kf_archive_count(kf_engine_archive(driver->engine)),
      .activity = driver->activity,
      .draining = driver->stopping,
      .evaluator_pid = driver->evaluator ? kf_evaluator_pid(driver->evaluator) : 0,
      .notice = notice,
  };
  kf_engine_get_stats(driver->engine, &view.stats);
  view.time_left_ms = time_left(driver, &view.stats, view.elapsed_ms);
  driver->options.on_view(driver->options.context, &view);
}

/* ---- opening ---- */

kf_status kf__driver_open_evaluator(kf__driver *driver, kf_err *err) {
  kf_eval_callbacks callbacks = kf__driver_eval_callbacks;
  callbacks.context = driver;
  if (driver->options.null_evaluator)
    return kf_evaluator_open_null(&driver->loop, &callbacks, &driver->evaluator, err);
  return kf_evaluator_open_local(&driver->loop, &driver->config.settings, &callbacks, &driver->evaluator,
                                 err);
}

static bool runs_language(const kf_device_info *device, const kf_task *task, const char *language,
                          kf_language *ret_language) {
  kf_language wanted;
  if (!kf_language_parse(device->api, &wanted) || !kf_task_has_language(task, wanted)) return false;
  if (language && strcmp(language, kf_language_name(wanted)) != 0) return false;
  *ret_language = wanted;
  return true;
}

/* `unjudged`: a device that would run the task, were it judged on; NULL: none. */
static kf_status no_device(const kf__driver *driver, const char *wanted, const char *unjudged, int count,
                           kf_err *err) {
  const char *note = kf_evaluator_hello_text(driver->evaluator, "note");
  if (count == 0)
    kf_fail(err, KF_ENODEV, "no device was found%s%.300s", note[0] ? ": " : "", note);
  else if (unjudged)
    kf_fail(err, KF_ENODEV, "device %.60s: this version judges on CPU devices only", unjudged);
  else if (wanted)
    kf_fail(err, KF_ENODEV, "there is no device %.60s that runs task %.100s", wanted, driver->task->name);
  else
    kf_fail(err, KF_ENODEV, "no device here runs a language of task %.100s", driver->task->name);
  return kf_err_hint(err, KF_ENODEV, "`kf doctor` lists devices and what is missing");
}

kf_status kf__driver_choose_device(kf__driver *driver, const char *wanted, const char *language,
                                   kf_err *err) {
  int count = 0;
  const kf_device_info *devices = kf_evaluator_devices(driver->evaluator, &count);
  const char *unjudged = NULL;
  for (int i = 0; i < count; i++) {
    if (wanted && strcmp(devices[i].id, wanted) != 0) continue;
    if (!runs_language(&devices[i], driver->task, language, &driver->config.language)) continue;
    if (!kf_device_is_judged_on(&devices[i])) {
      unjudged = devices[i].id;
      continue;
    }
    driver->device = devices[i];
    return KF_OK;
  }
  return no_device(driver, wanted, unjudged, count, err);
}

static kf_status copy_specs(kf__driver *driver, kf_err *err) {
  static const char *const builtin_only[] = {"builtin"};
  const char *const *specs = driver->options.proposers;
  int count = driver->options.nproposers;
  if (count == 0 && !driver->options.resume) {
    specs = builtin_only;
    count = 1;
  }
  if (count > KF_RUN_PROPOSERS_MAX)
    return kf_fail(err, KF_EINVAL, "more than %d proposers", (int)KF_RUN_PROPOSERS_MAX);
  for (int i = 0; i < count; i++) {
    driver->specs[i] = kf_strdup(specs[i]);
    if (!driver->specs[i]) return kf_nomem(err);
    driver->nproposers++;
  }
  return KF_OK;
}

kf_status kf__driver_open_proposers(kf__driver *driver, kf_err *err) {
  for (int i = 0; i < driver->nproposers; i++)
    KF_TRY(kf_proposer_open(driver->specs[i], &driver->config.settings, &driver->loop, kf__driver_on_answer,
                            driver, &driver->proposers[i], err));
  if (driver->nproposers == 0) return kf_fail(err, KF_EPROTO, "the run names no proposer");
  return KF_OK;
}

kf_status kf__driver_init(kf__driver *driver, const kf_run_options *options, kf_err *err) {
  *driver = (kf__driver){.options = *options, .err = err};
  kf_buf_init(&driver->scratch, KF_DRIVER_BODY_MAX);
  kf_settings_init(&driver->config.settings);
  if (options->settings) driver->config.settings = *options->settings;
  driver->clock_start_ms = kf_now_ms();
  signal(SIGPIPE, SIG_IGN); /* a reader that is gone is a failed write */
  int failed = uv_loop_init(&driver->loop);
  if (failed != 0) return kf_fail(err, KF_EIO, "event loop: %s", uv_strerror(failed));
  driver->loop_open = true;
  return copy_specs(driver, err);
}

/* ---- the end ---- */

static void close_handles(kf__driver *driver) {
  uv_handle_t *const handles[] = {(uv_handle_t *)&driver->tick, (uv_handle_t *)&driver->budget,
                                  (uv_handle_t *)&driver->sigint, (uv_handle_t *)&driver->sigterm};
  for (size_t i = 0; i < KF_COUNTOF(handles); i++)
    if (handles[i]->data) uv_close(handles[i], NULL);
}

void kf__driver_done(kf__driver *driver) {
  /* From here on results and answers are cancellations, which change nothing. */
  if (driver->status == KF_OK) driver->stopping = true;
  for (int i = 0; i < KF_RUN_PROPOSERS_MAX; i++) {
    kf_proposer_close(driver->proposers[i]);
    driver->proposers[i] = NULL;
  }
  kf_evaluator_close(driver->evaluator);
  driver->evaluator = NULL;
  if (driver->loop_open) {
    close_handles(driver);
    uv_run(&driver->loop, UV_RUN_DEFAULT);
    uv_loop_close(&driver->loop);
  }
  kf_engine_free(driver->engine);
  kf_plan_cache_done(&driver->plans);
  kf__sources_done(driver);
  kf_store_close(driver->store);
  kf_task_free(driver->task);
  for (int i = 0; i < KF_RUN_PROPOSERS_MAX; i++)
    kf_free(driver->specs[i]);
  kf_vec_done(&driver->effects);
  kf_vec_done(&driver->asks);
  kf_vec_done(&driver->requests);
  kf_buf_done(&driver->scratch);
}

/* ---- timers and signals ---- */

static void on_tick(uv_timer_t *timer) {
  kf__driver_show(timer->data, NULL);
}

static void start_budget(kf__driver *driver);

static void on_budget(uv_timer_t *timer) {
  kf__driver *driver = timer->data;
  if (driver->stopping || driver->status != KF_OK) return;
  if (kf__driver_now_ms(driver) < driver->config.time_max_ms) {
    start_budget(driver); /* the loop counts by a clock of its own */
    return;
  }
  kf__driver_input(driver, KF_EVENT_CLOCK, 0, NULL);
  kf__driver_expire_asks(driver);
  kf__driver_pump(driver);
}

static void start_budget(kf__driver *driver) {
  int64_t left = driver->config.time_max_ms - kf__driver_now_ms(driver);
  uv_update_time(&driver->loop); /* opening took a while */
  uv_timer_start(&driver->budget, on_budget, (uint64_t)(left > 0 ? left : 0) + 1, 0);
}

static void on_signal(uv_signal_t *handle, int number) {
  kf__driver *driver = handle->data;
  (void)number;
  if (driver->stopping) {
    driver->stop_now = true;
    return;
  }
  driver->stopping = true;
  kf__driver_input(driver, KF_EVENT_STOP, 0, NULL);
}

static void start_handles(kf__driver *driver) {
  uv_timer_init(&driver->loop, &driver->tick);
  uv_timer_init(&driver->loop, &driver->budget);
  uv_signal_init(&driver->loop, &driver->sigint);
  uv_signal_init(&driver->loop, &driver->sigterm);
  driver->tick.data = driver->budget.data = driver->sigint.data = driver->sigterm.data = driver;
  uv_signal_start(&driver->sigint, on_signal, SIGINT);
  uv_signal_start(&driver->sigterm, on_signal, SIGTERM);
  if (driver->options.on_view) uv_timer_start(&driver->tick, on_tick, TICK_MS, TICK_MS);
  if (driver->config.time_max_ms > 0) start_budget(driver);
}

/* ---- beginning ---- */

/* "matmul-20261130-141530-3f2a" */
static void make_run_id(kf__driver *driver) {
  char utc[KF_UTC_TEXT], name[KF_RUN_ID_CHARS - 20]; /* and "-20261130-141530-3f2a" */
  unsigned char lot[2];
  size_t len = 0;
  kf_utc_text(kf_wall_ms(), utc);
  kf_random_bytes(lot, sizeof lot);
  for (const char *at = driver->task->name; *at && len < sizeof name - 1; at++)
    name[len++] = (char)(isalnum((unsigned char)*at) ? *at : '_');
  name[len] = '\0';
  snprintf(driver->run_id, sizeof driver->run_id, "%s-%.4s%.2s%.2s-%.2s%.2s%.2s-%02x%02x", name, utc, utc + 5,
           utc + 8, utc + 11, utc + 14, utc + 17, lot[0], lot[1]);
}

static kf_status default_db_path(kf__driver *driver, kf_err *err) {
  char name[KF_RUN_ID_MAX + 8];
  if (driver->options.db_path) {
    snprintf(driver->db_path, sizeof driver->db_path, "%s", driver->options.db_path);
    return KF_OK;
  }
  snprintf(name, sizeof name, "%s.db", driver->run_id);
  return kf_fs_join(driver->db_path, driver->options.runs_dir ? driver->options.runs_dir : ".kf/runs", name,
                    err);
}

static void fill_config(kf__driver *driver) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  kf_engine_config *config = &driver->config;
  config->task = driver->task;
  config->seed = driver->options.seed;
  config->evals_max = driver->options.evals_max;
  config->time_max_ms = driver->options.time_max_ms;
  config->in_flight = (int)config->settings.search_in_flight;
  if (config->in_flight < 1) config->in_flight = (int)(cores > 0 ? cores : 1) + 2;
  for (int i = 0; i < driver->nproposers; i++)
    if (kf_proposer_writes_code(driver->proposers[i])) config->text_proposer = true;
}

static kf_status write_start(kf__driver *driver, json_t **ret_body, kf_err *err) {
  char created[KF_UTC_TEXT];
  kf_utc_text(kf_wall_ms(), created);
  KF_TRY(kf_store_meta_set(driver->store, "run_id", driver->run_id, err));
  KF_TRY(kf_store_meta_set(driver->store, "created", created, err));
  KF_TRY(kf_store_meta_set(driver->store, "task", driver->task->name, err));
  return kf__record_start(driver, ret_body, err);
}

static kf_status begin_new(kf__driver *driver, kf_err *err) {
  json_t *body = NULL;
  KF_TRY(kf_task_load(driver->options.task_path, &driver->task, err));
  KF_TRY(kf__driver_open_evaluator(driver, err));
  KF_TRY(kf__driver_choose_device(driver, driver->options.device, driver->options.language, err));
  KF_TRY(kf__driver_open_proposers(driver, err));
  fill_config(driver);
  KF_TRY(kf_engine_new(&driver->config, &driver->engine, err));
  make_run_id(driver);
  KF_TRY(default_db_path(driver, err));
  KF_TRY(kf_store_open(driver->db_path, KF_STORE_CREATE, &driver->store, err));
  driver->clock_start_ms = kf_now_ms();
  KF_TRY(kf_store_begin(driver->store, err));
  kf_status status = write_start(driver, &body, err);
  if (status != KF_OK) {
    kf_store_rollback(driver->store);
    return status;
  }
  return kf__driver_input_joined(driver, KF_EVENT_START, 0, body, err);
}

static kf_status begin_resumed(kf__driver *driver, kf_err *err) {
  const kf_run_options *options = &driver->options;
  kf_device_info before;
  snprintf(driver->db_path, sizeof driver->db_path, "%s", options->resume);
  KF_TRY(kf_store_open(driver->db_path, KF_STORE_WRITE, &driver->store, err));
  KF_TRY(kf__record_read(driver, err));
  KF_TRY(kf_engine_new(&driver->config, &driver->engine, err));
  KF_TRY(kf__record_fold(driver, err));
  kf_engine_stats stats;
  kf_engine_get_stats(driver->engine, &stats);
  driver->clock_base_ms = stats.elapsed_ms;
  before = driver->device;
  KF_TRY(kf__driver_open_evaluator(driver, err));
  KF_TRY(kf__driver_choose_device(driver, options->device ? options->device : before.id,
                                  kf_language_name(driver->config.language), err));
  KF_TRY(kf__driver_open_proposers(driver, err));
  driver->other_device =
      strcmp(before.name, driver->device.name) != 0 || strcmp(before.driver, driver->device.driver) != 0;
  if (driver->other_device)
    kf__driver_show(
        driver, "the device or its driver is another one than before: earlier results may no longer hold");
  return KF_OK;
}

/* Gives RESUME; then what was decided in earlier sessions and not completed is carried out again, before what
 * RESUME itself led to. */
static kf_status go_on(kf__driver *driver, kf_err *err) {
  const kf_run_options *options = &driver->options;
  int count = kf_engine_pending(driver->engine, NULL, 0);
  kf_pending *pending = kf_calloc((size_t)count + 1, sizeof *pending);
  json_t *body = json_object();
  kf_status status = pending && body ? KF_OK : kf_nomem(err);
  if (status == KF_OK) kf_engine_pending(driver->engine, pending, count);
  for (int i = 0; status == KF_OK && i < count; i++)
    if (kf_vec_push(&driver->effects, (kf__effect){pending[i].proposal, pending[i].request}) != KF_OK)
      status = kf_nomem(err);
  kf_free(pending);
  if (options->evals_max >= 0) {
    driver->config.evals_max = options->evals_max;
    if (json_object_set_new(body, "evals_max", json_integer(options->evals_max)) != 0) status = kf_nomem(err);
  }
  if (options->time_max_ms >= 0) {
    driver->config.time_max_ms = options->time_max_ms;
    if (json_object_set_new(body, "time_max_ms", json_integer(options->time_max_ms)) != 0)
      status = kf_nomem(err);
  }
  driver->clock_start_ms = kf_now_ms();
  if (status == KF_OK) status = kf_store_begin(driver->store, err);
  if (status != KF_OK) {
    json_decref(body);
    return status;
  }
  return kf__driver_input_joined(driver, KF_EVENT_RESUME, 0, body, err);
}

/* ---- the loop ---- */

static bool is_finished(const kf__driver *driver) {
  kf_engine_stats stats;
  kf_engine_get_stats(driver->engine, &stats);
  return stats.finished;
}

static bool is_over(kf__driver *driver) {
  if (driver->options.max_inputs > 0 && driver->inputs >= driver->options.max_inputs && !driver->stop_now)
    driver->stopping = driver->stop_now = true;
  if (driver->status != KF_OK || driver->stop_now || is_finished(driver)) return true;
  return driver->stopping && driver->requests.count == 0;
}

static bool is_stuck(const kf__driver *driver) {
  return driver->asks.count == 0 && driver->requests.count == 0 &&
         driver->effects_done == driver->effects.count && !driver->evaluator_lost;
}

static void loop(kf__driver *driver) {
  kf__driver_pump(driver);
  while (!is_over(driver)) {
    if (is_stuck(driver)) {
      kf_err error = {0};
      kf__driver_fail(driver, kf_fail(&error, KF_EBUG, "the search waits for nothing and is not finished"),
                      &error);
      return;
    }
    uv_run(&driver->loop, UV_RUN_ONCE);
    kf__driver_restart_evaluator(driver);
  }
}

static void fill_result(const kf__driver *driver, kf_run_result *result) {
  kf_candidate best;
  snprintf(result->run_id, sizeof result->run_id, "%s", driver->run_id);
  snprintf(result->db_path, sizeof result->db_path, "%s", driver->db_path);
  result->restarts = driver->restarts;
  if (!driver->engine) return;
  kf_engine_get_stats(driver->engine, &result->stats);
  result->finished = result->stats.finished;
  result->interrupted = !result->finished && driver->stopping;
  snprintf(result->reason, sizeof result->reason, "%s", result->stats.finish_reason);
  snprintf(result->outcome, sizeof result->outcome, "%s", result->stats.finish_outcome);
  result->stats.finish_reason = result->reason;
  result->stats.finish_outcome = result->outcome;
  result->stats.elapsed_ms = kf__driver_now_ms(driver);
  result->cells = kf_archive_count(kf_engine_archive(driver->engine));
  if (result->stats.champion == 0 || !kf_engine_candidate(driver->engine, result->stats.champion, &best))
    return;
  kf_hash_hex(&best.source, result->best_source);
  snprintf(result->best_binding, sizeof result->best_binding, "%s", best.binding);
}

kf_status kf_run(const kf_run_options *options, kf_run_result *ret_result, kf_err *err) {
  kf__driver *driver = kf_calloc(1, sizeof *driver);
  if (!driver) return kf_nomem(err);
  memset(ret_result, 0, sizeof *ret_result);
  ret_result->stats.best_nano = INT64_MIN;
  kf_status status = kf__driver_init(driver, options, err);
  if (status == KF_OK) status = options->resume ? begin_resumed(driver, err) : begin_new(driver, err);
  if (status == KF_OK && options->resume) status = go_on(driver, err);
  if (status == KF_OK) {
    start_handles(driver);
    kf__driver_show(driver, NULL);
    loop(driver);
    status = driver->status;
  } else {
    driver->status = status;
  }
  fill_result(driver, ret_result);
  kf__driver_done(driver);
  kf_free(driver);
  return status;
}
