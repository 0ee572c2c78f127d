/* cmd_doctor.c - `kf doctor`: what works on this machine, what is missing, and the package that brings it. */
#include "cli/cli.h"
#include "cli/judge.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "report/row.h"
#include "report/table.h"
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/banned.h"

static const char *const usages[] = {"", NULL};
const kf_syntax kf_cmd_doctor_syntax = {
    .usages = usages,
    .about = "Asks the evaluator for its devices and looks for what kf uses on this machine: OpenCL, a C "
             "compiler,\n"
             "libclang, sandbox layers, room on the disk. For each thing that is missing it says which "
             "package brings it.",
    .exits = "0 a device works, 4 none does",
    .common = KF_COMMON_RUNS,
};

typedef enum { FINDING_OK, FINDING_WARNING, FINDING_MISSING } finding_state;

typedef struct {
  const char *what;
  finding_state state;
  char detail[400], fix[240];
} finding;

enum { FINDINGS_MAX = 16, ROOM_WANTED_MIB = 1024 };

typedef struct {
  finding items[FINDINGS_MAX];
  int count;
} findings;

static finding *add(findings *list, const char *what, finding_state state) {
  finding *f = &list->items[list->count++];
  *f = (finding){.what = what, .state = state};
  return f;
}

/* ---- looking ---- */

/* Number of OpenCL drivers registered with the loader. The variable names a folder, or one driver. */
static int count_icds(void) {
  const char *named = getenv("OCL_ICD_VENDORS");
  if (named != NULL && named[0] != '\0' && !kf_fs_is_dir(named)) return kf_fs_exists(named) ? 1 : 0;
  DIR *handle = opendir(named != NULL && named[0] != '\0' ? named : "/etc/OpenCL/vendors");
  if (handle == NULL) return 0;
  int count = 0;
  for (struct dirent *entry = readdir(handle); entry != NULL; entry = readdir(handle)) {
    size_t len = strlen(entry->d_name);
    count += len > 4 && strcmp(entry->d_name + len - 4, ".icd") == 0;
  }
  closedir(handle);
  return count;
}

static bool find_program(const char *name, char ret_path[KF_PATH_MAX]) {
  const char *at = getenv("PATH");
  if (at == NULL) at = "/usr/local/bin:/usr/bin:/bin";
  while (*at != '\0') {
    size_t len = strcspn(at, ":");
    int n = snprintf(ret_path, KF_PATH_MAX, "%.*s/%s", (int)len, at, name);
    if (n > 0 && n < KF_PATH_MAX && access(ret_path, X_OK) == 0) return true;
    at += len + (at[len] == ':');
  }
  return false;
}

static int count_judged(const kf_device_info *devices, int count) {
  int judged = 0;
  for (int i = 0; i < count; i++)
    judged += kf_device_is_judged_on(&devices[i]);
  return judged;
}

static void look_at_opencl(findings *list, const kf_device_info *all, int count, const char *note) {
  int drivers = count_icds(), devices = 0, judged = 0;
  for (int i = 0; i < count; i++) {
    if (kf_device_language(&all[i]) != KF_LANG_OPENCL) continue;
    devices++;
    judged += kf_device_is_judged_on(&all[i]);
  }
  if (devices > 0 && judged == 0) {
    finding *f = add(list, "opencl", FINDING_MISSING);
    snprintf(f->detail, sizeof f->detail,
             "%d device%s, none of them a CPU: this version judges on CPU devices only", devices,
             devices == 1 ? "" : "s");
    snprintf(f->fix, sizeof f->fix, "apt-get install pocl-opencl-icd (the CPU as a device)");
    return;
  }
  if (devices > 0) {
    snprintf(add(list, "opencl", FINDING_OK)->detail, sizeof list->items[0].detail,
             "%d device%s, %d driver%s registered", devices, devices == 1 ? "" : "s", drivers,
             drivers == 1 ? "" : "s");
    return;
  }
  finding *f = add(list, "opencl", FINDING_MISSING);
  const char *why = drivers == 0      ? "no OpenCL driver is registered"
                    : note[0] != '\0' ? note
                                      : "the registered drivers offer none";
  snprintf(f->detail, sizeof f->detail, "no device: %.300s", why);
  snprintf(f->fix, sizeof f->fix, "%s",
           "apt-get install ocl-icd-libopencl1 pocl-opencl-icd (the CPU as a device), or your GPU's driver");
}

