/* advice.c - the tables of advice.h. */
#include "wire/advice.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define EVAL "kf eval TASK FILE"
#define EVAL_CASES "kf eval TASK FILE --cases"
#define EVAL_QUICK "kf eval TASK FILE --stage 0"

typedef struct {
  kf_verdict_kind kind;
  const char *diagnosis; /* its kind; NULL: any other. The first row that fits counts */
  const char *why, *command;
} row;

/* What ended before anything was compared. */
static const row early_rows[] = {
    {KF_VERDICT_NO_CODE, NULL, "the answer held no kernel: return one fenced code block with the whole file",
     EVAL_QUICK},
    {KF_VERDICT_REFUSED, "plan",
     "the launch plan breaks a rule: mend the `//kf:` line that the message names", EVAL_QUICK},
    {KF_VERDICT_REFUSED, NULL, "the source breaks a rule of the evaluator: write it without what is named",
     EVAL_QUICK},
    {KF_VERDICT_UNSUPPORTED, NULL,
     "the device lacks what the kernel uses: write it without, or guard it with a `where` over dev.*",
     "kf doctor"},
    {KF_VERDICT_BUILD_FAILED, "compile_undeclared",
     "a name is not known: declare it above its use, or mend its spelling; there is no library to link",
     EVAL_QUICK},
    {KF_VERDICT_BUILD_FAILED, "compile_type",
     "the types of the named line do not fit: cast explicitly, and give vector literals every element",
     EVAL_QUICK},
    {KF_VERDICT_BUILD_FAILED, "compile_syntax",
     "look at the named place and the line before it for a missing ; ) or }", EVAL_QUICK},
    {KF_VERDICT_BUILD_FAILED, "compile_address_space",
     "give the pointer the address space of what it points to; local arrays belong inside of the kernel",
     EVAL_QUICK},
    {KF_VERDICT_BUILD_FAILED, "compile_builtin",
     "the built-in does not take these arguments, or needs an extension: check its overloads", "kf doctor"},
    {KF_VERDICT_BUILD_FAILED, "compile_limit",
     "something is larger than the compiler allows: use smaller arrays, fewer parameters", EVAL_QUICK},
    {KF_VERDICT_BUILD_FAILED, "compile_preprocessor",
     "only the file itself is there: put what it includes into it, and check its #if and #define lines",
     EVAL_QUICK},
    {KF_VERDICT_BUILD_FAILED, NULL, "mend the first error of the compiler; the ones below may follow from it",
     EVAL_QUICK},
    {KF_VERDICT_BUILD_TIMEOUT, NULL,
     "the compiler did not finish: unroll less, use smaller tiles, split the kernel",
     "kf eval TASK FILE --set build.timeout_ms=120000"},
};

/* What ended while it ran. */
static const row run_rows[] = {
    {KF_VERDICT_LAUNCH_FAILED, NULL,
     "the device refused the launch: check local size and local memory against its limits", "kf doctor"},
    {KF_VERDICT_CRASHED, "first_launch",
     "it crashed at its first launch, on inputs of zeros and halves: do not divide or index by input values "
     "unchecked",
     EVAL_QUICK},
    {KF_VERDICT_CRASHED, NULL, "the kernel was killed by a signal: check indices and divisors at the tails",
     EVAL_QUICK},
    {KF_VERDICT_TIMED_OUT, "first_launch",
     "its first launch did not end: a loop may depend on input values, which are zeros and halves there",
     EVAL_QUICK},
    {KF_VERDICT_TIMED_OUT, NULL,
     "a call did not end in time: look for a loop whose bound can be missed, or a barrier that some "
     "work-items skip",
     EVAL_QUICK},
    {KF_VERDICT_OUT_OF_MEMORY, NULL, "use smaller temporaries or fewer of them", EVAL_QUICK},
    {KF_VERDICT_WRONG_MEMORY, NULL,
     "guard the access that the diagnosis names: compare the index with the size before it", EVAL_QUICK},
    {KF_VERDICT_SLOW, NULL, "far slower than its rivals: start from another structure than this one's",
     "kf eval TASK FILE --no-race --cases"},
    {KF_VERDICT_IMPLAUSIBLE, NULL,
     "faster than memory can deliver the inputs: find what was skipped or kept from an earlier call",
     EVAL_CASES},
    {KF_VERDICT_UNSTABLE, NULL, "its times scatter too much to say anything: measure on a quieter machine",
     "kf doctor"},
    {KF_VERDICT_CHEAT, "forged",
     "its process spoke where only the evaluator may: compute the output, and nothing else", EVAL_QUICK},
    {KF_VERDICT_CHEAT, NULL,
     "do the whole computation in every call, on the inputs of that call, within the call", EVAL_QUICK},
};

