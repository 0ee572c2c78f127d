/* json_text.c - strings from outside as JSON: compiler logs and driver names need not be UTF-8, JSON must be.
 */
#include "base/alloc.h"
#include "base/json.h"

#include <string.h>

#include "base/banned.h"

/* Length of the well-formed sequence at `text` (RFC 3629: no overlong forms, no surrogates), 0 if there is
 * none. */
static size_t utf8_length(const unsigned char *text, size_t left) {
  if (left == 0) return 0;
  unsigned char lead = text[0];
  if (lead < 0x80) return 1;
  size_t len = lead >= 0xC2 && lead <= 0xDF   ? 2
               : (lead & 0xF0) == 0xE0        ? 3
               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                              : 0;
  if (len == 0 || left < len) return 0;
  for (size_t i = 1; i < len; i++)
    if ((text[i] & 0xC0) != 0x80) return 0;
  if ((lead == 0xE0 && text[1] < 0xA0) || (lead == 0xED && text[1] > 0x9F)) return 0;
  if ((lead == 0xF0 && text[1] < 0x90) || (lead == 0xF4 && text[1] > 0x8F)) return 0;
  return len;
}

json_t *kf_json_text(const char *text, size_t max) {
  size_t len = strnlen(text, max);
  char *clean = kf_alloc(3 * len + 1);
  if (clean == NULL) return NULL;
  size_t out = 0;
  for (size_t i = 0; i < len;) {
    size_t step = utf8_length((const unsigned char *)text + i, len - i);
    if (step == 0) {
      memcpy(clean + out, "\xEF\xBF\xBD", 3);
      out += 3;
      i++;
      continue;
    }
    memcpy(clean + out, text + i, step);
    out += step;
    i += step;
  }
  json_t *value = json_stringn(clean, out);
  kf_free(clean);
  return value;
}
