/* screen_int.h - private to screen*.c: what an honest OpenCL kernel for a CPU device never needs, found in
 * the text (all of it, also what a preprocessor would skip) and in libclang's tree.
 *
 * The text is screened because two compilers can be shown two programs (docs/internals/evaluator.md, Refused
 * before it runs): every name that could tell them apart is refused wherever it stands. */
#ifndef KF_BEHAVIOR_SCREEN_INT_H
#define KF_BEHAVIOR_SCREEN_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "behavior/behavior.h"
#include "behavior/clang_api_int.h"

/* ---- tokens of the source as it is written ---- */

typedef enum {
  KF_TOKEN_WORD,
  KF_TOKEN_NUMBER,
  KF_TOKEN_STRING,
  KF_TOKEN_SIGN,
  KF_TOKEN_STRANGE
} kf_token_kind;

typedef struct {
  const char *text; /* lines joined; long ones are cut at KF_TOKEN_MAX - 1; in the arena */
  uint32_t line, column;
  uint8_t kind;
  bool first; /* in its line, comments and joined lines apart: where a directive can begin */
} kf_token;

enum { KF_TOKEN_MAX = 128 };

typedef struct {
  KF_VEC(kf_token) list;
  kf_arena arena;
} kf_tokens;

/* Adds the tokens of `text`; "%:" is read as "#". A trigraph, a byte that is no ASCII and a control character
 * are STRANGE. */
kf_status kf__screen_tokens(const char *text, size_t len, kf_tokens *tokens, kf_err *err);
void kf__screen_tokens_done(kf_tokens *tokens);

/* ---- rules ---- */

/* The first finding counts. `line` and `column` from 1 in the source; line 0: in the parameters. */
void kf__screen_refuse(kf_screen *screen, const char *rule, unsigned line, unsigned column, const char *fmt,
                       ...) __attribute__((format(printf, 5, 6)));

/* Words, attributes, directives. Leaves `screen` alone where nothing is found. */
kf_status kf__screen_text(const char *source, size_t len, const char *options, kf_screen *screen,
                          kf_err *err);
void kf__screen_directives(const kf_tokens *tokens, const kf_tokens *options, kf_screen *screen, kf_err *err,
                           kf_status *ret_status);
/* The index behind the last token of the line that begins at `at`. */
size_t kf__screen_line_end(const kf_tokens *tokens, size_t at);
bool kf__screen_is_device_name(
    const char *word); /* differs between devices: cl_khr_fp64, __OPENCL_VERSION__ */

/* Declarations, calls and casts of the unit at or after byte `from` of `file`, which is line `lines` + 1. */
void kf__screen_tree(const kf_clang_api *api, CXTranslationUnit unit, const char *file, unsigned from,
                     unsigned lines, kf_screen *screen);

static inline bool kf__word_is_one_of(const char *word, const char *const *list) {
  for (; *list; list++)
    if (strcmp(word, *list) == 0) return true;
  return false;
}

static inline bool kf__word_begins_with(const char *word, const char *const *prefixes) {
  for (; *prefixes; prefixes++)
    if (strncmp(word, *prefixes, strlen(*prefixes)) == 0) return true;
  return false;
}

#endif
