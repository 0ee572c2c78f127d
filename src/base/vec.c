/* vec.c - the growth step behind kf_vec_push. */
#include "base/vec.h"

#include <string.h>

#include "base/banned.h"

kf_status kf_vec_grow(void **items, size_t *room, size_t count, size_t size) {
  if (count < *room) return KF_OK;
  size_t new_room = *room < 8 ? 8 : *room + *room / 2;
  if (new_room <= count) return KF_ENOMEM;
  /* The caller's variable is a pointer of another type, so it is read and written as bytes. */
  void *old;
  memcpy(&old, items, sizeof old);
  void *grown = kf_reallocarray(old, new_room, size);
  if (grown == NULL) return KF_ENOMEM;
  memcpy(items, &grown, sizeof grown);
  *room = new_room;
  return KF_OK;
}
