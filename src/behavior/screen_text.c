/* screen_text.c - words and attributes that no honest kernel has, wherever they stand in the text.
 *
 * Names that begin with two underscores belong to compilers. Those of OpenCL C, and of the builtins that
 * every clang has and that only compute, are listed here; the rest is what tells compilers apart or leaves
 * the language. With the ## operator present, the pieces such a name could be made of are refused too. */
#include "behavior/screen_int.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

void kf__screen_refuse(kf_screen *screen, const char *rule, unsigned line, unsigned column, const char *fmt,
                       ...) {
  if (screen->state == KF_SCREEN_REFUSED) return;
  kf_diagnosis *d = &screen->diagnosis;
  screen->state = KF_SCREEN_REFUSED;
  snprintf(d->kind, sizeof d->kind, "%s", rule);
  if (line)
    snprintf(d->where, sizeof d->where, "kernel.cl:%u:%u", line, column);
  else
    snprintf(d->where, sizeof d->where, "parameters");
  va_list args;
  va_start(args, fmt);
  vsnprintf(d->text, sizeof d->text, fmt, args);
  va_end(args);
}

/* ---- words ---- */

static const char *const compiler_words[] = {"__kernel",
                                             "__global",
                                             "__local",
                                             "__constant",
                                             "__private",
                                             "__generic",
                                             "__read_only",
                                             "__write_only",
                                             "__read_write",
                                             "__attribute__",
                                             "__attribute",
                                             "__const",
                                             "__const__",
                                             "__restrict",
                                             "__restrict__",
                                             "__inline",
                                             "__inline__",
                                             "__volatile",
                                             "__volatile__",
                                             "__signed",
                                             "__signed__",
                                             "__func__",
                                             "__FUNCTION__",
                                             "__typeof",
                                             "__typeof__",
                                             "__alignof",
                                             "__alignof__",
                                             "__extension__",
                                             NULL};

/* They compute a value from their arguments, or say something of it to the optimiser. */
static const char *const harmless_builtins[] = {"expect",
                                                "expect_with_probability",
                                                "unreachable",
                                                "assume",
                                                "assume_aligned",
                                                "prefetch",
                                                "astype",
                                                "convertvector",
                                                "shufflevector",
                                                "popcount",
                                                "popcountl",
                                                "popcountll",
                                                "clz",
                                                "clzl",
                                                "clzll",
                                                "ctz",
                                                "ctzl",
                                                "ctzll",
                                                "ffs",
                                                "bswap16",
                                                "bswap32",
                                                "bswap64",
                                                "inf",
                                                "inff",
                                                "nan",
                                                "nanf",
                                                "huge_val",
                                                "huge_valf",
                                                "isnan",
                                                "isinf",
                                                "fabs",
                                                "fabsf",
                                                "sqrt",
                                                "sqrtf",
                                                "fma",
                                                "fmaf",
                                                "fmin",
                                                "fminf",
                                                "fmax",
                                                "fmaxf",
                                                "constant_p",
                                                NULL};

static const char *const launch_words[] = {"enqueue_kernel",
                                           "enqueue_marker",
                                           "get_default_queue",
                                           "create_user_event",
                                           "ndrange_1D",
                                           "ndrange_2D",
                                           "ndrange_3D",
                                           "ndrange_t",
                                           "queue_t",
                                           "clk_event_t",
                                           "reserve_id_t",
                                           "read_pipe",
                                           "write_pipe",
                                           "reserve_read_pipe",
                                           "reserve_write_pipe",
                                           "__pipe",
                                           "commit_read_pipe",
                                           "commit_write_pipe",
                                           NULL};

static const char *const asm_words[] = {"asm", "__asm", "__asm__", NULL};

static const char *const builtin_prefixes[] = {
    "__builtin_",       "__sync_", "__atomic_", "__c11_atomic_", "__opencl_atomic_",
    "__scoped_atomic_", "__nvvm",  "__spirv",   "__hip",         NULL};

static const char *const telling_prefixes[] = {"__has_",
                                               "__is_",
                                               "__clang",
                                               "__llvm",
                                               "__LLVM",
                                               "__POCL",
                                               "__pocl",
                                               "POCL_",
                                               "pocl_",
                                               "_CL_",
                                               "_cl_",
                                               "__cl_",
                                               "__CL_",
                                               "CLANG_MAJOR",
                                               "LLVM_OLDER",
                                               "__declspec",
                                               "__building_module",
                                               NULL};

