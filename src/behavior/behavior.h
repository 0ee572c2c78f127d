/* behavior.h - evidence of a kernel's structure -> cell of the archive (docs/internals/search.md).
 * Evidence comes from the syntax tree after preprocessing with the parameters bound (libclang, loaded by
 * dlopen inside a compiler sandbox: the source is hostile), never from comments, strings, names or dead code.
 * The mapping is a pure function. */
#ifndef KF_BEHAVIOR_BEHAVIOR_H
#define KF_BEHAVIOR_BEHAVIOR_H

#include "task/plan.h"
#include "wire/verdict.h"

/* What an honest kernel for a CPU device never needs (docs/internals/evaluator.md, Refused before it runs). A
 * first line, never relied on. */
typedef enum {
  KF_SCREEN_UNREAD, /* the tree was not seen: no libclang, or the child ended early */
  KF_SCREEN_CLEAN,
  KF_SCREEN_REFUSED,    /* diagnosis: rule, place, sentence, line */
  KF_SCREEN_UNREADABLE, /* libclang found errors: if the device's compiler finds none, it was shown something
                           else */
} kf_screen_state;

typedef struct {
  kf_screen_state state;
  kf_diagnosis diagnosis;
} kf_screen;

typedef struct {
  const char *source;
  size_t source_len;
  const char *options;        /* -D... */
  const char *const *entries; /* launched kernels */
  int nentries;
  const kf_calls *calls; /* resolved for the first measure case: launches, temps, who reads what */
  /* kf_evidence_parse only: called once, as soon as the screen has decided and before the structure is read.
   * NULL: no one asks. */
  void (*screened)(void *context, const kf_screen *screen);
  void *context;
} kf_evidence_request;

/* --role evidence: enters the builder sandbox, loads libclang ($KF_LIBCLANG, else 20 down to 14), answers one
 * request. */
int kf_evidence_main(int fd);
/* In-process form, for the child and for tests. A source that the screen refuses is not read further: its
 * evidence is unknown. *note says why when unknown. */
kf_status kf_evidence_parse(const kf_evidence_request *request, kf_evidence *ret_evidence, kf_buf *note,
                            kf_err *err);

/* Judge side, beside a build: one child at idle priority, at most 10 s (pauses, and time in which it had no
 * core, apart; three times that at most) and 2 GiB. Threads: that of the judge. */
typedef struct kf_evidence_job kf_evidence_job;
/* `request` and `work_dir` are borrowed until it returns. */
kf_status kf_evidence_start(const kf_evidence_request *request, const char *work_dir,
                            kf_evidence_job **ret_job, kf_err *err);
int kf_evidence_fd(
    const kf_evidence_job *job); /* readable when kf_evidence_step has something to do; or -1 */
/* Advances, never blocks; call at least every 50 ms for the limits. A status other than KF_OK is a failure of
 * ours. */
kf_status kf_evidence_step(kf_evidence_job *job, bool *ret_done, kf_err *err);
/* Once done. Without libclang, or if the child fails, the evidence is `known = false`: not an error. */
kf_status kf_evidence_take(const kf_evidence_job *job, kf_screen *ret_screen, kf_evidence *ret_evidence,
                           kf_err *err);
kf_status kf_evidence_pause(kf_evidence_job *job, kf_err *err); /* SIGSTOP; does not wait */
kf_status kf_evidence_resume(kf_evidence_job *job, kf_err *err);
void kf_evidence_free(kf_evidence_job *job); /* kills if unfinished; accepts NULL */

/* Facts of the reference/naive kernel, for the algorithm axis. */
typedef struct {
  int operations;       /* launches of the naive kernel */
  int sweeps;           /* most sweeps of the naive kernel over any input */
  bool split_reduction; /* the naive kernel itself splits a reduction: then that is no step beyond it */
} kf_behavior_base;
/* Levels by the table of docs/internals/search.md; the unknown cell when evidence is unknown. */
kf_cell kf_behavior_cell(const kf_evidence *evidence, const kf_behavior_base *base);

#endif
