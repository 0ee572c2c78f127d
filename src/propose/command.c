/* command.c - any program as a proposer: the prompt on its stdin, the answer on its stdout (docs/cli.md).
 *
 * One process an ask, started through src/sandbox: its own process group, killed with all it started when the
 * time is over, nothing of kf's environment but PATH, HOME and what the spec names. The answer counts when
 * the program ended with 0; its stderr goes into the note of a failure. A program that ended may have left
 * others that hold its stdout open: after a grace time what came is taken. */
#include "base/alloc.h"
#include "base/fs.h"
#include "propose/command_line_int.h"
#include "propose/propose_int.h"
#include "sandbox/child.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/banned.h"

enum { GRACE_MS = 1000, READ_CHUNK = 65536 };

typedef struct command command;

typedef struct job {
  struct job *next;
  command *owner;
  int64_t id;
  kf_language language;
  kf_child *child;
  uv_pipe_t input, output;
  uv_poll_t ended;
  uv_timer_t timer;
  uv_write_t write;
  kf_buf prompt, answer;
  kf_exit exit;
  int handles; /* open */
  bool has_ended, at_eof, answered;
  char chunk[READ_CHUNK];
} job;

struct command {
  kf_proposer base;
  kf__command_line line;
  int64_t timeout_ms;
  job *first;
  bool closing;
};

/* ---- the end of a job ---- */

static void command_free(command *self) {
  kf__command_line_done(&self->line);
  kf_free(self);
}

static void on_closed(uv_handle_t *handle) {
  job *done = handle->data;
  if (--done->handles > 0) return;
  command *self = done->owner;
  job **place = &self->first;
  while (*place != done)
    place = &(*place)->next;
  *place = done->next;
  kf_child_free(done->child);
  kf_buf_done(&done->prompt);
  kf_buf_done(&done->answer);
  kf_free(done);
  if (self->closing && !self->first) command_free(self);
}

static void close_job(job *done) {
  uv_handle_t *const handles[] = {(uv_handle_t *)&done->input, (uv_handle_t *)&done->output,
                                  (uv_handle_t *)&done->ended, (uv_handle_t *)&done->timer};
  for (size_t i = 0; i < KF_COUNTOF(handles); i++)
    if (handles[i]->data && !uv_is_closing(handles[i])) uv_close(handles[i], on_closed);
}

static void fail_job(job *done, kf_status status, const char *note) {
  if (done->answered) return;
  done->answered = true;
  kf_child_kill(done->child, NULL);
  kf__answer_fail(&done->owner->base, done->id, status, note, kf_buf_text(&done->answer), done->answer.len);
  close_job(done);
}

/* "exited with code 1: last line of its stderr" */
static void exit_note(job *done, char *ret_note, size_t size) {
  kf_exit_text(&done->exit, ret_note, size);
  kf_buf text KF_CLEANUP(kf_buf_done);
  kf_buf_init(&text, KF_CHILD_OUTPUT_MAX);
  if (kf_child_output(done->child, &text, NULL) != KF_OK) return;
  while (text.len > 0 && strchr("\r\n \t", text.data[text.len - 1]))
    text.data[--text.len] = '\0';
  const char *line = text.len ? strrchr(text.data, '\n') : NULL;
  line = line ? line + 1 : kf_buf_text(&text);
  size_t used = strlen(ret_note);
  if (line[0]) snprintf(ret_note + used, size - used, ": %.200s", line);
}

static void finish_job(job *done) {
  if (done->answered) return;
  char note[320];
  if (done->exit.kind != KF_EXIT_CODE || done->exit.code != 0) {
    exit_note(done, note, sizeof note);
    fail_job(done, KF_EIO, note);
    return;
  }
  done->answered = true;
  kf__answer_markdown(&done->owner->base, done->id, done->language, kf_buf_text(&done->answer),
                      done->answer.len);
  close_job(done);
}

static void on_grace(uv_timer_t *timer) {
  finish_job(timer->data);
}

static void on_timeout(uv_timer_t *timer) {
  job *done = timer->data;
  char note[96];
  snprintf(note, sizeof note, "no answer within %lld s", (long long)(done->owner->timeout_ms / 1000));
  fail_job(done, KF_ETIMEOUT, note);
}

static void on_ended(uv_poll_t *poll, int status, int events) {
  (void)events;
  job *done = poll->data;
  kf_err err = {0};
  if (status == 0 && kf_child_poll(done->child, &done->exit, &err) == KF_OK &&
      done->exit.kind == KF_EXIT_RUNNING)
    return;
  uv_poll_stop(poll);
  done->has_ended = true;
  if (done->at_eof)
    finish_job(done);
  else
    uv_timer_start(&done->timer, on_grace, GRACE_MS, 0);
}

/* ---- the pipes ---- */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf) {
  (void)suggested;
  job *done = handle->data;
  *ret_buf = uv_buf_init(done->chunk, sizeof done->chunk);
}

static void on_output(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes) {
  job *done = stream->data;
  if (got == 0 || done->answered) return;
  if (got < 0) {
    uv_read_stop(stream);
    done->at_eof = true;
    if (done->has_ended) finish_job(done);
    return;
  }
  kf_err err = {0};
  kf_status status = kf_buf_append(&done->answer, bytes->base, (size_t)got, &err);
  if (status == KF_OK) return;
  uv_read_stop(stream);
  fail_job(done, KF_EIO, status == KF_ENOMEM ? "out of memory" : "the answer is longer than 1 MiB");
}

