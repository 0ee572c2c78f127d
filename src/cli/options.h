/* options.h - one typed table for the options of a command: it drives parsing, --help and docs/cli.md.
 *
 * A command declares a plain struct of arguments and a kf_syntax whose rows name the struct's fields by
 * offset. Values: FLAG bool, TEXT and CHOICE const char *, INT int64_t, DURATION double (seconds), LIST
 * kf_texts (may be given several times). Strings are borrowed from argv. Elsewhere the last of several wins.
 * Forms: --name VALUE, --name=VALUE, -o VALUE, and "--" before arguments that begin with a dash.
 * Threads: pure. */
#ifndef KF_CLI_OPTIONS_H
#define KF_CLI_OPTIONS_H

#include "base/arena.h"
#include "base/buf.h"
#include <stdint.h>

typedef struct {
  const char *const *items;
  size_t count;
} kf_texts;

typedef enum {
  KF_OPT_FLAG,
  KF_OPT_TEXT,
  KF_OPT_CHOICE,
  KF_OPT_INT,
  KF_OPT_DURATION,
  KF_OPT_LIST
} kf_option_type;

typedef struct {
  const char *name; /* "evals" for --evals; NULL ends a table */
  char letter;      /* 'o' for -o, 0: none */
  kf_option_type type;
  size_t offset;              /* of the field */
  const char *value;          /* what stands for the value in the help: "N"; NULL for a flag */
  const char *help;           /* lower case, no full stop */
  int64_t min, max;           /* INT */
  const char *const *choices; /* CHOICE: NULL-terminated */
  unsigned group;             /* common options: KF_COMMON_*; 0 in a command's own table */
} kf_option;

typedef struct {
  const char *name; /* "TASK"; NULL ends a table */
  size_t offset;    /* of a const char *, or of a kf_texts when repeated */
  bool optional, repeated;
  const char *help;
} kf_positional;

/* Groups of options that several commands share; a command asks for them by mask. */
enum {
  KF_COMMON_ALL = 1,    /* --help, --json: every command */
  KF_COMMON_DEVICE = 2, /* --device, --set */
  KF_COMMON_RUNS = 4,   /* --runs */
};

#define KF_RUNS_DEFAULT ".kf/runs"

typedef struct {
  bool help, json;
  const char *device; /* NULL: the first device */
  kf_texts sets;      /* NAME=VALUE of settings */
  const char *runs;   /* folder of runs */
} kf_common;

typedef struct {
  const char *const *usages;   /* what follows "kf NAME", NULL-terminated: one line a form */
  const char *about;           /* what it does; lines already broken */
  const char *exits;           /* exit codes of its own: "0 all correct, 1 not all correct"; NULL: 0 done */
  const char *const *examples; /* whole commands, NULL-terminated; may be NULL */
  const kf_positional *positionals;
  const kf_option *options; /* may be NULL */
  unsigned common;          /* mask of KF_COMMON_* */
  size_t args_size;         /* of the command's argument struct */
  const void *initial;      /* its defaults; NULL: zeroes */
} kf_syntax;

extern const kf_option kf_common_options[];

/* Fills `args` (args_size bytes) and `common`, which starts from its defaults. Unknown options, missing or
 * bad values, too many or too few arguments: KF_EINVAL, with the nearest option as a hint. Lists live in
 * `arena`. */
kf_status kf_options_parse(const kf_syntax *syntax, const char *command, int argc, char *const *argv,
                           kf_arena *arena, kf_common *common, void *args, kf_err *err);
/* True if --help or -h stands before any "--": help is given whatever else is wrong. */
bool kf_options_ask_help(int argc, char *const *argv);

#endif
