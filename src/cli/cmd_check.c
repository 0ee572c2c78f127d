/* cmd_check.c - `kf check TASK`: is the task sound, and how small a gain can be seen on this device?
 *
 * In order: the package loads; the initial kernel agrees with the reference on every case; every seed has a
 * valid launch plan and is right; the fastest of them races itself, which shows the noise of the machine. */
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "report/row.h"
#include "report/verdict_text.h"
#include "task/plan.h"
#include <math.h>
#include <string.h>

#include "base/banned.h"

typedef struct {
  const char *task;
  bool no_noise;
} check_args;

static const char *const usages[] = {"TASK", NULL};
static const kf_positional positionals[] = {
    {.name = "TASK", .offset = offsetof(check_args, task), .help = "task folder, or its task.yaml"},
    {.name = NULL},
};
static const kf_option options[] = {
    {.name = "no-noise",
     .type = KF_OPT_FLAG,
     .offset = offsetof(check_args, no_noise),
     .help = "leave out the race of the fastest kernel against itself"},
    {.name = NULL},
};
static const char *const examples[] = {"kf check tasks/matmul", NULL};
const kf_syntax kf_cmd_check_syntax = {
    .usages = usages,
    .about =
        "Loads the task, judges its initial kernel against the reference on every case, judges every seed, "
        "and races the\n"
        "fastest of them against itself: the spread of that race is the smallest gain that can be seen here.",
    .exits = "0 the task is sound, 1 a kernel of it is not correct, 3 task refused",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_DEVICE,
    .args_size = sizeof(check_args),
};

typedef struct {
  kf_cli *cli;
  const kf_task *task;
  kf_language language;
  kf_judge *judge;
  const kf_device_info *device;
  const kf_task_file *fastest; /* the anchor a run would begin with */
  int64_t fastest_ns;
  bool sound;
} check;

/* A directive that does not parse is a fault of the task here, and its place is known without any device. */
static kf_status check_plan(const check *c, const kf_task_file *file, kf_err *err) {
  kf_plan *plan = NULL;
  KF_TRY(kf_plan_parse(c->task, file->bytes, file->len, file->path, &plan, err));
  kf_plan_free(plan);
  return KF_OK;
}

static kf_status print_kernel(const check *c, const char *kind, const kf_task_file *file,
                              const kf_verdict *verdict, kf_err *err) {
  if (c->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_verdict_to_json(verdict, &object, err));
    kf_row row;
    kf_row_begin_with(&row, object);
    kf_row_text(&row, "task", c->task->name);
    kf_row_text(&row, "candidate", file->path);
    kf_row_text(&row, "check", kind);
    return kf_out_json(kf_row_take(&row), err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "%s %s: ", kind, file->path));
  KF_TRY(kf_verdict_line(verdict, &buf, err));
  KF_TRY(kf_buf_puts(&buf, "\n", err));
  if (verdict->kind != KF_VERDICT_CORRECT) KF_TRY(kf_verdict_details(verdict, &buf, err));
  if (strcmp(kind, "kernel") == 0) KF_TRY(kf_verdict_cases(verdict, &buf, err));
  return kf_out_buf(&buf, err);
}

static kf_status judge_kernel(check *c, const char *kind, const kf_task_file *file, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  kf_eval_request request = {
      .task = c->task,
      .device = c->device->id,
      .candidate = {.source = file->bytes, .source_len = file->len, .binding = ""},
      .stage = 2,
  };
  kf_status status = kf_judge_ask(c->judge, &request, verdict, err);
  if (status == KF_EREFUSED) return status; /* the task's fault, and its place is in the message */
  if (status != KF_OK) return kf_err_context(err, status, "%s", file->path);
  if (verdict->kind != KF_VERDICT_CORRECT) c->sound = false;
  if (strcmp(kind, "kernel") == 0 && strcmp(verdict->oracle, "kernel") == 0)
    kf_note("note: the kernel is its own reference: a mistake in it stays unseen, and so does a loss of "
            "precision");
  bool timed = verdict->kind == KF_VERDICT_CORRECT && verdict->time_ns > 0;
  if (timed && (c->fastest == NULL || verdict->time_ns < c->fastest_ns)) {
    c->fastest = file;
    c->fastest_ns = verdict->time_ns;
  }
  return print_kernel(c, kind, file, verdict, err);
}

/* ---- the noise floor ---- */

enum { NOISE_BLOCKS = 12, BLOCKS_OF_A_FULL_RACE = 48 };

