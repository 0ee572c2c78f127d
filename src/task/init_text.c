/* init_text.c - the texts of a package that `kf init` writes: task.yaml, and the kernel with markers and a
 * launch directive. */
#include "task/init_private.h"

#include "task/csource.h"
#include "task/markers.h"
#include <string.h>

enum { GUESSED_LOCAL = 64, SMALL_CASE = 33 };

/* ---- task.yaml ---- */

static kf_status write_symbols(kf__init_model *m, kf_buf *text) {
  if (m->nsymbols == 0) return KF_OK;
  KF_TRY(kf_buf_puts(text, "symbols:\n", m->err));
  for (int i = 0; i < m->nsymbols; i++) {
    const kf__init_symbol *symbol = &m->symbols[i];
    long long value = symbol->value;
    if (symbol->fixed) {
      KF_TRY(kf_buf_printf(text, m->err, "  %s: %lld\n", symbol->name, value));
      continue;
    }
    KF_TRY(kf_buf_printf(text, m->err, "  %s: {default: %lld, min: 1, max: %lld}\n", symbol->name, value,
                         value));
    KF_TRY(kf__init_note(m, "%s: domain 1 to %lld guessed; candidates are tried on all of it", symbol->name,
                         value));
  }
  return KF_OK;
}

static kf_status write_shape(const kf__init_model *m, const kf__init_arg *arg, const char *between,
                             kf_buf *text) {
  for (int d = 0; d < arg->rank; d++)
    KF_TRY(kf_buf_printf(text, m->err, "%s%s", d > 0 ? between : "", m->symbols[arg->dims[d]].name));
  return KF_OK;
}

static kf_status write_array(kf__init_model *m, const kf__init_arg *arg, kf_buf *text) {
  KF_TRY(kf_buf_puts(text, ", shape: [", m->err));
  KF_TRY(write_shape(m, arg, ", ", text));
  KF_TRY(kf_buf_puts(text, "]", m->err));
  if (arg->role == KF_ROLE_OUT) return KF_OK;
  if (kf_type_is_float(arg->type)) return kf_buf_puts(text, ", fill: normal", m->err);
  KF_TRY(kf__init_note(m, "%s: fill int[0,16) guessed", arg->arg->name));
  return kf_buf_puts(text, ", fill: \"int[0,16)\"", m->err);
}

static kf_status write_args(kf__init_model *m, kf_buf *text) {
  KF_TRY(kf_buf_puts(text, "args:\n", m->err));
  for (int i = 0; i < m->nargs; i++) {
    const kf__init_arg *arg = &m->args[i];
    if (arg->is_local) continue;
    KF_TRY(kf_buf_printf(text, m->err, "  - {name: %s, role: %s, type: %s", arg->arg->name,
                         kf_role_name(arg->role), kf_type_name(arg->type)));
    if (arg->is_array) KF_TRY(write_array(m, arg, text));
    if (arg->role == KF_ROLE_SCALAR) KF_TRY(kf_buf_printf(text, m->err, ", value: %s", arg->value));
    KF_TRY(kf_buf_puts(text, "}\n", m->err));
  }
  return KF_OK;
}

/* A case with every free dimension at most `limit`. */
static kf_status write_case(const kf__init_model *m, int64_t limit, kf_buf *text) {
  const char *between = "    - {";
  for (int i = 0; i < m->nsymbols; i++) {
    if (m->symbols[i].fixed) continue;
    int64_t value = m->symbols[i].value < limit ? m->symbols[i].value : limit;
    KF_TRY(kf_buf_printf(text, m->err, "%s%s: %lld", between, m->symbols[i].name, (long long)value));
    between = ", ";
  }
  return kf_buf_puts(text, "}\n", m->err);
}

static kf_status write_cases(kf__init_model *m, kf_buf *text) {
  bool any_free = false;
  for (int i = 0; i < m->nsymbols; i++)
    any_free = any_free || !m->symbols[i].fixed;
  if (!any_free) return KF_OK;
  KF_TRY(kf_buf_puts(text, "check:\n  cases:\n", m->err));
  KF_TRY(write_case(m, 1, text));
  KF_TRY(write_case(m, SMALL_CASE, text));
  KF_TRY(kf_buf_puts(text, "measure:\n  cases:\n", m->err));
  return write_case(m, INT64_MAX, text);
}

kf_status kf__init_task_text(kf__init_model *m, const char *name, const char *reference_file, kf_buf *text) {
  KF_TRY(kf_buf_printf(text, m->err, "name: %s\nlanguage: opencl\n", name));
  KF_TRY(write_symbols(m, text));
  KF_TRY(write_args(m, text));
  KF_TRY(kf_buf_puts(text, "kernel: {opencl: kernel.cl}\n", m->err));
  size_t len = strlen(reference_file);
  if (len == 0) {
    KF_TRY(kf_buf_puts(text, "reference: kernel\n", m->err));
  } else if (reference_file[len - 1] == 'c') {
    char entry[80];
    const char *given = m->request->reference_entry;
    snprintf(entry, sizeof entry, "%s_ref", m->request->entry);
    if (given == NULL) KF_TRY(kf__init_note(m, "reference: function %s guessed", entry));
    KF_TRY(kf_buf_printf(text, m->err, "reference: {file: \"%s\", entry: %s}\n", reference_file,
                         given != NULL ? given : entry));
  } else {
    KF_TRY(kf_buf_printf(text, m->err, "reference: {file: \"%s\"}\n", reference_file));
  }
  KF_TRY(kf_buf_puts(text, "baseline: kernel\n", m->err));
  return write_cases(m, text);
}

