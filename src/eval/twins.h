/* twins.h - candidates whose machine code is the same share a judgement (docs/internals/evaluator.md, The
 * same machine code).
 *
 * Two sources are twins when their builds have the same code, byte for byte, and their plans the same
 * launches on every case. What was measured of one is then true of the other; its own source, binding and log
 * stay its own. The engine finds duplicates of the same text before they are built (src/run); this finds
 * those that the compiler makes equal. The same source with the same binding asked for again is no twin: who
 * asks again wants it measured again. */
#ifndef KF_EVAL_TWINS_H
#define KF_EVAL_TWINS_H

#include "eval/artefact.h"

enum { KF_TWINS_MAX = 64 };

/* Hash of what runs: code and launches. False if nothing runs (a failed build). */
bool kf_twin_code(const kf_artefact *artefact, kf_hash *ret_code);
/* The content of an artefact without what says nothing of its code, for kf_twin_code: in a PoCL program
 * binary of the layout known here, the hash of the source and the intermediate code from which nothing is
 * built any more; any other artefact as it is. */
void kf_twin_hash_artefact(const void *bytes, size_t len, kf_hash *ret_hash);

typedef struct {
  kf_hash key;
  char source_sha256[KF_HASH_HEX], binding[256];
  kf_verdict *verdict;
} kf_twin;

typedef struct {
  kf_twin items[KF_TWINS_MAX]; /* a ring: the oldest goes */
  int next;
} kf_twins; /* zero-initialised is valid and empty */

/* The verdict of another source under this key; NULL if there is none. */
const kf_verdict *kf_twins_find(const kf_twins *twins, const kf_hash *key, const kf_artefact *artefact);
/* Copies. Only verdicts that say something of the code are kept: not `slow`, which depends on the elites of
 * the moment, nor what a busy machine can cause. */
kf_status kf_twins_add(kf_twins *twins, const kf_hash *key, const kf_artefact *artefact,
                       const kf_verdict *verdict, kf_err *err);
void kf_twins_done(kf_twins *twins);

#endif
