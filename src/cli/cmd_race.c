/* cmd_race.c - `kf race TASK A B`: is B faster than A and right? A regression gate for scripts. */
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "report/row.h"
#include "report/verdict_text.h"
#include <string.h>

#include "base/banned.h"

typedef struct {
  kf_texts words;
  const char *task, *binding_a, *binding_b;
} race_args;

static const char *const usages[] = {"TASK A B", "A B --task TASK", NULL};
static const kf_positional positionals[] = {
    {.name = "TASK A B",
     .offset = offsetof(race_args, words),
     .repeated = true,
     .help = "task folder, the kernel to beat, the kernel that should be faster"},
    {.name = NULL},
};
static const kf_option options[] = {
    {.name = "task",
     .type = KF_OPT_TEXT,
     .offset = offsetof(race_args, task),
     .value = "TASK",
     .help = "the task, when only two files are named"},
    {.name = "binding-a",
     .type = KF_OPT_TEXT,
     .offset = offsetof(race_args, binding_a),
     .value = "NAME=V,..",
     .help = "values of A's parameters"},
    {.name = "binding-b",
     .type = KF_OPT_TEXT,
     .offset = offsetof(race_args, binding_b),
     .value = "NAME=V,..",
     .help = "values of B's parameters"},
    {.name = NULL},
};
static const char *const examples[] = {"kf race tasks/matmul old.cl new.cl", NULL};
const kf_syntax kf_cmd_race_syntax = {
    .usages = usages,
    .about = "Tries A, verifies B, then times A and B in turns until one is shown to be faster or the race "
             "is a tie. "
             "The interval is\n"
             "that of the ratio time(A) / time(B).",
    .exits = "0 B is right and faster, 1 it is not",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .common = KF_COMMON_DEVICE,
    .args_size = sizeof(race_args),
};

typedef struct {
  const char *task, *a, *b;
} contest;

static kf_status read_contest(const race_args *args, contest *ret_contest, kf_err *err) {
  size_t want = args->task != NULL ? 2 : 3;
  if (args->words.count != want)
    return kf_err_hint(err,
                       kf_fail(err, KF_EINVAL, "race: %zu arguments: %s expected", args->words.count,
                               args->task != NULL ? "A B" : "TASK A B"),
                       "`kf race --help` shows its use");
  const char *const *words = args->words.items;
  *ret_contest = args->task != NULL ? (contest){args->task, words[0], words[1]}
                                    : (contest){words[0], words[1], words[2]};
  return KF_OK;
}

static bool is_faster(const kf_verdict *verdict) {
  return verdict->kind == KF_VERDICT_CORRECT && verdict->race.outcome == KF_RACE_FASTER;
}

static kf_status print_result(const kf_cli *cli, const kf_task *task, const contest *c,
                              const kf_verdict *verdict, kf_err *err) {
  if (cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_verdict_to_json(verdict, &object, err));
    kf_row row;
    kf_row_begin_with(&row, object);
    kf_row_text(&row, "task", task->name);
    kf_row_text(&row, "candidate", c->b);
    kf_row_text(&row, "against", c->a);
    kf_row_bool(&row, "faster", is_faster(verdict));
    return kf_out_json(kf_row_take(&row), err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  if (verdict->kind != KF_VERDICT_CORRECT || verdict->race.outcome == KF_RACE_NONE) {
    KF_TRY(kf_buf_printf(&buf, err, "%s: ", c->b));
    KF_TRY(kf_verdict_line(verdict, &buf, err));
  } else {
    KF_TRY(kf_buf_printf(&buf, err, "%s is %s %s: ", c->b,
                         is_faster(verdict) ? "faster than" : "not faster than", c->a));
    KF_TRY(kf_interval_text(verdict->race.median_nano, verdict->race.low_nano, verdict->race.high_nano,
                            verdict->race.level, &buf, err));
  }
  KF_TRY(kf_buf_puts(&buf, "\n", err));
  KF_TRY(kf_verdict_details(verdict, &buf, err));
  return kf_out_buf(&buf, err);
}

/* A race needs an opponent that runs: A is tried on the smallest cases, and its verdict printed when it fails
 * there. */
static kf_status try_opponent(kf_cli *cli, const contest *c, const kf_eval_request *race, kf_judge *judge,
                              bool *ret_runs, kf_err *err) {
  kf_eval_request request = {
      .task = race->task, .device = race->device, .candidate = *race->against, .stage = 0};
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  KF_TRY(kf_judge_ask(judge, &request, verdict, err));
  *ret_runs = verdict->kind == KF_VERDICT_CORRECT;
  if (*ret_runs) return KF_OK;
  cli->exit_code = 1;
  contest of_a = {c->task, c->b, c->a};
  return print_result(cli, race->task, &of_a, verdict, err);
}

static kf_status run_race(kf_cli *cli, const race_args *args, const kf_task *task, const contest *c,
                          kf_judge *judge, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf a;
  KF_CLEANUP(kf_buf_done) kf_buf b;
  kf_buf_init(&a, KF_SOURCE_MAX);
  kf_buf_init(&b, KF_SOURCE_MAX);
  KF_TRY(kf_input_kernel(c->a, &a, err));
  KF_TRY(kf_input_kernel(c->b, &b, err));
  const kf_device_info *device = NULL;
  KF_TRY(kf_judge_device(judge, cli->common.device, task, c->b, &device, err));
  kf_eval_source against = {kf_buf_text(&a), a.len, args->binding_a != NULL ? args->binding_a : ""};
  kf_eval_request request = {
      .task = task,
      .device = device->id,
      .candidate = {kf_buf_text(&b), b.len, args->binding_b != NULL ? args->binding_b : ""},
      .against = &against,
      .stage = 2,
  };
  KF_CLEANUP(kf_freep) kf_verdict *verdict = kf_alloc(sizeof *verdict);
  if (verdict == NULL) return kf_nomem(err);
  bool a_runs = false;
  KF_TRY(try_opponent(cli, c, &request, judge, &a_runs, err));
  if (!a_runs) return KF_OK;
  KF_TRY(kf_judge_ask(judge, &request, verdict, err));
  cli->exit_code = is_faster(verdict) ? 0 : 1;
  return print_result(cli, task, c, verdict, err);
}

kf_status kf_cmd_race(kf_cli *cli, const void *args_, kf_err *err) {
  const race_args *args = args_;
  contest c = {0};
  KF_TRY(read_contest(args, &c, err));
  KF_CLEANUP(kf_input_task_free) kf_task *task = NULL;
  KF_TRY(kf_input_task(c.task, &task, err));
  KF_TRY(kf_input_judged(task, err));
  kf_judge *judge = NULL;
  KF_TRY(kf_judge_open(&cli->settings, &judge, err));
  kf_status status = run_race(cli, args, task, &c, judge, err);
  kf_judge_free(judge);
  return status;
}
