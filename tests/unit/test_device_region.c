/* links: kf_device */
/* Regions: layout, guards, seals, what a child can and cannot do with the mapping; and how a fault is
 * explained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "device/calls_blob.h"
#include "device/fault.h"
#include "device/region.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static kf_err err;
#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != KF_OK) fail_msg("%s: %s", #call, err.msg);                                                 \
  } while (0)

static const kf_slot_spec three[] = {{100, 4}, {8192, 128}, {0, 64}};

static kf_region *make(bool read_only) {
  kf_region *region = NULL;
  OK(kf_region_new(three, 3, read_only, 42, &region, &err));
  return region;
}

static void map(const kf_region *region, kf_region_view *ret_view) {
  kf_region_layout layout;
  kf_region_get_layout(region, &layout);
  OK(kf_region_map(&layout, kf_region_fd(region), ret_view, &err));
}

static void test_device_region__data_ends_at_its_pages(void **state) {
  (void)state;
  kf_region *region = make(false);
  kf_region_layout layout;
  kf_region_get_layout(region, &layout);
  assert_int_equal(kf_region_nslots(region), 3);
  for (unsigned i = 0; i < 3; i++) {
    uint64_t end = layout.data_offset[i] + layout.data_bytes[i];
    assert_true(layout.page_bytes[i] - end < (three[i].align ? three[i].align : 1));
    assert_int_equal(layout.data_offset[i] % three[i].align, 0);
    assert_int_equal(kf_region_bytes(region, (int)i), three[i].bytes);
  }
  kf_region_free(region);
}

static void test_device_region__both_mappings_are_one_memory(void **state) {
  (void)state;
  kf_region_view view;
  kf_region *region = make(false);
  map(region, &view);
  memset(view.data[1], 0x5a, 8192);
  assert_int_equal(((uint8_t *)kf_region_data(region, 1))[8191], 0x5a);
  assert_true(kf_region_guards_ok(region, NULL, NULL));
  kf_region_unmap(&view);
  kf_region_free(region);
}

static void test_device_region__guards_tell_where(void **state) {
  (void)state;
  int slot = -1;
  int64_t offset = 0;
  kf_region *region = make(false);
  uint8_t *data = kf_region_data(region, 0);
  data[-5] ^= 1;
  assert_false(kf_region_guards_ok(region, &slot, &offset));
  assert_int_equal(slot, 0);
  assert_int_equal(offset, -5);
  kf_region_guards_restore(region);
  assert_true(kf_region_guards_ok(region, &slot, &offset));
  kf_region_free(region);
}

static void test_device_region__other_seeds_other_guards(void **state) {
  (void)state;
  kf_region *one = NULL, *two = NULL;
  const kf_slot_spec slot = {16, 16};
  OK(kf_region_new(&slot, 1, false, 1, &one, &err));
  OK(kf_region_new(&slot, 1, false, 2, &two, &err));
  int equal = 0;
  for (int i = 1; i <= 1024; i++)
    equal += ((uint8_t *)kf_region_data(one, 0))[-i] == ((uint8_t *)kf_region_data(two, 0))[-i];
  assert_true(equal < 32); /* 4 expected by chance */
  kf_region_free(one);
  kf_region_free(two);
}

static void test_device_region__read_only_cannot_be_written_elsewhere(void **state) {
  (void)state;
  kf_region_view view;
  kf_region *region = make(true);
  map(region, &view);
  *(uint8_t *)kf_region_data(region, 0) = 9; /* the judge can */
  assert_int_equal(*(uint8_t *)view.data[0], 9);
  assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, kf_region_fd(region), 0) == MAP_FAILED);
  uintptr_t page = (uintptr_t)view.data[0] & ~(uintptr_t)4095;
  assert_int_equal(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE), -1);
  assert_int_equal(pwrite(kf_region_fd(region), "x", 1, 0), -1);
  assert_int_equal(ftruncate(kf_region_fd(region), 0), -1);
  kf_region_unmap(&view);
  kf_region_free(region);
}

