/* plan.h - the launch plan in a kernel's source: `//kf:` directives (docs/formats/launch-plan.md).
 *
 * In the host form (docs/formats/host-form.md) the plan is params, wheres and lets only, and its calls are
 * one step that calls kf_run.
 *
 * source text -> kf_plan (parsed once, immutable) + kf_binding (a value for each param) + symbols of a case
 *             -> kf_calls (numbers only: what a runner executes, no expression left).
 * Threads: a kf_plan is read-only after parsing. */
#ifndef KF_TASK_PLAN_H
#define KF_TASK_PLAN_H

#include "base/buf.h"
#include "base/philox.h"
#include "task/task.h"

enum {
  KF_PARAMS_MAX = 64,
  KF_TEMPS_MAX = 16,
  KF_STEPS_MAX = 32,
  KF_STEP_ARGS_MAX = 64,
  KF_CHOICES_MAX = 4096
};

typedef struct {
  const char *name;
  kf_value *choices; /* the space in its declared order; one entry when the param is bound (no "in") */
  int nchoices;
  int initial; /* index of the default in choices */
  int line;
} kf_param;

typedef struct kf_plan kf_plan; /* opaque; accessors below */

/* What dev.* names give in expressions, and what limits a launch; a limit of 0 is no limit. Never NULL below.
 */
typedef struct {
  int64_t units;        /* dev.units: compute units */
  int64_t local_bytes;  /* dev.local_bytes */
  int64_t max_group;    /* dev.max_group: work-items of a group */
  int64_t max_local[3]; /* per dimension */
  int64_t simd_width;   /* dev.simd: preferred float vector width */
  int64_t is_cpu;       /* dev.cpu: 0 or 1 */
} kf_device_limits;

/* A choice index for each param of one plan, in the plan's order. Plain data. */
typedef struct {
  int16_t choice[KF_PARAMS_MAX];
} kf_binding;

/* Parses the directives of a source. `name` is used in messages, and its ending says the language (.cl, .cu,
 * .hip, .c; else the task's first). Any mistake (unknown or duplicate directive, unknown name, args that are
 * no task argument, temp, symbol, param or let; no launch; a directive outside of the EVOLVE blocks where
 * there are any) is KF_EREFUSED with "NAME:LINE:COL: ..."; it is a property of the candidate: the caller
 * makes a `refused` verdict of it. Overrides of task.yaml's `params` are applied. The plan keeps a copy of
 * the source and borrows `task`, which must outlive it. A symbol, param or let as a launch argument is passed
 * as i32, a size or scalar of the task in its declared type. */
kf_status kf_plan_parse(const kf_task *task, const char *source, size_t len, const char *name,
                        kf_plan **ret_plan, kf_err *err);
/* The same for a source whose language is known otherwise. */
kf_status kf_plan_parse_as(const kf_task *task, kf_language language, const char *source, size_t len,
                           const char *name, kf_plan **ret_plan, kf_err *err);
void kf_plan_free(kf_plan *plan);

int kf_plan_nparams(const kf_plan *plan);
const kf_param *kf_plan_param(const kf_plan *plan, int index);
void kf_plan_default(const kf_plan *plan, kf_binding *ret_binding);
/* "TILE=16,VEC=4": declared order; the canonical text, "" without params. */
kf_status kf_plan_binding_text(const kf_plan *plan, const kf_binding *binding, kf_buf *buf, kf_err *err);
/* Starts from the defaults; unknown names or values outside the space are KF_EINVAL with the nearest name /
 * the space. */
kf_status kf_plan_binding_parse(const kf_plan *plan, const char *text, kf_binding *ret_binding, kf_err *err);
/* All `where` directives true for these symbols? False sets *ret_reason (may be NULL) to "where EXPR (line
 * N)" and leaves err alone; an expression that cannot be evaluated is KF_EREFUSED. */
kf_status kf_plan_legal(const kf_plan *plan, const kf_binding *binding, const int64_t *symbols,
                        const kf_device_limits *limits, bool *ret_legal, const char **ret_reason,
                        kf_err *err);
/* Number of points of the unconstrained space, saturating at INT64_MAX. */
int64_t kf_plan_space(const kf_plan *plan);
/* A compiler's "-DTILE=16 -DVEC=4". */
kf_status kf_plan_defines(const kf_plan *plan, const kf_binding *binding, kf_buf *buf, kf_err *err);
/* The source with every param fixed to the binding ("//kf: param TILE = 32"): what is exported. */
kf_status kf_plan_bind_source(const kf_plan *plan, const kf_binding *binding, kf_buf *buf, kf_err *err);
/* Source without comments, directives and layout, params by value: equal text = same kernel. For
 * de-duplication. */
