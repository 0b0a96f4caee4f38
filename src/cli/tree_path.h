// DIGEST[/PATH], as ls and cat take it.
#pragma once

#include <string>
#include <string_view>

#include "casemate/digest.h"

namespace casemate::cli {

struct TreePath {
  Digest root;
  std::string path;  // Without slashes at its ends; empty for the root.
};

// "HASH/SIZE" or "HASH/SIZE/a/b".
Result<TreePath> ParseTreePath(std::string_view text);

}  // namespace casemate::cli
