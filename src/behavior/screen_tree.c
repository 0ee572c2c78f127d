/* screen_tree.c - what the text cannot show: declarations, casts and calls in libclang's tree of the whole
 * source, dead branches and unused functions included. */
#include "behavior/screen_int.h"

#include <ctype.h>
#include <string.h>

enum { SPACE_GLOBAL = 1, SPACE_LOCAL, SPACE_CONSTANT, SPACE_PRIVATE, SPACE_GENERIC, TYPE_DEPTH_MAX = 16 };

typedef struct {
  const kf_clang_api *api;
  CXCursor unit; /* its kind has another number from version 15 on: never compared by kind */
  CXFile file;
  unsigned from, lines;
  kf_screen *screen;
} tree_screen;

static bool place_of(const tree_screen *s, CXSourceLocation location, unsigned *ret_line,
                     unsigned *ret_column) {
  CXFile file = NULL;
  unsigned offset = 0;
  s->api->getExpansionLocation(location, &file, ret_line, ret_column, &offset);
  if (!file || !s->api->File_isEqual(file, s->file) || offset < s->from) return false;
  *ret_line -= *ret_line > s->lines ? s->lines : 0;
  return true;
}

static void refuse(tree_screen *s, CXCursor cursor, const char *rule, const char *text) {
  unsigned line = 1, column = 1;
  place_of(s, s->api->getCursorLocation(cursor), &line, &column);
  kf__screen_refuse(s->screen, rule, line, column, "%s", text);
}

static void refuse_named(tree_screen *s, CXCursor cursor, const char *rule, const char *format_before,
                         const char *after) {
  char text[300];
  CXString name = s->api->getCursorSpelling(cursor);
  snprintf(text, sizeof text, "%s\"%.80s\"%s", format_before, s->api->getCString(name), after);
  s->api->disposeString(name);
  refuse(s, cursor, rule, text);
}

/* ---- types ---- */

static bool is_array(CXType type) {
  return type.kind == CXType_ConstantArray || type.kind == CXType_IncompleteArray ||
         type.kind == CXType_VariableArray;
}

/* The type of the elements of arrays of arrays, and the address space on the way. */
static CXType without_arrays(const tree_screen *s, CXType type, unsigned *ret_space) {
  type = s->api->getCanonicalType(type);
  *ret_space = s->api->getAddressSpace(type);
  for (int i = 0; i < TYPE_DEPTH_MAX && is_array(type); i++) {
    type = s->api->getCanonicalType(s->api->getElementType(type));
    if (!*ret_space) *ret_space = s->api->getAddressSpace(type);
  }
  return type;
}

typedef struct {
  const tree_screen *s;
  bool found;
  int depth;
} pointer_search;

static bool holds_pointer(const tree_screen *s, CXType type, int depth);

static enum CXVisitorResult search_field(CXCursor field, CXClientData data) {
  pointer_search *search = data;
  search->found = holds_pointer(search->s, search->s->api->getCursorType(field), search->depth + 1);
  return search->found ? CXVisit_Break : CXVisit_Continue;
}

/* A pointer, or an array or a record with one inside. */
static bool holds_pointer(const tree_screen *s, CXType type, int depth) {
  unsigned space;
  type = without_arrays(s, type, &space);
  if (type.kind == CXType_Pointer || type.kind == CXType_BlockPointer || depth > TYPE_DEPTH_MAX) return true;
  if (type.kind != CXType_Record) return false;
  pointer_search search = {.s = s, .depth = depth};
  s->api->Type_visitFields(type, search_field, &search);
  return search.found;
}

static bool is_integer(CXType type) {
  return (type.kind >= CXType_Bool && type.kind <= CXType_Int128) || type.kind == CXType_Enum;
}

static unsigned space_of_target(const tree_screen *s, CXType pointer) {
  unsigned space = s->api->getAddressSpace(s->api->getPointeeType(pointer));
  return space ? space : SPACE_PRIVATE;
}