static bool is_harmless_builtin(const char *word) {
  return strncmp(word, "__builtin_", 10) == 0 && kf__word_is_one_of(word + 10, harmless_builtins);
}

/* "__NAME__" is how compilers call what they define themselves. */
static bool is_predefined_shape(const char *word) {
  size_t len = strlen(word);
  return len > 4 && strncmp(word, "__", 2) == 0 && strcmp(word + len - 2, "__") == 0;
}

static void screen_word(const kf_token *t, kf_screen *screen) {
  const char *word = t->text;
  if (kf__word_is_one_of(word, compiler_words) || is_harmless_builtin(word)) return;
  if (kf__word_is_one_of(word, asm_words))
    kf__screen_refuse(screen, "inline_assembly", t->line, t->column,
                      "\"%s\": a kernel may hold no assembly: write it in OpenCL C", word);
  else if (strcmp(word, "_Pragma") == 0)
    kf__screen_refuse(
        screen, "pragma", t->line, t->column,
        "_Pragma is refused: write \"#pragma unroll\" or \"#pragma OPENCL ...\" on a line of its own");
  else if (kf__word_is_one_of(word, launch_words))
    kf__screen_refuse(screen, "device_launch", t->line, t->column,
                      "\"%s\": a kernel may not launch work or pass it on: describe launches in the plan",
                      word);
  else if (kf__word_begins_with(word, builtin_prefixes))
    kf__screen_refuse(screen, "builtin", t->line, t->column,
                      "\"%s\" is no function of OpenCL C: use the language's own", word);
  else if (!kf__screen_is_device_name(word) &&
           (kf__word_begins_with(word, telling_prefixes) || is_predefined_shape(word)))
    kf__screen_refuse(screen, "compiler_dependent", t->line, t->column,
                      "\"%s\" tells one compiler from another: a kernel must read the same to all of them",
                      word);
}

/* ---- pieces of names ---- */

static bool is_piece(const char *word) {
  static const char *const others[] = {"_", "_P", "_Pr", "_Pra", "_Prag", "_Pragm", NULL};
  if (kf__word_is_one_of(word, others) || strstr(word, "_cl_") || strstr(word, "_CL_")) return true;
  return strncmp(word, "__", 2) == 0 && !kf__word_is_one_of(word, compiler_words) &&
         !is_harmless_builtin(word) && !kf__screen_is_device_name(word);
}

static bool has_pasting(const kf_tokens *tokens) {
  for (size_t i = 0; i < tokens->list.count; i++)
    if (tokens->list.items[i].kind == KF_TOKEN_SIGN && strcmp(tokens->list.items[i].text, "##") == 0)
      return true;
  return false;
}

static void screen_pieces(const kf_tokens *tokens, kf_screen *screen) {
  for (size_t i = 0; i < tokens->list.count; i++) {
    const kf_token *t = &tokens->list.items[i];
    if (t->kind == KF_TOKEN_WORD && is_piece(t->text))
      kf__screen_refuse(screen, "pasted_name", t->line, t->column,
                        "\"%s\" in a source that joins names with ##: it could become a compiler's own name",
                        t->text);
  }
}

/* ---- attributes ---- */

static const char *const attributes[] = {"aligned",
                                         "packed",
                                         "vec_type_hint",
                                         "work_group_size_hint",
                                         "reqd_work_group_size",
                                         "intel_reqd_sub_group_size",
                                         "opencl_unroll_hint",
                                         "nosvm",
                                         "endian",
                                         "ext_vector_type",
                                         "vector_size",
                                         "always_inline",
                                         "noinline",
                                         "overloadable",
                                         "const",
                                         "pure",
                                         "unused",
                                         "nonnull",
                                         "hot",
                                         "cold",
                                         "flatten",
                                         "may_alias",
                                         "convergent",
                                         "fallthrough",
                                         NULL};

static bool is_sign(const kf_tokens *tokens, size_t at, const char *sign) {
  return at < tokens->list.count && tokens->list.items[at].kind == KF_TOKEN_SIGN &&
         strcmp(tokens->list.items[at].text, sign) == 0;
}

/* "__aligned__" -> "aligned" */
static void plain_name(const char *word, char ret_name[KF_TOKEN_MAX]) {
  size_t len = strlen(word);
  bool wrapped = is_predefined_shape(word);
  snprintf(ret_name, KF_TOKEN_MAX, "%.*s", (int)(wrapped ? len - 4 : len), wrapped ? word + 2 : word);
}

static bool is_allowed_attribute(const char *word) {
  char name[KF_TOKEN_MAX];
  plain_name(word, name);
  return kf__word_is_one_of(name, attributes);
}

