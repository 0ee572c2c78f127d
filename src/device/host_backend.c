/* host_backend.c - the host form in C behind backend.h: a shared object whose kf_run does one call on the
 * mapped memory (docs/formats/host-form.md). No driver; "compile" runs the system's compiler, which the
 * builder's sandbox allows and the runner's does not. */
#include "device/backend_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "device/host_asm.h"
#include "device/host_cc.h"
#include "device/host_object.h"
#include <dlfcn.h>
#include <errno.h>
#include <kf_call.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOURCE_FILE "kernel.c"
#define ASSEMBLY_FILE "kernel.s"
#define OBJECT_FILE "kernel.so"
#define HEADER_FILE "kf_call.h"

_Static_assert((int)KF_CALL_F64 == (int)KF_TYPE_F64 && (int)KF_CALL_E5M2 == (int)KF_TYPE_E5M2 &&
                   (int)KF_CALL_I8 == (int)KF_TYPE_I8 && (int)KF_CALL_U8 == (int)KF_TYPE_U8 &&
                   (int)KF_CALL_BOOL == (int)KF_TYPE_BOOL && (int)KF_CALL_BOOL + 1 == (int)KF_TYPE_COUNT,
               "the numbers of types are part of the interface");
_Static_assert((int)KF_CALL_IN == (int)KF_ROLE_IN && (int)KF_CALL_SCALAR == (int)KF_ROLE_SCALAR,
               "the numbers of roles are part of the interface");

/* All that a call shows to the candidate, in one piece: it gets a fresh copy each time, since it could write
 * into it. */
typedef struct {
  kf_call call;
  kf_arg args[KF_ARGS_MAX];
  int64_t shapes[KF_ARGS_MAX][KF_RANK_MAX], symbols[KF_SYMBOLS_MAX];
  uint8_t values[KF_ARGS_MAX][16];
} call_frame;

typedef int (*run_fn)(const kf_call *call);
typedef uint64_t (*workspace_fn)(const kf_call *call);

typedef struct {
  kf_backend base;
  int object_fd; /* memfd made before the filter: the object is loaded from it */
  void *openmp;  /* kept for the life of the process; NULL: the machine has none */
  void *data[KF_ARGS_MAX + KF_TEMPS_MAX];
  size_t bytes[KF_ARGS_MAX + KF_TEMPS_MAX];
  int nbuffers;
  run_fn run; /* of the prepared program */
  call_frame prepared, scratch;
} host_backend;

typedef struct {
  kf_program base;
  char *object;
  size_t len;
  void *handle; /* NULL: not loaded */
  run_fn run;
  workspace_fn workspace; /* NULL: not exported */
  kf_host_facts facts;    /* of a compiled one */
} host_program;

static void host_close(kf_backend *base) {
  host_backend *backend = (host_backend *)base;
  if (backend->object_fd >= 0) close(backend->object_fd);
  kf_free(backend);
}

static kf_status host_open(const char *device_id, kf_backend **ret_backend, kf_err *err) {
  if (strcmp(device_id, "cpu:0") != 0)
    return kf_err_hint(err, kf_fail(err, KF_ENODEV, "device \"%.60s\": there is one CPU", device_id),
                       "cpu:0");
  host_backend *backend = kf_calloc(1, sizeof *backend);
  if (!backend) return kf_nomem(err);
  backend->base.ops = &kf__host_ops;
  kf__host_describe(&backend->base.info);
  backend->object_fd = memfd_create("kf-object", MFD_CLOEXEC);
  if (backend->object_fd < 0) {
    kf_free(backend);
    return kf_fail(err, KF_EIO, "cpu: memfd: %s", strerror(errno));
  }
  /* The OpenMP runtime looks at the machine when it is loaded: before the filter it sees all of it. An object
   * that does not use it needs none. */
  backend->openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
  *ret_backend = &backend->base;
  return KF_OK;
}

/* ---- programs ---- */

static void host_program_free(kf_program *base) {
  host_program *program = (host_program *)base;
  if (program->handle) dlclose(program->handle);
  kf_free(program->object);
  kf_free(program);
}

static kf_status new_program(char *take_object, size_t len, kf_program **ret_program, kf_err *err) {
  host_program *program = kf_calloc(1, sizeof *program);
  if (!program) {
    kf_free(take_object);
    return kf_nomem(err);
  }
  program->base.ops = &kf__host_ops;
  program->object = take_object;
  program->len = len;
  *ret_program = &program->base;
  return KF_OK;
}

