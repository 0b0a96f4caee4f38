// Paths that are kept as names and parents, not as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace casemate::tree {

// Joins names, the last of them first: what one collects on the way up.
std::string JoinReversed(std::span<const std::string_view> names);

}  // namespace casemate::tree
