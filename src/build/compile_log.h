/* compile_log.h - a compiler's log as a list of complaints (docs/formats/verdict.md, Compile errors).
 *
 * Forms that are read, one complaint a line; everything else is skipped:
 *   FILE:LINE:COL: error: TEXT          clang, gcc; also "fatal error", and without COL
 *   error: FILE:LINE:COL: TEXT          PoCL; with " <Spelling=...>" before the colon inside of a macro
 *   error: TEXT, Cannot find symbol NAME ..., undefined reference to ...      linkers, no place
 * The log comes from outside: any bytes, any length. Threads: pure. */
#ifndef KF_BUILD_COMPILE_LOG_H
#define KF_BUILD_COMPILE_LOG_H

#include "wire/verdict.h"

/* Errors in the order of the log, at most `max`; a complaint that repeats the place and text of one before
 * it is left out. Returns their number. */
int kf_compile_log_errors(const char *log, size_t len, kf_compile_error *ret_errors, int max);
/* What kind of mistake a message speaks of: "undeclared", "type", "syntax", "address_space", "builtin",
 * "limit", "preprocessor", "other". */
const char *kf_compile_log_category(const char *message);

#endif
