/* syntax_tree_int.h - the syntax tree that the evidence is read from: small, independent of libclang and of
 * the language.
 *
 * Nodes and declarations are indices into one array each (0 is "none"), so the tree is freed at once.
 * Parentheses and implicit casts are gone. Immutable after it was read. */
#ifndef KF_BEHAVIOR_SYNTAX_TREE_INT_H
#define KF_BEHAVIOR_SYNTAX_TREE_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include <stdint.h>

typedef enum { KF_SPACE_NONE, KF_SPACE_GLOBAL, KF_SPACE_LOCAL, KF_SPACE_CONSTANT, KF_SPACE_PRIVATE } kf_space;

typedef enum {
  KF_NODE_NONE,
  /* expressions */
  KF_NODE_GROUP,     /* children are evaluated in order; the value joins theirs */
  KF_NODE_CONSTANT,  /* number if known */
  KF_NODE_REF,       /* decl */
  KF_NODE_SUBSCRIPT, /* base, index */
  KF_NODE_DEREF,     /* pointer */
  KF_NODE_ADDRESS,   /* object */
  KF_NODE_MEMBER,    /* base object; text hash in number */
  KF_NODE_ARROW,     /* pointer; text hash in number */
  KF_NODE_UNARY,     /* op: - ~ ! + */
  KF_NODE_STEP,      /* ++ or --; op KF_OP_ADD or KF_OP_SUB */
  KF_NODE_BINARY,    /* op, left, right */
  KF_NODE_ASSIGN,    /* op: KF_OP_NONE for =, else the operator before =; target, value */
  KF_NODE_CHOICE,    /* condition, then, else */
  KF_NODE_CALL,      /* decl of the function (0 if unknown); arguments */
  /* statements */
  KF_NODE_BLOCK,
  KF_NODE_VAR,    /* decl, initialiser if any */
  KF_NODE_IF,     /* condition, then, else (may be missing) */
  KF_NODE_FOR,    /* init, condition, step, body: always four, KF_NODE_NONE where missing */
  KF_NODE_WHILE,  /* as FOR, init and step missing */
  KF_NODE_DO,     /* as WHILE; the body comes before the condition in time */
  KF_NODE_SWITCH, /* condition, body */
  KF_NODE_LABEL, /* statement below; op KF_OP_EQ: case (number if constant), KF_OP_NE: default, else goto's */
  KF_NODE_RETURN, /* value if any */
  KF_NODE_BREAK,
  KF_NODE_CONTINUE,
  KF_NODE_GOTO,
} kf_node_kind;

typedef enum {
  KF_OP_NONE,
  KF_OP_ADD,
  KF_OP_SUB,
  KF_OP_MUL,
  KF_OP_DIV,
  KF_OP_MOD,
  KF_OP_SHL,
  KF_OP_SHR,
  KF_OP_AND,
  KF_OP_OR,
  KF_OP_XOR,
  KF_OP_LT,
  KF_OP_GT,
  KF_OP_LE,
  KF_OP_GE,
  KF_OP_EQ,
  KF_OP_NE,
  KF_OP_BOTH,   /* && */
  KF_OP_EITHER, /* || */
  KF_OP_COMMA,
  KF_OP_NEGATE,
  KF_OP_NOT,
  KF_OP_INVERT, /* ~ */
  KF_OP_PLUS,
} kf_op;

typedef struct {
  uint8_t lanes;    /* of a vector, else 1 */
  uint8_t space;    /* kf_space of the object an lvalue names */
  uint8_t target;   /* kf_space that a pointer points into */
  bool is_pointer;  /* pointer value */
  bool is_array;    /* an lvalue of array type */
  bool is_integer;  /* integer or vector of integers */
  int64_t elements; /* of an array, all extents multiplied; else 1 */
} kf_node_type;

typedef struct {
  uint8_t kind, op;
  kf_node_type type;
  bool has_number;
  int decl;
  int child, next; /* first child, next sibling */
  int64_t number;
} kf_node;

typedef enum { KF_DECL_VARIABLE, KF_DECL_PARAMETER, KF_DECL_FUNCTION } kf_decl_kind;

typedef struct {
  kf_decl_kind kind;
  const char *name; /* functions; NULL else: names of variables say nothing */
  kf_node_type type;
  int body;                 /* function defined in the source: its block, else 0 */
  int first_param, nparams; /* function: params are consecutive declarations */
} kf_decl;

typedef struct {
  KF_VEC(kf_node) nodes;
  KF_VEC(kf_decl) decls;
  kf_arena arena; /* names */
} kf_syntax_tree;

void kf__tree_done(kf_syntax_tree *tree);
/* Child number `index` of a node, 0 if there are fewer. */
int kf__tree_child(const kf_syntax_tree *tree, int node, int index);
/* Declaration of the function defined under this name, 0 if there is none. */
int kf__tree_function(const kf_syntax_tree *tree, const char *name);
/* Mixes a value into a structural hash. */
uint64_t kf__tree_mix(uint64_t hash, uint64_t value);

#endif
