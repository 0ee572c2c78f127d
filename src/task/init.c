/* init.c - `kf init`: guesses a task from the argument list of a kernel, says each guess, writes and reads
 * back the package. */
#include "task/init_private.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/text.h"
#include "task/plan.h"
#include "task/schema.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

kf_status kf__init_note(kf__init_model *m, const char *fmt, ...) {
  char line[KF_ERR_MSG_MAX];
  va_list args;
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  return kf_buf_printf(m->notes, m->err, "%s\n", line);
}

static kf__init_arg *find_arg(kf__init_model *m, const char *name) {
  for (int i = 0; i < m->nargs; i++)
    if (strcmp(m->args[i].arg->name, name) == 0) return &m->args[i];
  return NULL;
}

static int find_symbol(const kf__init_model *m, const char *name) {
  for (int i = 0; i < m->nsymbols; i++)
    if (strcmp(m->symbols[i].name, name) == 0) return i;
  return -1;
}

/* ---- argument types ---- */

static bool element_type(const char *base, size_t len, kf_type *ret_type) {
  static const struct {
    const char *name;
    kf_type type;
  } types[] = {{"char", KF_TYPE_I8},   {"uchar", KF_TYPE_U8},   {"unsigned char", KF_TYPE_U8},
               {"short", KF_TYPE_I16}, {"ushort", KF_TYPE_U16}, {"unsigned short", KF_TYPE_U16},
               {"int", KF_TYPE_I32},   {"uint", KF_TYPE_U32},   {"unsigned int", KF_TYPE_U32},
               {"long", KF_TYPE_I64},  {"ulong", KF_TYPE_U64},  {"unsigned long", KF_TYPE_U64},
               {"half", KF_TYPE_F16},  {"float", KF_TYPE_F32},  {"double", KF_TYPE_F64}};
  for (size_t i = 0; i < KF_COUNTOF(types); i++)
    if (strlen(types[i].name) == len && memcmp(types[i].name, base, len) == 0) {
      *ret_type = types[i].type;
      return true;
    }
  return false;
}

/* "float4*" -> f32, pointer, vector. */
static kf_status read_type(kf__init_model *m, kf__init_arg *arg) {
  const char *name = arg->arg->type_name;
  size_t len = strnlen(name, sizeof arg->arg->type_name);
  size_t base = len;
  bool pointer = false;
  while (base > 0 && (name[base - 1] == '*' || name[base - 1] == ' ')) {
    pointer = pointer || name[base - 1] == '*';
    base--;
  }
  size_t scalar = base;
  while (scalar > 0 && name[scalar - 1] >= '0' && name[scalar - 1] <= '9')
    scalar--;
  bool known = element_type(name, scalar, &arg->type) && (pointer || scalar == base);
  if (!known) {
    kf_status status =
        kf_fail(m->err, KF_EINVAL, "argument \"%s\" has type \"%.64s\", which a task cannot describe",
                arg->arg->name, name);
    return kf_err_hint(m->err, status, "arrays of scalars, and scalars by value, can be passed");
  }
  arg->is_local = pointer && arg->arg->is_local;
  arg->is_array = pointer && !arg->arg->is_local;
  if (arg->is_array && scalar != base)
    return kf__init_note(m, "%s: %.64s is described as %s; its shape counts scalars", arg->arg->name, name,
                         kf_type_name(arg->type));
  return KF_OK;
}

static kf_status read_args(kf__init_model *m) {
  const kf_init_request *request = m->request;
  if (!kf_text_is_name(request->entry))
    return kf_fail(m->err, KF_EINVAL, "kernel \"%.64s\" has no proper name", request->entry);
  if (request->nargs > KF_ARGS_MAX)
    return kf_fail(m->err, KF_EINVAL, "kernel \"%s\" has more than %d arguments", request->entry,
                   KF_ARGS_MAX);
  for (int i = 0; i < request->nargs; i++) {
    const kf_kernel_arg *arg = &request->args[i];
    if (!kf_text_is_name(arg->name) || kf__task_is_reserved(arg->name))
      return kf_fail(m->err, KF_EINVAL, "argument %d is called \"%.64s\", which a task cannot use", i + 1,
                     arg->name);
    m->args[m->nargs++] = (kf__init_arg){.arg = arg};
    KF_TRY(read_type(m, &m->args[i]));
  }
  return KF_OK;
}

