/* verdict.h - what the evaluator says about a candidate (docs/formats/verdict.md). A failed candidate is a
 * result, never an error. Plain data with fixed sizes: may be copied. Times in ns, log ratios in int64
 * nano-log units (1e-9 of a natural log), so that what is decided from them compares integers. */
#ifndef KF_WIRE_VERDICT_H
#define KF_WIRE_VERDICT_H

#include "base/json.h"

/* In order of precedence where several hold (highest last only for `correct`): see kf_verdict_worse. */
typedef enum {
  KF_VERDICT_NO_CODE,
  KF_VERDICT_REFUSED,
  KF_VERDICT_UNSUPPORTED,
  KF_VERDICT_BUILD_FAILED,
  KF_VERDICT_BUILD_TIMEOUT,
  KF_VERDICT_LAUNCH_FAILED,
  KF_VERDICT_CRASHED,
  KF_VERDICT_TIMED_OUT,
  KF_VERDICT_OUT_OF_MEMORY,
  KF_VERDICT_WRONG_OUTPUT,
  KF_VERDICT_WRONG_MEMORY,
  KF_VERDICT_NONDETERMINISTIC,
  KF_VERDICT_IMPRECISE,
  KF_VERDICT_SLOW,
  KF_VERDICT_IMPLAUSIBLE,
  KF_VERDICT_UNSTABLE,
  KF_VERDICT_CHEAT,
  KF_VERDICT_CORRECT,
  KF_VERDICT_COUNT,
} kf_verdict_kind;

const char *kf_verdict_name(kf_verdict_kind kind); /* "wrong_output" */
bool kf_verdict_parse(const char *name, kf_verdict_kind *ret_kind);
/* True if `a` takes precedence over `b` when both hold for one candidate (docs/formats/verdict.md). */
bool kf_verdict_worse(kf_verdict_kind a, kf_verdict_kind b);

typedef struct {
  char kind[32];      /* class: "tail", "unwritten", "out_of_bounds", "syntax", ... */
  char where[160];    /* "y[3,17] of rows=33,cols=1000", "kernel.cl:12:5", "stage 1" */
  char text[400];     /* one sentence */
  char evidence[400]; /* numbers: "got 0x7fa00000 (poison), want 0.25; 31 of 1000 elements" */
} kf_diagnosis;

typedef enum { KF_RACE_NONE, KF_RACE_FASTER, KF_RACE_SLOWER, KF_RACE_TIE, KF_RACE_DROPPED } kf_race_outcome;
const char *kf_race_outcome_name(kf_race_outcome outcome); /* "faster" */

typedef struct {
  kf_race_outcome outcome; /* NONE: no race was run */
  char against[65];        /* sha256 of the opponent's source */
  char against_binding[256];
  int64_t median_nano, low_nano, high_nano; /* of d = ln(t_opponent / t_candidate) */
  double level;                             /* confidence of [low, high] */
  int blocks, dropped;                      /* used; dropped for bad conditions */
  char why[160];                            /* why it stopped */
} kf_race_result;

/* The precision gate (docs/internals/evaluator.md). NONE: it was not reached, or the task has no such output.
 */
typedef enum {
  KF_PRECISION_NONE,
  KF_PRECISION_PASSED,
  KF_PRECISION_FAILED,
  KF_PRECISION_UNOBSERVABLE /* the inputs or the oracle cannot tell */
} kf_precision_state;
const char *kf_precision_state_name(kf_precision_state state); /* "passed" */

typedef struct {
  kf_precision_state state;
  double rms,
      limit; /* root mean square error of the output furthest from its limit; 0 unless passed or failed */
} kf_precision_result;
/* One block of a race, or one value of a candidate timed alone, with the conditions it was taken under. For
 * looking at afterwards: times of different races are never compared. */
typedef enum { KF_DROP_NO, KF_DROP_WAITED, KF_DROP_STOLEN, KF_DROP_FREQUENCY } kf_sample_drop;
const char *kf_sample_drop_name(kf_sample_drop drop); /* "waited"; "" for NO */
enum { KF_SAMPLES_MAX = 96, KF_SAMPLE_CASES_MAX = 16 };
typedef struct {
  int64_t wall_ns;  /* judge's clock, empty request subtracted; 0: this side was not called */
  int64_t child_ns; /* the child's word for that call */
} kf_sample_value;
typedef struct {
  int process, block, ncases; /* process: 0, 1, 2 of a confirmation */
  bool candidate_first;
  kf_sample_drop drop;                           /* why it was not used */
  kf_sample_value value[2][KF_SAMPLE_CASES_MAX]; /* candidate, opponent; by measure case */
  int64_t waited_ns[2];                          /* for a core, in the calls above; longest thread */
  int64_t switches[2];                           /* involuntary, in the whole block */
  int64_t stolen_ns, span_ns, mhz;               /* by the host; how long the block took; 0 = not known */
} kf_sample;

