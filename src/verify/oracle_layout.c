/* oracle_layout.c - page of scalars, unmapped page, then each array flush against an unmapped page of its
 * own. */
#include "verify/oracle_layout.h"

#include "base/alloc.h"
#include "verify/fill.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/banned.h"

enum { SCALAR_BYTES = 16 };
static const uint64_t total_max = (uint64_t)1 << 36;

static bool is_output(const kf_arg_spec *arg) {
  return arg->role == KF_ROLE_OUT || arg->role == KF_ROLE_INOUT;
}

/* The type an argument has in the reference. */
static kf_type type_there(const kf_oracle_layout *layout, int arg) {
  kf_type type = layout->task->args[arg].type;
  return kf_type_is_float(type) ? layout->real : type;
}

static kf_status place_args(kf_oracle_layout *layout, const int64_t *symbols, kf_err *err) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t next = 2 * page; /* the scalars' page and one that stays unused */
  _Static_assert(KF_ARGS_MAX * SCALAR_BYTES <= 4096, "scalars fit into a page");
  layout->message.nargs = (uint32_t)layout->task->nargs;
  for (int i = 0; i < layout->task->nargs; i++) {
    const kf_arg_spec *arg = &layout->task->args[i];
    kf_oracle_place *place = &layout->message.places[i];
    if (!kf_role_is_array(arg->role)) {
      *place = (kf_oracle_place){.offset = (uint64_t)i * SCALAR_BYTES, .bytes = SCALAR_BYTES};
      continue;
    }
    int64_t shape[KF_RANK_MAX];
    KF_TRY(kf_task_elements(layout->task, i, symbols, &layout->elements[i], shape, err));
    uint64_t bytes;
    if (__builtin_mul_overflow((uint64_t)layout->elements[i], kf_type_size(type_there(layout, i)), &bytes) ||
        bytes > total_max - next)
      return kf_fail(err, KF_EREFUSED, "reference: %s: arrays over %llu GiB", arg->name,
                     (unsigned long long)(total_max >> 30));
    uint64_t end = next + (bytes + page - 1) / page * page;
    *place =
        (kf_oracle_place){.offset = end - bytes, .bytes = bytes, .is_array = 1, .writable = is_output(arg)};
    next = end + page;
  }
  layout->message.bytes = next;
  return KF_OK;
}

/* Of fixed size: the process that maps it too cannot shrink it under the judge's feet. */
static kf_status make_memory(kf_oracle_layout *layout, kf_err *err) {
  layout->fd = memfd_create("kf-reference", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (layout->fd < 0) return kf_fail(err, KF_EIO, "reference: memfd: %s", strerror(errno));
  if (ftruncate(layout->fd, (off_t)layout->message.bytes) != 0 ||
      fcntl(layout->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return kf_fail(err, KF_EIO, "reference: memfd: %s", strerror(errno));
  void *base = mmap(NULL, layout->message.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, layout->fd, 0);
  if (base == MAP_FAILED) return kf_fail(err, KF_ENOMEM, "reference: %s", strerror(errno));
  layout->base = base;
  return KF_OK;
}

kf_status kf__oracle_layout_init(kf_oracle_layout *layout, const kf_task *task, const int64_t *symbols,
                                 int precision, kf_err *err) {
  memset(layout, 0, sizeof *layout);
  layout->task = task;
  layout->real = precision == 0 ? KF_TYPE_F64 : KF_TYPE_F32;
  layout->fd = -1;
  layout->message.op = KF_ORACLE_OP_CALL;
  layout->message.precision = (uint32_t)precision;
  kf_status status = place_args(layout, symbols, err);
  if (status == KF_OK) status = make_memory(layout, err);
  if (status != KF_OK) kf__oracle_layout_done(layout);
  return status;
}

void kf__oracle_layout_done(kf_oracle_layout *layout) {
  if (layout->base != NULL) munmap(layout->base, layout->message.bytes);
  if (layout->fd >= 0) close(layout->fd);
  layout->base = NULL;
  layout->fd = -1;
}

static void *data_of(const kf_oracle_layout *layout, int arg) {
  return layout->base + layout->message.places[arg].offset;
}

static void convert(kf_type from_type, const void *from, kf_type to_type, void *to, int64_t count) {
  if (from_type == to_type) {
    memcpy(to, from, (size_t)count * kf_type_size(from_type));
    return;
  }
  if (from_type == KF_TYPE_F32 && to_type == KF_TYPE_F64) {
    for (int64_t i = 0; i < count; i++)
      ((double *)to)[i] = ((const float *)from)[i];
    return;
  }
  for (int64_t i = 0; i < count; i++)
    kf_type_put(to_type, to, (size_t)i, kf_type_get(from_type, from, (size_t)i));
}

kf_status kf__oracle_layout_write(kf_oracle_layout *layout, const int64_t *symbols, const void *const *inputs,
                                  kf_err *err) {
  const kf_task *task = layout->task;
  for (int i = 0; i < task->nargs; i++) {
    const kf_arg_spec *arg = &task->args[i];
    void *data = data_of(layout, i);
    kf_type type = type_there(layout, i);
    if (arg->role == KF_ROLE_SIZE)
      kf_type_put(type, data, 0, (double)symbols[arg->symbol]);
    else if (arg->role == KF_ROLE_SCALAR)
      kf_type_put(type, data, 0, arg->value);
    else if (arg->role == KF_ROLE_OUT)
      kf_poison(type, data, layout->elements[i], 0);
    else if (inputs[i] == NULL)
      return kf_fail(err, KF_EBUG, "reference: no data for %s", arg->name);
    else
      convert(arg->type, inputs[i], type, data, layout->elements[i]);
  }
  return KF_OK;
}

static kf_status read_output(const kf_oracle_layout *layout, int arg, const char *case_text,
                             double **ret_values, kf_err *err) {
  const kf_arg_spec *spec = &layout->task->args[arg];
  kf_type type = type_there(layout, arg);
  int64_t count = layout->elements[arg];
  if (kf_type_is_float(type) && spec->role == KF_ROLE_OUT) {
    int64_t left = kf_poison_find(type, data_of(layout, arg), count, 0);
    if (left >= 0)
      return kf_fail(err, KF_EREFUSED, "reference: %s: element %lld of %s is never written", case_text,
                     (long long)left, spec->name);
  }
  double *values = kf_reallocarray(NULL, (size_t)count + 1, sizeof *values);
  if (values == NULL) return kf_nomem(err);
  convert(type, data_of(layout, arg), KF_TYPE_F64, values, count);
  *ret_values = values;
  return KF_OK;
}

kf_status kf__oracle_layout_read(const kf_oracle_layout *layout, const char *case_text,
                                 double *ret_outputs[KF_ARGS_MAX], kf_err *err) {
  kf_status status = KF_OK;
  double *outputs[KF_ARGS_MAX] = {NULL};
  for (int i = 0; i < layout->task->nargs && status == KF_OK; i++)
    if (is_output(&layout->task->args[i])) status = read_output(layout, i, case_text, &outputs[i], err);
  if (status != KF_OK) {
    for (int i = 0; i < KF_ARGS_MAX; i++)
      kf_free(outputs[i]);
    return status;
  }
  memcpy(ret_outputs, outputs, sizeof outputs);
  return KF_OK;
}
