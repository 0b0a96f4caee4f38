// Directory messages from a store: what decodes is canonical.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tree/directory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using casemate::DigestFunction;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto directory = casemate::tree::Decode(bytes, DigestFunction::kSha256);
  if (!directory) return 0;
  // Encoding drops what we do not know, and must then be stable.
  const std::string encoded = casemate::tree::Encode(*directory);
  const auto again = casemate::tree::Decode(encoded, DigestFunction::kSha256);
  CASEMATE_CHECK(again.has_value());
  CASEMATE_CHECK(casemate::tree::Encode(*again) == encoded);
  return 0;
}
