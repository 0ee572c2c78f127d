/* fault.c - the shared page of a dying child: written by signal handlers, read by the judge. */
#include "device/fault.h"

#include "device/region.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };
_Static_assert(sizeof(kf_fault_page) <= PAGE_BYTES, "the fault record fits one page");

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

kf_status kf_fault_page_new(int *ret_fd, kf_fault_page **ret_page, kf_err *err) {
  int fd = memfd_create("kf-fault", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void *page = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, PAGE_BYTES) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
    page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    kf_status status = kf_fail(err, KF_EIO, "fault page: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return status;
  }
  *ret_fd = fd;
  *ret_page = page;
  return KF_OK;
}

void kf_fault_page_free(int fd, kf_fault_page *page) {
  if (page) munmap(page, PAGE_BYTES);
  if (fd >= 0) close(fd);
}

static kf_fault_page *handler_page;

static kf_access access_of(const void *context) {
#if defined(__x86_64__)
  /* Bit 1 of the page fault's error code: a write (Intel SDM volume 3, 4.7). */
  const ucontext_t *machine = context;
  return machine->uc_mcontext.gregs[REG_ERR] & 2 ? KF_ACCESS_WRITE : KF_ACCESS_READ;
#else
  (void)context;
  return KF_ACCESS_UNKNOWN;
#endif
}

/* SA_RESETHAND has already put the default action back: returning repeats the faulting instruction, which
 * then kills with the true signal. A signal that was sent would not repeat itself, so it is raised again. */
static void on_fault(int sig, siginfo_t *info, void *context) {
  kf_fault_page *page = handler_page;
  uint32_t nobody = 0;
  if (page &&
      __atomic_compare_exchange_n(&page->seen, &nobody, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    page->signal = sig;
    page->code = info->si_code;
    page->address = (uint64_t)(uintptr_t)info->si_addr;
    page->access = sig == SIGSEGV ? (uint32_t)access_of(context) : KF_ACCESS_UNKNOWN;
    __atomic_store_n(&page->seen, 2, __ATOMIC_SEQ_CST);
  }
  if (info->si_code <= 0) raise(sig);
}

kf_status kf_fault_install(int fd, kf_fault_page **ret_page, kf_err *err) {
  static char stack[65536];
  void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return kf_fail(err, KF_EIO, "fault page: %s", strerror(errno));
  handler_page = page;
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  if (sigaltstack(&alternate, NULL) != 0) return kf_fail(err, KF_EIO, "fault handler: %s", strerror(errno));
  for (size_t i = 0; i < KF_COUNTOF(fault_signals); i++)
    if (sigaction(fault_signals[i], &action, NULL) != 0)
      return kf_fail(err, KF_EIO, "fault handler: %s", strerror(errno));
  *ret_page = page;
  return KF_OK;
}

void kf_fault_set_slots(kf_fault_page *page, void *const *data, const size_t *bytes, const bool *read_only,
                        int count) {
  page->nslots = 0;
  for (int i = 0; i < count && i < KF_FAULT_SLOTS_MAX; i++) {
    page->slots[i] = (struct kf_fault_slot){(uint64_t)(uintptr_t)data[i], bytes[i], read_only[i], 0};
    page->nslots++;
  }
}

/* The slot whose data is nearest to the address, and how far it lies outside (0: inside). */
static int nearest_slot(const kf_fault_page *page, uint64_t address, uint64_t *ret_distance) {
  int best = -1;
  uint32_t count = page->nslots < KF_FAULT_SLOTS_MAX ? page->nslots : KF_FAULT_SLOTS_MAX;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t start = page->slots[i].address, end = start + page->slots[i].bytes, distance = 0;
    if (start == 0) continue;
    if (address < start) distance = start - address;
    if (address >= end) distance = address - end;
    if (best >= 0 && distance >= *ret_distance) continue;
    best = (int)i;
    *ret_distance = distance;
  }
  return best;
}

static const char *access_word(uint32_t access) {
  return access == KF_ACCESS_READ ? "read" : access == KF_ACCESS_WRITE ? "write" : "read or write";
}

