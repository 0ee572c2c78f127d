/* mailbox.c - prompts as files for a person, an agent or a batch system; answers as files from them.
 *
 *   DIR/ID.prompt.md   written whole by rename
 *   DIR/ID.answer.md   to be renamed into place by whoever answers
 *   DIR/ID.failed      no answer will come; its first line says why
 *   DIR/done/          where all three go once the answer has been taken
 *   DIR/.kf-run        the run whose prompts these are; locked while it runs
 *
 * Proposal ids begin anew with every run, so files of another run are put aside before the first prompt is
 * written, while a resumed run finds the answers that came in the meantime. inotify tells of news, and a
 * timer looks too: not every file system reports what other machines write. */
#include "base/alloc.h"
#include "base/fs.h"
#include "propose/propose_int.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { POLL_MS = 500, RUN_ID_MAX = 128 };

typedef struct waiting {
  struct waiting *next;
  int64_t id;
  kf_language language;
} waiting;

typedef struct {
  kf_proposer base;
  char dir[KF_PATH_MAX], done[KF_PATH_MAX];
  int run_fd; /* .kf-run, locked; -1 before the first ask */
  uv_fs_event_t watch;
  uv_timer_t poll;
  int handles;
  waiting *first;
} mailbox;

static const char *const suffixes[] = {"prompt.md", "answer.md", "failed"};

static kf_status path_of(const char *dir, int64_t id, const char *suffix, char ret_path[KF_PATH_MAX],
                         kf_err *err) {
  char name[48];
  snprintf(name, sizeof name, "%lld.%s", (long long)id, suffix);
  return kf_fs_join(ret_path, dir, name, err);
}

/* ---- claiming the folder ---- */

static bool is_ours(const char *name) {
  size_t digits = strspn(name, "0123456789");
  if (digits == 0 || name[digits] != '.') return false;
  for (size_t i = 0; i < KF_COUNTOF(suffixes); i++)
    if (strcmp(name + digits + 1, suffixes[i]) == 0) return true;
  return false;
}

static kf_status put_aside(const char *dir, const char *old_run, kf_err *err) {
  char aside[KF_PATH_MAX], name[RUN_ID_MAX + 8];
  snprintf(name, sizeof name, "old-%s",
           kf_fs_is_plain_relative(old_run) && !strchr(old_run, '/') ? old_run : "unknown");
  KF_TRY(kf_fs_join(aside, dir, name, err));
  DIR *open_dir = opendir(dir);
  if (!open_dir) return kf_fail(err, KF_EIO, "mailbox %s: %s", dir, strerror(errno));
  kf_status status = KF_OK;
  for (struct dirent *entry; status == KF_OK && (entry = readdir(open_dir)) != NULL;) {
    char from[KF_PATH_MAX], to[KF_PATH_MAX];
    if (!is_ours(entry->d_name)) continue;
    status = kf_fs_mkdirs(aside, err);
    if (status == KF_OK) status = kf_fs_join(from, dir, entry->d_name, err);
    if (status == KF_OK) status = kf_fs_join(to, aside, entry->d_name, err);
    if (status == KF_OK && rename(from, to) != 0 && errno != ENOENT)
      status = kf_fail(err, KF_EIO, "mailbox: cannot move %s: %s", from, strerror(errno));
  }
  closedir(open_dir);
  return status;
}

static kf_status open_locked(const char *dir, int *ret_fd, kf_err *err) {
  char path[KF_PATH_MAX];
  KF_TRY(kf_fs_join(path, dir, ".kf-run", err));
  struct stat info;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0) return kf_fail(err, KF_EIO, "mailbox %s: %s", path, strerror(errno));
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return kf_fail(err, KF_EINVAL, "mailbox %s: no regular file", path);
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    int reason = errno;
    close(fd);
    kf_status status = kf_fail(err, reason == EWOULDBLOCK ? KF_EINVAL : KF_EIO, "mailbox %s: %s", dir,
                               reason == EWOULDBLOCK ? "another run is using it" : strerror(reason));
    return kf_err_hint(err, status, "give each run a folder of its own");
  }
  *ret_fd = fd;
  return KF_OK;
}

