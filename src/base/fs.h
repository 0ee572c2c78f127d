/* fs.h - files: whole reads with a limit, atomic writes, folders. Paths are NUL-terminated UTF-8. */
#ifndef KF_BASE_FS_H
#define KF_BASE_FS_H

#include "base/buf.h"

enum { KF_PATH_MAX = 4096 };

/* Appends the file; KF_EINVAL if it is larger than the buffer's maximum, KF_ENOTFOUND if it is not there. */
kf_status kf_fs_read(const char *path, kf_buf *buf, kf_err *err);
/* The same for a folder that others write to: KF_EINVAL for what is no regular file (a link, a pipe), which
 * is neither followed nor waited for. */
kf_status kf_fs_read_regular(const char *path, kf_buf *buf, kf_err *err);
/* Writes path.tmp-PID, fsyncs, renames: a reader sees the old or the new content, never a part. */
kf_status kf_fs_write(const char *path, const void *bytes, size_t len, kf_err *err);
kf_status kf_fs_write_fd(int fd, const void *bytes, size_t len, kf_err *err); /* all of it, or a failure */
kf_status kf_fs_mkdirs(const char *path, kf_err *err);                        /* like mkdir -p */
kf_status kf_fs_remove_tree(const char *path, kf_err *err);                   /* does not follow links */
/* For the start of main: opens /dev/null on those of the descriptors 0 to 2 that are closed, so that no file
 * or pipe of ours gets such a number and is taken for the standard input or output. */
void kf_fs_keep_standard_fds(void);
void kf_fs_close_pair(const int fds[2]); /* of a pipe or socket pair; those below 0 are none */
bool kf_fs_exists(const char *path);
bool kf_fs_is_dir(const char *path);
/* dir + "/" + name; refuses results over KF_PATH_MAX. */
kf_status kf_fs_join(char ret_path[KF_PATH_MAX], const char *dir, const char *name, kf_err *err);
/* A relative path without "..", absolute parts or NULs: safe to open below a folder that is not ours. */
bool kf_fs_is_plain_relative(const char *path);
/* Fresh private folder below $TMPDIR (or /tmp), mode 0700. */
kf_status kf_fs_mkdtemp(char ret_path[KF_PATH_MAX], const char *prefix, kf_err *err);
/* Folder of the running executable, and "kf-eval" beside it. */
kf_status kf_fs_self_dir(char ret_path[KF_PATH_MAX], kf_err *err);

#endif
