/* region.h - the judge's memory for a candidate's buffers on a CPU device (docs/internals/evaluator.md,
 * Memory).
 *
 * A region is one memfd holding several slots. In the child each slot ends (up to the device's base
 * alignment) at a PROT_NONE page and begins after one, so an access beyond either end faults at its address.
 * The bytes between a slot's data and its pages' edges carry a pseudo-random guard pattern, checked by the
 * judge. The judge has its own plain mapping and reads outputs without the child's help. A read-only region
 * is sealed (F_SEAL_FUTURE_WRITE): the child cannot map it writable.
 *
 *     child:  | NONE | pad guard .. data | NONE | pad guard .. data | NONE |
 */
#ifndef KF_DEVICE_REGION_H
#define KF_DEVICE_REGION_H

#include "base/status.h"
#include <stdint.h>

/* PROT_NONE bytes before, between and after the slots in the child. */
enum { KF_REGION_GAP_BYTES = 16 << 20 };

typedef struct {
  size_t bytes; /* may be 0: a slot without data */
  size_t align; /* power of two up to a page; of the data's start */
} kf_slot_spec;

typedef struct kf_region kf_region;

/* Judge side. `read_only`: the child may only read it. */
kf_status kf_region_new(const kf_slot_spec *slots, int nslots, bool read_only, uint64_t guard_seed,
                        kf_region **ret_region, kf_err *err);
void kf_region_free(kf_region *region);
int kf_region_fd(const kf_region *region);
int kf_region_nslots(const kf_region *region);
void *kf_region_data(const kf_region *region, int slot); /* judge's mapping */
size_t kf_region_bytes(const kf_region *region, int slot);
/* Whether all guard bytes are as written; else *ret_slot and *ret_offset (bytes relative to the slot's data,
 * negative = before). */
bool kf_region_guards_ok(const kf_region *region, int *ret_slot, int64_t *ret_offset);
void kf_region_guards_restore(kf_region *region);

/* The layout, to be sent to a child with the descriptor. Plain data. */
enum { KF_REGION_SLOTS_MAX = 48 };
typedef struct {
  uint32_t nslots, read_only;
  uint64_t file_bytes;
  uint64_t page_offset[KF_REGION_SLOTS_MAX]; /* of the slot's pages in the memfd */
  uint64_t page_bytes[KF_REGION_SLOTS_MAX];
  uint64_t data_offset[KF_REGION_SLOTS_MAX]; /* of the data within its pages */
  uint64_t data_bytes[KF_REGION_SLOTS_MAX];
} kf_region_layout;
void kf_region_get_layout(const kf_region *region, kf_region_layout *ret_layout);

/* Child side: maps the slots with guard pages. data[i] is the address of slot i. */
typedef struct {
  void *base;
  size_t span;
  void *data[KF_REGION_SLOTS_MAX];
  kf_region_layout layout;
} kf_region_view;
kf_status kf_region_map(const kf_region_layout *layout, int fd, kf_region_view *ret_view, kf_err *err);
void kf_region_unmap(kf_region_view *view);
/* Which slot's neighbourhood an address lies in: returns the slot or -1; *ret_offset relative to its data. */
int kf_region_locate(const kf_region_view *view, uintptr_t address, int64_t *ret_offset);

#endif
