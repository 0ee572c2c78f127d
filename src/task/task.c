/* task.c - the two ways into a kf_task, its files, and questions about it. */
#include "task/task.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "task/schema.h"
#include "task/task_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- files ---- */

/* The bytes of a file that came with the wire; `buf` takes them. */
static kf_status bytes_by_hash(const kf__schema *s, const char *path, kf_buf *buf, kf_err *err) {
  const json_t *hex = json_object_get(s->hashes, path);
  kf_hash wanted, got;
  const char *bytes = NULL;
  size_t len = 0;
  if (!json_is_string(hex))
    return kf_fail(err, KF_EREFUSED, "file \"%.200s\" has no hash in \"files\"", path);
  if (!kf_fs_is_plain_relative(path))
    return kf_fail(err, KF_EREFUSED, "\"%.200s\" is not a plain path", path);
  if (kf_hash_parse(json_string_value(hex), &wanted, NULL) != KF_OK)
    return kf_fail(err, KF_EREFUSED, "file \"%.200s\": its hash is no SHA-256", path);
  if (!s->find(s->find_context, &wanted, &bytes, &len))
    return kf_fail(err, KF_EREFUSED, "file \"%.200s\" (%.12s...) was not sent", path, json_string_value(hex));
  kf_hash_bytes(bytes, len, &got);
  if (!kf_hash_equal(&wanted, &got))
    return kf_fail(err, KF_EREFUSED, "file \"%.200s\": the bytes do not match their hash", path);
  if (len > buf->max)
    return kf_fail(err, KF_EREFUSED, "file \"%.200s\" is larger than %zu bytes", path, buf->max);
  return kf_buf_append(buf, bytes, len, err);
}

/* Keeps the bytes as the next file of the task. */
static kf_status keep_file(kf__schema *s, const char *path, const kf_buf *buf) {
  kf_task *task = s->task;
  char *bytes = kf_arena_alloc(&task->arena, buf->len + 1);
  if (bytes == NULL) return kf_nomem(s->err);
  if (buf->len > 0) memcpy(bytes, buf->data, buf->len);
  kf_task_file *file = &s->files[task->nfiles];
  *file = (kf_task_file){.bytes = bytes, .len = buf->len};
  KF_TRY(kf__schema_copy(s, path, &file->path));
  kf_hash_bytes(bytes, buf->len, &file->hash);
  s->bytes += buf->len;
  task->nfiles++;
  return KF_OK;
}

static kf_status read_file(kf__schema *s, const kf__node *node, const char *path, kf_buf *buf) {
  kf_err detail = {0};
  if (s->task->nfiles == KF__TASK_FILES_MAX)
    return kf__schema_fail(s, node, "more than %d files", KF__TASK_FILES_MAX);
  kf_status status = s->dir_fd >= 0 ? kf__task_file_read(s->dir_fd, path, buf, &detail)
                                    : bytes_by_hash(s, path, buf, &detail);
  if (status == KF_ENOMEM) return kf_nomem(s->err);
  if (status != KF_OK) {
    status = kf__schema_fail(s, node, "%s", detail.msg);
    return detail.hint[0] != '\0' ? kf_err_hint(s->err, status, "%s", detail.hint) : status;
  }
  if (s->bytes + buf->len > KF__TASK_BYTES_MAX)
    return kf__schema_fail(s, node, "the files of the task are larger than %d bytes", KF__TASK_BYTES_MAX);
  return keep_file(s, path, buf);
}

kf_status kf__schema_file(kf__schema *s, const kf__node *node, const char *path, bool is_text,
                          const kf_task_file **ret_file) {
  int index = 0;
  while (index < s->task->nfiles && strcmp(s->files[index].path, path) != 0)
    index++;
  if (index == s->task->nfiles) {
    kf_buf buf;
    kf_buf_init(&buf, KF__TASK_FILE_BYTES_MAX);
    kf_status status = read_file(s, node, path, &buf);
    kf_buf_done(&buf);
    KF_TRY(status);
  }
  const kf_task_file *file = &s->files[index];
  if (is_text && memchr(file->bytes, '\0', file->len) != NULL)
    return kf__schema_fail(s, node, "file \"%.200s\" is not a text", path);
  *ret_file = file;
  return KF_OK;
}

/* ---- life ---- */

void kf_task_free(kf_task *task) {
  if (task == NULL) return;
  kf_arena_done(&task->arena);
  kf_free(task);
}