/* A program need not read its prompt; that it closed its stdin is no failure. */
static void on_written(uv_write_t *write, int status) {
  (void)status;
  job *done = write->data;
  if (uv_is_closing((uv_handle_t *)&done->input)) return;
  uv_close((uv_handle_t *)&done->input, on_closed);
}

static void own_handle(job *started, uv_handle_t *handle) {
  handle->data = started;
  started->handles++;
}

/* Takes the two descriptors. */
static kf_status attach(job *started, int input_fd, int output_fd, kf_err *err) {
  uv_loop_t *loop = started->owner->base.loop;
  int failed = 0;
  uv_timer_init(loop, &started->timer);
  own_handle(started, (uv_handle_t *)&started->timer);
  uv_pipe_init(loop, &started->input, 0);
  own_handle(started, (uv_handle_t *)&started->input);
  uv_pipe_init(loop, &started->output, 0);
  own_handle(started, (uv_handle_t *)&started->output);
  if ((failed = uv_pipe_open(&started->input, input_fd)) != 0) close(input_fd);
  int opened = uv_pipe_open(&started->output, output_fd);
  if (opened != 0) close(output_fd);
  if (failed == 0) failed = opened;
  if (failed == 0) failed = uv_poll_init(loop, &started->ended, kf_child_pidfd(started->child));
  if (failed == 0) own_handle(started, (uv_handle_t *)&started->ended);
  if (failed == 0) failed = uv_poll_start(&started->ended, UV_READABLE, on_ended);
  if (failed == 0) failed = uv_read_start((uv_stream_t *)&started->output, on_room, on_output);
  if (failed != 0) return kf_fail(err, KF_EIO, "command: %s", uv_strerror(failed));
  uv_buf_t bytes = uv_buf_init(started->prompt.data, (unsigned)started->prompt.len);
  started->write.data = started;
  failed = uv_write(&started->write, (uv_stream_t *)&started->input, &bytes, 1, on_written);
  if (failed != 0) return kf_fail(err, KF_EIO, "command: %s", uv_strerror(failed));
  uv_timer_start(&started->timer, on_timeout, (uint64_t)started->owner->timeout_ms, 0);
  return KF_OK;
}

/* Starts the program; on success *ret_input and *ret_output are our ends of its pipes. */
static kf_status spawn(const command *self, kf_child **ret_child, int *ret_input, int *ret_output,
                       kf_err *err) {
  int input[2] = {-1, -1}, output[2] = {-1, -1};
  char cwd[KF_PATH_MAX];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
    kf_status status = kf_fail(err, KF_EIO, "command: pipe: %s", strerror(errno));
    kf_fs_close_pair(input);
    kf_fs_close_pair(output);
    return status;
  }
  kf_child_options options = {
      .executable = self->line.program,
      .argv = (const char *const *)self->line.argv,
      .env = (const char *const *)self->line.env,
      .work_dir = getcwd(cwd, sizeof cwd),
      .stdin_fd = input[0],
      .stdout_fd = output[1],
  };
  kf_status status = kf_child_spawn(&options, ret_child, err);
  close(input[0]);
  close(output[1]);
  if (status != KF_OK) {
    close(input[1]);
    close(output[0]);
    return status;
  }
  *ret_input = input[1];
  *ret_output = output[0];
  return KF_OK;
}

/* ---- the interface ---- */

static kf_status command_ask(kf_proposer *proposer, const kf_ask *ask, kf_err *err) {
  command *self = (command *)proposer;
  job *started = kf_calloc(1, sizeof *started);
  if (!started) return kf_nomem(err);
  started->owner = self;
  started->id = ask->id;
  started->language = ask->language;
  kf_buf_init(&started->prompt, KF_PROMPT_MAX);
  kf_buf_init(&started->answer, KF_ANSWER_MAX);
  int input = -1, output = -1;
  kf_status status = kf_prompt_write(ask, &started->prompt, err);
  if (status == KF_OK) status = spawn(self, &started->child, &input, &output, err);
  if (status != KF_OK) {
    kf_buf_done(&started->prompt);
    kf_free(started);
    return status;
  }
  started->next = self->first;
  self->first = started;
  status = attach(started, input, output, err);
  if (status == KF_OK) return KF_OK;
  started->answered = true; /* refused: no callback */
  kf_child_kill(started->child, NULL);
  close_job(started);
  return status;
}

static void command_close(kf_proposer *proposer) {
  command *self = (command *)proposer;
  self->closing = true;
  for (job *open = self->first; open; open = open->next)
    fail_job(open, KF_ECANCELED, "canceled");
  if (!self->first) command_free(self);
}

static const kf__proposer_ops command_ops = {"command", true, true, command_ask, command_close};

kf_status kf__command_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                           kf_err *err) {
  command *self = kf_calloc(1, sizeof *self);
  if (!self) return kf_nomem(err);
  self->base = *base;
  self->base.ops = &command_ops;
  self->timeout_ms = base->settings->propose_timeout_ms;
  kf_status status = kf__command_line_parse(&self->line, rest, err);
  if (status != KF_OK) {
    command_free(self);
    return status;
  }
  snprintf(self->base.discloses, sizeof self->base.discloses,
           "prompts with the task and kernel sources go to the program %.160s, which may send them on",
           self->line.program);
  *ret_proposer = &self->base;
  return KF_OK;
}
