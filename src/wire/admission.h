/* admission.h - what the evaluator found about a task itself (docs/formats/wire.md, admit): lines for people,
 * and the ceilings and floors of its measure cases. Plain data with fixed sizes: may be copied. */
#ifndef KF_WIRE_ADMISSION_H
#define KF_WIRE_ADMISSION_H

#include "base/json.h"

/* In order of weight. A refused task says nothing about its kernels; a doubtful one may mislead. */
typedef enum { KF_ADMISSION_OK, KF_ADMISSION_DOUBTFUL, KF_ADMISSION_REFUSED } kf_admission_state;
const char *kf_admission_state_name(kf_admission_state state); /* "doubtful" */

typedef struct {
  kf_admission_state state;
  char area[24];  /* "trivial answers", "reference", ... */
  char text[480]; /* one sentence with its numbers */
  char fix[320];  /* lines of task.yaml as they should be; "" if there is none to give */
} kf_admission_line;

/* A measure case and the least time it can take. */
typedef struct {
  char symbols[160];
  int64_t bytes_in, bytes_out, floor_ns; /* floor 0: ceilings unknown */
  double operations;                     /* 0: not said */
} kf_admission_floor;

enum { KF_ADMISSION_LINES_MAX = 48, KF_ADMISSION_FLOORS_MAX = 16 };

typedef struct {
  kf_admission_line lines[KF_ADMISSION_LINES_MAX];
  int nlines;
  kf_admission_floor floors[KF_ADMISSION_FLOORS_MAX];
  int nfloors;
  double read_gbs, write_gbs, copy_gbs, gflops; /* 0: unknown */
  int64_t launch_ns;
} kf_admission;

/* Adds a line; `fix` may be NULL. Lines beyond the maximum are dropped, unless they weigh more than the
 * lightest, whose place they take. */
void kf_admission_add(kf_admission *admission, kf_admission_state state, const char *area, const char *fix,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
kf_admission_state kf_admission_worst(const kf_admission *admission);
kf_status kf_admission_to_json(const kf_admission *admission, json_t **ret_json, kf_err *err);
/* Unknown keys are ignored, missing ones keep their defaults; another type is KF_EPROTO. */
kf_status kf_admission_from_json(const json_t *json, kf_admission *ret_admission, kf_err *err);

#endif