static void task_freep(kf_task **task) {
  kf_task_free(*task);
}

static kf_status new_task(kf__schema *s) {
  kf_task *task = kf_calloc(1, sizeof *task);
  if (task == NULL) return kf_nomem(s->err);
  s->task = task;
  s->files = kf_arena_array(&task->arena, KF__TASK_FILES_MAX, sizeof *s->files);
  task->files = s->files;
  return s->files != NULL ? KF_OK : kf_nomem(s->err);
}

/* The id, after all else is known. */
static kf_status seal(kf_task *task, kf_err *err) {
  json_t *json KF_CLEANUP(kf_json_freep) = NULL;
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, (size_t)64 << 20);
  KF_TRY(kf_task_to_json(task, &json, err));
  KF_TRY(kf_json_dump(json, &text, err));
  kf_hash_bytes(text.data, text.len, &task->id);
  return KF_OK;
}

/* ---- from a folder ---- */

typedef struct {
  char dir[KF_PATH_MAX];
  const char *file; /* name of the YAML file in it */
} task_place;

static kf_status find_place(const char *path, task_place *ret_place, kf_err *err) {
  size_t len = strlen(path);
  if (len == 0 || len >= KF_PATH_MAX - 16)
    return kf_fail(err, KF_EINVAL, "path \"%.60s\" is empty or too long", path);
  memcpy(ret_place->dir, path, len + 1);
  ret_place->file = "task.yaml";
  if (kf_fs_is_dir(path)) return KF_OK;
  if (!kf_fs_exists(path)) return kf_fail(err, KF_ENOTFOUND, "task \"%.200s\" does not exist", path);
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  size_t base_len = strlen(base);
  if (base_len < 6 || strcmp(base + base_len - 5, ".yaml") != 0) {
    kf_status status = kf_fail(err, KF_EINVAL, "\"%.200s\" is neither a folder nor a .yaml file", path);
    return kf_err_hint(err, status, "give the folder of the task");
  }
  ret_place->file = base;
  if (slash == NULL)
    memcpy(ret_place->dir, ".", 2);
  else
    ret_place->dir[slash == path ? 1 : slash - path] = '\0';
  return KF_OK;
}

static kf_status read_yaml(int dir_fd, const task_place *place, kf_buf *text, kf_err *err) {
  int fd = openat(dir_fd, place->file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    kf_status status = kf_fail(err, KF_ENOTFOUND, "\"%.200s\" holds no %s", place->dir, place->file);
    return kf_err_hint(err, status, "kf init makes a task from a kernel");
  }
  if (fd < 0) return kf_fail(err, KF_EIO, "%s: %s", place->file, strerror(errno));
  return kf__task_fd_read(fd, place->file, text, err);
}

static kf_status load(kf__schema *s, const task_place *place, kf_arena *scratch, kf_buf *text) {
  kf__node *root = NULL;
  KF_TRY(read_yaml(s->dir_fd, place, text, s->err));
  KF_TRY(kf__tree_from_yaml(scratch, kf_buf_text(text), text->len, place->file, &root, s->err));
  KF_TRY(new_task(s));
  KF_TRY(kf__schema_copy(s, place->dir, &s->task->dir));
  KF_TRY(kf__schema_read(s, root));
  return seal(s->task, s->err);
}

