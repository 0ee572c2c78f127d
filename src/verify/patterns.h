/* patterns.h - private to verify/: what the positions and values of wrong elements have in common
 * (docs/formats/verdict.md).
 */
#ifndef KF_VERIFY_PATTERNS_H
#define KF_VERIFY_PATTERNS_H

#include "verify/compare_limit.h"

/* One wrong output. `wrong[i]` is 1 where element i is out of tolerance. Borrows everything. */
typedef struct {
  const kf_limit *limit;
  const void *got;
  const double *want;
  const int64_t *shape;
  int rank;
  int64_t elements, nwrong;
  const uint8_t *wrong;
} kf_scene;

double kf__scene_got(const kf_scene *scene, int64_t index);

/* Wrong only at or after the last full tile of `*ret_tile` along `*ret_axis` (-1: of the flat array). */
bool kf__pattern_tail(const kf_scene *scene, int *ret_axis, int64_t *ret_tile);
/* Wrong in whole lines across an axis that repeat every `*ret_tile`. False too when memory is short. */
bool kf__pattern_tile_edge(const kf_scene *scene, int *ret_axis, int64_t *ret_tile);
/* The last two axes exchanged. */
bool kf__pattern_transposed(const kf_scene *scene);
/* got[i] is what belongs at i + shift. */
bool kf__pattern_shifted(const kf_scene *scene, int64_t *ret_shift);
/* got = factor * want in most of the array. */
bool kf__pattern_scaled(const kf_scene *scene, double *ret_factor);

#endif
