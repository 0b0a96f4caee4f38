// Finding one entry of a stored tree by its path.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "casemate/blob_store.h"
#include "tree/directory.h"

namespace casemate::tree {

// No Directory message above this is fetched unless a caller says otherwise.
inline constexpr int64_t kMaxDirectoryBytes = 64 << 20;

// The Directory in `blob`, which a store gave for `expected`. kDataLoss unless
// it is that blob.
Result<Directory> DecodeBlob(const Blob& blob, const Digest& expected);

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
