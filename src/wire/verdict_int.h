/* verdict_int.h - private to verdict*.c. */
#ifndef KF_WIRE_VERDICT_INT_H
#define KF_WIRE_VERDICT_INT_H

#include "wire/verdict.h"

/* {"columns": [..], "rows": [[..], ..]}; NULL when memory is short. */
json_t *kf__samples_to_json(const kf_sample *samples, int count);
/* Reads at most KF_SAMPLES_MAX. */
kf_status kf__samples_from_json(const json_t *json, kf_sample ret_samples[KF_SAMPLES_MAX], int *ret_count,
                                kf_err *err);

#endif
