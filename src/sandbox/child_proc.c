/* child_proc.c - what the kernel tells about processes in /proc: parents, memory, context switches. */
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
} link_pair;
typedef struct {
  KF_VEC(link_pair) links;
  kf_status status;
} link_table;

static void add_link(pid_t pid, pid_t parent, pid_t group, void *context) {
  (void)group;
  link_table *table = context;
  if (table->status == KF_OK) table->status = kf_vec_push(&table->links, (link_pair){pid, parent});
}

static bool is_in(const pid_t *pids, size_t count, pid_t pid) {
  for (size_t i = 0; i < count; i++)
    if (pids[i] == pid) return true;
  return false;
}

kf_status kf__proc_descendants(pid_t root, kf__pid_list *ret_list, kf_err *err) {
  link_table table = {.status = KF_OK};
  KF_VEC(pid_t) found = {0};
  kf__proc_each(add_link, &table);
  kf_status status = table.status;
  /* Parents may be listed after their children, so passes go on until nothing is added. */
  for (bool grew = true; grew && status == KF_OK;) {
    grew = false;
    for (size_t i = 0; i < table.links.count && status == KF_OK; i++) {
      link_pair link = table.links.items[i];
      bool below = link.parent == root || is_in(found.items, found.count, link.parent);
      if (!below || is_in(found.items, found.count, link.pid)) continue;
      status = kf_vec_push(&found, link.pid);
      grew = true;
    }
  }
  kf_vec_done(&table.links);
  if (status != KF_OK) {
    kf_vec_done(&found);
    return kf_nomem(err);
  }
  ret_list->pids = found.items;
  ret_list->count = (int)found.count;
  return KF_OK;
}

int64_t kf__proc_rss_bytes(pid_t pid) {
  char path[48], text[128];
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  long long total, resident;
  if (read_small(path, text, sizeof text) <= 0 || sscanf(text, "%lld %lld", &total, &resident) != 2)
    return -1;
  return resident * sysconf(_SC_PAGESIZE);
}

uint64_t kf__proc_oom_kills(void) {
  static const char key[] = "\noom_kill ";
  char text[16384];
  if (read_small("/proc/vmstat", text, sizeof text) <= 0) return 0;
  const char *line = strstr(text, key);
  return line ? strtoull(line + sizeof key - 1, NULL, 10) : 0;
}

/* Calls `visit` with the text of one /proc file of every thread of the leader; false if there is no such
 * process. */
static bool each_thread(const kf_child *child, const char *file,
                        void (*visit)(const char *text, int64_t *sum), int64_t *sum) {
  char path[96], text[4096];
  snprintf(path, sizeof path, "/proc/%d/task", (int)child->pid);
  DIR *dir = child->ended ? NULL : opendir(path);
  if (!dir) return false;
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/%s", (int)child->pid, entry->d_name, file);
    if (read_small(path, text, sizeof text) > 0) visit(text, sum);
  }
  closedir(dir);
  return true;
}

static void add_switches(const char *text, int64_t *sum) {
  static const char key[] = "\nnonvoluntary_ctxt_switches:";
  const char *line = strstr(text, key);
  if (line && *sum >= 0)
    *sum += strtoll(line + sizeof key - 1, NULL, 10);
  else
    *sum = -1;
}

int64_t kf_child_involuntary(const kf_child *child) {
  int64_t sum = 0;
  return each_thread(child, "status", add_switches, &sum) ? sum : -1;
}

/* schedstat: time on a core, time ready but waiting, number of turns. */
static void keep_longest_wait(const char *text, int64_t *longest) {
  long long ran = 0, waited = 0;
  if (sscanf(text, "%lld %lld", &ran, &waited) == 2 && waited > *longest) *longest = waited;
}

int64_t kf_child_starved_ns(const kf_child *child) {
  int64_t longest = 0;
  each_thread(child, "schedstat", keep_longest_wait, &longest);
  return longest;
}
