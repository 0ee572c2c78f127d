/* progress.c - the line that says how a run is going. */
#include "cli/progress.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "report/table.h"
#include "report/verdict_text.h"
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/banned.h"

enum { TERMINAL_EVERY_MS = 200, PLAIN_EVERY_MS = 10000, LINE_MAX_BYTES = 1024 };

void kf_progress_init(kf_progress *progress) {
  *progress = (kf_progress){.terminal = isatty(STDERR_FILENO) == 1, .shown_evaluated = -1};
}

static kf_status put_verdicts(const kf_engine_stats *stats, kf_buf *buf, kf_err *err) {
  const char *gap = "; ";
  for (int kind = KF_VERDICT_COUNT - 1; kind >= 0; kind--) {
    if (stats->verdicts[kind] == 0) continue;
    KF_TRY(kf_buf_printf(buf, err, "%s%s %lld", gap, kf_verdict_name((kf_verdict_kind)kind),
                         (long long)stats->verdicts[kind]));
    gap = ", ";
  }
  return KF_OK;
}

kf_status kf_progress_text(const kf_run_view *view, kf_buf *buf, kf_err *err) {
  const kf_engine_stats *stats = &view->stats;
  char left[KF_FIGURE_TEXT];
  KF_TRY(kf_buf_printf(buf, err, "%lld", (long long)stats->evaluated));
  if (view->evals_max > 0) KF_TRY(kf_buf_printf(buf, err, " of %lld", (long long)view->evals_max));
  KF_TRY(kf_buf_puts(buf, " evaluated", err));
  KF_TRY(put_verdicts(stats, buf, err));
  if (stats->best_nano != INT64_MIN) {
    int64_t low = stats->best_nano - stats->best_half_nano, high = stats->best_nano + stats->best_half_nano;
    KF_TRY(kf_buf_puts(buf, "; best ", err));
    KF_TRY(kf_interval_text(stats->best_nano, low, high, 0, buf, err));
  }
  KF_TRY(kf_buf_printf(buf, err, "; %d cell%s", view->cells, view->cells == 1 ? "" : "s"));
  if (view->time_left_ms >= 0)
    KF_TRY(kf_buf_printf(buf, err, "; %s left", kf_figure_ms(view->time_left_ms, left)));
  if (view->activity != NULL && view->activity[0] != '\0')
    KF_TRY(kf_buf_printf(buf, err, "; %s", view->activity));
  return KF_OK;
}

static int terminal_width(void) {
  struct winsize size = {0};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 100;
  return size.ws_col;
}

void kf_progress_done(kf_progress *progress) {
  if (!progress->line_open) return;
  fprintf(stderr, "\r\033[K");
  fflush(stderr);
  progress->line_open = false;
}

static void tell(kf_progress *progress, const char *text) {
  kf_progress_done(progress);
  kf_note("kf: %s", text);
}

/* A plain line is due when something was evaluated since the last one, or after a long silence. */
static bool is_due(const kf_progress *progress, const kf_run_view *view, int64_t now_ms) {
  int64_t every_ms = progress->terminal ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS;
  if (progress->shown_ms == 0 || now_ms - progress->shown_ms >= every_ms) return true;
  return !progress->terminal && view->stats.finished;
}

void kf_progress_view(void *context, const kf_run_view *view) {
  kf_progress *progress = context;
  if (view->notice != NULL) tell(progress, view->notice);
  if (view->draining && !progress->drain_told) {
    tell(progress, "stopping after what is being measured; interrupt once more to stop now");
    progress->drain_told = true;
  }
  int64_t now_ms = kf_now_ms();
  if (!is_due(progress, view, now_ms)) return;
  progress->shown_ms = now_ms;
  progress->shown_evaluated = view->stats.evaluated;
  char line[LINE_MAX_BYTES];
  kf_buf buf;
  kf_buf_init(&buf, sizeof line - 1);
  (void)kf_progress_text(view, &buf, NULL); /* a line cut short is still a line */
  if (progress->terminal) {
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, kf_buf_text(&buf));
    fflush(stderr);
    progress->line_open = true;
  } else {
    kf_note("%s", kf_buf_text(&buf));
  }
  kf_buf_done(&buf);
}
