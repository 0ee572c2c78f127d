/* walk_int.h - the walk through one launched kernel that finds its evidence.
 *
 * The walk is an abstract run: statements in order, helper functions inlined at their calls, branches whose
 * condition is constant skipped, loops that hold a barrier walked twice (so that what one iteration leaves to
 * the next is seen). A value is a kf_flow: which memory it may point into, whose contents reach it, what was
 * done to them. Nothing is computed but integer constants. Bounded in steps, depth and objects: a hostile
 * source makes the evidence unknown, never the walk endless. Owns its variables; borrows the tree. Threads:
 * one walk, one thread. */
#ifndef KF_BEHAVIOR_WALK_INT_H
#define KF_BEHAVIOR_WALK_INT_H

#include "behavior/syntax_tree_int.h"
#include "wire/verdict.h"

typedef uint64_t kf_objects; /* set of indices into kf_walk.objects */

enum {
  KF_WALK_OBJECTS_MAX = 64,
  KF_WALK_LOOPS_MAX = 48,
  KF_WALK_CALLS_MAX = 16,
  KF_WALK_DEPTH_MAX = 2000,
  KF_WALK_STEPS_MAX = 3000000,
  KF_WALK_FORMS_MAX = 64,
  KF_WALK_UNROLLED_MAX = 64, /* a constant trip count up to this is taken for an unrolled loop */
};

/* What is known of a value besides its sources. */
enum {
  KF_FLOW_LOCAL_ID = 1 << 0,  /* differs between the items of a group */
  KF_FLOW_GROUP_ID = 1 << 1,  /* differs between groups */
  KF_FLOW_LINEAR = 1 << 2,    /* numbers all items, or all groups' first items */
  KF_FLOW_SIZE = 1 << 3,      /* a size of the launch */
  KF_FLOW_PARAM = 1 << 4,     /* from a by-value argument */
  KF_FLOW_ROUNDED = 1 << 5,   /* a by-value argument rounded to a multiple or its remainder */
  KF_FLOW_CONTINUED = 1 << 6, /* the variable of a loop that has ended */
  KF_FLOW_ACC = 1 << 7,       /* accumulated over a loop or a group */
  KF_FLOW_SPLIT = 1 << 8,     /* accumulated over a part only: the loop's bounds differ between groups */
  KF_FLOW_LINEAR_LOAD = 1 << 9,
  KF_FLOW_ONE_ITEM = 1 << 10, /* a condition that one item of a group fulfils */
  KF_FLOW_NOT_ONE = 1 << 11,  /* its negation */
};

enum { KF_FLOW_SEVERAL = 1 };

/* What was done to loaded values. */
enum {
  KF_DONE_ADD = 1 << 0,
  KF_DONE_MUL = 1 << 1,
  KF_DONE_EXTREME = 1 << 2,
  KF_DONE_BITS = 1 << 3,
  KF_DONE_OTHER = 1 << 4,
};

typedef struct {
  kf_objects points;  /* objects a pointer may point into */
  kf_objects loads;   /* objects whose contents reach the value */
  uint64_t form;      /* equal for structurally equal values */
  uint64_t read_form; /* of the element of local memory in it, KF_FLOW_SEVERAL if there are more */
  int64_t number;
  bool known; /* number is the value */
  uint16_t flags, done;
  uint32_t phase, moment; /* of the youngest load from global memory in it */
} kf_flow;

typedef struct {
  uint32_t serials[KF_WALK_LOOPS_MAX];
  int count;
} kf_loop_path;

typedef struct {
  kf_flow flow;
  int object;         /* 1 + index, if the variable is an object in memory */
  int branch;         /* depth of branches at its declaration */
  kf_loop_path reset; /* loops around its last plain assignment */
} kf_variable;

/* A piece of memory: an argument's buffer, a local or private array. Facts are of one launch. */
typedef struct {
  kf_space space;
  int decl, buffer; /* -1: none */
  int64_t elements; /* 0: not known */
  int lanes;
  kf_flow content;    /* joined over all stores */
  kf_loop_path reset; /* private: loops around the last plain store */
  bool accumulated;   /* holds accumulated values */

  /* local memory */
  bool direct;        /* a value from global memory was stored, not accumulated on the way */
  kf_objects sources; /* where it came from */
  uint32_t direct_phase;
  uint64_t direct_form; /* of the index stored to */
  bool direct_many;     /* stored to at several indices */
  bool combined;        /* elements are combined with each other by one operation: scratch of a reduction */
  uint64_t move_forms[2];
  int nmoves; /* elements move under a comparison of elements, to so many different places (at most 2) */
  uint64_t fixed_forms[2];
  int nfixed;
  bool reused;            /* read after a barrier, by others or repeatedly */
  bool through_registers; /* loaded before, stored after the previous contents were used */
  bool doubled;           /* filled while it is being read */
  uint32_t read_moment, loop_read_phase, loop_store_phase, loop_store_moment;
  uint64_t loop_read_form, loop_store_form;

  /* private memory */
  bool filled; /* with values from global or local memory */
  bool fed;    /* into an accumulator */

  /* global memory */
  bool read, written, copied, split;
} kf_object;

