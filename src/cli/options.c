/* options.c - walks argv by a command's table. No option is named here but the common ones. */
#include "cli/options.h"

#include "base/alloc.h"
#include "base/text.h"
#include <string.h>

#include "base/banned.h"

enum { NAMES_MAX = 64 };

const kf_option kf_common_options[] = {
    {.name = "device",
     .type = KF_OPT_TEXT,
     .offset = offsetof(kf_common, device),
     .value = "D",
     .help = "id of a device, as `kf doctor` lists them (default: the first)",
     .group = KF_COMMON_DEVICE},
    {.name = "set",
     .type = KF_OPT_LIST,
     .offset = offsetof(kf_common, sets),
     .value = "NAME=VALUE",
     .help = "change a setting; may be repeated; `kf help settings` lists them",
     .group = KF_COMMON_DEVICE},
    {.name = "runs",
     .type = KF_OPT_TEXT,
     .offset = offsetof(kf_common, runs),
     .value = "DIR",
     .help = "folder of run databases (default: .kf/runs)",
     .group = KF_COMMON_RUNS},
    {.name = "json",
     .type = KF_OPT_FLAG,
     .offset = offsetof(kf_common, json),
     .help = "results as JSON on stdout, one object a line",
     .group = KF_COMMON_ALL},
    {.name = "help",
     .letter = 'h',
     .type = KF_OPT_FLAG,
     .offset = offsetof(kf_common, help),
     .help = "print this text",
     .group = KF_COMMON_ALL},
    {.name = NULL},
};

typedef struct {
  const kf_syntax *syntax;
  const char *command;
  int argc, at; /* argv[at] is read next */
  char *const *argv;
  kf_arena *arena;
  kf_common *common;
  void *args;
} parse;

static bool offered(const parse *p, const kf_option *option) {
  return option->group == 0 || (option->group & (p->syntax->common | KF_COMMON_ALL)) != 0;
}

/* The first option for which `match` holds, in the command's table and then in the common one. */
static const kf_option *find(const parse *p, const char *name, size_t len, char letter) {
  const kf_option *tables[] = {p->syntax->options, kf_common_options};
  for (size_t t = 0; t < KF_COUNTOF(tables); t++)
    for (const kf_option *o = tables[t]; o != NULL && o->name != NULL; o++) {
      if (!offered(p, o)) continue;
      if (letter != 0 ? o->letter == letter : strlen(o->name) == len && memcmp(o->name, name, len) == 0)
        return o;
    }
  return NULL;
}

static kf_status unknown(const parse *p, const char *word, size_t len, kf_err *err) {
  kf_status status = kf_fail(err, KF_EINVAL, "%s: unknown option \"%.60s\"", p->command, word);
  const char *names[NAMES_MAX + 1];
  size_t count = 0;
  const kf_option *tables[] = {p->syntax->options, kf_common_options};
  for (size_t t = 0; t < KF_COUNTOF(tables); t++)
    for (const kf_option *o = tables[t]; o != NULL && o->name != NULL && count < NAMES_MAX; o++)
      if (offered(p, o)) names[count++] = o->name;
  names[count] = NULL;
  char name[64] = "";
  if (len > 2 && len - 2 < sizeof name) memcpy(name, word + 2, len - 2);
  const char *nearest = name[0] != '\0' ? kf_text_nearest(name, names) : NULL;
  if (nearest != NULL) return kf_err_hint(err, status, "did you mean --%s?", nearest);
  return kf_err_hint(err, status, "`kf %s --help` lists its options", p->command);
}

static kf_status set_choice(const kf_option *option, const char *label, const char *text, const char **field,
                            kf_err *err) {
  kf_buf all;
  kf_buf_init(&all, 400);
  for (const char *const *c = option->choices; *c != NULL; c++) {
    if (strcmp(*c, text) == 0) {
      *field = text;
      kf_buf_done(&all);
      return KF_OK;
    }
    (void)kf_buf_printf(&all, NULL, "%s%s", all.len > 0 ? ", " : "", *c); /* a shorter list is still a list */
  }
  kf_status status =
      kf_fail(err, KF_EINVAL, "%s: \"%.60s\" is no choice: %s expected", label, text, kf_buf_text(&all));
  kf_buf_done(&all);
  return status;
}

/* Room for every word left is enough for any list, and a list seldom has more than a few. */
static kf_status add_to_list(const parse *p, kf_texts *list, const char *text, kf_err *err) {
  if (list->count == 0) {
    list->items = kf_arena_array(p->arena, (size_t)p->argc + 1, sizeof *list->items);
    if (list->items == NULL) return kf_nomem(err);
  }
  ((const char **)list->items)[list->count++] = text;
  return KF_OK;
}

