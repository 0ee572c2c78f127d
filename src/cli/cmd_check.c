/* cmd_check.c - `kf check TASK`: is the task sound, and how small a gain can be seen on this device?
 *
 * In order: the package loads and its task file is reviewed; the initial kernel agrees with the reference on
 * every case; every seed has a valid launch plan and is right; the evaluator holds trivial answers, the
 * reference and the kernels against each other (`admit`); the fastest kernel is held against the floor of
 * each measure case, and races itself, which shows the noise of the machine. */
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "base/text.h"
#include "report/row.h"
#include "report/table.h"
#include "report/verdict_text.h"
#include "task/plan.h"
#include "task/review.h"
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
        "Judges the task itself: its initial kernel and every seed against the reference on every case, "
        "trivial "
        "answers\n"
        "against its comparison, its sizes and inputs, the least time its data takes to move, and the "
        "fastest "
        "kernel in a race\n"
        "against itself, whose spread is the smallest gain that can be seen here. Every doubt comes with the "
        "line of\n"
        "task.yaml that removes it.",
    .exits = "0 the task is sound, 1 a kernel of it is not correct, 3 task refused",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_DEVICE,
    .args_size = sizeof(check_args),
};

enum { NOISE_BLOCKS = 12, BLOCKS_OF_A_FULL_RACE = 48, LAUNCHES_OF_A_CALL = 3 };

/* Less than this may lie in caches, and no floor holds (docs/internals/evaluator.md, Ceilings and diagnosis).
 */
enum { CACHED_BYTES = 8 << 20 };

typedef struct {
  kf_cli *cli;
  const kf_task *task;
  kf_language language;
  kf_judge *judge;
  const kf_device_info *device;
  const kf_task_file *fastest; /* the anchor a run would begin with */
  int64_t fastest_ns;
  bool sound;
  int doubts;
  bool refused;
  kf_status status; /* of printing a finding */
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
  bool timed = verdict->kind == KF_VERDICT_CORRECT && verdict->time_ns > 0;
  if (timed && (c->fastest == NULL || verdict->time_ns < c->fastest_ns)) {
    c->fastest = file;
    c->fastest_ns = verdict->time_ns;
  }
  return print_kernel(c, kind, file, verdict, err);
}

/* ---- findings about the task ---- */

static kf_status print_finding(check *c, kf_admission_state state, const char *area, const char *text,
                               const char *fix, kf_err *err) {
  c->doubts += state == KF_ADMISSION_DOUBTFUL;
  c->refused = c->refused || state == KF_ADMISSION_REFUSED;
  if (c->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:s, s:s, s:s, s:o, s:o}", "task", c->task->name, "check",
                        "admission", "state", kf_admission_state_name(state), "area", area, "text",
                        kf_json_text(text, strlen(text) + 1), "fix", kf_json_text(fix, strlen(fix) + 1)));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "%-8s  %s: %s\n", kf_admission_state_name(state), area, text));
  for (const char *at = fix; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
    KF_TRY(kf_buf_printf(&buf, err, "%-10s%s%.*s\n", "", at == fix ? "write  " : "       ",
                         (int)strcspn(at, "\n"), at));
  return kf_out_buf(&buf, err);
}

static void on_review(void *context, bool doubtful, const char *area, const char *text, const char *fix) {
  check *c = context;
  if (c->status == KF_OK)
    c->status = print_finding(c, doubtful ? KF_ADMISSION_DOUBTFUL : KF_ADMISSION_OK, area, text, fix, NULL);
}

static kf_status review_task(check *c, kf_err *err) {
  c->status = KF_OK;
  KF_TRY(kf_task_review(c->task, c->language, on_review, c, err));
  return c->status == KF_OK ? KF_OK : kf_fail(err, c->status, "cannot write the findings");
}

/* The floor of a measure case beside the fastest kernel's time; several cases have one time, their mean. */
static kf_status print_floors(check *c, const kf_admission *admission, kf_err *err) {
  double floors = 0;
  char floor_text[KF_FIGURE_TEXT], time_text[KF_FIGURE_TEXT], text[400];
  if (admission->read_gbs <= 0 || admission->nfloors == 0) return KF_OK;
  int64_t bytes = 0;
  for (int i = 0; i < admission->nfloors; i++) {
    floors += log(fmax((double)admission->floors[i].floor_ns, 1));
    bytes += admission->floors[i].bytes_in;
  }
  int64_t floor_ns = (int64_t)exp(floors / admission->nfloors);
  snprintf(
      text, sizeof text,
      "%s to move what must be moved (read %.3g, write %.3g, copy %.3g GB/s, %.3g GFLOP/s, %.3g us a launch)",
      kf_figure_ns(floor_ns, floor_text), admission->read_gbs, admission->write_gbs, admission->copy_gbs,
      admission->gflops, (double)admission->launch_ns * 1e-3);
  KF_TRY(print_finding(c, KF_ADMISSION_OK, "floor", text, "", err));
  if (c->fastest == NULL) return KF_OK;
  kf_figure_ns(c->fastest_ns, time_text);
  if (c->fastest_ns < floor_ns && bytes > CACHED_BYTES) {
    snprintf(text, sizeof text,
             "%.100s takes %s, less than that: inputs it need not read, or a cache that holds them",
             c->fastest->path, time_text);
    return print_finding(c, KF_ADMISSION_DOUBTFUL, "floor", text, "", err);
  }
  if (c->fastest_ns < LAUNCHES_OF_A_CALL * admission->launch_ns) {
    snprintf(text, sizeof text,
             "%.100s takes %s, mostly the launch itself: larger measure cases would show the kernel",
             c->fastest->path, time_text);
    return print_finding(c, KF_ADMISSION_DOUBTFUL, "measure cases", text, "", err);
  }
  return KF_OK;
}

