/* clang_api_int.h - libclang's C functions, found at run time: the program has to start where there is no
 * libclang. Owned by the process: opened once, never closed (libclang keeps threads and caches). Threads:
 * one. */
#ifndef KF_BEHAVIOR_CLANG_API_INT_H
#define KF_BEHAVIOR_CLANG_API_INT_H

#include "base/status.h"
#include <clang-c/Index.h>

/* Every function used, once; all of them exist in libclang 14 and later. */
#define KF_CLANG_FUNCTIONS(X)                                                                                \
  X(createIndex)                                                                                             \
  X(disposeIndex)                                                                                            \
  X(parseTranslationUnit2)                                                                                   \
  X(disposeTranslationUnit)                                                                                  \
  X(getTranslationUnitCursor)                                                                                \
  X(getNumDiagnostics)                                                                                       \
  X(getDiagnostic)                                                                                           \
  X(getDiagnosticSeverity)                                                                                   \
  X(getDiagnosticSpelling)                                                                                   \
  X(getDiagnosticLocation)                                                                                   \
  X(Type_visitFields)                                                                                        \
  X(Cursor_getStorageClass)                                                                                  \
  X(disposeDiagnostic)                                                                                       \
  X(getCString)                                                                                              \
  X(disposeString)                                                                                           \
  X(visitChildren)                                                                                           \
  X(getCursorLocation)                                                                                       \
  X(getCursorExtent)                                                                                         \
  X(getRangeStart)                                                                                           \
  X(getRangeEnd)                                                                                             \
  X(getExpansionLocation)                                                                                    \
  X(getFile)                                                                                                 \
  X(File_isEqual)                                                                                            \
  X(getCursorKind)                                                                                           \
  X(getCursorType)                                                                                           \
  X(getCursorSpelling)                                                                                       \
  X(getCursorReferenced)                                                                                     \
  X(getCursorDefinition)                                                                                     \
  X(getCursorPrintingPolicy)                                                                                 \
  X(PrintingPolicy_dispose)                                                                                  \
  X(getCursorPrettyPrinted)                                                                                  \
  X(isCursorDefinition)                                                                                      \
  X(getTypeSpelling)                                                                                         \
  X(getCanonicalType)                                                                                        \
  X(getPointeeType)                                                                                          \
  X(getElementType)                                                                                          \
  X(getNumElements)                                                                                          \
  X(getAddressSpace)                                                                                         \
  X(getEnumConstantDeclValue)                                                                                \
  X(Cursor_getVarDeclInitializer)                                                                            \
  X(equalCursors)                                                                                            \
  X(Cursor_isNull)                                                                                           \
  X(Cursor_Evaluate)                                                                                         \
  X(EvalResult_getKind)                                                                                      \
  X(EvalResult_getAsLongLong)                                                                                \
  X(EvalResult_dispose)

typedef struct {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): the argument names a field */
#define KF_CLANG_FIELD(name) __typeof__(&clang_##name) name;
  KF_CLANG_FUNCTIONS(KF_CLANG_FIELD)
#undef KF_CLANG_FIELD
} kf_clang_api;

/* Opens $KF_LIBCLANG if set, else the newest libclang from 20 down to 14. KF_ENODEV if there is none. */
kf_status kf__clang_open(const kf_clang_api **ret_api, kf_err *err);

#endif