/* ---- kernel.cl ---- */

static int count_dims(const char *text) {
  int depth = 0, dims = 1;
  for (; *text != '\0'; text++) {
    if (*text == '(') depth++;
    if (*text == ')') depth--;
    if (*text == ',' && depth == 0) dims++;
  }
  return dims;
}

static kf_status write_sizes(kf__init_model *m, kf_buf *text) {
  const char *global = m->request->global, *local = m->request->local;
  if (global != NULL) {
    KF_TRY(kf_buf_printf(text, m->err, " global=(%s) local=(", global));
    if (local != NULL) return kf_buf_printf(text, m->err, "%s)", local);
    KF_TRY(kf_buf_printf(text, m->err, "%d", GUESSED_LOCAL));
    for (int d = 1; d < count_dims(global); d++)
      KF_TRY(kf_buf_puts(text, ", 1", m->err));
    KF_TRY(kf__init_note(m, "launch: local size %d guessed; global must be a multiple of it", GUESSED_LOCAL));
    return kf_buf_puts(text, ")", m->err);
  }
  if (local != NULL && count_dims(local) > 1)
    return kf_fail(m->err, KF_EINVAL, "--local %.60s: more than one dimension needs --global too", local);
  char group[32];
  snprintf(group, sizeof group, "%d", GUESSED_LOCAL);
  const char *one = local != NULL ? local : group;
  const kf__init_arg *output = &m->args[kf__init_output(m)];
  KF_TRY(kf_buf_puts(text, " global=(ceil(", m->err));
  KF_TRY(write_shape(m, output, "*", text));
  bool plain = one[strspn(one, "0123456789")] == '\0';
  KF_TRY(
      kf_buf_printf(text, m->err, plain ? ", %s)*%s) local=(%s)" : ", %s)*(%s)) local=(%s)", one, one, one));
  return kf__init_note(
      m,
      "launch: one work-item for each element of %s guessed, rounded up to groups of %s; the kernel must "
      "ignore those beyond the end",
      output->arg->name, one);
}

static kf_status write_launch(kf__init_model *m, kf_buf *text) {
  KF_TRY(kf_buf_printf(text, m->err, "//kf: launch %s", m->request->entry));
  KF_TRY(write_sizes(m, text));
  KF_TRY(kf_buf_puts(text, " args=(", m->err));
  for (int i = 0; i < m->nargs; i++) {
    const kf__init_arg *arg = &m->args[i];
    if (i > 0) KF_TRY(kf_buf_puts(text, ", ", m->err));
    if (!arg->is_local) {
      KF_TRY(kf_buf_puts(text, arg->arg->name, m->err));
      continue;
    }
    int bytes = GUESSED_LOCAL * (int)kf_type_size(arg->type);
    KF_TRY(kf_buf_printf(text, m->err, "local(%d)", bytes));
    KF_TRY(kf__init_note(m, "%s: %d bytes of local memory guessed", arg->arg->name, bytes));
  }
  return kf_buf_puts(text, ")\n", m->err);
}

static bool has_launch(const char *source, const kf__directive *lines, int count) {
  for (int i = 0; i < count; i++) {
    size_t begin = lines[i].begin;
    while (begin < lines[i].end && (source[begin] == ' ' || source[begin] == '\t'))
      begin++;
    if (lines[i].end - begin >= 6 && memcmp(source + begin, "launch", 6) == 0) return true;
  }
  return false;
}

static kf_status find_launch(kf__init_model *m, const char *source, size_t len, bool *ret_found) {
  kf_buf tokens KF_CLEANUP(kf_buf_done);
  kf_buf_init(&tokens, 4 * len + 64);
  kf__directive lines[KF__DIRECTIVES_MAX];
  int count = 0;
  KF_TRY(kf__csource_scan(source, len, m->request->kernel_path, lines, &count, &tokens, m->err));
  *ret_found = has_launch(source, lines, count);
  return KF_OK;
}

kf_status kf__init_kernel_text(kf__init_model *m, const char *source, size_t len, kf_buf *text) {
  kf_region_span spans[KF_MARKER_SPANS_MAX];
  int count = 0, evolve = 0;
  bool launched = false;
  KF_TRY(kf_markers_find(source, len, m->request->kernel_path, spans, &count, m->err));
  KF_TRY(find_launch(m, source, len, &launched));
  if (launched && (m->request->global != NULL || m->request->local != NULL))
    KF_TRY(kf__init_note(m, "launch: the kernel has its own directive, --global and --local are not used"));
  while (evolve < count && spans[evolve].kind != KF_MARKER_EVOLVE)
    evolve++;
  if (evolve < count) {
    KF_TRY(kf_buf_append(text, source, spans[evolve].begin, m->err));
    if (!launched) KF_TRY(write_launch(m, text));
    return kf_buf_append(text, source + spans[evolve].begin, len - spans[evolve].begin, m->err);
  }
  KF_TRY(kf_buf_puts(text, "// [EVOLVE_START]\n", m->err));
  if (!launched) KF_TRY(write_launch(m, text));
  KF_TRY(kf_buf_append(text, source, len, m->err));
  if (len > 0 && source[len - 1] != '\n') KF_TRY(kf_buf_puts(text, "\n", m->err));
  return kf_buf_puts(text, "// [EVOLVE_END]\n", m->err);
}
