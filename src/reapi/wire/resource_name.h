// Resource names of ByteStream; forms and parsing as in the Remote Execution
// API (see docs/formats/resource-names.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "casemate/digest.h"
#include "casemate/io.h"
#include "casemate/result.h"

namespace casemate::reapi {

struct ResourceName {
  std::string_view instance;  // Of the parsed text; "" if it has none.
  std::string_view uuid;      // Of uploads.
  Encoding encoding = Encoding::kIdentity;
  Digest digest;  // Of the uncompressed blob.
};

// "[INSTANCE/]blobs/[FUNCTION/]HASH/SIZE",
// "[INSTANCE/]compressed-blobs/zstd/…". One leading slash is dropped (D-16).
// kInvalidArgument says what is wrong with it. The result
// refers to `text`.
Result<ResourceName> ParseReadName(std::string_view text);

// "[INSTANCE/]uploads/UUID/blobs/…[/METADATA]".
Result<ResourceName> ParseWriteName(std::string_view text);

std::string FormatReadName(const ResourceName& name);
std::string FormatWriteName(const ResourceName& name);

// "blobs/HASH/SIZE", the subject of a violation.
std::string ViolationSubject(const Digest& digest);

// Success, or what is wrong with the name.
Result<void> CheckInstanceName(std::string_view name);

}  // namespace casemate::reapi
