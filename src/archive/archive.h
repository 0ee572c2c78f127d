/* archive.h - the quality-diversity archive: cells with an elite and two runners-up
 * (docs/internals/search.md). A pure fold over decisions: no I/O, no clock, no randomness; who belongs where
 * was decided by a race, here it is only kept. Integers only (nano-log units). Candidates are named by
 * proposal id. Memory is O(filled cells); constant-time inserts. Threads: one owner. */
#ifndef KF_ARCHIVE_ARCHIVE_H
#define KF_ARCHIVE_ARCHIVE_H

#include "base/status.h"
#include "wire/verdict.h"

typedef struct kf_archive kf_archive;

enum { KF_RUNNERS_UP = 2, KF_FRONTIER_MAX = 16 };

typedef struct {
  int64_t id;         /* proposal */
  int64_t score_nano; /* D: log speed-up over the baseline */
  int64_t half_nano;  /* h: half-width of its interval */
} kf_entry;

typedef struct {
  kf_cell cell;
  kf_entry elite;
  kf_entry runners_up[KF_RUNNERS_UP]; /* by score - half, best first */
  int nrunners_up;
  int64_t visits; /* candidates that fell here */
} kf_archive_cell;

/* In rising order, after pyribs: a caller may compare. */
typedef enum {
  KF_INSERT_FAILED,
  KF_INSERT_DROPPED,
  KF_INSERT_RUNNER_UP,
  KF_INSERT_ELITE,
  KF_INSERT_NEW
} kf_insert_status;
const char *kf_insert_name(kf_insert_status status);
bool kf_insert_parse(const char *name, kf_insert_status *ret_status);

kf_status kf_archive_new(kf_archive **ret_archive, kf_err *err);
void kf_archive_free(kf_archive *archive);

/* Applies a decided insertion. NEW: the cell must be empty; ELITE: the present elite becomes a runner-up;
 * RUNNER_UP: kept if among the best two by score - half, or into an empty place; DROPPED: only counted.
 * KF_EBUG on contradiction. */
kf_status kf_archive_insert(kf_archive *archive, const kf_cell *cell, const kf_entry *entry,
                            kf_insert_status status, kf_err *err);
/* A champion that failed its hidden check: removed; the best runner-up becomes the elite (the cell may become
 * empty). */
kf_status kf_archive_demote(kf_archive *archive, int64_t id, kf_err *err);
/* A better measurement of an entry (promotion, confirmation); runners-up are put in order again. False if it
 * is in no cell. */
bool kf_archive_rescore(kf_archive *archive, int64_t id, int64_t score_nano, int64_t half_nano);
/* A failure: kept in the frontier (16, by grade, then recency). grade in nano (0.1 -> 100000000). */
kf_status kf_archive_frontier_add(kf_archive *archive, int64_t id, int64_t grade_nano, kf_err *err);

const kf_archive_cell *kf_archive_find(const kf_archive *archive, const kf_cell *cell); /* NULL if empty */
int kf_archive_count(const kf_archive *archive);                                        /* filled cells */
const kf_archive_cell *kf_archive_at(const kf_archive *archive,
                                     int index); /* stable order: cell by levels, ascending */
const kf_archive_cell *
kf_archive_best(const kf_archive *archive); /* by score - half of the elite; NULL if empty */
int kf_archive_frontier(const kf_archive *archive, int64_t ret_ids[KF_FRONTIER_MAX]);
/* QD-score: sum over cells of max(0, D - ln 0.1), nano (docs/internals/search.md). */
int64_t kf_archive_qd_nano(const kf_archive *archive);

#endif
