/* host_object.c - the look at an object file. Everything is read the way the dynamic linker reads it, by
 * program headers and the dynamic section; section headers are not looked at, because nobody loads by them.
 * Offsets and counts are foreign: each is checked against the bytes before use. Layout: System V ABI
 * (gABI 4.1) and the x86-64 and AArch64 supplements. */
#include "device/host_object.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>

enum { SEGMENTS_MAX = 32, TAGS_MAX = 256, SYMBOLS_MAX = 65536, RELOCATIONS_MAX = 1 << 20, PAGE = 4096 };

typedef struct {
  const unsigned char *bytes;
  size_t len;
  Elf64_Phdr loads[SEGMENTS_MAX];
  int nloads;
  Elf64_Phdr dynamic, relro;
  bool has_dynamic, has_relro, has_stack, stack_exec;
  uint64_t strings, strings_bytes; /* addresses as in the dynamic section; 0: not there */
  uint64_t symbols, hash, rela, rela_bytes, jmprel, jmprel_bytes;
  uint32_t nsymbols;
  kf_host_object *out;
} object;

__attribute__((format(printf, 2, 3))) static bool refuse(object *o, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(o->out->why, sizeof o->out->why, fmt, args);
  va_end(args);
  return false;
}

static bool read_at(const object *o, uint64_t offset, void *ret_bytes, size_t size) {
  if (offset > o->len || size > o->len - offset) return false;
  memcpy(ret_bytes, o->bytes + offset, size);
  return true;
}

/* The file bytes behind `size` bytes at an address; NULL if they are not all in one segment's file part. */
static const unsigned char *at_address(const object *o, uint64_t address, uint64_t size) {
  for (int i = 0; i < o->nloads; i++) {
    const Elf64_Phdr *load = &o->loads[i];
    if (address < load->p_vaddr || address - load->p_vaddr > load->p_filesz) continue;
    uint64_t inside = address - load->p_vaddr;
    if (size > load->p_filesz - inside) continue;
    return o->bytes + load->p_offset + inside;
  }
  return NULL;
}

/* A name of the string table; NULL if it has no end there. */
static const char *string_at(const object *o, uint64_t index) {
  if (index >= o->strings_bytes) return NULL;
  const unsigned char *text = at_address(o, o->strings, o->strings_bytes);
  if (!text || !memchr(text + index, '\0', o->strings_bytes - index)) return NULL;
  return (const char *)text + index;
}

/* A name made fit for a message: it comes from a hostile file. */
static const char *shown(const char *name, char ret_text[64]) {
  size_t i = 0;
  for (; i < 63 && name[i]; i++)
    ret_text[i] = name[i] > 0x20 && name[i] < 0x7f ? name[i] : '?';
  ret_text[i] = '\0';
  return ret_text;
}

/* ---- header and segments ---- */

static bool check_header(object *o, Elf64_Ehdr *header) {
#if defined(__x86_64__)
  const uint16_t machine = EM_X86_64;
#elif defined(__aarch64__)
  const uint16_t machine = EM_AARCH64;
#else
#error "the host form needs the relocation types of this machine here"
#endif
  if (o->len > KF_HOST_OBJECT_MAX) return refuse(o, "the object has more than %d bytes", KF_HOST_OBJECT_MAX);
  if (!read_at(o, 0, header, sizeof *header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return refuse(o, "the compiler's output is no ELF object");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != machine || header->e_type != ET_DYN)
    return refuse(o, "the compiler's output is no shared object of this machine");
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 || header->e_phnum > SEGMENTS_MAX)
    return refuse(o, "the object has %u segments", (unsigned)header->e_phnum);
  return true;
}

