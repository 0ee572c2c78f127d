/* schema.h - private to src/task: from a tree (tree.h) to a kf_task. One reader serves both front ends. */
#ifndef KF_TASK_SCHEMA_H
#define KF_TASK_SCHEMA_H

#include "task/expr_private.h"
#include "task/task.h"
#include "task/tree.h"

enum { KF__TASK_FILES_MAX = 512, KF__TASK_FILE_BYTES_MAX = 4 << 20, KF__TASK_BYTES_MAX = 32 << 20 };

typedef struct {
  kf_task *task;
  const char *name; /* of the file, in messages */
  kf_err *err;
  int dir_fd; /* folder of the package; -1: files come by hash */
  kf_blob_find find;
  void *find_context;
  const json_t *hashes; /* path -> hex */
  kf_task_file *files;  /* task->files, writable */
  size_t bytes;         /* of all files so far */
} kf__schema;

/* Reads the whole task but for its id. */
kf_status kf__schema_read(kf__schema *s, const kf__node *root);

/* ---- helpers of the schema's files ---- */

kf_status kf__schema_fail(const kf__schema *s, const kf__node *node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails for `word`, with the nearest of `names` or all of them as the hint. */
kf_status kf__schema_unknown(const kf__schema *s, const kf__node *node, const char *what, const char *word,
                             const char *const *names);
kf_status kf__schema_map(const kf__schema *s, const kf__node *node, const char *what);
/* A map whose keys are all in `names` (NULL-terminated). */
kf_status kf__schema_keys(const kf__schema *s, const kf__node *node, const char *what,
                          const char *const *names);
const kf__node *kf__schema_get(const kf__node *map, const char *key);
kf_status kf__schema_need(const kf__schema *s, const kf__node *map, const char *key,
                          const kf__node **ret_value);
kf_status kf__schema_text(const kf__schema *s, const kf__node *node, const char *what, const char **ret_text);
kf_status kf__schema_int(const kf__schema *s, const kf__node *node, const char *what, int64_t min,
                         int64_t max, int64_t *ret_value);
/* Index of the node's text in `names`. */
kf_status kf__schema_choice(const kf__schema *s, const kf__node *node, const char *what,
                            const char *const *names, int *ret_index);
/* A C identifier that is not reserved in expressions and launch plans. */
kf_status kf__schema_name(const kf__schema *s, const kf__node *node, const char *what, const char **ret_name);
/* An expression over symbols, bound to their indices. */
kf_status kf__schema_expr(const kf__schema *s, const kf__node *node, const kf_expr **ret_expr);
kf_status kf__schema_copy(const kf__schema *s, const char *text, const char **ret_copy);
/* A file of the package, read once; `is_text`: refuse NULs. */
kf_status kf__schema_file(kf__schema *s, const kf__node *node, const char *path, bool is_text,
                          const kf_task_file **ret_file);

kf_status kf__schema_symbols(kf__schema *s, const kf__node *node); /* schema_args.c; node may be NULL */
kf_status kf__schema_args(kf__schema *s, const kf__node *node);    /* schema_args.c */
/* After the cases are known: shapes can be computed, fills fit (schema_args.c). */
kf_status kf__schema_check_shapes(kf__schema *s, const kf__node *args_node);

bool kf__task_is_reserved(
    const char *name); /* words that symbols, arguments, params, lets and temps cannot be called */

#endif
