/* ceiling.c - the probe and its measurement; see ceiling.h. */
#include "measure/ceiling.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "measure/stats.h"
#include "verify/rig.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

enum {
  MIB = 1 << 20,
  BUFFER_MIB_MIN = 16,
  BUFFER_MIB_MAX = 64,
  PIECE_FLOATS = 1 << 16, /* of one work-item: the `ceil(n, 65536)` of the directives */
  CHAINS = 10,            /* more than latency times ports of any core so far, and they fit 16 registers */
  ITERATIONS = 1 << 14,   /* of the directive's -D: see the source */
  EMPTY_REQUESTS = 9,
  EMPTY_LAUNCHES = 33,
  ROUNDS = 2,
  CALLS_MAX = 5, /* of one kernel in a round, after the first */
  CALL_BUDGET_MS = 25,
};

/* What the cases of the probe measure, in the order of the check cases. Several ways to write or copy: which
 * one is fastest depends on the compiler (the plain loops become memset and memcpy). */
typedef enum { READ, WRITE, WRITE_ZERO, COPY, COPY_PLAIN, MADD_8, MADD_16, EMPTY, PROBES } probe;

static const char source[] =
    "//kf: launch kf_read  global=(ceil(n, 65536)) local=(1) if=what==0 args=(x, y, n)\n"
    "//kf: launch kf_write global=(ceil(n, 65536)) local=(1) if=what==1 args=(y, n)\n"
    "//kf: launch kf_zero  global=(ceil(n, 65536)) local=(1) if=what==2 args=(y, n)\n"
    "//kf: launch kf_copy  global=(ceil(n, 65536)) local=(1) if=what==3 args=(x, y, n)\n"
    "//kf: launch kf_plain global=(ceil(n, 65536)) local=(1) if=what==4 args=(x, y, n)\n"
    "//kf: launch kf_madd8  global=(dev.units * 4) local=(1) if=what==5 args=(x, y)\n"
    "//kf: launch kf_madd16 global=(dev.units * 4) local=(1) if=what==6 args=(x, y)\n"
    "//kf: launch kf_empty global=(dev.units) local=(1) if=what==7 args=(y)\n"
    "#define PIECE 65536\n"
    "__kernel void kf_read(__global const float *x, __global float *y, int n) {\n"
    "  const int g = get_global_id(0), end = min(PIECE, n - g * PIECE);\n"
    "  __global const float *p = x + (size_t)g * PIECE;\n"
    "  float16 a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;\n"
    "  for (int i = 0; i < end; i += 64) {\n"
    "    a += vload16(0, p + i);\n"
    "    b += vload16(1, p + i);\n"
    "    c += vload16(2, p + i);\n"
    "    d += vload16(3, p + i);\n"
    "  }\n"
    "  a += b + c + d;\n"
    "  float8 s = a.lo + a.hi;\n"
    "  float4 t = s.lo + s.hi;\n"
    "  y[g] = t.x + t.y + t.z + t.w;\n"
    "}\n"
    "__kernel void kf_write(__global float *y, int n) {\n"
    "  const int g = get_global_id(0), end = min(PIECE, n - g * PIECE);\n"
    "  __global float *p = y + (size_t)g * PIECE;\n"
    "  const float16 one = (float16)(1.0f);\n"
    "  for (int i = 0; i < end; i += 16) vstore16(one, 0, p + i);\n"
    "}\n"
    "__kernel void kf_zero(__global float *restrict y, int n) {\n"
    "  const int g = get_global_id(0), end = min(PIECE, n - g * PIECE);\n"
    "  __global float *p = y + (size_t)g * PIECE;\n"
    "  for (int i = 0; i < end; i++) p[i] = 0.0f;\n"
    "}\n"
    "__kernel void kf_copy(__global const float *x, __global float *y, int n) {\n"
    "  const int g = get_global_id(0), end = min(PIECE, n - g * PIECE);\n"
    "  __global const float *p = x + (size_t)g * PIECE;\n"
    "  __global float *q = y + (size_t)g * PIECE;\n"
    "  for (int i = 0; i < end; i += 16) vstore16(vload16(0, p + i), 0, q + i);\n"
    "}\n"
    "__kernel void kf_plain(__global const float *restrict x, __global float *restrict y, int n) {\n"
    "  const int g = get_global_id(0), end = min(PIECE, n - g * PIECE);\n"
    "  __global const float *p = x + (size_t)g * PIECE;\n"
    "  __global float *q = y + (size_t)g * PIECE;\n"
    "  for (int i = 0; i < end; i++) q[i] = p[i];\n"
    "}\n"
    "#define MADD(NAME, T, STORE)                                                      \\\n"
    "  __kernel void NAME(__global const float *x, __global float *y) {                \\\n"
    "    const T m = (T)(x[0]), k = (T)(x[1]);                                         \\\n"
    "    T a = k, b = k + 1.0f, c = k + 2.0f, d = k + 3.0f, e = k + 4.0f;              \\\n"
    "    T f = k + 5.0f, g = k + 6.0f, h = k + 7.0f, i = k + 8.0f, j = k + 9.0f;       \\\n"
    "    for (int r = 0; r < 16384; r++) {                                             \\\n"
    "      a = a * m + k; b = b * m + k; c = c * m + k; d = d * m + k; e = e * m + k;  \\\n"
    "      f = f * m + k; g = g * m + k; h = h * m + k; i = i * m + k; j = j * m + k;  \\\n"
    "    }                                                                             \\\n"
    "    STORE(a + b + c + d + e + f + g + h + i + j, get_global_id(0), y);    \\\n"
    "  }\n"
    "MADD(kf_madd8, float8, vstore8)\n"
    "MADD(kf_madd16, float16, vstore16)\n"
    "__kernel void kf_empty(__global float *y) { }\n";

