// Which symbolic links cannot lead out of the tree they stand in.
#pragma once

#include <string_view>

#include "casemate/result.h"

namespace casemate::transfer {

// Success if a link `depth` directories below the tree's root (0: in the root)
// with this target stays inside, provided that every link of the tree does:
// relative, climbing at most `depth` levels, and not climbing after it has
// descended, because what it descends through may itself be a link. Otherwise
// kFailedPrecondition says why.
Result<void> CheckLinkStaysInside(int depth, std::string_view target);

}  // namespace casemate::transfer
