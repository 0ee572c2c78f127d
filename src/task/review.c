/* review.c - doubts about a task file; see review.h. */
#include "task/review.h"

#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { FIX_MAX = 4096, TEXT_MAX = 400, ALIGNED = 16 };

typedef struct {
  const kf_task *task;
  kf_language language;
  kf_review_note note;
  void *context;
  int doubts; /* of the present area */
} review;

static void doubt(review *r, const char *area, const char *fix, const char *text) {
  r->doubts++;
  r->note(r->context, true, area, text, fix);
}

/* After an area: what was found to be right, unless something was not. */
static void settle(review *r, const char *area, const char *text) {
  if (r->doubts == 0) r->note(r->context, false, area, text, "");
  r->doubts = 0;
}

kf_status kf_task_arg_line(const kf_task *task, int arg, const char *fill, kf_buf *buf, kf_err *err) {
  const kf_arg_spec *a = &task->args[arg];
  KF_TRY(kf_buf_printf(buf, err, "- {name: %s, role: %s, type: %s, shape: [", a->name, kf_role_name(a->role),
                       kf_type_name(a->type)));
  for (int d = 0; d < a->rank; d++) {
    const char *text = kf_expr_text(a->shape[d]);
    const char *quote = strchr(text, ',') != NULL ? "\"" : ""; /* YAML reads a comma as the next item */
    KF_TRY(kf_buf_printf(buf, err, "%s%s%s%s", d > 0 ? ", " : "", quote, text, quote));
  }
  return kf_buf_printf(buf, err, "], fill: %s}", fill);
}

/* ---- symbols ---- */

static int free_symbols(const kf_task *task) {
  int count = 0;
  for (int i = 0; i < task->nsymbols; i++)
    count += !task->symbols[i].fixed;
  return count;
}

static kf_status review_symbols(review *r, kf_err *err) {
  const kf_task *task = r->task;
  KF_CLEANUP(kf_buf_done) kf_buf fix;
  kf_buf_init(&fix, FIX_MAX);
  if (task->nsymbols == 0) {
    doubt(
        r, "symbols", "symbols: {n: {default: 4096, min: 1, max: 65536}}",
        "no size is a symbol: a kernel that is right for these shapes only cannot be told from a right one");
  } else if (free_symbols(task) == 0) {
    KF_TRY(kf_buf_puts(&fix, "symbols:", err));
    for (int i = 0; i < task->nsymbols; i++)
      KF_TRY(kf_buf_printf(&fix, err, "\n  %s: {default: %lld, min: 1, max: %lld}", task->symbols[i].name,
                           (long long)task->symbols[i].initial, (long long)task->symbols[i].initial * 2));
    doubt(r, "symbols", kf_buf_text(&fix),
          "every symbol is fixed, so there are no hidden shapes: give at least one a domain");
  }
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "%d of %d symbols have a domain, which hidden shapes are drawn from",
           free_symbols(task), task->nsymbols);
  settle(r, "symbols", text);
  return KF_OK;
}

/* ---- cases ---- */

/* A value of the domain that no tile divides: the largest prime of a few, else an odd number of steps. */
static int64_t odd_value(const kf_symbol *symbol, int salt) {
  static const int64_t primes[] = {37, 31, 17, 13, 7, 5, 3};
  for (size_t i = 0; i < KF_COUNTOF(primes); i++) {
    int64_t value = primes[(i + (size_t)salt) % KF_COUNTOF(primes)];
    if (symbol->multiple_of == 1 && value >= symbol->min && value <= symbol->max) return value;
  }
  int64_t first = (symbol->min + symbol->multiple_of - 1) / symbol->multiple_of * symbol->multiple_of;
  int64_t third = first + 2 * symbol->multiple_of;
  return third <= symbol->max ? third : first;
}

static kf_status case_line(const kf_task *task, int salt, kf_buf *buf, kf_err *err) {
  KF_TRY(kf_buf_puts(buf, "    - {", err));
  for (int i = 0, shown = 0; i < task->nsymbols; i++) {
    if (task->symbols[i].fixed) continue;
    KF_TRY(kf_buf_printf(buf, err, "%s%s: %lld", shown++ > 0 ? ", " : "", task->symbols[i].name,
                         (long long)odd_value(&task->symbols[i], salt + i)));
  }
  return kf_buf_puts(buf, "}", err);
}

/* Whether a size that no power of two divides could be there, and is in one of the cases. */
typedef struct {
  bool odd_possible, odd, unaligned_possible, unaligned;
} parity;

static parity parity_of(const kf_task *task) {
  parity p = {0};
  for (int i = 0; i < task->nsymbols; i++) {
    const kf_symbol *symbol = &task->symbols[i];
    if (symbol->fixed) continue;
    p.odd_possible = p.odd_possible || symbol->multiple_of % 2 != 0;
    p.unaligned_possible = p.unaligned_possible || symbol->multiple_of % ALIGNED != 0;
    for (int c = 0; c < task->ncheck; c++) {
      int64_t value = task->check[c].values[i];
      p.odd = p.odd || (value > 1 && value % 2 != 0);
      p.unaligned = p.unaligned || value % ALIGNED != 0;
    }
  }
  return p;
}

