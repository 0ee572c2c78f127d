/* fs_tree.c - removal of a folder that something hostile may have filled.
 *
 * Everything happens relative to open folders and never through a link, so a link cannot lead the removal
 * outside. Folders deeper than DEPTH_MAX are first moved up to the top, so that a chain of a million folders
 * costs neither stack nor descriptors. Folders that were made unreadable are opened up. */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { DEPTH_MAX = 32 };

typedef struct {
  int top_fd;
  unsigned long moved; /* numbers the folders moved to the top */
} removal;

static int remove_children(removal *r, int dir_fd, int depth);

/* Opens a folder without following links; gives the owner all rights first where they are missing. */
static int open_folder(int parent_fd, const char *name) {
  const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  struct stat info;
  int handle = openat(parent_fd, name, flags | O_PATH);
  if (handle < 0) return -1;
  if (fstat(handle, &info) == 0 && (info.st_mode & S_IRWXU) != S_IRWXU) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    (void)chmod(link, S_IRWXU); /* when refused, the open below says why */
  }
  int fd = openat(handle, ".", flags | O_RDONLY);
  int error = errno;
  close(handle);
  errno = error;
  return fd;
}

/* A free name at the top: the folder may hold anything, ours included. */
static int move_to_top(removal *r, int parent_fd, const char *name) {
  /* A folder without write permission cannot be moved; opening it gives the permission. */
  int fd = open_folder(parent_fd, name);
  if (fd < 0) return -1;
  close(fd);
  for (int tries = 0; tries < 1000; tries++) {
    char target[48];
    snprintf(target, sizeof target, ".kf-moved-%lu", r->moved++);
    if (renameat(parent_fd, name, r->top_fd, target) == 0) return 0;
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return -1;
  }
  return -1;
}

static int remove_entry(removal *r, int parent_fd, const char *name, int depth) {
  if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST) return -1;
  if (depth >= DEPTH_MAX) return move_to_top(r, parent_fd, name);
  int fd = open_folder(parent_fd, name);
  if (fd < 0) return -1;
  int failed = remove_children(r, fd, depth + 1); /* closes fd */
  if (failed != 0) return -1;
  return unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* Takes dir_fd. Entries may be skipped by readdir while others vanish, so passes repeat until one finds none.
 */
static int remove_children(removal *r, int dir_fd, int depth) {
  DIR *dir = fdopendir(dir_fd);
  if (dir == NULL) {
    int error = errno;
    close(dir_fd);
    errno = error;
    return -1;
  }
  int result = 0;
  bool found = true;
  while (found && result == 0) {
    found = false;
    rewinddir(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL && result == 0; entry = readdir(dir)) {
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      found = true;
      result = remove_entry(r, dirfd(dir), entry->d_name, depth);
    }
  }
  int error = errno;
  closedir(dir);
  errno = error;
  return result;
}

static kf_status removal_failure(const char *path, kf_err *err) {
  return kf_fail(err, KF_EIO, "could not remove \"%s\": %s", path, strerror(errno));
}

kf_status kf_fs_remove_tree(const char *path, kf_err *err) {
  if (path[0] == '\0' || strspn(path, "/") == strlen(path))
    return kf_fail(err, KF_EBUG, "refusing to remove \"%s\"", path);
  if (unlink(path) == 0 || errno == ENOENT) return KF_OK;
  if (errno != EISDIR && errno != EPERM) return removal_failure(path, err);
  int fd = open_folder(AT_FDCWD, path);
  if (fd < 0) return removal_failure(path, err);
  removal r = {.top_fd = fd};
  if (remove_children(&r, fd, 0) != 0 || rmdir(path) != 0) return removal_failure(path, err);
  return KF_OK;
}
