/* propose.h - who makes candidates: builtin, mailbox, command, replay (DESIGN 9). All behind one asynchronous interface on
 * the program's libuv loop: each ask is answered exactly once, by callback, out of order, or refused at once without a callback.
 * A proposer's answer is untrusted text; a bad one is `no_code`, never an error of the program. */
#ifndef KF_PROPOSE_PROPOSE_H
#define KF_PROPOSE_PROPOSE_H

#include "base/buf.h"
#include "task/plan.h"
#include "wire/verdict.h"
#include <uv.h>

/* A kernel that an ask shows: its source, binding and what was measured. Borrowed for the duration of the call. */
typedef struct {
  int64_t id;
  const char *source;
  size_t source_len;
  const char *binding;       /* "TILE=16" or "" */
  const kf_verdict *verdict; /* NULL if unknown */
  int64_t score_nano;        /* log speed-up over the baseline; INT64_MIN if none */
} kf_shown;

typedef enum { KF_EMIT_SEED, KF_EMIT_SAMPLE, KF_EMIT_TUNE, KF_EMIT_REFINE, KF_EMIT_FIX } kf_emitter;
const char *kf_emitter_name(kf_emitter emitter);
bool kf_emitter_parse(const char *name, kf_emitter *ret_emitter);

typedef struct {
  int64_t id;      /* proposal id; the answer carries it */
  uint64_t seed;   /* of the run: with id and purpose the key of every draw (Philox) */
  kf_emitter emitter;
  const kf_task *task;
  kf_language language;
  const char *device_name;   /* for prompts; NULL allowed */
  const kf_device_limits *limits;
  const kf_shown *parent; /* NULL for a first draft */
  const kf_shown *best;   /* NULL if none */
  const kf_shown *inspirations;
  int ninspirations;
  const char *target;     /* cell text, or NULL */
} kf_ask;

typedef struct {
  int64_t id;
  kf_status status;      /* KF_OK, or why there is no answer (KF_ETIMEOUT, KF_EIO, KF_ENOTFOUND = nothing new to propose) */
  const char *source;    /* candidate source; NULL if the answer held no code */
  size_t source_len;
  const char *binding;   /* "TILE=16" or "" = defaults */
  const char *raw;       /* the whole answer as received, for the log; NULL for builtin */
  size_t raw_len;
  const char *note;      /* why there is no code / what was done, one line; may be "" */
} kf_answer;

typedef void (*kf_answer_cb)(void *context, const kf_answer *answer);

typedef struct kf_proposer kf_proposer;
/* SPEC: "builtin" | "mailbox:DIR" | "command:PROGRAM ARGS" | "replay:RUN.db" (answers of a recorded run, in proposal order) |
 * "replay:DIR" (files in name order, cycled). Unknown kinds: KF_EINVAL with the list. */
kf_status kf_proposer_open(const char *spec, uv_loop_t *loop, kf_answer_cb on_answer, void *context, kf_proposer **ret_proposer,
                           kf_err *err);
kf_status kf_proposer_ask(kf_proposer *proposer, const kf_ask *ask, kf_err *err);
const char *kf_proposer_kind(const kf_proposer *proposer);
/* What would leave this machine, one line ("nothing", "prompts with your source to the program ..."): for --dry-run. */
const char *kf_proposer_discloses(const kf_proposer *proposer);
/* Cancels what is pending (each gets its callback with KF_ECANCELED) and frees when the loop has run. */
void kf_proposer_close(kf_proposer *proposer);

/* The prompt of an ask as Markdown: task, contract, parent with its diagnosis, best, inspirations, answer format. */
kf_status kf_prompt_write(const kf_ask *ask, kf_buf *buf, kf_err *err);
/* The candidate in a Markdown answer, by a CommonMark parser: the fenced block of the task's language (info string opencl, c, cl, cuda..., else the only
 * block); several candidates for the contract: the last that has a `//kf: launch`. false: none, *ret_note says why. */
bool kf_answer_extract(const char *text, size_t len, kf_language language, char **ret_source, size_t *ret_len,
                       const char **ret_note);

#endif
