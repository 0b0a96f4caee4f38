// "HASH/SIZE" as anybody may type it: what parses prints as it was.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "casemate/digest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto digest = casemate::Digest::Parse(text);
  if (digest) CASEMATE_CHECK(digest->ToString() == text);
  return 0;
}