/* Splits "-DA=1 -DB=2" in place behind the fixed words. */
static kf_status add_options(char *options, char **argv, int count, int max, kf_err *err) {
  for (char *next = options, *word; (word = strsep(&next, " ")) != NULL;) {
    if (*word == '\0') continue;
    if (count + 1 >= max) return kf_fail(err, KF_EREFUSED, "cpu: more than %d compiler options", max);
    argv[count++] = word;
  }
  argv[count] = NULL;
  return KF_OK;
}

enum { WORDS_MAX = 128 };

static kf_status run_compiler(char *compiler, const char *const *fixed, char *options, kf_buf *log,
                              int *ret_code, kf_err *err) {
  char words[32][64], *argv[WORDS_MAX] = {compiler};
  int count = 1;
  for (int i = 0; fixed[i]; i++) {
    snprintf(words[i], sizeof words[i], "%s", fixed[i]);
    argv[count++] = words[i];
  }
  KF_TRY(add_options(options, argv, count, WORDS_MAX, err));
  return kf_host_cc_run(argv, log, ret_code, err);
}

/* To assembly first, which is the evidence of what the kernel is, then to the object. -nostartfiles leaves
 * the object without any code of its own that runs at load; hidden symbols and a System V hash table keep the
 * look at it (host_object.h) simple. */
static kf_status compile_and_link(char *compiler, char *options, kf_buf *log, int *ret_code, kf_err *err) {
  static const char *const compile[] = {
      "-std=gnu17", "-O3", "-march=native", "-fopenmp", "-fPIC",       "-fvisibility=hidden",
      "-I.",        "-S",  SOURCE_FILE,     "-o",       ASSEMBLY_FILE, NULL};
  static const char *const assemble[] = {
      "-fopenmp",    "-shared", "-nostartfiles", "-Wl,-z,relro,-z,now,-z,defs,--hash-style=sysv,--as-needed",
      ASSEMBLY_FILE, "-o",      OBJECT_FILE,     "-lm",
      NULL};
  char none[] = "";
  KF_TRY(run_compiler(compiler, compile, options, log, ret_code, err));
  return *ret_code == 0 ? run_compiler(compiler, assemble, none, log, ret_code, err) : KF_OK;
}

/* In the work folder, which is the current one. */
static kf_status compile_file(const char *source, size_t len, const char *options, kf_buf *log, int *ret_code,
                              kf_err *err) {
  char compiler[KF_PATH_MAX];
  KF_TRY(kf_host_cc_find(compiler, err));
  KF_TRY(kf_fs_write(HEADER_FILE, kf_host_call_header, kf_host_call_header_len, err));
  KF_TRY(kf_fs_write(SOURCE_FILE, source, len, err));
  char *words = kf_strdup(options);
  if (!words) return kf_nomem(err);
  kf_status status = compile_and_link(compiler, words, log, ret_code, err);
  kf_free(words);
  return status;
}

static kf_status read_outputs(kf_program **ret_program, kf_err *err) {
  kf_buf object, assembly;
  kf_buf_init(&object, KF_HOST_OBJECT_MAX);
  kf_buf_init(&assembly, KF_HOST_OBJECT_MAX);
  kf_status status = kf_fs_read(OBJECT_FILE, &object, err);
  if (status == KF_OK) status = kf_fs_read(ASSEMBLY_FILE, &assembly, err);
  size_t len = object.len;
  if (status == KF_OK) status = new_program(kf_buf_take(&object), len, ret_program, err);
  if (status == KF_OK)
    kf_host_asm_read(kf_buf_text(&assembly), assembly.len, &((host_program *)*ret_program)->facts);
  kf_buf_done(&object);
  kf_buf_done(&assembly);
  return status;
}

static kf_status host_compile(kf_backend *base, const char *source, size_t len, const char *options,
                              kf_buf *log, kf_program **ret_program, kf_run_result *ret_result, kf_err *err) {
  (void)base;
  int code = 0;
  KF_TRY(compile_file(source, len, options, log, &code, err));
  if (code == 128 + SIGKILL || code == 127)
    return kf_fail(err, KF_EIO, "cpu: the compiler %s", code == 127 ? "cannot be run" : "was killed");
  if (code != 0) {
    kf__result_set(ret_result, KF_RUN_BUILD_FAILED, code, "cc: exit code %d", code);
    return KF_OK;
  }
  KF_TRY(read_outputs(ret_program, err));
  kf__result_set(ret_result, KF_RUN_OK, 0, "built");
  return KF_OK;
}

