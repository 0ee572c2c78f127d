/* load.h - keeps the cores busy for the duration of one checked call, so that a race between work-items that
 * a quiet machine hides gets other timings (docs/internals/evaluator.md, Determinism). Never during a timed
 * call. One owner. */
#ifndef KF_VERIFY_LOAD_H
#define KF_VERIFY_LOAD_H

typedef struct kf_load kf_load;

/* Starts one spinning thread for each core this process may use (at most 16). NULL where none can be started:
 * the call then runs without. */
kf_load *kf_load_start(void);
void kf_load_stop(kf_load *load); /* ends and joins them; accepts NULL */

#endif