static kf_status review_cases(review *r, kf_err *err) {
  const kf_task *task = r->task;
  parity p = parity_of(task);
  KF_CLEANUP(kf_buf_done) kf_buf fix;
  kf_buf_init(&fix, FIX_MAX);
  KF_TRY(kf_buf_puts(&fix, "check:\n  cases:\n", err));
  KF_TRY(case_line(task, 0, &fix, err));
  KF_TRY(kf_buf_puts(&fix, "\n", err));
  KF_TRY(case_line(task, 3, &fix, err));
  if (free_symbols(task) > 0 && task->ncheck == 1)
    doubt(r, "check cases", kf_buf_text(&fix),
          "there is one check case only: add small and odd ones, where tails and edges show");
  if (p.unaligned_possible && !p.unaligned)
    doubt(r, "check cases", kf_buf_text(&fix),
          "every size of every check case is a multiple of 16: a kernel without tails would pass");
  else if (p.odd_possible && !p.odd)
    doubt(r, "check cases", kf_buf_text(&fix), "no check case has an odd size: add a prime one");
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "%d, with sizes that no tile divides", task->ncheck);
  settle(r, "check cases", text);
  return KF_OK;
}

static kf_status review_measure(review *r, kf_err *err) {
  const kf_task *task = r->task;
  KF_CLEANUP(kf_buf_done) kf_buf fix;
  kf_buf_init(&fix, FIX_MAX);
  if (task->measure_defaulted && free_symbols(task) > 0) {
    KF_TRY(kf_buf_puts(&fix, "measure:\n  cases:\n    - {", err));
    for (int i = 0, shown = 0; i < task->nsymbols; i++)
      if (!task->symbols[i].fixed)
        KF_TRY(kf_buf_printf(&fix, err, "%s%s: %lld", shown++ > 0 ? ", " : "", task->symbols[i].name,
                             (long long)task->symbols[i].initial));
    KF_TRY(kf_buf_puts(&fix, "}", err));
    doubt(r, "measure cases", kf_buf_text(&fix),
          "none is given, so kernels are timed where every symbol has its default: say which sizes matter");
  }
  char text[TEXT_MAX];
  snprintf(text, sizeof text, "%d", task->nmeasure);
  settle(r, "measure cases", text);
  return KF_OK;
}

/* ---- inputs ---- */

static kf_status doubt_fill(review *r, int arg, const char *text, kf_err *err) {
  KF_CLEANUP(kf_buf_done) kf_buf fix;
  kf_buf_init(&fix, FIX_MAX);
  KF_TRY(kf_task_arg_line(r->task, arg, "normal", &fix, err));
  doubt(r, "inputs", kf_buf_text(&fix), text);
  return KF_OK;
}

static kf_status review_inputs(review *r, kf_err *err) {
  const kf_task *task = r->task;
  for (int a = 0; a < task->nargs; a++) {
    const kf_arg_spec *arg = &task->args[a];
    char text[TEXT_MAX];
    if ((arg->role != KF_ROLE_IN && arg->role != KF_ROLE_INOUT) || !kf_type_is_float(arg->type)) continue;
    if (arg->fill.kind == KF_FILL_UNIFORM && task->error_kind != KF_ERROR_EXACT) {
      snprintf(text, sizeof text,
               "%s is positive everywhere: sums of it hide a loss of precision, and nothing cancels",
               arg->name);
      KF_TRY(doubt_fill(r, a, text, err));
    }
    if (arg->fill.kind == KF_FILL_CONSTANT) {
      snprintf(text, sizeof text,
               "%s is %g everywhere: a kernel that leaves it out, or folds it in, would pass", arg->name,
               arg->fill.value);
      KF_TRY(doubt_fill(r, a, text, err));
    }
  }
  settle(r, "inputs", "random, of both signs");
  return KF_OK;
}

/* ---- what says what is right ---- */

static void review_reference(review *r) {
  const kf_task *task = r->task;
  if (task->reference_kind == KF_REFERENCE_KERNEL)
    doubt(r, "reference", "reference: {file: reference.c, entry: NAME}",
          "the kernel is its own reference: a mistake in it stays unseen, and so does a loss of precision");
  else if (task->kernel[r->language] == NULL && task->nseeds[r->language] == 0)
    doubt(r, "reference", "kernel: kernel.cl",
          "there is neither a kernel nor a seed to compare the reference with: a mistake in it stays unseen");
  r->doubts = 0; /* whether it is right is shown by running it */
}

kf_status kf_task_review(const kf_task *task, kf_language language, kf_review_note note, void *context,
                         kf_err *err) {
  review r = {.task = task, .language = language, .note = note, .context = context};
  KF_TRY(review_symbols(&r, err));
  KF_TRY(review_cases(&r, err));
  KF_TRY(review_measure(&r, err));
  KF_TRY(review_inputs(&r, err));
  review_reference(&r);
  return KF_OK;
}