/* ---- --shape ---- */

static kf_status bad_shape(const kf__init_model *m, const char *option, const char *what) {
  kf_status status = kf_fail(m->err, KF_EINVAL, "--shape %.100s: %s", option, what);
  return kf_err_hint(m->err, status, "write --shape x=rows:4096,cols:1024 or --shape x=4096,1024");
}

/* One DIM: defines or finds its symbol. */
static kf_status read_dim(kf__init_model *m, const char *option, const kf__init_arg *arg, int dim, char *text,
                          int *ret_symbol) {
  kf__init_symbol symbol = {.value = -1};
  char *colon = strchr(text, ':');
  const char *number = colon != NULL ? colon + 1 : text;
  bool named = colon != NULL || kf_text_is_name(text);
  if (colon != NULL) *colon = '\0';
  if (named) {
    if (!kf_text_is_name(text) || kf__task_is_reserved(text))
      return bad_shape(m, option, "a dimension has no proper name");
    snprintf(symbol.name, sizeof symbol.name, "%s", text);
  } else {
    snprintf(symbol.name, sizeof symbol.name, "%.56s_%d", arg->arg->name, dim);
    symbol.fixed = true;
  }
  bool has_number = colon != NULL || !named;
  if (has_number && kf_text_int(number, 1, INT64_MAX, "dimension", &symbol.value, NULL) != KF_OK)
    return bad_shape(m, option, "a dimension is not a whole number above 0");
  const kf__init_arg *same = find_arg(m, symbol.name);
  if (same != NULL && (same->is_array || same->is_local))
    return bad_shape(m, option, "a dimension is called like an array");
  int index = find_symbol(m, symbol.name);
  if (index < 0) {
    if (m->nsymbols == KF_SYMBOLS_MAX) return bad_shape(m, option, "too many different dimensions");
    index = m->nsymbols++;
    m->symbols[index] = symbol;
  } else if (has_number) {
    if (m->symbols[index].value >= 0 && m->symbols[index].value != symbol.value)
      return bad_shape(m, option, "a dimension has another size than before");
    m->symbols[index].value = symbol.value;
  }
  *ret_symbol = index;
  return KF_OK;
}

static kf_status read_shape(kf__init_model *m, const char *option, char *text) {
  char *equals = strchr(text, '=');
  if (equals == NULL) return bad_shape(m, option, "no \"=\"");
  *equals = '\0';
  kf__init_arg *arg = find_arg(m, text);
  if (arg == NULL || !arg->is_array) return bad_shape(m, option, "the kernel has no array of this name");
  if (arg->rank > 0) return bad_shape(m, option, "the shape is given twice");
  for (char *next = equals + 1; next != NULL;) {
    char *dim = next;
    next = strchr(dim, ',');
    if (next != NULL) *next++ = '\0';
    if (arg->rank == KF_RANK_MAX) return bad_shape(m, option, "too many dimensions");
    KF_TRY(read_dim(m, option, arg, arg->rank, dim, &arg->dims[arg->rank]));
    arg->rank++;
  }
  return KF_OK;
}

