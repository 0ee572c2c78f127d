/* syntax_read.c - reads libclang's cursors into the syntax tree.
 *
 * libclang gives children without their roles and, before version 17, no operators. Roles come from the order
 * of the children and, in a for statement whose parts may be missing, from where they stand between the two
 * semicolons; the operator is the text between the operands (see normal_form_int.h). */
#include "behavior/syntax_read_int.h"

#include <ctype.h>
#include <string.h>

typedef KF_VEC(CXCursor) cursor_list;

typedef struct {
  unsigned offset;
  int decl;
} place_entry;

typedef struct {
  const kf_clang_api *api;
  kf_syntax_tree *tree;
  const char *text;
  size_t text_len;
  CXFile file;
  unsigned from;
  place_entry *places; /* open hash: where a declaration stands -> its index; offset 0 is free */
  size_t nplaces, room;
  int depth;
  kf_err *err;
} reader;

static kf_status read_node(reader *r, CXCursor cursor, int *ret_node);

/* ---- places of declarations ---- */

static size_t place_slot(const reader *r, unsigned offset) {
  size_t slot = (size_t)kf__tree_mix(0, offset) & (r->room - 1);
  while (r->places[slot].offset && r->places[slot].offset != offset)
    slot = (slot + 1) & (r->room - 1);
  return slot;
}

static kf_status place_put(reader *r, unsigned offset, int decl) {
  if (2 * (r->nplaces + 1) > r->room) {
    reader grown = {.room = r->room ? 2 * r->room : 256};
    grown.places = kf_calloc(grown.room, sizeof *grown.places);
    if (!grown.places) return kf_nomem(r->err);
    for (size_t i = 0; i < r->room; i++)
      if (r->places[i].offset) grown.places[place_slot(&grown, r->places[i].offset)] = r->places[i];
    kf_free(r->places);
    r->places = grown.places;
    r->room = grown.room;
  }
  size_t slot = place_slot(r, offset);
  r->nplaces += r->places[slot].offset == 0;
  r->places[slot] = (place_entry){offset, decl};
  return KF_OK;
}

static unsigned offset_of(const reader *r, CXSourceLocation location) {
  CXFile file = NULL;
  unsigned offset = 0;
  r->api->getExpansionLocation(location, &file, NULL, NULL, &offset);
  return file && r->api->File_isEqual(file, r->file) ? offset : 0;
}

/* The declaration a cursor of ours names, 0 if it stands outside the source. */
static int place_get(const reader *r, CXCursor decl) {
  unsigned offset = offset_of(r, r->api->getCursorLocation(decl));
  return offset >= r->from && r->room ? r->places[place_slot(r, offset)].decl : 0;
}

/* ---- types ---- */

static uint8_t space_of(const reader *r, CXType type) {
  if (type.kind == CXType_Invalid) return KF_SPACE_NONE;
  switch (r->api->getAddressSpace(type)) { /* clang's LangAS: OpenCL's spaces come first */
  case 1:
  case 6: /* device and host global memory, an extension */
  case 7:
    return KF_SPACE_GLOBAL;
  case 2:
    return KF_SPACE_LOCAL;
  case 3:
    return KF_SPACE_CONSTANT;
  case 4:
    return KF_SPACE_PRIVATE;
  default:
    return KF_SPACE_NONE;
  }
}

static kf_node_type node_type(const reader *r, CXType type) {
  kf_node_type out = {.lanes = 1, .elements = 1};
  if (type.kind == CXType_Invalid) return out;
  type = r->api->getCanonicalType(type);
  out.space = space_of(r, type);
  while (type.kind == CXType_ConstantArray || type.kind == CXType_IncompleteArray ||
         type.kind == CXType_VariableArray) {
    out.is_array = true;
    long long count = type.kind == CXType_ConstantArray ? r->api->getNumElements(type) : 0;
    if (count < 0 || (count && out.elements > INT64_MAX / count)) count = 0;
    out.elements *= count;
    type = r->api->getCanonicalType(r->api->getElementType(type));
    if (!out.space) out.space = space_of(r, type);
  }
  if (type.kind == CXType_ExtVector || type.kind == CXType_Vector) {
    long long lanes = r->api->getNumElements(type);
    out.lanes = lanes > 1 && lanes <= 16 ? (uint8_t)lanes : 1;
    type = r->api->getCanonicalType(r->api->getElementType(type));
  }
  out.is_pointer = type.kind == CXType_Pointer;
  if (out.is_pointer) out.target = space_of(r, r->api->getPointeeType(type));
  out.is_integer = type.kind >= CXType_Bool && type.kind <= CXType_Int128;
  return out;
}

