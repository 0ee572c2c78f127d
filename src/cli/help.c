/* help.c - overview, --help and docs/cli.md, all from the command and option tables. */
#include "cli/cli.h"

#include <string.h>

#include "base/banned.h"

enum { WIDTH = 100, OPTION_COLUMN = 28 };

static const char exit_codes[] =
    "0 done, 1 judged but not all correct, 2 usage, 3 task refused, 4 environment (device, "
    "compiler, disk, server),\n5 interrupted and resumable, 70 a bug in kf";

/* Appends `text` broken at WIDTH, continuing at `column`, where the line has got to already. */
static kf_status put_wrapped(kf_buf *buf, const char *text, size_t column, kf_err *err) {
  size_t at = column;
  while (*text != '\0') {
    size_t len = strcspn(text, " ");
    if (at > column && at + 1 + len > WIDTH) {
      KF_TRY(kf_buf_printf(buf, err, "\n%*s", (int)column, ""));
      at = column;
    } else if (at > column) {
      KF_TRY(kf_buf_puts(buf, " ", err));
      at++;
    }
    KF_TRY(kf_buf_append(buf, text, len, err));
    at += len;
    text += len;
    text += strspn(text, " ");
  }
  return kf_buf_puts(buf, "\n", err);
}

static kf_status put_row(kf_buf *buf, const char *left, const char *right, kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err, "  %-*s", OPTION_COLUMN - 2, left));
  if (strlen(left) > OPTION_COLUMN - 4) KF_TRY(kf_buf_printf(buf, err, "\n%*s", OPTION_COLUMN, ""));
  return put_wrapped(buf, right, OPTION_COLUMN, err);
}

static void option_text(const kf_option *option, char *ret_text, size_t size) {
  char letter[8] = "";
  if (option->letter != 0) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  snprintf(ret_text, size, "%s--%s%s%s", letter, option->name, option->value != NULL ? " " : "",
           option->value != NULL ? option->value : "");
}

static bool offered(const kf_command *command, const kf_option *option) {
  return option->group == 0 || (option->group & (command->syntax->common | KF_COMMON_ALL)) != 0;
}

typedef kf_status (*row_writer)(kf_buf *buf, const char *left, const char *right, kf_err *err);

static kf_status put_options(const kf_command *command, kf_buf *buf, row_writer put, kf_err *err) {
  const kf_option *tables[] = {command->syntax->options, kf_common_options};
  for (size_t t = 0; t < KF_COUNTOF(tables); t++)
    for (const kf_option *o = tables[t]; o != NULL && o->name != NULL; o++) {
      if (!offered(command, o)) continue;
      char left[80];
      option_text(o, left, sizeof left);
      KF_TRY(put(buf, left, o->help, err));
    }
  return KF_OK;
}

static kf_status put_positionals(const kf_command *command, kf_buf *buf, row_writer put, kf_err *err) {
  for (const kf_positional *p = command->syntax->positionals; p != NULL && p->name != NULL; p++)
    KF_TRY(put(buf, p->name, p->help, err));
  return KF_OK;
}

kf_status kf_help_overview(kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_puts(
      buf,
      "usage: kf COMMAND [arguments] [options]\n\n"
      "kf makes GPU kernels faster and keeps them correct. A task says what must be computed; kf\n"
      "proposes kernels, builds, verifies and measures them, and keeps the best of every kind.\n\n"
      "commands\n",
      err));
  for (const kf_command *c = kf_commands; c->name != NULL; c++)
    KF_TRY(kf_buf_printf(buf, err, "  %-10s%s\n", c->name, c->summary));
  KF_TRY(kf_buf_printf(
      buf, err,
      "\n`kf help COMMAND` or `kf COMMAND --help` tells more; `kf help settings` lists what --set changes;\n"
      "`kf --version` prints the version.\n\nexit codes: %s\n",
      exit_codes));
  return KF_OK;
}

