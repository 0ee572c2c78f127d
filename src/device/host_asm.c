/* host_asm.c - reads GNU assembly line by line: one instruction each, labels end in a colon. An innermost
 * loop is what lies from a label to a jump back to it, if no other loop lies between and it has a few labels
 * at most. Mnemonics: Intel SDM volume 2, Arm ARM C7. */
#include "device/host_asm.h"

#include <ctype.h>
#include <stdlib.h>

enum { REGISTERS = 32, LINE_MAX_BYTES = 256, LABEL_MAX = 64, BLOCKS = 8 };

/* What follows a label. */
typedef struct {
  char label[LABEL_MAX];
  uint32_t added_to; /* a bit for each register that it accumulates in */
  bool ends_loop;
} block;

typedef struct {
  kf_host_facts *facts;
  block blocks[BLOCKS]; /* the last ones; the one under way is blocks[last] */
  int last;
} reader;

static bool starts(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

/* ---- x86-64 ---- */

/* Element bytes of packed arithmetic by mnemonic; 0: something else. */
static int packed_element(const char *op) {
  static const char *const floats[] = {"add",   "sub",   "mul",    "div",    "max",  "min",
                                       "fmadd", "fmsub", "fnmadd", "fnmsub", "sqrt", "dp"};
  static const char *const integers[] = {"padd", "psub", "pmul", "pmax", "pmin", "pmadd", "pdp"};
  size_t len = strlen(op);
  if (op[0] == 'v') op++, len--;
  if (len < 4) return 0;
  for (size_t i = 0; i < KF_COUNTOF(floats); i++)
    if (starts(op, floats[i]) && op[len - 2] == 'p')
      return op[len - 1] == 's' ? 4 : op[len - 1] == 'd' ? 8 : op[len - 1] == 'h' ? 2 : 0;
  for (size_t i = 0; i < KF_COUNTOF(integers); i++)
    if (starts(op, integers[i]))
      return op[len - 1] == 'b'   ? 1
             : op[len - 1] == 'w' ? 2
             : op[len - 1] == 'd' ? 4
             : op[len - 1] == 'q' ? 8
                                  : 0;
  return 0;
}

/* "%ymm3": its number, and the register's bytes; -1 for another operand. */
static int vector_register(const char *text, int *ret_bytes) {
  static const struct {
    const char *name;
    int bytes;
  } kinds[] = {{"%xmm", 16}, {"%ymm", 32}, {"%zmm", 64}};
  for (size_t i = 0; i < KF_COUNTOF(kinds); i++) {
    if (!starts(text, kinds[i].name)) continue;
    int number = (int)strtol(text + 4, NULL, 10);
    *ret_bytes = kinds[i].bytes;
    return number >= 0 && number < REGISTERS ? number : -1;
  }
  return -1;
}

static void read_x86(reader *r, const char *op, const char *operands) {
  if (starts(op, "lock")) r->facts->atomics = 1;
  if (starts(op, "prefetch")) r->facts->prefetches = 1;
  int element = packed_element(op), bytes = 0, unused = 0;
  if (element == 0) return;
  const char *last = strrchr(operands, '%');
  int target = last ? vector_register(last, &bytes) : -1;
  if (target < 0) return;
  if (bytes / element > r->facts->vector_width) r->facts->vector_width = bytes / element;
  /* An accumulator is both read and written: always in a fused instruction, else where it is named twice. */
  bool fused = starts(op, "vfmadd") || starts(op, "vfnmadd") || starts(op, "vpdp");
  for (const char *at = operands; at < last && !fused; at++)
    fused = *at == '%' && vector_register(at, &unused) == target;
  if (fused || op[0] != 'v') r->blocks[r->last].added_to |= UINT32_C(1) << target;
}

/* ---- AArch64 ---- */

/* "v3.4s": its number and lanes; -1 for another operand. */
static int lane_register(const char *text, int *ret_lanes) {
  char *end = NULL;
  if (text[0] != 'v') return -1;
  long number = strtol(text + 1, &end, 10);
  if (end == text + 1 || *end != '.' || number < 0 || number >= REGISTERS) return -1;
  *ret_lanes = (int)strtol(end + 1, NULL, 10);
  return (int)number;
}

static void read_arm(reader *r, const char *op, const char *operands) {
  static const char *const sums[] = {"fmla", "fmls", "mla", "sdot", "udot"};
  static const char *const others[] = {"fadd", "fsub", "fmul", "fmax", "fmin", "fdiv", "add", "sub", "mul"};
  int lanes = 0, target = lane_register(operands, &lanes), source_lanes = 0;
  if (starts(op, "ldadd") || starts(op, "ldaxr") || starts(op, "stlxr") || starts(op, "cas"))
    r->facts->atomics = 1;
  if (starts(op, "prfm")) r->facts->prefetches = 1;
  if (target < 0) return;
  bool sum = false, other = false;
  for (size_t i = 0; i < KF_COUNTOF(sums); i++)
    sum = sum || strcmp(op, sums[i]) == 0;
  for (size_t i = 0; i < KF_COUNTOF(others); i++)
    other = other || strcmp(op, others[i]) == 0;
  if (!sum && !other) return;
  if (lanes > r->facts->vector_width && lanes <= 16) r->facts->vector_width = lanes;
  const char *second = strchr(operands, ',');
  if (other && second) sum = lane_register(second + 1 + strspn(second + 1, " \t"), &source_lanes) == target;
  if (sum) r->blocks[r->last].added_to |= UINT32_C(1) << target;
}

/* ---- lines ---- */

static void read_calls(reader *r, const char *operands) {
  static const char *const waits[] = {"GOMP_barrier", "GOMP_loop_end", "GOMP_sections_end", "GOMP_single",
                                      "GOMP_taskwait"};
  static const char *const locks[] = {"GOMP_critical", "GOMP_atomic", "GOMP_ordered"};
  if (strstr(operands, "GOMP_parallel")) r->facts->threads = 1;
  for (size_t i = 0; i < KF_COUNTOF(waits); i++)
    if (strstr(operands, waits[i]) && !strstr(operands, "nowait")) r->facts->barriers = 1;
  for (size_t i = 0; i < KF_COUNTOF(locks); i++)
    if (strstr(operands, locks[i])) r->facts->atomics = 1;
}

/* A jump to a label before it closes a loop. */
static void read_jump(reader *r, const char *operands) {
  uint32_t added_to = 0;
  for (int back = 0; back < BLOCKS; back++) {
    block *b = &r->blocks[(r->last + BLOCKS - back) % BLOCKS];
    size_t len = strlen(b->label);
    if (len == 0 || b->ends_loop) return;
    added_to |= b->added_to;
    const char *at = strstr(operands, b->label);
    if (!at || isalnum((unsigned char)at[len])) continue;
    int count = __builtin_popcount(added_to);
    if (count > r->facts->accumulators) r->facts->accumulators = count;
    r->blocks[r->last].ends_loop = true;
    return;
  }
}

static void begin_block(reader *r, const char *label, size_t len) {
  r->last = (r->last + 1) % BLOCKS;
  r->blocks[r->last] = (block){.label = ""};
  snprintf(r->blocks[r->last].label, LABEL_MAX, "%.*s", (int)len, label);
}

static void read_instruction(reader *r, char *line) {
  char *operands = line + strcspn(line, " \t");
  if (*operands) *operands++ = '\0';
  operands += strspn(operands, " \t");
  bool jump = line[0] == 'j' || (line[0] == 'b' && (line[1] == '\0' || line[1] == '.')) ||
              starts(line, "cb") || starts(line, "tb");
  if (jump) read_jump(r, operands);
  if (jump || starts(line, "call") || strcmp(line, "bl") == 0) read_calls(r, operands);
  read_x86(r, line, operands);
  read_arm(r, line, operands);
}

static void read_line(reader *r, char *line) {
  size_t len = strlen(line);
  if (len > 0 && line[len - 1] == ':') {
    begin_block(r, line, len - 1);
    return;
  }
  line += strspn(line, " \t");
  if (*line && *line != '.' && *line != '#' && *line != '/') read_instruction(r, line);
}

void kf_host_asm_read(const char *text, size_t len, kf_host_facts *ret_facts) {
  reader r = {.facts = ret_facts};
  *ret_facts = (kf_host_facts){.vector_width = 1};
  while (len > 0) {
    char line[LINE_MAX_BYTES];
    const char *end = memchr(text, '\n', len);
    size_t width = end ? (size_t)(end - text) : len, kept = width < sizeof line - 1 ? width : sizeof line - 1;
    memcpy(line, text, kept);
    line[kept] = '\0';
    if (memchr(line, '\0', kept) == NULL) read_line(&r, line);
    text += width + (end != NULL);
    len -= width + (end != NULL);
  }
}
