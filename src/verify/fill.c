/* fill.c - element-wise fills: normal, uniform, integers, index, constant. Each works in chunks: random
 * words, then values, then the element type, so that the common type (f32) is written directly and fast.
 * Compiled with -ffp-contract=off; every operation is exact or rounded once. */
#include "verify/fill.h"

#include "verify/fill_job.h"
#include "verify/quantile.h"
#include <math.h>
#include <string.h>

#include "base/banned.h"

enum { CHUNK = 1024, CHUNK_BLOCKS = CHUNK / 4, INT_BITS = 24 };

static const char *const family_names[KF_FAMILY_COUNT] = {
    [KF_FAMILY_DECLARED] = "declared",
    [KF_FAMILY_NORMAL] = "normal",
    [KF_FAMILY_UNIFORM_SYMMETRIC] = "uniform_symmetric",
    [KF_FAMILY_LOGNORMAL] = "lognormal",
    [KF_FAMILY_SHIFTED] = "shifted",
    [KF_FAMILY_TINY] = "tiny",
    [KF_FAMILY_INTEGERS] = "integers",
    [KF_FAMILY_HUGE] = "huge",
    [KF_FAMILY_LARGE] = "large",
    [KF_FAMILY_OFFSET] = "offset",
    [KF_FAMILY_SUBNORMAL] = "subnormal",
    [KF_FAMILY_ZEROS] = "zeros",
    [KF_FAMILY_EQUAL] = "equal",
    [KF_FAMILY_ONE_HOT] = "one_hot",
    [KF_FAMILY_ALTERNATING] = "alternating",
    [KF_FAMILY_NAN_FIRST] = "nan_first",
    [KF_FAMILY_NAN_MIDDLE] = "nan_middle",
    [KF_FAMILY_NAN_LAST] = "nan_last",
    [KF_FAMILY_INF_FIRST] = "inf_first",
    [KF_FAMILY_INF_MIDDLE] = "inf_middle",
    [KF_FAMILY_INF_LAST] = "inf_last",
    [KF_FAMILY_MINUS_INF_FIRST] = "minus_inf_first",
    [KF_FAMILY_MINUS_INF_MIDDLE] = "minus_inf_middle",
    [KF_FAMILY_MINUS_INF_LAST] = "minus_inf_last",
};

const char *kf_family_name(kf_family family) {
  return (unsigned)family < KF_FAMILY_COUNT ? family_names[family] : "unknown";
}

bool kf_family_is_stress(kf_family family) {
  return family >= KF_FAMILY_STRESS && family < KF_FAMILY_COUNT;
}

/* ---- random words ---- */

/* Four blocks side by side: the ten rounds of one block are a chain of multiplications, four chains fill the
 * pipeline. Constants as in base/philox.c, which a test holds this to. */
enum { LANES = 4, ROUNDS = 10 };

static void philox_lanes(const uint32_t key[2], uint64_t block, uint32_t arg, uint32_t purpose,
                         uint32_t *ret_words) {
  uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
  for (int lane = 0; lane < LANES; lane++) {
    uint64_t number = block + (unsigned)lane;
    c0[lane] = (uint32_t)number;
    c1[lane] = (uint32_t)(number >> 32);
    c2[lane] = arg;
    c3[lane] = purpose;
  }
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < ROUNDS; round++) {
    for (int lane = 0; lane < LANES; lane++) {
      uint64_t p0 = (uint64_t)0xD2511F53u * c0[lane];
      uint64_t p1 = (uint64_t)0xCD9E8D57u * c2[lane];
      c0[lane] = (uint32_t)(p1 >> 32) ^ c1[lane] ^ k0;
      c1[lane] = (uint32_t)p1;
      c2[lane] = (uint32_t)(p0 >> 32) ^ c3[lane] ^ k1;
      c3[lane] = (uint32_t)p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int lane = 0; lane < LANES; lane++) {
    ret_words[4 * lane] = c0[lane];
    ret_words[4 * lane + 1] = c1[lane];
    ret_words[4 * lane + 2] = c2[lane];
    ret_words[4 * lane + 3] = c3[lane];
  }
}

void kf__fill_words(uint64_t seed, int arg, uint32_t purpose, uint64_t block, int64_t nblocks,
                    uint32_t *ret_words) {
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  int64_t i = 0;
  for (; i + LANES <= nblocks; i += LANES)
    philox_lanes(key, block + (uint64_t)i, (uint32_t)arg, purpose, ret_words + 4 * i);
  for (; i < nblocks; i++) {
    uint64_t number = block + (uint64_t)i;
    const uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32), (uint32_t)arg, purpose};
    kf_philox_block(counter, key, ret_words + 4 * i);
  }
}

/* ---- float values ---- */

typedef enum { VALUE_TABLE, VALUE_UNIFORM, VALUE_SYMMETRIC, VALUE_SMALL_INT } value_kind;

