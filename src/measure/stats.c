/* stats.c - order statistics without copying or sorting: the k-th smallest value is found by halving the
 * range of an order-preserving integer image of the values, 64 passes whatever the data, no memory and so no
 * failure. */
#include "measure/stats.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

/* Unsigned images that compare like the values. */
static uint64_t image_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double double_of_image(uint64_t image) {
  uint64_t bits = image >> 63 ? image & ~((uint64_t)1 << 63) : ~image;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t image_of_i64(int64_t value) {
  return (uint64_t)value ^ (uint64_t)1 << 63;
}

/* The smallest image that at least rank + 1 values do not exceed is the value of that rank (0-based). */
static double double_of_rank(const double *values, int count, int rank) {
  uint64_t low = 0, high = UINT64_MAX;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int not_above = 0;
    for (int i = 0; i < count; i++)
      not_above += image_of_double(values[i]) <= middle;
    if (not_above > rank)
      high = middle;
    else
      low = middle + 1;
  }
  return double_of_image(low);
}

double kf_median(const double *values, int count) {
  double upper = double_of_rank(values, count, count / 2);
  if (count % 2 == 1) return upper;
  double lower = double_of_rank(values, count, count / 2 - 1);
  return lower + (upper - lower) / 2;
}

int64_t kf_median_i64(const int64_t *values, int count) {
  int rank = (count - 1) / 2;
  uint64_t low = 0, high = UINT64_MAX;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int not_above = 0;
    for (int i = 0; i < count; i++)
      not_above += image_of_i64(values[i]) <= middle;
    if (not_above > rank)
      high = middle;
    else
      low = middle + 1;
  }
  return (int64_t)(low ^ (uint64_t)1 << 63);
}

/* P(r <= Binomial(n, 1/2) <= n - r) is the coverage of (x_(r), x_(n+1-r)). Weights are relative to the middle
 * one, so that nothing that matters underflows whatever n is. */
int kf_interval_rank(int count, double level) {
  if (count < 1) return 0;
  int middle = count / 2;
  bool odd = count % 2 == 1;
  double weight = 1, total = odd ? 2 : 1;
  for (int k = middle - 1; k >= 0; k--) {
    weight *= (double)(k + 1) / (count - k);
    total += 2 * weight;
  }
  weight = 1;
  double covered = odd ? 2 : 1;
  for (int r = middle; r >= 1; r--) {
    if (covered >= level * total) return r;
    weight *= (double)r / (count - r + 1);
    covered += 2 * weight;
  }
  return 0;
}

kf_interval kf_interval_median(const double *values, int count, double level) {
  kf_interval interval = {.median = 0, .low = -HUGE_VAL, .high = HUGE_VAL, .level = level};
  if (count < 1) return interval;
  interval.median = kf_median(values, count);
  int rank = kf_interval_rank(count, level);
  if (rank < 1) return interval;
  interval.low = double_of_rank(values, count, rank - 1);
  interval.high = double_of_rank(values, count, count - rank);
  return interval;
}
