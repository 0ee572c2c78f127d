/* replay_main.c - runs a fuzz target over corpus files, in builds without libFuzzer.
 *
 * Arguments are files, or folders whose files (not folders) are run in name order. Each input lies in a heap
 * block of exactly its size, so that a sanitizer sees a read past the end. The block comes from malloc,
 * outside kf_alloc: a target may make allocations fail through that door and must not fail this program's. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool complain(const char *path, const char *why) {
  fprintf(stderr, "replay: %s: %s\n", path, why);
  return false;
}

static bool replay_open_file(const char *path, FILE *file, size_t size) {
  uint8_t *data = malloc(size > 0 ? size : 1);
  if (data == NULL) return complain(path, strerror(ENOMEM));
  bool whole = fread(data, 1, size, file) == size;
  if (whole) LLVMFuzzerTestOneInput(data, size);
  free(data);
  return whole ? true : complain(path, "could not be read whole");
}

static bool replay_file(const char *path, off_t size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return complain(path, strerror(errno));
  bool ok = replay_open_file(path, file, (size_t)size);
  fclose(file);
  return ok;
}

static int is_not_hidden(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

/* Both add the number of inputs that ran to *count. */
static bool replay_folder(const char *path, size_t *count) {
  struct dirent **entries = NULL;
  int n = scandir(path, &entries, is_not_hidden, alphasort);
  if (n < 0) return complain(path, strerror(errno));
  bool ok = true;
  for (int i = 0; i < n; i++) {
    char full[4096];
    struct stat st;
    int len = snprintf(full, sizeof full, "%s/%s", path, entries[i]->d_name);
    if (len < 0 || (size_t)len >= sizeof full || stat(full, &st) != 0) {
      ok = complain(path, "unreadable entry");
    } else if (S_ISREG(st.st_mode)) {
      ok = replay_file(full, st.st_size) && ok;
      (*count)++;
    }
    free(entries[i]);
  }
  free(entries);
  return ok;
}

static bool replay(const char *path, size_t *count) {
  struct stat st;
  if (stat(path, &st) != 0) return complain(path, strerror(errno));
  if (S_ISDIR(st.st_mode)) return replay_folder(path, count);
  (*count)++;
  return replay_file(path, st.st_size);
}

int main(int argc, char **argv) {
  size_t count = 0;
  bool ok = true;
  for (int i = 1; i < argc; i++)
    ok = replay(argv[i], &count) && ok;
  if (count == 0) ok = complain("corpus", "no input");
  printf("%zu inputs\n", count);
  return ok ? 0 : 1;
}
