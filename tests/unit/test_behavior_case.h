/* test_behavior_case.h - reads tests/cases/behavior/NAME.cl: a kernel with what is expected of it in leading
 * comments.
 *
 *   // expect: memory=2 algorithm=0 coordination=1 matrix=0
 *   // options: -DTILE=16                      compiler options (may be missing)
 *   // base: operations=2 sweeps=3             facts of the naive kernel (missing: 1 and 1)
 *   // buffers: x=in y=out t=temp
 *   // launch: ENTRY x - y                     one line for each launch; a buffer's name, "-" for a scalar,
 * "local"
 *   // evidence: accumulators=4 sweeps=2       more that has to hold (may be missing) */
#ifndef TEST_BEHAVIOR_CASE_H
#define TEST_BEHAVIOR_CASE_H

#include "base/alloc.h"
#include "base/fs.h"
#include "behavior/behavior.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  kf_buf source;
  char expect[128], options[256], evidence[256];
  kf_behavior_base base;
  char names[16][32];
  kf_calls calls;
  kf_step steps[8];
} behavior_case;

static void case_done(behavior_case *c) {
  kf_buf_done(&c->source);
  kf_free(c);
}

static int case_buffer(const behavior_case *c, const char *name) {
  for (int i = 0; i < c->calls.nbuffers; i++)
    if (strcmp(c->names[i], name) == 0) return i;
  return -1;
}

static void case_buffers(behavior_case *c, char *line) {
  char *save = NULL;
  for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char *is = strchr(word, '=');
    if (!is || c->calls.nbuffers >= 16) abort();
    *is++ = 0;
    int i = c->calls.nbuffers++;
    snprintf(c->names[i], sizeof c->names[i], "%s", word);
    bool temp = strcmp(is, "temp") == 0;
    c->calls.buffers[i] =
        (kf_buffer_spec){.name = c->names[i], .is_temp = temp, .type = KF_TYPE_F32, .arg = i};
    c->calls.buffers[i].role = temp || strcmp(is, "out") == 0 ? KF_ROLE_OUT : KF_ROLE_IN;
  }
}

static void case_launch(behavior_case *c, char *line) {
  char *save = NULL, *word = strtok_r(line, " ", &save);
  if (!word || c->calls.nsteps >= 8) abort();
  kf_step *step = &c->steps[c->calls.nsteps++];
  *step = (kf_step){.kind = KF_STEP_LAUNCH};
  snprintf(step->entry, sizeof step->entry, "%s", word);
  while ((word = strtok_r(NULL, " ", &save))) {
    kf_step_arg *arg = &step->args[step->nargs++];
    *arg = (kf_step_arg){.kind = KF_STEP_ARG_BUFFER, .buffer = case_buffer(c, word)};
    if (strcmp(word, "-") == 0)
      *arg = (kf_step_arg){.kind = KF_STEP_ARG_BYTES, .nbytes = 4};
    else if (strcmp(word, "local") == 0)
      *arg = (kf_step_arg){.kind = KF_STEP_ARG_LOCAL, .local_bytes = 64};
    else if (arg->buffer < 0)
      abort();
  }
}

/* False at the first line that is no such comment. */
static bool case_line(behavior_case *c, char *line) {
  char *colon = strchr(line, ':'), *text = colon ? colon + 2 : line;
  if (!colon || strcspn(line, " ") < (size_t)(colon - line)) return false;
  if (strncmp(line, "expect", 6) == 0)
    snprintf(c->expect, sizeof c->expect, "%s", text);
  else if (strncmp(line, "options", 7) == 0)
    snprintf(c->options, sizeof c->options, "%s", text);
  else if (strncmp(line, "evidence", 8) == 0)
    snprintf(c->evidence, sizeof c->evidence, "%s", text);
  else if (strncmp(line, "base", 4) == 0)
    sscanf(text, "operations=%d sweeps=%d", &c->base.operations, &c->base.sweeps);
  else if (strncmp(line, "buffers", 7) == 0)
    case_buffers(c, text);
  else if (strncmp(line, "launch", 6) == 0)
    case_launch(c, text);
  else
    return false;
  return true;
}

/* Aborts on a case that breaks the form above: that is a mistake in the case. */
static behavior_case *case_load(const char *path) {
  behavior_case *c = kf_calloc(1, sizeof *c);
  kf_err err = {0};
  kf_buf_init(&c->source, 1 << 20);
  if (kf_fs_read(path, &c->source, &err) != KF_OK) abort();
  c->base = (kf_behavior_base){.operations = 1, .sweeps = 1};
  c->calls.steps = c->steps;
  const char *at = c->source.data;
  while (strncmp(at, "// ", 3) == 0) {
    const char *end = strchr(at, '\n');
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)(end - at - 3), at + 3);
    if (!case_line(c, line)) break;
    at = end + 1;
  }
  return c;
}

static kf_evidence_request case_request(const behavior_case *c) {
  return (kf_evidence_request){
      .source = c->source.data, .source_len = c->source.len, .options = c->options, .calls = &c->calls};
}

static void evidence_as_text(const kf_evidence *e, char *text, size_t size) {
  snprintf(
      text, size,
      "known=%d vector_width=%d staged_local=%d accumulators=%d register_staging=%d async_or_prefetch=%d "
      "launches=%d "
      "sweeps=%d split_reduction=%d barrier=%d subgroup=%d global_atomic=%d joined_launches=%d matrix=%d",
      e->known, e->vector_width, e->staged_local, e->accumulators, e->register_staging, e->async_or_prefetch,
      e->launches, e->sweeps, e->split_reduction, e->barrier, e->subgroup, e->global_atomic,
      e->joined_launches, e->matrix);
}

#endif