static bool add_load(object *o, const Elf64_Phdr *segment) {
  const uint64_t top = (uint64_t)1 << 46;
  if (segment->p_offset > o->len || segment->p_filesz > o->len - segment->p_offset ||
      segment->p_filesz > segment->p_memsz || segment->p_vaddr >= top || segment->p_memsz >= top ||
      segment->p_vaddr % PAGE != segment->p_offset % PAGE)
    return refuse(o, "the object's segments lie outside of it");
  if (o->nloads > 0) {
    const Elf64_Phdr *before = &o->loads[o->nloads - 1];
    uint64_t end = (before->p_vaddr + before->p_memsz + PAGE - 1) / PAGE * PAGE;
    if (segment->p_vaddr / PAGE * PAGE < end) return refuse(o, "the object's segments overlap");
  }
  if ((segment->p_flags & PF_W) && (segment->p_flags & PF_X))
    return refuse(o, "a segment is writable and executable");
  o->loads[o->nloads++] = *segment;
  return true;
}

static bool add_segment(object *o, const Elf64_Phdr *segment) {
  switch (segment->p_type) {
  case PT_LOAD:
    return add_load(o, segment);
  case PT_DYNAMIC:
    if (o->has_dynamic) return refuse(o, "the object has two dynamic sections");
    o->has_dynamic = true;
    o->dynamic = *segment;
    return true;
  case PT_GNU_RELRO:
    if (o->has_relro) return refuse(o, "the object has two read-only parts after relocation");
    o->has_relro = true;
    o->relro = *segment;
    return true;
  case PT_GNU_STACK:
    o->has_stack = true;
    o->stack_exec = o->stack_exec || (segment->p_flags & PF_X);
    return true;
  case PT_TLS:
    return refuse(o, "thread-local data: nothing may be kept between calls");
  case PT_NULL:
  case PT_NOTE:
  case PT_PHDR:
  case PT_GNU_EH_FRAME:
  case PT_GNU_PROPERTY:
    return true;
  default:
    return refuse(o, "a segment of type %#x", (unsigned)segment->p_type);
  }
}

/* What is writable after loading keeps state from call to call: all of it must become read-only (relro). */
static bool check_writable(object *o) {
  uint64_t from = o->relro.p_vaddr / PAGE * PAGE;
  uint64_t to = (o->relro.p_vaddr + o->relro.p_memsz) / PAGE * PAGE;
  for (int i = 0; i < o->nloads; i++) {
    const Elf64_Phdr *load = &o->loads[i];
    if (!(load->p_flags & PF_W) || load->p_memsz == 0) continue;
    bool covered = o->has_relro && load->p_vaddr >= from && load->p_vaddr + load->p_memsz <= to;
    if (covered) continue;
    uint64_t kept = o->has_relro && to > load->p_vaddr ? load->p_vaddr + load->p_memsz - to : load->p_memsz;
    return refuse(o,
                  "%llu bytes of writable static data: nothing may be kept between calls "
                  "(make tables const, use the workspace for scratch)",
                  (unsigned long long)kept);
  }
  return true;
}

static bool check_segments(object *o) {
  Elf64_Ehdr header = {0};
  if (!check_header(o, &header)) return false;
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    if (!read_at(o, header.e_phoff + i * sizeof segment, &segment, sizeof segment) || header.e_phoff > o->len)
      return refuse(o, "the object is cut short");
    if (!add_segment(o, &segment)) return false;
  }
  if (!o->has_dynamic) return refuse(o, "the object has no dynamic section");
  if (!o->has_stack || o->stack_exec)
    return refuse(o, "an executable stack (a nested function whose address is taken needs one)");
  if (o->has_relro && o->relro.p_memsz > ((uint64_t)1 << 46))
    return refuse(o, "a read-only part of absurd size");
  return check_writable(o);
}

/* ---- the dynamic section ---- */

static bool check_needed(object *o, uint64_t index) {
  static const char *const allowed[] = {"libc.so.6", "libm.so.6", "libmvec.so.1", "libpthread.so.0",
                                        "libgomp.so.1"};
  char text[64];
  const char *name = string_at(o, index);
  if (!name) return refuse(o, "a library without a name");
  for (size_t i = 0; i < KF_COUNTOF(allowed); i++)
    if (strcmp(name, allowed[i]) == 0) return true;
  return refuse(o, "it needs the library %s: only libc, libm and OpenMP (libgomp) are there",
                shown(name, text));
}

