/* prompt.c - the prompt of an ask as Markdown: what is to be computed, what a candidate may be, what is known
 * so far. Written for a reader that sees nothing else, a model or a person at the mailbox. The same ask gives
 * the same bytes. prompt_kernel.c writes the kernels that are shown. */
#include "propose/prompt_int.h"
#include "task/markers.h"

#include "base/banned.h"

static const char *const language_titles[KF_LANG_COUNT] = {
    [KF_LANG_OPENCL] = "OpenCL C", [KF_LANG_CUDA] = "CUDA C++", [KF_LANG_HIP] = "HIP C++",
    [KF_LANG_SYCL] = "SYCL C++",   [KF_LANG_C] = "C17",         [KF_LANG_TRITON] = "Triton",
};

static kf_status write_goal(const kf_ask *ask, kf_buf *buf, kf_err *err) {
  const char *title = language_titles[ask->language];
  KF_TRY(kf_buf_printf(buf, err, "# Kernel `%s`, %s, proposal %lld\n\n", ask->task->name, title,
                       (long long)ask->id));
  if (!ask->parent)
    return kf_buf_printf(
        buf, err,
        "Write a fast and correct %s kernel for the task below. It is built, verified against the "
        "reference on many shapes and inputs, and timed on the device.\n\n",
        title);
  if (ask->emitter == KF_EMIT_FIX)
    return kf_buf_puts(
        buf,
        "The kernel under \"Parent\" fails. Find the cause in its diagnosis and return a corrected "
        "version that keeps its idea.\n\n",
        err);
  KF_TRY(kf_buf_puts(
      buf,
      "Return a kernel that is faster than the one under \"Parent\" and still correct. It is built, "
      "verified against the reference on many shapes and inputs, and raced on the device. ",
      err));
  if (ask->emitter == KF_EMIT_SAMPLE || ask->emitter == KF_EMIT_TUNE)
    return kf_buf_puts(
        buf, "Vary its parameters and schedule first, its structure only where that helps.\n\n", err);
  return kf_buf_puts(buf, "Change what limits it, not its layout or its comments.\n\n", err);
}

/* ---- the task ---- */

static kf_status write_fill(const kf_task *task, const kf_fill *fill, kf_buf *buf, kf_err *err) {
  switch (fill->kind) {
  case KF_FILL_NORMAL:
    return kf_buf_puts(buf, "normal values", err);
  case KF_FILL_UNIFORM:
    return kf_buf_puts(buf, "uniform in [0, 1)", err);
  case KF_FILL_INT:
    return kf_buf_printf(buf, err, "integers in [%lld, %lld)", (long long)fill->lo, (long long)fill->hi);
  case KF_FILL_INDEX:
    return kf_buf_printf(buf, err, "indices in [0, %s)", task->symbols[fill->symbol].name);
  case KF_FILL_PERMUTATION:
    return kf_buf_puts(buf, "a permutation", err);
  case KF_FILL_SORTED:
    return kf_buf_puts(buf, "ascending", err);
  case KF_FILL_SPD:
    return kf_buf_puts(buf, "symmetric positive definite", err);
  case KF_FILL_CONSTANT:
    return kf_buf_printf(buf, err, "all %g", fill->value);
  case KF_FILL_FILE:
    return kf_buf_printf(buf, err, "from the file %s", fill->file);
  }
  return KF_OK;
}

static kf_status write_arg(const kf_task *task, const kf_arg_spec *arg, kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err, "| `%s` | %s | %s | ", arg->name, kf_role_name(arg->role),
                       kf_type_name(arg->type)));
  for (int i = 0; i < arg->rank; i++)
    KF_TRY(kf_buf_printf(buf, err, "%s%s", i == 0 ? "[" : ", ", kf_expr_text(arg->shape[i])));
  if (arg->rank > 0) KF_TRY(kf_buf_puts(buf, "]", err));
  KF_TRY(kf_buf_puts(buf, " | ", err));
  if (arg->role == KF_ROLE_IN || arg->role == KF_ROLE_INOUT) KF_TRY(write_fill(task, &arg->fill, buf, err));
  if (arg->role == KF_ROLE_SCALAR) KF_TRY(kf_buf_printf(buf, err, "%g", arg->value));
  return kf_buf_puts(buf, " |\n", err);
}

