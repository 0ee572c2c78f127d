/* archive.c - cells in a table by their levels, with a sorted list of the filled ones. All decisions came
 * from outside; what contradicts the state is a bug of the caller. */
#include "archive/archive.h"

#include "base/alloc.h"
#include <string.h>

#include "base/banned.h"

enum {
  LEVELS = 4,
  UNKNOWN_SLOT = 0, /* before all known cells, as -1 sorts before 0 */
  SLOTS = 1 + LEVELS * LEVELS * LEVELS * LEVELS,
};

/* -ln 0.1 in nano units: the QD-score of docs/internals/search.md. */
static const int64_t QD_OFFSET_NANO = 2302585093;

typedef struct {
  int64_t id, grade_nano;
} failure;

struct kf_archive {
  kf_archive_cell *slots[SLOTS]; /* NULL until first filled; elite.id 0: emptied by a demotion, visits kept */
  int16_t filled[SLOTS];         /* slots with an elite, ascending */
  int nfilled;
  failure frontier[KF_FRONTIER_MAX]; /* best first */
  int nfrontier;
};

static const char *const insert_names[] = {"failed", "dropped", "runner_up", "elite", "new"};

const char *kf_insert_name(kf_insert_status status) {
  return (size_t)status < KF_COUNTOF(insert_names) ? insert_names[status] : "unknown";
}

bool kf_insert_parse(const char *name, kf_insert_status *ret_status) {
  for (size_t i = 0; i < KF_COUNTOF(insert_names); i++) {
    if (strcmp(name, insert_names[i]) != 0) continue;
    *ret_status = (kf_insert_status)i;
    return true;
  }
  return false;
}

kf_status kf_archive_new(kf_archive **ret_archive, kf_err *err) {
  kf_archive *archive = kf_calloc(1, sizeof *archive);
  if (archive == NULL) return kf_nomem(err);
  *ret_archive = archive;
  return KF_OK;
}

void kf_archive_free(kf_archive *archive) {
  if (archive == NULL) return;
  for (int i = 0; i < SLOTS; i++)
    kf_free(archive->slots[i]);
  kf_free(archive);
}

/* -1 for levels that do not exist. */
static int slot_of(const kf_cell *cell) {
  if (cell->level[0] == -1) return UNKNOWN_SLOT;
  int slot = 0;
  for (int axis = 0; axis < KF_AXES; axis++) {
    if (cell->level[axis] < 0 || cell->level[axis] >= LEVELS) return -1;
    slot = slot * LEVELS + cell->level[axis];
  }
  return slot + 1;
}

static int64_t low(const kf_entry *entry) {
  return entry->score_nano - entry->half_nano;
}

static bool is_filled(const kf_archive_cell *cell) {
  return cell != NULL && cell->elite.id != 0;
}

static void list_add(kf_archive *archive, int slot) {
  int at = archive->nfilled++;
  for (; at > 0 && archive->filled[at - 1] > slot; at--)
    archive->filled[at] = archive->filled[at - 1];
  archive->filled[at] = (int16_t)slot;
}

static void list_remove(kf_archive *archive, int slot) {
  int at = 0;
  while (archive->filled[at] != slot)
    at++;
  archive->nfilled--;
  memmove(&archive->filled[at], &archive->filled[at + 1],
          (size_t)(archive->nfilled - at) * sizeof archive->filled[0]);
}

static void runner_up_add(kf_archive_cell *cell, const kf_entry *entry) {
  int at = cell->nrunners_up;
  /* An equal one stays behind those that were there. */
  while (at > 0 && low(&cell->runners_up[at - 1]) < low(entry))
    at--;
  if (at == KF_RUNNERS_UP) return;
  if (cell->nrunners_up < KF_RUNNERS_UP) cell->nrunners_up++;
  for (int i = cell->nrunners_up - 1; i > at; i--)
    cell->runners_up[i] = cell->runners_up[i - 1];
  cell->runners_up[at] = *entry;
}

static void runner_up_remove(kf_archive_cell *cell, int at) {
  cell->nrunners_up--;
  for (int i = at; i < cell->nrunners_up; i++)
    cell->runners_up[i] = cell->runners_up[i + 1];
  memset(&cell->runners_up[cell->nrunners_up], 0, sizeof cell->runners_up[0]);
}

/* The entry of `id` in a cell: -1 the elite, 0.. a runner-up, -2 not there. */
static int place_of(const kf_archive_cell *cell, int64_t id) {
  if (cell->elite.id == id) return -1;
  for (int i = 0; i < cell->nrunners_up; i++)
    if (cell->runners_up[i].id == id) return i;
  return -2;
}

static kf_status check_insert(const kf_archive_cell *held, int slot, const kf_entry *entry,
                              kf_insert_status status, kf_err *err) {
  long long id = (long long)entry->id;
  if (slot < 0) return kf_fail(err, KF_EBUG, "archive: candidate %lld: no such cell", id);
  if (entry->id <= 0) return kf_fail(err, KF_EBUG, "archive: candidate %lld: not an id", id);
  if (status < KF_INSERT_DROPPED || status > KF_INSERT_NEW)
    return kf_fail(err, KF_EBUG, "archive: candidate %lld: a failure has no cell", id);
  if (status == KF_INSERT_NEW && is_filled(held))
    return kf_fail(err, KF_EBUG, "archive: candidate %lld: the cell has an elite already", id);
  if ((status == KF_INSERT_ELITE || status == KF_INSERT_RUNNER_UP) && !is_filled(held))
    return kf_fail(err, KF_EBUG, "archive: candidate %lld: the cell has no elite", id);
  if (is_filled(held) && place_of(held, entry->id) != -2)
    return kf_fail(err, KF_EBUG, "archive: candidate %lld: is in the cell already", id);
  return KF_OK;
}