static kf_status read_shapes(kf__init_model *m) {
  const kf__init_arg *shaped = NULL;
  for (int i = 0; i < m->request->nshapes; i++) {
    char *copy = kf_strdup(m->request->shapes[i]);
    if (copy == NULL) return kf_nomem(m->err);
    kf_status status = read_shape(m, m->request->shapes[i], copy);
    kf_free(copy);
    KF_TRY(status);
  }
  for (int i = 0; i < m->nsymbols; i++)
    if (m->symbols[i].value < 0)
      return kf_fail(m->err, KF_EINVAL, "--shape: dimension \"%s\" has no size in any option",
                     m->symbols[i].name);
  for (int i = 0; i < m->nargs && shaped == NULL; i++)
    if (m->args[i].rank > 0) shaped = &m->args[i];
  for (int i = 0; i < m->nargs; i++) {
    kf__init_arg *arg = &m->args[i];
    if (!arg->is_array || arg->rank > 0) continue;
    if (shaped == NULL) {
      kf_status status = kf_fail(m->err, KF_EINVAL, "array \"%s\" has no shape", arg->arg->name);
      return kf_err_hint(m->err, status, "add --shape %s=rows:4096,cols:1024", arg->arg->name);
    }
    arg->rank = shaped->rank;
    memcpy(arg->dims, shaped->dims, sizeof arg->dims);
    KF_TRY(kf__init_note(m, "%s: shape taken from %s; say --shape %s=... if it differs", arg->arg->name,
                         shaped->arg->name, arg->arg->name));
  }
  return KF_OK;
}

/* ---- roles ---- */

int kf__init_output(const kf__init_model *m) {
  for (int i = 0; i < m->nargs; i++)
    if (m->args[i].is_array && m->args[i].role != KF_ROLE_IN) return i;
  return -1;
}

static kf_status guess_array_roles(kf__init_model *m) {
  int inputs = 0, arrays = 0, last = -1;
  for (int i = 0; i < m->nargs; i++) {
    kf__init_arg *arg = &m->args[i];
    if (!arg->is_array) continue;
    bool is_input = arg->arg->is_const || arg->arg->is_constant;
    arg->role = is_input ? KF_ROLE_IN : KF_ROLE_OUT;
    inputs += is_input;
    arrays++;
    if (!is_input) last = i;
  }
  if (last < 0) {
    kf_status status = kf_fail(m->err, KF_EINVAL, "kernel \"%s\" writes no array: every pointer is const",
                               m->request->entry);
    return kf_err_hint(m->err, status, "an output is a __global pointer without const");
  }
  for (int i = 0; i < m->nargs && inputs == 0; i++) {
    kf__init_arg *arg = &m->args[i];
    if (!arg->is_array) continue;
    arg->role = arrays == 1 ? KF_ROLE_INOUT : i == last ? KF_ROLE_OUT : KF_ROLE_IN;
  }
  for (int i = 0; i < m->nargs; i++) {
    const kf__init_arg *arg = &m->args[i];
    if (arg->is_array && !arg->arg->is_const && !arg->arg->is_constant)
      KF_TRY(kf__init_note(m, "%s: role %s guessed%s", arg->arg->name, kf_role_name(arg->role),
                           inputs == 0 ? ", no pointer of the kernel is const"
                                       : ", not const; inout if it is also read"));
  }
  return KF_OK;
}

static kf_status read_scalar(kf__init_model *m, const char *option) {
  const char *equals = strchr(option, '=');
  char name[65];
  size_t len = equals != NULL ? (size_t)(equals - option) : 0;
  double value;
  kf__init_arg *arg = NULL;
  if (len > 0 && len < sizeof name) {
    memcpy(name, option, len);
    name[len] = '\0';
    arg = find_arg(m, name);
  }
  if (arg == NULL || arg->is_array || arg->is_local)
    return kf_fail(m->err, KF_EINVAL, "--scalar %.100s: the kernel has no argument by value of this name",
                   option);
  if (strlen(equals + 1) >= sizeof arg->value ||
      kf_text_real(equals + 1, -HUGE_VAL, HUGE_VAL, name, &value, NULL) != KF_OK)
    return kf_fail(m->err, KF_EINVAL, "--scalar %.100s: not a number", option);
  snprintf(arg->value, sizeof arg->value, "%s", equals + 1);
  return KF_OK;
}

/* An integer without a value: the k-th of them is taken for the k-th symbol that no argument is named after.
 */