typedef struct {
  value_kind kind;
  const float *table;
  int reach; /* SMALL_INT: values -reach..reach */
} value_map;

/* Products of small integers stay exact in the accumulator of the type: 3 * 3 * 2^20 < 2^24; for the narrow
 * types 1 * 2^10. */
static int small_int_reach(kf_type type) {
  return type == KF_TYPE_F64 || type == KF_TYPE_F32 ? 3 : 1;
}

static value_map map_of(const kf_fill_job *job) {
  bool normal = job->arg->fill.kind == KF_FILL_NORMAL;
  kf_family family = kf_type_is_float(job->type) ? job->family : KF_FAMILY_DECLARED;
  switch (family) {
  case KF_FAMILY_UNIFORM_SYMMETRIC:
    return (value_map){.kind = VALUE_SYMMETRIC};
  case KF_FAMILY_LOGNORMAL:
    return (value_map){.table = kf__quantile_table(KF_QUANTILE_LOGNORMAL)};
  case KF_FAMILY_SHIFTED:
    return (value_map){.table = kf__quantile_table(KF_QUANTILE_SHIFTED)};
  case KF_FAMILY_TINY:
    return (value_map){.table = kf__quantile_table(KF_QUANTILE_TINY)};
  case KF_FAMILY_INTEGERS:
    return (value_map){.kind = VALUE_SMALL_INT, .reach = small_int_reach(job->type)};
  case KF_FAMILY_NORMAL:
    normal = true;
    break;
  default:
    break;
  }
  if (!normal) return (value_map){.kind = VALUE_UNIFORM};
  return (value_map){.table = kf__quantile_table(KF_QUANTILE_NORMAL)};
}

static void words_to_floats(const value_map *map, const uint32_t *words, int64_t count, float *ret_values) {
  switch (map->kind) {
  case VALUE_TABLE:
    for (int64_t i = 0; i < count; i++)
      ret_values[i] = map->table[words[i] >> (32 - KF_QUANTILE_BITS)];
    break;
  case VALUE_UNIFORM:
    for (int64_t i = 0; i < count; i++)
      ret_values[i] = (float)(int32_t)(words[i] >> 8) * 0x1p-24f;
    break;
  case VALUE_SYMMETRIC:
    for (int64_t i = 0; i < count; i++)
      ret_values[i] = (float)((int32_t)(words[i] >> 8) - (1 << 23)) * 0x1p-23f;
    break;
  case VALUE_SMALL_INT:
    for (int64_t i = 0; i < count; i++) {
      uint64_t choices = 2 * (unsigned)map->reach + 1;
      ret_values[i] = (float)((int)(words[i] * choices >> 32) - map->reach);
    }
    break;
  }
}

static void store_floats(kf_type type, void *data, int64_t first, const float *values, int64_t count) {
  if (type == KF_TYPE_F64) {
    for (int64_t i = 0; i < count; i++)
      ((double *)data)[first + i] = values[i];
    return;
  }
  for (int64_t i = 0; i < count; i++)
    kf_type_put(type, data, (size_t)(first + i), values[i]);
}

static void fill_real(const kf_fill_job *job) {
  value_map map = map_of(job);
  uint32_t words[CHUNK] = {0};
  float values[CHUNK];
  for (int64_t first = job->begin; first < job->elements; first += CHUNK) {
    int64_t count = job->elements - first < CHUNK ? job->elements - first : CHUNK;
    kf__fill_words(job->seed, job->index, KF_FILL_PURPOSE, (uint64_t)first / 4, (count + 3) / 4, words);
    if (job->type == KF_TYPE_F32) {
      words_to_floats(&map, words, count, (float *)job->data + first);
      continue;
    }
    words_to_floats(&map, words, count, values);
    store_floats(job->type, job->data, first, values, count);
  }
}

void kf__fill_normal(const kf_fill_job *job) {
  kf_fill_job normal = *job;
  normal.family = KF_FAMILY_NORMAL;
  fill_real(&normal);
}

/* ---- integers ---- */

void kf__fill_put_int(kf_type type, void *data, int64_t index, int64_t value) {
  if (type == KF_TYPE_I64)
    ((int64_t *)data)[index] = value;
  else if (type == KF_TYPE_U64)
    ((uint64_t *)data)[index] = value < 0 ? 0 : (uint64_t)value;
  else
    kf_type_put(type, data, (size_t)index, (double)value);
}

/* floor(random * range / 2^bits): off from uniform by at most range / 2^bits, and needs one draw an element.
 */