/* ---- nodes ---- */

static kf_status new_node(reader *r, kf_node_kind kind, CXCursor cursor, int *ret_node) {
  if (r->tree->nodes.count >= KF_SYNTAX_NODES_MAX)
    return kf_fail(r->err, KF_EINVAL, "syntax tree: more than %d nodes", KF_SYNTAX_NODES_MAX);
  kf_node node = {.kind = (uint8_t)kind, .type = node_type(r, r->api->getCursorType(cursor))};
  if (kf_vec_push(&r->tree->nodes, node) != KF_OK) return kf_nomem(r->err);
  *ret_node = (int)r->tree->nodes.count - 1;
  return KF_OK;
}

static kf_node *node_at(reader *r, int node) {
  return &r->tree->nodes.items[node];
}

static kf_status new_decl(reader *r, kf_decl decl, int *ret_decl) {
  if (kf_vec_push(&r->tree->decls, decl) != KF_OK) return kf_nomem(r->err);
  *ret_decl = (int)r->tree->decls.count - 1;
  return KF_OK;
}

typedef struct {
  cursor_list *list;
  kf_status status;
} gathering;

static enum CXChildVisitResult gather_one(CXCursor cursor, CXCursor parent, CXClientData data) {
  (void)parent;
  gathering *g = data;
  g->status = kf_vec_push(g->list, cursor);
  return g->status == KF_OK ? CXChildVisit_Continue : CXChildVisit_Break;
}

static void list_done(cursor_list *list) {
  kf_vec_done(list);
}

/* Children that are code: names of types, attributes and members say nothing. */
static kf_status children(reader *r, CXCursor cursor, cursor_list *list) {
  gathering g = {.list = list};
  r->api->visitChildren(cursor, gather_one, &g);
  if (g.status != KF_OK) return kf_nomem(r->err);
  size_t kept = 0;
  for (size_t i = 0; i < list->count; i++) {
    enum CXCursorKind kind = r->api->getCursorKind(list->items[i]);
    bool is_code = (kind >= CXCursor_FirstExpr && kind <= CXCursor_LastExpr) ||
                   (kind >= CXCursor_FirstStmt && kind <= CXCursor_LastStmt) || kind == CXCursor_VarDecl;
    if (is_code) list->items[kept++] = list->items[i];
  }
  list->count = kept;
  return KF_OK;
}

/* Appends the children, read, to `node`; a missing one (null cursor) becomes a node of kind NONE. */
static kf_status add_children(reader *r, int node, const CXCursor *cursors, size_t count) {
  int last = 0;
  for (size_t i = 0; i < count; i++) {
    int child = 0;
    if (r->api->Cursor_isNull(cursors[i]))
      KF_TRY(new_node(r, KF_NODE_NONE, cursors[i], &child));
    else
      KF_TRY(read_node(r, cursors[i], &child));
    if (last)
      node_at(r, last)->next = child;
    else
      node_at(r, node)->child = child;
    last = child;
  }
  return KF_OK;
}

static void extent(const reader *r, CXCursor cursor, size_t *ret_begin, size_t *ret_end) {
  CXSourceRange range = r->api->getCursorExtent(cursor);
  size_t begin = offset_of(r, r->api->getRangeStart(range)), end = offset_of(r, r->api->getRangeEnd(range));
  if (end > r->text_len) end = r->text_len;
  *ret_begin = begin;
  *ret_end = end < begin ? begin : end;
}

/* ---- operators ---- */

typedef struct {
  const char *text;
  kf_op op;
} operator_row;

