// Resource names: what parses has a well-formed instance, and is the same again
// once it is formatted.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "reapi/wire/resource_name.h"

namespace {

using casemate::reapi::ResourceName;

void CheckSame(const ResourceName& one, const ResourceName& other) {
  CASEMATE_CHECK(one.instance == other.instance && one.uuid == other.uuid);
  CASEMATE_CHECK(one.encoding == other.encoding && one.digest == other.digest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace reapi = casemate::reapi;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto name = reapi::ParseReadName(text)) {
    CASEMATE_CHECK(reapi::CheckInstanceName(name->instance));
    const std::string again = reapi::FormatReadName(*name);
    CheckSame(*name, reapi::ParseReadName(again).value());
    CASEMATE_CHECK(!reapi::ParseWriteName(text));
  }
  if (const auto name = reapi::ParseWriteName(text)) {
    CASEMATE_CHECK(reapi::CheckInstanceName(name->instance));
    const std::string again = reapi::FormatWriteName(*name);
    CheckSame(*name, reapi::ParseWriteName(again).value());
  }
  return 0;
}
