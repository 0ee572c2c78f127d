/* status.h - the error idiom of the whole program.
 *
 * A function that can fail returns kf_status and takes a `kf_err *err` last. On success outputs are set and
 * *err is untouched; on failure outputs are untouched and *err (may be NULL) says what, where and what to do.
 * Bad candidates (compile errors, wrong output, crashes) are verdicts, never kf_status failures.
 * Threads: kf_err belongs to its caller; no global state. */
#ifndef KF_BASE_STATUS_H
#define KF_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
  KF_OK = 0,
  KF_ENOMEM,    /* allocation failed */
  KF_EINVAL,    /* the user's input is wrong: usage, syntax, range */
  KF_EREFUSED,  /* a task or candidate breaks the rules; exit code 3 when it is the task */
  KF_EIO,       /* file, pipe, disk, database */
  KF_ENODEV,    /* device, compiler or library missing */
  KF_ETIMEOUT,  /* a deadline passed */
  KF_EPROTO,    /* a peer broke the protocol */
  KF_ECANCELED, /* asked to stop */
  KF_ENOTFOUND, /* no such run, candidate, key */
  KF_EBUG,      /* a mistake of ours */
} kf_status;

enum { KF_ERR_MSG_MAX = 480, KF_ERR_HINT_MAX = 240 };

typedef struct {
  kf_status code;
  char msg[KF_ERR_MSG_MAX];   /* lower case, no full stop; "place: what: why" */
  char hint[KF_ERR_HINT_MAX]; /* what to do about it; "" if there is nothing useful to say */
  const char *file;           /* source position of the first report, for logs */
  int line;
} kf_err;

/* Name of a status ("invalid input"), never NULL. */
const char *kf_status_name(kf_status s);
/* Exit code of docs/cli.md for a failure that ends the program: 2, 3, 4, 5 or 70. */
int kf_status_exit_code(kf_status s);

kf_status kf_err_set_at(kf_err *err, const char *file, int line, kf_status code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Fills `err` (when not NULL) and returns `code`: `return kf_fail(err, KF_EIO, "...", ...)`. Long text is
 * cut. */
#define kf_fail(err, code, ...)                                                                              \
  kf_status_of(kf_err_set_at((err), __FILE__, __LINE__, (code), __VA_ARGS__), (code))
/* Lets a reader of one file alone, such as a static analyser, see that kf_fail gives `code`. */
static inline kf_status kf_status_of(kf_status set, kf_status code) {
  (void)set;
  return code;
}
/* Puts "context: " before the message; each layer adds its context once. Returns err's code (or `fallback`).
 */
kf_status kf_err_context(kf_err *err, kf_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the hint; returns `code` so that it chains after kf_fail. */
kf_status kf_err_hint(kf_err *err, kf_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns early with the failure of `call`. */
#define KF_TRY(call)                                                                                         \
  do {                                                                                                       \
    kf_status kf_try_status_ = (call);                                                                       \
    if (kf_try_status_ != KF_OK) return kf_try_status_;                                                      \
  } while (0)

/* Jumps forward to `out` with the failure of `call` in `status` (a local kf_status). */
#define KF_GO(call)                                                                                          \
  do {                                                                                                       \
    status = (call);                                                                                         \
    if (status != KF_OK) goto out;                                                                           \
  } while (0)

/* Runs `fn(&variable)` when the variable leaves scope. `fn` accepts a zeroed object. */
#define KF_CLEANUP(fn) __attribute__((cleanup(fn)))
#define KF_COUNTOF(a) (sizeof(a) / sizeof((a)[0]))

#endif
