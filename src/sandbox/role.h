/* role.h - the dispatch of re-executed children: `kf-eval --role NAME` becomes a call of that role's main.
 * Table driven, because this folder cannot know the mains of later folders. Every program that spawns roles
 * (kf-eval, the test programs) calls kf_role_run first thing in main. */
#ifndef KF_SANDBOX_ROLE_H
#define KF_SANDBOX_ROLE_H

enum { KF_ROLE_FD = 3 }; /* the control socket of every role */

typedef struct {
  const char *name;
  int (*main)(int fd); /* returns the exit code */
} kf_role_entry;

/* If argv is {PROGRAM, "--role", NAME}: runs that role on KF_ROLE_FD and ends the process without returning
 * (no exit handlers run: foreign code may have left some). An unknown NAME ends it with code 2. Otherwise
 * returns. `table` ends with a NULL name. */
void kf_role_run(int argc, char **argv, const kf_role_entry *table);

#endif
