/* patterns.c - tests for one pattern each. All are cheap next to the call that made the output: a few passes
 * over the array. A pattern is claimed only where it explains nearly all wrong elements; the shares are ours,
 * chosen so that random errors do not pass. */
#include "verify/patterns.h"

#include "base/alloc.h"
#include <math.h>
#include <string.h>

#include "base/banned.h"

enum { TAIL_TILE_MAX = 1024, EDGE_TILE_MIN = 4, EDGE_TILE_MAX = 256 };

double kf__scene_got(const kf_scene *scene, int64_t index) {
  return kf_type_get(scene->limit->tolerance->type, scene->got, (size_t)index);
}

/* ---- tail ---- */

typedef struct {
  int64_t extent, stride; /* stride: elements between neighbours along the axis */
} axis_span;

static axis_span span_of(const kf_scene *scene, int axis) {
  if (axis < 0) return (axis_span){scene->elements, 1};
  int64_t stride = 1;
  for (int k = axis + 1; k < scene->rank; k++)
    stride *= scene->shape[k];
  return (axis_span){scene->shape[axis], stride};
}

static int64_t coordinate(const axis_span *span, int64_t index) {
  return index / span->stride % span->extent;
}

/* The tile whose last full one ends right at `first`; when `loose`, at most a quarter of the axis before it.
 * 0: none. */
static int64_t tail_tile(int64_t extent, int64_t first, bool loose) {
  for (int64_t tile = 2; tile <= TAIL_TILE_MAX && tile < extent; tile *= 2) {
    int64_t rest = extent % tile;
    if (rest == 0 || first < extent - rest) continue;
    if (first == extent - rest || (loose && rest * 4 <= extent)) return tile;
  }
  return 0;
}

/* First coordinate along the axis with wrong elements, provided that at least half of what lies from there on
 * is wrong: a few stray errors near the end are no tail. `extent` if not. */
static int64_t tail_start(const kf_scene *scene, const axis_span *span) {
  int64_t first = span->extent;
  for (int64_t i = 0; i < scene->elements; i++) {
    if (!scene->wrong[i]) continue;
    int64_t at = coordinate(span, i);
    if (at < first) first = at;
  }
  int64_t region = (span->extent - first) * (scene->elements / span->extent);
  return scene->nwrong * 2 < region ? span->extent : first;
}

bool kf__pattern_tail(const kf_scene *scene, int *ret_axis, int64_t *ret_tile) {
  int64_t starts[KF_RANK_MAX + 1] = {0};
  /* Axis -1, the flat array, is the last to be tried; with one axis it is the same. */
  int last = scene->rank == 1 ? 0 : -1;
  for (int axis = scene->rank - 1; axis >= last; axis--) {
    axis_span span = span_of(scene, axis);
    starts[axis + 1] = tail_start(scene, &span);
  }
  for (int loose = 0; loose <= 1; loose++) {
    for (int axis = scene->rank - 1; axis >= last; axis--) {
      int64_t extent = span_of(scene, axis).extent, first = starts[axis + 1];
      int64_t tile = first < extent ? tail_tile(extent, first, loose != 0) : 0;
      if (tile == 0) continue;
      *ret_axis = axis;
      *ret_tile = tile;
      return true;
    }
  }
  return false;
}

/* ---- tile_edge ---- */

/* Smallest period of the marked lines: few residues, and the lines at these residues are nearly all marked.
 * 0: none. */
static int64_t period_of(const uint8_t *bad, int64_t extent, int64_t nbad) {
  if (nbad < 2 || nbad * 2 > extent) return 0;
  for (int64_t tile = EDGE_TILE_MIN; tile <= EDGE_TILE_MAX && 2 * tile <= extent; tile *= 2) {
    bool residue[EDGE_TILE_MAX] = {false};
    int64_t nresidues = 0, predicted = 0, tiles = 0, last_tile = -1;
    for (int64_t at = 0; at < extent; at++) {
      if (!bad[at]) continue;
      nresidues += !residue[at % tile];
      residue[at % tile] = true;
      tiles += at / tile != last_tile;
      last_tile = at / tile;
    }
    for (int64_t at = 0; at < extent; at++)
      predicted += residue[at % tile];
    if (nresidues * 4 <= tile && tiles >= 2 && nbad * 4 >= predicted * 3) return tile;
  }
  return 0;
}

/* Marks the lines across `axis` that are wrong by at least half. */
static int64_t mark_bad_lines(const kf_scene *scene, const axis_span *span, int64_t *counts, uint8_t *bad) {
  memset(counts, 0, (size_t)span->extent * sizeof *counts);
  for (int64_t i = 0; i < scene->elements; i++)
    if (scene->wrong[i]) counts[coordinate(span, i)]++;
  int64_t line = scene->elements / span->extent, nbad = 0;
  for (int64_t at = 0; at < span->extent; at++) {
    bad[at] = counts[at] * 2 >= line;
    nbad += bad[at];
  }
  return nbad;
}

/* Adds the wrong elements on marked lines to `explained`. */
static void explain(const kf_scene *scene, const axis_span *span, const uint8_t *bad, uint8_t *explained) {
  for (int64_t i = 0; i < scene->elements; i++)
    if (scene->wrong[i] && bad[coordinate(span, i)]) explained[i] = 1;
}