static kf_status write_symbols(const kf_task *task, kf_buf *buf, kf_err *err) {
  for (int i = 0; i < task->nsymbols; i++) {
    const kf_symbol *symbol = &task->symbols[i];
    if (symbol->fixed) {
      KF_TRY(kf_buf_printf(buf, err, "- `%s` is always %lld\n", symbol->name, (long long)symbol->initial));
      continue;
    }
    KF_TRY(kf_buf_printf(buf, err, "- `%s` is anything from %lld to %lld", symbol->name,
                         (long long)symbol->min, (long long)symbol->max));
    if (symbol->multiple_of > 1)
      KF_TRY(kf_buf_printf(buf, err, " that is a multiple of %lld", (long long)symbol->multiple_of));
    KF_TRY(kf_buf_printf(buf, err, ", by default %lld\n", (long long)symbol->initial));
  }
  return kf_buf_puts(buf, "\n", err);
}

static kf_status write_cases(const kf_task *task, const kf_case *cases, int count, const char *title,
                             kf_buf *buf, kf_err *err) {
  if (count == 0) return KF_OK;
  KF_TRY(kf_buf_puts(buf, title, err));
  for (int i = 0; i < count; i++) {
    KF_TRY(kf_buf_puts(buf, i == 0 ? " `" : "; `", err));
    KF_TRY(kf_task_case_text(task, cases[i].values, buf, err));
    KF_TRY(kf_buf_puts(buf, "`", err));
  }
  return kf_buf_puts(buf, ".\n", err);
}

static kf_status write_tolerance(const kf_task *task, kf_buf *buf, kf_err *err) {
  for (int i = 0; i < task->nargs; i++) {
    const kf_arg_spec *arg = &task->args[i];
    if (arg->role != KF_ROLE_OUT && arg->role != KF_ROLE_INOUT) continue;
    static const char *const texts[] = {
        [KF_COMPARE_BOUND] = "must lie within the rounding error of an honest kernel",
        [KF_COMPARE_EXACT] = "must be equal",
        [KF_COMPARE_BITWISE] = "must be equal bit by bit",
        [KF_COMPARE_SET] = "must hold the same values in any order",
        [KF_COMPARE_ARGMAX] = "may be any index whose value ties within rounding",
    };
    KF_TRY(kf_buf_printf(buf, err, "`%s` %s", arg->name, texts[task->compare[i]]));
    bool depth =
        task->compare[i] == KF_COMPARE_BOUND && task->error_kind == KF_ERROR_LINEAR && task->error_depth;
    if (depth) KF_TRY(kf_buf_printf(buf, err, " for sums of depth %s", kf_expr_text(task->error_depth)));
    KF_TRY(kf_buf_printf(buf, err, " (type %s; computing in a lower precision is found and refused). ",
                         kf_type_name(arg->type)));
  }
  return kf_buf_puts(buf,
                     task->determinism_tolerance ? "Repeated calls may differ within that tolerance.\n\n"
                                                 : "Repeated calls must give the same bits.\n\n",
                     err);
}

static kf_status write_reference(const kf_task *task, kf_buf *buf, kf_err *err) {
  if (!task->reference) return kf_buf_puts(buf, "The reference is the task's first kernel.\n\n", err);
  KF_TRY(kf_buf_printf(buf, err, "The reference (`%s` in `%s`):\n\n",
                       task->reference_entry ? task->reference_entry : "the whole file",
                       task->reference->path));
  const char *info = task->reference_kind == KF_REFERENCE_TORCH ? "python" : "c";
  return kf__prompt_code(info, task->reference->bytes, task->reference->len, buf, err);
}