/* Longer ones before their beginnings. */
static const operator_row operators[] = {
    {"<<", KF_OP_SHL}, {">>", KF_OP_SHR},  {"<=", KF_OP_LE},     {">=", KF_OP_GE},   {"==", KF_OP_EQ},
    {"!=", KF_OP_NE},  {"&&", KF_OP_BOTH}, {"||", KF_OP_EITHER}, {"+", KF_OP_ADD},   {"-", KF_OP_SUB},
    {"*", KF_OP_MUL},  {"/", KF_OP_DIV},   {"%", KF_OP_MOD},     {"<", KF_OP_LT},    {">", KF_OP_GT},
    {"&", KF_OP_AND},  {"|", KF_OP_OR},    {"^", KF_OP_XOR},     {",", KF_OP_COMMA},
};

/* The operator that begins at `at` (blanks skipped); *ret_assigns if it is = or OP=. */
static kf_op operator_at(const char *at, size_t len, bool *ret_assigns) {
  while (len && isspace((unsigned char)*at))
    at++, len--;
  *ret_assigns = len >= 1 && at[0] == '=' && (len < 2 || at[1] != '=');
  if (*ret_assigns) return KF_OP_NONE;
  for (size_t i = 0; i < KF_COUNTOF(operators); i++) {
    size_t size = strlen(operators[i].text);
    if (len < size || memcmp(at, operators[i].text, size) != 0) continue;
    kf_op op = operators[i].op;
    bool compares = op >= KF_OP_LT && op <= KF_OP_EITHER;
    *ret_assigns = !compares && len > size && at[size] == '=';
    return op;
  }
  return KF_OP_NONE;
}

static kf_status read_binary(reader *r, CXCursor cursor, const cursor_list *kids, int *ret_node) {
  if (kids->count != 2) {
    KF_TRY(new_node(r, KF_NODE_GROUP, cursor, ret_node));
    return add_children(r, *ret_node, kids->items, kids->count);
  }
  size_t begin, left_end, right_begin, end;
  extent(r, kids->items[0], &begin, &left_end);
  extent(r, kids->items[1], &right_begin, &end);
  bool assigns = false;
  kf_op op =
      right_begin > left_end ? operator_at(r->text + left_end, right_begin - left_end, &assigns) : KF_OP_NONE;
  KF_TRY(new_node(r, assigns ? KF_NODE_ASSIGN : KF_NODE_BINARY, cursor, ret_node));
  node_at(r, *ret_node)->op = (uint8_t)op;
  return add_children(r, *ret_node, kids->items, kids->count);
}

static kf_status read_unary(reader *r, CXCursor cursor, const cursor_list *kids, int *ret_node) {
  size_t begin, end, kid_begin = 0, kid_end = 0;
  extent(r, cursor, &begin, &end);
  if (kids->count) extent(r, kids->items[0], &kid_begin, &kid_end);
  const char *sign = r->text + (kid_begin > begin ? begin : kid_end);
  kf_node_kind kind = KF_NODE_UNARY;
  kf_op op = KF_OP_PLUS;
  if (strncmp(sign, "++", 2) == 0)
    kind = KF_NODE_STEP, op = KF_OP_ADD;
  else if (strncmp(sign, "--", 2) == 0)
    kind = KF_NODE_STEP, op = KF_OP_SUB;
  else if (*sign == '*')
    kind = KF_NODE_DEREF;
  else if (*sign == '&')
    kind = KF_NODE_ADDRESS;
  else if (*sign == '-')
    op = KF_OP_NEGATE;
  else if (*sign == '!')
    op = KF_OP_NOT;
  else if (*sign == '~')
    op = KF_OP_INVERT;
  KF_TRY(new_node(r, kind, cursor, ret_node));
  node_at(r, *ret_node)->op = (uint8_t)op;
  return add_children(r, *ret_node, kids->items, kids->count);
}

/* ---- expressions ---- */

static void evaluate(reader *r, CXCursor cursor, int node) {
  CXEvalResult result = r->api->Cursor_Evaluate(cursor);
  if (!result) return;
  if (r->api->EvalResult_getKind(result) == CXEval_Int) {
    node_at(r, node)->has_number = true;
    node_at(r, node)->number = r->api->EvalResult_getAsLongLong(result);
  }
  r->api->EvalResult_dispose(result);
}

