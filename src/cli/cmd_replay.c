/* cmd_replay.c - `kf replay [RUN]`: the decisions derived again from the recorded answers and measurements.
 */
#include "cli/cli.h"
#include "cli/inputs.h"

#include "base/alloc.h"
#include "run/run.h"

#include "base/banned.h"

typedef struct {
  const char *run;
} replay_args;

static const char *const usages[] = {"[RUN]", NULL};
static const kf_positional positionals[] = {
    {.name = "RUN",
     .offset = offsetof(replay_args, run),
     .optional = true,
     .help = "a run's id, a beginning of it, a path, or \"last\" (default)"},
    {.name = NULL},
};
const kf_syntax kf_cmd_replay_syntax = {
    .usages = usages,
    .about = "Feeds the recorded answers and measurements of a run to the search engine and compares its "
             "decisions with the\n"
             "recorded ones, byte by byte. Needs no device and no proposer.",
    .exits = "0 identical, 1 a difference",
    .positionals = positionals,
    .common = KF_COMMON_RUNS,
    .args_size = sizeof(replay_args),
};

static kf_status print_result(const kf_cli *cli, const kf_run_entry *run, const kf_run_comparison *c,
                              kf_err *err) {
  if (cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:b, s:I, s:I, s:I, s:s, s:I, s:I}", "run", run->id, "identical",
                        c->same, "inputs", (json_int_t)c->inputs, "decisions", (json_int_t)c->decisions,
                        "first_difference", (json_int_t)c->seq, "what", c->what, "stored_engine",
                        (json_int_t)c->stored_version, "this_engine", (json_int_t)c->this_version));
    return kf_out_json(object, err);
  }
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  KF_TRY(kf_buf_printf(&buf, err, "%s: %lld decisions from %lld inputs, ", run->id, (long long)c->decisions,
                       (long long)c->inputs));
  if (c->same)
    KF_TRY(kf_buf_printf(&buf, err, "all identical (engine version %lld)\n", (long long)c->this_version));
  else
    KF_TRY(kf_buf_printf(
        &buf, err, "the first difference at event %lld: %s\nengine versions: recorded %lld, this %lld\n",
        (long long)c->seq, c->what, (long long)c->stored_version, (long long)c->this_version));
  return kf_out_buf(&buf, err);
}

kf_status kf_cmd_replay(kf_cli *cli, const void *args_, kf_err *err) {
  const replay_args *args = args_;
  KF_CLEANUP(kf_freep) kf_run_entry *run = kf_alloc(sizeof *run);
  if (run == NULL) return kf_nomem(err);
  KF_TRY(kf_input_run(cli, args->run, run, err));
  kf_run_comparison comparison = {0};
  KF_TRY(kf_run_replay(run->path, &comparison, err));
  cli->exit_code = comparison.same ? 0 : 1;
  return print_result(cli, run, &comparison, err);
}