/* What the task's author says to whoever writes kernels, between markers in the kernel file. */
static kf_status write_instructions(const kf_ask *ask, kf_buf *buf, kf_err *err) {
  const kf_task_file *file = ask->task->kernel[ask->language];
  if (!file) return KF_OK;
  kf_region_span spans[KF_MARKER_SPANS_MAX];
  int count = 0;
  if (kf_markers_find(file->bytes, file->len, file->path, spans, &count, NULL) != KF_OK) return KF_OK;
  for (int i = 0; i < count; i++) {
    if (spans[i].kind != KF_MARKER_USER_INSTRUCTIONS) continue;
    KF_TRY(kf_buf_puts(buf, "The task's author says:\n\n", err));
    KF_TRY(kf__prompt_code("", file->bytes + spans[i].begin, spans[i].end - spans[i].begin, buf, err));
  }
  return KF_OK;
}

static kf_status write_task(const kf_ask *ask, kf_buf *buf, kf_err *err) {
  const kf_task *task = ask->task;
  KF_TRY(kf_buf_puts(buf, "## What is computed\n\n| argument | role | type | shape | values |\n|-|-|-|-|-|\n",
                     err));
  for (int i = 0; i < task->nargs; i++)
    KF_TRY(write_arg(task, &task->args[i], buf, err));
  KF_TRY(kf_buf_puts(buf, "\nArrays are dense and row-major (the last index is contiguous).\n\n", err));
  KF_TRY(write_symbols(task, buf, err));
  KF_TRY(write_reference(task, buf, err));
  KF_TRY(write_instructions(ask, buf, err));
  KF_TRY(write_tolerance(task, buf, err));
  KF_TRY(write_cases(task, task->measure, task->nmeasure, "Timed on", buf, err));
  KF_TRY(write_cases(task, task->check, task->ncheck, "Checked on these and on hidden shapes:", buf, err));
  return kf_buf_puts(buf, "\n", err);
}

/* ---- device and contract ---- */

static kf_status write_device(const kf_ask *ask, kf_buf *buf, kf_err *err) {
  if (!ask->device_name && !ask->limits) return KF_OK;
  KF_TRY(kf_buf_printf(buf, err, "## Device\n\n%s\n\n", ask->device_name ? ask->device_name : "unnamed"));
  const kf_device_limits *limits = ask->limits;
  if (!limits) return KF_OK;
  if (ask->language == KF_LANG_C)
    return kf_buf_printf(
        buf, err,
        "- %lld threads (`dev.units`, `call->threads`)\n- float vectors of %lld (`dev.simd`)\n"
        "- compiled with %s\n\n",
        (long long)limits->units, (long long)limits->simd_width,
        ask->compiler ? ask->compiler : "the system's C compiler");
  KF_TRY(
      kf_buf_printf(buf, err,
                    "- %lld compute units (`dev.units`)\n- %lld bytes of local memory (`dev.local_bytes`)\n"
                    "- work-groups of at most %lld items (`dev.max_group`)\n- float vectors of %lld "
                    "(`dev.simd`)\n",
                    (long long)limits->units, (long long)limits->local_bytes, (long long)limits->max_group,
                    (long long)limits->simd_width));
  return kf_buf_puts(
      buf,
      limits->is_cpu
          ? "- a CPU: a work-group runs on one core, so wide vectors, registers and cache tiles count; "
            "local memory is ordinary memory and barriers cost\n\n"
          : "- a GPU\n\n",
      err);
}

