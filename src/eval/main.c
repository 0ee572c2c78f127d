/* main.c - kf-eval: build, verify, measure, nothing else. Speaks the wire protocol on stdin and stdout;
 * prints nothing else there. */
#include "base/alloc.h"
#include "base/fs.h"
#include "base/log.h"
#include "eval/roles.h"
#include "eval/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int usage(const char *text) {
  fprintf(stderr,
          "kf-eval: %s\nusage: kf-eval            serve the evaluator protocol on stdin and stdout\n"
          "       kf-eval --version\n",
          text);
  return 2;
}

int main(int argc, char **argv) {
  kf_fs_keep_standard_fds();
  kf_alloc_init();
  kf_log_init("kf-eval");
  kf_role_run(argc, argv, kf_eval_roles);
  if (argc > 1 && strcmp(argv[1], "--version") == 0) {
    printf("kf-eval %s\n", KF_VERSION);
    return 0;
  }
  if (argc > 1) return usage("it takes no arguments; `kf` starts it");
  if (isatty(STDIN_FILENO)) return usage("stdin is a terminal; `kf` starts it");
  signal(SIGPIPE, SIG_IGN);
  kf_err err = {0};
  kf_session *session = NULL;
  kf_status status = kf_session_new(STDIN_FILENO, STDOUT_FILENO, &session, &err);
  if (status == KF_OK) status = kf_session_serve(session, &err);
  kf_session_free(session);
  if (status == KF_OK) return 0;
  kf_log_err(&err);
  return kf_status_exit_code(status);
}