static kf_status guess_integer(kf__init_model *m, kf__init_arg *arg, int *next) {
  while (*next < m->nsymbols && find_arg(m, m->symbols[*next].name) != NULL)
    (*next)++;
  if (*next < m->nsymbols) {
    const kf__init_symbol *symbol = &m->symbols[(*next)++];
    snprintf(arg->value, sizeof arg->value, "%lld", (long long)symbol->value);
    return kf__init_note(m,
                         "%s: value %s guessed, the size of %s; name the dimension (--shape ...=%s:%s) or "
                         "say --scalar %s=VALUE",
                         arg->arg->name, arg->value, symbol->name, arg->arg->name, arg->value,
                         arg->arg->name);
  }
  snprintf(arg->value, sizeof arg->value, "1");
  return kf__init_note(m, "%s: value 1 guessed; say --scalar %s=VALUE", arg->arg->name, arg->arg->name);
}

static kf_status guess_values(kf__init_model *m) {
  int next = 0;
  for (int i = 0; i < m->request->nscalars; i++)
    KF_TRY(read_scalar(m, m->request->scalars[i]));
  for (int i = 0; i < m->nargs; i++) {
    kf__init_arg *arg = &m->args[i];
    if (arg->is_array || arg->is_local) continue;
    int symbol = find_symbol(m, arg->arg->name);
    arg->role = KF_ROLE_SCALAR;
    if (symbol >= 0 && kf_type_is_float(arg->type))
      return kf_fail(m->err, KF_EINVAL, "dimension \"%s\" is called like a float argument", arg->arg->name);
    if (symbol >= 0) {
      if (arg->value[0] != '\0')
        return kf_fail(m->err, KF_EINVAL, "--scalar %s: it is a dimension of --shape", arg->arg->name);
      arg->role = KF_ROLE_SIZE;
    } else if (arg->value[0] == '\0' && kf_type_is_float(arg->type)) {
      snprintf(arg->value, sizeof arg->value, "1.0");
      KF_TRY(
          kf__init_note(m, "%s: value 1.0 guessed; say --scalar %s=VALUE", arg->arg->name, arg->arg->name));
    } else if (arg->value[0] == '\0') {
      KF_TRY(guess_integer(m, arg, &next));
    }
  }
  return KF_OK;
}

/* ---- the package ---- */

typedef struct {
  const char *dir;
  bool made_dir;
  kf_buf task, kernel, reference;
  char reference_name[256]; /* "" without */
} package;

static kf_status check_dir(package *p, kf_err *err) {
  DIR *listing = opendir(p->dir);
  if (listing == NULL && errno == ENOENT) return KF_OK;
  if (listing == NULL) return kf_fail(err, KF_EINVAL, "\"%.200s\": %s", p->dir, strerror(errno));
  int entries = 0;
  for (const struct dirent *entry; (entry = readdir(listing)) != NULL;)
    entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(listing);
  if (entries == 0) return KF_OK;
  kf_status status = kf_fail(err, KF_EINVAL, "folder \"%.200s\" exists and is not empty", p->dir);
  return kf_err_hint(err, status, "give a new folder");
}

static kf_status read_reference(kf__init_model *m, package *p) {
  const char *path = m->request->reference;
  if (path == NULL || strcmp(path, "kernel") == 0)
    return kf__init_note(m, "reference: the kernel itself is the oracle; a C reference (--reference FILE) "
                            "finds its mistakes too");
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  size_t len = strlen(base);
  bool is_c = len > 2 && strcmp(base + len - 2, ".c") == 0,
       is_torch = len > 3 && strcmp(base + len - 3, ".py") == 0;
  if ((!is_c && !is_torch) || len >= sizeof p->reference_name)
    return kf_fail(m->err, KF_EINVAL, "reference \"%.200s\" is neither kernel nor a .c or .py file", path);
  snprintf(p->reference_name, sizeof p->reference_name, "%s", base);
  return kf_fs_read(path, &p->reference, m->err);
}

static kf_status write_one(const package *p, const char *name, const kf_buf *text, kf_err *err) {
  char path[KF_PATH_MAX];
  KF_TRY(kf_fs_join(path, p->dir, name, err));
  return kf_fs_write(path, kf_buf_text(text), text->len, err);
}

