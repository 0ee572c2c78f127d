/* propose.h - who makes candidates: builtin, mailbox, command, replay (src/propose/README.md). All behind one
 * asynchronous interface on the program's libuv loop: each ask is answered exactly once, by callback, out of
 * order, or refused at once without a callback. A proposer's answer is untrusted text; a bad one is
 * `no_code`, never an error of the program. Threads: the loop's. */
#ifndef KF_PROPOSE_PROPOSE_H
#define KF_PROPOSE_PROPOSE_H

#include "base/buf.h"
#include "base/settings.h"
#include "task/plan.h"
#include "wire/verdict.h"
#include <uv.h>

enum {
  KF_ANSWER_MAX = 1 << 20,        /* bytes of an answer; a longer one is refused whole */
  KF_PROMPT_MAX = 1 << 20,        /* bytes of a prompt */
  KF_SHOWN_SOURCE_MAX = 96 << 10, /* bytes of one kernel in a prompt; longer ones are cut and say so */
};

/* Purposes of the draws made here (Philox(run seed, proposal id, purpose)); the engine uses numbers from
 * 0x100 on. */
enum { KF_DRAW_SAMPLE = 1, KF_DRAW_TUNE = 2 };

/* A kernel that an ask shows: its source, binding and what was measured. Borrowed for the duration of the
 * call. */
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
  int64_t id;         /* proposal id; the answer carries it */
  uint64_t seed;      /* of the run: with id and purpose the key of every draw (Philox) */
  const char *run_id; /* tells the mailbox whose answers lie in a folder; NULL: "" */
  kf_emitter emitter;
  const kf_task *task;
  kf_language language;
  const char *device_name;        /* for prompts; NULL allowed */
  const char *compiler;           /* host form: which, and its flags; NULL: not known */
  const kf_device_limits *limits; /* NULL: no limit is known */
  const kf_shown *parent;         /* NULL for a first draft */
  const kf_shown *best;           /* NULL if none */
  const kf_shown *inspirations;
  int ninspirations;
  const char *target; /* cell text, or NULL */
} kf_ask;

/* Borrowed during the callback. */
typedef struct {
  int64_t id;
  kf_status status;   /* KF_OK, or why there is no answer (KF_ETIMEOUT, KF_EIO, KF_ECANCELED, KF_ENOTFOUND =
                         nothing new   to propose) */
  const char *source; /* candidate source; NULL if the answer held no code */
  size_t source_len;
  const char *binding; /* "TILE=16" or "" = defaults; never NULL */
  const char *raw;     /* the whole answer as received, for the log; NULL for builtin */
  size_t raw_len;
  const char *note; /* why there is no code / what was done, one line; may be "", never NULL */
} kf_answer;

/* The word of an answer in the log (docs/formats/run-database.md): "ok", "no_code", "notfound", "timeout",
 * "canceled", "failed". */
const char *kf_answer_word(const kf_answer *answer);

typedef void (*kf_answer_cb)(void *context, const kf_answer *answer);

typedef struct kf_proposer kf_proposer;
/* SPEC: "builtin" | "mailbox:DIR" | "command:[+NAME...] PROGRAM ARGS" (quotes as in a shell, no expansion;
 * +NAME hands over that environment variable) | "replay:RUN.db" (answers of a recorded run, by proposal id) |
 * "replay:DIR" (files in name order, cycled by proposal id). Unknown kinds: KF_EINVAL with the list. `loop`,
 * `on_answer` and `context` outlive the proposer. */
kf_status kf_proposer_open(const char *spec, const kf_settings *settings, uv_loop_t *loop,
                           kf_answer_cb on_answer, void *context, kf_proposer **ret_proposer, kf_err *err);
/* May be called from on_answer. The callback never runs inside this call. */
kf_status kf_proposer_ask(kf_proposer *proposer, const kf_ask *ask, kf_err *err);
const char *kf_proposer_kind(const kf_proposer *proposer);
/* Gives new code (a person, a model, a recording), so may be asked to refine and fix; builtin only draws
 * bindings. */
bool kf_proposer_writes_code(const kf_proposer *proposer);
/* Shows the ask to a reader: best, inspirations and verdicts are worth filling in. The others use the parent
 * alone. */
bool kf_proposer_reads_prompts(const kf_proposer *proposer);
/* What would leave this machine, one line ("nothing", "prompts with your source to the program ..."). */
const char *kf_proposer_discloses(const kf_proposer *proposer);
/* Cancels what is pending (each gets its callback with KF_ECANCELED, within this call) and frees when the
 * loop has run. Accepts NULL. Not from within on_answer. */
void kf_proposer_close(kf_proposer *proposer);

/* The prompt of an ask as Markdown: task, contract, parent with its diagnosis, best, inspirations, answer
 * format. */
kf_status kf_prompt_write(const kf_ask *ask, kf_buf *buf, kf_err *err);
/* The candidate in a Markdown answer, by a CommonMark parser: fenced blocks of the task's language (info
 * string opencl, c, cl, cuda, ...), else blocks with a `//kf:` line, else the only block; among several the
 * last that has a
 * `//kf: launch`, or the last. false: none, *ret_note (static text) says why. The source is freed with
 * kf_free. */
bool kf_answer_extract(const char *text, size_t len, kf_language language, char **ret_source, size_t *ret_len,
                       const char **ret_note);

#endif
