/* json_alloc.h - private to src/base: jansson's way to memory, and what makes its reader survive a failure.
 *
 * jansson's lexer does not look at the result when its token buffer fails to grow (lex_save() in load.c of
 * 2.14): a character is lost, and when the lost one is the closing quote the unescaping loop runs past the
 * buffer. So a parse holds a reserve that is large enough for any growth of the token buffer. The first
 * allocation that fails is served from it, the failure is counted, and the reader is told that the text has
 * ended (json.c), so that the parse stops before a second growth can be needed. */
#ifndef KF_BASE_JSON_ALLOC_H
#define KF_BASE_JSON_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Points jansson at kf_alloc and seeds its hash tables. */
void kf__json_route_alloc(void);
/* Allocations of jansson that failed in this thread so far. */
unsigned long kf__json_failures(void);
/* Lends `size` bytes at `memory` (16-byte aligned) to this thread's next failing allocation; one at a time.
 * Everything that jansson made since must be released before kf__json_reserve_end. */
void kf__json_reserve_begin(void *memory, size_t size);
void kf__json_reserve_end(void);

#endif
