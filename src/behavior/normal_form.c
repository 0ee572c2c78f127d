/* normal_form.c - prints the declarations of a parsed source so that they can be parsed again. */
#include "behavior/normal_form_int.h"

#include <ctype.h>
#include <string.h>

typedef struct {
  const kf_clang_api *api;
  CXFile file;
  unsigned from;
  kf_buf *buf;
  kf_err *err;
  kf_status status;
} printer;

static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* Position of "NAME(" in a printed function, NULL if there is none. */
static const char *find_name(const char *text, const char *name) {
  size_t len = strlen(name);
  for (const char *at = text; (at = strstr(at, name)); at += len)
    if ((at == text || !is_word_char(at[-1])) && at[len] == '(') return at;
  return NULL;
}

static const char *skip_parens(const char *open) {
  int depth = 0;
  for (const char *c = open; *c; c++) {
    if (*c == '(') depth++;
    if (*c == ')' && --depth == 0) return c + 1;
  }
  return NULL;
}

/* Copies without attributes and __kernel, which libclang prints where they cannot be read again. */
static kf_status append_plain(kf_buf *buf, const char *text, size_t len, kf_err *err) {
  static const char attribute[] = "__attribute__((", kernel[] = "__kernel";
  const char *end = text + len;
  while (text < end) {
    if ((size_t)(end - text) >= sizeof attribute && strncmp(text, attribute, sizeof attribute - 1) == 0) {
      const char *after = skip_parens(text + strlen("__attribute__"));
      if (!after || after > end) break;
      if (memmem(text, (size_t)(after - text), "ext_vector_type", 15))
        KF_TRY(kf_buf_append(buf, text, (size_t)(after - text), err)); /* part of the type */
      text = after;
    } else if ((size_t)(end - text) >= sizeof kernel - 1 && strncmp(text, kernel, sizeof kernel - 1) == 0) {
      text += sizeof kernel - 1;
    } else {
      KF_TRY(kf_buf_append(buf, text++, 1, err));
    }
  }
  return KF_OK;
}

/* The body without pragmas: the printed form of some cannot be read again, and none is evidence. */
static kf_status append_body(kf_buf *buf, const char *body, kf_err *err) {
  for (const char *line = body; *line;) {
    const char *end = strchr(line, '\n');
    end = end ? end + 1 : line + strlen(line);
    const char *word = line + strspn(line, " \t");
    if (*word != '#') KF_TRY(kf_buf_append(buf, line, (size_t)(end - line), err));
    line = end;
  }
  return kf_buf_puts(buf, "\n", err);
}

static kf_status print_function(printer *p, CXCursor cursor, const char *text) {
  CXString name = p->api->getCursorSpelling(cursor);
  const char *at = find_name(text, p->api->getCString(name));
  const char *after = at ? skip_parens(at + strlen(p->api->getCString(name))) : NULL;
  p->api->disposeString(name);
  if (!after) return KF_OK; /* a form that is not known: its calls stay unresolved */
  if (strstr(text, "__attribute__((overloadable))"))
    KF_TRY(kf_buf_puts(p->buf, "__attribute__((overloadable)) ", p->err));
  const char *body = p->api->isCursorDefinition(cursor) ? strstr(after, "{\n") : NULL;
  size_t head = body ? (size_t)(body - text) : strlen(text);
  if (memmem(text, head, "__kernel", 8)) KF_TRY(kf_buf_puts(p->buf, "__kernel ", p->err));
  KF_TRY(append_plain(p->buf, text, (size_t)(after - text), p->err));
  return body ? append_body(p->buf, body, p->err) : kf_buf_puts(p->buf, ";\n", p->err);
}

/* A struct or enum without a name prints without one even if a typedef names it: the name is put in. */
static kf_status print_tag(printer *p, CXCursor cursor, const char *text) {
  const char *brace = strchr(text, '{');
  if (!brace) return kf_buf_printf(p->buf, p->err, "%s;\n", text);
  CXString type = p->api->getTypeSpelling(p->api->getCursorType(cursor));
  const char *name = p->api->getCString(type);
  const char *space = strrchr(name, ' ');
  if (space && !strchr(name, '(')) name = space + 1;
  size_t head = (size_t)(brace - text);
  bool named = strchr(name, '(') || memmem(text, head, name, strlen(name));
  kf_status status = kf_buf_printf(p->buf, p->err, "%.*s%s %s;\n", (int)head, text, named ? "" : name, brace);
  p->api->disposeString(type);
  return status;
}

static bool is_printed(printer *p, CXCursor cursor) {
  CXFile file = NULL;
  unsigned offset = 0;
  p->api->getExpansionLocation(p->api->getCursorLocation(cursor), &file, NULL, NULL, &offset);
  return file && p->api->File_isEqual(file, p->file) && offset >= p->from;
}

static enum CXChildVisitResult print_one(CXCursor cursor, CXCursor parent, CXClientData data) {
  (void)parent;
  printer *p = data;
  if (!is_printed(p, cursor)) return CXChildVisit_Continue;
  CXPrintingPolicy policy = p->api->getCursorPrintingPolicy(cursor);
  CXString printed = p->api->getCursorPrettyPrinted(cursor, policy);
  const char *text = p->api->getCString(printed);
  if (text && *text) switch (p->api->getCursorKind(cursor)) {
    case CXCursor_FunctionDecl:
      p->status = print_function(p, cursor, text);
      break;
    case CXCursor_StructDecl:
    case CXCursor_UnionDecl:
    case CXCursor_EnumDecl:
      p->status = print_tag(p, cursor, text);
      break;
    default:
      p->status = kf_buf_printf(p->buf, p->err, "%s;\n", text);
      break;
    }
  p->api->disposeString(printed);
  p->api->PrintingPolicy_dispose(policy);
  return p->status == KF_OK ? CXChildVisit_Continue : CXChildVisit_Break;
}

kf_status kf__normal_form(const kf_clang_api *api, CXTranslationUnit unit, const char *file, unsigned from,
                          kf_buf *buf, kf_err *err) {
  printer p = {.api = api, .file = api->getFile(unit, file), .from = from, .buf = buf, .err = err};
  api->visitChildren(api->getTranslationUnitCursor(unit), print_one, &p);
  return p.status;
}
