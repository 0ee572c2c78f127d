/* tree.c - libyaml's events, or jansson's values, become one small tree. */
#include "task/tree.h"

#include "base/alloc.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

typedef struct {
  kf_arena *arena;
  const char *name;
  const char *text;
  size_t len;
  kf_err *err;
  int nodes;
  yaml_parser_t yaml;
} reader;

kf_status kf__tree_fail(kf_err *err, const char *name, int line, int column, const char *fmt, ...) {
  char what[KF_ERR_MSG_MAX];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  if (line == 0)
    kf_fail(err, KF_EREFUSED, "%s: %s", name, what);
  else
    kf_fail(err, KF_EREFUSED, "%s:%d:%d: %s", name, line, column, what);
  return KF_EREFUSED;
}

/* Here and below failures end in a constant where a static analyser could not follow the status. */
static kf_status no_memory(const reader *r) {
  kf_nomem(r->err);
  return KF_ENOMEM;
}

static kf_status new_node(reader *r, kf__node_kind kind, int line, int column, kf__node **ret_node) {
  if (++r->nodes > KF__TREE_NODES_MAX) {
    kf__tree_fail(r->err, r->name, line, column, "more than %d values", KF__TREE_NODES_MAX);
    return KF_EREFUSED;
  }
  kf__node *node = kf_arena_alloc(r->arena, sizeof *node);
  if (node == NULL) return no_memory(r);
  *node = (kf__node){.kind = kind, .line = line, .column = column, .text = ""};
  *ret_node = node;
  return KF_OK;
}

static void append(kf__node *parent, kf__node *child) {
  if (parent->last != NULL)
    parent->last->next = child;
  else
    parent->first = child;
  parent->last = child;
  parent->count++;
}

static kf_status set_text(reader *r, kf__node *node, const char *text, size_t len) {
  if (memchr(text, '\0', len) != NULL)
    return kf__tree_fail(r->err, r->name, node->line, node->column, "text with a NUL character");
  node->text = kf_arena_strndup(r->arena, text, len);
  return node->text != NULL ? KF_OK : no_memory(r);
}

static kf_status check_key(reader *r, const kf__node *map, const kf__node *key) {
  if (key->kind != KF__NODE_SCALAR)
    return kf__tree_fail(r->err, r->name, key->line, key->column, "a key must be a plain word");
  if (map->count == KF__TREE_KEYS_MAX)
    return kf__tree_fail(r->err, r->name, key->line, key->column, "more than %d keys", KF__TREE_KEYS_MAX);
  for (const kf__node *other = map->first; other != NULL; other = other->next)
    if (strcmp(other->text, key->text) == 0)
      return kf__tree_fail(r->err, r->name, key->line, key->column,
                           "key \"%.64s\" was given in line %d already", key->text, other->line);
  return KF_OK;
}

/* ---- YAML ---- */

static bool line_has(const reader *r, int line, const char *word) {
  const char *begin = r->text, *end = r->text + r->len;
  for (int i = 1; i < line && begin != NULL; i++) {
    begin = memchr(begin, '\n', (size_t)(end - begin));
    if (begin != NULL) begin++;
  }
  if (begin == NULL) return false;
  const char *newline = memchr(begin, '\n', (size_t)(end - begin));
  size_t len = newline != NULL ? (size_t)(newline - begin) : (size_t)(end - begin);
  return memmem(begin, len, word, strlen(word)) != NULL;
}

static kf_status yaml_failure(reader *r) {
  const yaml_parser_t *yaml = &r->yaml;
  if (yaml->error == YAML_MEMORY_ERROR) return no_memory(r);
  if (yaml->error == YAML_READER_ERROR)
    return kf__tree_fail(r->err, r->name, 0, 0, "byte %zu: not YAML: %s", yaml->problem_offset,
                         yaml->problem != NULL ? yaml->problem : "unreadable");
  int line = (int)yaml->problem_mark.line + 1;
  int column = (int)yaml->problem_mark.column + 1;
  kf_status status = kf__tree_fail(r->err, r->name, line, column, "not YAML: %s",
                                   yaml->problem != NULL ? yaml->problem : "syntax");
  if (line_has(r, line, "int["))
    kf_err_hint(r->err, status, "inside { } write a fill in quotes: \"int[0,16)\"");
  else if (line_has(r, line, "\t"))
    kf_err_hint(r->err, status, "YAML is indented with blanks, not tabs");
  return status;
}

