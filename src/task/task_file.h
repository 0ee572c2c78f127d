/* task_file.h - private to src/task: reading the files of a package that may be hostile. */
#ifndef KF_TASK_TASK_FILE_H
#define KF_TASK_TASK_FILE_H

#include "base/buf.h"

/* Appends the regular file `path` (plain relative) below the folder `dir_fd`. No component may be a symbolic
 * link. KF_EREFUSED for a path that leaves the folder, a link, something that is no regular file, a file
 * larger than the buffer's maximum, or one that is missing; KF_EIO where reading fails. */
kf_status kf__task_file_read(int dir_fd, const char *path, kf_buf *buf, kf_err *err);
/* Reads an open regular file to its end and closes it. `path` is for messages. */
kf_status kf__task_fd_read(int fd, const char *path, kf_buf *buf, kf_err *err);

#endif
