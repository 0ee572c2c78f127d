/* recorded.c - replay: answers that were given before, so that a search runs again without whoever gave them.
 *
 *   RUN.db  the answer that proposal had in the recorded run: by id, so that order of arrival and resuming do
 * not matter DIR     files in name order, cycled by id: *.md are Markdown answers, any other file is a source
 * as it stands */
#include "base/alloc.h"
#include "base/fs.h"
#include "base/vec.h"
#include "propose/propose_int.h"
#include "store/store.h"
#include <dirent.h>
#include <errno.h>

#include "base/banned.h"

enum { FILES_MAX = 1 << 20 };

typedef struct {
  kf_proposer base;
  kf__answer_queue queue;
  kf_store *store; /* RUN.db, or NULL */
  char dir[KF_PATH_MAX];
  KF_VEC(char *) names; /* DIR */
  kf_buf bytes;         /* scratch */
} recorded;

/* A source is text: after a NUL each reader would see another kernel. */
static kf_status push(recorded *self, const kf_answer *answer, kf_err *err) {
  if (answer->source && memchr(answer->source, '\0', answer->source_len)) {
    kf_answer bad = {.id = answer->id,
                     .status = KF_EIO,
                     .binding = "",
                     .raw = answer->raw,
                     .raw_len = answer->raw_len,
                     .note = "the recorded source holds a NUL"};
    return kf__answer_queue_push(&self->queue, &bad, err);
  }
  return kf__answer_queue_push(&self->queue, answer, err);
}

/* ---- a recorded run ---- */

typedef struct {
  bool found;
  char word[16], binding[256], note[200];
  char source[KF_HASH_HEX];
} remembered;

static kf_status on_event(void *context, const kf_event *event, kf_err *err) {
  remembered *answer = context;
  if (event->kind != KF_EVENT_ANSWER) return KF_OK;
  json_t *body KF_CLEANUP(kf_json_freep) = NULL;
  KF_TRY(kf_json_parse(event->body, event->body_len, KF_ANSWER_MAX, "recorded answer", &body, err));
  answer->found = true;
  snprintf(answer->word, sizeof answer->word, "%s", kf_json_str_or(body, "status", "failed"));
  snprintf(answer->binding, sizeof answer->binding, "%s", kf_json_str_or(body, "binding", ""));
  snprintf(answer->note, sizeof answer->note, "%s", kf_json_str_or(body, "note", ""));
  snprintf(answer->source, sizeof answer->source, "%s", kf_json_str_or(body, "source", ""));
  return KF_OK;
}

static kf_status status_of(const char *word) {
  if (strcmp(word, "notfound") == 0) return KF_ENOTFOUND;
  if (strcmp(word, "timeout") == 0) return KF_ETIMEOUT;
  if (strcmp(word, "ok") == 0 || strcmp(word, "no_code") == 0) return KF_OK;
  return KF_EIO;
}

static kf_status ask_store(recorded *self, const kf_ask *ask, kf_err *err) {
  remembered old = {0};
  KF_TRY(kf_store_scan_proposal(self->store, ask->id, on_event, &old, err));
  kf_answer answer = {
      .id = ask->id, .status = KF_ENOTFOUND, .binding = "", .note = "the recording has no such answer"};
  if (!old.found) return push(self, &answer, err);
  answer.status = status_of(old.word);
  answer.note = old.note;
  if (strcmp(old.word, "ok") == 0) {
    kf_hash hash;
    KF_TRY(kf_hash_parse(old.source, &hash, err));
    kf_buf_clear(&self->bytes);
    KF_TRY(kf_store_get(self->store, &hash, &self->bytes, err));
    answer.source = kf_buf_text(&self->bytes);
    answer.source_len = self->bytes.len;
    answer.binding = old.binding;
  }
  return push(self, &answer, err);
}

