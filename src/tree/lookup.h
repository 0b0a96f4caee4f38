// Finding one entry of a stored tree by its path.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "casemate/blob_store.h"
#include "tree/directory.h"

namespace casemate::tree {

// The Directory under `digest`, fetched and checked.
Result<Directory> FetchDirectory(const Context& ctx, BlobStore& store,
                                 const Digest& digest);

using Node = std::variant<DirectoryNode, FileNode, SymlinkNode>;

// The entry at `path` (names joined by '/'; empty or "." is the root) below the
// Directory `root`. Fetches only the directories on the way; links are not
// followed. kNotFound names the part of the path that does not exist.
Result<Node> Lookup(const Context& ctx, BlobStore& store, const Digest& root,
                    std::string_view path);

}  // namespace casemate::tree