/* What was written must be a task; else the guess was wrong, and nothing is left behind. */
static kf_status read_back(const package *p, kf_err *err) {
  kf_task *task = NULL;
  kf_plan *plan = NULL;
  kf_status status = kf_task_load(p->dir, &task, err);
  if (status == KF_OK) {
    const kf_task_file *kernel = task->kernel[KF_LANG_OPENCL];
    status = kf_plan_parse(task, kernel->bytes, kernel->len, kernel->path, &plan, err);
  }
  kf_plan_free(plan);
  kf_task_free(task);
  if (status == KF_OK || status == KF_ENOMEM) return status;
  return kf_err_context(err, status, "the package made of these options is no task");
}

static void remove_written(const package *p) {
  const char *names[] = {"task.yaml", "kernel.cl", p->reference_name};
  char path[KF_PATH_MAX];
  for (size_t i = 0; i < KF_COUNTOF(names); i++)
    if (names[i][0] != '\0' && kf_fs_join(path, p->dir, names[i], NULL) == KF_OK) unlink(path);
  if (p->made_dir) rmdir(p->dir);
}

static kf_status write_package(package *p, kf_err *err) {
  p->made_dir = !kf_fs_is_dir(p->dir);
  KF_TRY(kf_fs_mkdirs(p->dir, err));
  kf_status status = write_one(p, "task.yaml", &p->task, err);
  if (status == KF_OK) status = write_one(p, "kernel.cl", &p->kernel, err);
  if (status == KF_OK && p->reference_name[0] != '\0')
    status = write_one(p, p->reference_name, &p->reference, err);
  if (status == KF_OK) status = read_back(p, err);
  if (status != KF_OK) remove_written(p);
  return status;
}

/* The folder's name with what a task's name may not have left out. */
static void task_name(const char *dir, char ret_name[65]) {
  size_t end = strlen(dir), len = 0;
  while (end > 0 && dir[end - 1] == '/')
    end--;
  size_t begin = end;
  while (begin > 0 && dir[begin - 1] != '/')
    begin--;
  for (size_t i = begin; i < end && len < 64; i++) {
    char c = dir[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (letter || (len > 0 && (c == '-' || c == '.'))) ret_name[len++] = c;
  }
  ret_name[len] = '\0';
  if (len == 0) memcpy(ret_name, "task", 5);
}

static kf_status make_package(kf__init_model *m, package *p) {
  kf_buf source KF_CLEANUP(kf_buf_done);
  kf_buf_init(&source, KF__TASK_FILE_BYTES_MAX / 2);
  char name[65];
  KF_TRY(check_dir(p, m->err));
  KF_TRY(kf_fs_read(m->request->kernel_path, &source, m->err));
  KF_TRY(read_args(m));
  KF_TRY(read_shapes(m));
  KF_TRY(guess_array_roles(m));
  KF_TRY(guess_values(m));
  KF_TRY(read_reference(m, p));
  task_name(p->dir, name);
  KF_TRY(kf__init_task_text(m, name, p->reference_name, &p->task));
  KF_TRY(kf__init_kernel_text(m, kf_buf_text(&source), source.len, &p->kernel));
  return write_package(p, m->err);
}

kf_status kf_task_init(const char *dir, const kf_init_request *request, kf_buf *notes, kf_err *err) {
  package p = {.dir = dir};
  kf_buf_init(&p.task, KF__TREE_BYTES_MAX);
  kf_buf_init(&p.kernel, KF__TASK_FILE_BYTES_MAX);
  kf_buf_init(&p.reference, KF__TASK_FILE_BYTES_MAX);
  kf__init_model *m = kf_calloc(1, sizeof *m);
  kf_status status = KF_OK;
  if (m == NULL) {
    status = kf_nomem(err);
  } else {
    m->request = request;
    m->notes = notes;
    m->err = err;
    status = make_package(m, &p);
  }
  kf_free(m);
  kf_buf_done(&p.task);
  kf_buf_done(&p.kernel);
  kf_buf_done(&p.reference);
  return status;
}
