/* screen_directive.c - what the preprocessor may be asked to do: macros, conditions that every compiler
 * decides alike, and three pragmas.
 *
 * A condition may name the source's own macros and parameters, and capitals that nobody defines. What differs
 * between devices (cl_khr_fp64, the version of the language) may decide about "#pragma OPENCL EXTENSION"
 * lines only, since the parser here is not told which device it is. Every name that a macro of a condition
 * can lead to counts as if it stood in the condition. */
#include "behavior/screen_int.h"

#include <ctype.h>
#include <string.h>

enum { NESTING_MAX = 64, CLOSURE_MAX = 32 };

typedef struct {
  const char *name;
  size_t body, end;       /* of the body's tokens */
  size_t params, nparams; /* tokens of a macro's parameter list; none: nparams 0 */
  size_t at;              /* of the directive */
  bool certain;           /* defined or undefined under no condition */
} macro;

typedef struct {
  const kf_tokens *tokens, *options;
  kf_screen *screen;
  KF_VEC(macro) macros;
  bool device[NESTING_MAX]; /* whether the condition at this depth depends on the device */
  int depth;
} directives;

static const kf_token *token_at(const directives *d, size_t at) {
  return &d->tokens->list.items[at];
}

static bool is_sign(const directives *d, size_t at, size_t end, const char *sign) {
  return at < end && token_at(d, at)->kind == KF_TOKEN_SIGN && strcmp(token_at(d, at)->text, sign) == 0;
}

static bool is_word(const directives *d, size_t at, size_t end) {
  return at < end && token_at(d, at)->kind == KF_TOKEN_WORD;
}

size_t kf__screen_line_end(const kf_tokens *tokens, size_t at) {
  size_t end = at + 1;
  while (end < tokens->list.count && !tokens->list.items[end].first)
    end++;
  return end;
}

bool kf__screen_is_device_name(const char *word) {
  static const char *const exact[] = {"__OPENCL_VERSION__",
                                      "__OPENCL_C_VERSION__",
                                      "__ENDIAN_LITTLE__",
                                      "__IMAGE_SUPPORT__",
                                      "__FAST_RELAXED_MATH__",
                                      "__EMBEDDED_PROFILE__",
                                      NULL};
  static const char *const prefixes[] = {"cl_khr_", "cl_intel_", "cl_amd_",     "cl_nv_", "cl_arm_",
                                         "cl_ext_", "cl_pocl_",  "__opencl_c_", NULL};
  return kf__word_is_one_of(word, exact) || kf__word_begins_with(word, prefixes);
}

/* ---- names in conditions ---- */

/* Macros that every OpenCL C has, with the same values. */
static const char *const standard_names[] = {"FLT_DIG",
                                             "FLT_MANT_DIG",
                                             "FLT_MAX_EXP",
                                             "FLT_MIN_EXP",
                                             "FLT_RADIX",
                                             "FLT_MAX",
                                             "FLT_MIN",
                                             "FLT_EPSILON",
                                             "MAXFLOAT",
                                             "DBL_MAX",
                                             "DBL_MIN",
                                             "DBL_EPSILON",
                                             "CHAR_BIT",
                                             "SCHAR_MAX",
                                             "SCHAR_MIN",
                                             "UCHAR_MAX",
                                             "CHAR_MAX",
                                             "CHAR_MIN",
                                             "SHRT_MAX",
                                             "SHRT_MIN",
                                             "USHRT_MAX",
                                             "INT_MAX",
                                             "INT_MIN",
                                             "UINT_MAX",
                                             "LONG_MAX",
                                             "LONG_MIN",
                                             "ULONG_MAX",
                                             "INFINITY",
                                             "HUGE_VALF",
                                             "HUGE_VAL",
                                             "NAN",
                                             "NULL",
                                             "M_E_F",
                                             "M_LOG2E_F",
                                             "M_LOG10E_F",
                                             "M_LN2_F",
                                             "M_LN10_F",
                                             "M_PI_F",
                                             "M_PI_2_F",
                                             "M_PI_4_F",
                                             "M_1_PI_F",
                                             "M_2_PI_F",
                                             "M_2_SQRTPI_F",
                                             "M_SQRT2_F",
                                             "M_SQRT1_2_F",
                                             "M_E",
                                             "M_LOG2E",
                                             "M_LOG10E",
                                             "M_LN2",
                                             "M_LN10",
                                             "M_PI",
                                             "M_PI_2",
                                             "M_PI_4",
                                             "M_1_PI",
                                             "M_2_PI",
                                             "M_2_SQRTPI",
                                             "M_SQRT2",
                                             "M_SQRT1_2",
                                             "CL_VERSION_1_0",
                                             "CL_VERSION_1_1",
                                             "CL_VERSION_1_2",
                                             "CL_VERSION_2_0",
                                             "CL_VERSION_3_0",
                                             NULL};

