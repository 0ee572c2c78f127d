/* region.c - one memfd, several slots: the judge's plain mapping, and the child's with holes around each
 * slot. */
#include "device/region.h"

#include "base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct kf_region {
  kf_region_layout layout;
  int fd;
  uint8_t *base; /* the judge's mapping of the whole file; NULL when it is empty */
  uint64_t guard_seed;
};

static size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* Byte `position` of a slot's pages in the guard pattern: splitmix64's finaliser over (seed, slot, word). */
static uint8_t guard_byte(uint64_t seed, unsigned slot, uint64_t position) {
  uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (position / 8 + 1 + ((uint64_t)slot << 40));
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (uint8_t)((z ^ (z >> 31)) >> (position % 8 * 8));
}

/* The data ends as near to the end of its pages as its alignment allows; even an empty slot has one page, so
 * that its neighbourhood has an address. */
static kf_status lay_out(const kf_slot_spec *slots, int nslots, kf_region_layout *ret_layout, kf_err *err) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint64_t offset = 0;
  for (int i = 0; i < nslots; i++) {
    size_t align = slots[i].align ? slots[i].align : 1;
    if ((align & (align - 1)) != 0 || align > page)
      return kf_fail(err, KF_EBUG, "region: slot %d: alignment %zu is no power of two up to a page", i,
                     align);
    if (slots[i].bytes > (size_t)1 << 46)
      return kf_fail(err, KF_EINVAL, "region: slot %d: %zu bytes", i, slots[i].bytes);
    size_t bytes = slots[i].bytes, pages = round_up(round_up(bytes ? bytes : 1, align), page);
    ret_layout->page_offset[i] = offset;
    ret_layout->page_bytes[i] = pages;
    ret_layout->data_offset[i] = (pages - bytes) & ~(uint64_t)(align - 1);
    ret_layout->data_bytes[i] = bytes;
    offset += pages;
  }
  ret_layout->file_bytes = offset;
  return KF_OK;
}

kf_status kf_region_new(const kf_slot_spec *slots, int nslots, bool read_only, uint64_t guard_seed,
                        kf_region **ret_region, kf_err *err) {
  if (nslots < 0 || nslots > KF_REGION_SLOTS_MAX) return kf_fail(err, KF_EBUG, "region: %d slots", nslots);
  kf_region *region = kf_calloc(1, sizeof *region);
  if (!region) return kf_nomem(err);
  region->fd = -1;
  region->guard_seed = guard_seed;
  region->layout.nslots = (uint32_t)nslots;
  region->layout.read_only = read_only;
  kf_status status = KF_OK;
  KF_GO(lay_out(slots, nslots, &region->layout, err));
  region->fd = memfd_create("kf-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  size_t size = region->layout.file_bytes;
  if (region->fd < 0 || ftruncate(region->fd, (off_t)size) != 0) {
    status = kf_fail(err, KF_EIO, "region: memfd: %s", strerror(errno));
    goto out;
  }
  if (size > 0) {
    /* Pages are taken now, so that missing memory is an error here and no SIGBUS or slow first touch later.
     */
    if (fallocate(region->fd, 0, 0, (off_t)size) != 0) {
      status = kf_fail(err, KF_ENOMEM, "region: %zu bytes: %s", size, strerror(errno));
      goto out;
    }
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd, 0);
    if (base == MAP_FAILED) {
      status = kf_fail(err, KF_ENOMEM, "region: map %zu bytes: %s", size, strerror(errno));
      goto out;
    }
    region->base = base;
  }
  int seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL | (read_only ? F_SEAL_FUTURE_WRITE : 0);
  if (fcntl(region->fd, F_ADD_SEALS, seals) != 0) {
    status = kf_fail(err, KF_EIO, "region: seal: %s", strerror(errno));
    goto out;
  }
  kf_region_guards_restore(region);
  *ret_region = region;
out:
  if (status != KF_OK) kf_region_free(region);
  return status;
}

void kf_region_free(kf_region *region) {
  if (!region) return;
  if (region->base) munmap(region->base, region->layout.file_bytes);
  if (region->fd >= 0) close(region->fd);
  kf_free(region);
}

int kf_region_fd(const kf_region *region) {
  return region->fd;
}

int kf_region_nslots(const kf_region *region) {
  return (int)region->layout.nslots;
}

void *kf_region_data(const kf_region *region, int slot) {
  return region->base + region->layout.page_offset[slot] + region->layout.data_offset[slot];
}

size_t kf_region_bytes(const kf_region *region, int slot) {
  return region->layout.data_bytes[slot];
}

void kf_region_get_layout(const kf_region *region, kf_region_layout *ret_layout) {
  *ret_layout = region->layout;
}