static bool take_tag(object *o, const Elf64_Dyn *entry) {
  uint64_t value = entry->d_un.d_val;
  switch (entry->d_tag) {
  case DT_STRTAB:
    o->strings = value;
    return true;
  case DT_STRSZ:
    o->strings_bytes = value;
    return true;
  case DT_SYMTAB:
    o->symbols = value;
    return true;
  case DT_HASH:
    o->hash = value;
    return true;
  case DT_RELA:
    o->rela = value;
    return true;
  case DT_RELASZ:
    o->rela_bytes = value;
    return true;
  case DT_JMPREL:
    o->jmprel = value;
    return true;
  case DT_PLTRELSZ:
    o->jmprel_bytes = value;
    return true;
  case DT_SYMENT:
    return value == sizeof(Elf64_Sym) || refuse(o, "symbols of %llu bytes", (unsigned long long)value);
  case DT_RELAENT:
    return value == sizeof(Elf64_Rela) || refuse(o, "relocations of %llu bytes", (unsigned long long)value);
  case DT_PLTREL:
    return value == DT_RELA || refuse(o, "relocations of an unknown kind");
  case DT_INIT:
  case DT_FINI:
  case DT_INIT_ARRAY:
  case DT_FINI_ARRAY:
  case DT_PREINIT_ARRAY:
  case DT_INIT_ARRAYSZ:
  case DT_FINI_ARRAYSZ:
  case DT_PREINIT_ARRAYSZ:
    return refuse(o, "a constructor or destructor: no code may run when the object is loaded or left");
  case DT_TEXTREL:
    return refuse(o, "relocations in code");
  case DT_FLAGS:
    if (value & DF_TEXTREL) return refuse(o, "relocations in code");
    if (value & ~(uint64_t)(DF_BIND_NOW | DF_SYMBOLIC))
      return refuse(o, "flags %#llx", (unsigned long long)value);
    return true;
  case DT_FLAGS_1:
    return !(value & ~(uint64_t)DF_1_NOW) || refuse(o, "flags_1 %#llx", (unsigned long long)value);
  case DT_NEEDED: /* when the strings are known */
  case DT_NULL:
  case DT_SONAME:
  case DT_PLTGOT:
  case DT_RELACOUNT:
  case DT_VERSYM:
  case DT_VERNEED:
  case DT_VERNEEDNUM:
  case DT_BIND_NOW:
  case DT_DEBUG:
    return true;
  default:
    return refuse(o, "a dynamic tag %#llx", (unsigned long long)entry->d_tag);
  }
}

/* One pass for the places of the tables, a second for what needs the strings. */
static bool check_dynamic(object *o) {
  const unsigned char *table = at_address(o, o->dynamic.p_vaddr, o->dynamic.p_memsz);
  uint64_t count = o->dynamic.p_memsz / sizeof(Elf64_Dyn);
  if (!table || count == 0 || count > TAGS_MAX) return refuse(o, "the dynamic section cannot be read");
  for (int pass = 0; pass < 2; pass++) {
    bool ended = false;
    for (uint64_t i = 0; i < count && !ended; i++) {
      Elf64_Dyn entry;
      memcpy(&entry, table + i * sizeof entry, sizeof entry);
      ended = entry.d_tag == DT_NULL;
      bool ok = pass == 0                  ? take_tag(o, &entry)
                : entry.d_tag == DT_NEEDED ? check_needed(o, entry.d_un.d_val)
                                           : true;
      if (!ok) return false;
    }
    if (!ended) return refuse(o, "the dynamic section has no end");
  }
  return true;
}

/* ---- symbols ---- */

