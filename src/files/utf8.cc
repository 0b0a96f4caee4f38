#include "files/utf8.h"

#include <cstdint>
#include <cstring>

namespace casemate::files {
namespace {

// Bytes of ASCII at the front of `text`, eight at a time.
size_t AsciiPrefix(std::string_view text) {
  size_t length = 0;
  for (; text.size() - length >= 8; length += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + length, 8);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  return length;
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;

  // The first continuation byte has a narrower range where the full one would
  // admit overlong forms, surrogates, or more than U+10FFFF.
  size_t length = 0;
  uint8_t low = 0x80, high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  }
  if (length == 0 || text.size() < length) return 0;
  if (at(1) < low || at(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool IsUtf8(std::string_view text) {
  text.remove_prefix(AsciiPrefix(text));
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace casemate::files