static kf_status read_constant(reader *r, CXCursor cursor, int *ret_node) {
  KF_TRY(new_node(r, KF_NODE_CONSTANT, cursor, ret_node));
  evaluate(r, cursor, *ret_node);
  return KF_OK;
}

static kf_status read_ref(reader *r, CXCursor cursor, int *ret_node) {
  CXCursor decl = r->api->getCursorReferenced(cursor);
  if (r->api->getCursorKind(decl) == CXCursor_EnumConstantDecl) {
    KF_TRY(new_node(r, KF_NODE_CONSTANT, cursor, ret_node));
    node_at(r, *ret_node)->has_number = true;
    node_at(r, *ret_node)->number = r->api->getEnumConstantDeclValue(decl);
    return KF_OK;
  }
  KF_TRY(new_node(r, KF_NODE_REF, cursor, ret_node));
  node_at(r, *ret_node)->decl = place_get(r, decl);
  return KF_OK;
}

/* `tail` is the text after the base: ".xy", "->m". */
static kf_status read_member(reader *r, CXCursor cursor, CXCursor base, const char *tail, size_t len,
                             int *ret_node) {
  while (len && isspace((unsigned char)*tail))
    tail++, len--;
  KF_TRY(new_node(r, len && *tail == '-' ? KF_NODE_ARROW : KF_NODE_MEMBER, cursor, ret_node));
  uint64_t hash = 0;
  for (size_t i = 0; i < len; i++)
    hash = kf__tree_mix(hash, (unsigned char)tail[i]);
  node_at(r, *ret_node)->number = (int64_t)hash;
  return add_children(r, *ret_node, &base, 1);
}

/* Implicit casts, parentheses, swizzles and everything libclang has no name for. */
static kf_status read_wrapper(reader *r, CXCursor cursor, const cursor_list *kids, int *ret_node) {
  if (kids->count == 1) {
    size_t begin, end, kid_begin, kid_end;
    extent(r, cursor, &begin, &end);
    extent(r, kids->items[0], &kid_begin, &kid_end);
    bool is_swizzle = kid_begin == begin && kid_end < end && strchr(".-", r->text[kid_end]);
    if (is_swizzle) return read_member(r, cursor, kids->items[0], r->text + kid_end, end - kid_end, ret_node);
    return read_node(r, kids->items[0], ret_node);
  }
  KF_TRY(new_node(r, KF_NODE_GROUP, cursor, ret_node));
  return add_children(r, *ret_node, kids->items, kids->count);
}

static kf_status read_member_ref(reader *r, CXCursor cursor, const cursor_list *kids, int *ret_node) {
  if (kids->count != 1) return read_wrapper(r, cursor, kids, ret_node);
  size_t begin, end, kid_begin, kid_end;
  extent(r, cursor, &begin, &end);
  extent(r, kids->items[0], &kid_begin, &kid_end);
  return read_member(r, cursor, kids->items[0], r->text + kid_end, end > kid_end ? end - kid_end : 0,
                     ret_node);
}

/* A function outside the source, by its name; each name has one declaration. */
static kf_status outside_function(reader *r, const char *name, int *ret_decl) {
  for (size_t i = 1; i < r->tree->decls.count; i++) {
    const kf_decl *decl = &r->tree->decls.items[i];
    if (decl->kind != KF_DECL_FUNCTION || decl->body || strcmp(decl->name, name) != 0) continue;
    *ret_decl = (int)i;
    return KF_OK;
  }
  char *copy = kf_arena_strdup(&r->tree->arena, name);
  if (!copy) return kf_nomem(r->err);
  return new_decl(r, (kf_decl){.kind = KF_DECL_FUNCTION, .name = copy}, ret_decl);
}

