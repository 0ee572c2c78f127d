/* advice.h - what to do about a verdict: one sentence and one command for every failure, and a menu of
 * techniques for each class of a correct kernel (docs/internals/evaluator.md, Ceilings and diagnosis).
 * Tables only: the same verdict always gets the same advice. Threads: pure. */
#ifndef KF_WIRE_ADVICE_H
#define KF_WIRE_ADVICE_H

#include "wire/verdict.h"

/* Fills next_why and next_command from the verdict's kind, its diagnosis and its roofline, in `language`
 * ("opencl", "c", ...). Never empty for a verdict that is not correct. */
void kf_advice_fill(kf_verdict *verdict, const char *language);

enum { KF_MENU_MAX = 4 };
typedef struct {
  const char *bound, *language;        /* language NULL: every other one */
  const char *about;                   /* what the class means */
  const char *techniques[KF_MENU_MAX]; /* NULL after the last */
} kf_menu;

/* The menu of a class ("memory_bound", ...) in a language; NULL for a class that is not known. */
const kf_menu *kf_advice_menu(const char *bound, const char *language);

#endif