/* Loads the object once, if it may be loaded. */
static kf_status load_object(host_backend *backend, host_program *program, kf_run_result *result,
                             kf_err *err) {
  kf_host_object found;
  char path[40];
  if (program->handle) return KF_OK;
  kf_host_object_check(program->object, program->len, &found);
  if (found.why[0]) {
    kf__result_set(result, KF_RUN_REFUSED, 0, "%s", found.why);
    return KF_OK;
  }
  if (ftruncate(backend->object_fd, 0) != 0 || lseek(backend->object_fd, 0, SEEK_SET) != 0)
    return kf_fail(err, KF_EIO, "cpu: the object's memory: %s", strerror(errno));
  KF_TRY(kf_fs_write_fd(backend->object_fd, program->object, program->len, err));
  snprintf(path, sizeof path, "/proc/self/fd/%d", backend->object_fd);
  program->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!program->handle) {
    const char *why = dlerror();
    kf__result_set(result, KF_RUN_LAUNCH_FAILED, 0, "loading the object: %.200s", why ? why : "unknown");
    return KF_OK;
  }
  void *run = dlsym(program->handle, "kf_run");
  void *workspace = found.has_workspace ? dlsym(program->handle, "kf_workspace") : NULL;
  memcpy(&program->run, &run, sizeof run);
  memcpy(&program->workspace, &workspace, sizeof workspace);
  return KF_OK;
}

static kf_status host_load(kf_backend *base, const void *binary, size_t len, kf_program **ret_program,
                           kf_run_result *ret_result, kf_err *err) {
  char *object = kf_memdup(binary, len);
  kf_program *program = NULL;
  if (!object) return kf_nomem(err);
  KF_TRY(new_program(object, len, &program, err));
  kf__result_set(ret_result, KF_RUN_OK, 0, "loaded");
  kf_status status = load_object((host_backend *)base, (host_program *)program, ret_result, err);
  if (status == KF_OK && ret_result->code == KF_RUN_OK)
    *ret_program = program;
  else
    host_program_free(program);
  return status;
}

static kf_status host_save(kf_backend *base, kf_program *program_base, kf_buf *binary, kf_err *err) {
  (void)base;
  const host_program *program = (const host_program *)program_base;
  return kf_buf_append(binary, program->object, program->len, err);
}

const kf_host_facts *kf_program_facts(const kf_program *program) {
  return &((const host_program *)program)->facts;
}

static kf_status host_entries(kf_program *program, kf_entry_info *ret_entries, int max, int *ret_count,
                              kf_err *err) {
  (void)program;
  (void)ret_entries;
  (void)max;
  (void)ret_count;
  return kf_fail(err, KF_EREFUSED, "a kernel of the host form does not say what its arguments are");
}

/* ---- memory, plan, run ---- */

static kf_status host_bind(kf_backend *base, void *const *data, const size_t *bytes, const bool *read_only,
                           int count, kf_run_result *ret_result, kf_err *err) {
  (void)read_only; /* the mapping itself is read-only */
  host_backend *backend = (host_backend *)base;
  if (count < 0 || count > (int)KF_COUNTOF(backend->data))
    return kf_fail(err, KF_EBUG, "cpu: %d buffers", count);
  backend->run = NULL;
  backend->nbuffers = count;
  for (int i = 0; i < count; i++) {
    backend->data[i] = bytes[i] > 0 ? data[i] : NULL;
    backend->bytes[i] = bytes[i];
  }
  kf__result_set(ret_result, KF_RUN_OK, 0, "bound");
  return KF_OK;
}

/* Pointers within a frame hold for that frame only. */
static void link_frame(call_frame *frame, const kf_step *step) {
  for (uint32_t i = 0; i < frame->call.nargs; i++) {
    if (step->args[i].kind == KF_STEP_ARG_BYTES && frame->args[i].bytes > 0)
      frame->args[i].ptr = frame->values[i];
    frame->args[i].shape = frame->args[i].rank > 0 ? frame->shapes[i] : NULL;
  }
  frame->call.args = frame->args;
  frame->call.symbols = frame->symbols;
}

/* `with_memory` false: for kf_workspace, whose pointers are null. */
static void fill_frame(const host_backend *backend, const kf_calls *calls, bool with_memory,
                       call_frame *frame) {
  const kf_host_call *host = calls->host;
  const kf_step *step = &calls->steps[0];
  memset(frame, 0, sizeof *frame);
  frame->call = (kf_call){.abi = KF_CALL_ABI,
                          .struct_bytes = sizeof frame->call,
                          .api = KF_CALL_API_C,
                          .nargs = (uint32_t)host->nargs,
                          .nsymbols = (uint32_t)host->nsymbols,
                          .threads = (uint32_t)backend->base.info.limits.units};
  memcpy(frame->symbols, host->symbols, sizeof frame->symbols);
  for (int i = 0; i < host->nargs; i++) {
    const kf_step_arg *from = &step->args[i];
    kf_arg *arg = &frame->args[i];
    arg->type = (uint32_t)host->args[i].type;
    arg->role = (uint32_t)host->args[i].role;
    arg->rank = (uint32_t)host->args[i].rank;
    memcpy(frame->shapes[i], host->args[i].shape, sizeof frame->shapes[i]);
    if (from->kind == KF_STEP_ARG_BYTES) {
      arg->bytes = from->nbytes;
      memcpy(frame->values[i], from->bytes, sizeof frame->values[i]);
    } else {
      arg->bytes = (uint64_t)calls->buffers[from->buffer].bytes;
      arg->ptr = with_memory ? backend->data[from->buffer] : NULL;
    }
  }
  link_frame(frame, step);
}

