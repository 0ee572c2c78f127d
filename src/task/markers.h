/* markers.h - [EVOLVE_START]/[EVOLVE_END] and the other marked regions of a text
 * (docs/formats/launch-plan.md; as in KernelFoundry's packages). Markers stand in comments, each on a line of
 * its own; nesting and a missing end are errors with the line. */
#ifndef KF_TASK_MARKERS_H
#define KF_TASK_MARKERS_H

#include "base/status.h"

typedef enum { KF_MARKER_EVOLVE, KF_MARKER_REFERENCE, KF_MARKER_USER_INSTRUCTIONS } kf_marker;

typedef struct {
  size_t begin, end; /* bytes between the marker lines */
  kf_marker kind;
  int line; /* of the first line inside, 1-based */
} kf_region_span;

enum { KF_MARKER_SPANS_MAX = 64 };

/* Fills spans in file order. KF_EREFUSED "NAME:LINE: ..." on nesting, a stray end, or too many. */
kf_status kf_markers_find(const char *text, size_t len, const char *name,
                          kf_region_span ret_spans[KF_MARKER_SPANS_MAX], int *ret_count, kf_err *err);

#endif