/* From the word "__attribute__": the index behind its list. Every name in it must be a known one, spelled
 * out. */
static size_t screen_attribute(const kf_tokens *tokens, size_t at, kf_screen *screen) {
  const kf_token *word = &tokens->list.items[at];
  if (!is_sign(tokens, at + 1, "(") || !is_sign(tokens, at + 2, "(")) {
    kf__screen_refuse(screen, "attribute", word->line, word->column,
                      "\"%s\" without a list: spell the attribute out", word->text);
    return at + 1;
  }
  int depth = 0;
  bool name_expected = true;
  for (at += 3; at < tokens->list.count; at++) {
    const kf_token *t = &tokens->list.items[at];
    if (is_sign(tokens, at, ")") && depth-- == 0) return at + 1;
    if (is_sign(tokens, at, "(")) depth++;
    if (depth == 0 && is_sign(tokens, at, ",")) {
      name_expected = true;
      continue;
    }
    if (depth == 0 && name_expected && !(t->kind == KF_TOKEN_WORD && is_allowed_attribute(t->text))) {
      kf__screen_refuse(screen, "attribute", t->line, t->column,
                        "the attribute \"%s\" is not one that a kernel needs", t->text);
      return at + 1;
    }
    if (t->kind == KF_TOKEN_WORD && !is_allowed_attribute(t->text)) screen_word(t, screen);
    name_expected = false;
  }
  return at;
}

/* A macro named like an attribute would put another in its place. */
static void screen_redefinition(const kf_tokens *tokens, size_t at, kf_screen *screen) {
  static const char *const defines[] = {"define", "undef", NULL};
  if (!is_sign(tokens, at, "#") || !tokens->list.items[at].first || at + 2 >= tokens->list.count) return;
  const kf_token *name = &tokens->list.items[at + 2];
  if (!kf__word_is_one_of(tokens->list.items[at + 1].text, defines)) return;
  bool reserved = kf__word_is_one_of(name->text, compiler_words) || is_harmless_builtin(name->text) ||
                  kf__screen_is_device_name(name->text) || strcmp(name->text, "defined") == 0;
  bool attribute = is_allowed_attribute(name->text) && strcmp(name->text, "unused") != 0;
  if (reserved || attribute)
    kf__screen_refuse(screen, "redefined_word", name->line, name->column,
                      "\"%s\" is a word of the language: it may not become a macro", name->text);
}

/* ---- the whole text ---- */

static void screen_tokens(const kf_tokens *tokens, kf_screen *screen) {
  for (size_t i = 0; i < tokens->list.count;) {
    const kf_token *t = &tokens->list.items[i];
    screen_redefinition(tokens, i, screen);
    if (t->kind == KF_TOKEN_STRANGE)
      kf__screen_refuse(screen, "strange_character", t->line, t->column,
                        "%s outside of comments and strings: compilers read it in different ways", t->text);
    if (is_sign(tokens, i, "[") && is_sign(tokens, i + 1, "["))
      kf__screen_refuse(screen, "attribute", t->line, t->column,
                        "[[...]] is refused: use __attribute__((...))");
    if (t->kind == KF_TOKEN_WORD && strncmp(t->text, "__attribute", 11) == 0) {
      i = screen_attribute(tokens, i, screen);
      continue;
    }
    if (t->kind == KF_TOKEN_WORD) screen_word(t, screen);
    i++;
  }
}

/* Values of parameters reach the compiler as macros: their words count as if they stood in the source. */
static void screen_options(const kf_tokens *options, kf_screen *screen) {
  for (size_t i = 0; i < options->list.count; i++) {
    kf_token t = options->list.items[i];
    t.line = 0;
    if (t.kind == KF_TOKEN_WORD) screen_word(&t, screen);
  }
}

kf_status kf__screen_text(const char *source, size_t len, const char *options, kf_screen *screen,
                          kf_err *err) {
  kf_tokens tokens = {0}, words = {0};
  const char *plain = options ? options : "";
  kf_status status = kf__screen_tokens(source, len, &tokens, err);
  if (status == KF_OK) status = kf__screen_tokens(plain, strlen(plain), &words, err);
  if (status == KF_OK) {
    screen_tokens(&tokens, screen);
    screen_options(&words, screen);
    if (has_pasting(&tokens)) screen_pieces(&tokens, screen);
    kf__screen_directives(&tokens, &words, screen, err, &status);
  }
  kf__screen_tokens_done(&tokens);
  kf__screen_tokens_done(&words);
  return status;
}
