/* cmd_help.c - `kf help [COMMAND | settings]`, and the generated pages of docs/. */
#include "cli/cli.h"

#include <string.h>

#include "base/banned.h"

typedef struct {
  const char *topic;
  bool markdown;
} help_args;

static const char *const usages[] = {"[COMMAND]", "settings", NULL};
static const kf_positional positionals[] = {
    {.name = "COMMAND",
     .offset = offsetof(help_args, topic),
     .optional = true,
     .help = "a command, or \"settings\""},
    {.name = NULL},
};
static const kf_option options[] = {
    {.name = "markdown",
     .type = KF_OPT_FLAG,
     .offset = offsetof(help_args, markdown),
     .help = "the page docs/cli.md; with \"settings\", docs/settings.md"},
    {.name = NULL},
};
static const char *const examples[] = {"kf help run", "kf help settings", NULL};
const kf_syntax kf_cmd_help_syntax = {
    .usages = usages,
    .about = "Prints help on a command, or the table of what --set changes.",
    .examples = examples,
    .positionals = positionals,
    .options = options,
    .args_size = sizeof(help_args),
};

static kf_status put_settings_text(kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_puts(buf, "settings, changed by --set NAME=VALUE\n\n", err));
  for (size_t i = 0; i < kf_settings_count(); i++) {
    const kf_setting_info *info = kf_settings_info(i);
    const char *unit_gap = info->unit[0] != '\0' ? " " : "";
    if (info->type == KF_SETTING_BOOL)
      KF_TRY(kf_buf_printf(buf, err, "%s = %s (true or false)\n", info->name,
                           info->initial != 0 ? "true" : "false"));
    else
      KF_TRY(kf_buf_printf(buf, err, "%s = %.15g%s%s (%.15g to %.15g)\n", info->name, info->initial, unit_gap,
                           info->unit, info->min, info->max));
    KF_TRY(kf_buf_printf(buf, err, "    %s [%s]\n", info->help, info->source));
  }
  return KF_OK;
}

static kf_status put_settings_markdown(kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_puts(buf,
                     "# Settings\n\nThis page is the output of `kf help settings --markdown`. `--set "
                     "NAME=VALUE` changes one; the values\n"
                     "that were in force are kept with every run.\n\n",
                     err));
  return kf_settings_markdown(buf, err);
}

static kf_status put_settings_json(kf_err *err) {
  for (size_t i = 0; i < kf_settings_count(); i++) {
    const kf_setting_info *info = kf_settings_info(i);
    json_t *row = NULL;
    if (info->type == KF_SETTING_BOOL)
      KF_TRY(kf_json_pack(&row, err, "{s:s, s:b, s:s, s:s}", "name", info->name, "default",
                          info->initial != 0, "meaning", info->help, "source", info->source));
    else
      KF_TRY(kf_json_pack(&row, err, "{s:s, s:f, s:f, s:f, s:s, s:s, s:s}", "name", info->name, "default",
                          info->initial, "min", info->min, "max", info->max, "unit", info->unit, "meaning",
                          info->help, "source", info->source));
    KF_TRY(kf_out_json(row, err));
  }
  return KF_OK;
}

static kf_status put_commands_json(kf_err *err) {
  for (const kf_command *c = kf_commands; c->name != NULL; c++) {
    json_t *row = NULL;
    KF_TRY(kf_json_pack(&row, err, "{s:s, s:s}", "name", c->name, "meaning", c->summary));
    KF_TRY(kf_out_json(row, err));
  }
  return KF_OK;
}

kf_status kf_cmd_help(kf_cli *cli, const void *args_, kf_err *err) {
  const help_args *args = args_;
  bool settings = args->topic != NULL && strcmp(args->topic, "settings") == 0;
  if (cli->common.json && settings) return put_settings_json(err);
  if (cli->common.json) return put_commands_json(err);
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  if (settings) {
    KF_TRY(args->markdown ? put_settings_markdown(&buf, err) : put_settings_text(&buf, err));
  } else if (args->topic != NULL) {
    const kf_command *command = kf_command_find(args->topic, err);
    if (command == NULL) return KF_EINVAL;
    KF_TRY(kf_help_command(command, &buf, err));
  } else {
    KF_TRY(args->markdown ? kf_help_markdown(&buf, err) : kf_help_overview(&buf, err));
  }
  return kf_out_buf(&buf, err);
}
