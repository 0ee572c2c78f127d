/* oracle_source.c - the C text around a reference, and what a compiler's complaint about it means.
 *
 * The wrapper calls the reference with arguments of the declared types, in the same translation unit. So the
 * compiler checks the number of parameters and what they point to, while `const` may be written or left out.
 */
#include "verify/oracle_wire.h"

#include "base/text.h"
#include <string.h>

#include "base/banned.h"

#define WRAPPER_FILE "kf_wrapper.c"
enum { NAME_TEXT = 120, PROTOTYPE_TEXT = 200 };

static const char *c_type(kf_type type) {
  static const char *const names[KF_TYPE_COUNT] = {
      [KF_TYPE_I8] = "int8_t",    [KF_TYPE_I16] = "int16_t",  [KF_TYPE_I32] = "int32_t",
      [KF_TYPE_I64] = "int64_t",  [KF_TYPE_U8] = "uint8_t",   [KF_TYPE_U16] = "uint16_t",
      [KF_TYPE_U32] = "uint32_t", [KF_TYPE_U64] = "uint64_t", [KF_TYPE_BOOL] = "_Bool",
  };
  return names[type] != NULL ? names[type] : "kf_real";
}

/* The file name as it can stand in a #line directive. */
static void line_name(const kf_task *task, char ret_name[NAME_TEXT]) {
  snprintf(ret_name, NAME_TEXT, "%s", task->reference->path);
  for (char *at = ret_name; *at != '\0'; at++)
    if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ') *at = '_';
}

static kf_status add_call(const kf_task *task, kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err, "\n\n#line 1 \"" WRAPPER_FILE "\"\n"));
  KF_TRY(kf_buf_printf(buf, err, "void " KF_ORACLE_SYMBOL "(void **kf_args);\n"));
  KF_TRY(kf_buf_printf(buf, err, "void " KF_ORACLE_SYMBOL "(void **kf_args) {\n  (void)kf_args;\n  %s(",
                       task->reference_entry));
  for (int i = 0; i < task->nargs; i++) {
    const kf_arg_spec *arg = &task->args[i];
    const char *comma = i == 0 ? "" : ", ";
    if (!kf_role_is_array(arg->role))
      KF_TRY(kf_buf_printf(buf, err, "%s*(%s *)kf_args[%d]", comma, c_type(arg->type), i));
    else if (arg->type == KF_TYPE_BOOL) /* _Bool or a byte: a void pointer fits both */
      KF_TRY(kf_buf_printf(buf, err, "%skf_args[%d]", comma, i));
    else
      KF_TRY(kf_buf_printf(buf, err, "%s(%s *)kf_args[%d]", comma, c_type(arg->type), i));
  }
  return kf_buf_puts(buf, ");\n}\n", err);
}

kf_status kf__oracle_source(const kf_task *task, int precision, kf_buf *buf, kf_err *err) {
  char name[NAME_TEXT];
  line_name(task, name);
  if (!kf_text_is_name(task->reference_entry))
    return kf_fail(err, KF_EREFUSED, "%s: entry: no C name: %.60s", name, task->reference_entry);
  KF_TRY(
      kf_buf_printf(buf, err,
                    "#line 1 \"kf_real.h\"\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
                    "typedef %s kf_real;\n#line 1 \"%s\"\n",
                    precision == 0 ? "double" : "float", name));
  KF_TRY(kf_buf_append(buf, task->reference->bytes, task->reference->len, err));
  return add_call(task, buf, err);
}

/* "void softmax_ref(kf_real *x, kf_real *y, int32_t rows)", cut where it does not fit. */
static void prototype_text(const kf_task *task, char ret_text[PROTOTYPE_TEXT]) {
  size_t used = (size_t)snprintf(ret_text, PROTOTYPE_TEXT, "void %.60s(", task->reference_entry);
  for (int i = 0; i < task->nargs && used < PROTOTYPE_TEXT; i++) {
    const kf_arg_spec *arg = &task->args[i];
    used += (size_t)snprintf(ret_text + used, PROTOTYPE_TEXT - used, "%s%s %s%s", i == 0 ? "" : ", ",
                             c_type(arg->type), kf_role_is_array(arg->role) ? "*" : "", arg->name);
  }
  if (used < PROTOTYPE_TEXT) snprintf(ret_text + used, PROTOTYPE_TEXT - used, ")");
}

/* First line from `text` on that begins with `start` and contains `word`; NULL if there is none. */
static const char *find_line(const char *text, const char *start, const char *word) {
  size_t start_len = strlen(start), word_len = strlen(word);
  while (text != NULL && *text != '\0') {
    size_t len = strcspn(text, "\n");
    if (strncmp(text, start, start_len) == 0 && memmem(text, len, word, word_len) != NULL) return text;
    text = text[len] == '\n' ? text + len + 1 : NULL;
  }
  return NULL;
}

/* Length of a line without the name of the warning at its end. */
static int line_len(const char *line, size_t max) {
  size_t len = strcspn(line, "\n");
  const char *option = memmem(line, len, " [-W", 4);
  if (option != NULL) len = (size_t)(option - line);
  return (int)(len < max ? len : max);
}

/* The wrapper's call does not fit the reference: shown at the reference's own line, which the compiler gives
 * in a note. */
static kf_status explain_call(const kf_task *task, const char *name, const char *error, kf_err *err) {
  char prototype[PROTOTYPE_TEXT];
  prototype_text(task, prototype);
  const char *what = strstr(error, "error: ") + strlen("error: ");
  bool missing = memmem(error, strcspn(error, "\n"), "implicit declaration", 20) != NULL ||
                 memmem(error, strcspn(error, "\n"), "undeclared", 10) != NULL;
  kf_status status;
  if (missing) {
    status = kf_fail(err, KF_EREFUSED, "%s: no function %s", name, task->reference_entry);
  } else {
    const char *note = find_line(error, name, ": note: ");
    const char *place_end = note != NULL ? strstr(note, ": note: ") : NULL;
    char place[NAME_TEXT + 24];
    if (note != NULL)
      snprintf(place, sizeof place, "%.*s", (int)(place_end - note), note);
    else
      snprintf(place, sizeof place, "%s", name);
    status = kf_fail(err, KF_EREFUSED, "%s: does not take the arguments of task.yaml: %.*s", place,
                     line_len(what, 200), what);
  }
  return kf_err_hint(err, status, "expected %s", prototype);
}

kf_status kf__oracle_explain(const kf_task *task, const char *log, kf_err *err) {
  char name[NAME_TEXT];
  line_name(task, name);
  const char *error = find_line(log, "", "error: ");
  if (error == NULL)
    return kf_fail(err, KF_EREFUSED, "%s: the compiler refused it: %.*s", name, line_len(log, 300), log);
  if (strncmp(error, WRAPPER_FILE, strlen(WRAPPER_FILE)) == 0) {
    /* A wrong number of arguments makes the compiler complain of their types first. */
    const char *number = find_line(error, WRAPPER_FILE, " arguments to function");
    return explain_call(task, name, number != NULL ? number : error, err);
  }
  return kf_fail(err, KF_EREFUSED, "%.*s", line_len(error, 400), error);
}
