/* cmd_gc.c - `kf gc [RUN]`: drops stored texts that no event of the run names, and gives the room back. */
#include "cli/cli.h"
#include "cli/inputs.h"

#include "base/alloc.h"
#include "report/table.h"

#include "base/banned.h"

typedef struct {
  const char *run;
} gc_args;

static const char *const usages[] = {"[RUN]", NULL};
static const kf_positional positionals[] = {
    {.name = "RUN",
     .offset = offsetof(gc_args, run),
     .optional = true,
     .help = "a run's id, a beginning of it, a path, or \"last\" (default)"},
    {.name = NULL},
};
const kf_syntax kf_cmd_gc_syntax = {
    .usages = usages,
    .about = "Removes sources and logs that no event of the run names and compacts the database. The run "
             "must not be going on.",
    .positionals = positionals,
    .common = KF_COMMON_RUNS,
    .args_size = sizeof(gc_args),
};

kf_status kf_cmd_gc(kf_cli *cli, const void *args_, kf_err *err) {
  const gc_args *args = args_;
  KF_CLEANUP(kf_freep) kf_run_entry *run = kf_alloc(sizeof *run);
  if (run == NULL) return kf_nomem(err);
  KF_TRY(kf_input_run(cli, args->run, run, err));
  kf_store *store = NULL;
  KF_TRY(kf_store_open(run->path, KF_STORE_WRITE, &store, err));
  int64_t blobs = 0, bytes = 0;
  kf_status status = kf_store_gc(store, &blobs, &bytes, err);
  kf_store_close(store);
  KF_TRY(status);
  if (cli->common.json) {
    json_t *object = NULL;
    KF_TRY(kf_json_pack(&object, err, "{s:s, s:I, s:I}", "run", run->id, "blobs", (json_int_t)blobs, "bytes",
                        (json_int_t)bytes));
    return kf_out_json(object, err);
  }
  char size[KF_FIGURE_TEXT];
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, 1024);
  KF_TRY(kf_buf_printf(&buf, err, "%s: %lld stored texts removed, %s\n", run->id, (long long)blobs,
                       kf_figure_bytes(bytes, size)));
  return kf_out_buf(&buf, err);
}