/* ---- a folder ---- */

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static kf_status read_names(recorded *self, kf_err *err) {
  DIR *dir = opendir(self->dir);
  if (!dir) return kf_fail(err, KF_EIO, "replay %s: %s", self->dir, strerror(errno));
  kf_status status = KF_OK;
  for (struct dirent *entry; status == KF_OK && (entry = readdir(dir)) != NULL;) {
    char path[KF_PATH_MAX];
    if (entry->d_name[0] == '.') continue;
    status = kf_fs_join(path, self->dir, entry->d_name, err);
    if (status != KF_OK || kf_fs_is_dir(path)) continue;
    char *name = kf_strdup(entry->d_name);
    if (!name || self->names.count == FILES_MAX || kf_vec_push(&self->names, name) != KF_OK) {
      kf_free(name);
      status = self->names.count == FILES_MAX
                   ? kf_fail(err, KF_EINVAL, "replay %s: too many files", self->dir)
                   : kf_nomem(err);
    }
  }
  closedir(dir);
  if (status == KF_OK && self->names.count == 0)
    status = kf_fail(err, KF_ENOTFOUND, "replay %s: no files there", self->dir);
  if (status == KF_OK) qsort(self->names.items, self->names.count, sizeof *self->names.items, by_name);
  return status;
}

static kf_status ask_dir(recorded *self, const kf_ask *ask, kf_err *err) {
  const char *name = self->names.items[(uint64_t)(ask->id - 1) % self->names.count];
  char path[KF_PATH_MAX];
  KF_TRY(kf_fs_join(path, self->dir, name, err));
  kf_buf_clear(&self->bytes);
  KF_TRY(kf_fs_read(path, &self->bytes, err));
  kf_answer answer = {.id = ask->id, .status = KF_OK, .binding = "", .note = ""};
  size_t len = strlen(name);
  if (len < 3 || strcmp(name + len - 3, ".md") != 0) {
    answer.source = kf_buf_text(&self->bytes);
    answer.source_len = self->bytes.len;
    return push(self, &answer, err);
  }
  char *code = NULL;
  const char *note = "";
  answer.raw = kf_buf_text(&self->bytes);
  answer.raw_len = self->bytes.len;
  if (kf_answer_extract(answer.raw, answer.raw_len, ask->language, &code, &answer.source_len, &note))
    answer.source = code;
  else
    answer.note = note;
  kf_status status = push(self, &answer, err);
  kf_free(code);
  return status;
}

/* ---- the interface ---- */

static kf_status recorded_ask(kf_proposer *proposer, const kf_ask *ask, kf_err *err) {
  recorded *self = (recorded *)proposer;
  return self->store ? ask_store(self, ask, err) : ask_dir(self, ask, err);
}

static void recorded_free(recorded *self) {
  kf_store_close(self->store);
  for (size_t i = 0; i < self->names.count; i++)
    kf_free(self->names.items[i]);
  kf_vec_done(&self->names);
  kf_buf_done(&self->bytes);
  kf_free(self);
}

static void on_closed(kf_proposer *proposer) {
  recorded_free((recorded *)proposer);
}

static void recorded_close(kf_proposer *proposer) {
  kf__answer_queue_close(&((recorded *)proposer)->queue, on_closed);
}

static const kf__proposer_ops recorded_ops = {"replay", true, false, recorded_ask, recorded_close};

kf_status kf__recorded_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                            kf_err *err) {
  if (*rest == '\0') {
    kf_status status = kf_fail(err, KF_EINVAL, "proposer \"replay\": nothing to replay given");
    return kf_err_hint(err, status, "write replay:RUN.db or replay:DIR");
  }
  recorded *self = kf_calloc(1, sizeof *self);
  if (!self) return kf_nomem(err);
  self->base = *base;
  self->base.ops = &recorded_ops;
  kf_buf_init(&self->bytes, KF_ANSWER_MAX);
  snprintf(self->base.discloses, sizeof self->base.discloses, "nothing");
  kf_status status = KF_OK;
  if (!kf_fs_is_dir(rest)) {
    status = kf_store_open(rest, KF_STORE_READ, &self->store, err);
  } else if (strlen(rest) >= sizeof self->dir) {
    status = kf_fail(err, KF_EINVAL, "replay: the path of the folder is too long");
  } else {
    snprintf(self->dir, sizeof self->dir, "%s", rest);
    status = read_names(self, err);
  }
  if (status != KF_OK) {
    recorded_free(self);
    return status;
  }
  kf__answer_queue_init(&self->queue, &self->base);
  *ret_proposer = &self->base;
  return KF_OK;
}
