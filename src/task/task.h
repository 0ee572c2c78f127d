/* task.h - a task package, read once and immutable: what must be computed, on which shapes, against what
 * (docs/formats/task.md).
 *
 * Two front ends give the same kf_task: `task.yaml` in a folder, and the canonical JSON that travels on the
 * wire with its files named by hash. Everything lives in the task's arena; pointers are valid until
 * kf_task_free. Threads: read-only. */
#ifndef KF_TASK_TASK_H
#define KF_TASK_TASK_H

#include "base/hash.h"
#include "base/json.h"
#include "task/expr.h"
#include "task/types.h"

enum { KF_RANK_MAX = 8, KF_ARGS_MAX = 32, KF_SYMBOLS_MAX = 32, KF_CASES_MAX = 64, KF_SEEDS_MAX = 64 };

typedef struct {
  const char *name;
  int64_t initial, min, max, multiple_of; /* multiple_of >= 1 */
  bool fixed;                             /* a plain number: no hidden shapes */
} kf_symbol;

typedef struct {
  const char *name;
  kf_role role;
  kf_type type;
  int rank;                          /* 0 for size and scalar */
  const kf_expr *shape[KF_RANK_MAX]; /* over symbols */
  kf_fill fill;                      /* in, inout */
  double value;                      /* scalar */
  int symbol;                        /* size: index of the symbol of the same name */
} kf_arg_spec;

typedef struct {
  int64_t values[KF_SYMBOLS_MAX]; /* one for each symbol, in order */
  const char *origin;             /* "upstream", ... or NULL */
} kf_case;

typedef enum {
  KF_LANG_OPENCL,
  KF_LANG_CUDA,
  KF_LANG_HIP,
  KF_LANG_SYCL,
  KF_LANG_C,
  KF_LANG_TRITON,
  KF_LANG_COUNT
} kf_language;
const char *kf_language_name(kf_language language);
bool kf_language_parse(const char *name, kf_language *ret_language);
/* By the ending of a file's name (.cl, .cu, .hip, .c); false for any other. */
bool kf_language_of_file(const char *name, kf_language *ret_language);
const char *kf_language_ending(kf_language language); /* "cl", "c"; "txt" for a language without one */

typedef struct {
  const char *path; /* within the package, plain relative */
  kf_hash hash;
  const char *bytes; /* NUL-terminated one past len */
  size_t len;
} kf_task_file;

typedef enum { KF_REFERENCE_C, KF_REFERENCE_TORCH, KF_REFERENCE_KERNEL } kf_reference_kind;
typedef enum {
  KF_COMPARE_BOUND,
  KF_COMPARE_EXACT,
  KF_COMPARE_BITWISE,
  KF_COMPARE_SET,
  KF_COMPARE_ARGMAX
} kf_compare;
typedef enum { KF_ERROR_CALIBRATED, KF_ERROR_LINEAR, KF_ERROR_EXACT } kf_error_kind;
typedef enum {
  KF_BASELINE_KERNEL,
  KF_BASELINE_REFERENCE,
  KF_BASELINE_FILE,
  KF_BASELINE_TORCH_EAGER,
  KF_BASELINE_TORCH_COMPILE
} kf_baseline_kind;

typedef struct {
  const char *name, *value; /* value as text: number, word or type */
} kf_param_override;

typedef struct kf_task {
  const char *name;
  kf_language languages[KF_LANG_COUNT];
  int nlanguages;
  kf_symbol symbols[KF_SYMBOLS_MAX];
  int nsymbols;
  kf_arg_spec args[KF_ARGS_MAX];
  int nargs;
  kf_compare compare[KF_ARGS_MAX]; /* by argument; meaningful for out and inout */
  kf_error_kind error_kind;
  const kf_expr *error_depth; /* linear: K over symbols */
  const kf_expr *operations;  /* arithmetic of one call over symbols; NULL: not said */
  bool determinism_tolerance; /* false: bitwise */
  bool measure_defaulted;     /* task.yaml has no `measure`: the one case is made of the symbols' defaults */
  const kf_task_file *kernel[KF_LANG_COUNT]; /* NULL if the language has none */
  const kf_task_file *seeds[KF_LANG_COUNT][KF_SEEDS_MAX];
  int nseeds[KF_LANG_COUNT];
  kf_reference_kind reference_kind;
  const kf_task_file *reference; /* NULL for KF_REFERENCE_KERNEL */
  const char *reference_entry;
  kf_baseline_kind baseline_kind;
  const kf_task_file *baseline; /* KF_BASELINE_FILE */
  kf_param_override *params;
  int nparams;
  kf_case check[KF_CASES_MAX], measure[KF_CASES_MAX];
  int ncheck, nmeasure;
  const kf_task_file *files; /* every file the task names, each once */
  int nfiles;
  kf_hash id;      /* SHA-256 of the canonical JSON, file hashes included */
  const char *dir; /* folder it was loaded from, NULL if from the wire */
  kf_arena arena;
} kf_task;

/* Reads DIR/task.yaml (or the file itself if `path` ends in .yaml) and every file it names. A mistake in it
 * is KF_EREFUSED with "task.yaml:LINE:COL: ..." and a hint with the nearest known key; a missing folder is
 * KF_ENOTFOUND. */
kf_status kf_task_load(const char *path, kf_task **ret_task, kf_err *err);
/* Canonical JSON: {"task":{...},"files":{path:sha256}}. Owned by the caller. */
kf_status kf_task_to_json(const kf_task *task, json_t **ret_json, kf_err *err);
/* Finds the bytes of a file by hash; false if unknown. Bytes are copied by the caller. */
typedef bool (*kf_blob_find)(void *context, const kf_hash *hash, const char **ret_bytes, size_t *ret_len);
/* A mistake in the task is KF_EREFUSED "task: ...", JSON without "task" and "files" is KF_EPROTO. */
kf_status kf_task_from_json(const json_t *json, kf_blob_find find, void *context, kf_task **ret_task,
                            kf_err *err);
void kf_task_free(kf_task *task);

int kf_task_symbol(const kf_task *task, const char *name); /* index, or -1 */
int kf_task_arg(const kf_task *task, const char *name);    /* index, or -1 */
bool kf_task_has_language(const kf_task *task, kf_language language);
/* Elements of argument `arg` for a case (product of its shape, 1 for rank 0), and its shape. Negative or
 * overflowing sizes: KF_EREFUSED. */
kf_status kf_task_elements(const kf_task *task, int arg, const int64_t *symbols, int64_t *ret_elements,
                           int64_t ret_shape[KF_RANK_MAX], kf_err *err);
/* Every symbol within its domain? KF_EREFUSED names the symbol. */
kf_status kf_task_check_case(const kf_task *task, const int64_t *symbols, kf_err *err);
/* "rows=33,cols=1000" */
kf_status kf_task_case_text(const kf_task *task, const int64_t *symbols, kf_buf *buf, kf_err *err);

#endif