static kf_status make_slot(kf_archive *archive, int slot, const kf_cell *cell, kf_err *err) {
  if (archive->slots[slot] != NULL) return KF_OK;
  kf_archive_cell *held = kf_calloc(1, sizeof *held);
  if (held == NULL) return kf_nomem(err);
  held->cell = *cell;
  if (slot == UNKNOWN_SLOT) memset(held->cell.level, -1, sizeof held->cell.level);
  archive->slots[slot] = held;
  return KF_OK;
}

kf_status kf_archive_insert(kf_archive *archive, const kf_cell *cell, const kf_entry *entry,
                            kf_insert_status status, kf_err *err) {
  int slot = slot_of(cell);
  KF_TRY(check_insert(slot < 0 ? NULL : archive->slots[slot], slot, entry, status, err));
  KF_TRY(make_slot(archive, slot, cell, err));
  kf_archive_cell *held = archive->slots[slot];
  held->visits++;
  switch (status) {
  case KF_INSERT_NEW:
    held->elite = *entry;
    list_add(archive, slot);
    break;
  case KF_INSERT_ELITE:
    runner_up_add(held, &held->elite);
    held->elite = *entry;
    break;
  case KF_INSERT_RUNNER_UP:
    runner_up_add(held, entry);
    break;
  case KF_INSERT_FAILED:
  case KF_INSERT_DROPPED:
    break;
  }
  return KF_OK;
}

/* Cells are few (257), so an entry is looked for in all of them: this is rare. */
static kf_archive_cell *find_entry(const kf_archive *archive, int64_t id, int *ret_place, int *ret_slot) {
  for (int i = 0; i < archive->nfilled; i++) {
    kf_archive_cell *cell = archive->slots[archive->filled[i]];
    int place = place_of(cell, id);
    if (place == -2) continue;
    *ret_place = place;
    *ret_slot = archive->filled[i];
    return cell;
  }
  return NULL;
}

kf_status kf_archive_demote(kf_archive *archive, int64_t id, kf_err *err) {
  int place = 0, slot = 0;
  kf_archive_cell *cell = id > 0 ? find_entry(archive, id, &place, &slot) : NULL;
  if (cell == NULL)
    return kf_fail(err, KF_EBUG, "archive: candidate %lld: is in no cell, so it cannot be demoted",
                   (long long)id);
  if (place >= 0) {
    runner_up_remove(cell, place);
  } else if (cell->nrunners_up > 0) {
    cell->elite = cell->runners_up[0];
    runner_up_remove(cell, 0);
  } else {
    memset(&cell->elite, 0, sizeof cell->elite);
    list_remove(archive, slot);
  }
  return KF_OK;
}

bool kf_archive_rescore(kf_archive *archive, int64_t id, int64_t score_nano, int64_t half_nano) {
  int place = 0, slot = 0;
  kf_archive_cell *cell = id > 0 ? find_entry(archive, id, &place, &slot) : NULL;
  if (cell == NULL) return false;
  kf_entry entry = {id, score_nano, half_nano};
  if (place == -1) {
    cell->elite = entry;
  } else {
    runner_up_remove(cell, place);
    runner_up_add(cell, &entry);
  }
  return true;
}

kf_status kf_archive_frontier_add(kf_archive *archive, int64_t id, int64_t grade_nano, kf_err *err) {
  if (id <= 0) return kf_fail(err, KF_EBUG, "archive: candidate %lld: not an id", (long long)id);
  int at = 0;
  while (at < archive->nfrontier && archive->frontier[at].grade_nano > grade_nano)
    at++;
  if (at == KF_FRONTIER_MAX) return KF_OK;
  if (archive->nfrontier < KF_FRONTIER_MAX) archive->nfrontier++;
  memmove(&archive->frontier[at + 1], &archive->frontier[at],
          (size_t)(archive->nfrontier - 1 - at) * sizeof archive->frontier[0]);
  archive->frontier[at] = (failure){id, grade_nano};
  return KF_OK;
}

const kf_archive_cell *kf_archive_find(const kf_archive *archive, const kf_cell *cell) {
  int slot = slot_of(cell);
  if (slot < 0 || !is_filled(archive->slots[slot])) return NULL;
  return archive->slots[slot];
}

int kf_archive_count(const kf_archive *archive) {
  return archive->nfilled;
}

const kf_archive_cell *kf_archive_at(const kf_archive *archive, int index) {
  return index >= 0 && index < archive->nfilled ? archive->slots[archive->filled[index]] : NULL;
}

const kf_archive_cell *kf_archive_best(const kf_archive *archive) {
  const kf_archive_cell *best = NULL;
  for (int i = 0; i < archive->nfilled; i++) {
    const kf_archive_cell *cell = archive->slots[archive->filled[i]];
    if (best == NULL || low(&cell->elite) > low(&best->elite)) best = cell;
  }
  return best;
}

int kf_archive_frontier(const kf_archive *archive, int64_t ret_ids[KF_FRONTIER_MAX]) {
  for (int i = 0; i < archive->nfrontier; i++)
    ret_ids[i] = archive->frontier[i].id;
  return archive->nfrontier;
}

int64_t kf_archive_qd_nano(const kf_archive *archive) {
  int64_t sum = 0;
  for (int i = 0; i < archive->nfilled; i++) {
    int64_t value = archive->slots[archive->filled[i]]->elite.score_nano + QD_OFFSET_NANO;
    if (value > 0) sum += value;
  }
  return sum;
}
