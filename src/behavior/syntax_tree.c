/* syntax_tree.c - walking helpers of the syntax tree. */
#include "behavior/syntax_tree_int.h"

#include <string.h>

void kf__tree_done(kf_syntax_tree *tree) {
  kf_vec_done(&tree->nodes);
  kf_vec_done(&tree->decls);
  kf_arena_done(&tree->arena);
}

int kf__tree_child(const kf_syntax_tree *tree, int node, int index) {
  int child = tree->nodes.items[node].child;
  while (child && index-- > 0)
    child = tree->nodes.items[child].next;
  return child;
}

int kf__tree_function(const kf_syntax_tree *tree, const char *name) {
  for (size_t i = 1; i < tree->decls.count; i++) {
    const kf_decl *decl = &tree->decls.items[i];
    if (decl->kind == KF_DECL_FUNCTION && decl->body && strcmp(decl->name, name) == 0) return (int)i;
  }
  return 0;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t kf__tree_mix(uint64_t hash, uint64_t value) {
  uint64_t z = (hash ^ value) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}