kf_status kf_plan_normalised_hash(const kf_plan *plan, const kf_binding *binding, kf_hash *ret_hash,
                                  kf_err *err);

/* ---- resolved for one case ---- */

/* HOST_RUN: one call of the candidate's kf_run, the only step of the host form. */
typedef enum { KF_STEP_FILL, KF_STEP_LAUNCH, KF_STEP_HOST_RUN } kf_step_kind;
typedef enum { KF_STEP_ARG_BUFFER, KF_STEP_ARG_BYTES, KF_STEP_ARG_LOCAL } kf_step_arg_kind;

typedef struct {
  kf_step_arg_kind kind;
  int buffer;          /* BUFFER: index into kf_calls.buffers */
  uint8_t bytes[16];   /* BYTES: little-endian value */
  uint32_t nbytes;     /* BYTES: its size, 1..16 */
  int64_t local_bytes; /* LOCAL */
} kf_step_arg;

typedef struct {
  kf_step_kind kind;
  int line;       /* of the directive */
  char entry[64]; /* LAUNCH: kernel name; HOST_RUN: "kf_run" */
  int64_t global[3], local[3], shared;
  kf_step_arg args[KF_STEP_ARGS_MAX]; /* LAUNCH; HOST_RUN: the task's arguments in order, BUFFER or BYTES */
  int nargs;
  int buffer;         /* FILL: which buffer */
  uint8_t pattern[8]; /* FILL: one element */
  uint32_t npattern;
} kf_step;

typedef struct {
  const char *name; /* borrowed from task or plan */
  kf_role role;     /* temps: KF_ROLE_OUT with is_temp */
  bool is_temp;
  kf_type type;
  int64_t elements, bytes;
  int arg; /* index into task->args, -1 for temps */
} kf_buffer_spec;

/* What kf_run is told beyond its arguments' memory (docs/formats/host-form.md). */
typedef struct {
  int32_t nargs, nsymbols;
  struct kf_host_arg {
    kf_type type;
    kf_role role;
    int32_t rank;
    int64_t shape[KF_RANK_MAX];
  } args[KF_ARGS_MAX]; /* in the task's order */
  int64_t symbols[KF_SYMBOLS_MAX];
} kf_host_call;

/* All arrays of the task (in, out, inout; task order) and then the temps, and the steps in file order. Steps
 * whose `if` is false are left out. Plain data, freed with kf_calls_free. */
typedef struct {
  kf_buffer_spec buffers[KF_ARGS_MAX + KF_TEMPS_MAX];
  int nbuffers;
  kf_step *steps;
  int nsteps;
  kf_host_call *host; /* NULL: the device form */
} kf_calls;

/* `task` is the one the plan was parsed for. Errors are KF_EREFUSED (a property of the candidate): `where`
 * false on this case, global not a multiple of local, a group larger than the device's limit, overflow, each
 * with "NAME:LINE: ..." and the case. */
kf_status kf_plan_resolve(const kf_plan *plan, const kf_task *task, const kf_binding *binding,
                          const int64_t *symbols, const kf_device_limits *limits, kf_calls **ret_calls,
                          kf_err *err);
void kf_calls_free(kf_calls *calls);
/* Adds the scratch memory that a candidate of the host form has asked for as a temp "workspace"; 0 bytes:
 * none. Once at most. */
void kf_calls_add_workspace(kf_calls *calls, int64_t bytes);

/* ---- drawing bindings (emitters) ---- */

/* A uniform legal binding by rejection, at most 10,000 draws, for the symbols of every check and measure
 * case; KF_ENOTFOUND if none. Legal here: every `where` is true and every launch is within the limits. */
kf_status kf_plan_sample(const kf_plan *plan, const kf_task *task, const kf_device_limits *limits,
                         kf_rng *rng, kf_binding *ret_binding, kf_err *err);
/* A legal neighbour: one param (sometimes two) moved, near values preferred; KF_ENOTFOUND if none was found.
 */
kf_status kf_plan_mutate(const kf_plan *plan, const kf_task *task, const kf_device_limits *limits,
                         kf_rng *rng, const kf_binding *from, kf_binding *ret_binding, kf_err *err);

#endif