static kf_status read_call(reader *r, CXCursor cursor, const cursor_list *kids, int *ret_node) {
  KF_TRY(new_node(r, KF_NODE_CALL, cursor, ret_node));
  int decl = place_get(r, r->api->getCursorDefinition(r->api->getCursorReferenced(cursor)));
  if (!decl) {
    CXString name = r->api->getCursorSpelling(cursor);
    const char *text = r->api->getCString(name);
    kf_status status = text && *text ? outside_function(r, text, &decl) : KF_OK;
    r->api->disposeString(name);
    KF_TRY(status);
  }
  node_at(r, *ret_node)->decl = decl;
  return kids->count ? add_children(r, *ret_node, kids->items + 1, kids->count - 1) : KF_OK;
}

/* ---- statements ---- */

static kf_status read_var(reader *r, CXCursor cursor, int *ret_node) {
  KF_TRY(new_node(r, KF_NODE_VAR, cursor, ret_node));
  int decl = 0;
  kf_node_type type = node_at(r, *ret_node)->type;
  KF_TRY(new_decl(r, (kf_decl){.kind = KF_DECL_VARIABLE, .type = type}, &decl));
  KF_TRY(place_put(r, offset_of(r, r->api->getCursorLocation(cursor)), decl));
  node_at(r, *ret_node)->decl = decl;
  CXCursor value = r->api->Cursor_getVarDeclInitializer(cursor);
  return r->api->Cursor_isNull(value) ? KF_OK : add_children(r, *ret_node, &value, 1);
}

/* Where the two semicolons of "for (" stand, counted from text[begin). */
static void find_semicolons(const reader *r, size_t begin, size_t end, size_t ret_at[2]) {
  int depth = 0, found = 0;
  for (size_t i = begin; i < end && found < 2; i++) {
    char c = r->text[i];
    if (c == '"' || c == '\'') {
      for (i++; i < end && r->text[i] != c; i++)
        i += r->text[i] == '\\';
      continue;
    }
    if (c == '(' || c == '{') depth++;
    if (c == ')' || c == '}') depth--;
    if (c == ';' && depth == 1) ret_at[found++] = i;
  }
  while (found < 2)
    ret_at[found++] = end;
}

static kf_status read_loop(reader *r, CXCursor cursor, kf_node_kind kind, const cursor_list *kids,
                           int *ret_node) {
  CXCursor parts[4] = {{0}};
  for (size_t i = 0; i < 4; i++)
    parts[i].kind = CXCursor_InvalidFile; /* null */
  size_t begin, end, at[2];
  extent(r, cursor, &begin, &end);
  find_semicolons(r, begin, end, at);
  for (size_t i = 0; i < kids->count; i++) {
    size_t kid_begin, kid_end;
    extent(r, kids->items[i], &kid_begin, &kid_end);
    int part = i + 1 == kids->count ? 3 : kid_begin <= at[0] ? 0 : kid_begin <= at[1] ? 1 : 2;
    if (kind == KF_NODE_WHILE) part = i + 1 == kids->count ? 3 : 1;
    if (kind == KF_NODE_DO) part = i == 0 ? 3 : 1;
    parts[part] = kids->items[i];
  }
  KF_TRY(new_node(r, kind, cursor, ret_node));
  KF_TRY(add_children(r, *ret_node, parts, 4));
  int condition = kf__tree_child(r->tree, *ret_node, 1);
  if (node_at(r, condition)->kind != KF_NODE_NONE) evaluate(r, parts[1], condition);
  return KF_OK;
}

static kf_status read_branch(reader *r, CXCursor cursor, kf_node_kind kind, const cursor_list *kids,
                             int *ret_node) {
  KF_TRY(new_node(r, kind, cursor, ret_node));
  KF_TRY(add_children(r, *ret_node, kids->items, kids->count));
  if (kids->count) evaluate(r, kids->items[0], node_at(r, *ret_node)->child);
  return KF_OK;
}

/* Children of a case: its constant, of a range both ends, then the statement below. */
static kf_status read_label(reader *r, CXCursor cursor, const cursor_list *kids, int *ret_node) {
  KF_TRY(new_node(r, KF_NODE_LABEL, cursor, ret_node));
  enum CXCursorKind kind = r->api->getCursorKind(cursor);
  kf_op op = kind == CXCursor_CaseStmt ? KF_OP_EQ : kind == CXCursor_DefaultStmt ? KF_OP_NE : KF_OP_NONE;
  node_at(r, *ret_node)->op = (uint8_t)op;
  if (op == KF_OP_EQ && kids->count == 2) evaluate(r, kids->items[0], *ret_node);
  return kids->count ? add_children(r, *ret_node, &kids->items[kids->count - 1], 1) : KF_OK;
}

