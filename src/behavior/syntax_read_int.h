/* syntax_read_int.h - libclang's tree of a text in normal form -> our syntax tree. */
#ifndef KF_BEHAVIOR_SYNTAX_READ_INT_H
#define KF_BEHAVIOR_SYNTAX_READ_INT_H

#include "behavior/clang_api_int.h"
#include "behavior/syntax_tree_int.h"

enum { KF_SYNTAX_NODES_MAX = 400000, KF_SYNTAX_DEPTH_MAX = 1000 };

/* Reads the declarations at or after byte `from` of `file`, whose text is `text`. KF_EINVAL if the source is
 * larger or deeper than the limits above. The tree is the caller's also after a failure. */
kf_status kf__syntax_read(const kf_clang_api *api, CXTranslationUnit unit, const char *file, const char *text,
                          unsigned from, kf_syntax_tree *tree, kf_err *err);

#endif
