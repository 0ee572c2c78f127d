/* propose.c - the kinds of proposers behind one interface, and what they share. */
#include "propose/propose_int.h"

#include "base/alloc.h"
#include "base/text.h"

#include "base/banned.h"

static const char *const emitter_names[] = {
    [KF_EMIT_SEED] = "seed",     [KF_EMIT_SAMPLE] = "sample", [KF_EMIT_TUNE] = "tune",
    [KF_EMIT_REFINE] = "refine", [KF_EMIT_FIX] = "fix",
};

const char *kf_emitter_name(kf_emitter emitter) {
  return (unsigned)emitter < KF_COUNTOF(emitter_names) ? emitter_names[emitter] : "unknown";
}

bool kf_emitter_parse(const char *name, kf_emitter *ret_emitter) {
  for (size_t i = 0; i < KF_COUNTOF(emitter_names); i++) {
    if (strcmp(name, emitter_names[i]) != 0) continue;
    *ret_emitter = (kf_emitter)i;
    return true;
  }
  return false;
}

typedef kf_status (*opener)(const kf_proposer *base, const char *rest, kf_proposer **ret_proposer,
                            kf_err *err);

static const char *const kind_names[] = {"builtin", "mailbox", "command", "replay", NULL};
static const opener openers[] = {kf__builtin_open, kf__mailbox_open, kf__command_open, kf__recorded_open};

kf_status kf_proposer_open(const char *spec, const kf_settings *settings, uv_loop_t *loop,
                           kf_answer_cb on_answer, void *context, kf_proposer **ret_proposer, kf_err *err) {
  const char *colon = strchr(spec, ':');
  size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
  kf_proposer base = {.loop = loop, .on_answer = on_answer, .context = context, .settings = settings};
  for (size_t i = 0; kind_names[i]; i++) {
    if (strlen(kind_names[i]) != len || memcmp(kind_names[i], spec, len) != 0) continue;
    return openers[i](&base, colon ? colon + 1 : "", ret_proposer, err);
  }
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)(len < 31 ? len : 31), spec);
  const char *nearest = kf_text_nearest(word, kind_names);
  kf_status status = kf_fail(err, KF_EINVAL, "proposer \"%s\": unknown kind", spec);
  const char *forms = "builtin, mailbox:DIR, command:PROGRAM ARGS, replay:RUN.db, replay:DIR";
  if (nearest) return kf_err_hint(err, status, "did you mean %s? there are %s", nearest, forms);
  return kf_err_hint(err, status, "there are %s", forms);
}

kf_status kf_proposer_ask(kf_proposer *proposer, const kf_ask *ask, kf_err *err) {
  return proposer->ops->ask(proposer, ask, err);
}

const char *kf_proposer_kind(const kf_proposer *proposer) {
  return proposer->ops->kind;
}

bool kf_proposer_writes_code(const kf_proposer *proposer) {
  return proposer->ops->writes_code;
}

bool kf_proposer_reads_prompts(const kf_proposer *proposer) {
  return proposer->ops->reads_prompts;
}

const char *kf_proposer_discloses(const kf_proposer *proposer) {
  return proposer->discloses;
}

void kf_proposer_close(kf_proposer *proposer) {
  if (proposer) proposer->ops->close(proposer);
}

const char *kf_answer_word(const kf_answer *answer) {
  switch (answer->status) {
  case KF_OK:
    return answer->source ? "ok" : "no_code";
  case KF_ENOTFOUND:
    return "notfound";
  case KF_ETIMEOUT:
    return "timeout";
  case KF_ECANCELED:
    return "canceled";
  default:
    return "failed";
  }
}

void kf__answer_fail(kf_proposer *proposer, int64_t id, kf_status status, const char *note, const char *raw,
                     size_t raw_len) {
  kf_answer answer = {
      .id = id, .status = status, .binding = "", .raw = raw, .raw_len = raw_len, .note = note};
  proposer->on_answer(proposer->context, &answer);
}

void kf__answer_markdown(kf_proposer *proposer, int64_t id, kf_language language, const char *text,
                         size_t len) {
  char *source = NULL;
  size_t source_len = 0;
  const char *note = "";
  kf_answer answer = {.id = id, .status = KF_OK, .binding = "", .raw = text, .raw_len = len, .note = ""};
  if (kf_answer_extract(text, len, language, &source, &source_len, &note)) {
    answer.source = source;
    answer.source_len = source_len;
  } else {
    answer.note = note;
  }
  proposer->on_answer(proposer->context, &answer);
  kf_free(source);
}
