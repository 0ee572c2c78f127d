/* vec.h - typed growing arrays:  KF_VEC(kf_param) params = {0};  kf_vec_push(&params, value) -> kf_status. */
#ifndef KF_BASE_VEC_H
#define KF_BASE_VEC_H

#include "base/alloc.h"

#define KF_VEC(type)                                                                                         \
  struct {                                                                                                   \
    type *items;                                                                                             \
    size_t count, room;                                                                                      \
  }

/* Grows `*items` (element size `size`) to hold at least count + 1 elements. */
kf_status kf_vec_grow(void **items, size_t *room, size_t count, size_t size);

/* Evaluates to KF_OK or KF_ENOMEM; on failure the vector is unchanged. */
#define kf_vec_push(vec, ...)                                                                                \
  (kf_vec_grow((void **)&(vec)->items, &(vec)->room, (vec)->count, sizeof *(vec)->items) == KF_OK            \
       ? ((vec)->items[(vec)->count++] = (__VA_ARGS__), KF_OK)                                               \
       : KF_ENOMEM)
#define kf_vec_done(vec) (kf_free((vec)->items), (void)((vec)->items = NULL, (vec)->count = (vec)->room = 0))

#endif
