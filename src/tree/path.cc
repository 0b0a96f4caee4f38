#include "tree/path.h"

namespace casemate::tree {

std::string JoinReversed(std::span<const std::string_view> names) {
  size_t size = names.size();
  for (const std::string_view name : names) size += name.size();
  std::string path;
  path.reserve(size);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!path.empty()) path += '/';
    path += *name;
  }
  return path;
}

}  // namespace casemate::tree