/* The spelling without qualifiers, which may differ. */
static void plain_spelling(const tree_screen *s, CXType type, char ret_text[256]) {
  static const char *const words[] = {"const ", "volatile ", "restrict ", NULL};
  CXString spelled = s->api->getTypeSpelling(s->api->getCanonicalType(type));
  const char *text = s->api->getCString(spelled);
  size_t len = 0;
  while (*text && len < 255) {
    int skipped = 0;
    for (int i = 0; words[i]; i++)
      if (strncmp(text, words[i], strlen(words[i])) == 0) {
        text += strlen(words[i]);
        skipped = 1;
        break;
      }
    if (!skipped) ret_text[len++] = *text++;
  }
  ret_text[len] = '\0';
  s->api->disposeString(spelled);
}

/* ---- casts ---- */

typedef struct {
  const tree_screen *s;
  CXCursor items[2];
  int count;
} operands;

static enum CXChildVisitResult take_operand(CXCursor cursor, CXCursor parent, CXClientData data) {
  (void)parent;
  operands *o = data;
  enum CXCursorKind kind = o->s->api->getCursorKind(cursor);
  if (kind < CXCursor_FirstExpr || kind > CXCursor_LastExpr) return CXChildVisit_Continue;
  if (o->count < 2) o->items[o->count] = cursor;
  o->count++;
  return CXChildVisit_Continue;
}

static operands operands_of(const tree_screen *s, CXCursor cursor) {
  operands o = {.s = s};
  s->api->visitChildren(cursor, take_operand, &o);
  return o;
}

static CXType type_of(const tree_screen *s, CXCursor cursor) {
  return s->api->getCanonicalType(s->api->getCursorType(cursor));
}

static bool is_zero(const tree_screen *s, CXCursor cursor) {
  CXEvalResult result = s->api->Cursor_Evaluate(cursor);
  if (!result) return false;
  bool zero =
      s->api->EvalResult_getKind(result) == CXEval_Int && s->api->EvalResult_getAsLongLong(result) == 0;
  s->api->EvalResult_dispose(result);
  return zero;
}

/* Casts and parentheses around an integer 0 of pointer type. */
static bool is_null(const tree_screen *s, CXCursor cursor) {
  for (int i = 0; i < TYPE_DEPTH_MAX; i++) {
    operands o = operands_of(s, cursor);
    if (o.count != 1) return false;
    if (type_of(s, cursor).kind == CXType_Pointer && is_integer(type_of(s, o.items[0])))
      return is_zero(s, o.items[0]);
    cursor = o.items[0];
  }
  return false;
}

static void screen_pointer_cast(tree_screen *s, CXCursor cursor, CXType to, CXType from) {
  unsigned to_space = space_of_target(s, to), from_space = space_of_target(s, from);
  if (to_space != from_space && to_space != SPACE_GENERIC)
    refuse(s, cursor, "address_space_cast",
           "a cast from one address space to another: a pointer stays in the space it was made in");
  CXType to_target = s->api->getPointeeType(to), from_target = s->api->getPointeeType(from);
  bool to_holds = holds_pointer(s, to_target, 0), from_holds = holds_pointer(s, from_target, 0);
  char to_text[256], from_text[256];
  plain_spelling(s, to_target, to_text);
  plain_spelling(s, from_target, from_text);
  if (to_holds != from_holds || (to_holds && strcmp(to_text, from_text) != 0))
    refuse(s, cursor, "pointer_reinterpretation",
           "a cast that reads pointers as other data, or other data as pointers");
}

/* A cast written out, or one that is implied (libclang has no name for those). */
static void screen_cast(tree_screen *s, CXCursor cursor) {
  operands o = operands_of(s, cursor);
  CXType to = type_of(s, cursor);
  if (o.count != 1 || to.kind != CXType_Pointer) return;
  CXType from = type_of(s, o.items[0]);
  if (is_integer(from) && !is_zero(s, o.items[0]))
    refuse(s, cursor, "integer_to_pointer",
           "an integer becomes a pointer: index the kernel's own buffers instead");
  if (from.kind == CXType_Pointer && !is_null(s, cursor)) screen_pointer_cast(s, cursor, to, from);
}

