/* answer.c - the candidate in a Markdown answer, found by cmark's parser, never by a pattern.
 *
 * The text is hostile, and cmark 0.30 was not made for that in three respects:
 *   memory   it aborts when an allocation fails. Its allocator here leaves by longjmp instead, after which
 * everything it held is freed from a list. brackets `![[]()` repeated takes quadratic time in the inline pass
 * (33 s for 1 MiB), whose result is not wanted. nesting  500,000 `- ` on a line, then blank lines, take
 * quadratic time in the block pass (minutes for 1 MiB). So brackets, and container markers beyond a sane
 * depth, are exchanged for control characters before parsing and put back in the code that is taken out. */
#include "base/alloc.h"
#include "propose/propose.h"
#include <cmark.h>
#include <ctype.h>
#include <setjmp.h>
#include <strings.h>

#include "base/banned.h"

enum {
  MEMORY_MAX = 192 << 20, /* of one parse */
  DEPTH_MAX = 16,         /* container markers at the head of a line that stay markers */
  INDENT_MAX = 48,        /* columns after which no container begins */
};

/* ---- memory ---- */

typedef struct ring {
  struct ring *next, *prev;
} ring;

typedef struct {
  ring place; /* first: a place in the ring is its block */
  size_t size;
  max_align_t bytes[];
} block;

typedef struct {
  ring head;
  size_t total;
  jmp_buf out_of_memory;
} parse_memory;

static _Thread_local parse_memory *memory; /* of the parse in progress: cmark's hooks take no context */

static void *memory_calloc(size_t count, size_t size) {
  size_t bytes = 0;
  block *made = NULL;
  if (!__builtin_mul_overflow(count, size, &bytes) && bytes <= MEMORY_MAX - memory->total)
    made = kf_calloc(1, sizeof *made + bytes);
  if (!made) longjmp(memory->out_of_memory, 1);
  made->size = bytes;
  memory->total += bytes;
  made->place = (ring){memory->head.next, &memory->head};
  made->place.next->prev = &made->place;
  memory->head.next = &made->place;
  return made->bytes;
}

static block *block_of(void *ptr) {
  return (block *)(void *)((char *)ptr - offsetof(block, bytes));
}

static void memory_free(void *ptr) {
  if (!ptr) return;
  block *gone = block_of(ptr);
  gone->place.prev->next = gone->place.next;
  gone->place.next->prev = gone->place.prev;
  memory->total -= gone->size;
  kf_free(gone);
}

static void *memory_realloc(void *ptr, size_t size) {
  void *moved = memory_calloc(1, size);
  if (ptr) {
    size_t before = block_of(ptr)->size;
    memcpy(moved, ptr, before < size ? before : size);
    memory_free(ptr);
  }
  return moved;
}

static void memory_release(parse_memory *used) {
  while (used->head.next != &used->head) {
    ring *gone = used->head.next;
    used->head.next = gone->next;
    kf_free(gone);
  }
}

/* ---- masking ---- */

static const char masked[] = "[]>-+*.)"; /* the character at index i travels as the byte i + 1 */

static char mask_of(char c) {
  const char *at = strchr(masked, c);
  return c != '\0' && at ? (char)(at - masked + 1) : c;
}

static char unmask(char c) {
  return c >= 1 && c < (char)sizeof masked ? masked[c - 1] : c;
}

/* Masks the container markers of one line's head that lie too deep. */
static void mask_head(char *line, size_t len) {
  size_t column = 0;
  int depth = 0;
  for (size_t i = 0; i < len; i++) {
    char c = line[i];
    if (c == ' ' || c == '\t') {
      column += c == ' ' ? 1 : 4;
      continue;
    }
    size_t digits = 0;
    while (i + digits < len && isdigit((unsigned char)line[i + digits]))
      digits++;
    if (digits > 0) {
      i += digits;
      if (i >= len || (line[i] != '.' && line[i] != ')')) return;
    } else if (c != '>' && c != '-' && c != '+' && c != '*') {
      return;
    }
    if (++depth > DEPTH_MAX || column > INDENT_MAX) line[i] = mask_of(line[i]);
    column += digits + 1;
  }
}

static char *mask_text(const char *text, size_t len) {
  char *copy = kf_alloc(len + 1);
  if (!copy) return NULL;
  for (size_t i = 0; i < len; i++) {
    char c = text[i];
    if (c >= 1 && c < (char)sizeof masked) c = '?'; /* would come back as something else */
    copy[i] = c == '[' || c == ']' ? mask_of(c) : c;
  }
  copy[len] = '\0';
  for (size_t begin = 0; begin < len;) {
    const char *end = memchr(copy + begin, '\n', len - begin);
    size_t length = end ? (size_t)(end - copy) - begin : len - begin;
    mask_head(copy + begin, length);
    begin += length + 1;
  }
  return copy;
}