enum { KF_VERDICT_CASES_MAX = 64, KF_VERDICT_LOG_MAX = 4096 };

typedef struct {
  char symbols[160]; /* "rows=33,cols=1000" */
  bool measured;     /* a measure case (else a check case) */
  bool right;
  double worst;    /* largest error over its tolerance, 0..; > 1 is wrong */
  int64_t time_ns; /* median of the timed calls; 0 if not timed */
} kf_case_result;

/* One complaint of the compiler, at the place in the candidate's own file (docs/formats/verdict.md, Compile
 * errors). */
typedef struct {
  char file[64];
  int line, col;     /* from 1; 0: the compiler named none */
  char severity[8];  /* "error", "fatal" */
  char category[16]; /* "undeclared", "type", "syntax", ... */
  char message[240];
} kf_compile_error;

enum { KF_VERDICT_ERRORS_MAX = 8 };

/* How close a correct kernel comes to what the device can do (docs/internals/evaluator.md, Ceilings and
 * diagnosis). Shares are of the measured ceilings, geometric means over the measure cases. */
typedef struct {
  char bound[20]; /* class: "memory_bound", ...; "" = not known: no ceilings, or not timed */
  double bytes_share, operations_share, launch_share; /* 0..; operations 0 where the task does not say them */
  int64_t floor_ns;                                   /* the time that moving the compulsory bytes takes */
} kf_roofline;

/* Static evidence of the syntax tree or the compiled code, which the behaviour axes read
 * (docs/internals/search.md). */
typedef struct {
  bool known;             /* false: no parser on that machine */
  char source[16];        /* "syntax", "ptx" */
  int vector_width;       /* widest access to global memory, elements; 1 = scalar */
  bool staged_local;      /* a global value stored to local memory and read after a barrier */
  int accumulators;       /* independent accumulators of an item in its innermost loop */
  bool register_staging;  /* global -> private array -> local, or a private tile */
  bool async_or_prefetch; /* async copy, prefetch, double buffer */
  int launches;           /* of one call */
  int sweeps;             /* most sweeps over any input */
  bool split_reduction;   /* one reduction split across groups */
  bool barrier, subgroup, global_atomic, joined_launches; /* joined: by a temporary */
  int matrix;                                             /* 0 none, 1 dot, 2 mma, 3 async mma */
} kf_evidence;

enum { KF_AXES = 4 };
typedef struct {
  int8_t level[KF_AXES]; /* memory, algorithm, coordination, matrix; 0..3; -1 in [0] = unknown cell */
} kf_cell;

typedef struct {
  kf_verdict_kind kind;
  int stage; /* highest stage passed or reached, 0..3 */
  bool confirmed;
  char oracle[12];    /* "reference" or "kernel" */
  char tier[4];       /* "A", "B" */
  char enforced[160]; /* what the sandbox enforced: "seccomp landlock rlimits" */
  char device[64];    /* "opencl:0" */
  char device_name[128], driver[96];
  kf_diagnosis diagnosis;
  kf_race_result race;
  kf_precision_result precision;
  kf_case_result cases[KF_VERDICT_CASES_MAX];
  int ncases;
  int64_t time_ns, time_low_ns, time_high_ns; /* cold; geometric mean over measure cases; 0 = not timed */
  int64_t warm_ns;                            /* the same without flushing: reported, never compared */
  kf_sample samples[KF_SAMPLES_MAX];
  int nsamples;
  int64_t build_ms, verify_ms, measure_ms, total_ms;
  kf_compile_error errors[KF_VERDICT_ERRORS_MAX]; /* build_failed */
  int nerrors;
  kf_roofline roofline; /* correct and timed */
  kf_evidence evidence;
  kf_cell cell;
  char source_sha256[65], artefact_sha256[65];
  char shared_with[65]; /* source of another candidate with the same machine code, whose judgement this is; ""
                         */
  char binding[256];
  char log[KF_VERDICT_LOG_MAX]; /* compiler log or captured output, cut */
  char next_why[240], next_command[240];
} kf_verdict;

void kf_verdict_init(kf_verdict *verdict); /* no_code, everything empty, unknown cell */
/* Keys as in docs/formats/verdict.md. */
kf_status kf_verdict_to_json(const kf_verdict *verdict, json_t **ret_json, kf_err *err);
kf_status kf_verdict_from_json(const json_t *json, kf_verdict *ret_verdict, kf_err *err);
/* "m2.a0.c1.x0" or "unknown". */
enum { KF_CELL_TEXT = 16 };
void kf_cell_text(const kf_cell *cell, char ret_text[KF_CELL_TEXT]);
bool kf_cell_parse(const char *text, kf_cell *ret_cell);

/* exp(nano * 1e-9) for people. */
double kf_nano_ratio(int64_t nano);
int64_t kf_ratio_nano(double ln_ratio); /* natural log -> nano, rounded to nearest, saturating */

#endif