static kf_status set_value(const parse *p, const kf_option *option, const char *text, kf_err *err) {
  void *field = (char *)(option->group == 0 ? p->args : (void *)p->common) + option->offset;
  char label[80];
  snprintf(label, sizeof label, "--%s", option->name);
  switch (option->type) {
  case KF_OPT_FLAG:
    *(bool *)field = true;
    return KF_OK;
  case KF_OPT_TEXT:
    *(const char **)field = text;
    return KF_OK;
  case KF_OPT_CHOICE:
    return set_choice(option, label, text, field, err);
  case KF_OPT_INT:
    return kf_text_int(text, option->min, option->max, label, field, err);
  case KF_OPT_DURATION:
    if (kf_text_duration(text, field, err) == KF_OK) return KF_OK;
    return kf_err_context(err, KF_EINVAL, "%s", label);
  case KF_OPT_LIST:
    return add_to_list(p, field, text, err);
  }
  return kf_fail(err, KF_EBUG, "option --%s has no type", option->name);
}

/* argv[at] begins with a dash and is more than a dash. */
static kf_status take_option(parse *p, kf_err *err) {
  const char *word = p->argv[p->at++];
  bool is_long = word[1] == '-';
  const char *equals = is_long ? strchr(word, '=') : NULL;
  size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
  const kf_option *option = is_long    ? find(p, word + 2, len - 2, 0)
                            : len == 2 ? find(p, "", 0, word[1])
                                       : NULL;
  if (option == NULL) return unknown(p, word, len, err);
  if (option->type == KF_OPT_FLAG) {
    if (equals != NULL) return kf_fail(err, KF_EINVAL, "%s: --%s takes no value", p->command, option->name);
    return set_value(p, option, "", err);
  }
  const char *text = equals != NULL ? equals + 1 : p->at < p->argc ? p->argv[p->at++] : NULL;
  if (text == NULL)
    return kf_fail(err, KF_EINVAL, "%s: --%s needs a value: %s", p->command, option->name, option->value);
  kf_status status = set_value(p, option, text, err);
  return status == KF_OK ? KF_OK : kf_err_context(err, status, "%s", p->command);
}

/* Takes the words that are no options, in order: a repeated place takes all that are left. */
static kf_status take_positionals(parse *p, const kf_texts *words, kf_err *err) {
  size_t next = 0;
  for (const kf_positional *place = p->syntax->positionals; place != NULL && place->name != NULL; place++) {
    void *field = (char *)p->args + place->offset;
    if (next == words->count && !place->optional)
      return kf_err_hint(
          err, kf_fail(err, KF_EINVAL, "%s: %s is missing: %s", p->command, place->name, place->help),
          "`kf %s --help` shows its use", p->command);
    if (place->repeated) {
      *(kf_texts *)field = (kf_texts){words->items + next, words->count - next};
      next = words->count;
    } else if (next < words->count) {
      *(const char **)field = words->items[next++];
    }
  }
  if (next == words->count) return KF_OK;
  return kf_err_hint(
      err, kf_fail(err, KF_EINVAL, "%s: \"%.60s\" is one argument too many", p->command, words->items[next]),
      "`kf %s --help` shows its use", p->command);
}

kf_status kf_options_parse(const kf_syntax *syntax, const char *command, int argc, char *const *argv,
                           kf_arena *arena, kf_common *common, void *args, kf_err *err) {
  parse p = {.syntax = syntax,
             .command = command,
             .argc = argc,
             .argv = argv,
             .arena = arena,
             .common = common,
             .args = args};
  *common = (kf_common){.runs = KF_RUNS_DEFAULT};
  if (syntax->initial != NULL)
    memcpy(args, syntax->initial, syntax->args_size);
  else if (syntax->args_size > 0)
    memset(args, 0, syntax->args_size);
  kf_texts words = {NULL, 0};
  bool options_ended = false;
  while (p.at < argc) {
    const char *word = argv[p.at];
    bool is_option = !options_ended && word[0] == '-' && word[1] != '\0';
    if (is_option && strcmp(word, "--") == 0) {
      options_ended = true;
      p.at++;
    } else if (is_option) {
      KF_TRY(take_option(&p, err));
    } else {
      KF_TRY(add_to_list(&p, &words, word, err));
      p.at++;
    }
  }
  return take_positionals(&p, &words, err);
}

bool kf_options_ask_help(int argc, char *const *argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}
