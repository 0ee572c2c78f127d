/* answer_queue.c - answers that are known when they are asked for, delivered later from the loop: an ask
 * never calls back by itself, whatever the kind of proposer. */
#include "base/alloc.h"
#include "propose/propose_int.h"

#include "base/banned.h"

struct kf__queued {
  kf__queued *next;
  kf_answer answer; /* its texts are owned */
};

/* The texts of a queued answer are ours, const only for the callback. */
static void free_text(const char *text) {
  kf_free((void *)(uintptr_t)text);
}

static void queued_free(kf__queued *item) {
  if (!item) return;
  free_text(item->answer.source);
  free_text(item->answer.raw);
  free_text(item->answer.binding);
  free_text(item->answer.note);
  kf_free(item);
}

static kf__queued *queued_copy(const kf_answer *answer) {
  kf__queued *item = kf_calloc(1, sizeof *item);
  if (!item) return NULL;
  item->answer = *answer;
  item->answer.source = answer->source ? kf_memdup(answer->source, answer->source_len) : NULL;
  item->answer.raw = answer->raw ? kf_memdup(answer->raw, answer->raw_len) : NULL;
  item->answer.binding = kf_strdup(answer->binding);
  item->answer.note = kf_strdup(answer->note);
  if (!item->answer.binding || !item->answer.note || (answer->source && !item->answer.source) ||
      (answer->raw && !item->answer.raw)) {
    queued_free(item);
    return NULL;
  }
  return item;
}

static kf__queued *pop(kf__answer_queue *queue) {
  kf__queued *item = queue->first;
  if (!item) return NULL;
  queue->first = item->next;
  if (!queue->first) queue->last = NULL;
  return item;
}

/* One answer a turn of the loop, so that a callback that asks again does not keep other handles waiting. */
static void on_idle(uv_idle_t *idle) {
  kf__answer_queue *queue = idle->data;
  kf__queued *item = pop(queue);
  if (!queue->first) uv_idle_stop(idle);
  if (!item) return;
  queue->proposer->on_answer(queue->proposer->context, &item->answer);
  queued_free(item);
}

void kf__answer_queue_init(kf__answer_queue *queue, kf_proposer *proposer) {
  *queue = (kf__answer_queue){.proposer = proposer};
  uv_idle_init(proposer->loop, &queue->idle); /* cannot fail */
  queue->idle.data = queue;
}

kf_status kf__answer_queue_push(kf__answer_queue *queue, const kf_answer *answer, kf_err *err) {
  kf__queued *item = queued_copy(answer);
  if (!item) return kf_nomem(err);
  if (queue->last)
    queue->last->next = item;
  else
    queue->first = item;
  queue->last = item;
  uv_idle_start(&queue->idle, on_idle); /* cannot fail with a callback */
  return KF_OK;
}

static void on_handle_closed(uv_handle_t *handle) {
  kf__answer_queue *queue = handle->data;
  queue->on_closed(queue->proposer);
}

void kf__answer_queue_close(kf__answer_queue *queue, void (*on_closed)(kf_proposer *proposer)) {
  queue->on_closed = on_closed;
  for (kf__queued *item; (item = pop(queue)) != NULL; queued_free(item))
    kf__answer_fail(queue->proposer, item->answer.id, KF_ECANCELED, "canceled", NULL, 0);
  uv_close((uv_handle_t *)&queue->idle, on_handle_closed);
}
