/* cell.c - evidence -> cell of the archive, by the table of docs/internals/search.md. */
#include "behavior/behavior.h"

enum { ENOUGH_ACCUMULATORS = 4 };

static int memory_level(const kf_evidence *e) {
  int extras = (e->accumulators >= ENOUGH_ACCUMULATORS) + e->register_staging + e->async_or_prefetch;
  if (e->staged_local) return extras >= 2 ? 3 : 2;
  return e->vector_width > 1 ? 1 : 0;
}

static int algorithm_level(const kf_evidence *e, const kf_behavior_base *base) {
  if (e->split_reduction && !base->split_reduction) return 3;
  if (e->sweeps > 0 && e->sweeps < base->sweeps) return 2;
  return e->launches < base->operations ? 1 : 0;
}

static int coordination_level(const kf_evidence *e) {
  if (e->global_atomic || e->joined_launches) return 3;
  if (e->subgroup) return 2;
  return e->barrier ? 1 : 0;
}

kf_cell kf_behavior_cell(const kf_evidence *evidence, const kf_behavior_base *base) {
  if (!evidence->known) return (kf_cell){{-1, 0, 0, 0}};
  int matrix = evidence->matrix < 0 ? 0 : evidence->matrix > 3 ? 3 : evidence->matrix;
  return (kf_cell){{(int8_t)memory_level(evidence), (int8_t)algorithm_level(evidence, base),
                    (int8_t)coordination_level(evidence), (int8_t)matrix}};
}
