/* role.c - looks up the role of a re-executed child and runs it. */
#include "sandbox/role.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void kf_role_run(int argc, char **argv, const kf_role_entry *table) {
  if (argc != 3 || strcmp(argv[1], "--role") != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const kf_role_entry *role = table; role->name; role++) {
    if (strcmp(role->name, argv[2]) == 0) _exit(role->main(KF_ROLE_FD));
  }
  static const char message[] = "unknown role\n";
  if (write(2, message, sizeof message - 1) < 0) _exit(2);
  _exit(2);
}