/* Sorted groups of what a kernel may call: mathematics without state, moving bytes, OpenMP. */
static const char *const plain_names[] = {
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "__memcpy_chk",
    "qsort",
    "bsearch",
    "abs",
    "labs",
    "llabs",
    "__memmove_chk",
    "abort",
    "__assert_fail",
    "__memset_chk",
    "__stack_chk_fail",
    "_GLOBAL_OFFSET_TABLE_",
};
/* libm, each also with f and l. */
static const char *const math_names[] = {
    "acos",      "acosh",  "asin",  "asinh",  "atan",      "atan2",   "atanh",     "cbrt",      "ceil",
    "copysign",  "cos",    "cosh",  "erf",    "erfc",      "exp",     "exp10",     "exp2",      "expm1",
    "fabs",      "fdim",   "floor", "fma",    "fmax",      "fmin",    "fmod",      "frexp",     "hypot",
    "ilogb",     "j0",     "j1",    "ldexp",  "llrint",    "llround", "log",       "log10",     "log1p",
    "log2",      "logb",   "lrint", "lround", "modf",      "nan",     "nearbyint", "nextafter", "pow",
    "remainder", "remquo", "rint",  "round",  "roundeven", "scalbln", "scalbn",    "sin",       "sincos",
    "sinh",      "sqrt",   "tan",   "tanh",   "tgamma",    "trunc",   "y0",        "y1",        "cabs",
    "carg",      "cexp",   "cimag", "clog",   "conj",      "cpow",    "creal",     "csqrt",     "csin",
    "ccos",
};

static bool is_math(const char *name) {
  size_t len = strlen(name);
  if (len > 9 && strncmp(name, "__", 2) == 0 && strcmp(name + len - 7, "_finite") == 0) {
    name += 2; /* glibc's names under -ffinite-math-only: __exp_finite, __expf_finite */
    len -= 9;
  }
  for (size_t i = 0; i < KF_COUNTOF(math_names); i++) {
    size_t base = strlen(math_names[i]);
    if (strncmp(name, math_names[i], base) != 0) continue;
    if (len == base || (len == base + 1 && (name[base] == 'f' || name[base] == 'l'))) return true;
  }
  return false;
}

static bool may_be_called(const char *name) {
  /* Offloading would find other devices and plugins. */
  if (strncmp(name, "GOMP_target", 11) == 0 || strncmp(name, "GOMP_offload", 12) == 0 ||
      strncmp(name, "omp_target", 10) == 0 || strncmp(name, "omp_pause", 9) == 0 ||
      strncmp(name, "omp_display", 11) == 0)
    return false;
  if (strncmp(name, "GOMP_", 5) == 0 || strncmp(name, "omp_get_", 8) == 0 ||
      strcmp(name, "omp_in_parallel") == 0)
    return true;
  if (strncmp(name, "_ZGV", 4) == 0) return true; /* libmvec: vector forms of libm */
  for (size_t i = 0; i < KF_COUNTOF(plain_names); i++)
    if (strcmp(name, plain_names[i]) == 0) return true;
  return is_math(name);
}

static bool check_undefined(object *o, const char *name, const Elf64_Sym *symbol) {
  char text[64];
  /* A weak reference that nothing fulfils is a null pointer. These two come with every shared object. */
  if (ELF64_ST_BIND(symbol->st_info) == STB_WEAK &&
      (strcmp(name, "__gmon_start__") == 0 || strcmp(name, "__cxa_finalize") == 0))
    return true;
  if (may_be_called(name)) return true;
  if (strncmp(name, "omp_set_", 8) == 0)
    return refuse(o, "it calls %s, which lasts beyond the call: use a clause such as num_threads(n)",
                  shown(name, text));
  return refuse(o, "it calls %s, which a kernel may not (libm, memcpy and its like, and OpenMP are allowed)",
                shown(name, text));
}

static bool check_defined(object *o, const char *name, const Elf64_Sym *symbol) {
  char text[64];
  int type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
  if (bind == STB_LOCAL) return true;
  bool is_run = strcmp(name, "kf_run") == 0, is_workspace = strcmp(name, "kf_workspace") == 0;
  if (strcmp(name, "kf_prepare") == 0)
    return refuse(o, "it exports kf_prepare: this version has no preparation before the timed calls");
  if (!is_run && !is_workspace)
    return refuse(o, "it exports %s: only kf_run and kf_workspace may be visible", shown(name, text));
  if (type != STT_FUNC) return refuse(o, "%s is no function", shown(name, text));
  o->out->has_run = o->out->has_run || is_run;
  o->out->has_workspace = o->out->has_workspace || is_workspace;
  return true;
}

