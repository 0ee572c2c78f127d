/* behavior.h - evidence of a kernel's structure -> cell of the archive (docs/internals/search.md).
 * Evidence comes from the syntax tree after preprocessing with the parameters bound (libclang, loaded by
 * dlopen inside a compiler sandbox: the source is hostile), never from comments, strings, names or dead code.
 * The mapping is a pure function. */
#ifndef KF_BEHAVIOR_BEHAVIOR_H
#define KF_BEHAVIOR_BEHAVIOR_H

#include "task/plan.h"
#include "wire/verdict.h"

typedef struct {
  const char *source;
  size_t source_len;
  const char *options;        /* -D... */
  const char *const *entries; /* launched kernels */
  int nentries;
  const kf_calls *calls; /* resolved for the first measure case: launches, temps, who reads what */
} kf_evidence_request;

/* --role evidence: enters the builder sandbox, loads libclang ($KF_LIBCLANG, else 20 down to 14), answers one
 * request. */
int kf_evidence_main(int fd);
/* Judge side: runs the child, at most 10 s. Without libclang (or if it crashes) the evidence is `known =
 * false`; not an error. */
kf_status kf_evidence_extract(const kf_evidence_request *request, const char *work_dir,
                              kf_evidence *ret_evidence, kf_err *err);
/* In-process form, for the child and for tests. *note says why when unknown. */
kf_status kf_evidence_parse(const kf_evidence_request *request, kf_evidence *ret_evidence, kf_buf *note,
                            kf_err *err);

/* Facts of the reference/naive kernel, for the algorithm axis. */
typedef struct {
  int operations;       /* launches of the naive kernel */
  int sweeps;           /* most sweeps of the naive kernel over any input */
  bool split_reduction; /* the naive kernel itself splits a reduction: then that is no step beyond it */
} kf_behavior_base;
/* Levels by the table of docs/internals/search.md; the unknown cell when evidence is unknown. */
kf_cell kf_behavior_cell(const kf_evidence *evidence, const kf_behavior_base *base);

#endif