/* Arithmetic on a null pointer makes an address of the integer. A comparison gives an int. */
static void screen_null_arithmetic(tree_screen *s, CXCursor cursor) {
  operands o = operands_of(s, cursor);
  if (o.count != 2) return;
  CXType left = type_of(s, o.items[0]), right = type_of(s, o.items[1]), result = type_of(s, cursor);
  bool moves = is_integer(left) || is_integer(right);
  bool subtracts = left.kind == CXType_Pointer && right.kind == CXType_Pointer && result.kind == CXType_Long;
  if (!moves && !subtracts) return;
  for (int i = 0; i < 2; i++)
    if (type_of(s, o.items[i]).kind == CXType_Pointer && is_null(s, o.items[i]))
      refuse(s, cursor, "integer_to_pointer", "arithmetic on a null pointer makes a pointer of an integer");
}

/* ---- declarations ---- */

static bool is_program_scope(const tree_screen *s, CXCursor parent) {
  return s->api->equalCursors(parent, s->unit) != 0;
}

static void screen_type(tree_screen *s, CXCursor cursor) {
  CXType type = type_of(s, cursor);
  if (type.kind == CXType_Pipe || type.kind == CXType_OCLQueue || type.kind == CXType_OCLReserveID ||
      type.kind == CXType_BlockPointer)
    refuse_named(s, cursor, "device_launch", "", ": pipes, queues and blocks are not for these kernels");
}

static void screen_variable(tree_screen *s, CXCursor cursor, CXCursor parent) {
  unsigned space;
  without_arrays(s, s->api->getCursorType(cursor), &space);
  enum CX_StorageClass storage = s->api->Cursor_getStorageClass(cursor);
  screen_type(s, cursor);
  if (is_program_scope(s, parent) && (space != SPACE_CONSTANT || storage == CX_SC_Extern))
    refuse_named(
        s, cursor, "program_scope_variable", "",
        ": outside of functions only __constant data with a value may stand: nothing is kept between "
        "launches");
  else if ((storage == CX_SC_Static || storage == CX_SC_Extern) && space != SPACE_CONSTANT)
    refuse_named(s, cursor, "static_variable", "",
                 ": a static variable outlives the launch: pass values by buffers and temps");
  if (space == SPACE_LOCAL && holds_pointer(s, s->api->getCursorType(cursor), 0))
    refuse_named(s, cursor, "pointer_reinterpretation", "", ": pointers may not lie in local memory");
}

static void screen_param(tree_screen *s, CXCursor cursor) {
  CXType type = type_of(s, cursor);
  screen_type(s, cursor);
  if (type.kind != CXType_Pointer) return;
  unsigned space = space_of_target(s, type);
  if (space >= SPACE_GLOBAL && space <= SPACE_CONSTANT && holds_pointer(s, s->api->getPointeeType(type), 0))
    refuse_named(s, cursor, "pointer_reinterpretation", "", ": a buffer whose contents would be pointers");
}

static void screen_function(tree_screen *s, CXCursor cursor) {
  if (s->api->Cursor_isNull(s->api->getCursorDefinition(cursor)))
    refuse_named(s, cursor, "foreign_function", "",
                 " is declared but not defined: a kernel calls its own functions and those of OpenCL C only");
}

static enum CXVisitorResult screen_union_field(CXCursor field, CXClientData data) {
  tree_screen *s = data;
  if (holds_pointer(s, s->api->getCursorType(field), 0))
    refuse_named(s, field, "pointer_reinterpretation", "", ": a pointer in a union can be made of anything");
  return CXVisit_Continue;
}

