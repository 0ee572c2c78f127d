/* progress.c - the lines of a running search; see progress.h. */
#include "run/progress.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/banned.h"

enum { REDRAW_MS = 100, PLAIN_MS = 5000, COLUMNS_DEFAULT = 100 };

typedef struct {
  char *text;
  size_t room, len;
} line;

static void add(line *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(line *to, const char *fmt, ...) {
  va_list args;
  if (to->len + 1 >= to->room) return;
  va_start(args, fmt);
  int made = vsnprintf(to->text + to->len, to->room - to->len, fmt, args);
  va_end(args);
  if (made < 0) return;
  to->len += (size_t)made;
  if (to->len >= to->room) to->len = to->room - 1;
}

void kf_progress_duration(int64_t ms, char *ret_text, size_t size) {
  long long seconds = (long long)((ms + 500) / 1000);
  if (seconds < 60)
    snprintf(ret_text, size, "%llds", seconds);
  else if (seconds < 3600)
    snprintf(ret_text, size, "%lldm%02llds", seconds / 60, seconds % 60);
  else
    snprintf(ret_text, size, "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
}

static void add_verdicts(line *to, const kf_engine_stats *stats) {
  const char *before = ": ";
  for (int pass = 0; pass < 2; pass++) /* correct first */
    for (int kind = 0; kind < KF_VERDICT_COUNT; kind++) {
      if ((kind == KF_VERDICT_CORRECT) != (pass == 0) || stats->verdicts[kind] == 0) continue;
      add(to, "%s%lld %s", before, (long long)stats->verdicts[kind], kf_verdict_name((kf_verdict_kind)kind));
      before = ", ";
    }
}

static void add_best(line *to, const kf_engine_stats *stats) {
  if (stats->best_nano == INT64_MIN) return;
  add(to, " | best %.3gx (%.3g..%.3g)%s", kf_nano_ratio(stats->best_nano),
      kf_nano_ratio(stats->best_nano - stats->best_half_nano),
      kf_nano_ratio(stats->best_nano + stats->best_half_nano), stats->champion_confirmed ? " confirmed" : "");
}

static void add_time(line *to, const kf_run_view *view) {
  char text[32];
  if (view->stats.finished) {
    kf_progress_duration(view->elapsed_ms, text, sizeof text);
    add(to, " | done in %s", text);
  } else if (view->draining) {
    add(to, " | stopping, waits for what is being measured (again: stop now)");
  } else if (view->time_left_ms >= 0) {
    kf_progress_duration(view->time_left_ms, text, sizeof text);
    add(to, " | %s left", text);
  } else {
    kf_progress_duration(view->elapsed_ms, text, sizeof text);
    add(to, " | %s", text);
  }
}

void kf_progress_text(const kf_run_view *view, char ret_text[KF_PROGRESS_TEXT]) {
  line to = {ret_text, KF_PROGRESS_TEXT, 0};
  ret_text[0] = '\0';
  if (view->evals_max > 0)
    add(&to, "%lld/%lld evaluated", (long long)view->stats.evaluated, (long long)view->evals_max);
  else
    add(&to, "%lld evaluated", (long long)view->stats.evaluated);
  add_verdicts(&to, &view->stats);
  add_best(&to, &view->stats);
  add(&to, " | %d cell%s", view->cells, view->cells == 1 ? "" : "s");
  add_time(&to, view);
  if (view->activity && view->activity[0] && !view->stats.finished) add(&to, " | %s", view->activity);
}

void kf_progress_init(kf_progress *progress, int fd) {
  const char *term = getenv("TERM");
  struct winsize window = {0};
  *progress = (kf_progress){
      .fd = fd, .columns = COLUMNS_DEFAULT, .interval_ms = PLAIN_MS, .last_best_nano = INT64_MIN};
  progress->redraw = isatty(fd) && (!term || strcmp(term, "dumb") != 0);
  if (!progress->redraw) return;
  progress->interval_ms = REDRAW_MS;
  if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 20) progress->columns = window.ws_col;
}

static void put(const kf_progress *progress, const char *text, size_t len) {
  (void)kf_fs_write_fd(progress->fd, text, len, NULL);
}

static void draw(kf_progress *progress, const kf_run_view *view) {
  char text[KF_PROGRESS_TEXT], out[KF_PROGRESS_TEXT + 16];
  kf_progress_text(view, text);
  kf_text_clean(text, strlen(text));
  int made = 0;
  if (progress->redraw) {
    made = snprintf(out, sizeof out, "\r%.*s\033[K", progress->columns - 1, text);
    progress->open_line = true;
  } else {
    made = snprintf(out, sizeof out, "kf: %s\n", text);
  }
  put(progress, out, (size_t)made);
  progress->last_evaluated = view->stats.evaluated;
  progress->last_best_nano = view->stats.best_nano;
  progress->last_elapsed_ms = view->elapsed_ms;
  progress->last_ms = kf_now_ms();
}

static void end_line(kf_progress *progress) {
  if (progress->open_line) put(progress, "\n", 1);
  progress->open_line = false;
}

static void draw_notice(kf_progress *progress, const char *notice) {
  char out[KF_PROGRESS_TEXT];
  end_line(progress);
  int made = snprintf(out, sizeof out, "kf: %.480s\n", notice);
  kf_text_clean(out, (size_t)made - 1);
  put(progress, out, (size_t)made);
}

/* Plain lines: news at once, but no more than one a second; else one in a while, if anything moved or
 * something is known of what is waited for. */
static bool is_due(const kf_progress *progress, const kf_run_view *view) {
  int64_t since = kf_now_ms() - progress->last_ms;
  if (progress->last_ms == 0) return true;
  if (progress->redraw) return since >= progress->interval_ms;
  if (view->stats.best_nano > progress->last_best_nano && since >= 1000) return true;
  return since >= progress->interval_ms &&
         (view->stats.evaluated != progress->last_evaluated || (view->activity && view->activity[0]) ||
          since >= 6 * progress->interval_ms);
}

void kf_progress_show(void *context, const kf_run_view *view) {
  kf_progress *progress = context;
  if (view->notice) draw_notice(progress, view->notice);
  if (is_due(progress, view)) draw(progress, view);
}

void kf_progress_done(kf_progress *progress, const kf_run_view *last) {
  if (last) draw(progress, last);
  end_line(progress);
}