/* What was compared and is wrong. */
static const row output_rows[] = {
    {KF_VERDICT_WRONG_OUTPUT, "unwritten",
     "some elements are never written: check that the launch covers all of the output, tails too",
     EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "nan",
     "NaN or an infinity where there should be none: look for 0/0, exp of large values, or reading beyond "
     "what was written",
     EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "race",
     "calls differ: put a barrier between writing and reading local memory, one writer for each element",
     EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "tail",
     "wrong only after the last full tile: treat the rest of a size that no tile divides", EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "tile_edge",
     "wrong along the edges of tiles: check the halo, and the barrier between loading and using a tile",
     EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "transposed",
     "the last two axes are exchanged: swap the indices of the store, or of the load", EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "shifted",
     "each value stands at a wrong offset: check the base index and strides", EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "scaled",
     "right up to a constant factor: a scale is left out, or a part is summed more than once", EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "one_element",
     "a single element is wrong: look at the first and last index, and at who writes it", EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "imprecise",
     "close but outside of the tolerance: accumulate in the declared type or wider", EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, "timed_output",
     "a timed call gave another result than the verified one: keep nothing from one call to the next",
     EVAL_CASES},
    {KF_VERDICT_WRONG_OUTPUT, NULL, "compute the element that the diagnosis names by hand and compare",
     EVAL_CASES},
    {KF_VERDICT_NONDETERMINISTIC, NULL,
     "look for a missing barrier, or two work-items that write one element; atomics on floats need "
     "`determinism: tolerance`",
     EVAL_CASES},
    {KF_VERDICT_IMPRECISE, NULL,
     "accumulate in the declared type or wider: no half, no fast-math approximations, no lossy reordering",
     EVAL_CASES},
};

static const row *find(const row *rows, size_t count, const kf_verdict *verdict) {
  for (size_t i = 0; i < count; i++)
    if (rows[i].kind == verdict->kind &&
        (rows[i].diagnosis == NULL || strcmp(rows[i].diagnosis, verdict->diagnosis.kind) == 0))
      return &rows[i];
  return NULL;
}

static void say(kf_verdict *verdict, const char *why, const char *command) {
  snprintf(verdict->next_why, sizeof verdict->next_why, "%s", why);
  snprintf(verdict->next_command, sizeof verdict->next_command, "%s", command);
}

/* ---- correct kernels ---- */

