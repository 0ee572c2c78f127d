/* main.c - the command table of kf, and the way from argv to a command and back to an exit code. */
#include "cli/cli.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/text.h"
#include "report/row.h"
#include <signal.h>
#include <string.h>

#include "base/banned.h"

const kf_command kf_commands[] = {
#define ROW(name, needs, summary)                                                                            \
  { #name, summary, kf_cmd_##name, needs, &kf_cmd_##name##_syntax }
    ROW(doctor, KF_NEEDS_NOTHING, "what works on this machine, what is missing, how to get it"),
    ROW(init, KF_NEEDS_EVALUATOR, "a task package from a bare kernel"),
    ROW(check, KF_NEEDS_EVALUATOR, "admit a task: is it sound, and how small a gain can be seen"),
    ROW(eval, KF_NEEDS_EVALUATOR, "judge candidates once"),
    ROW(race, KF_NEEDS_EVALUATOR, "is B faster than A and still right"),
    ROW(run, KF_NEEDS_NOTHING, "search for a faster kernel"), /* --resume and replays may need no device */
    ROW(list, KF_NEEDS_NOTHING, "the runs in this folder"),
    ROW(show, KF_NEEDS_NOTHING, "a run: its archive and how the best came to be; or one candidate"),
    ROW(best, KF_NEEDS_NOTHING, "the source of a run's fastest kernel"),
    ROW(export, KF_NEEDS_EVALUATOR, "take the winner home, rebuilt and judged again"),
    ROW(replay, KF_NEEDS_NOTHING, "derive a run's decisions again and compare them"),
    ROW(gc, KF_NEEDS_NOTHING, "drop what a run's log no longer names"),
    ROW(help, KF_NEEDS_NOTHING, "help on a command, or the table of settings"),
    {0},
#undef ROW
};

const kf_command *kf_command_find(const char *name, kf_err *err) {
  const char *names[KF_COUNTOF(kf_commands)];
  size_t count = 0;
  for (const kf_command *c = kf_commands; c->name != NULL; c++) {
    if (strcmp(c->name, name) == 0) return c;
    names[count++] = c->name;
  }
  names[count] = NULL;
  kf_status status = kf_fail(err, KF_EINVAL, "unknown command \"%.60s\"", name);
  const char *nearest = kf_text_nearest(name, names);
  if (nearest != NULL)
    kf_err_hint(err, status, "did you mean \"%s\"?", nearest);
  else
    kf_err_hint(err, status, "`kf --help` lists the commands");
  return NULL;
}

/* The message on stderr and, for readers of --json, an object on stdout. Returns the exit code. */
static int report_failure(const kf_err *err, bool json) {
  kf_log_err(err);
  int code = kf_status_exit_code(err->code);
  if (!json) return code;
  kf_row error, row;
  kf_row_begin(&error);
  kf_row_text(&error, "kind", kf_status_name(err->code));
  kf_row_int(&error, "exit", code);
  kf_row_text(&error, "message", err->msg);
  kf_row_text(&error, "hint", err->hint);
  kf_row_begin(&row);
  kf_row_value(&row, "error", kf_row_take(&error));
  (void)kf_out_json(kf_row_take(&row), NULL); /* the message is on stderr already */
  return code;
}

static kf_status print_help(const kf_command *command, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  if (command != NULL)
    KF_TRY(kf_help_command(command, &buf, err));
  else
    KF_TRY(kf_help_overview(&buf, err));
  return kf_out_buf(&buf, err);
}

static kf_status apply_settings(kf_cli *cli, kf_err *err) {
  kf_settings_init(&cli->settings);
  for (size_t i = 0; i < cli->common.sets.count; i++) {
    const char *text = cli->common.sets.items[i];
    const char *equals = strchr(text, '=');
    if (equals == NULL)
      return kf_err_hint(err, kf_fail(err, KF_EINVAL, "--set: \"%.60s\": NAME=VALUE expected", text),
                         "`kf help settings` lists the names");
    char *name = kf_arena_strndup(&cli->arena, text, (size_t)(equals - text));
    if (name == NULL) return kf_nomem(err);
    kf_status status = kf_settings_set(&cli->settings, name, equals + 1, err);
    if (status != KF_OK) return kf_err_context(err, status, "--set");
  }
  return KF_OK;
}

static kf_status run_command(kf_cli *cli, const kf_command *command, int argc, char **argv, kf_err *err) {
  if (kf_options_ask_help(argc, argv)) return print_help(command, err);
  void *args = kf_arena_alloc(&cli->arena, command->syntax->args_size + 1);
  if (args == NULL) return kf_nomem(err);
  KF_TRY(kf_options_parse(command->syntax, command->name, argc, argv, &cli->arena, &cli->common, args, err));
  KF_TRY(apply_settings(cli, err));
  if ((command->needs & KF_NEEDS_EVALUATOR) != 0) {
    char path[KF_PATH_MAX];
    KF_TRY(kf_evaluator_path(path, err));
  }
  return command->run(cli, args, err);
}

static bool wants_json(int argc, char **argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--json") == 0) return true;
  return false;
}

static int run_program(int argc, char **argv) {
  kf_err err = {0};
  if (argc < 2) {
    KF_CLEANUP(kf_buf_done) kf_buf buf;
    kf_buf_init(&buf, KF_OUTPUT_MAX);
    if (kf_help_overview(&buf, &err) != KF_OK) return report_failure(&err, false);
    fwrite(buf.data, 1, buf.len, stderr);
    return kf_status_exit_code(KF_EINVAL);
  }
  const char *word = argv[1];
  kf_status status = KF_OK;
  kf_cli cli = {0};
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    status = print_help(NULL, &err);
  } else if (strcmp(word, "--version") == 0) {
    static const char version[] = "kf " KF_VERSION "\n";
    status = kf_out_text(version, sizeof version - 1, &err);
  } else {
    const kf_command *command = kf_command_find(word, &err);
    cli.command = word;
    status = command != NULL ? run_command(&cli, command, argc - 2, argv + 2, &err) : err.code;
  }
  kf_arena_done(&cli.arena);
  return status == KF_OK ? cli.exit_code : report_failure(&err, wants_json(argc - 2, argv + 2));
}

int main(int argc, char **argv) {
  kf_fs_keep_standard_fds();
  kf_alloc_init();
  kf_log_init("kf");
  /* A pipe whose reader is gone and a file that may not grow are failures of a write, not our end. */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  return run_program(argc, argv);
}
