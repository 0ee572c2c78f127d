/* prompt_kernel.c - the kernels that a prompt shows: source, parameters, verdict, diagnosis and times. */
#include "propose/prompt_int.h"

#include "wire/advice.h"

#include "base/banned.h"

static size_t longest_run(const char *text, size_t len, char c) {
  size_t longest = 0, run = 0;
  for (size_t i = 0; i < len; i++) {
    run = text[i] == c ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

kf_status kf__prompt_code(const char *info, const char *text, size_t len, kf_buf *buf, kf_err *err) {
  char fence[64];
  bool cut = len > KF_SHOWN_SOURCE_MAX;
  if (cut) len = KF_SHOWN_SOURCE_MAX;
  size_t run = longest_run(text, len, '`') + 1;
  char mark = '`';
  if (run < 3) run = 3;
  if (run >= sizeof fence) {
    /* Someone means to close our fence: no run of the other kind can be as long in the same text, or it is
     * cut. */
    mark = '~';
    run = longest_run(text, len, '~') + 1;
    if (run < 3) run = 3;
    if (run >= sizeof fence) return kf_buf_puts(buf, "(text that cannot be shown)\n\n", err);
  }
  memset(fence, mark, run);
  fence[run] = '\0';
  KF_TRY(kf_buf_printf(buf, err, "%s%s\n", fence, info));
  KF_TRY(kf_buf_append(buf, text, len, err));
  bool ended = len > 0 && text[len - 1] == '\n';
  KF_TRY(kf_buf_printf(buf, err, "%s%s\n\n", ended ? "" : "\n", fence));
  return cut ? kf_buf_puts(buf, "(cut: the file is longer)\n\n", err) : KF_OK;
}

static kf_status write_time(int64_t ns, kf_buf *buf, kf_err *err) {
  if (ns < 10000) return kf_buf_printf(buf, err, "%lld ns", (long long)ns);
  if (ns < 10000000) return kf_buf_printf(buf, err, "%.2f us", (double)ns / 1e3);
  return kf_buf_printf(buf, err, "%.2f ms", (double)ns / 1e6);
}

static kf_status write_cases(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  for (int i = 0; i < verdict->ncases; i++) {
    const kf_case_result *result = &verdict->cases[i];
    if (result->right && result->time_ns == 0) continue;
    KF_TRY(kf_buf_printf(buf, err, "- case `%s`: ", result->symbols));
    if (!result->right) {
      KF_TRY(kf_buf_printf(buf, err, "wrong, error %.3g times its tolerance\n", result->worst));
      continue;
    }
    KF_TRY(write_time(result->time_ns, buf, err));
    KF_TRY(kf_buf_puts(buf, "\n", err));
  }
  return KF_OK;
}

static kf_status write_diagnosis(const kf_verdict *verdict, kf_buf *buf, kf_err *err) {
  const kf_diagnosis *diagnosis = &verdict->diagnosis;
  if (diagnosis->kind[0] == '\0' && diagnosis->text[0] == '\0') return KF_OK;
  KF_TRY(kf_buf_printf(buf, err, "- diagnosis: %s", diagnosis->kind[0] ? diagnosis->kind : "see below"));
  if (diagnosis->where[0]) KF_TRY(kf_buf_printf(buf, err, " at %s", diagnosis->where));
  if (diagnosis->text[0]) KF_TRY(kf_buf_printf(buf, err, ": %s", diagnosis->text));
  if (diagnosis->evidence[0]) KF_TRY(kf_buf_printf(buf, err, " (%s)", diagnosis->evidence));
  return kf_buf_puts(buf, "\n", err);
}

/* What is usually tried against what bounds the kernel. */
static kf_status write_menu(const kf_verdict *verdict, kf_language language, kf_buf *buf, kf_err *err) {
  const kf_menu *menu = kf_advice_menu(verdict->roofline.bound, kf_language_name(language));
  if (menu == NULL) return KF_OK;
  KF_TRY(kf_buf_puts(buf, "- worth trying: ", err));
  for (int i = 0; i < KF_MENU_MAX && menu->techniques[i] != NULL; i++)
    KF_TRY(kf_buf_printf(buf, err, "%s%s", i > 0 ? "; " : "", menu->techniques[i]));
  return kf_buf_puts(buf, "\n", err);
}

static kf_status write_verdict(const kf_shown *shown, kf_language language, kf_buf *buf, kf_err *err) {
  const kf_verdict *verdict = shown->verdict;
  char cell[KF_CELL_TEXT];
  KF_TRY(kf_buf_printf(buf, err, "- verdict: %s", kf_verdict_name(verdict->kind)));
  if (shown->score_nano != INT64_MIN)
    KF_TRY(kf_buf_printf(buf, err, ", %.3g times as fast as the baseline", kf_nano_ratio(shown->score_nano)));
  KF_TRY(kf_buf_puts(buf, "\n", err));
  if (verdict->time_ns > 0) {
    KF_TRY(kf_buf_puts(buf, "- time of a call: ", err));
    KF_TRY(write_time(verdict->time_ns, buf, err));
    KF_TRY(kf_buf_puts(buf, "\n", err));
  }
  if (verdict->cell.level[0] >= 0) {
    kf_cell_text(&verdict->cell, cell);
    KF_TRY(kf_buf_printf(buf, err, "- kind: %s\n", cell));
  }
  KF_TRY(write_diagnosis(verdict, buf, err));
  KF_TRY(write_menu(verdict, language, buf, err));
  KF_TRY(write_cases(verdict, buf, err));
  if (verdict->kind == KF_VERDICT_CORRECT || verdict->log[0] == '\0') return kf_buf_puts(buf, "\n", err);
  KF_TRY(kf_buf_puts(buf, "\nCompiler log or output:\n\n", err));
  return kf__prompt_code("", verdict->log, strlen(verdict->log), buf, err);
}

static kf_status write_shown(const kf_ask *ask, const kf_shown *shown, const char *title, kf_buf *buf,
                             kf_err *err) {
  KF_TRY(kf_buf_printf(buf, err, "## %s (candidate %lld)\n\n", title, (long long)shown->id));
  if (shown->binding[0]) KF_TRY(kf_buf_printf(buf, err, "- parameters: `%s`\n", shown->binding));
  if (shown->verdict)
    KF_TRY(write_verdict(shown, ask->language, buf, err));
  else
    KF_TRY(kf_buf_puts(buf, "- not judged yet\n\n", err));
  return kf__prompt_code(kf_language_name(ask->language), shown->source, shown->source_len, buf, err);
}

static const char axes[] = "Kinds are four levels, `m2.a0.c1.x0`: memory access (0 scalar, 1 vectors, 2 "
                           "staged in local memory or a packed buffer, 3 "
                           "that with register tiles or prefetch), algorithm (1 fewer launches, 2 fewer "
                           "passes over the input, 3 fewer operations or "
                           "a split reduction), coordination (1 barriers, 2 sub-groups, 3 atomics or "
                           "launches joined by a temp), matrix "
                           "instructions.";

static const char host_axes[] =
    "Kinds are four levels, `m2.a0.c1.x0`: memory (0 scalar arithmetic, 1 vectors, 2 a workspace, 3 that "
    "with four "
    "accumulators in the innermost loop and prefetch), algorithm (0), coordination of threads (0 one thread, "
    "1 a "
    "parallel region, 2 barriers within it, 3 atomics or critical sections), matrix instructions (0).";

static kf_status write_target(const kf_ask *ask, kf_buf *buf, kf_err *err) {
  if (!ask->target || ask->target[0] == '\0') return KF_OK;
  return kf_buf_printf(buf, err, "%s A kernel of kind `%s` is wanted, if it can be fast.\n\n",
                       ask->language == KF_LANG_C ? host_axes : axes, ask->target);
}

kf_status kf__prompt_kernels(const kf_ask *ask, kf_buf *buf, kf_err *err) {
  KF_TRY(write_target(ask, buf, err));
  const kf_task_file *first = ask->task->kernel[ask->language];
  if (ask->parent)
    KF_TRY(write_shown(ask, ask->parent, "Parent", buf, err));
  else if (first) {
    KF_TRY(kf_buf_puts(buf, "## The task's first kernel\n\n", err));
    KF_TRY(kf__prompt_code(kf_language_name(ask->language), first->bytes, first->len, buf, err));
  }
  if (ask->best && (!ask->parent || ask->best->id != ask->parent->id))
    KF_TRY(write_shown(ask, ask->best, "Fastest so far", buf, err));
  for (int i = 0; i < ask->ninspirations; i++)
    KF_TRY(write_shown(ask, &ask->inspirations[i], "For inspiration", buf, err));
  return KF_OK;
}