static void fill_ints(const kf_fill_job *job, int64_t lo, uint64_t range) {
  uint32_t low[CHUNK] = {0}, high[CHUNK] = {0};
  bool wide = range > UINT32_MAX;
  for (int64_t first = job->begin; first < job->elements; first += CHUNK) {
    int64_t count = job->elements - first < CHUNK ? job->elements - first : CHUNK;
    uint64_t block = (uint64_t)first / 4;
    kf__fill_words(job->seed, job->index, KF_FILL_PURPOSE, block, (count + 3) / 4, high);
    if (wide) kf__fill_words(job->seed, job->index, KF_FILL_PURPOSE_HIGH, block, (count + 3) / 4, low);
    for (int64_t i = 0; i < count; i++) {
      uint64_t draw;
      if (wide)
        draw = (uint64_t)((unsigned __int128)((uint64_t)high[i] << 32 | low[i]) * range >> 64);
      else
        draw = high[i] * range >> 32;
      int64_t value = (int64_t)((uint64_t)lo + draw);
      if (job->type == KF_TYPE_I32)
        ((int32_t *)job->data)[first + i] = value > INT32_MAX   ? INT32_MAX
                                            : value < INT32_MIN ? INT32_MIN
                                                                : (int32_t)value;
      else
        kf__fill_put_int(job->type, job->data, first + i, value);
    }
  }
}

static kf_status fill_range(const kf_fill_job *job, int64_t lo, int64_t hi, kf_err *err) {
  if (hi <= lo)
    return kf_fail(err, KF_EREFUSED, "argument %s: fill: no integer in [%lld, %lld)", job->arg->name,
                   (long long)lo, (long long)hi);
  fill_ints(job, lo, (uint64_t)hi - (uint64_t)lo);
  return KF_OK;
}

static void fill_constant(const kf_fill_job *job) {
  size_t size = kf_type_size(job->type);
  if (job->elements < 1) return;
  kf_type_put(job->type, job->data, 0, job->arg->fill.value);
  for (int64_t i = 1; i < job->elements; i++)
    memcpy((char *)job->data + (size_t)i * size, job->data, size);
}

kf_status kf_fill_arg(const kf_task *task, int arg, const int64_t *symbols, uint64_t seed, kf_family family,
                      void *data, int64_t elements, kf_err *err) {
  const kf_arg_spec *spec = &task->args[arg];
  kf_fill_job job = {.task = task,
                     .arg = spec,
                     .symbols = symbols,
                     .index = arg,
                     .seed = seed,
                     .family = family,
                     .type = spec->type,
                     .data = data,
                     .elements = elements};
  if (spec->role != KF_ROLE_IN && spec->role != KF_ROLE_INOUT)
    return kf_fail(err, KF_EBUG, "argument %s: role %s has no fill", spec->name, kf_role_name(spec->role));
  switch (spec->fill.kind) {
  case KF_FILL_NORMAL:
  case KF_FILL_UNIFORM:
    if (kf_family_is_stress(family) && kf_type_is_float(job.type))
      kf__fill_stress(&job);
    else
      fill_real(&job);
    return KF_OK;
  case KF_FILL_INT:
    return fill_range(&job, spec->fill.lo, spec->fill.hi, err);
  case KF_FILL_INDEX:
    return fill_range(&job, 0, symbols[spec->fill.symbol], err);
  case KF_FILL_PERMUTATION:
    return kf__fill_permutation(&job, err);
  case KF_FILL_SORTED:
    return kf__fill_sorted(&job, err);
  case KF_FILL_SPD:
    return kf__fill_spd(&job, err);
  case KF_FILL_CONSTANT:
    fill_constant(&job);
    return KF_OK;
  case KF_FILL_FILE:
    return kf__fill_file(&job, err);
  }
  return kf_fail(err, KF_EBUG, "argument %s: fill kind %d", spec->name, (int)spec->fill.kind);
}

bool kf_fill_is_elementwise(const kf_arg_spec *arg) {
  kf_fill_kind kind = arg->fill.kind;
  return kind == KF_FILL_NORMAL || kind == KF_FILL_UNIFORM || kind == KF_FILL_INT || kind == KF_FILL_INDEX;
}

kf_status kf_fill_part(const kf_task *task, int arg, const int64_t *symbols, uint64_t seed, void *data,
                       int64_t first, int64_t count, kf_err *err) {
  const kf_arg_spec *spec = &task->args[arg];
  kf_fill_job job = {.task = task,
                     .arg = spec,
                     .symbols = symbols,
                     .index = arg,
                     .seed = seed,
                     .family = KF_FAMILY_DECLARED,
                     .type = spec->type,
                     .data = data,
                     .begin = first,
                     .elements = first + count};
  if (!kf_fill_is_elementwise(spec) || first % 4 != 0)
    return kf_fail(err, KF_EBUG, "argument %s: cannot be filled in part from %lld", spec->name,
                   (long long)first);
  if (spec->fill.kind == KF_FILL_INT) return fill_range(&job, spec->fill.lo, spec->fill.hi, err);
  if (spec->fill.kind == KF_FILL_INDEX) return fill_range(&job, 0, symbols[spec->fill.symbol], err);
  fill_real(&job);
  return KF_OK;
}