bool kf__pattern_tile_edge(const kf_scene *scene, int *ret_axis, int64_t *ret_tile) {
  int64_t longest = 1;
  for (int axis = 0; axis < scene->rank; axis++)
    if (scene->shape[axis] > longest) longest = scene->shape[axis];
  KF_CLEANUP(kf_freep) int64_t *counts = kf_reallocarray(NULL, (size_t)longest, sizeof *counts);
  KF_CLEANUP(kf_freep) uint8_t *bad = kf_alloc((size_t)longest);
  KF_CLEANUP(kf_freep) uint8_t *explained = kf_calloc((size_t)scene->elements, 1);
  if (counts == NULL || bad == NULL || explained == NULL) return false;
  int found_axis = -1;
  int64_t found_tile = 0;
  for (int axis = scene->rank - 1; axis >= 0; axis--) {
    axis_span span = span_of(scene, axis);
    int64_t tile = period_of(bad, span.extent, mark_bad_lines(scene, &span, counts, bad));
    if (tile == 0) continue;
    explain(scene, &span, bad, explained);
    if (found_axis < 0) {
      found_axis = axis;
      found_tile = tile;
    }
  }
  int64_t total = 0;
  for (int64_t i = 0; i < scene->elements; i++)
    total += explained[i];
  if (found_axis < 0 || total * 20 < scene->nwrong * 19) return false;
  *ret_axis = found_axis;
  *ret_tile = found_tile;
  return true;
}

/* ---- moved values ---- */

/* Is got[at] the value that belongs at `source`? */
static bool is_value_of(const kf_scene *scene, int64_t at, int64_t source) {
  return kf__limit_ratio(scene->limit, source, kf__scene_got(scene, at), scene->want[source]) <= 1;
}

bool kf__pattern_transposed(const kf_scene *scene) {
  if (scene->rank < 2 || scene->nwrong < 2) return false;
  int64_t rows = scene->shape[scene->rank - 2], cols = scene->shape[scene->rank - 1];
  if (rows < 2 || cols < 2) return false;
  int64_t plane = rows * cols, matched = 0, tried = 0;
  for (int64_t i = 0; i < scene->elements; i++) {
    if (!scene->wrong[i]) continue;
    int64_t in_plane = i % plane; /* written as [cols, rows]: position j * rows + i holds element (i, j) */
    int64_t source = i - in_plane + in_plane % rows * cols + in_plane / rows;
    matched += is_value_of(scene, i, source);
    tried++;
    if (tried >= 64 && matched * 2 < tried) return false;
  }
  return matched * 10 >= tried * 9;
}

static bool shifted_by(const kf_scene *scene, int64_t shift) {
  int64_t matched = 0, tried = 0;
  for (int64_t i = 0; i < scene->elements; i++) {
    if (!scene->wrong[i] || i + shift < 0 || i + shift >= scene->elements) continue;
    matched += is_value_of(scene, i, i + shift);
    tried++;
    if (tried >= 32 && matched * 2 < tried) return false;
  }
  return tried >= 3 && tried * 2 >= scene->nwrong && matched * 10 >= tried * 9;
}

bool kf__pattern_shifted(const kf_scene *scene, int64_t *ret_shift) {
  static const int64_t steps[] = {1, 2, 3, 4, 8, 16, 32, 64, 128, 256};
  int64_t tries[KF_COUNTOF(steps) + KF_RANK_MAX];
  size_t count = 0;
  for (size_t i = 0; i < KF_COUNTOF(steps); i++)
    tries[count++] = steps[i];
  for (int axis = 0; axis < scene->rank; axis++)
    tries[count++] = span_of(scene, axis).stride;
  for (size_t i = 0; i < count; i++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      if (!shifted_by(scene, sign * tries[i])) continue;
      *ret_shift = sign * tries[i];
      return true;
    }
  }
  return false;
}

bool kf__pattern_scaled(const kf_scene *scene, double *ret_factor) {
  int64_t largest = -1, nonzero = 0;
  for (int64_t i = 0; i < scene->elements; i++) {
    double want = fabs(scene->want[i]);
    if (!isfinite(want) || want == 0) continue;
    nonzero++;
    if (scene->wrong[i] && (largest < 0 || want > fabs(scene->want[largest]))) largest = i;
  }
  if (largest < 0 || scene->nwrong < 2 || scene->nwrong * 2 < nonzero) return false;
  double factor = kf__scene_got(scene, largest) / scene->want[largest];
  if (!isfinite(factor) || fabs(factor - 1) < 1e-3) return false;
  int64_t matched = 0;
  for (int64_t i = 0; i < scene->elements; i++) {
    if (!scene->wrong[i]) continue;
    double scaled = factor * scene->want[i];
    double slack =
        kf__limit_allowed(scene->limit, i, scene->want[i]) * (1 + fabs(factor)) + 1e-5 * fabs(scaled);
    matched += fabs(kf__scene_got(scene, i) - scaled) <= slack;
  }
  if (matched * 20 < scene->nwrong * 19) return false;
  *ret_factor = factor;
  return true;
}