static void screen_call(tree_screen *s, CXCursor cursor) {
  static const char *const launches[] = {"enqueue_", "read_pipe", "write_pipe", "reserve_", NULL};
  CXString name = s->api->getCursorSpelling(cursor);
  const char *text = s->api->getCString(name);
  bool is_own = !s->api->Cursor_isNull(s->api->getCursorDefinition(s->api->getCursorReferenced(cursor)));
  if (text && !is_own && kf__word_begins_with(text, launches))
    refuse_named(s, cursor, "device_launch", "",
                 ": a kernel may not launch work: describe launches in the plan");
  s->api->disposeString(name);
}

/* ---- the tree ---- */

static void screen_cursor(tree_screen *s, CXCursor cursor, CXCursor parent) {
  enum CXCursorKind kind = s->api->getCursorKind(cursor);
  switch (kind) {
  case CXCursor_GCCAsmStmt:
  case CXCursor_MSAsmStmt:
  case CXCursor_AsmLabelAttr:
    refuse(s, cursor, "inline_assembly", "a kernel may hold no assembly: write it in OpenCL C");
    break;
  case CXCursor_BlockExpr:
    refuse(s, cursor, "device_launch", "a block: these are for launches from the device");
    break;
  case CXCursor_VarDecl:
    screen_variable(s, cursor, parent);
    break;
  case CXCursor_ParmDecl:
    screen_param(s, cursor);
    break;
  case CXCursor_FunctionDecl:
    screen_function(s, cursor);
    break;
  case CXCursor_UnionDecl:
    s->api->Type_visitFields(s->api->getCursorType(cursor), screen_union_field, s);
    break;
  case CXCursor_CallExpr:
    screen_call(s, cursor);
    break;
  case CXCursor_CStyleCastExpr:
  case CXCursor_UnexposedExpr:
    screen_cast(s, cursor);
    break;
  case CXCursor_BinaryOperator:
  case CXCursor_CompoundAssignOperator:
  case CXCursor_ArraySubscriptExpr:
    screen_null_arithmetic(s, cursor);
    break;
  default:
    break;
  }
}

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data) {
  tree_screen *s = data;
  unsigned line, column;
  bool is_ours = place_of(s, s->api->getCursorLocation(cursor), &line, &column);
  if (!is_ours && is_program_scope(s, parent)) return CXChildVisit_Continue; /* the declarations in front */
  screen_cursor(s, cursor, parent);
  return s->screen->state == KF_SCREEN_REFUSED ? CXChildVisit_Break : CXChildVisit_Recurse;
}

/* What libclang could not read is not screened: the first such place. */
static void note_errors(tree_screen *s, CXTranslationUnit unit) {
  unsigned count = s->api->getNumDiagnostics(unit);
  for (unsigned i = 0; i < count && s->screen->state == KF_SCREEN_CLEAN; i++) {
    CXDiagnostic diagnostic = s->api->getDiagnostic(unit, i);
    if (s->api->getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
      kf_diagnosis *d = &s->screen->diagnosis;
      unsigned line = 1, column = 1;
      CXString text = s->api->getDiagnosticSpelling(diagnostic);
      place_of(s, s->api->getDiagnosticLocation(diagnostic), &line, &column);
      s->screen->state = KF_SCREEN_UNREADABLE;
      snprintf(d->kind, sizeof d->kind, "unreadable");
      snprintf(d->where, sizeof d->where, "kernel.cl:%u:%u", line, column);
      snprintf(d->text, sizeof d->text,
               "the compiler takes what the parser in front of it does not: %.200s: write it in OpenCL C 1.2",
               s->api->getCString(text));
      s->api->disposeString(text);
    }
    s->api->disposeDiagnostic(diagnostic);
  }
}

void kf__screen_tree(const kf_clang_api *api, CXTranslationUnit unit, const char *file, unsigned from,
                     unsigned lines, kf_screen *screen) {
  tree_screen s = {
      .api = api, .file = api->getFile(unit, file), .from = from, .lines = lines, .screen = screen};
  if (screen->state == KF_SCREEN_REFUSED) return;
  screen->state = KF_SCREEN_CLEAN;
  s.unit = api->getTranslationUnitCursor(unit);
  api->visitChildren(s.unit, visit, &s);
  note_errors(&s, unit);
}