static kf_status next_event(reader *r, yaml_event_t *ret_event) {
  if (!yaml_parser_parse(&r->yaml, ret_event)) return yaml_failure(r);
  return KF_OK;
}

static kf_status refuse_anchor(reader *r, const yaml_char_t *anchor, const yaml_char_t *tag, int line,
                               int column) {
  if (anchor != NULL)
    kf__tree_fail(r->err, r->name, line, column, "anchors (&%.32s) are not used here", (const char *)anchor);
  else if (tag != NULL)
    kf__tree_fail(r->err, r->name, line, column, "tags (%.32s) are not used here", (const char *)tag);
  return anchor != NULL || tag != NULL ? KF_EREFUSED : KF_OK;
}

static kf_status read_value(reader *r, const yaml_event_t *event, int depth, kf__node **ret_node);

static kf_status read_children(reader *r, kf__node *node, int depth) {
  kf__node *key = NULL; /* whose value comes next */
  for (;;) {
    yaml_event_t event;
    KF_TRY(next_event(r, &event));
    if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
      yaml_event_delete(&event);
      return KF_OK;
    }
    kf__node *child = NULL;
    kf_status status = read_value(r, &event, depth + 1, &child);
    yaml_event_delete(&event);
    KF_TRY(status);
    if (key != NULL) {
      key->value = child;
      key = NULL;
    } else {
      if (node->kind == KF__NODE_MAP) {
        KF_TRY(check_key(r, node, child));
        key = child;
      }
      append(node, child);
    }
  }
}

/* The value that `event` begins; further events are taken as needed, the caller deletes this one. */
static kf_status read_value(reader *r, const yaml_event_t *event, int depth, kf__node **ret_node) {
  int line = (int)event->start_mark.line + 1, column = (int)event->start_mark.column + 1;
  kf__node *node = NULL;
  if (depth > KF__TREE_DEPTH_MAX) {
    kf__tree_fail(r->err, r->name, line, column, "nested deeper than %d levels", KF__TREE_DEPTH_MAX);
    return KF_EREFUSED;
  }
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    KF_TRY(refuse_anchor(r, event->data.scalar.anchor, event->data.scalar.tag, line, column));
    KF_TRY(new_node(r, KF__NODE_SCALAR, line, column, &node));
    KF_TRY(set_text(r, node, (const char *)event->data.scalar.value, event->data.scalar.length));
    break;
  case YAML_SEQUENCE_START_EVENT:
    KF_TRY(refuse_anchor(r, event->data.sequence_start.anchor, event->data.sequence_start.tag, line, column));
    KF_TRY(new_node(r, KF__NODE_LIST, line, column, &node));
    KF_TRY(read_children(r, node, depth));
    break;
  case YAML_MAPPING_START_EVENT:
    KF_TRY(refuse_anchor(r, event->data.mapping_start.anchor, event->data.mapping_start.tag, line, column));
    KF_TRY(new_node(r, KF__NODE_MAP, line, column, &node));
    KF_TRY(read_children(r, node, depth));
    break;
  case YAML_ALIAS_EVENT:
    kf__tree_fail(r->err, r->name, line, column, "aliases (*%.32s) are not used here",
                  (const char *)event->data.alias.anchor);
    return KF_EREFUSED;
  default:
    kf_fail(r->err, KF_EBUG, "%s:%d:%d: unexpected YAML event %d", r->name, line, column, (int)event->type);
    return KF_EBUG;
  }
  *ret_node = node;
  return KF_OK;
}

