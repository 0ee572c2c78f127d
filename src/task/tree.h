/* tree.h - private to src/task: what task.yaml and the JSON of the wire are read into before the schema looks
 * at them. Nodes lie in an arena and keep the place they came from, so that every message can say line and
 * column. */
#ifndef KF_TASK_TREE_H
#define KF_TASK_TREE_H

#include "base/arena.h"
#include "base/json.h"

enum {
  KF__TREE_DEPTH_MAX = 32,
  KF__TREE_BYTES_MAX = 1 << 20,
  KF__TREE_NODES_MAX = 65536,
  KF__TREE_KEYS_MAX = 256
};

typedef enum { KF__NODE_SCALAR, KF__NODE_LIST, KF__NODE_MAP } kf__node_kind;

typedef struct kf__node {
  kf__node_kind kind;
  int line, column; /* 1-based; line 0: from JSON, which has no lines */
  const char *text; /* scalar; "" for an empty one */
  int count;
  struct kf__node *first, *last; /* list: items; map: keys (scalars) */
  struct kf__node *next;         /* sibling */
  struct kf__node *value;        /* of a key */
} kf__node;

/* Reads one YAML document. Refused (KF_EREFUSED, "NAME:LINE:COL: ..."): syntax errors, anchors, aliases,
 * tags, duplicate keys, keys that are not plain text, NULs, more than one document, and more than the limits
 * above. */
kf_status kf__tree_from_yaml(kf_arena *arena, const char *text, size_t len, const char *name,
                             kf__node **ret_root, kf_err *err);
/* Same tree from JSON. */
kf_status kf__tree_from_json(kf_arena *arena, const json_t *json, kf__node **ret_root, kf_err *err);

/* KF_EREFUSED "NAME:LINE:COL: ...", or "NAME: ..." for line 0. */
kf_status kf__tree_fail(kf_err *err, const char *name, int line, int column, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
