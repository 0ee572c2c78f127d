/* race_compare.c - the timed outputs of the two sides against each other; see race_int.h.
 *
 * A call's time is worth nothing unless its output is right. The opponent was verified and got the same
 * inputs, so its output is the measure. Of large arrays one element of each of 4096 equal parts is compared,
 * at a place drawn anew for each call: who leaves a thousandth of the work undone is caught in every call
 * with 98 %, and gains less than that. */
#include "measure/race_int.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { PARTS = 4096 };

typedef struct {
  kf_tolerance tolerance;
  const char *mine, *theirs;
  int64_t elements;
} pair;

static kf_status compare_all(const pair *p, kf_compare_result *ret, kf_err *err) {
  return kf_compare_outputs(&p->tolerance, p->mine, p->theirs, p->elements, ret, err);
}

/* Multisets and indices with ties are judged by more than their own element. */
static bool can_sample(const pair *p) {
  return p->elements > PARTS && p->tolerance.compare != KF_COMPARE_SET && !p->tolerance.choices;
}

static kf_status compare_some(kf__race *race, const pair *p, kf_compare_result *ret, kf_err *err) {
  _Alignas(16) char mine[PARTS * 8], theirs[PARTS * 8];
  KF_CLEANUP(kf_freep)
  double *scale = p->tolerance.scale ? kf_reallocarray(NULL, PARTS, sizeof *scale) : NULL;
  int64_t where[PARTS];
  size_t size = kf_type_size(p->tolerance.type);
  if (p->tolerance.scale && !scale) return kf_nomem(err);
  for (int64_t i = 0; i < PARTS; i++) {
    int64_t begin = p->elements * i / PARTS, end = p->elements * (i + 1) / PARTS;
    where[i] = begin + (int64_t)kf_rng_below(&race->rng, (uint64_t)(end - begin));
    memcpy(mine + (size_t)i * size, p->mine + (size_t)where[i] * size, size);
    memcpy(theirs + (size_t)i * size, p->theirs + (size_t)where[i] * size, size);
    if (scale) scale[i] = p->tolerance.scale[where[i]];
  }
  kf_tolerance tolerance = p->tolerance;
  tolerance.scale = scale;
  KF_TRY(kf_compare_outputs(&tolerance, mine, theirs, PARTS, ret, err));
  if (ret->first >= 0) ret->first = where[ret->first];
  return KF_OK;
}

static void book_difference(kf__race *race, const kf_race_case *c, int arg, const kf_compare_result *compared,
                            int64_t looked_at) {
  const kf_inputs *inputs = c->inputs;
  kf_race_report *report = race->report;
  report->failed = true;
  report->kind = KF_VERDICT_WRONG_OUTPUT;
  kf_diagnosis *diagnosis = &report->diagnosis;
  snprintf(diagnosis->kind, sizeof diagnosis->kind, "timed_output");
  snprintf(diagnosis->where, sizeof diagnosis->where, "%.60s of %.90s", inputs->task->args[arg].name,
           inputs->case_text);
  snprintf(diagnosis->text, sizeof diagnosis->text,
           "a timed call's output differs from the opponent's on the same inputs: results of an earlier "
           "call, or a race");
  snprintf(diagnosis->evidence, sizeof diagnosis->evidence,
           "%lld of %lld elements looked at; first at %lld: got %g, opponent %g", (long long)compared->wrong,
           (long long)looked_at, (long long)compared->first, compared->first_got, compared->first_want);
}

kf_status kf__race_compare(kf__race *race, const kf_race_case *c, bool all, kf_err *err) {
  const kf_inputs *inputs = c->inputs;
  if (!c->expected || !c->opponent.runner) return KF_OK;
  for (int a = 0; a < inputs->task->nargs && !kf__race_over(race); a++) {
    if (!c->expected->want[a]) continue;
    pair p = {.tolerance = kf_expected_tolerance(c->expected, inputs->task, a),
              .mine = kf_rig_data(c->candidate.rig, kf_rig_buffer_of_arg(c->candidate.rig, a)),
              .theirs = kf_rig_data(c->opponent.rig, kf_rig_buffer_of_arg(c->opponent.rig, a)),
              .elements = inputs->elements[a]};
    kf_compare_result compared;
    bool some = !all && can_sample(&p);
    KF_TRY(some ? compare_some(race, &p, &compared, err) : compare_all(&p, &compared, err));
    if (!compared.right) book_difference(race, c, a, &compared, some ? PARTS : p.elements);
  }
  return KF_OK;
}
