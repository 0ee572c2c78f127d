/* propose_int.h - private to src/propose: what a kind of proposer provides, and the parts they share. */
#ifndef KF_PROPOSE_PROPOSE_INT_H
#define KF_PROPOSE_PROPOSE_INT_H

#include "propose/propose.h"

typedef struct {
  const char *kind;
  bool writes_code, reads_prompts;
  kf_status (*ask)(kf_proposer *proposer, const kf_ask *ask, kf_err *err);
  /* Answers what is pending with KF_ECANCELED, then frees itself when its handles are closed. */
  void (*close)(kf_proposer *proposer);
} kf__proposer_ops;

/* First member of each kind's own structure. */
struct kf_proposer {
  const kf__proposer_ops *ops;
  uv_loop_t *loop;
  kf_answer_cb on_answer;
  void *context;
  const kf_settings *settings; /* valid during open only */
  char discloses[256];
};

/* Openers. `rest` is the spec after "KIND:" ("" without one); `base` is copied into the new proposer. */
kf_status kf__builtin_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                           kf_err *err);
kf_status kf__mailbox_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                           kf_err *err);
kf_status kf__command_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                           kf_err *err);
kf_status kf__recorded_open(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                            kf_err *err);

/* Answers that are known at once, delivered from the loop: the callback must not run inside the ask. Bounded
 * by the number of asks in flight. */
typedef struct kf__queued kf__queued;
typedef struct {
  uv_idle_t idle;
  kf_proposer *proposer;
  kf__queued *first, *last;
  void (*on_closed)(kf_proposer *proposer);
} kf__answer_queue;

void kf__answer_queue_init(kf__answer_queue *queue, kf_proposer *proposer);
/* Copies the answer. */
kf_status kf__answer_queue_push(kf__answer_queue *queue, const kf_answer *answer, kf_err *err);
/* Cancels what is queued; on_closed runs when the handle is gone. */
void kf__answer_queue_close(kf__answer_queue *queue, void (*on_closed)(kf_proposer *proposer));

/* An answer that is a failure; its callback runs inside this call. */
void kf__answer_fail(kf_proposer *proposer, int64_t id, kf_status status, const char *note, const char *raw,
                     size_t raw_len);
/* Extracts the code of a Markdown text and answers; the callback runs inside this call. */
void kf__answer_markdown(kf_proposer *proposer, int64_t id, kf_language language, const char *text,
                         size_t len);

#endif