static bool check_symbol(object *o, const Elf64_Sym *symbol) {
  char text[64];
  const char *name = string_at(o, symbol->st_name);
  int type = ELF64_ST_TYPE(symbol->st_info);
  if (!name) return refuse(o, "a symbol without a name");
  if (type == STT_GNU_IFUNC)
    return refuse(o, "%s is an IFUNC: its code would run at load", shown(name, text));
  if (type == STT_TLS)
    return refuse(o, "%s is thread-local data: nothing may be kept between calls", shown(name, text));
  return symbol->st_shndx == SHN_UNDEF ? check_undefined(o, name, symbol) : check_defined(o, name, symbol);
}

static bool check_symbols(object *o) {
  const unsigned char *hash = at_address(o, o->hash, 2 * sizeof(uint32_t));
  uint32_t counts[2]; /* nbucket, nchain: a chain entry for each symbol */
  if (!o->hash || !hash) return refuse(o, "the object has no table of symbols");
  memcpy(counts, hash, sizeof counts);
  o->nsymbols = counts[1];
  if (o->nsymbols == 0 || o->nsymbols > SYMBOLS_MAX)
    return refuse(o, "the object has %u symbols", (unsigned)o->nsymbols);
  const unsigned char *table = at_address(o, o->symbols, (uint64_t)o->nsymbols * sizeof(Elf64_Sym));
  if (!table) return refuse(o, "the table of symbols lies outside of the object");
  for (uint32_t i = 1; i < o->nsymbols; i++) {
    Elf64_Sym symbol;
    memcpy(&symbol, table + i * sizeof symbol, sizeof symbol);
    if (!check_symbol(o, &symbol)) return false;
  }
  return o->out->has_run || refuse(o, "it exports no kf_run: #include \"kf_call.h\" and define "
                                      "int kf_run(const kf_call *call)");
}

/* ---- relocations ---- */

static bool relocation_is_plain(uint32_t type) {
#if defined(__x86_64__)
  return type == R_X86_64_NONE || type == R_X86_64_64 || type == R_X86_64_GLOB_DAT ||
         type == R_X86_64_JUMP_SLOT || type == R_X86_64_RELATIVE;
#else
  return type == R_AARCH64_NONE || type == R_AARCH64_ABS64 || type == R_AARCH64_GLOB_DAT ||
         type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_RELATIVE;
#endif
}

static bool check_relocations(object *o, uint64_t address, uint64_t bytes) {
  if (bytes == 0) return true;
  const unsigned char *table = at_address(o, address, bytes);
  if (!table || bytes / sizeof(Elf64_Rela) > RELOCATIONS_MAX)
    return refuse(o, "the relocations lie outside of the object");
  for (uint64_t i = 0; i < bytes / sizeof(Elf64_Rela); i++) {
    Elf64_Rela rela;
    memcpy(&rela, table + i * sizeof rela, sizeof rela);
    if (!relocation_is_plain((uint32_t)ELF64_R_TYPE(rela.r_info)))
      return refuse(o, "a relocation of type %u (an IFUNC, or thread-local data)",
                    (unsigned)ELF64_R_TYPE(rela.r_info));
    if (ELF64_R_SYM(rela.r_info) >= o->nsymbols) return refuse(o, "a relocation of an unknown symbol");
  }
  return true;
}

void kf_host_object_check(const void *bytes, size_t len, kf_host_object *ret_object) {
  memset(ret_object, 0, sizeof *ret_object);
  object o = {.bytes = bytes, .len = len, .out = ret_object};
  bool ok = check_segments(&o) && check_dynamic(&o) && check_symbols(&o) &&
            check_relocations(&o, o.rela, o.rela_bytes) && check_relocations(&o, o.jmprel, o.jmprel_bytes);
  if (!ok) ret_object->has_run = ret_object->has_workspace = false;
}