static kf_status read_plain(reader *r, CXCursor cursor, kf_node_kind kind, const cursor_list *kids,
                            int *ret_node) {
  KF_TRY(new_node(r, kind, cursor, ret_node));
  return add_children(r, *ret_node, kids->items, kids->count);
}

static kf_status read_by_kind(reader *r, CXCursor cursor, const cursor_list *kids, int *ret_node) {
  switch (r->api->getCursorKind(cursor)) {
  case CXCursor_IntegerLiteral:
  case CXCursor_CharacterLiteral:
  case CXCursor_FloatingLiteral:
  case CXCursor_StringLiteral:
  case CXCursor_UnaryExpr:
    return read_constant(r, cursor, ret_node);
  case CXCursor_DeclRefExpr:
    return read_ref(r, cursor, ret_node);
  case CXCursor_MemberRefExpr:
    return read_member_ref(r, cursor, kids, ret_node);
  case CXCursor_CallExpr:
    return read_call(r, cursor, kids, ret_node);
  case CXCursor_ArraySubscriptExpr:
    return read_plain(r, cursor, KF_NODE_SUBSCRIPT, kids, ret_node);
  case CXCursor_BinaryOperator:
  case CXCursor_CompoundAssignOperator:
    return read_binary(r, cursor, kids, ret_node);
  case CXCursor_UnaryOperator:
    return read_unary(r, cursor, kids, ret_node);
  case CXCursor_ConditionalOperator:
    return read_branch(r, cursor, KF_NODE_CHOICE, kids, ret_node);
  case CXCursor_VarDecl:
    return read_var(r, cursor, ret_node);
  case CXCursor_CompoundStmt:
  case CXCursor_DeclStmt:
    return read_plain(r, cursor, KF_NODE_BLOCK, kids, ret_node);
  case CXCursor_IfStmt:
    return read_branch(r, cursor, KF_NODE_IF, kids, ret_node);
  case CXCursor_SwitchStmt:
    return read_plain(r, cursor, KF_NODE_SWITCH, kids, ret_node);
  case CXCursor_LabelStmt:
  case CXCursor_CaseStmt:
  case CXCursor_DefaultStmt:
    return read_label(r, cursor, kids, ret_node);
  case CXCursor_ForStmt:
    return read_loop(r, cursor, KF_NODE_FOR, kids, ret_node);
  case CXCursor_WhileStmt:
    return read_loop(r, cursor, KF_NODE_WHILE, kids, ret_node);
  case CXCursor_DoStmt:
    return read_loop(r, cursor, KF_NODE_DO, kids, ret_node);
  case CXCursor_ReturnStmt:
    return read_plain(r, cursor, KF_NODE_RETURN, kids, ret_node);
  case CXCursor_BreakStmt:
    return read_plain(r, cursor, KF_NODE_BREAK, kids, ret_node);
  case CXCursor_ContinueStmt:
    return read_plain(r, cursor, KF_NODE_CONTINUE, kids, ret_node);
  case CXCursor_GotoStmt:
    return read_plain(r, cursor, KF_NODE_GOTO, kids, ret_node);
  default:
    return read_wrapper(r, cursor, kids, ret_node);
  }
}

static kf_status read_node(reader *r, CXCursor cursor, int *ret_node) {
  if (r->depth >= KF_SYNTAX_DEPTH_MAX)
    return kf_fail(r->err, KF_EINVAL, "syntax tree: deeper than %d", KF_SYNTAX_DEPTH_MAX);
  r->depth++;
  KF_CLEANUP(list_done) cursor_list kids = {0};
  kf_status status = children(r, cursor, &kids);
  if (status == KF_OK) status = read_by_kind(r, cursor, &kids, ret_node);
  r->depth--;
  return status;
}

