/* compare_set.c - outputs whose order is free: both sides sorted, then walked together. */
#include "verify/compare_limit.h"

#include "base/alloc.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

typedef struct {
  double value;
  int64_t index;
} entry;

/* Total order: numbers, then NaNs; equal values by position, so that the first unmatched one is reported. */
static int compare_entries(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? 1 : -1;
  if (a->value < b->value) return -1;
  if (a->value > b->value) return 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

static entry *sorted_entries(kf_type type, const void *values, int64_t elements) {
  entry *entries = kf_reallocarray(NULL, (size_t)elements + 1, sizeof *entries);
  if (entries == NULL) return NULL;
  for (int64_t i = 0; i < elements; i++)
    entries[i] = (entry){kf_type_get(type, values, (size_t)i), i};
  qsort(entries, (size_t)elements, sizeof *entries, compare_entries);
  return entries;
}

/* An unmatched value of `got`; the expected value shown is the nearest in order. */
static void add_extra(kf_compare_result *result, const entry *got, double want) {
  if (result->first >= 0 && result->first < got->index) return;
  result->first = got->index;
  result->first_got = got->value;
  result->first_want = want;
}

kf_status kf__compare_set(const kf_limit *limit, const void *got, const double *want, int64_t elements,
                          kf_compare_result *ret_result, kf_err *err) {
  kf_compare_result result = {.right = true, .first = -1};
  KF_CLEANUP(kf_freep) entry *a = sorted_entries(limit->tolerance->type, got, elements);
  KF_CLEANUP(kf_freep) entry *b = sorted_entries(KF_TYPE_F64, want, elements);
  if (a == NULL || b == NULL) return kf_nomem(err);
  int64_t i = 0, j = 0, extra = 0, missing = 0;
  while (i < elements || j < elements) {
    double ratio = HUGE_VAL;
    if (i < elements && j < elements) ratio = kf__limit_ratio(limit, b[j].index, a[i].value, b[j].value);
    if (ratio <= 1) {
      if (ratio > result.worst) result.worst = ratio;
      i++, j++;
      continue;
    }
    bool got_is_extra = j == elements || (i < elements && (a[i].value < b[j].value || isnan(b[j].value)));
    if (got_is_extra) {
      add_extra(&result, &a[i++], elements > 0 ? b[j < elements ? j : elements - 1].value : 0);
      extra++;
    } else {
      j++;
      missing++;
    }
  }
  result.wrong = extra > missing ? extra : missing;
  result.right = result.wrong == 0;
  if (!result.right) result.worst = HUGE_VAL;
  *ret_result = result;
  return KF_OK;
}