static kf_status admit_task(check *c, kf_err *err) {
  KF_CLEANUP(kf_freep) kf_admission *admission = kf_calloc(1, sizeof *admission);
  if (admission == NULL) return kf_nomem(err);
  KF_TRY(kf_judge_admit(c->judge, c->task, c->device->id, admission, err));
  for (int i = 0; i < admission->nlines; i++) {
    kf_admission_line *line = &admission->lines[i];
    kf_text_clean(line->text, strlen(line->text));
    KF_TRY(print_finding(c, line->state, line->area, line->text, line->fix, err));
  }
  return print_floors(c, admission, err);
}

/* ---- the noise floor ---- */

/* Standard deviation of one block of a race of a kernel against itself: the half-width of its interval is
 * about 0.8 of it at 12 blocks (ranks 3 and 10: the normal scores of (3 - 3/8) / (12 + 1/4) are +-0.79). */
static double block_sigma(const kf_race_result *race) {
  return ((double)race->high_nano - (double)race->low_nano) * 0.5e-9 / 0.79;
}

/* On a busy machine so many blocks may have been dropped that the interval has no bounds. */
static kf_status print_no_noise(const check *c, const kf_race_result *race, kf_err *err) {
  if (c->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:s, s:s, s:i, s:i, s:s}", "task", c->task->name, "candidate",
                        c->fastest->path, "check", "noise", "blocks", race->blocks, "dropped", race->dropped,
                        "why", race->why));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "noise: not known, the machine is too busy: %d blocks used, %d dropped\n",
                       race->blocks, race->dropped));
  return kf_out_buf(&buf, err);
}

/* The gain that a race of so many blocks sees four times of five (docs/internals/evaluator.md, T13). */
static double detectable(double sigma, int blocks, double delta) {
  double gain = expm1(2.8 * 1.253 * sigma / sqrt(blocks));
  return gain > delta ? gain : delta;
}

static kf_status print_noise(const check *c, const kf_verdict *verdict, kf_err *err) {
  if (verdict->race.low_nano == INT64_MIN || verdict->race.high_nano == INT64_MAX)
    return print_no_noise(c, &verdict->race, err);
  double sigma = block_sigma(&verdict->race), delta = c->cli->settings.measure_delta;
  double few = detectable(sigma, NOISE_BLOCKS, delta);
  double full = detectable(sigma, BLOCKS_OF_A_FULL_RACE, delta);
  if (c->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:s, s:s, s:f, s:f, s:f, s:i}", "task", c->task->name,
                        "candidate", c->fastest->path, "check", "noise", "detectable_gain", full,
                        "detectable_gain_12", few, "sigma", sigma, "blocks", verdict->race.blocks));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "noise: %s against itself is ", c->fastest->path));
  KF_TRY(kf_interval_text(verdict->race.median_nano, verdict->race.low_nano, verdict->race.high_nano,
                          verdict->race.level, &buf, err));
  KF_TRY(kf_buf_printf(
      &buf, err,
      ", %d blocks, %.1f %% from block to block\n"
      "smallest gain that a full race of %d blocks shows: %.1f %%%s; one of %d blocks: %.1f %%\n",
      verdict->race.blocks, sigma * 100, BLOCKS_OF_A_FULL_RACE, full * 100,
      full > delta ? "" : " (the least that counts, setting measure.delta)", NOISE_BLOCKS, few * 100));
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
  if (task->kernel[c->language] != NULL) KF_TRY(judge_kernel(c, "kernel", task->kernel[c->language], err));
  for (int i = 0; i < task->nseeds[c->language]; i++)
    KF_TRY(judge_kernel(c, "seed", task->seeds[c->language][i], err));
  KF_TRY(review_task(c, err));
  KF_TRY(admit_task(c, err));
  if (c->fastest == NULL || args->no_noise || c->refused) return KF_OK;
  return measure_noise(c, err);
}

static kf_status print_end(const check *c, kf_err *err) {
  const char *end = c->refused ? "refused" : c->sound ? "sound" : "not sound";
  if (c->cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:s, s:b, s:b, s:i}", "task", c->task->name, "check", "task",
                        "sound", c->sound && !c->refused, "refused", c->refused, "doubts", c->doubts));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, 1024);
  KF_TRY(kf_buf_printf(&buf, err, "task %s: %s", c->task->name, end));
  if (c->doubts > 0) KF_TRY(kf_buf_printf(&buf, err, ", %d doubt%s", c->doubts, c->doubts == 1 ? "" : "s"));
  KF_TRY(kf_buf_puts(&buf, "\n", err));
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
  cli->exit_code = c.refused ? 3 : c.sound ? 0 : 1;
  return print_end(&c, err);
}
