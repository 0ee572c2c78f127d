/* shapes.c - hidden shapes; see shapes.h. */
#include "verify/shapes.h"

#include "base/philox.h"

#include <string.h>

enum { PURPOSE_SHAPES = 0x6869, DRAWS = 32, ROUND_TO = 64, ELEMENTS_MIN = 1 << 20, ELEMENTS_RATIO = 4 };

/* Sizes beyond this are not drawn: no memory holds them, and sums of them must not overflow. */
static const int64_t VALUE_MAX = INT64_C(1) << 40;

typedef struct {
  const kf_task *task;
  kf_rng rng;
  int64_t elements_max;
} drawing;

static bool is_prime(int64_t value) {
  if (value < 2) return false;
  for (int64_t divisor = 2; divisor * divisor <= value; divisor++)
    if (value % divisor == 0) return false;
  return true;
}

/* All arrays of a case together; INT64_MAX where a shape makes no sense or overflows. */
static int64_t case_elements(const kf_task *task, const kf_case *c) {
  int64_t total = 0, elements = 0, shape[KF_RANK_MAX];
  for (int a = 0; a < task->nargs; a++) {
    if (kf_task_elements(task, a, c->values, &elements, shape, NULL) != KF_OK) return INT64_MAX;
    if (__builtin_add_overflow(total, elements, &total)) return INT64_MAX;
  }
  return total;
}

static int64_t elements_limit(const kf_task *task) {
  int64_t largest = ELEMENTS_MIN / ELEMENTS_RATIO;
  for (int i = 0; i < task->ncheck + task->nmeasure; i++) {
    int64_t elements =
        case_elements(task, i < task->ncheck ? &task->check[i] : &task->measure[i - task->ncheck]);
    if (elements > largest && elements < INT64_MAX / ELEMENTS_RATIO) largest = elements;
  }
  return largest * ELEMENTS_RATIO;
}

static int64_t first_value(const kf_symbol *s) {
  return (s->min + s->multiple_of - 1) / s->multiple_of * s->multiple_of;
}

static int64_t last_value(const kf_symbol *s) {
  int64_t max = s->max < VALUE_MAX ? s->max : VALUE_MAX;
  return max / s->multiple_of * s->multiple_of;
}

/* Has it more than one value to draw? */
static bool is_free(const kf_symbol *s) {
  return !s->fixed && s->min < VALUE_MAX && s->multiple_of < VALUE_MAX && first_value(s) < last_value(s);
}

static int64_t clamp(const kf_symbol *s, int64_t value) {
  if (value < first_value(s)) return first_value(s);
  return value > last_value(s) ? last_value(s) : value;
}

/* A quarter beyond the largest of the cases. */
static int64_t top_of(const kf_task *task, const kf_case *cases, int count, int symbol) {
  const kf_symbol *s = &task->symbols[symbol];
  int64_t largest = first_value(s);
  for (int c = 0; c < count; c++)
    if (cases[c].values[symbol] > largest) largest = cases[c].values[symbol];
  largest = clamp(s, largest);
  return clamp(s, (largest + largest / 4) / s->multiple_of * s->multiple_of);
}

static int64_t draw_between(drawing *d, const kf_symbol *s, int64_t low, int64_t high) {
  int64_t steps = (high - low) / s->multiple_of;
  return low + (int64_t)kf_rng_below(&d->rng, (uint64_t)(steps > 0 ? steps + 1 : 1)) * s->multiple_of;
}

/* Upwards from a drawn value to the next prime; among multiples, to the next odd one. */
static int64_t draw_prime(drawing *d, const kf_symbol *s, int64_t top) {
  int64_t value = draw_between(d, s, first_value(s), top);
  for (int64_t v = value; v <= last_value(s) && v - value < 256 * s->multiple_of; v += s->multiple_of)
    if (s->multiple_of == 1 ? is_prime(v) : v / s->multiple_of % 2 == 1) return v;
  return value;
}

static int64_t draw_round(drawing *d, const kf_symbol *s, int64_t top) {
  int64_t value = draw_between(d, s, first_value(s), top);
  int64_t rounded = (value + ROUND_TO - 1) / ROUND_TO * ROUND_TO;
  return rounded <= last_value(s) && rounded % s->multiple_of == 0 ? rounded : value;
}

static int64_t draw_large(drawing *d, int symbol) {
  const kf_symbol *s = &d->task->symbols[symbol];
  int64_t top = top_of(d->task, d->task->measure, d->task->nmeasure, symbol);
  return draw_between(d, s, clamp(s, top / 2 / s->multiple_of * s->multiple_of), top);
}

