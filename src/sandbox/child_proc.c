/* child_proc.c - what the kernel tells about processes in /proc: parents, memory, waiting for a core. */
#include "sandbox/child_internal.h"

#include "base/alloc.h"
#include "base/vec.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

/* Reads a small /proc file; returns its length, -1 if it is gone. */
static ssize_t read_small(const char *path, char *text, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t len = 0;
  while (len + 1 < room) {
    ssize_t got = read(fd, text + len, room - 1 - len);
    if (got <= 0) break;
    len += (size_t)got;
  }
  close(fd);
  text[len] = '\0';
  return (ssize_t)len;
}

static bool parse_stat(pid_t pid, pid_t *ret_parent, pid_t *ret_group) {
  char path[48], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  if (read_small(path, text, sizeof text) <= 0) return false;
  /* The name is in parentheses and may hold anything, so the fields are read behind the last one. */
  const char *fields = strrchr(text, ')');
  char state;
  int parent, group;
  if (!fields || sscanf(fields + 1, " %c %d %d", &state, &parent, &group) != 3) return false;
  *ret_parent = parent;
  *ret_group = group;
  return true;
}

void kf__proc_each(void (*visit)(pid_t pid, pid_t parent, pid_t group, void *context), void *context) {
  DIR *dir = opendir("/proc");
  if (!dir) return;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), parent = 0, group = 0;
    if (parse_stat(pid, &parent, &group)) visit(pid, parent, group, context);
  }
  closedir(dir);
}

typedef struct {
  pid_t pid, parent;
  bool taken;
} link_pair;
typedef struct {
  KF_VEC(link_pair) links;
  KF_VEC(pid_t) found;
  pid_t root;
  kf_status status;
} link_table;

static void add_link(pid_t pid, pid_t parent, pid_t group, void *context) {
  link_table *table = context;
  if (table->status != KF_OK || pid == table->root) return;
  bool taken = group == table->root;
  table->status = kf_vec_push(&table->links, (link_pair){pid, parent, taken});
  if (table->status == KF_OK && taken) table->status = kf_vec_push(&table->found, pid);
}

static int by_parent(const void *a, const void *b) {
  pid_t left = ((const link_pair *)a)->parent, right = ((const link_pair *)b)->parent;
  return left < right ? -1 : left > right;
}

static size_t first_below(const link_table *table, pid_t parent) {
  size_t low = 0, high = table->links.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (table->links.items[middle].parent < parent)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The links are sorted by parent. Each is taken once: reading /proc is no snapshot, so they may form a ring.
 */
static void take_children(link_table *table, pid_t parent) {
  for (size_t i = first_below(table, parent);
       table->status == KF_OK && i < table->links.count && table->links.items[i].parent == parent; i++) {
    link_pair *link = &table->links.items[i];
    if (link->taken) continue;
    link->taken = true;
    table->status = kf_vec_push(&table->found, link->pid);
  }
}

kf_status kf__proc_descendants(pid_t root, kf__pid_list *ret_list, kf_err *err) {
  link_table table = {.root = root, .status = KF_OK};
  kf__proc_each(add_link, &table);
  if (table.links.count > 0)
    qsort(table.links.items, table.links.count, sizeof *table.links.items, by_parent);
  take_children(&table, root);
  for (size_t i = 0; i < table.found.count; i++)
    take_children(&table, table.found.items[i]);
  kf_vec_done(&table.links);
  if (table.status != KF_OK) {
    kf_vec_done(&table.found);
    return kf_nomem(err);
  }
  ret_list->pids = table.found.items;
  ret_list->count = (int)table.found.count;
  return KF_OK;
}

void kf__proc_each_thread(pid_t pid, void (*visit)(pid_t tid)) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *dir = opendir(path);
  if (!dir) return;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
    if (isdigit((unsigned char)entry->d_name[0])) visit((pid_t)strtol(entry->d_name, NULL, 10));
  closedir(dir);
}

int64_t kf__proc_rss_bytes(pid_t pid) {
  char path[48], text[128];
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  long long total, resident;
  if (read_small(path, text, sizeof text) <= 0 || sscanf(text, "%lld %lld", &total, &resident) != 2)
    return -1;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t kf__proc_pss_bytes(pid_t pid) {
  static const char key[] = "\nPss:";
  char path[48], text[2048];
  snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
  const char *line = read_small(path, text, sizeof text) > 0 ? strstr(text, key) : NULL;
  return line ? strtoll(line + sizeof key - 1, NULL, 10) * 1024 : -1;
}

uint64_t kf__proc_oom_kills(void) {
  static const char key[] = "\noom_kill ";
  char text[16384];
  if (read_small("/proc/vmstat", text, sizeof text) <= 0) return 0;
  const char *line = strstr(text, key);
  return line ? strtoull(line + sizeof key - 1, NULL, 10) : 0;
}

/* schedstat: time on a core, time ready but waiting, number of turns. */
int64_t kf_child_starved_ns(const kf_child *child) {
  int64_t longest = 0;
  char path[96], text[256];
  snprintf(path, sizeof path, "/proc/%d/task", (int)child->pid);
  DIR *dir = child->ended ? NULL : opendir(path);
  if (!dir) return 0;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    long long ran = 0, waited = 0;
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int)child->pid, entry->d_name);
    if (read_small(path, text, sizeof text) > 0 && sscanf(text, "%lld %lld", &ran, &waited) == 2 &&
        waited > longest)
      longest = waited;
  }
  closedir(dir);
  return longest;
}