/* Smallest gain that a full race shows, from a race of a kernel against itself: the half-width of its
 * interval is about 0.8 standard deviations of one block at 12 blocks (ranks 3 and 10: the normal scores of
 * (3 - 3/8) / (12 + 1/4) are
 * +-0.79), and a full race sees about half a standard deviation (docs/internals/evaluator.md, T13). */
static double detectable_gain(const kf_race_result *race) {
  double half = (double)(race->high_nano - race->low_nano) * 0.5e-9;
  return expm1(0.5 * half / 0.79);
}

static kf_status print_noise(const check *c, const kf_verdict *verdict, kf_err *err) {
  double gain = detectable_gain(&verdict->race), delta = c->cli->settings.measure_delta;
  double smallest = gain > delta ? gain : delta;
  if (c->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:s, s:s, s:f, s:f, s:i}", "task", c->task->name, "candidate",
                        c->fastest->path, "check", "noise", "detectable_gain", smallest, "noise_gain", gain,
                        "blocks", verdict->race.blocks));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "noise: %s against itself is ", c->fastest->path));
  KF_TRY(kf_interval_text(verdict->race.median_nano, verdict->race.low_nano, verdict->race.high_nano,
                          verdict->race.level, &buf, err));
  KF_TRY(kf_buf_printf(&buf, err,
                       ", %d blocks\nsmallest gain that a full race of %d blocks shows: %.1f %%%s\n",
                       verdict->race.blocks, BLOCKS_OF_A_FULL_RACE, smallest * 100,
                       gain > delta ? "" : " (the least that counts, setting measure.delta)"));
  return kf_out_buf(&buf, err);
}

static kf_status measure_noise(check *c, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  kf_eval_source self = {.source = c->fastest->bytes, .source_len = c->fastest->len, .binding = ""};
  kf_eval_request request = {
      .task = c->task,
      .device = c->device->id,
      .candidate = self,
      .against = &self,
      .stage = 2,
      .verified = true,
      .blocks_min = NOISE_BLOCKS,
      .blocks_max = NOISE_BLOCKS,
  };
  KF_TRY(kf_judge_ask(c->judge, &request, verdict, err));
  if (verdict->race.outcome == KF_RACE_NONE) {
    c->sound = false;
    return print_kernel(c, "noise", c->fastest, verdict, err);
  }
  return print_noise(c, verdict, err);
}

static kf_status check_kernels(check *c, const check_args *args, kf_err *err) {
  const kf_task *task = c->task;
  if (task->kernel[c->language] != NULL) KF_TRY(check_plan(c, task->kernel[c->language], err));
  for (int i = 0; i < task->nseeds[c->language]; i++)
    KF_TRY(check_plan(c, task->seeds[c->language][i], err));
  KF_TRY(kf_judge_device(c->judge, c->cli->common.device, c->task, NULL, &c->device, err));
  c->language = kf_device_language(c->device);
  if (task->kernel[c->language] != NULL)
    KF_TRY(judge_kernel(c, "kernel", task->kernel[c->language], err));
  else
    kf_note("note: the task has no initial kernel, so the reference is compared with the seeds only");
  for (int i = 0; i < task->nseeds[c->language]; i++)
    KF_TRY(judge_kernel(c, "seed", task->seeds[c->language][i], err));
  if (c->fastest == NULL || args->no_noise) return KF_OK;
  return measure_noise(c, err);
}

static kf_status print_end(const check *c, kf_err *err) {
  if (c->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:s, s:b}", "task", c->task->name, "check", "task", "sound",
                        c->sound));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, 1024);
  KF_TRY(kf_buf_printf(&buf, err, "task %s: %s\n", c->task->name, c->sound ? "sound" : "not sound"));
  return kf_out_buf(&buf, err);
}

kf_status kf_cmd_check(kf_cli *cli, const void *args_, kf_err *err) {
  const check_args *args = args_;
  KF_CLEANUP(kf_input_task_free) kf_task *task = NULL;
  KF_TRY(kf_input_task(args->task, &task, err));
  check c = {.cli = cli, .task = task, .sound = true};
  KF_TRY(kf_input_judged(task, err));
  KF_TRY(kf_judge_open(&cli->settings, &c.judge, err));
  kf_status status = check_kernels(&c, args, err);
  kf_judge_free(c.judge);
  KF_TRY(status);
  cli->exit_code = c.sound ? 0 : 1;
  return print_end(&c, err);
}
