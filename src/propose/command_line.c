/* command_line.c - splitting a `command:` spec into words and finding the program. */
#include "propose/command_line_int.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"
#include <unistd.h>

#include "base/banned.h"

/* One word from *text; false at the end. KF_EINVAL for an open quote. */
static kf_status next_word(const char **text, kf_buf *word, bool *ret_found, kf_err *err) {
  const char *at = *text + strspn(*text, " \t");
  char quote = '\0';
  kf_buf_clear(word);
  *ret_found = *at != '\0';
  KF_TRY(kf_buf_append(word, "", 0, err));
  for (; *at && (quote || (*at != ' ' && *at != '\t')); at++) {
    if (quote && *at == quote) {
      quote = '\0';
      continue;
    }
    if (!quote && (*at == '"' || *at == '\'')) {
      quote = *at;
      continue;
    }
    if (*at == '\\' && quote != '\'' && at[1]) at++;
    KF_TRY(kf_buf_append(word, at, 1, err));
  }
  if (quote) return kf_fail(err, KF_EINVAL, "command: a %c is not closed", quote);
  *text = at;
  return KF_OK;
}

static kf_status add_env(kf__command_line *line, int *count, const char *name, kf_err *err) {
  const char *value = getenv(name);
  if (!value) return KF_OK;
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, 1 << 20);
  KF_TRY(kf_buf_printf(&text, err, "%s=%s", name, value));
  line->env[*count] = kf_buf_take(&text);
  if (!line->env[*count]) return kf_nomem(err);
  (*count)++;
  return KF_OK;
}

static kf_status find_program(const char *name, char ret_path[KF_PATH_MAX], kf_err *err) {
  if (strchr(name, '/')) {
    if (access(name, X_OK) != 0) return kf_fail(err, KF_ENOTFOUND, "command: no program %s", name);
    snprintf(ret_path, KF_PATH_MAX, "%s", name);
    return KF_OK;
  }
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
    size_t len = strcspn(at, ":");
    char dir[KF_PATH_MAX];
    snprintf(dir, sizeof dir, "%.*s", (int)(len < KF_PATH_MAX ? len : KF_PATH_MAX - 1), at);
    if (len > 0 && kf_fs_join(ret_path, dir, name, NULL) == KF_OK && access(ret_path, X_OK) == 0 &&
        !kf_fs_is_dir(ret_path))
      return KF_OK;
    at += len + (at[len] == ':');
  }
  kf_status status = kf_fail(err, KF_ENOTFOUND, "command: no program %s in PATH", name);
  return kf_err_hint(err, status, "give its full path: command:/path/to/%.80s", name);
}

kf_status kf__command_line_parse(kf__command_line *line, const char *text, kf_err *err) {
  *line = (kf__command_line){0};
  kf_buf word KF_CLEANUP(kf_buf_done);
  kf_buf_init(&word, 1 << 16);
  int nwords = 0, nenv = 0, listed = 0;
  KF_TRY(add_env(line, &nenv, "PATH", err));
  KF_TRY(add_env(line, &nenv, "HOME", err));
  for (bool found = true;;) {
    KF_TRY(next_word(&text, &word, &found, err));
    if (!found) break;
    if (nwords == 0 && word.len > 1 && word.data[0] == '+') {
      if (!kf_text_is_name(word.data + 1))
        return kf_fail(err, KF_EINVAL, "command: \"%s\": no name of an environment variable", word.data);
      if (++listed > KF_COMMAND_ENV_MAX)
        return kf_fail(err, KF_EINVAL, "command: more than %d environment variables",
                       (int)KF_COMMAND_ENV_MAX);
      KF_TRY(add_env(line, &nenv, word.data + 1, err));
      continue;
    }
    if (nwords == KF_COMMAND_WORDS_MAX)
      return kf_fail(err, KF_EINVAL, "command: more than %d words", (int)KF_COMMAND_WORDS_MAX);
    line->argv[nwords] = kf_strdup(kf_buf_text(&word));
    if (!line->argv[nwords]) return kf_nomem(err);
    nwords++;
  }
  if (nwords == 0) {
    kf_status status = kf_fail(err, KF_EINVAL, "proposer \"command\": no program given");
    return kf_err_hint(err, status,
                       "write command:PROGRAM ARGS; it reads the prompt on stdin and answers on stdout");
  }
  char path[KF_PATH_MAX];
  KF_TRY(find_program(line->argv[0], path, err));
  line->program = kf_strdup(path);
  return line->program ? KF_OK : kf_nomem(err);
}

void kf__command_line_done(kf__command_line *line) {
  for (char **text = line->argv; *text; text++)
    kf_free(*text);
  for (char **text = line->env; *text; text++)
    kf_free(*text);
  kf_free(line->program);
  *line = (kf__command_line){0};
}