static kf_status claim_for(const char *dir, int fd, const char *run_id, kf_err *err) {
  char old_run[RUN_ID_MAX] = "";
  ssize_t got = pread(fd, old_run, sizeof old_run - 1, 0);
  if (got < 0) return kf_fail(err, KF_EIO, "mailbox %s: %s", dir, strerror(errno));
  old_run[strcspn(old_run, "\n")] = '\0';
  char line[RUN_ID_MAX + 1];
  snprintf(line, sizeof line, "%.*s\n", RUN_ID_MAX - 2, run_id);
  if (got > 0 && strncmp(old_run, line, strlen(line) - 1) == 0 && strlen(old_run) == strlen(line) - 1)
    return KF_OK;
  KF_TRY(put_aside(dir, old_run, err));
  if (ftruncate(fd, 0) != 0 || pwrite(fd, line, strlen(line), 0) != (ssize_t)strlen(line))
    return kf_fail(err, KF_EIO, "mailbox %s: cannot write .kf-run: %s", dir, strerror(errno));
  return KF_OK;
}

static kf_status claim(mailbox *self, const char *run_id, kf_err *err) {
  if (self->run_fd >= 0) return KF_OK;
  int fd = -1;
  KF_TRY(open_locked(self->dir, &fd, err));
  kf_status status = claim_for(self->dir, fd, run_id, err);
  if (status != KF_OK) {
    close(fd);
    return status;
  }
  self->run_fd = fd;
  return KF_OK;
}

/* ---- answers ---- */

/* Best effort: what stays behind is harmless, since nobody waits for this id any more. */
static void file_away(const mailbox *self, int64_t id) {
  if (kf_fs_mkdirs(self->done, NULL) != KF_OK) return;
  for (size_t i = 0; i < KF_COUNTOF(suffixes); i++) {
    char from[KF_PATH_MAX], to[KF_PATH_MAX];
    if (path_of(self->dir, id, suffixes[i], from, NULL) != KF_OK) continue;
    if (path_of(self->done, id, suffixes[i], to, NULL) != KF_OK) continue;
    if (rename(from, to) != 0) continue;
  }
}

static void deliver_failed(mailbox *self, int64_t id, const char *path) {
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, 4096);
  char note[200] = "";
  if (kf_fs_read_regular(path, &text, NULL) == KF_OK) snprintf(note, sizeof note, "%s", kf_buf_text(&text));
  note[strcspn(note, "\r\n")] = '\0';
  kf__answer_fail(&self->base, id, KF_EIO, note[0] ? note : "whoever answers gave up", NULL, 0);
}

static void deliver_answer(mailbox *self, const waiting *item, const char *path) {
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, KF_ANSWER_MAX);
  kf_err err = {0};
  kf_status status = kf_fs_read_regular(path, &text, &err);
  if (status == KF_OK)
    kf__answer_markdown(&self->base, item->id, item->language, kf_buf_text(&text), text.len);
  else
    kf__answer_fail(&self->base, item->id, KF_EIO, err.msg, NULL, 0);
}

/* Takes one answer that is there; false if there is none. */
static bool take_one(mailbox *self) {
  for (waiting **place = &self->first; *place; place = &(*place)->next) {
    waiting *item = *place;
    char answer[KF_PATH_MAX], failed[KF_PATH_MAX];
    if (path_of(self->dir, item->id, "answer.md", answer, NULL) != KF_OK) continue;
    if (path_of(self->dir, item->id, "failed", failed, NULL) != KF_OK) continue;
    bool answered = kf_fs_exists(answer);
    if (!answered && !kf_fs_exists(failed)) continue;
    *place = item->next;
    if (answered)
      deliver_answer(self, item, answer);
    else
      deliver_failed(self, item->id, failed);
    /* After the callback: killed in between, the answer still lies here for the resumed run. */
    file_away(self, item->id);
    kf_free(item);
    return true;
  }
  return false;
}