/* ---- top level ---- */

static kf_status declare_function(reader *r, CXCursor cursor) {
  int function = 0, param = 0;
  CXString spelling = r->api->getCursorSpelling(cursor);
  char *name = kf_arena_strdup(&r->tree->arena, r->api->getCString(spelling));
  r->api->disposeString(spelling);
  if (!name) return kf_nomem(r->err);
  KF_TRY(new_decl(r, (kf_decl){.kind = KF_DECL_FUNCTION, .name = name}, &function));
  KF_TRY(place_put(r, offset_of(r, r->api->getCursorLocation(cursor)), function));
  KF_CLEANUP(list_done) cursor_list kids = {0};
  gathering g = {.list = &kids};
  r->api->visitChildren(cursor, gather_one, &g);
  if (g.status != KF_OK) return kf_nomem(r->err);
  for (size_t i = 0; i < kids.count; i++) {
    if (r->api->getCursorKind(kids.items[i]) != CXCursor_ParmDecl) continue;
    kf_decl decl = {.kind = KF_DECL_PARAMETER, .type = node_type(r, r->api->getCursorType(kids.items[i]))};
    KF_TRY(new_decl(r, decl, &param));
    KF_TRY(place_put(r, offset_of(r, r->api->getCursorLocation(kids.items[i])), param));
    kf_decl *f = &r->tree->decls.items[function];
    if (!f->nparams++) f->first_param = param;
  }
  return KF_OK;
}

static kf_status read_body(reader *r, CXCursor cursor) {
  KF_CLEANUP(list_done) cursor_list kids = {0};
  KF_TRY(children(r, cursor, &kids));
  int function = place_get(r, cursor), body = 0;
  for (size_t i = 0; i < kids.count; i++)
    if (r->api->getCursorKind(kids.items[i]) == CXCursor_CompoundStmt)
      KF_TRY(read_node(r, kids.items[i], &body));
  r->tree->decls.items[function].body = body;
  return KF_OK;
}

/* Functions are declared first, since a call may stand before the definition. */
static kf_status read_top(reader *r, const cursor_list *tops) {
  for (size_t i = 0; i < tops->count; i++)
    if (r->api->getCursorKind(tops->items[i]) == CXCursor_FunctionDecl &&
        r->api->isCursorDefinition(tops->items[i]))
      KF_TRY(declare_function(r, tops->items[i]));
  for (size_t i = 0; i < tops->count; i++) {
    int node = 0;
    enum CXCursorKind kind = r->api->getCursorKind(tops->items[i]);
    if (kind == CXCursor_VarDecl) KF_TRY(read_node(r, tops->items[i], &node));
    if (kind == CXCursor_FunctionDecl && r->api->isCursorDefinition(tops->items[i]))
      KF_TRY(read_body(r, tops->items[i]));
  }
  return KF_OK;
}

kf_status kf__syntax_read(const kf_clang_api *api, CXTranslationUnit unit, const char *file, const char *text,
                          unsigned from, kf_syntax_tree *tree, kf_err *err) {
  reader r = {.api = api, .tree = tree, .text = text, .text_len = strlen(text), .from = from, .err = err};
  r.file = api->getFile(unit, file);
  KF_CLEANUP(list_done) cursor_list tops = {0};
  gathering g = {.list = &tops};
  int none = 0;
  kf_status status = kf_vec_push(&tree->nodes, (kf_node){0}) == KF_OK ? KF_OK : kf_nomem(err);
  if (status == KF_OK) status = new_decl(&r, (kf_decl){0}, &none);
  if (status == KF_OK) {
    api->visitChildren(api->getTranslationUnitCursor(unit), gather_one, &g);
    status = g.status == KF_OK ? KF_OK : kf_nomem(err);
  }
  size_t kept = 0;
  for (size_t i = 0; i < tops.count; i++)
    if (offset_of(&r, api->getCursorLocation(tops.items[i])) >= from) tops.items[kept++] = tops.items[i];
  tops.count = kept;
  if (status == KF_OK) status = read_top(&r, &tops);
  kf_free(r.places);
  return status;
}