/* Capitals that only some compilers' headers define. */
static const char *const header_prefixes[] = {"CLK_", "IMG_", "CL_",   "HALF_", "FP_",     "INTTYPE", "DBL_",
                                              "FLT_", "LLVM", "CLANG", "POCL",  "ATOMIC_", NULL};

static bool is_plain_capitals(const char *word) {
  if (!isupper((unsigned char)*word) || kf__word_begins_with(word, header_prefixes)) return false;
  size_t len = strlen(word);
  if (strncmp(word, "M_", 2) == 0 && len > 2 && strcmp(word + len - 2, "_H") == 0) return false;
  for (const char *c = word; *c; c++)
    if (!isupper((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_') return false;
  return true;
}

/* -DNAME=VALUE: the lexer has made '-' and "DNAME" of it. */
static bool is_option(const directives *d, const char *word) {
  for (size_t i = 1; i < d->options->list.count; i++) {
    const kf_token *t = &d->options->list.items[i];
    bool after_dash = strcmp(d->options->list.items[i - 1].text, "-") == 0;
    if (after_dash && t->kind == KF_TOKEN_WORD && t->text[0] == 'D' && strcmp(t->text + 1, word) == 0)
      return true;
  }
  return false;
}

/* Every compiler knows the same of it at `at`: something was said of it before, under no condition, and
 * whatever was said since depends on conditions that all decide alike. */
static bool is_certain(const directives *d, const char *word, size_t at) {
  if (is_option(d, word)) return true;
  for (size_t i = 0; i < d->macros.count; i++) {
    const macro *m = &d->macros.items[i];
    if (m->certain && m->at < at && strcmp(m->name, word) == 0) return true;
  }
  return false;
}

typedef struct {
  const char *names[CLOSURE_MAX];
  size_t count;
  bool depends_on_device;
  size_t at; /* of the directive */
} closure;

static bool in_closure(const closure *c, const char *word) {
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->names[i], word) == 0) return true;
  return false;
}

static bool is_param(const directives *d, const macro *m, const char *word) {
  for (size_t i = m->params; i < m->params + m->nparams; i++)
    if (is_word(d, i, i + 1) && strcmp(token_at(d, i)->text, word) == 0) return true;
  return false;
}

static void refuse_condition(directives *d, size_t at, const char *word) {
  const kf_token *t = token_at(d, at);
  kf__screen_refuse(
      d->screen, "compiler_dependent", t->line, t->column,
      "a condition on \"%s\", which not every compiler defines alike: use parameters or macros of "
      "the source",
      word);
}

static void screen_condition(directives *d, closure *c, const macro *within, size_t from, size_t end);

static void screen_name(directives *d, closure *c, const char *word) {
  if (strcmp(word, "defined") == 0 || in_closure(c, word)) return;
  if (c->count == CLOSURE_MAX) {
    refuse_condition(d, c->at, word);
    return;
  }
  c->names[c->count++] = word;
  if (kf__screen_is_device_name(word)) {
    c->depends_on_device = true;
    return;
  }
  if (!is_certain(d, word, c->at) && !is_plain_capitals(word) && !kf__word_is_one_of(word, standard_names))
    refuse_condition(d, c->at, word);
  for (size_t i = 0; i < d->macros.count && d->screen->state != KF_SCREEN_REFUSED; i++) {
    const macro *m = &d->macros.items[i];
    if (strcmp(m->name, word) == 0) screen_condition(d, c, m, m->body, m->end);
  }
}

static void screen_condition(directives *d, closure *c, const macro *within, size_t from, size_t end) {
  for (size_t i = from; i < end && d->screen->state != KF_SCREEN_REFUSED; i++) {
    const kf_token *t = token_at(d, i);
    if (within && is_sign(d, i, end, "##")) refuse_condition(d, c->at, "##");
    if (t->kind != KF_TOKEN_WORD || (within && is_param(d, within, t->text))) continue;
    screen_name(d, c, t->text);
  }
}

/* A name defined in one branch of a condition on the device would carry it further: those branches hold
 * pragmas only (see screen_line), so no such name exists. */
static void open_condition(directives *d, size_t from, size_t end, bool is_new) {
  closure c = {.at = from};
  screen_condition(d, &c, NULL, from, end);
  if (is_new && d->depth == NESTING_MAX) {
    kf__screen_refuse(d->screen, "directive", token_at(d, from)->line, token_at(d, from)->column,
                      "conditions are nested more than %d deep", NESTING_MAX);
    return;
  }
  if (is_new) d->device[d->depth++] = false;
  if (d->depth > 0) d->device[d->depth - 1] = d->device[d->depth - 1] || c.depends_on_device;
}

static bool in_device_condition(const directives *d) {
  for (int i = 0; i < d->depth; i++)
    if (d->device[i]) return true;
  return false;
}

/* ---- directives ---- */

static void note_macro(directives *d, size_t hash, size_t name, size_t end, kf_err *err,
                       kf_status *ret_status) {
  if (!is_word(d, name, end)) return; /* no compiler accepts it */
  macro m = {.name = token_at(d, name)->text, .at = hash, .certain = d->depth == 0};
  size_t at = name + 1;
  const kf_token *n = token_at(d, name);
  /* a parameter list begins right behind the name */
  if (is_sign(d, at, end, "(") && token_at(d, at)->line == n->line &&
      token_at(d, at)->column == n->column + strlen(n->text)) {
    m.params = at + 1;
    while (at < end && !is_sign(d, at, end, ")"))
      at++;
    m.nparams = at - m.params;
    at = at < end ? at + 1 : end;
  }
  m.body = at;
  m.end = end;
  if (kf_vec_push(&d->macros, m) != KF_OK) *ret_status = kf_nomem(err);
}

static bool is_text(const directives *d, size_t at, size_t end, const char *text) {
  return at < end && strcmp(token_at(d, at)->text, text) == 0;
}

/* EXTENSION NAME : BEHAVIOUR, of extensions that Khronos and vendors have written. */
static bool is_extension_pragma(const directives *d, size_t at, size_t end) {
  static const char *const behaviours[] = {"enable", "disable", "require", "warn", NULL};
  return end - at == 5 && is_text(d, at, end, "OPENCL") && is_text(d, at + 1, end, "EXTENSION") &&
         (is_text(d, at + 2, end, "all") || strncmp(token_at(d, at + 2)->text, "cl_", 3) == 0) &&
         strncmp(token_at(d, at + 2)->text, "cl_clang", 8) != 0 && is_text(d, at + 3, end, ":") &&
         kf__word_is_one_of(token_at(d, at + 4)->text, behaviours);
}

static bool is_allowed_pragma(const directives *d, size_t at, size_t end) {
  static const char *const switches[] = {"ON", "OFF", "DEFAULT", NULL};
  if (is_extension_pragma(d, at, end)) return true;
  if (is_text(d, at, end, "nounroll")) return end - at == 1;
  if (is_text(d, at, end, "unroll")) return true;
  bool opencl = is_text(d, at, end, "OPENCL"), stdc = is_text(d, at, end, "STDC");
  return (opencl || stdc) && end - at == 3 && is_text(d, at + 1, end, "FP_CONTRACT") &&
         kf__word_is_one_of(token_at(d, at + 2)->text, switches);
}

static void screen_pragma(directives *d, size_t at, size_t end) {
  const kf_token *t = token_at(d, at - 1);
  if (!is_allowed_pragma(d, at, end))
    kf__screen_refuse(d->screen, "pragma", t->line, t->column,
                      "#pragma %s is refused: only OPENCL EXTENSION, FP_CONTRACT and unroll are known here",
                      at < end ? token_at(d, at)->text : "");
  else if (in_device_condition(d) && !is_extension_pragma(d, at, end))
    refuse_condition(d, at, "a property of the device");
}

/* Outside of conditions the value of a device's name would be part of the program. */
static void screen_values(directives *d, size_t from, size_t end) {
  for (size_t i = from; i < end; i++)
    if (is_word(d, i, end) && kf__screen_is_device_name(token_at(d, i)->text))
      kf__screen_refuse(d->screen, "compiler_dependent", token_at(d, i)->line, token_at(d, i)->column,
                        "\"%s\" differs between devices: only a condition around a #pragma may name it",
                        token_at(d, i)->text);
}

static void screen_directive(directives *d, size_t hash, size_t end) {
  static const char *const opens[] = {"if", "ifdef", "ifndef", NULL};
  static const char *const continues[] = {"elif", "elifdef", "elifndef", NULL};
  size_t at = hash + 2;
  if (hash + 1 >= end) return; /* a lone # says nothing */
  const kf_token *word = token_at(d, hash + 1);
  bool defines = strcmp(word->text, "define") == 0 || strcmp(word->text, "undef") == 0;
  if (kf__word_is_one_of(word->text, opens)) {
    open_condition(d, at < end ? at : hash, end, true);
  } else if (kf__word_is_one_of(word->text, continues)) {
    open_condition(d, at < end ? at : hash, end, false);
  } else if (strcmp(word->text, "endif") == 0) {
    d->depth -= d->depth > 0;
  } else if (strcmp(word->text, "pragma") == 0) {
    screen_pragma(d, at, end);
  } else if (defines) {
    screen_values(d, at, end);
    if (in_device_condition(d)) refuse_condition(d, hash + 1, "a property of the device");
  } else if (strncmp(word->text, "include", 7) == 0 || strcmp(word->text, "import") == 0 ||
             strcmp(word->text, "embed") == 0) {
    kf__screen_refuse(d->screen, "include", word->line, word->column,
                      "#%s is refused: a kernel is one file and reads no other", word->text);
  } else if (strcmp(word->text, "else") != 0 && strcmp(word->text, "error") != 0) {
    kf__screen_refuse(d->screen, "directive", word->line, word->column,
                      "#%s is no directive that a kernel needs", word->text);
  }
}

/* All macros first: the body that a condition leads to may come later in the text. */
static void note_macros(directives *d, kf_err *err, kf_status *ret_status) {
  for (size_t at = 0, end; at < d->tokens->list.count && *ret_status == KF_OK; at = end) {
    end = kf__screen_line_end(d->tokens, at);
    if (!is_sign(d, at, end, "#") || at + 1 >= end) continue;
    const char *word = token_at(d, at + 1)->text;
    if (strncmp(word, "if", 2) == 0) d->depth++;
    if (strcmp(word, "endif") == 0) d->depth -= d->depth > 0;
    bool defines = strcmp(word, "define") == 0 || strcmp(word, "undef") == 0;
    if (defines) note_macro(d, at, at + 2, end, err, ret_status);
  }
  d->depth = 0;
}

void kf__screen_directives(const kf_tokens *tokens, const kf_tokens *options, kf_screen *screen, kf_err *err,
                           kf_status *ret_status) {
  directives d = {.tokens = tokens, .options = options, .screen = screen};
  note_macros(&d, err, ret_status);
  for (size_t at = 0, end; at < tokens->list.count && *ret_status == KF_OK; at = end) {
    end = kf__screen_line_end(tokens, at);
    if (is_sign(&d, at, end, "#") && token_at(&d, at)->first)
      screen_directive(&d, at, end);
    else
      screen_values(&d, at, end);
    bool is_code = !is_sign(&d, at, end, "#");
    if (is_code && in_device_condition(&d)) refuse_condition(&d, at, "a property of the device");
  }
  kf_vec_done(&d.macros);
}