kf_status kf_task_load(const char *path, kf_task **ret_task, kf_err *err) {
  task_place place = {.file = "task.yaml"};
  KF_TRY(find_place(path, &place, err));
  kf__schema s = {.name = place.file, .err = err};
  s.dir_fd = open(place.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (s.dir_fd < 0) return kf_fail(err, KF_EIO, "folder \"%.200s\": %s", place.dir, strerror(errno));
  kf_arena scratch = {0};
  kf_buf text;
  kf_buf_init(&text, KF__TREE_BYTES_MAX);
  kf_status status = load(&s, &place, &scratch, &text);
  kf_buf_done(&text);
  kf_arena_done(&scratch);
  close(s.dir_fd);
  if (status == KF_OK)
    *ret_task = s.task;
  else
    kf_task_free(s.task);
  return status;
}

/* ---- from the wire ---- */

kf_status kf_task_from_json(const json_t *json, kf_blob_find find, void *context, kf_task **ret_task,
                            kf_err *err) {
  json_t *body, *hashes;
  KF_TRY(kf_json_obj(json, "task", &body, err));
  KF_TRY(kf_json_obj(json, "files", &hashes, err));
  kf__schema s = {
      .name = "task", .err = err, .dir_fd = -1, .find = find, .find_context = context, .hashes = hashes};
  kf_arena scratch = {0};
  kf__node *root = NULL;
  kf_status status = kf__tree_from_json(&scratch, body, &root, err);
  if (status == KF_OK) status = new_task(&s);
  kf_task *task KF_CLEANUP(task_freep) = s.task;
  if (status == KF_OK) status = kf__schema_read(&s, root);
  if (status == KF_OK) status = seal(s.task, err);
  kf_arena_done(&scratch);
  KF_TRY(status);
  *ret_task = task;
  task = NULL;
  return KF_OK;
}

/* ---- questions ---- */

int kf_task_symbol(const kf_task *task, const char *name) {
  for (int i = 0; i < task->nsymbols; i++)
    if (strcmp(task->symbols[i].name, name) == 0) return i;
  return -1;
}

int kf_task_arg(const kf_task *task, const char *name) {
  for (int i = 0; i < task->nargs; i++)
    if (strcmp(task->args[i].name, name) == 0) return i;
  return -1;
}

bool kf_task_has_language(const kf_task *task, kf_language language) {
  for (int i = 0; i < task->nlanguages; i++)
    if (task->languages[i] == language) return true;
  return false;
}

kf_status kf_task_elements(const kf_task *task, int arg, const int64_t *symbols, int64_t *ret_elements,
                           int64_t ret_shape[KF_RANK_MAX], kf_err *err) {
  const kf_arg_spec *spec = &task->args[arg];
  kf_value slots[KF_SYMBOLS_MAX];
  int64_t elements = 1, shape[KF_RANK_MAX] = {0}, bytes;
  for (int i = 0; i < task->nsymbols; i++)
    slots[i] = (kf_value){.number = symbols[i]};
  for (int d = 0; d < spec->rank; d++) {
    int column = 0;
    kf_err detail = {0};
    if (kf__expr_int_slots(spec->shape[d], slots, &shape[d], &column, &detail) != KF_OK)
      return kf_fail(err, KF_EREFUSED, "shape of \"%s\": \"%.100s\": column %d: %s", spec->name,
                     kf_expr_text(spec->shape[d]), column, detail.msg);
    if (shape[d] < 0)
      return kf_fail(err, KF_EREFUSED, "shape of \"%s\": \"%.100s\" is %lld, below zero", spec->name,
                     kf_expr_text(spec->shape[d]), (long long)shape[d]);
    if (__builtin_mul_overflow(elements, shape[d], &elements))
      return kf_fail(err, KF_EREFUSED, "shape of \"%s\": more elements than 64 bits count", spec->name);
  }
  if (__builtin_mul_overflow(elements, (int64_t)kf_type_size(spec->type), &bytes))
    return kf_fail(err, KF_EREFUSED, "shape of \"%s\": more bytes than 64 bits count", spec->name);
  *ret_elements = elements;
  if (ret_shape != NULL) memcpy(ret_shape, shape, sizeof shape);
  return KF_OK;
}

kf_status kf_task_check_case(const kf_task *task, const int64_t *symbols, kf_err *err) {
  for (int i = 0; i < task->nsymbols; i++) {
    const kf_symbol *symbol = &task->symbols[i];
    long long value = symbols[i];
    if (value < symbol->min || value > symbol->max) {
      kf_status status =
          kf_fail(err, KF_EREFUSED, "symbol \"%s\": %lld is outside of its domain", symbol->name, value);
      return kf_err_hint(err, status, "%lld to %lld", (long long)symbol->min, (long long)symbol->max);
    }
    if (value % symbol->multiple_of != 0)
      return kf_fail(err, KF_EREFUSED, "symbol \"%s\": %lld is not a multiple of %lld", symbol->name, value,
                     (long long)symbol->multiple_of);
  }
  return KF_OK;
}

kf_status kf_task_case_text(const kf_task *task, const int64_t *symbols, kf_buf *buf, kf_err *err) {
  for (int i = 0; i < task->nsymbols; i++)
    KF_TRY(
        kf_buf_printf(buf, err, "%s%s=%lld", i > 0 ? "," : "", task->symbols[i].name, (long long)symbols[i]));
  return KF_OK;
}
