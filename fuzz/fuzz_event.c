/* links: kf_run kf_task kf_archive kf_store kf_wire kf_base */
/* fuzz_event.c - stored events are refused or folded, and inputs are refused or decided, whatever their
 * bodies say.
 *
 * A line is an event: "KIND PROPOSAL BODY". Decisions are folded as at resume, inputs are given as in a live
 * run. When all lines are inputs, the engine's own decisions must never contradict its state, and a second
 * engine that folds them must end up alike. */
#include "base/alloc.h"
#include "run/engine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
  if (!holds) abort();
}

static const kf_task *small_task(void) {
  static const kf_task_file kernel = {.path = "kernel.cl"}, seed = {.path = "seed.cl"};
  static kf_task task;
  task.name = "fuzz";
  task.kernel[KF_LANG_OPENCL] = &kernel;
  task.seeds[KF_LANG_OPENCL][0] = &seed;
  task.nseeds[KF_LANG_OPENCL] = 1;
  task.baseline_kind = KF_BASELINE_KERNEL;
  return &task;
}

static kf_engine *new_engine(void) {
  kf_engine *engine = NULL;
  kf_engine_config config = {
      .task = small_task(), .language = KF_LANG_OPENCL, .seed = 1, .evals_max = 40, .in_flight = 3};
  kf_settings_init(&config.settings);
  require(kf_engine_new(&config, &engine, NULL) == KF_OK);
  return engine;
}

static bool read_event(const char *line, size_t len, kf_event *ret_event) {
  const char *end = line + len;
  const char *space = memchr(line, ' ', len);
  if (space == NULL) return false;
  for (int kind = 1; kind < 64; kind++) {
    const char *name = kf_event_name((kf_event_kind)kind);
    if (strlen(name) != (size_t)(space - line) || memcmp(name, line, strlen(name)) != 0) continue;
    if (strcmp(name, "unknown") == 0) continue;
    int64_t proposal = 0;
    const char *at = space + 1;
    for (; at < end && *at >= '0' && *at <= '9' && proposal < 100000; at++)
      proposal = 10 * proposal + (*at - '0');
    if (at < end && *at == ' ') at++;
    *ret_event = (kf_event){.seq = 1,
                            .kind = (kf_event_kind)kind,
                            .proposal = proposal,
                            .at_ms = proposal,
                            .body = at,
                            .body_len = (size_t)(end - at)};
    return true;
  }
  return false;
}

/* The engine that folds what the live one is given and decides: the input comes first, unless it is refused.
 */
typedef struct {
  kf_engine *engine;
  const kf_event *input; /* NULL: folded */
} follower;

static void follow_input(follower *f) {
  if (f->input != NULL) require(kf_engine_fold(f->engine, f->input, NULL) == KF_OK);
  f->input = NULL;
}

static kf_status follow(void *context, const kf_event *decision, kf_err *err) {
  follower *f = context;
  if (f->engine == NULL) return KF_OK;
  follow_input(f);
  require(kf_engine_fold(f->engine, decision, err) == KF_OK);
  return KF_OK;
}

static void compare(const kf_engine *live, const kf_engine *folded) {
  kf_engine_stats a, b;
  kf_pending x[16], y[16];
  kf_engine_get_stats(live, &a);
  kf_engine_get_stats(folded, &b);
  require(strcmp(a.finish_reason, b.finish_reason) == 0);
  require(a.evaluated == b.evaluated && a.proposed == b.proposed && a.in_flight == b.in_flight);
  require(a.in_flight <= 3 && a.evaluated <= 40);
  require(a.anchor == b.anchor && a.champion == b.champion && a.best_nano == b.best_nano);
  int count = kf_engine_pending(live, x, 16);
  require(count == kf_engine_pending(folded, y, 16));
  require(memcmp(x, y, (size_t)(count < 16 ? count : 16) * sizeof x[0]) == 0);
}

static bool has_decision(const char *text, size_t len) {
  for (size_t at = 0; at < len;) {
    const char *newline = memchr(text + at, '\n', len - at);
    size_t line_len = newline != NULL ? (size_t)(newline - text) - at : len - at;
    kf_event event;
    if (read_event(text + at, line_len, &event) && kf_event_is_decision(event.kind)) return true;
    at += line_len + 1;
  }
  return false;
}

/* One input to the live engine, and to its follower if there is one. */
static kf_status give(kf_engine *live, follower *f, const kf_event *input) {
  f->input = input;
  kf_status status = kf_engine_input(live, input, follow, f, NULL);
  if (f->engine == NULL) return status;
  require(status == KF_OK || status == KF_EPROTO);
  if (status == KF_OK) {
    follow_input(f);
    compare(live, f->engine);
  }
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  kf_engine *live = new_engine();
  follower f = {.engine = has_decision(text, size) ? NULL : new_engine()};
  kf_event event = {.kind = KF_EVENT_START, .body = "{}", .body_len = 2};
  if (f.engine != NULL)
    require(give(live, &f, &event) == KF_OK);
  else
    require(kf_engine_fold(live, &event, NULL) == KF_OK);
  kf_status status = KF_OK;
  for (size_t at = 0; at < size && status == KF_OK;) {
    const char *newline = memchr(text + at, '\n', size - at);
    size_t len = newline != NULL ? (size_t)(newline - text) - at : size - at;
    bool known = read_event(text + at, len, &event);
    at += len + 1;
    if (!known) continue;
    if (kf_event_is_decision(event.kind))
      status = kf_engine_fold(live, &event, NULL);
    else if (give(live, &f, &event) == KF_EBUG)
      break; /* what was folded before was no engine's work */
  }
  kf_engine_free(live);
  kf_engine_free(f.engine);
  return 0;
}