static bool find_source(void *context, const kf_hash *hash, const char **ret_bytes, size_t *ret_len) {
  (void)context;
  (void)hash; /* there is one file */
  *ret_bytes = source;
  *ret_len = sizeof source - 1;
  return true;
}

/* Twice the last-level cache, within bounds: what measure.flush_max_mib flushes for a candidate. */
static int64_t buffer_floats(const kf_device_info *device) {
  int64_t mib = 2 * device->llc_bytes / MIB;
  if (mib < BUFFER_MIB_MIN) mib = BUFFER_MIB_MIN;
  if (mib > BUFFER_MIB_MAX || device->llc_bytes <= 0) mib = BUFFER_MIB_MAX;
  return mib * MIB / (int64_t)sizeof(float);
}

kf_status kf_ceiling_task(const kf_device_info *device, kf_task **ret_task, kf_err *err) {
  KF_CLEANUP(kf_json_freep) json_t *json = NULL;
  const json_int_t n = buffer_floats(device);
  kf_hash hash;
  char hex[KF_HASH_HEX];
  kf_hash_bytes(source, sizeof source - 1, &hash);
  kf_hash_hex(&hash, hex);
  json_t *cases = json_array();
  for (int what = 0; cases != NULL && what < PROBES; what++)
    if (json_array_append_new(cases, json_pack("{s:i}", "what", what)) != 0) {
      json_decref(cases);
      cases = NULL;
    }
  KF_TRY(kf_json_pack(&json, err,
                      "{s:{s:s, s:[s], s:[{s:s, s:i, s:i, s:i, s:i}, {s:s, s:I, s:I, s:I, s:i}],"
                      " s:[{s:s, s:s, s:s, s:[s], s:s}, {s:s, s:s, s:s, s:[s]}],"
                      " s:{s:s}, s:s, s:{s:o}, s:{s:[{s:i}]}}, s:{s:s}}",
                      "task", "name", "kf_ceilings", "language", "opencl", /* */
                      "symbols", "name", "what", "default", 0, "min", 0, "max", PROBES - 1, "multiple_of", 1,
                      "name", "n", "default", n, "min", n, "max", n, "multiple_of", PIECE_FLOATS, /* */
                      "args", "name", "x", "role", "in", "type", "f32", "shape", "n", "fill", "normal",
                      "name", "y", "role", "out", "type", "f32", "shape", "n", /* */
                      "kernel", "opencl", "probe.cl", "reference", "kernel", "check", "cases", cases,
                      "measure", "cases", "what", 0, "files", "probe.cl", hex));
  return kf_task_from_json(json, find_source, NULL, ret_task, err);
}