/* Ends by the signal that touching the address raises, 0 if none. */
static int signal_of_touch(volatile uint8_t *address, bool write_it) {
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    if (write_it)
      *address = 1;
    else
      (void)*address;
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_device_region__neighbours_fault(void **state) {
  (void)state;
  kf_region_view view;
  int64_t offset = 0;
  kf_region *region = make(false);
  map(region, &view);
  uint8_t *data = view.data[1];
  assert_int_equal(signal_of_touch(data + 8191, true), 0);
  assert_int_equal(signal_of_touch(data + 8192, false), SIGSEGV);
  assert_int_equal(signal_of_touch(data - 4096, false),
                   SIGSEGV); /* 8192 = two whole pages: no slack before */
  assert_int_equal(signal_of_touch(data - 1, true), SIGSEGV);
  assert_int_equal(kf_region_locate(&view, (uintptr_t)data + 8200, &offset), 1);
  assert_int_equal(offset, 8200);
  assert_int_equal(kf_region_locate(&view, (uintptr_t)data - 1, &offset), 1);
  assert_int_equal(offset, -1);
  assert_int_equal(kf_region_locate(&view, 4096, &offset), -1);
  kf_region_unmap(&view);
  kf_region_free(region);
}

static void test_device_region__refuses_nonsense(void **state) {
  (void)state;
  kf_region *region = NULL;
  kf_region_view view;
  kf_region_layout layout;
  assert_int_equal(kf_region_new(&(kf_slot_spec){16, 3}, 1, false, 1, &region, &err), KF_EBUG);
  assert_int_equal(kf_region_new(&(kf_slot_spec){SIZE_MAX, 4}, 1, false, 1, &region, &err), KF_EINVAL);
  region = make(false);
  kf_region_get_layout(region, &layout);
  layout.data_offset[1] = layout.page_bytes[1] + 1;
  assert_int_equal(kf_region_map(&layout, kf_region_fd(region), &view, &err), KF_EPROTO);
  kf_region_get_layout(region, &layout);
  layout.nslots = 1000;
  assert_int_equal(kf_region_map(&layout, kf_region_fd(region), &view, &err), KF_EPROTO);
  kf_region_free(region);
}

/* ---- faults ---- */

static void classify(uint64_t address, kf_access access, kf_run_result *ret_result) {
  kf_fault_page page = {.seen = 2, .signal = SIGSEGV, .access = access, .address = address, .nslots = 2};
  page.slots[0] = (struct kf_fault_slot){0x10000000, 4096, 1, 0};
  page.slots[1] = (struct kf_fault_slot){0x20000000, 400, 0, 0};
  kf_calls calls = {.nbuffers = 2};
  calls.buffers[0] = (kf_buffer_spec){.name = "x", .elements = 1024, .bytes = 4096};
  calls.buffers[1] = (kf_buffer_spec){.name = "y", .elements = 100, .bytes = 400};
  kf_exit end = {.kind = KF_EXIT_SIGNAL, .code = SIGSEGV};
  kf_fault_classify(&page, &end, &calls, ret_result);
}

static void test_device_fault__texts(void **state) {
  (void)state;
  static const struct {
    uint64_t address;
    kf_access access;
    kf_run_code code;
    const char *text;
  } cases[] = {
      {0x10001000, KF_ACCESS_READ, KF_RUN_WRONG_MEMORY,
       "out-of-bounds read 0 bytes past the end of x (element 1024 of 1024)"},
      {0x10001004, KF_ACCESS_UNKNOWN, KF_RUN_WRONG_MEMORY,
       "out-of-bounds read or write 4 bytes past the end of x (element 1025 of 1024)"},
      {0x1fffffff, KF_ACCESS_WRITE, KF_RUN_WRONG_MEMORY,
       "out-of-bounds write 1 bytes before the start of y (element -1 of 100)"},
      {0x10000010, KF_ACCESS_WRITE, KF_RUN_WRONG_MEMORY, "write to the input x at byte 16"},
      {0x20000010, KF_ACCESS_WRITE, KF_RUN_CRASHED,
       "the process was killed by signal 11 (segmentation fault) at address 0x20000010 (write)"},
      {0x0, KF_ACCESS_READ, KF_RUN_CRASHED,
       "the process was killed by signal 11 (segmentation fault) at address 0x0 (read)"},
  };
  for (size_t i = 0; i < KF_COUNTOF(cases); i++) {
    kf_run_result result;
    classify(cases[i].address, cases[i].access, &result);
    assert_int_equal(result.code, cases[i].code);
    assert_string_equal(result.text, cases[i].text);
  }
}

static void test_device_fault__ends_without_a_record(void **state) {
  (void)state;
  kf_fault_page page = {.seen = 0};
  kf_run_result result;
  kf_exit end = {.kind = KF_EXIT_CODE, .code = 0};
  kf_fault_classify(&page, &end, NULL, &result);
  assert_int_equal(result.code, KF_RUN_CRASHED);
  assert_string_equal(result.text, "the process exited with code 0");
  end = (kf_exit){.kind = KF_EXIT_SIGNAL, .code = SIGKILL, .over_memory = true};
  kf_fault_classify(&page, &end, NULL, &result);
  assert_int_equal(result.code, KF_RUN_OUT_OF_MEMORY);
}

static void test_device_calls__survive_packing(void **state) {
  (void)state;
  kf_step steps[2] = {
      {.kind = KF_STEP_FILL, .buffer = 1, .npattern = 4},
      {.kind = KF_STEP_LAUNCH, .entry = "f", .global = {64, 1, 1}, .local = {64, 1, 1}, .nargs = 1}};
  kf_calls calls = {.nbuffers = 2, .nsteps = 2, .steps = steps}, *back = NULL;
  kf_buf blob;
  size_t used = 0;
  kf_buf_init(&blob, KF_CALLS_BLOB_MAX);
  OK(kf_calls_pack(&calls, &blob, &err));
  OK(kf_calls_unpack(blob.data, blob.len, &used, &back, &err));
  assert_int_equal(used, blob.len);
  assert_int_equal(back->nsteps, 2);
  assert_string_equal(back->steps[1].entry, "f");
  kf_calls_unpacked_free(back);
  for (size_t cut = 0; cut < blob.len; cut += 97)
    assert_int_equal(kf_calls_unpack(blob.data, cut, &used, &back, &err), KF_EPROTO);
  kf_buf_clear(&blob);
  steps[0].buffer = 2; /* there is none */
  OK(kf_calls_pack(&calls, &blob, &err));
  assert_int_equal(kf_calls_unpack(blob.data, blob.len, &used, &back, &err), KF_EPROTO);
  kf_buf_done(&blob);
}

int main(void) {
  kf_alloc_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_device_region__data_ends_at_its_pages),
      cmocka_unit_test(test_device_region__both_mappings_are_one_memory),
      cmocka_unit_test(test_device_region__guards_tell_where),
      cmocka_unit_test(test_device_region__other_seeds_other_guards),
      cmocka_unit_test(test_device_region__read_only_cannot_be_written_elsewhere),
      cmocka_unit_test(test_device_region__neighbours_fault),
      cmocka_unit_test(test_device_region__refuses_nonsense),
      cmocka_unit_test(test_device_fault__texts),
      cmocka_unit_test(test_device_fault__ends_without_a_record),
      cmocka_unit_test(test_device_calls__survive_packing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
