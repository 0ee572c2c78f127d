/* links: kf_behavior */
/* fuzz_evidence_internal.c - what the judge reads of the child that parses a hostile source, and the screen's
 * reading of the source itself; the first byte chooses which. */
#include "base/alloc.h"
#include "behavior/evidence_wire_int.h"
#include "behavior/screen_int.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_screen(const char *text, size_t len) {
  kf_screen screen;
  kf_buf again;
  kf_buf_init(&again, KF_EVIDENCE_ANSWER_MAX);
  if (kf__screen_unpack(text, len, &screen, NULL) == KF_OK &&
      kf__screen_pack(&screen, &again, NULL) == KF_OK &&
      kf__screen_unpack(again.data, again.len, &screen, NULL) != KF_OK)
    abort(); /* what was read can be written and read again */
  kf_buf_done(&again);
}

static void read_answer(const char *text, size_t len) {
  kf_evidence evidence;
  kf_buf note;
  kf_buf_init(&note, KF_EVIDENCE_ANSWER_MAX);
  if (kf__evidence_answer_unpack(text, len, &evidence, &note, NULL) == KF_OK && evidence.matrix > 3) abort();
  kf_buf_done(&note);
}

static void screen_source(const char *text, size_t len) {
  kf_screen screen = {.state = KF_SCREEN_UNREAD};
  if (kf__screen_text(text, len, "-DTILE=16 -DT=float4", &screen, NULL) != KF_OK) return;
  if (screen.state == KF_SCREEN_REFUSED && (!screen.diagnosis.kind[0] || !screen.diagnosis.text[0])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kf_alloc_init();
  if (size < 1) return 0;
  const char *text = (const char *)data + 1;
  if (data[0] == 'S')
    read_screen(text, size - 1);
  else if (data[0] == 'A')
    read_answer(text, size - 1);
  else
    screen_source(text, size - 1);
  return 0;
}