/* ---- measuring ---- */

typedef struct {
  const kf_ceiling_request *request;
  kf_runner *runner;
  int64_t deadline_ns;
  int64_t best_ns[PROBES]; /* of one call; 0: not measured */
} session;

/* The child is ours, but so are failures of it. */
static kf_status need_ok(const kf_run_result *run, kf_err *err) {
  return run->code == KF_RUN_OK ? KF_OK
                                : kf_fail(err, KF_EIO, "measuring the device's ceilings: %s", run->text);
}

static kf_status timed_call(session *s, unsigned calls, int64_t *ret_ns, kf_err *err) {
  kf_run_times times;
  kf_run_result run;
  KF_TRY(kf_runner_run(s->runner, calls, 0, &times, &run, err));
  *ret_ns = times.wall_ns;
  return need_ok(&run, err);
}

static kf_status median_ns(session *s, unsigned calls, int count, int64_t *ret_ns, kf_err *err) {
  int64_t values[EMPTY_LAUNCHES];
  for (int i = 0; i < count; i++)
    KF_TRY(timed_call(s, calls, &values[i], err));
  *ret_ns = kf_median_i64(values, count);
  return KF_OK;
}

/* A launch lasts about as long as a request, so both are medians here; not below one nanosecond. */
static kf_status measure_launch(session *s, int64_t *ret_ns, kf_err *err) {
  int64_t empty = 0, launch = 0;
  KF_TRY(median_ns(s, 0, EMPTY_LAUNCHES, &empty, err));
  KF_TRY(median_ns(s, 1, EMPTY_LAUNCHES, &launch, err));
  *ret_ns = launch > empty ? launch - empty : 1;
  return KF_OK;
}

/* Did the kernel do what its time is taken for? A ceiling from work that was left out would condemn honest
 * kernels. */
static kf_status check_work(probe what, const kf_rig *rig, kf_err *err) {
  const kf_inputs *inputs = rig->inputs;
  const float *x = kf_region_data(inputs->region, inputs->slot[0]);
  const float *y = kf_rig_data(rig, kf_rig_buffer_of_arg(rig, 1));
  const int64_t n = inputs->elements[1];
  bool right = true;
  if (what == READ) /* the pieces hold one value: their sums are exact to a few ulps of a long sum */
    for (int64_t g = 0; g < n / PIECE_FLOATS; g++)
      right = right && fabs((double)y[g] / ((double)x[0] * PIECE_FLOATS) - 1) < 1e-3;
  if (what == WRITE) right = y[0] == 1.0f && y[n - 1] == 1.0f;
  if (what == WRITE_ZERO) right = y[0] == 0.0f && y[n - 1] == 0.0f;
  if (what == COPY || what == COPY_PLAIN) right = memcmp(x, y, sizeof(float) * (size_t)n) == 0;
  if (what == MADD_8 || what == MADD_16) right = isfinite(y[0]) && y[0] > 0;
  return right ? KF_OK
               : kf_fail(err, KF_EIO, "measuring the device's ceilings: kernel %d gave a wrong result", what);
}

static kf_status measure(session *s, probe what, kf_rig *rig, kf_err *err) {
  kf_run_result run;
  int64_t empty = 0, best = s->best_ns[what] ? s->best_ns[what] : INT64_MAX,
          until = kf_now_ns() + CALL_BUDGET_MS * INT64_C(1000000);
  KF_TRY(kf_rig_attach(rig, s->runner, &run, err));
  KF_TRY(need_ok(&run, err));
  if (what == EMPTY) return measure_launch(s, &s->best_ns[EMPTY], err);
  KF_TRY(median_ns(s, 0, EMPTY_REQUESTS, &empty, err));
  /* The first call touches the pages. */
  for (int i = 0; i <= CALLS_MAX && (i < 3 || kf_now_ns() < until); i++) {
    int64_t ns = 0;
    KF_TRY(timed_call(s, 1, &ns, err));
    ns -= empty;
    if (i > 0 && ns > 0 && ns < best) best = ns;
  }
  KF_TRY(kf_runner_stop(s->runner, err));
  KF_TRY(check_work(what, rig, err));
  KF_TRY(kf_runner_resume(s->runner, err));
  if (best < INT64_MAX) s->best_ns[what] = best;
  return KF_OK;
}

