/* diagnose.c - the class of a wrong output and the sentence about it; first match in the order of
 * docs/formats/verdict.md.
 */
#include "verify/compare.h"

#include "base/alloc.h"
#include "verify/fill.h"
#include "verify/patterns.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/banned.h"

enum { PLACE_TEXT = 112, VALUE_TEXT = 32 };
static const double imprecise_below = 100; /* docs/formats/verdict.md */

typedef struct {
  kf_scene scene;
  const char *name, *case_text;
  int poison_pattern;
  const kf_compare_result *result;
  int64_t example; /* the element that is shown */
  kf_diagnosis *diagnosis;
} diagnosing;

static void place_text(const diagnosing *d, int64_t index, char ret_text[PLACE_TEXT]) {
  const kf_scene *scene = &d->scene;
  int used = snprintf(ret_text, PLACE_TEXT, "%.40s", d->name);
  int64_t plane = scene->elements;
  for (int axis = 0; axis < scene->rank && used < PLACE_TEXT; axis++) {
    plane = scene->shape[axis] > 0 ? plane / scene->shape[axis] : 1;
    int64_t at = plane > 0 ? index / plane : 0;
    index -= at * plane;
    used += snprintf(ret_text + used, PLACE_TEXT - (size_t)used, "%s%" PRId64, axis == 0 ? "[" : ",", at);
  }
  if (scene->rank > 0 && used < PLACE_TEXT) snprintf(ret_text + used, PLACE_TEXT - (size_t)used, "]");
}

static void value_text(const diagnosing *d, double value, char ret_text[VALUE_TEXT]) {
  bool whole = !kf_type_is_float(d->scene.limit->tolerance->type) && fabs(value) < 0x1p63;
  if (whole)
    snprintf(ret_text, VALUE_TEXT, "%" PRId64, (int64_t)value);
  else
    snprintf(ret_text, VALUE_TEXT, "%.9g", value);
}

static bool is_poison(const diagnosing *d, int64_t index) {
  kf_type type = d->scene.limit->tolerance->type;
  const char *at = (const char *)d->scene.got + (size_t)index * kf_type_size(type);
  return kf_poison_find(type, at, 1, d->poison_pattern) == 0;
}

/* Bits of an element, most significant byte first: what poison looks like is of interest there. */
static void bits_text(const diagnosing *d, int64_t index, char ret_text[VALUE_TEXT]) {
  size_t size = kf_type_size(d->scene.limit->tolerance->type);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)d->scene.got + (size_t)index * size, size);
  snprintf(ret_text, VALUE_TEXT, "0x%0*" PRIx64, (int)(2 * size), bits);
}

/* Kind, place and numbers; the sentence is `fmt` and, after it, the example. */
__attribute__((format(printf, 3, 4))) static void say(diagnosing *d, const char *kind, const char *fmt, ...) {
  kf_diagnosis *out = d->diagnosis;
  char place[PLACE_TEXT], got[VALUE_TEXT], want[VALUE_TEXT], head[180];
  va_list args;
  va_start(args, fmt);
  vsnprintf(head, sizeof head, fmt, args);
  va_end(args);
  place_text(d, d->example, place);
  value_text(d, d->scene.want[d->example], want);
  if (is_poison(d, d->example))
    bits_text(d, d->example, got);
  else
    value_text(d, kf__scene_got(&d->scene, d->example), got);
  const char *remark = is_poison(d, d->example) ? " (poison)" : "";
  snprintf(out->kind, sizeof out->kind, "%s", kind);
  snprintf(out->where, sizeof out->where, "%s of %s", place, d->case_text);
  snprintf(out->text, sizeof out->text, "%s: %s is %s%s, should be %s", head, place, got, remark, want);
  int used =
      snprintf(out->evidence, sizeof out->evidence, "got %s%s, want %s; %" PRId64 " of %" PRId64 " elements",
               got, remark, want, d->result->wrong, d->scene.elements);
  if (isfinite(d->result->worst))
    snprintf(out->evidence + used, sizeof out->evidence - (size_t)used,
             "; largest error %.3g times the tolerance", d->result->worst);
}

static bool say_unwritten(diagnosing *d) {
  const kf_scene *scene = &d->scene;
  int64_t first = -1, count = 0;
  for (int64_t i = 0; i < scene->elements; i++) {
    if (!scene->wrong[i] || !is_poison(d, i)) continue;
    if (first < 0) first = i;
    count++;
  }
  if (first < 0) return false;
  d->example = first;
  say(d, "unwritten", "%" PRId64 " of %" PRId64 " elements of %.40s were never written", count,
      scene->elements, d->name);
  return true;
}