static void describe_outside(const struct kf_fault_slot *slot, uint32_t access, const char *name,
                             uint64_t element_bytes, kf_run_result *result) {
  int64_t offset = result->offset;
  const char *word = access_word(access);
  char where[64] = "";
  if (element_bytes > 0) {
    int64_t unit = (int64_t)element_bytes,
            element = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
    snprintf(where, sizeof where, " (element %" PRId64 " of %" PRIu64 ")", element,
             slot->bytes / element_bytes);
  }
  if (offset < 0)
    snprintf(result->text, sizeof result->text, "out-of-bounds %s %" PRId64 " bytes before the start of %s%s",
             word, -offset, name, where);
  else
    snprintf(result->text, sizeof result->text, "out-of-bounds %s %" PRId64 " bytes past the end of %s%s",
             word, offset - (int64_t)slot->bytes, name, where);
}

/* abort in the first process of a process-number namespace: the kernel spares that process signals of its own
 * with the default action, so abort ends in a forbidden instruction after SIGABRT was handled. */
static void undo_spared_abort(const kf_fault_page *page, kf_exit *end) {
  if (page->seen == 2 && page->signal == SIGABRT && end->kind == KF_EXIT_SIGNAL && end->code == SIGSEGV)
    end->code = SIGABRT;
}

/* True when the fault belongs to a buffer: then it is the candidate's wrong memory access. */
static bool classify_memory(const kf_fault_page *page, const kf_calls *calls, kf_run_result *result) {
  uint64_t distance = 0, address = page->address;
  int nearest = nearest_slot(page, address, &distance);
  if (nearest < 0 || distance > KF_REGION_GAP_BYTES) return false;
  struct kf_fault_slot slot = page->slots[nearest];
  char name[80];
  uint64_t element_bytes = 0;
  snprintf(name, sizeof name, "buffer %d", nearest);
  if (calls && nearest < calls->nbuffers) {
    const kf_buffer_spec *spec = &calls->buffers[nearest];
    if (spec->name) snprintf(name, sizeof name, "%s", spec->name);
    if (spec->elements > 0) element_bytes = (uint64_t)(spec->bytes / spec->elements);
  }
  result->slot = nearest;
  result->offset = (int64_t)(address - slot.address);
  if (distance > 0 || result->offset >= (int64_t)slot.bytes || result->offset < 0) {
    describe_outside(&slot, page->access, name, element_bytes, result);
  } else if (slot.read_only) {
    snprintf(result->text, sizeof result->text, "write to the input %s at byte %" PRId64, name,
             result->offset);
  } else {
    return false; /* inside a buffer that may be read and written: no fault of its bounds */
  }
  result->code = KF_RUN_WRONG_MEMORY;
  return true;
}

void kf_fault_classify(const kf_fault_page *page, const kf_exit *exited, const kf_calls *calls,
                       kf_run_result *ret_result) {
  kf_run_result result = {.code = KF_RUN_CRASHED, .slot = -1};
  char ended[120];
  kf_fault_page copy = *page; /* the child is dead or may still write: decide on one state */
  kf_exit corrected = *exited, *end = &corrected;
  undo_spared_abort(&copy, end);
  kf_exit_text(end, ended, sizeof ended);
  result.api_code = end->kind == KF_EXIT_SIGNAL ? end->code : 0;
  if (end->over_memory) {
    result.code = KF_RUN_OUT_OF_MEMORY;
    snprintf(result.text, sizeof result.text, "the process used more memory than it may: %s", ended);
    *ret_result = result;
    return;
  }
  if (end->over_processes) {
    snprintf(result.text, sizeof result.text, "the process started more than %d others: %s",
             KF_CHILD_PROCESSES_MAX, ended);
    *ret_result = result;
    return;
  }
  bool by_fault = end->kind == KF_EXIT_SIGNAL && copy.seen == 2 && copy.signal == end->code;
  if (by_fault && (end->code == SIGSEGV || end->code == SIGBUS)) {
    if (!classify_memory(&copy, calls, &result))
      snprintf(result.text, sizeof result.text, "the process was %s at address 0x%" PRIx64 " (%s)", ended,
               copy.address, access_word(copy.access));
  } else if (end->kind == KF_EXIT_SIGNAL && end->code == SIGSEGV) {
    snprintf(result.text, sizeof result.text,
             "the process was %s without an address: a stack overflow, or a handler that was replaced",
             ended);
  } else {
    snprintf(result.text, sizeof result.text, "the process %s%s", end->kind == KF_EXIT_SIGNAL ? "was " : "",
             ended);
  }
  *ret_result = result;
}
