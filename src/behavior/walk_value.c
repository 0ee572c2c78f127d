/* walk_value.c - how operators change what is known of a value. */
#include "behavior/walk_int.h"

enum {
  IDS = KF_FLOW_LOCAL_ID | KF_FLOW_GROUP_ID | KF_FLOW_LINEAR,
  CONDITIONS = KF_FLOW_ONE_ITEM | KF_FLOW_NOT_ONE,
};

static void join_sources(kf_flow *into, kf_flow from) {
  into->loads |= from.loads;
  into->done |= from.done;
  if (!into->read_form)
    into->read_form = from.read_form;
  else if (from.read_form && from.read_form != into->read_form)
    into->read_form = KF_FLOW_SEVERAL;
  if (from.moment > into->moment) into->moment = from.moment;
  if (from.phase > into->phase) into->phase = from.phase;
}

kf_flow kf__flow_join(kf_flow a, kf_flow b) {
  kf_flow out = a;
  join_sources(&out, b);
  out.points |= b.points;
  out.flags |= b.flags;
  out.known = a.known && b.known && a.number == b.number;
  if (a.form != b.form) out.form = kf__tree_mix(a.form, b.form);
  return out;
}

static bool fold(kf_op op, int64_t a, int64_t b, int64_t *ret) {
  bool bad_shift = b < 0 || b > 62;
  switch (op) {
  case KF_OP_ADD:
    return !__builtin_add_overflow(a, b, ret);
  case KF_OP_SUB:
    return !__builtin_sub_overflow(a, b, ret);
  case KF_OP_MUL:
    return !__builtin_mul_overflow(a, b, ret);
  case KF_OP_DIV:
    return b > 0 ? (*ret = a / b, true) : false;
  case KF_OP_MOD:
    return b > 0 ? (*ret = a % b, true) : false;
  case KF_OP_SHL:
    return !bad_shift && a >= 0 && !__builtin_mul_overflow(a, (int64_t)1 << b, ret);
  case KF_OP_SHR:
    return !bad_shift && a >= 0 ? (*ret = a >> b, true) : false;
  case KF_OP_AND:
    *ret = a & b;
    return true;
  case KF_OP_OR:
    *ret = a | b;
    return true;
  case KF_OP_XOR:
    *ret = a ^ b;
    return true;
  case KF_OP_LT:
    *ret = a < b;
    return true;
  case KF_OP_GT:
    *ret = a > b;
    return true;
  case KF_OP_LE:
    *ret = a <= b;
    return true;
  case KF_OP_GE:
    *ret = a >= b;
    return true;
  case KF_OP_EQ:
    *ret = a == b;
    return true;
  case KF_OP_NE:
    *ret = a != b;
    return true;
  case KF_OP_BOTH:
    *ret = a && b;
    return true;
  case KF_OP_EITHER:
    *ret = a || b;
    return true;
  default:
    return false;
  }
}

static uint16_t done_by(kf_op op) {
  switch (op) {
  case KF_OP_ADD:
    return KF_DONE_ADD;
  case KF_OP_MUL:
    return KF_DONE_MUL;
  case KF_OP_AND:
  case KF_OP_OR:
  case KF_OP_XOR:
    return KF_DONE_BITS;
  case KF_OP_COMMA:
    return 0;
  default:
    return KF_DONE_OTHER;
  }
}

/* Flags of a comparison or logical operation: does it pick one item of a group? */
static uint16_t condition_flags(kf_op op, kf_flow a, kf_flow b) {
  bool id_and_number = ((a.flags & IDS) && b.known) || ((b.flags & IDS) && a.known);
  uint16_t both = a.flags | b.flags;
  switch (op) {
  case KF_OP_EQ:
    return id_and_number ? KF_FLOW_ONE_ITEM : 0;
  case KF_OP_NE:
    return id_and_number ? KF_FLOW_NOT_ONE : 0;
  case KF_OP_LT:
    return (a.flags & IDS) && b.known && b.number == 1 ? KF_FLOW_ONE_ITEM : 0;
  case KF_OP_BOTH:
    return both & KF_FLOW_ONE_ITEM;
  case KF_OP_EITHER:
    return both & KF_FLOW_NOT_ONE;
  default:
    return 0;
  }
}

static uint16_t arithmetic_flags(kf_op op, kf_flow a, kf_flow b) {
  uint16_t flags = (uint16_t)((a.flags | b.flags) & ~(CONDITIONS | KF_FLOW_CONTINUED));
  bool rounds = op == KF_OP_DIV || op == KF_OP_MOD || op == KF_OP_SHR || op == KF_OP_AND || op == KF_OP_SUB;
  if (rounds && (a.flags & KF_FLOW_PARAM)) flags |= KF_FLOW_ROUNDED;
  bool scales = op == KF_OP_MUL && ((a.flags & KF_FLOW_GROUP_ID) ? b.known || (b.flags & KF_FLOW_SIZE)
                                                                 : a.known || (a.flags & KF_FLOW_SIZE));
  if (scales && (flags & KF_FLOW_GROUP_ID) && !(flags & KF_FLOW_PARAM)) flags |= KF_FLOW_LINEAR;
  return flags;
}

kf_flow kf__flow_binary(kf_op op, kf_flow a, kf_flow b) {
  if (op == KF_OP_COMMA) return b;
  kf_flow out = {0};
  join_sources(&out, a);
  join_sources(&out, b);
  if (out.loads) out.done |= done_by(op);
  if (op == KF_OP_ADD || op == KF_OP_SUB) out.points = a.points | b.points;
  bool is_condition = op >= KF_OP_LT && op <= KF_OP_EITHER;
  out.flags = is_condition ? condition_flags(op, a, b) : arithmetic_flags(op, a, b);
  bool commutes = op == KF_OP_ADD || op == KF_OP_MUL;
  bool swap = commutes && a.form > b.form;
  out.form = kf__tree_mix(kf__tree_mix(swap ? b.form : a.form, swap ? a.form : b.form), (uint64_t)op);
  out.known = a.known && b.known && fold(op, a.number, b.number, &out.number);
  if (op == KF_OP_BOTH && ((a.known && !a.number) || (b.known && !b.number)))
    out.known = true, out.number = 0;
  if (op == KF_OP_EITHER && ((a.known && a.number) || (b.known && b.number)))
    out.known = true, out.number = 1;
  if (out.known) out.form = kf__tree_mix(0, (uint64_t)out.number);
  return out;
}

static uint16_t negated(uint16_t flags) {
  if (flags & KF_FLOW_ONE_ITEM) return KF_FLOW_NOT_ONE;
  return flags & (KF_FLOW_NOT_ONE | KF_FLOW_LOCAL_ID) ? KF_FLOW_ONE_ITEM : 0;
}

kf_flow kf__flow_unary(kf_op op, kf_flow a) {
  if (op == KF_OP_PLUS) return a;
  kf_flow out = a;
  out.points = 0;
  out.flags = op == KF_OP_NOT ? negated(a.flags) : (uint16_t)(a.flags & ~(CONDITIONS | KF_FLOW_CONTINUED));
  if (a.loads) out.done |= KF_DONE_OTHER;
  out.form = kf__tree_mix(a.form, (uint64_t)op);
  if (a.known && a.number != INT64_MIN) {
    out.number = op == KF_OP_NEGATE ? -a.number : op == KF_OP_NOT ? !a.number : ~a.number;
    out.form = kf__tree_mix(0, (uint64_t)out.number);
  } else {
    out.known = false;
  }
  return out;
}