static void look_at_compiler(findings *list) {
  char path[KF_PATH_MAX];
  static const char *const names[] = {"cc", "gcc", "clang"};
  const char *named = getenv("KF_CC");
  if (named != NULL && named[0] == '/') {
    bool there = access(named, X_OK) == 0;
    finding *f = add(list, "C compiler", there ? FINDING_OK : FINDING_MISSING);
    snprintf(f->detail, sizeof f->detail, "%.300s (KF_CC)%s", named, there ? "" : " is not there");
    if (!there) snprintf(f->fix, sizeof f->fix, "set KF_CC to a compiler, or unset it");
    return;
  }
  for (size_t i = 0; i < KF_COUNTOF(names); i++)
    if (find_program(names[i], path)) {
      snprintf(add(list, "C compiler", FINDING_OK)->detail, sizeof list->items[0].detail, "%.300s", path);
      return;
    }
  finding *f = add(list, "C compiler", FINDING_MISSING);
  snprintf(f->detail, sizeof f->detail, "no cc in PATH: references and kernels in C cannot be built");
  snprintf(f->fix, sizeof f->fix, "apt-get install gcc libc6-dev");
}

/* The evaluator opens libclang by name when it first needs it, in a sandboxed child; here it is only looked
 * for. */
static bool find_libclang(char ret_path[KF_PATH_MAX]) {
  static const char *const patterns[] = {
      "/usr/lib/*/libclang-[0-9]*.so.*", "/usr/lib/llvm-*/lib/libclang*.so*",
      "/usr/lib64/libclang.so.*",        "/usr/local/lib/libclang.so*",
      "/usr/lib/libclang.so*",
  };
  const char *named = getenv("KF_LIBCLANG");
  if (named != NULL && named[0] != '\0') {
    snprintf(ret_path, KF_PATH_MAX, "%s", named);
    return kf_fs_exists(named);
  }
  for (size_t i = 0; i < KF_COUNTOF(patterns); i++) {
    glob_t found = {0};
    bool any = glob(patterns[i], 0, NULL, &found) == 0 && found.gl_pathc > 0;
    if (any) snprintf(ret_path, KF_PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    if (any) return true;
  }
  return false;
}

static void look_at_libclang(findings *list) {
  char path[KF_PATH_MAX];
  if (find_libclang(path)) {
    snprintf(add(list, "libclang", FINDING_OK)->detail, sizeof list->items[0].detail, "%.300s", path);
    return;
  }
  finding *f = add(list, "libclang", FINDING_WARNING);
  snprintf(f->detail, sizeof f->detail,
           "not found: kernels are not classified, so the archive has one cell only");
  snprintf(f->fix, sizeof f->fix, "apt-get install libclang1, or name the library in KF_LIBCLANG");
}

static void look_at_sandbox(findings *list, const kf_evaluator *evaluator) {
  const char *sandbox = kf_evaluator_hello_text(evaluator, "sandbox");
  bool whole = strstr(sandbox, "seccomp") != NULL && strstr(sandbox, "landlock") != NULL;
  finding *f = add(list, "sandbox",
                   sandbox[0] == '\0' ? FINDING_MISSING
                   : whole            ? FINDING_OK
                                      : FINDING_WARNING);
  const char *upper = kf_evaluator_hello_text(evaluator, "upper");
  bool none = strncmp(upper, "none", 4) == 0;
  snprintf(f->detail, sizeof f->detail, "%.150s; upper layer: %.150s%s",
           sandbox[0] != '\0' ? sandbox : "no base layer is offered by this kernel",
           upper[0] != '\0' ? upper : "not said by this evaluator", none ? "; the base layer applies" : "");
  if (!whole)
    snprintf(f->fix, sizeof f->fix,
             "a kernel with seccomp and Landlock (5.13 or newer) encloses candidates better");
}

static void look_at_room(findings *list, const char *what, const char *path) {
  char dir[KF_PATH_MAX];
  snprintf(dir, sizeof dir, "%s", path);
  while (!kf_fs_is_dir(dir)) { /* a folder that will be made needs room where it will be */
    char *slash = strrchr(dir, '/');
    if (slash == NULL || slash == dir) {
      snprintf(dir, sizeof dir, "%s", slash == NULL ? "." : "/");
      break;
    }
    *slash = '\0';
  }
  struct statvfs fs;
  if (statvfs(dir, &fs) != 0 || access(dir, W_OK) != 0) {
    finding *f = add(list, what, FINDING_MISSING);
    snprintf(f->detail, sizeof f->detail, "%.300s: %s", dir, strerror(errno));
    snprintf(f->fix, sizeof f->fix, "work in a folder that may be written, or set TMPDIR");
    return;
  }
  int64_t room = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
  bool enough = room >= (int64_t)ROOM_WANTED_MIB << 20;
  finding *f = add(list, what, enough ? FINDING_OK : FINDING_WARNING);
  char bytes[KF_FIGURE_TEXT];
  snprintf(f->detail, sizeof f->detail, "%.300s: %s free", path, kf_figure_bytes(room, bytes));
  if (!enough)
    snprintf(f->fix, sizeof f->fix, "make room: runs and build caches take up to %d MiB", ROOM_WANTED_MIB);
}

/* ---- saying ---- */

static const char *state_name(finding_state state) {
  return state == FINDING_OK ? "ok" : state == FINDING_WARNING ? "warning" : "missing";
}

static kf_status put_devices(const kf_device_info *devices, int count, kf_buf *buf, kf_err *err) {
  static const char *const heads[] = {"device", "name", "driver", "units", "local", "memory", "notes"};
  KF_CLEANUP(kf_table_done) kf_table table;
  kf_table_init(&table, heads, (int)KF_COUNTOF(heads), 1u << 3 | 1u << 4 | 1u << 5);
  for (int i = 0; i < count; i++) {
    const kf_device_info *d = &devices[i];
    char local[KF_FIGURE_TEXT], memory[KF_FIGURE_TEXT];
    KF_TRY(kf_table_cell(&table, err, "%s", d->id));
    KF_TRY(kf_table_cell(&table, err, "%s", d->name));
    KF_TRY(kf_table_cell(&table, err, "%s", d->driver));
    KF_TRY(kf_table_cell(&table, err, "%lld", (long long)d->limits.units));
    KF_TRY(kf_table_cell(&table, err, "%s", kf_figure_bytes(d->limits.local_bytes, local)));
    KF_TRY(kf_table_cell(&table, err, "%s", kf_figure_bytes(d->memory_bytes, memory)));
    KF_TRY(kf_table_cell(&table, err, "%s%s", d->extensions_note,
                         kf_device_is_judged_on(d) ? "" : "; seen, not judged on by this version"));
  }
  if (count == 0) return KF_OK;
  KF_TRY(kf_table_write(&table, buf, err));
  return kf_buf_puts(buf, "\n", err);
}

static kf_status print_text(const findings *list, const kf_device_info *devices, int ndevices, kf_err *err) {
  static const char *const heads[] = {"check", "state", "found"};
  KF_CLEANUP(kf_buf_done) kf_buf buf;
  KF_CLEANUP(kf_table_done) kf_table table;
  kf_buf_init(&buf, KF_OUTPUT_MAX);
  kf_table_init(&table, heads, (int)KF_COUNTOF(heads), 0);
  KF_TRY(put_devices(devices, ndevices, &buf, err));
  for (int i = 0; i < list->count; i++) {
    const finding *f = &list->items[i];
    KF_TRY(kf_table_cell(&table, err, "%s", f->what));
    KF_TRY(kf_table_cell(&table, err, "%s", state_name(f->state)));
    KF_TRY(kf_table_cell(&table, err, "%s", f->detail));
    if (f->fix[0] == '\0') continue;
    KF_TRY(kf_table_cell(&table, err, "%s", ""));
    KF_TRY(kf_table_cell(&table, err, "%s", ""));
    KF_TRY(kf_table_cell(&table, err, "-> %s", f->fix));
  }
  KF_TRY(kf_table_write(&table, &buf, err));
  KF_TRY(kf_buf_printf(&buf, err, "\n%s\n",
                       count_judged(devices, ndevices) > 0 ? "kf can search on this machine: kf run TASK"
                                                           : "no device works here"));
  return kf_out_buf(&buf, err);
}

static json_t *checks_json(const findings *list) {
  json_t *checks = json_array();
  for (int i = 0; checks != NULL && i < list->count; i++) {
    const finding *f = &list->items[i];
    kf_row row;
    kf_row_begin(&row);
    kf_row_text(&row, "check", f->what);
    kf_row_text(&row, "state", state_name(f->state));
    kf_row_text(&row, "found", f->detail);
    kf_row_text(&row, "fix", f->fix);
    json_t *object = kf_row_take(&row);
    if (object != NULL && json_array_append_new(checks, object) == 0) continue;
    json_decref(checks);
    return NULL;
  }
  return checks;
}

static json_t *devices_json(const kf_device_info *devices, int count) {
  json_t *all = json_array();
  for (int i = 0; all != NULL && i < count; i++) {
    json_t *object = NULL;
    if (kf_device_to_json(&devices[i], &object, NULL) == KF_OK &&
        json_object_set_new(object, "judged_on", json_boolean(kf_device_is_judged_on(&devices[i]))) == 0 &&
        json_array_append(all, object) == 0) {
      json_decref(object);
      continue;
    }
    json_decref(object);
    json_decref(all);
    return NULL;
  }
  return all;
}

static kf_status print_json(const findings *list, const kf_device_info *devices, int ndevices, kf_err *err) {
  kf_row row;
  kf_row_begin(&row);
  kf_row_bool(&row, "works", count_judged(devices, ndevices) > 0);
  kf_row_text(&row, "version", KF_VERSION);
  kf_row_value(&row, "devices", devices_json(devices, ndevices));
  kf_row_value(&row, "checks", checks_json(list));
  return kf_out_json(kf_row_take(&row), err);
}

/* An evaluator that cannot be started is a finding, not the end of the examination. */
static kf_judge *start_evaluator(const kf_cli *cli, findings *list) {
  kf_err err = {0};
  kf_judge *judge = NULL;
  char path[KF_PATH_MAX];
  if (kf_evaluator_path(path, &err) == KF_OK && kf_judge_open(&cli->settings, &judge, &err) == KF_OK) {
    finding *f = add(list, "evaluator", FINDING_OK);
    snprintf(f->detail, sizeof f->detail, "%.300s, version %.60s", path,
             kf_evaluator_hello_text(kf_judge_evaluator(judge), "version"));
    return judge;
  }
  finding *f = add(list, "evaluator", FINDING_MISSING);
  snprintf(f->detail, sizeof f->detail, "%.390s", err.msg);
  snprintf(f->fix, sizeof f->fix, "%.230s", err.hint);
  return NULL;
}

kf_status kf_cmd_doctor(kf_cli *cli, const void *args, kf_err *err) {
  (void)args;
  findings list = {.count = 0};
  kf_judge *judge = start_evaluator(cli, &list);
  int ndevices = 0;
  const kf_device_info *devices =
      judge != NULL ? kf_evaluator_devices(kf_judge_evaluator(judge), &ndevices) : NULL;
  int judged = count_judged(devices, ndevices);
  if (judge != NULL) {
    look_at_opencl(&list, devices, ndevices, kf_evaluator_hello_text(kf_judge_evaluator(judge), "note"));
    look_at_sandbox(&list, kf_judge_evaluator(judge));
  }
  look_at_libclang(&list);
  look_at_compiler(&list);
  look_at_room(&list, "runs", cli->common.runs);
  const char *tmp = getenv("TMPDIR");
  look_at_room(&list, "scratch", tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
  kf_status status = cli->common.json ? print_json(&list, devices, ndevices, err)
                                      : print_text(&list, devices, ndevices, err);
  kf_judge_free(judge);
  cli->exit_code = judged > 0 ? 0 : kf_status_exit_code(KF_ENODEV);
  return status;
}