/* One symbol of a named case, moved by a step or left: at least every second one moves. */
static int64_t draw_beside(drawing *d, const kf_symbol *s, int64_t named) {
  static const int moves[] = {-1, 1, -1, 1, 0, 0};
  return clamp(s, clamp(s, named) + moves[kf_rng_below(&d->rng, KF_COUNTOF(moves))] * s->multiple_of);
}

static int64_t draw_symbol(drawing *d, kf_shape_kind kind, int symbol, const kf_case *named) {
  const kf_task *task = d->task;
  const kf_symbol *s = &task->symbols[symbol];
  int64_t top = top_of(task, task->check, task->ncheck, symbol);
  switch (kind) {
  case KF_SHAPE_TINY:
  case KF_SHAPE_LIMIT: /* its large symbol is set afterwards */
    return clamp(s, first_value(s) + (int64_t)(kf_rng_u32(&d->rng) & 1) * s->multiple_of);
  case KF_SHAPE_OFF_BY_ONE:
    return draw_beside(d, s, named ? named->values[symbol] : s->initial);
  case KF_SHAPE_PRIME:
    return draw_prime(d, s, top);
  case KF_SHAPE_ROUND:
    return draw_round(d, s, top);
  case KF_SHAPE_LARGE:
    return draw_large(d, symbol);
  case KF_SHAPE_KINDS:
    break;
  }
  return s->initial;
}

/* The n-th free symbol. */
static int free_symbol(const kf_task *task, int n) {
  for (int s = 0; s < task->nsymbols; s++)
    if (is_free(&task->symbols[s]) && n-- == 0) return s;
  return -1;
}

/* One symbol at the end of its domain, halved while the case is too large. */
static void push_to_limit(drawing *d, int symbol, kf_case *drawn) {
  const kf_symbol *s = &d->task->symbols[symbol];
  int64_t value = last_value(s);
  for (;;) {
    drawn->values[symbol] = value;
    if (value <= first_value(s) || case_elements(d->task, drawn) <= d->elements_max) return;
    value = clamp(s, value / 2 / s->multiple_of * s->multiple_of);
  }
}

static kf_case draw(drawing *d, kf_shape_kind kind, int nfree) {
  const kf_task *task = d->task;
  kf_case drawn = {.origin = NULL};
  const kf_case *named = task->ncheck ? &task->check[kf_rng_below(&d->rng, (uint64_t)task->ncheck)] : NULL;
  for (int s = 0; s < task->nsymbols; s++)
    drawn.values[s] = is_free(&task->symbols[s]) ? draw_symbol(d, kind, s, named) : task->symbols[s].initial;
  if (kind == KF_SHAPE_LIMIT)
    push_to_limit(d, free_symbol(task, (int)kf_rng_below(&d->rng, (uint64_t)nfree)), &drawn);
  return drawn;
}

static bool is_among(const kf_task *task, const kf_case *cases, int count, const kf_case *drawn) {
  for (int c = 0; c < count; c++)
    if (memcmp(cases[c].values, drawn->values, sizeof(int64_t) * (size_t)task->nsymbols) == 0) return true;
  return false;
}

static bool is_possible(const kf_task *task, kf_shape_kind kind) {
  if (kind == KF_SHAPE_OFF_BY_ONE) return task->ncheck > 0;
  return kind != KF_SHAPE_LARGE || task->nmeasure > 0;
}

int kf_shapes_hidden(const kf_task *task, uint64_t secret, kf_case *ret_cases) {
  drawing d = {.task = task, .elements_max = elements_limit(task)};
  int count = 0, nfree = 0;
  while (free_symbol(task, nfree) >= 0)
    nfree++;
  for (int kind = 0; kind < KF_SHAPE_KINDS && nfree; kind++) {
    if (!is_possible(task, (kf_shape_kind)kind)) continue;
    kf_rng_init(&d.rng, secret, (uint64_t)kind, PURPOSE_SHAPES);
    for (int i = 0; i < DRAWS; i++) {
      kf_case drawn = draw(&d, (kf_shape_kind)kind, nfree);
      if (is_among(task, task->check, task->ncheck, &drawn) || is_among(task, ret_cases, count, &drawn) ||
          is_among(task, task->measure, task->nmeasure, &drawn) ||
          case_elements(task, &drawn) > d.elements_max)
        continue;
      ret_cases[count++] = drawn;
      break;
    }
  }
  return count;
}
