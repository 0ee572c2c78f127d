/* oracle_child.c - `--role oracle`: runs the compiled reference. The sandbox goes on before the objects are
 * loaded, since loading may run code. Nothing here is trusted by the judge but the arrays, and those only
 * once this process is stopped. */
#include "verify/oracle.h"

#include "device/role_env.h"
#include "sandbox/channel.h"
#include "verify/oracle_wire.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/banned.h"

typedef void (*reference_fn)(void **args);

typedef struct {
  int fd;
  reference_fn functions[KF_ORACLE_PRECISIONS];
} oracle_process;

/* The filter has no sendmsg; a write to the message socket is one message too. */
__attribute__((format(printf, 3, 4))) static bool reply(const oracle_process *process, bool ok,
                                                        const char *fmt, ...) {
  kf_oracle_reply message = {.ok = ok};
  va_list args;
  va_start(args, fmt);
  vsnprintf(message.text, sizeof message.text, fmt, args);
  va_end(args);
  return write(process->fd, &message, sizeof message) == (ssize_t)sizeof message;
}

static bool load_objects(oracle_process *process, const int *fds, int nfds) {
  if (nfds != KF_ORACLE_PRECISIONS) return reply(process, false, "%d objects", nfds);
  for (int i = 0; i < nfds; i++) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fds[i]);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = object != NULL ? dlsym(object, KF_ORACLE_SYMBOL) : NULL;
    if (symbol == NULL) {
      const char *why = dlerror();
      return reply(process, false, "cannot be loaded: %s", why != NULL ? why : "no entry");
    }
    memcpy(&process->functions[i], &symbol, sizeof symbol);
    close(fds[i]);
  }
  return reply(process, true, "%s", "");
}

/* Inputs become read-only and the page after each array unmapped. */
static bool protect(const kf_oracle_message *message, char *base, size_t page) {
  for (uint32_t i = 0; i < message->nargs; i++) {
    const kf_oracle_place *place = &message->places[i];
    if (!place->is_array) continue;
    size_t begin = place->offset / page * page, end = place->offset + place->bytes;
    if (mprotect(base + end, page, PROT_NONE) != 0) return false;
    if (!place->writable && end > begin && mprotect(base + begin, end - begin, PROT_READ) != 0) return false;
  }
  return true;
}

static bool message_is_sound(const kf_oracle_message *message, size_t page) {
  if (message->nargs > KF_ARGS_MAX || message->precision >= KF_ORACLE_PRECISIONS) return false;
  for (uint32_t i = 0; i < message->nargs; i++) {
    const kf_oracle_place *place = &message->places[i];
    uint64_t after = place->is_array ? page : 0;
    if (place->offset > message->bytes || place->bytes > message->bytes - place->offset) return false;
    if (message->bytes - place->offset - place->bytes < after) return false;
  }
  return true;
}

static bool call_reference(oracle_process *process, const kf_oracle_message *message, const int *fds,
                           int nfds) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (nfds != 1 || !message_is_sound(message, page) || process->functions[message->precision] == NULL)
    return reply(process, false, "malformed call");
  char *base = mmap(NULL, message->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
  close(fds[0]);
  if (base == MAP_FAILED) return reply(process, false, "memory: %s", strerror(errno));
  bool ready = protect(message, base, page);
  void *args[KF_ARGS_MAX] = {NULL};
  for (uint32_t i = 0; i < message->nargs; i++)
    args[i] = base + message->places[i].offset;
  if (ready) process->functions[message->precision](args);
  munmap(base, message->bytes);
  return ready ? reply(process, true, "%s", "") : reply(process, false, "memory: cannot be protected");
}

static bool enter_sandbox(void) {
  static kf_role_policy policy;
  char enforced[KF_SANDBOX_TEXT_MAX];
  kf_err err = {.code = KF_OK};
  kf_role_policy_init(&policy, KF_PROFILE_ORACLE, NULL);
  if (kf_sandbox_enter(&policy.policy, enforced, &err) == KF_OK) return true;
  fprintf(stderr, "%s\n", err.msg);
  return false;
}

/* A fault must end the process by its signal, also where a sanitizer has put handlers of its own. */
static void reset_faults(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
  for (size_t i = 0; i < KF_COUNTOF(signals); i++)
    signal(signals[i], SIG_DFL);
}

int kf_oracle_main(int fd) {
  oracle_process process = {.fd = fd};
  reset_faults();
  if (!enter_sandbox()) return 125;
  for (;;) {
    static kf_oracle_message message;
    int fds[KF_ORACLE_PRECISIONS], nfds = 0;
    size_t len = 0;
    kf_channel_event event = KF_CHANNEL_CLOSED;
    kf_err err = {.code = KF_OK};
    if (kf_channel_recv(fd, -1, &message, sizeof message, &len, fds, KF_ORACLE_PRECISIONS, &nfds, &event,
                        &err) != KF_OK)
      return 125;
    if (event != KF_CHANNEL_MESSAGE) return 0;
    if (len != sizeof message) return 125;
    bool alive = message.op == KF_ORACLE_OP_LOAD ? load_objects(&process, fds, nfds)
                                                 : call_reference(&process, &message, fds, nfds);
    if (!alive) return 0; /* the judge has gone */
  }
}