static bool buffers_fit(const host_backend *backend, const kf_calls *calls) {
  if (backend->nbuffers != calls->nbuffers) return false;
  for (int i = 0; i < calls->nbuffers; i++)
    if ((uint64_t)calls->buffers[i].bytes != backend->bytes[i]) return false;
  return true;
}

static kf_status host_prepare(kf_backend *base, kf_program *program_base, const kf_calls *calls,
                              kf_run_result *ret_result, kf_err *err) {
  host_backend *backend = (host_backend *)base;
  const host_program *program = (const host_program *)program_base;
  if (!calls->host || calls->nsteps != 1 || !program->run)
    return kf_fail(err, KF_EPROTO, "cpu: no host call");
  if (!buffers_fit(backend, calls)) return kf_fail(err, KF_EPROTO, "cpu: the plan is for other memory");
  fill_frame(backend, calls, true, &backend->prepared);
  for (int i = 0; i < calls->nbuffers; i++) {
    if (!calls->buffers[i].is_temp) continue;
    backend->prepared.call.workspace = backend->data[i];
    backend->prepared.call.workspace_bytes = backend->bytes[i];
  }
  backend->run = program->run;
  kf__result_set(ret_result, KF_RUN_OK, 0, "prepared");
  return KF_OK;
}

/* The copy's own addresses in place of those of the prepared frame. */
static void fresh_frame(host_backend *backend) {
  call_frame *to = &backend->scratch;
  memcpy(to, &backend->prepared, sizeof *to);
  for (uint32_t i = 0; i < to->call.nargs; i++) {
    if (backend->prepared.args[i].ptr == backend->prepared.values[i]) to->args[i].ptr = to->values[i];
    if (to->args[i].rank > 0) to->args[i].shape = to->shapes[i];
  }
  to->call.args = to->args;
  to->call.symbols = to->symbols;
}

static kf_status host_run(kf_backend *base, unsigned repeat, int64_t *ret_ns, kf_run_result *ret_result,
                          kf_err *err) {
  (void)err;
  host_backend *backend = (host_backend *)base;
  int64_t start_ns = kf_now_ns();
  int code = 0;
  for (unsigned k = 0; k < repeat && code == 0; k++) {
    fresh_frame(backend);
    code = backend->run(&backend->scratch.call);
  }
  int64_t ns = kf_now_ns() - start_ns;
  if (code != 0) {
    kf__result_set(ret_result, KF_RUN_LAUNCH_FAILED, code, "kf_run returned %d", code);
    return KF_OK;
  }
  kf__result_set(ret_result, KF_RUN_OK, 0, "ran");
  *ret_ns = ns;
  return KF_OK;
}

static kf_status host_workspace(kf_backend *base, kf_program *program_base, const kf_calls *calls,
                                int64_t *ret_bytes, kf_run_result *ret_result, kf_err *err) {
  host_backend *backend = (host_backend *)base;
  host_program *program = (host_program *)program_base;
  if (!calls->host || calls->nsteps != 1) return kf_fail(err, KF_EPROTO, "cpu: no host call");
  kf__result_set(ret_result, KF_RUN_OK, 0, "asked");
  *ret_bytes = 0;
  KF_TRY(load_object(backend, program, ret_result, err));
  if (ret_result->code != KF_RUN_OK || !program->workspace) return KF_OK;
  fill_frame(backend, calls, false, &backend->scratch);
  uint64_t bytes = program->workspace(&backend->scratch.call);
  *ret_bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
  return KF_OK;
}

const kf_backend_ops kf__host_ops = {.prefix = "cpu:",
                                     .open = host_open,
                                     .close = host_close,
                                     .compile = host_compile,
                                     .load = host_load,
                                     .save = host_save,
                                     .program_free = host_program_free,
                                     .entries = host_entries,
                                     .bind = host_bind,
                                     .prepare = host_prepare,
                                     .run = host_run,
                                     .workspace = host_workspace};