kf_status kf_help_command(const kf_command *command, kf_buf *buf, kf_err *err) {
  const kf_syntax *syntax = command->syntax;
  for (const char *const *u = syntax->usages; *u != NULL; u++)
    KF_TRY(kf_buf_printf(buf, err, "%s kf %s %s%s[options]\n", u == syntax->usages ? "usage:" : "      ",
                         command->name, *u, (*u)[0] != '\0' ? " " : ""));
  KF_TRY(kf_buf_printf(buf, err, "\n%s\n", syntax->about));
  if (syntax->positionals != NULL && syntax->positionals->name != NULL) {
    KF_TRY(kf_buf_puts(buf, "\narguments\n", err));
    KF_TRY(put_positionals(command, buf, put_row, err));
  }
  KF_TRY(kf_buf_puts(buf, "\noptions\n", err));
  KF_TRY(put_options(command, buf, put_row, err));
  KF_TRY(kf_buf_printf(buf, err, "\nexit codes: %s, and those of `kf --help`\n",
                       syntax->exits != NULL ? syntax->exits : "0 done"));
  if (syntax->examples == NULL) return KF_OK;
  KF_TRY(kf_buf_puts(buf, "\nexamples\n", err));
  for (const char *const *e = syntax->examples; *e != NULL; e++)
    KF_TRY(kf_buf_printf(buf, err, "  %s\n", *e));
  return KF_OK;
}

/* ---- docs/cli.md ---- */

static kf_status put_cell(kf_buf *buf, const char *text, kf_err *err) {
  for (; *text != '\0'; text++)
    KF_TRY(kf_buf_printf(buf, err, "%s%c", *text == '|' ? "\\" : "", *text));
  return KF_OK;
}

static kf_status put_markdown_row(kf_buf *buf, const char *left, const char *right, kf_err *err) {
  KF_TRY(kf_buf_puts(buf, "| `", err));
  KF_TRY(put_cell(buf, left, err));
  KF_TRY(kf_buf_puts(buf, "` | ", err));
  KF_TRY(put_cell(buf, right, err));
  return kf_buf_puts(buf, " |\n", err);
}

static kf_status put_markdown_command(const kf_command *command, kf_buf *buf, kf_err *err) {
  const kf_syntax *syntax = command->syntax;
  KF_TRY(kf_buf_printf(buf, err, "\n## kf %s\n\n", command->name));
  for (const char *const *u = syntax->usages; *u != NULL; u++)
    KF_TRY(
        kf_buf_printf(buf, err, "    kf %s %s%s[options]\n", command->name, *u, (*u)[0] != '\0' ? " " : ""));
  KF_TRY(kf_buf_printf(buf, err, "\n%s\n\n| Argument or option | Meaning |\n|-|-|\n", syntax->about));
  KF_TRY(put_positionals(command, buf, put_markdown_row, err));
  KF_TRY(put_options(command, buf, put_markdown_row, err));
  KF_TRY(kf_buf_printf(buf, err, "\nExit codes: %s, and those above.\n",
                       syntax->exits != NULL ? syntax->exits : "0 done"));
  if (syntax->examples == NULL) return KF_OK;
  KF_TRY(kf_buf_puts(buf, "\n", err));
  for (const char *const *e = syntax->examples; *e != NULL; e++)
    KF_TRY(kf_buf_printf(buf, err, "    %s\n", *e));
  return KF_OK;
}

kf_status kf_help_markdown(kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err,
                       "# The commands of kf\n\n"
                       "This page is the output of `kf help --markdown`. Results go to stdout, progress and "
                       "notes to stderr. With\n"
                       "`--json` every result is one JSON object on a line, and a failure is an object "
                       "`{\"error\": ...}` as well as\n"
                       "the message on stderr.\n\nExit codes: %s.\n\n| Command | Does |\n|-|-|\n",
                       exit_codes));
  for (const kf_command *c = kf_commands; c->name != NULL; c++)
    KF_TRY(kf_buf_printf(buf, err, "| [%s](#kf-%s) | %s |\n", c->name, c->name, c->summary));
  for (const kf_command *c = kf_commands; c->name != NULL; c++)
    KF_TRY(put_markdown_command(c, buf, err));
  return KF_OK;
}
