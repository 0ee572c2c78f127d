/* calls_blob.c - packs and checks resolved plans. */
#include "device/calls_blob.h"

#include "base/alloc.h"

typedef struct {
  uint32_t magic, nbuffers, nsteps, has_host;
} blob_head;

enum { MAGIC = 0x4b464332 };

kf_status kf_calls_pack(const kf_calls *calls, kf_buf *buf, kf_err *err) {
  blob_head head = {MAGIC, (uint32_t)calls->nbuffers, (uint32_t)calls->nsteps, calls->host != NULL};
  KF_TRY(kf_buf_append(buf, &head, sizeof head, err));
  for (int i = 0; i < calls->nbuffers; i++) {
    kf_buffer_spec spec = calls->buffers[i];
    spec.name = NULL;
    KF_TRY(kf_buf_append(buf, &spec, sizeof spec, err));
  }
  KF_TRY(kf_buf_append(buf, calls->steps, sizeof *calls->steps * (size_t)calls->nsteps, err));
  return calls->host ? kf_buf_append(buf, calls->host, sizeof *calls->host, err) : KF_OK;
}

static bool step_sane(const kf_step *step, int nbuffers) {
  if (step->kind == KF_STEP_FILL)
    return step->buffer >= 0 && step->buffer < nbuffers && step->npattern >= 1 &&
           step->npattern <= sizeof step->pattern;
  if ((step->kind != KF_STEP_LAUNCH && step->kind != KF_STEP_HOST_RUN) || step->nargs < 0 ||
      step->nargs > KF_STEP_ARGS_MAX)
    return false;
  if (memchr(step->entry, '\0', sizeof step->entry) == NULL) return false;
  for (int i = 0; i < step->nargs; i++) {
    const kf_step_arg *arg = &step->args[i];
    if (arg->kind == KF_STEP_ARG_BUFFER && (arg->buffer < 0 || arg->buffer >= nbuffers)) return false;
    if (arg->kind == KF_STEP_ARG_BYTES && (arg->nbytes < 1 || arg->nbytes > sizeof arg->bytes)) return false;
    if (arg->kind == KF_STEP_ARG_LOCAL && arg->local_bytes < 1) return false;
  }
  return true;
}

/* The host form is one step, with an argument for each of the task's. */
static bool host_sane(const kf_calls *calls) {
  const kf_host_call *host = calls->host;
  if (host == NULL) {
    for (int i = 0; i < calls->nsteps; i++)
      if (calls->steps[i].kind == KF_STEP_HOST_RUN) return false;
    return true;
  }
  if (calls->nsteps != 1 || calls->steps[0].kind != KF_STEP_HOST_RUN || host->nargs != calls->steps[0].nargs)
    return false;
  if (host->nargs > KF_ARGS_MAX || host->nsymbols < 0 || host->nsymbols > KF_SYMBOLS_MAX) return false;
  for (int i = 0; i < host->nargs; i++) {
    if (host->args[i].rank < 0 || host->args[i].rank > KF_RANK_MAX) return false;
    if (calls->steps[0].args[i].kind == KF_STEP_ARG_LOCAL) return false;
  }
  return true;
}

static bool calls_sane(const kf_calls *calls) {
  for (int i = 0; i < calls->nbuffers; i++)
    if (calls->buffers[i].bytes < 0 || calls->buffers[i].elements < 0) return false;
  for (int i = 0; i < calls->nsteps; i++)
    if (!step_sane(&calls->steps[i], calls->nbuffers)) return false;
  return host_sane(calls);
}

static void copy_from_blob(const blob_head *head, const char *bytes, kf_calls *calls) {
  size_t specs = sizeof(kf_buffer_spec) * head->nbuffers, steps = sizeof(kf_step) * head->nsteps;
  calls->nbuffers = (int)head->nbuffers;
  calls->nsteps = (int)head->nsteps;
  memcpy(calls->buffers, bytes + sizeof *head, specs);
  memcpy(calls->steps, bytes + sizeof *head + specs, steps);
  if (calls->host) memcpy(calls->host, bytes + sizeof *head + specs + steps, sizeof *calls->host);
  for (int i = 0; i < calls->nbuffers; i++)
    calls->buffers[i].name = NULL;
}

kf_status kf_calls_unpack(const char *bytes, size_t len, size_t *ret_used, kf_calls **ret_calls,
                          kf_err *err) {
  blob_head head;
  if (len < sizeof head) return kf_fail(err, KF_EPROTO, "plan: cut short");
  memcpy(&head, bytes, sizeof head);
  if (head.magic != MAGIC || head.nbuffers > KF_ARGS_MAX + KF_TEMPS_MAX || head.nsteps > KF_STEPS_MAX ||
      head.has_host > 1)
    return kf_fail(err, KF_EPROTO, "plan: %u buffers, %u steps", head.nbuffers, head.nsteps);
  size_t specs = sizeof(kf_buffer_spec) * head.nbuffers, steps = sizeof(kf_step) * head.nsteps;
  size_t host = head.has_host ? sizeof(kf_host_call) : 0;
  if (len - sizeof head < specs + steps + host) return kf_fail(err, KF_EPROTO, "plan: cut short");
  kf_calls *calls = kf_calloc(1, sizeof *calls);
  if (!calls) return kf_nomem(err);
  calls->steps = kf_calloc(head.nsteps, sizeof *calls->steps);
  calls->host = host ? kf_calloc(1, host) : NULL;
  if (!calls->steps || (host && !calls->host)) {
    kf_calls_unpacked_free(calls);
    return kf_nomem(err);
  }
  copy_from_blob(&head, bytes, calls);
  if (!calls_sane(calls)) {
    kf_calls_unpacked_free(calls);
    return kf_fail(err, KF_EPROTO, "plan: an index or size out of range");
  }
  *ret_used = sizeof head + specs + steps + host;
  *ret_calls = calls;
  return KF_OK;
}

void kf_calls_unpacked_free(kf_calls *calls) {
  if (!calls) return;
  kf_free(calls->host);
  kf_free(calls->steps);
  kf_free(calls);
}