/* Finds the first byte of [from, to) of a slot's pages that differs from the pattern. */
static bool guard_intact(const kf_region *region, unsigned slot, uint64_t from, uint64_t to,
                         uint64_t *ret_position) {
  const uint8_t *pages = region->base + region->layout.page_offset[slot];
  for (uint64_t i = from; i < to; i++) {
    if (pages[i] != guard_byte(region->guard_seed, slot, i)) {
      *ret_position = i;
      return false;
    }
  }
  return true;
}

bool kf_region_guards_ok(const kf_region *region, int *ret_slot, int64_t *ret_offset) {
  const kf_region_layout *layout = &region->layout;
  for (unsigned i = 0; i < layout->nslots; i++) {
    uint64_t start = layout->data_offset[i], end = start + layout->data_bytes[i], position = 0;
    if (guard_intact(region, i, end, layout->page_bytes[i], &position) &&
        guard_intact(region, i, 0, start, &position))
      continue;
    if (ret_slot) *ret_slot = (int)i;
    if (ret_offset) *ret_offset = (int64_t)position - (int64_t)start;
    return false;
  }
  return true;
}

void kf_region_guards_restore(kf_region *region) {
  const kf_region_layout *layout = &region->layout;
  for (unsigned slot = 0; slot < layout->nslots; slot++) {
    uint8_t *pages = region->base + layout->page_offset[slot];
    uint64_t start = layout->data_offset[slot], end = start + layout->data_bytes[slot];
    for (uint64_t i = 0; i < start; i++)
      pages[i] = guard_byte(region->guard_seed, slot, i);
    for (uint64_t i = end; i < layout->page_bytes[slot]; i++)
      pages[i] = guard_byte(region->guard_seed, slot, i);
  }
}

/* A layout comes over a socket: everything is checked before an address is made of it. */
static bool layout_sane(const kf_region_layout *layout, size_t page) {
  if (layout->nslots > KF_REGION_SLOTS_MAX || layout->file_bytes > (uint64_t)1 << 46) return false;
  uint64_t expected = 0;
  for (unsigned i = 0; i < layout->nslots; i++) {
    uint64_t pages = layout->page_bytes[i], data = layout->data_offset[i];
    if (layout->page_offset[i] != expected || pages == 0 || pages % page != 0 || pages > layout->file_bytes)
      return false;
    if (data > pages || layout->data_bytes[i] > pages - data) return false;
    expected += pages;
  }
  return expected == layout->file_bytes;
}

kf_status kf_region_map(const kf_region_layout *layout, int fd, kf_region_view *ret_view, kf_err *err) {
  if (!layout_sane(layout, (size_t)sysconf(_SC_PAGESIZE)))
    return kf_fail(err, KF_EPROTO, "region: impossible layout");
  size_t span = layout->file_bytes + (size_t)KF_REGION_GAP_BYTES * (layout->nslots + 1);
  uint8_t *base = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return kf_fail(err, KF_ENOMEM, "region: reserve %zu bytes: %s", span, strerror(errno));
  kf_region_view view = {.base = base, .span = span, .layout = *layout};
  int protection = PROT_READ | (layout->read_only ? 0 : PROT_WRITE);
  uint8_t *place = base + KF_REGION_GAP_BYTES;
  for (unsigned i = 0; i < layout->nslots; i++) {
    void *pages = mmap(place, layout->page_bytes[i], protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                       (off_t)layout->page_offset[i]);
    if (pages == MAP_FAILED) {
      kf_status status = kf_fail(err, KF_ENOMEM, "region: map slot %u: %s", i, strerror(errno));
      munmap(base, span);
      return status;
    }
    view.data[i] = place + layout->data_offset[i];
    place += layout->page_bytes[i] + KF_REGION_GAP_BYTES;
  }
  *ret_view = view;
  return KF_OK;
}

void kf_region_unmap(kf_region_view *view) {
  if (view->base) munmap(view->base, view->span);
  *view = (kf_region_view){.base = NULL};
}

int kf_region_locate(const kf_region_view *view, uintptr_t address, int64_t *ret_offset) {
  for (unsigned i = 0; i < view->layout.nslots; i++) {
    uintptr_t data = (uintptr_t)view->data[i], pages = data - view->layout.data_offset[i];
    uintptr_t end = pages + view->layout.page_bytes[i];
    /* Half of each gap belongs to the slot it touches. */
    if (address < pages - KF_REGION_GAP_BYTES / 2 || address >= end + KF_REGION_GAP_BYTES / 2) continue;
    *ret_offset = (int64_t)(address - data);
    return (int)i;
  }
  return -1;
}