static const kf_menu menus[] = {
    {"launch_bound",
     "opencl",
     "starting the work takes as long as the work",
     {"one launch instead of several", "fewer, larger groups: each work-item takes several elements",
      "no temporary between launches"}},
    {"launch_bound",
     "c",
     "starting the work takes as long as the work",
     {"one parallel region for the whole call", "no threads for small sizes", "a static schedule"}},
    {"launch_bound",
     NULL,
     "starting the work takes as long as the work",
     {"fuse the launches into one", "more work for each thread", "no device fill before the kernel"}},
    {"memory_bound",
     "opencl",
     "the memory is busy: only moving fewer bytes helps",
     {"fewer sweeps over the inputs: an online or single-pass form",
      "fuse launches, so that a temporary stays in registers or local memory",
      "tiles that fit the cache, so that nothing is read twice", "full vector loads and stores in order"}},
    {"memory_bound",
     "c",
     "the memory is busy: only moving fewer bytes helps",
     {"fewer sweeps over the inputs: an online or single-pass form",
      "blocks that stay in the cache until they are done",
      "streaming stores for outputs that are not read again", "loops fused over one block"}},
    {"memory_bound",
     NULL,
     "the memory is busy: only moving fewer bytes helps",
     {"fewer sweeps over the inputs: an online or single-pass form",
      "fuse launches, so that a temporary stays on chip", "coalesced 16-byte accesses",
      "tiles in shared memory, so that nothing is read twice"}},
    {"compute_bound",
     "opencl",
     "the arithmetic units are busy: only fewer or cheaper operations help",
     {"fewer operations: another algorithm (Winograd, Strassen, factoring out)",
      "multiply-add forms (mad, fma) without conversions between", "reciprocals hoisted out of loops",
      "native_ functions where the tolerance allows"}},
    {"compute_bound",
     "c",
     "the arithmetic units are busy: only fewer or cheaper operations help",
     {"fewer operations: another algorithm (Winograd, Strassen, factoring out)",
      "multiply-add in full vectors, no conversions between", "reciprocals hoisted out of loops"}},
    {"compute_bound",
     NULL,
     "the arithmetic units are busy: only fewer or cheaper operations help",
     {"fewer operations: another algorithm", "matrix units at the declared precision",
      "hoist what does not change out of loops"}},
    {"underfilled",
     "opencl",
     "fewer groups than the device can run side by side",
     {"smaller groups or tiles, so that there are more of them", "split the long axis across groups",
      "one group for each independent row, not for a block of rows"}},
    {"underfilled",
     "c",
     "fewer pieces of work than cores",
     {"collapse(2) over two axes", "split the long axis across threads", "smaller blocks"}},
    {"underfilled",
     NULL,
     "fewer groups than the device can run side by side",
     {"smaller tiles", "split the reduction axis across groups (split-K)", "a persistent grid"}},
    {"latency_bound",
     "opencl",
     "neither memory nor arithmetic is busy: the kernel waits for its own results",
     {"several independent accumulators in the inner loop", "vector types across the contiguous axis",
      "register tiles: each value loaded is used several times", "inner loops unrolled, without branches"}},
    {"latency_bound",
     "c",
     "neither memory nor arithmetic is busy: the kernel waits for its own results",
     {"several independent accumulators in the inner loop",
      "a contiguous inner loop that the compiler can vectorise (restrict, omp simd)",
      "register tiles: each value loaded is used several times", "packed copies of strided data"}},
    {"latency_bound",
     NULL,
     "neither memory nor arithmetic is busy: the kernel waits for its own results",
     {"several independent accumulators in the inner loop", "more work in flight: occupancy, async copies",
      "register tiles: each value loaded is used several times", "wider loads"}},
};

const kf_menu *kf_advice_menu(const char *bound, const char *language) {
  for (size_t i = 0; i < KF_COUNTOF(menus); i++)
    if (strcmp(menus[i].bound, bound) == 0 &&
        (menus[i].language == NULL || strcmp(menus[i].language, language) == 0))
      return &menus[i];
  return NULL;
}

static void advise_correct(kf_verdict *verdict, const char *language) {
  if (strcmp(verdict->diagnosis.kind, "not_confirmed") == 0) {
    say(verdict, "the gain is within the noise of this machine: race it again when the machine is quiet",
        "kf race TASK FILE KERNEL");
    return;
  }
  const kf_menu *menu = kf_advice_menu(verdict->roofline.bound, language);
  if (menu == NULL) return;
  snprintf(verdict->next_why, sizeof verdict->next_why, "%s; try: %s; %s", menu->about, menu->techniques[0],
           menu->techniques[1]);
  snprintf(verdict->next_command, sizeof verdict->next_command, EVAL_CASES);
}

void kf_advice_fill(kf_verdict *verdict, const char *language) {
  verdict->next_why[0] = verdict->next_command[0] = '\0';
  if (verdict->kind == KF_VERDICT_CORRECT) {
    advise_correct(verdict, language);
    return;
  }
  const row *found = find(early_rows, KF_COUNTOF(early_rows), verdict);
  if (found == NULL) found = find(run_rows, KF_COUNTOF(run_rows), verdict);
  if (found == NULL) found = find(output_rows, KF_COUNTOF(output_rows), verdict);
  if (found != NULL) say(verdict, found->why, found->command);
}
