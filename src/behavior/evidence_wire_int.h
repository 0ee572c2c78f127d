/* evidence_wire_int.h - a request for evidence and its answer as JSON, between the judge and its child. */
#ifndef KF_BEHAVIOR_EVIDENCE_WIRE_INT_H
#define KF_BEHAVIOR_EVIDENCE_WIRE_INT_H

#include "base/arena.h"
#include "base/json.h"
#include "behavior/behavior.h"

enum {
  KF_EVIDENCE_REQUEST_MAX = 16 << 20, /* bytes of JSON */
  KF_EVIDENCE_ANSWER_MAX = 8 << 10,
  KF_EVIDENCE_SOURCE_MAX = 2 << 20,
  KF_EVIDENCE_STEPS_MAX = 1024,
  KF_EVIDENCE_FAILED = 125, /* the child's exit code when the failure is ours */
};

/* Of the calls only what evidence needs travels: roles of buffers, launched kernels, which buffer is which
 * argument. */
kf_status kf__evidence_request_pack(const kf_evidence_request *request, kf_buf *buf, kf_err *err);
/* Everything read is owned by the arena. Foreign bytes: KF_EPROTO on anything out of place. */
kf_status kf__evidence_request_unpack(const char *text, size_t len, kf_arena *arena,
                                      kf_evidence_request *ret_request, kf_err *err);

/* The child's first message: what the screen found. Its evidence is the second. */
kf_status kf__screen_pack(const kf_screen *screen, kf_buf *buf, kf_err *err);
/* Foreign bytes: KF_EPROTO on an unknown state, or a refusal without a rule and a sentence. */
kf_status kf__screen_unpack(const char *text, size_t len, kf_screen *ret_screen, kf_err *err);

kf_status kf__evidence_answer_pack(const kf_evidence *evidence, const char *note, kf_buf *buf, kf_err *err);
/* Numbers of an answer are held to their ranges: the child is not trusted. `note` gets the reason when
 * unknown. */
kf_status kf__evidence_answer_unpack(const char *text, size_t len, kf_evidence *ret_evidence, kf_buf *note,
                                     kf_err *err);

#endif
