/* cli.h - what main.c and the commands share: an invocation, the command table, and results on stdout.
 *
 * To add a command:
 *   1. src/cli/cmd_<name>.c: a struct of arguments, its option table, kf_cmd_<name>_syntax, kf_cmd_<name>
 *   2. a KF_COMMAND line below, a row in the table of main.c, the file in CMakeLists.txt
 *   3. results as text and, with --json, one object a line with the names of docs/formats/verdict.md
 *   4. a test in tests/cli/ of what it prints and of each exit code; KF_RECORD=1 writes the golden texts
 *   5. docs/cli.md again: KF_RECORD=1 tests/cli/test_help.py writes it (without, it compares)
 *
 * Results go to stdout, everything else to stderr. A command that did its work returns KF_OK and leaves the
 * exit code in cli->exit_code (0, 1 or 5); a failure of its own is a kf_status, from which the exit code
 * follows. */
#ifndef KF_CLI_CLI_H
#define KF_CLI_CLI_H

#include "base/json.h"
#include "base/settings.h"
#include "cli/options.h"

typedef struct {
  const char *command;  /* its name */
  kf_common common;     /* --json, --device, ... */
  kf_settings settings; /* defaults with --set applied */
  kf_arena arena;       /* of the invocation */
  int exit_code;
} kf_cli;

typedef kf_status (*kf_command_run)(kf_cli *cli, const void *args, kf_err *err);

/* What main.c makes sure of before a command starts, so that it fails early and alike everywhere. */
enum {
  KF_NEEDS_NOTHING = 0,
  KF_NEEDS_EVALUATOR = 1, /* kf-eval is there */
};

typedef struct {
  const char *name, *summary;
  kf_command_run run;
  unsigned needs;
  const kf_syntax *syntax;
} kf_command;

/* The table of main.c; ends with a NULL name. */
extern const kf_command kf_commands[];
const kf_command *kf_command_find(const char *name, kf_err *err); /* NULL and *err with the nearest name */

#define KF_COMMAND(name)                                                                                     \
  extern const kf_syntax kf_cmd_##name##_syntax;                                                             \
  kf_status kf_cmd_##name(kf_cli *cli, const void *args, kf_err *err)
KF_COMMAND(doctor);
KF_COMMAND(init);
KF_COMMAND(check);
KF_COMMAND(eval);
KF_COMMAND(race);
KF_COMMAND(run);
KF_COMMAND(list);
KF_COMMAND(show);
KF_COMMAND(best);
KF_COMMAND(export);
KF_COMMAND(replay);
KF_COMMAND(gc);
KF_COMMAND(help);

/* ---- help, from the tables ---- */
kf_status kf_help_overview(kf_buf *buf, kf_err *err);
kf_status kf_help_command(const kf_command *command, kf_buf *buf, kf_err *err);
kf_status kf_help_markdown(kf_buf *buf, kf_err *err); /* docs/cli.md */

/* ---- output ---- */

enum { KF_OUTPUT_MAX = 64 << 20 };

/* Writes to stdout. KF_EIO when it cannot be written. */
kf_status kf_out_text(const char *text, size_t len, kf_err *err);
kf_status kf_out_buf(const kf_buf *buf, kf_err *err);
/* One object on a line of its own; takes the reference. NULL is out of memory. */
kf_status kf_out_json(json_t *take_object, kf_err *err);
/* A note on stderr, one line. */
void kf_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