/* Events until the root value has been read and the stream has ended. */
static kf_status read_stream(reader *r, kf__node **ret_root) {
  kf__node *root = NULL;
  for (bool ended = false; !ended;) {
    yaml_event_t event;
    KF_TRY(next_event(r, &event));
    kf_status status = KF_OK;
    switch (event.type) {
    case YAML_STREAM_END_EVENT:
      ended = true;
      break;
    case YAML_DOCUMENT_START_EVENT:
      if (root != NULL)
        status = kf__tree_fail(r->err, r->name, (int)event.start_mark.line + 1, 1, "more than one document");
      break;
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      break;
    default:
      status = read_value(r, &event, 1, &root);
      break;
    }
    yaml_event_delete(&event);
    KF_TRY(status);
  }
  if (root == NULL) return kf_fail(r->err, KF_EREFUSED, "%s: the file is empty", r->name);
  *ret_root = root;
  return KF_OK;
}

kf_status kf__tree_from_yaml(kf_arena *arena, const char *text, size_t len, const char *name,
                             kf__node **ret_root, kf_err *err) {
  if (len > KF__TREE_BYTES_MAX)
    return kf_fail(err, KF_EREFUSED, "%s: %zu bytes, the limit is %d", name, len, KF__TREE_BYTES_MAX);
  reader r = {.arena = arena, .name = name, .text = text, .len = len, .err = err};
  if (!yaml_parser_initialize(&r.yaml)) return kf_nomem(err);
  yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
  kf_status status = read_stream(&r, ret_root);
  yaml_parser_delete(&r.yaml);
  return status;
}

/* ---- JSON ---- */

static kf_status json_text(reader *r, const json_t *json, kf__node *node) {
  char number[40];
  switch (json_typeof(json)) {
  case JSON_STRING:
    return set_text(r, node, json_string_value(json), json_string_length(json));
  case JSON_INTEGER:
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    break;
  case JSON_REAL:
    snprintf(number, sizeof number, "%.17g", json_real_value(json));
    break;
  case JSON_TRUE:
  case JSON_FALSE:
    snprintf(number, sizeof number, "%s", json_is_true(json) ? "true" : "false");
    break;
  default:
    number[0] = '\0';
    break;
  }
  return set_text(r, node, number, strlen(number));
}

static kf_status json_value(reader *r, const json_t *json, int depth, kf__node **ret_node) {
  if (depth > KF__TREE_DEPTH_MAX)
    return kf__tree_fail(r->err, r->name, 0, 0, "nested deeper than %d levels", KF__TREE_DEPTH_MAX);
  kf__node_kind kind = json_is_array(json)    ? KF__NODE_LIST
                       : json_is_object(json) ? KF__NODE_MAP
                                              : KF__NODE_SCALAR;
  kf__node *node = NULL;
  KF_TRY(new_node(r, kind, 0, 0, &node));
  if (kind == KF__NODE_SCALAR) KF_TRY(json_text(r, json, node));
  for (size_t i = 0; kind == KF__NODE_LIST && i < json_array_size(json); i++) {
    kf__node *child = NULL;
    KF_TRY(json_value(r, json_array_get(json, i), depth + 1, &child));
    append(node, child);
  }
  if (kind == KF__NODE_MAP) {
    const char *key_text;
    json_t *member;
    json_object_foreach((json_t *)json, key_text, member) {
      kf__node *key = NULL;
      KF_TRY(new_node(r, KF__NODE_SCALAR, 0, 0, &key));
      KF_TRY(set_text(r, key, key_text, strlen(key_text)));
      KF_TRY(check_key(r, node, key));
      KF_TRY(json_value(r, member, depth + 1, &key->value));
      append(node, key);
    }
  }
  *ret_node = node;
  return KF_OK;
}

kf_status kf__tree_from_json(kf_arena *arena, const json_t *json, kf__node **ret_root, kf_err *err) {
  reader r = {.arena = arena, .name = "task", .err = err};
  return json_value(&r, json, 1, ret_root);
}