static bool say_nan(diagnosing *d) {
  const kf_scene *scene = &d->scene;
  for (int64_t i = 0; i < scene->elements; i++) {
    if (!scene->wrong[i]) continue;
    double got = kf__scene_got(scene, i), want = scene->want[i];
    if (isfinite(got) && isfinite(want)) continue;
    d->example = i;
    say(d, "nan", "%.40s has %s", d->name,
        isnan(got)    ? "NaN where there should be none"
        : isinf(got)  ? "an infinity where there should be none"
        : isnan(want) ? "a number where NaN belongs"
                      : "a number where an infinity belongs");
    return true;
  }
  return false;
}

static bool say_tiles(diagnosing *d) {
  int axis = -1;
  int64_t tile = 0;
  char along[40] = "the flat array";
  bool tail = kf__pattern_tail(&d->scene, &axis, &tile);
  if (!tail && !kf__pattern_tile_edge(&d->scene, &axis, &tile)) return false;
  if (axis >= 0) snprintf(along, sizeof along, "axis %d", axis);
  if (tail)
    say(d, "tail", "only elements after the last full tile of %" PRId64 " along %s are wrong", tile, along);
  else
    say(d, "tile_edge", "the errors repeat every %" PRId64 " elements along %s", tile, along);
  return true;
}

static bool say_moved(diagnosing *d) {
  int64_t shift = 0;
  double factor = 0;
  if (kf__pattern_transposed(&d->scene))
    say(d, "transposed", "%.40s looks transposed in its last two axes", d->name);
  else if (kf__pattern_shifted(&d->scene, &shift))
    say(d, "shifted", "the values of %.40s belong %" PRId64 " elements %s", d->name,
        shift < 0 ? -shift : shift, shift < 0 ? "before" : "after");
  else if (kf__pattern_scaled(&d->scene, &factor))
    say(d, "scaled", "%.40s is %.6g times what it should be", d->name, factor);
  else
    return false;
  return true;
}

static void say_rest(diagnosing *d) {
  const kf_compare_result *result = d->result;
  if (result->wrong == 1)
    say(d, "one_element", "one element of %.40s is wrong", d->name);
  else if (result->worst < imprecise_below)
    say(d, "imprecise", "%.40s is close, but the error is up to %.3g times what is allowed", d->name,
        result->worst);
  else
    say(d, "all", "%" PRId64 " of %" PRId64 " elements of %.40s are wrong, without a pattern", result->wrong,
        d->scene.elements, d->name);
}

/* Marks what is wrong. NULL: no memory, or a set, whose elements have no place of their own. */
static uint8_t *mark_wrong(kf_scene *scene) {
  if (scene->limit->tolerance->compare == KF_COMPARE_SET) return NULL;
  uint8_t *wrong = kf_calloc((size_t)scene->elements, 1);
  if (wrong == NULL) return NULL;
  for (int64_t i = 0; i < scene->elements; i++) {
    wrong[i] = !(kf__limit_ratio(scene->limit, i, kf__scene_got(scene, i), scene->want[i]) <= 1);
    scene->nwrong += wrong[i];
  }
  return wrong;
}

void kf_diagnose_output(const char *arg_name, const kf_tolerance *tolerance, const void *got,
                        const double *want, const int64_t *shape, int rank, int64_t elements,
                        int poison_pattern, const char *case_text, const kf_compare_result *result,
                        kf_diagnosis *ret_diagnosis) {
  memset(ret_diagnosis, 0, sizeof *ret_diagnosis);
  kf_limit limit;
  if (elements < 1 || kf__limit_init(&limit, tolerance, 1, NULL) != KF_OK) {
    snprintf(ret_diagnosis->kind, sizeof ret_diagnosis->kind, "all");
    snprintf(ret_diagnosis->where, sizeof ret_diagnosis->where, "%.40s of %s", arg_name, case_text);
    snprintf(ret_diagnosis->text, sizeof ret_diagnosis->text, "%.40s is wrong", arg_name);
    return;
  }
  diagnosing d = {
      .scene =
          {.limit = &limit, .got = got, .want = want, .shape = shape, .rank = rank, .elements = elements},
      .name = arg_name,
      .case_text = case_text,
      .poison_pattern = poison_pattern,
      .result = result,
      .example = result->first >= 0 && result->first < elements ? result->first : 0,
      .diagnosis = ret_diagnosis};
  uint8_t *wrong = mark_wrong(&d.scene);
  d.scene.wrong = wrong;
  bool patterns = wrong != NULL && d.scene.nwrong > 0;
  if (!patterns || !(say_unwritten(&d) || say_nan(&d) || say_tiles(&d) || say_moved(&d))) say_rest(&d);
  kf_free(wrong);
}
