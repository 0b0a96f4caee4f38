// Looking through Directory and Tree messages for the digests in them.
//
// What others stored is taken as it is: unsorted, with fields that we do not
// know, in any order (tree::Decode insists on the canonical form). Names that
// could lead somebody astray are refused.
#pragma once

#include <cstdint>
#include <functional>

#include "casemate/digest.h"
#include "casemate/io.h"

namespace casemate::tree {

enum class NodeKind : uint8_t { kFile, kDirectory };

// Told of each file and each directory, as often as it stands there. An error
// of its own ends the scan and is returned.
using OnNode = std::function<Result<void>(NodeKind kind, const Digest& digest)>;

// `reader` yields one Directory message, of any length; it is read in constant
// memory, to its end. kInvalidArgument if it is none: garbled, a name that is
// empty, ".", "..", not UTF-8 or holds '/' or NUL, a digest that is malformed
// or not of `function`. What was told before an error may be part of nothing.
Result<void> ScanDirectory(const Context& ctx, Reader& reader,
                           DigestFunction function, const OnNode& on_node);

// The same for a Tree: of its root and of all its children.
Result<void> ScanTree(const Context& ctx, Reader& reader,
                      DigestFunction function, const OnNode& on_node);

}  // namespace casemate::tree
