/* normal_form_int.h - the source without comments, macros and conditional parts: what libclang prints of its
 * own tree.
 *
 * Up to version 16 libclang does not say which operator an expression has, and in a source with macros the
 * text between two operands cannot be found. So the source is parsed, printed and parsed again: in the
 * printed text every operator stands between its operands. */
#ifndef KF_BEHAVIOR_NORMAL_FORM_INT_H
#define KF_BEHAVIOR_NORMAL_FORM_INT_H

#include "base/buf.h"
#include "behavior/clang_api_int.h"

enum { KF_NORMAL_FORM_MAX = 4 << 20 };

/* Appends what the declarations at or after byte `from` of the main file print as. */
kf_status kf__normal_form(const kf_clang_api *api, CXTranslationUnit unit, const char *file, unsigned from,
                          kf_buf *buf, kf_err *err);

#endif
