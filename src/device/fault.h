/* fault.h - a page shared by judge and child in which a dying child says at which address it faulted.
 *
 * The child fills in where its buffers lie and installs handlers that write the fault and then die of the
 * same signal. The page is the child's word and only explains an end that the judge has seen itself: it turns
 * "crashed" into "wrong memory, 4 bytes past the end of x", never a failure into a success. Threads: handlers
 * run on any thread; the first fault wins. */
#ifndef KF_DEVICE_FAULT_H
#define KF_DEVICE_FAULT_H

#include "device/backend.h"
#include "sandbox/child.h"

enum { KF_FAULT_SLOTS_MAX = 48 };

typedef enum { KF_ACCESS_UNKNOWN, KF_ACCESS_READ, KF_ACCESS_WRITE } kf_access;

typedef struct {
  uint32_t nslots;
  struct kf_fault_slot {
    uint64_t address, bytes;
    uint32_t read_only, pad;
  } slots[KF_FAULT_SLOTS_MAX]; /* in the order of kf_calls.buffers */
  volatile uint32_t seen;      /* 0, then 1 by the first faulting thread, then 2 when the rest is written */
  int32_t signal, code;        /* si_signo, si_code */
  uint32_t access;             /* kf_access */
  uint64_t address;
} kf_fault_page;

/* Judge side: the page as sealed memfd (for the child) and mapping. */
kf_status kf_fault_page_new(int *ret_fd, kf_fault_page **ret_page, kf_err *err);
void kf_fault_page_free(int fd, kf_fault_page *page); /* accepts -1 and NULL */

/* Child side: maps the page and installs the handlers on an alternate stack of the calling thread; other
 * threads run them on their own stack, so a stack overflow there ends without an address. */
kf_status kf_fault_install(int fd, kf_fault_page **ret_page, kf_err *err);
void kf_fault_set_slots(kf_fault_page *page, void *const *data, const size_t *bytes, const bool *read_only,
                        int count);

/* Judge side: code, text, slot and offset for a child that ended by `end` while it ran foreign code. `calls`
 * gives the buffers' names and may be NULL. */
void kf_fault_classify(const kf_fault_page *page, const kf_exit *end, const kf_calls *calls,
                       kf_run_result *ret_result);

#endif