static const char contract[] =
    "## What a candidate is\n\n"
    "One source file: device code, and its launch plan in comment lines that begin with `//kf:`. The host "
    "side is not "
    "yours; the plan is all of it.\n\n"
    "    //kf: param NAME = v in {v, v, ...}        a tunable number or word; also in [lo..hi step s], in "
    "[lo..hi pow2]\n"
    "    //kf: where EXPR                           rules out bindings; over params, symbols and dev.*\n"
    "    //kf: let NAME = EXPR                      a named value\n"
    "    //kf: temp NAME TYPE [EXPR, ...]           scratch memory of one call, kept between its launches\n"
    "    //kf: fill NAME LITERAL                    fills an output or temp at this place, timed\n"
    "    //kf: launch KERNEL global=(e, ...) local=(e, ...) [if=EXPR] args=(a, ...)\n\n"
    "- `global` counts work-items and must be a multiple of `local`. Launches run in file order.\n"
    "- An argument is a task argument, a temp, a symbol, a param, a let, `TYPE(EXPR)` or `local(BYTES)`; "
    "number and order are "
    "those of the kernel.\n"
    "- Expressions are integers: + - * / % == != < <= > >= && || ! ?: and min, max, log2, ceil(a, b) = a / b "
    "rounded up.\n"
    "- Params reach the code as macros (`-DNAME=value`). Use params for tile sizes, vector widths and "
    "unrolling: they are "
    "tuned afterwards without you.\n"
    "- Every legal binding must be right on every legal shape: guard the edges.\n"
    "- No inline assembly, no `#include`, no `printf`, no state kept between calls, no other precision than "
    "the "
    "declared one.\n\n";

static const char host_contract[] =
    "## What a candidate is\n\n"
    "One C17 file (GNU extensions and vector types are fine) that includes `kf_call.h` and exports "
    "`int kf_run(const kf_call *call)`, which does the whole computation and returns 0.\n\n"
    "    typedef struct { void *ptr; uint64_t bytes; uint32_t type, role, rank, flags; const int64_t *shape; "
    "} "
    "kf_arg;\n"
    "    typedef struct {\n"
    "      uint32_t abi, struct_bytes, api, nargs, nsymbols, threads;\n"
    "      const kf_arg *args;       /* the task's arguments in the order of the table; size and scalar: ptr "
    "is "
    "its value */\n"
    "      const int64_t *symbols;   /* the task's symbols in the order above */\n"
    "      void *queue;              /* NULL */\n"
    "      void *workspace;          /* scratch of one call, arbitrary bytes at its begin */\n"
    "      uint64_t workspace_bytes;\n"
    "    } kf_call;\n"
    "    uint64_t kf_workspace(const kf_call *call);   /* optional: bytes of workspace, from symbols alone "
    "*/\n\n"
    "Its tunable numbers stand in comment lines:\n\n"
    "    //kf: param NAME = v in {v, v, ...}        a tunable number or word; also in [lo..hi step s], in "
    "[lo..hi pow2]\n"
    "    //kf: where EXPR                           rules out bindings; over params, symbols and dev.*\n\n"
    "- Params reach the code as macros (`-DNAME=value`). Use params for tile sizes, vector widths and "
    "unrolling: they are tuned afterwards without you.\n"
    "- Threads come from OpenMP (`#pragma omp parallel`); results must not depend on their number or order.\n"
    "- Arrays begin at 256 bytes; the page after an array is not mapped, inputs are read-only.\n"
    "- Every legal binding must be right on every legal shape: guard the edges.\n"
    "- Callable are libm, memcpy and its like, and OpenMP. No allocation, input or output, other library, "
    "inline assembly, constructor, static or thread-local variable that is written, nothing kept between "
    "calls, no "
    "other precision than the declared one.\n\n";

static const char answer_format[] =
    "## Your answer\n\n"
    "Say in a sentence or two what you change and why. Then give the whole file in one fenced block marked "
    "`%s`, with its "
    "`//kf:` lines: it replaces the kernel, so nothing may be left out. Code outside the block is ignored; "
    "of several blocks %s counts.\n";

kf_status kf_prompt_write(const kf_ask *ask, kf_buf *buf, kf_err *err) {
  KF_TRY(write_goal(ask, buf, err));
  KF_TRY(write_task(ask, buf, err));
  KF_TRY(write_device(ask, buf, err));
  bool host = ask->language == KF_LANG_C;
  KF_TRY(kf_buf_puts(buf, host ? host_contract : contract, err));
  KF_TRY(kf__prompt_kernels(ask, buf, err));
  return kf_buf_printf(buf, err, answer_format, kf_language_name(ask->language),
                       host ? "the last that has `kf_run`" : "the last with a launch");
}