static void look(mailbox *self) {
  /* From the start each time: the callback may have asked again. */
  while (take_one(self)) {
  }
}

static void on_watch(uv_fs_event_t *watch, const char *name, int events, int status) {
  (void)name, (void)events, (void)status;
  look(watch->data);
}

static void on_poll(uv_timer_t *timer) {
  look(timer->data);
}

/* ---- the interface ---- */

static kf_status write_prompt(mailbox *self, const kf_ask *ask, kf_err *err) {
  char path[KF_PATH_MAX];
  kf_buf prompt KF_CLEANUP(kf_buf_done);
  kf_buf_init(&prompt, KF_PROMPT_MAX);
  KF_TRY(kf_prompt_write(ask, &prompt, err));
  KF_TRY(path_of(self->dir, ask->id, "prompt.md", path, err));
  return kf_fs_write(path, kf_buf_text(&prompt), prompt.len, err);
}

static kf_status mailbox_ask(kf_proposer *proposer, const kf_ask *ask, kf_err *err) {
  mailbox *self = (mailbox *)proposer;
  KF_TRY(claim(self, ask->run_id ? ask->run_id : "", err));
  KF_TRY(write_prompt(self, ask, err));
  waiting *item = kf_calloc(1, sizeof *item);
  if (!item) return kf_nomem(err);
  item->id = ask->id;
  item->language = ask->language;
  waiting **end = &self->first;
  while (*end)
    end = &(*end)->next;
  *end = item;
  return KF_OK;
}

static void on_closed(uv_handle_t *handle) {
  mailbox *self = handle->data;
  if (--self->handles > 0) return;
  if (self->run_fd >= 0) close(self->run_fd);
  kf_free(self);
}

static void mailbox_close(kf_proposer *proposer) {
  mailbox *self = (mailbox *)proposer;
  for (waiting *item; (item = self->first) != NULL;) {
    self->first = item->next;
    kf__answer_fail(proposer, item->id, KF_ECANCELED, "canceled", NULL, 0);
    kf_free(item);
  }
  uv_close((uv_handle_t *)&self->poll, on_closed);
  uv_close((uv_handle_t *)&self->watch, on_closed);
}

static const kf__proposer_ops mailbox_ops = {"mailbox", true, true, mailbox_ask, mailbox_close};

kf_status kf__mailbox_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                           kf_err *err) {
  if (*rest == '\0') {
    kf_status status = kf_fail(err, KF_EINVAL, "proposer \"mailbox\": no folder given");
    return kf_err_hint(err, status, "write mailbox:DIR");
  }
  KF_TRY(kf_fs_mkdirs(rest, err));
  mailbox *self = kf_calloc(1, sizeof *self);
  if (!self) return kf_nomem(err);
  self->base = *base;
  self->base.ops = &mailbox_ops;
  self->run_fd = -1;
  kf_status status = kf_fs_join(self->done, rest, "done", err);
  if (status != KF_OK) {
    kf_free(self);
    return status;
  }
  snprintf(self->dir, sizeof self->dir, "%s", rest); /* fits: join took it */
  snprintf(self->base.discloses, sizeof self->base.discloses,
           "nothing by itself: prompts with the task and kernel sources are written to %.120s", rest);
  uv_timer_init(base->loop, &self->poll);
  uv_fs_event_init(base->loop, &self->watch);
  self->poll.data = self->watch.data = self;
  self->handles = 2;
  /* Without inotify the timer is enough. */
  (void)uv_fs_event_start(&self->watch, on_watch, rest, 0);
  uv_timer_start(&self->poll, on_poll, POLL_MS, POLL_MS);
  *ret_proposer = &self->base;
  return KF_OK;
}