/* One pair of buffers serves every kernel: all cases have the same shapes. Twice over, so that a disturbance
 * does not hit all calls of one kernel. */
static kf_status measure_all(session *s, kf_inputs *inputs, kf_err *err) {
  const kf_ceiling_request *request = s->request;
  kf_rig *rig = NULL;
  kf_status status = KF_OK;
  /* 0.747 in every element: finite, and a multiplier below one for the chains of multiply-adds. */
  memset(kf_region_data(inputs->region, inputs->slot[0]), 0x3f, (size_t)inputs->elements[0] * sizeof(float));
  KF_TRY(kf_rig_new(inputs, request->calls[0], request->device->base_align, &rig, err));
  for (int i = 0; i < ROUNDS * PROBES && status == KF_OK; i++) {
    if (i >= PROBES && kf_now_ns() > s->deadline_ns) break; /* once is enough on a busy machine */
    rig->calls = request->calls[i % PROBES];
    status = measure(s, (probe)(i % PROBES), rig, err);
  }
  kf_rig_free(rig);
  return status;
}

/* `amount` a nanosecond in the faster of two ways; 0: neither was measured. */
static double best_rate(const session *s, probe a, double amount_a, probe b, double amount_b) {
  double rate_a = s->best_ns[a] ? amount_a / (double)s->best_ns[a] : 0;
  double rate_b = s->best_ns[b] ? amount_b / (double)s->best_ns[b] : 0;
  return rate_a > rate_b ? rate_a : rate_b;
}

static void conclude(const session *s, double bytes, kf_ceilings *ret_ceilings) {
  const kf_calls *const *calls = s->request->calls;
  double flops[2];
  for (int i = 0; i < 2; i++)
    flops[i] = (double)calls[MADD_8 + i]->steps[0].global[0] * (i ? 16.0 : 8.0) * CHAINS * ITERATIONS * 2.0;
  kf_ceilings c = {.read_gbs = best_rate(s, READ, bytes, READ, bytes),
                   .write_gbs = best_rate(s, WRITE, bytes, WRITE_ZERO, bytes),
                   .copy_gbs = best_rate(s, COPY, 2 * bytes, COPY_PLAIN, 2 * bytes),
                   .gflops = best_rate(s, MADD_8, flops[0], MADD_16, flops[1]),
                   .launch_ns = s->best_ns[EMPTY]};
  c.known = c.read_gbs > 0 && c.write_gbs > 0 && c.copy_gbs > 0 && c.gflops > 0 && c.launch_ns > 0;
  *ret_ceilings = c;
}

kf_status kf_ceilings_measure(const kf_ceiling_request *request, kf_ceilings *ret_ceilings, kf_err *err) {
  session s = {.request = request, .deadline_ns = kf_now_ns() + request->limit_ms * INT64_C(1000000)};
  kf_runner_options options = {.device_id = request->device->id,
                               .work_dir = request->work_dir,
                               .memory_bytes = request->memory_bytes,
                               .call_timeout_ms = request->call_timeout_ms};
  kf_inputs *inputs = NULL;
  kf_run_result run;
  kf_status status = KF_OK;
  KF_GO(kf_runner_start(&options, &s.runner, err));
  KF_GO(kf_inputs_new(request->task, request->task->check[0].values, request->device->base_align, &inputs,
                      err));
  KF_GO(kf_runner_load(s.runner, request->artefact, request->artefact_len, NULL, &run, err));
  KF_GO(need_ok(&run, err));
  KF_GO(measure_all(&s, inputs, err));
  conclude(&s, (double)inputs->elements[0] * sizeof(float), ret_ceilings);
out:
  kf_runner_free(s.runner);
  kf_inputs_free(inputs);
  return status;
}