typedef struct {
  int node; /* 0: the kernel itself */
  uint32_t serial;
  bool unrolled, split, tail;
  kf_objects direct;                   /* read in this loop, outside of nested ones */
  uint8_t nested[KF_WALK_OBJECTS_MAX]; /* sweeps of the loops within */
} kf_loop;

typedef struct {
  int loop, decl; /* node of the loop, variable */
  bool dynamic;   /* index not constant: all elements */
  int64_t elements, lanes;
  uint64_t forms[KF_WALK_FORMS_MAX];
  int nforms;
} kf_accumulator;

/* Where an lvalue is. */
typedef struct {
  int var; /* declaration of a variable in registers, else 0 */
  kf_objects objects;
  uint64_t form;
  bool fixed;     /* constant index */
  uint16_t flags; /* of the index */
  int lanes;
  kf_space space;
} kf_spot;

typedef struct {
  const kf_syntax_tree *tree;
  kf_variable *vars; /* by declaration */
  bool *barriers;    /* by node: holds a barrier, itself or in a helper that it calls */
  kf_object objects[KF_WALK_OBJECTS_MAX];
  int nobjects;
  kf_objects of_space[KF_SPACE_PRIVATE + 1];
  kf_objects partial; /* buffers with partial results of an earlier launch */
  kf_loop loops[KF_WALK_LOOPS_MAX];
  int nloops;
  int calls[KF_WALK_CALLS_MAX];
  int ncalls;
  kf_flow returned;
  uint32_t phase, moment, serial;
  int depth, branch, one_item;
  long steps;
  bool exhausted, counting, out_of_memory;
  kf_objects guard_loads; /* read by the conditions in force */
  uint64_t guard_vars;    /* variables in them, a bit for each modulo 64 */
  uint64_t seen_vars;     /* collected while a condition is evaluated */
  kf_spot self;           /* target of the assignment being evaluated */
  int self_hits;
  KF_VEC(kf_accumulator) accumulators;
  kf_evidence *evidence;
} kf_walk;

/* ---- walk_value.c ---- */
kf_flow kf__flow_join(kf_flow a, kf_flow b);
kf_flow kf__flow_binary(kf_op op, kf_flow a, kf_flow b);
kf_flow kf__flow_unary(kf_op op, kf_flow a);

/* ---- walk_memory.c ---- */
/* Index of a new object; the last ones are shared when there are too many. */
int kf__walk_add_object(kf_walk *w, kf_space space, int decl, int64_t elements, int lanes);
kf_flow kf__walk_load(kf_walk *w, const kf_spot *spot);
/* `is_self`: the value contains the old one. */
void kf__walk_store(kf_walk *w, const kf_spot *spot, kf_flow value, bool is_self);
void kf__walk_note_accumulator(kf_walk *w, const kf_spot *spot, int first_loop);
/* Loops around here that do not lie around the last plain assignment: index of the outermost, or nloops. */
int kf__walk_carried_from(const kf_walk *w, const kf_spot *spot);
void kf__walk_path(const kf_walk *w, kf_loop_path *ret_path);
bool kf__object_is_scratch(const kf_object *object);

/* ---- walk_expr.c, walk_call.c ---- */
kf_flow kf__walk_expr(kf_walk *w, int node);
kf_flow kf__walk_call(kf_walk *w, int node);
/* Counts a step; false when the walk has to end. */
bool kf__walk_step(kf_walk *w);
/* Variable or array behind a declaration, made at first use. */
kf_spot kf__walk_decl_spot(kf_walk *w, int decl);
void kf__walk_declare(kf_walk *w, int node);

/* ---- walk_stmt.c ---- */
void kf__walk_stmt(kf_walk *w, int node);
/* Forgets the numbers of all variables assigned below `node`. */
void kf__walk_forget(kf_walk *w, int node);

/* ---- walk.c ---- */
kf_status kf__walk_new(const kf_syntax_tree *tree, kf_evidence *evidence, kf_walk **ret_walk, kf_err *err);
void kf__walk_free(kf_walk *walk);
/* Walks a kernel whose parameters were bound in walk->vars. */
void kf__walk_kernel(kf_walk *walk, int function);
/* Adds what the launch shows of local and private memory to the evidence. */
void kf__walk_conclude(kf_walk *walk);
int kf__walk_sweeps(const kf_walk *walk, int object);

#endif