/* ---- choosing ---- */

static const char *const info_words[KF_LANG_COUNT][8] = {
    [KF_LANG_OPENCL] = {"opencl", "cl", "c", "opencl-c", "openclc", "ocl"},
    [KF_LANG_CUDA] = {"cuda", "cu", "cpp", "c++", "cuda-cpp", "c"},
    [KF_LANG_HIP] = {"hip", "cpp", "c++", "cuda", "c"},
    [KF_LANG_SYCL] = {"sycl", "cpp", "c++", "cxx"},
    [KF_LANG_C] = {"c", "c17", "c11", "h"},
    [KF_LANG_TRITON] = {"triton", "python", "py"},
};

static bool is_of_language(const char *info, kf_language language) {
  size_t len = strcspn(info, " \t,{;:");
  for (size_t i = 0; i < KF_COUNTOF(info_words[0]) && info_words[language][i]; i++)
    if (strlen(info_words[language][i]) == len && strncasecmp(info, info_words[language][i], len) == 0)
      return true;
  return false;
}

typedef struct {
  kf_language language;
  int blocks;
  int rank;         /* of `code`: 0 none, 1 any block, 2 with a directive, 3 of the language; doubled, and one
                        more with a launch (C: kf_run) */
  const char *code; /* lives in the tree */
} choice;

static void consider(choice *chosen, cmark_node *node) {
  const char *code = cmark_node_get_literal(node), *info = cmark_node_get_fence_info(node);
  if (!code || code[strspn(code, " \t\r\n")] == '\0') return;
  chosen->blocks++;
  int rank = 1;
  if (info && is_of_language(info, chosen->language))
    rank = 3;
  else if (strstr(code, "//kf:"))
    rank = 2;
  /* A launch, or in the host form what is called in its place, decides among blocks of one kind; between
   * kinds the language does. */
  rank = rank * 2 + (strstr(code, chosen->language == KF_LANG_C ? "kf_run" : "//kf: launch") != NULL);
  if (rank < chosen->rank) return;
  chosen->rank = rank;
  chosen->code = code;
}

static void choose(choice *chosen, cmark_node *document) {
  cmark_iter *iter = cmark_iter_new(document);
  for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;) {
    cmark_node *node = cmark_iter_get_node(iter);
    if (event == CMARK_EVENT_ENTER && cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK)
      consider(chosen, node);
  }
}

/* Copies the chosen code out with its characters put back; NULL with the reason. */
static char *take_code(const choice *chosen, const char **ret_note) {
  if (chosen->blocks == 0) *ret_note = "the answer has no code block";
  /* Several blocks of which none says what it is: a guess would be judged as if it were meant. */
  else if (chosen->rank < 4 && chosen->blocks > 1)
    *ret_note = "the answer has several code blocks and none is marked with the task's language";
  else {
    char *copy = kf_strdup(chosen->code);
    if (!copy) *ret_note = "out of memory";
    for (char *at = copy; at && *at; at++)
      *at = unmask(*at);
    return copy;
  }
  return NULL;
}

static char *parse(parse_memory *used, const char *text, size_t len, kf_language language,
                   const char **ret_note) {
  cmark_mem hooks = {memory_calloc, memory_realloc, memory_free};
  if (setjmp(used->out_of_memory) != 0) {
    *ret_note = "the answer is too complex to be parsed, or memory is gone";
    return NULL;
  }
  cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_VALIDATE_UTF8, &hooks);
  cmark_parser_feed(parser, text, len);
  choice chosen = {.language = language};
  choose(&chosen, cmark_parser_finish(parser));
  return take_code(&chosen, ret_note);
}

bool kf_answer_extract(const char *text, size_t len, kf_language language, char **ret_source, size_t *ret_len,
                       const char **ret_note) {
  if (len > KF_ANSWER_MAX) {
    *ret_note = "the answer is longer than 1 MiB";
    return false;
  }
  char *copy = mask_text(text, len);
  if (!copy) {
    *ret_note = "out of memory";
    return false;
  }
  parse_memory used = {.head = {.next = &used.head, .prev = &used.head}};
  memory = &used;
  char *code = parse(&used, copy, len, language, ret_note);
  memory_release(&used);
  memory = NULL;
  kf_free(copy);
  if (!code) return false;
  *ret_source = code;
  *ret_len = strlen(code);
  return true;
}
